"""Autograd's own place for operators of one argument, and for rules of primitives."""

from collections.abc import Callable
from typing import Any

from tape.compat.autograd._internals import refusing
from tape.compat.autograd.differential_operators import make_jvp as _make_jvp
from tape.compat.autograd.differential_operators import make_vjp as _make_vjp
from tape.compat.autograd.extend import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
)
from tape.compat.autograd.tracer import getval, isbox

__all__ = [
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "getval",
    "isbox",
    "make_jvp",
    "make_vjp",
    "primitive",
]

__getattr__ = refusing(__name__)


def make_vjp(fun: Callable[[Any], Any], x: Any) -> Any:
    """Return ``vjp`` and the value of a function of one argument."""
    return _make_vjp(fun)(x)


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Any:
    """Return ``jvp`` of a function of one argument."""
    return _make_jvp(fun)(x)
