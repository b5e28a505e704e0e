"""Layouts in memory: offsets and strides, in bytes.

Few shapes and strides occur in a program, however long it is: results are cached.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

Shape = tuple[int, ...]

ALIGNMENT = 64
"""Alignment of the memory of a value, in bytes."""


class Layout(NamedTuple):
    """A view of the memory of another value.

    Attributes
    ----------
    root : int
        The instruction that owns the memory.
    offset : int
        Of the first element, in bytes.
    strides : tuple of int
        In bytes; 0 along axes that are repeated.
    """

    root: int
    offset: int
    strides: Shape


class Place(NamedTuple):
    """Slot and offset of the first element, and strides in bytes."""

    slot: int
    offset: int
    strides: Shape


@lru_cache(maxsize=4096)
def c_strides(shape: Shape, itemsize: int) -> Shape:
    """Return the strides of an array in C order.

    Examples
    --------
    >>> from tape.program.plan.layouts import c_strides
    >>> c_strides((2, 3), 8)
    (24, 8)
    """
    strides = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(strides[::-1])


def broadcast_strides(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Return the strides of a view that repeats elements to a larger shape.

    Examples
    --------
    >>> from tape.program.plan.layouts import broadcast_strides
    >>> broadcast_strides((2, 1), (8, 8), (4, 2, 3))
    (0, 8, 0)
    """
    if shape == target:
        return strides
    kept = [stride if length != 1 else 0 for stride, length in zip(strides, shape, strict=True)]
    return (0,) * (len(target) - len(shape)) + tuple(kept)


@lru_cache(maxsize=4096)
def collapsed(shape: Shape, strides: Shape) -> tuple[Shape, Shape]:
    """Merge axes: return lengths and strides of the same elements in the same order, with as few axes as
    possible.

    Examples
    --------
    >>> from tape.program.plan.layouts import collapsed
    >>> collapsed((2, 1, 3), (24, 99, 8))
    ((6,), (8,))
    """
    lengths, (steps,) = collapsed_together(shape, (strides,))
    return lengths, steps


@lru_cache(maxsize=4096)
def collapsed_together(shape: Shape, strides: tuple[Shape, ...]) -> tuple[Shape, tuple[Shape, ...]]:
    """Merge axes of several views of one shape, where that can be done in all of them: see `collapsed`.

    Examples
    --------
    >>> from tape.program.plan.layouts import collapsed_together
    >>> collapsed_together((2, 3, 4), ((96, 32, 8), (0, 32, 8)))
    ((2, 12), ((96, 8), (0, 8)))
    """
    lengths: list[int] = []
    steps: list[tuple[int, ...]] = []
    for length, *here in zip(shape, *strides, strict=True):
        if length == 1:
            continue
        if steps and all(before == step * length for before, step in zip(steps[-1], here, strict=True)):
            lengths[-1] *= length
            steps[-1] = tuple(here)
        else:
            lengths.append(length)
            steps.append(tuple(here))
    return tuple(lengths), tuple(zip(*steps, strict=True)) if steps else ((),) * len(strides)


def period(lengths: Shape, strides: Shape) -> int:
    """Return after how many elements, in C order, the same ones follow again: of merged axes.

    Examples
    --------
    >>> from tape.program.plan.layouts import period
    >>> period((5, 2, 3), (0, 24, 8)), period((2, 3), (8, 0))
    (6, 6)
    """
    return prod(lengths[1:] if lengths and not strides[0] else lengths)


@lru_cache(maxsize=4096)
def offsets(shape: Shape, strides: Shape) -> tuple[int, ...]:
    """Return the distance of each element from the first one, in C order.

    Examples
    --------
    >>> from tape.program.plan.layouts import offsets
    >>> offsets((2, 2), (8, 16))
    (0, 16, 8, 24)
    """
    found = [0]
    for length, stride in zip(shape, strides, strict=True):
        found = [offset + k * stride for offset in found for k in range(length)]
    return tuple(found)


@lru_cache(maxsize=4096)
def reshaped_strides(shape: Shape, strides: Shape, new: Shape, itemsize: int) -> Shape | None:
    """Return the strides of a view of another shape with the elements in the same order; None if there is
    none.

    Examples
    --------
    >>> from tape.program.plan.layouts import reshaped_strides
    >>> reshaped_strides((2, 6), (48, 8), (4, 3), 8)
    (24, 8)
    >>> reshaped_strides((2, 2), (8, 16), (4,), 8) is None  # a transposed matrix
    True
    """
    if not prod(shape):
        return c_strides(new, itemsize)
    lengths, steps = list(collapsed(shape, strides)[0]), list(collapsed(shape, strides)[1])
    result = [0] * len(new)
    stride, left = (steps.pop(), lengths.pop()) if lengths else (itemsize, 1)
    for axis in reversed(range(len(new))):
        length = new[axis]
        if length == 1:
            result[axis] = stride
            continue
        if left == 1:
            if not lengths:
                return None
            stride, left = steps.pop(), lengths.pop()
        if left % length:
            return None
        result[axis] = stride
        stride *= length
        left //= length
    return tuple(result)
