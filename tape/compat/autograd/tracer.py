"""What Vars stand for; the rest of autograd's tracer does not exist here."""

from __future__ import annotations

from typing import Any

from tape import errors, transforms
from tape.compat.autograd._internals import refusing
from tape.compat.autograd.extend import notrace_primitive, primitive
from tape.core.nesting import batch_below, traced
from tape.core.node import Handle, plain

__all__ = ["getval", "isbox", "notrace_primitive", "primitive"]

__getattr__ = refusing(__name__)


def isbox(value: Any) -> bool:
    """Return whether a value is a Var."""
    return isinstance(value, Handle)


def getval(value: Any) -> Any:
    """Return the plain array or number that a Var stands for, constant to derivatives.

    Raises
    ------
    UnsupportedError
        In a compiled function or in a batch, where it stands for other values, too.

    Examples
    --------
    >>> from tape.compat.autograd import grad
    >>> from tape.compat.autograd.tracer import getval
    >>> float(grad(lambda x: x * getval(x))(3.0))
    3.0
    """
    if not isinstance(value, Handle):
        return value
    if isinstance(traced(value), Handle) or batch_below(value) is not None:
        raise errors.UnsupportedError(
            f"getval: {value!r} stands for other numbers, too, in a compiled function or in a batch. Use "
            "tape.stop_gradient, which returns it as a constant to derivatives"
        )
    return plain(transforms.stop_gradient(value))
