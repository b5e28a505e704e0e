"""Fitting: contributions to adjoints in the shape and dtype of what they are for.

What rules return may be as large as the result and of its dtype; here broadcasting and promotion are undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors
from tape.core.operands import FAST
from tape.core.table import INTERNAL
from tape.kernels.reduce import sum_to_shape

if TYPE_CHECKING:
    from tape.core.node import Node


AS_WIDE_AS_ANY = FAST - {np.float32, np.complex64}
"""Types of scalars in which rules lose nothing."""


def fit(contribution: Any, like: Any, node: Node | None = None) -> Any:
    """Return a contribution in the shape and dtype of the operand it is for.

    Parameters
    ----------
    contribution : array, number or Var
        What a vjp rule has returned for an operand.
    like : array, number or Var
        The operand.
    node : Node, optional
        Whose rule that was; then what cannot be such a contribution is an error that names it.
    """
    kind = type(contribution)
    if kind in FAST and kind is type(like):
        return contribution
    shape = like.shape
    given = getattr(contribution, "shape", None)
    if given != shape:
        if node is not None and given != node.value.shape:
            contribution = _checked(contribution, shape, node)
        if getattr(contribution, "dtype", like.dtype).kind in "biu":  # sums of these wrap round
            contribution = INTERNAL["cast"](contribution, dtype=like.dtype)
        try:
            summed = sum_to_shape if type(contribution) is np.ndarray else INTERNAL["sum_to"]
            contribution = summed(contribution, shape=shape)
        except ValueError as error:
            if node is None:
                raise
            raise _misfit(contribution, shape, node) from error
    if contribution.dtype == like.dtype:
        return contribution
    if contribution.dtype.kind not in "fcbiu":
        raise errors.DTypeError(
            f"the vjp rule of {_title(node)} returned {errors.describe(contribution)} for an operand that is "
            f"{errors.describe(like)}. It must return numbers"
        )
    return INTERNAL["cast"](contribution, dtype=like.dtype)


def widened(operand: Any, out: Any) -> Any:
    """Return an operand of integers, or of narrower floats, in the dtype of the result, others as they are.

    Rules would compute in the dtype of the operand, and lose digits that those of the other operand have.
    """
    if type(operand) in AS_WIDE_AS_ANY:
        return operand
    narrow, wide = operand.dtype, out.dtype
    if narrow is wide:
        return operand
    is_narrower = narrow.kind == wide.kind and narrow.itemsize < wide.itemsize
    return INTERNAL["cast"](operand, dtype=wide) if is_narrower or narrow.kind in "iu" else operand


def _checked(contribution: Any, shape: tuple[int, ...], node: Node) -> Any:
    """Return a contribution that can be summed to the shape of the operand; else raise."""
    array = contribution if hasattr(contribution, "shape") else np.asarray(contribution)
    of_result = node.value.shape
    if array.ndim > max(len(shape), len(of_result)):  # more axes than broadcasting can have added
        raise _misfit(contribution, shape, node)
    if node.op is not None and not node.op.explains_errors:  # ours are right
        wide = array.shape
        if not (_broadcasts(wide, shape) or _broadcasts(wide, of_result) or _is_widened(wide, shape, node)):
            raise _misfit(contribution, shape, node)
    return array


def _is_widened(wide: tuple[int, ...], shape: tuple[int, ...], node: Node) -> bool:
    """Return whether an operand broadcasts to a shape, by lengths that other operands or the result have."""
    added = len(wide) - len(shape)
    if not _broadcasts(shape, wide):
        return False
    if added > 0 and wide == (*node.value.shape[:added], *shape):  # a stack
        return True
    shapes = [(*(0,) * (len(wide) - np.ndim(x)), *np.shape(x)) for x in node.operands]
    own = (*(0,) * added, *shape)
    return all(
        length == mine or any(other[k - len(wide)] == length for other in shapes)
        for k, (length, mine) in enumerate(zip(wide, own, strict=True))
    )


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Return whether an array of a shape broadcasts to another one."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def _misfit(contribution: Any, shape: tuple[int, ...], node: Node) -> errors.ShapeError:
    given = list(contribution.shape) if hasattr(contribution, "shape") else errors.describe(contribution)
    return errors.ShapeError(
        f"the vjp rule of {_title(node)} made shape {given} for an operand of shape {list(shape)}, "
        f"with a result of shape {list(node.value.shape)}. Return the shape of the operand, or that of the "
        "result if it was broadcast to that"
    )


def _title(node: Node | None) -> str:
    return node.op.name if node is not None and node.op is not None else "an operation"
