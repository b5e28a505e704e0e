"""Checks of derivatives against differences, with autograd's arguments: see `tape.testing`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from tape import errors, testing, tree
from tape.compat.autograd.differential_operators import make_jvp, make_vjp
from tape.compat.autograd.wrap_util import unary_to_nary
from tape.testing._checks import Mode
from tape.transforms._record import dtype_of, float_like, name_of

__all__ = ["check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check", "scalar_close"]


@unary_to_nary
def check_grads(
    f: Callable[..., Any], x: Any, modes: Sequence[Mode] = ("fwd", "rev"), order: int = 2
) -> None:
    """Return a function that checks the derivatives of ``f`` at its arguments, up to some order.

    At order 2 the products of the Jacobian with vectors are checked, as functions of the arguments and of
    these vectors.

    Parameters
    ----------
    f : callable
        NumPy code.
    x : int or tuple of int
        ``argnum``, as for `grad`.
    modes : sequence of {"fwd", "rev"}
        The modes to check.
    order : int
        The highest order.

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
    _check_grads(f, x, modes, order)


def _check_grads(f: Callable[[Any], Any], x: Any, modes: Sequence[Mode], order: int) -> None:
    testing.check_grads(f, (x,), 1, modes, **_tolerances(x))
    if order <= 1:
        return
    for mode in modes:
        v = _random_like(x if mode == "fwd" else f(x))

        def product(x_and_v: Any, mode: str = mode) -> Any:
            x, v = x_and_v
            return make_jvp(f)(x)(v)[1] if mode == "fwd" else make_vjp(f)(x)[0](v)

        product.__name__ = f"{'jvp' if mode == 'fwd' else 'vjp'}_{name_of(f)}"
        _check_grads(product, (x, v), modes, order - 1)


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Check the reverse mode of a function of one argument, against differences and the other mode.

    Raises
    ------
    DerivativeError
        If it is wrong; it is an AssertionError.
    """
    testing.check_vjp(f, (x,), **_tolerances(x))


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Check the forward mode of a function of one argument, against differences and the other mode.

    Raises
    ------
    DerivativeError
        If it is wrong; it is an AssertionError.
    """
    testing.check_jvp(f, (x,), **_tolerances(x))


def _tolerances(x: Any) -> dict[str, Any]:
    """Return autograd's tolerances, with steps nearly as short as its own; for narrow floats, tape's."""
    is_double = all(dtype_of(leaf) in (np.float64, np.complex128) for leaf in tree.leaves(x))
    return {"rtol": 1e-6, "atol": 1e-6, "step": 2.0**-12} if is_double else {}


def _random_like(values: Any) -> Any:
    rng = np.random.default_rng(0)

    def draw(leaf: Any) -> Any:
        shape, dtype = np.shape(leaf), float_like(leaf)
        drawn = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.kind == "c" else 0)
        return np.asarray(drawn, dtype)[()]

    return tree.map(draw, values)


def scalar_close(a: Any, b: Any) -> bool:
    """Return whether two numbers differ by less than 1e-6, or that times the absolute value of their sum."""
    return bool(abs(a - b) < 1e-6 or abs(a - b) < 1e-6 * abs(a + b))


def check_equivalent(x: Any, y: Any) -> None:
    """Check that two containers of numbers have the same structure, shapes and dtypes, and close numbers.

    Raises
    ------
    DerivativeError
        If they do not; it is an AssertionError.

    Examples
    --------
    >>> from tape.compat.autograd.test_util import check_equivalent
    >>> check_equivalent([1.0, (2.0,)], [1.0 + 1e-9, (2.0,)])
    """
    if tree.structure(x) != tree.structure(y):
        raise errors.DerivativeError(
            f"check_equivalent: {tree.describe(tree.structure(x))} and {tree.describe(tree.structure(y))} "
            "are different structures. Compare containers of one structure"
        )
    for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        is_like = a.shape == b.shape and a.dtype == b.dtype
        if not is_like or not np.all((abs(a - b) < 1e-6) | (abs(a - b) < 1e-6 * abs(a + b))):
            raise errors.DerivativeError(
                f"check_equivalent: {errors.describe(a)} and {errors.describe(b)} differ. They hold {a} "
                f"and {b}"
            )


def combo_check(
    fun: Callable[..., Any], argnum: Any = 0, modes: Sequence[Mode] = ("fwd", "rev"), order: int = 2
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
