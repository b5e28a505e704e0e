"""Shared parts of losses: checks of operands, and the reduction of the losses of all elements.

The losses themselves are in `tape.ops.nn.classification`, `tape.ops.nn.regression`,
`tape.ops.nn.probabilities` and `tape.ops.nn.margins`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tape.core.nesting import plain_batch, traced
from tape.core.operands import as_operand
from tape.errors import DTypeError, OptionError, ShapeError, describe_all
from tape.ops.reduction.primitives import mean_along, sum_along
from tape.ops.structure.shape import astype, broadcasts

Reduction = Literal["mean", "sum", "none"]


def check_reduction(name: str, reduction: str, *others: str) -> None:
    """Check that there is such a reduction."""
    known = ("mean", "sum", "none", *others)
    if reduction not in known:
        raise OptionError(f"{name}: reduction={reduction!r}. It must be one of {', '.join(map(repr, known))}")


def reduced(losses: Any, reduction: str) -> Any:
    """Return the mean or sum of losses, or all of them."""
    if reduction == "none":
        return losses
    return (mean_along if reduction == "mean" else sum_along)(losses, axis=None, keepdims=False)


def numbers(*operands: Any) -> list[Any]:
    """Return operands as arrays or Vars."""
    return [x if hasattr(x, "dtype") else np.asarray(x)[()] for x in map(as_operand, operands)]


def in_single(f: Callable[..., Any], *operands: Any) -> Any:
    """Return the result of a function; of halves computed as floats, whose squares do not overflow."""
    if np.result_type(*[x.dtype for x in operands]) != np.float16:
        return f(*operands)
    return astype(f(*[astype(x, np.float32) for x in operands]), np.float16)


def reals(name: str, *operands: Any) -> list[Any]:
    """Return operands as arrays or Vars, which must not be complex."""
    arrays = numbers(*operands)
    if any(x.dtype.kind == "c" for x in arrays):
        raise DTypeError(f"{name} takes real numbers, not {describe_all(arrays)}")
    return arrays


def like_shaped(name: str, reduction: str, input: Any, target: Any) -> list[Any]:
    """Return input and target of a loss, real numbers of one shape: they are not broadcast."""
    return numbers_like_shaped(name, reduction, *reals(name, input, target))


def numbers_like_shaped(name: str, reduction: str, input: Any, target: Any) -> list[Any]:
    """Return input and target of a loss, as `like_shaped` does, which may be complex."""
    check_reduction(name, reduction)
    input, target = numbers(input, target)
    if input.shape != target.shape:
        raise ShapeError(
            f"{name}: input has shape {list(input.shape)}, target {list(target.shape)}. They are not "
            "broadcast: reshape one of them"
        )
    if target.dtype.kind in "biu" and input.dtype.kind in "fc":
        target = astype(target, input.dtype)  # labels do not widen float32
    return [input, target]


def check_fits(name: str, what: str, array: Any, shape: tuple[int, ...]) -> None:
    """Check that an array broadcasts to a shape."""
    if not broadcasts(array.shape, shape):
        raise ShapeError(
            f"{name}: {what} has shape {list(array.shape)}, which does not broadcast to {list(shape)}"
        )


def check_values(name: str, what: str, array: Any, low: float, high: float) -> None:
    """Check that the numbers of an array, as they are at the call, are within bounds."""
    known = traced(array)
    if np.any((known < low) | (known > high)):
        values = np.asarray(plain_batch(array))
        at = tuple(map(int, np.argwhere((values < low) | (values > high))[0]))
        raise OptionError(
            f"{name}: {what} is {values[at]} at position {at}. It must be within [{low}, {high}]"
        )
