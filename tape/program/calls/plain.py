"""Calls of a function as plain Python that mean what calls of its program mean.

Arguments and results of a program are values: it writes to no array of its caller, of one array given twice
it has two, and what it returns shares memory with nothing else. So plain Python gets copies, and what it
returns is copied. What it does to lists, dicts and dataclasses among its arguments is done to those of the
caller: functions that do this have no program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tape import tree
from tape.core.dispatch import recorder
from tape.core.node import Handle
from tape.program.layouts import overlap_themselves
from tape.program.record.collections import are_changed, is_collection, parts_of
from tape.program.specialise import own_constant

__all__ = ["called_apart"]


def called_apart(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a function returns for copies of the arrays among these arguments.

    Within another trace, Vars are handed on, and while another program is recorded arrays are: they are among
    its constants, which it follows.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.calls.plain import called_apart
    >>> def f(x, y):
    ...     x *= 2
    ...     return x, x[::2], y
    >>> x = np.ones(3)
    >>> called_apart(f, (x, x), {})
    (array([2., 2., 2.]), array([2., 2.]), array([1., 1., 1.]))
    >>> x
    array([1., 1., 1.])
    """
    leaves, structure = tree.flatten((args, kwargs))
    apart = list(map(_apart, leaves))
    own_args, own_kwargs = tree.unflatten(structure, apart)
    pairs = list(_pairs((args, kwargs), (own_args, own_kwargs)))
    before = [(copied, parts_of(copied)) for _, copied in pairs]
    result = f(*own_args, **own_kwargs)
    if are_changed(before, result):
        originals = dict(zip(map(id, apart), leaves, strict=True))
        originals |= {id(copied): one for one, copied in pairs}
        for (one, copied), (_, held) in zip(pairs, before, strict=True):
            _carry_over(one, copied, held, originals)
    return tree.map(_own, result)


def _apart(leaf: Any) -> Any:
    """Return a leaf that the function may write to."""
    if isinstance(leaf, Handle):
        return leaf.again()
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biufc" and recorder() is None:
        return _alike(leaf)
    return leaf


def _own(leaf: Any) -> Any:
    """Return a leaf of the result that shares memory with nothing else."""
    if isinstance(leaf, Handle):
        return leaf.again()
    return leaf if recorder() is not None else own_constant(leaf)


def _alike(array: np.ndarray) -> np.ndarray:
    """Return a copy whose elements lie in memory in the same order, with gaps where there are any.

    On these depends what views a function gets, and so what writing to them changes.
    """
    if array.flags.c_contiguous:
        return array.copy()
    is_broadcast = any(not along and n > 1 for along, n in zip(array.strides, array.shape, strict=True))
    if is_broadcast and not array.flags.writeable:
        return array
    if overlap_themselves([array]):
        low, high = np.lib.array_utils.byte_bounds(array)
        start = array.__array_interface__["data"][0] - low
        memory = np.empty(high - low, np.uint8)
        copied = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
    else:
        copied = _with_gaps(array)
    copied[...] = array
    return copied


def _with_gaps(array: np.ndarray) -> np.ndarray:
    """Return an empty array with axes of the same order and direction, and gaps between the same ones."""
    size, strides = array.itemsize, [array.itemsize] * array.ndim
    before = size  # the stride of the next axis if there is no gap
    for axis in sorted(range(array.ndim), key=lambda axis: abs(array.strides[axis])):
        n, stride = array.shape[axis], abs(array.strides[axis])
        if n > 1:
            strides[axis] = size + (array.itemsize if stride != before else 0)
            size, before = strides[axis] * n, stride * n
    ends = [
        (n - 1) * stride if along < 0 else 0
        for n, stride, along in zip(array.shape, strides, array.strides, strict=True)
    ]
    signed = [-stride if along < 0 else stride for stride, along in zip(strides, array.strides, strict=True)]
    return np.ndarray(array.shape, array.dtype, np.empty(size, np.uint8), sum(ends), signed)


# ---- collections -------------------------------------------------------------------------------------


def _pairs(one: Any, copied: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the collections and dataclasses in a tree, each with its copy."""
    if one is copied:
        return
    if is_collection(one):
        yield one, copied
    if isinstance(one, dict):
        parts = [(one[key], copied[key]) for key in one]
    elif is_collection(one) or isinstance(one, tuple):
        parts = list(zip(parts_of(one), parts_of(copied), strict=True))
    else:
        return
    for pair in parts:
        yield from _pairs(*pair)


def _carry_over(one: Any, copied: Any, held: list[Any], originals: dict[int, Any]) -> None:
    """Let a collection hold what its copy holds now, if that is something else than before."""
    now = parts_of(copied)
    if len(now) == len(held) and all(a is b for a, b in zip(now, held, strict=True)):
        return
    if isinstance(one, dict):
        entries = {key: originals.get(id(value), value) for key, value in copied.items()}
        one.clear()
        one.update(entries)
    elif is_dataclass(one):
        for field in fields(one):
            value = getattr(copied, field.name, None)
            object.__setattr__(one, field.name, originals.get(id(value), value))
    else:
        items = [originals.get(id(value), value) for value in copied]
        one.clear()
        one.extend(items)
