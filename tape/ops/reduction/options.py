"""Checks of the keywords of NumPy's reductions: ``where``, ``initial`` and ``dtype``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import as_operand
from tape.errors import DTypeError, OptionError, ShapeError, describe
from tape.ops.structure.shape import broadcasts


def checked_options(
    name: str, a: Any, condition: Any = True, initial: Any = None, dtype: Any = None
) -> tuple[Any, np.dtype[Any] | None]:
    """Return ``where`` as an operand and ``dtype`` as a dtype; raise if one, or ``initial``, does not fit."""
    shape = np.shape(a)
    condition = as_operand(condition)
    if np.result_type(condition).kind != "b":
        raise DTypeError(f"{name}: where is {describe(condition)}. It must hold bools")
    if not broadcasts(np.shape(condition), shape):
        raise ShapeError(
            f"{name}: where has shape {list(np.shape(condition))}, which does not broadcast to {list(shape)}"
        )
    if np.ndim(initial):
        raise ShapeError(f"{name}: initial has shape {list(np.shape(initial))}. It must be a single number")
    try:
        return condition, None if dtype is None else np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(f"{name}: {error}. Use a NumPy dtype or its name") from error


def in_dtype(op: Op, dtype: np.dtype[Any] | None) -> Op:
    """Return the operation for a dtype: without rules for ints and bools, which have no derivative."""
    return op if dtype is None or dtype.kind in "fc" else op.without_rules()


def checked_choice(name: str, a: Any, condition: Any, initial: Any) -> Any:
    """Return ``where`` as an operand, for reductions that choose an element; raise if it does not fit."""
    condition, _ = checked_options(name, a, condition, initial)
    if condition is not True and initial is None:
        raise OptionError(f"{name} with where= may have nothing to choose from. Give initial= too")
    return condition


def is_plain(condition: Any, initial: Any = None, dtype: Any = None) -> bool:
    return condition is True and initial is None and dtype is None
