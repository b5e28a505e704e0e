"""How operations run on whole batches: operands with one more axis, in front, that the operation never sees.

A rule is ``rule(op, operands, is_batched, attrs, size)``. Where ``is_batched`` says so, an operand holds
``size`` operands along its first axis; the others are one for all. The result has such an axis too.
An operation without a rule is run once for each element of the batch, by `tape.interpreters.batching`; in
programs by a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

BatchRule = Callable[[Any, Sequence[Any], Sequence[bool], dict[str, Any], int], Any]


def lift(operand: Any, is_batched: bool, ndim: int) -> Any:
    """An operand that broadcasts with others of ``ndim`` axes besides that of the batch."""
    if not is_batched:
        return operand
    shape = operand.shape
    missing = ndim - (len(shape) - 1)
    return operand.reshape((shape[0], *(1,) * missing, *shape[1:])) if missing > 0 else operand


def elementwise(
    op: Any, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
) -> Any:
    """The rule of operations that work element by element, with broadcasting."""
    ndims = [np.ndim(x) - inside for x, inside in zip(operands, is_batched, strict=True)]
    ndim = max(ndims)
    return op.bind([lift(x, inside, ndim) for x, inside in zip(operands, is_batched, strict=True)], attrs)


def along_axes(
    op: Any, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
) -> Any:
    """The rule of operations of one operand with an attribute ``axis``: a tuple, an int or None."""
    (x,) = operands
    return op(x, **{**attrs, "axis": inner_axes(attrs["axis"], x.ndim - 1)})


def inner_axes(axis: Any, ndim: int) -> Any:
    """Axes of an array with ``ndim`` axes, as those of a batch of such arrays."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    return tuple(inner_axis(i) for i in axis) if isinstance(axis, tuple) else inner_axis(axis)


def inner_axis(axis: int) -> int:
    """One axis of an array, as that of a batch of such arrays."""
    return axis + 1 if axis >= 0 else axis


def resolved(shape: Sequence[int], old: Sequence[int]) -> tuple[int, ...]:
    """A new shape for an array, with its -1 filled in."""
    if -1 not in shape:
        return tuple(shape)
    known = prod(length for length in shape if length != -1)
    return tuple((prod(old) // known if known else 0) if length == -1 else length for length in shape)
