"""Checks of derivatives against differences, with autograd's arguments: see `tape.testing`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from tape import testing
from tape.compat.autograd.wrap_util import unary_to_nary

__all__ = ["check_grads", "check_jvp", "check_vjp", "combo_check"]


@unary_to_nary
def check_grads(f: Callable[..., Any], x: Any, modes: Sequence[Any] = ("fwd", "rev"), order: int = 2) -> None:
    """Return a function that checks the derivatives of ``f`` at its arguments, up to some order.

    Raises
    ------
    DerivativeError
        When called, if one is wrong; it is an AssertionError.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd.test_util import check_grads
    >>> check_grads(np.tanh, modes=["rev"], order=2)(np.array([0.5, -1.0]))
    """
    testing.check_grads(f, (x,), order, modes, rtol=1e-6, atol=1e-6)


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Check the reverse mode of a function of one argument, against differences and the other mode.

    Raises
    ------
    DerivativeError
        If it is wrong; it is an AssertionError.
    """
    testing.check_vjp(f, (x,), rtol=1e-6, atol=1e-6)


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Check the forward mode of a function of one argument, against differences and the other mode.

    Raises
    ------
    DerivativeError
        If it is wrong; it is an AssertionError.
    """
    testing.check_jvp(f, (x,), rtol=1e-6, atol=1e-6)


def combo_check(
    fun: Callable[..., Any], argnum: Any = 0, modes: Sequence[Any] = ("fwd", "rev"), order: int = 2
) -> Callable[..., None]:
    """Return a function that checks derivatives for all combinations of arguments, each given as a list.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd.test_util import combo_check
    >>> combo_check(np.sum, 0, order=1)([np.ones((2, 3)), np.ones((1, 2))], axis=[0, 1])
    """

    def check(*args: Sequence[Any], **kwargs: Sequence[Any]) -> None:
        for given in product(*args):
            for values in product(*kwargs.values()):
                check_grads(fun, argnum, modes, order)(*given, **dict(zip(kwargs, values, strict=True)))

    return check
