"""Failures: what an error in the forward function of an operation is to the caller."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tape import errors
from tape.core.operands import tell_places

if TYPE_CHECKING:
    from tape.core.op import Op

NUMPY_ERRORS = (TypeError, ValueError, IndexError, OverflowError)
"""The errors that NumPy raises for operands that do not fit."""


def raise_failure(op: Op, operands: Sequence[Any], error: Exception, given: Sequence[Any] = ()) -> NoReturn:
    """Raise the error that an error in forward is to the caller, who has given Vars or values."""
    if isinstance(error, errors.TapeError):
        raise error
    if not op.explains_errors:
        error.add_note(f"in the forward function of {op!r}, called with {errors.describe_all(operands)}")
        tell_places(error, given)
        raise error
    explained = errors.explain(op.name, operands, error)
    tell_places(explained, given)
    raise explained from error


_LIBRARIES = frozenset({"numpy", "scipy", "tape", "_operator"})


def is_of_a_library(forward: Any) -> bool:
    """Whether it is the operands that are wrong where a function raises, rather than the function."""
    while isinstance(forward, partial):
        forward = forward.func
    module = getattr(forward, "__module__", None) or ""
    return isinstance(forward, np.ufunc) or module.partition(".")[0] in _LIBRARIES
