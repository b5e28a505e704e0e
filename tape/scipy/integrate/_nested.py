"""Integrals over several variables: `quad` within `quad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tape import errors
from tape.core.closures import Bound
from tape.core.node import Handle
from tape.scipy.integrate._quadrature import quad
from tape.transforms._record import check_callable

__all__ = ["dblquad", "nquad", "tplquad"]


def dblquad(
    func: Callable[..., Any], a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:  # fmt: skip
    """Integrate ``func(y, x)`` over y from ``gfun(x)`` to ``hfun(x)`` and x from a to b, as SciPy's.

    Parameters
    ----------
    func : callable
        ``func(y, x, *args)``, a number. Vars among ``args``, and all that it closes over, are differentiated.
    a, b : scalar or Var
        The limits of x.
    gfun, hfun : callable or scalar or Var
        The limits of y.
    args : tuple
        Further arguments of ``func``.
    epsabs, epsrel : float
        Tolerances of each integral.

    Returns
    -------
    tuple
        The integral and an estimate of its error.

    Raises
    ------
    ConvergenceError
        In a sweep, if the integral of a derivative does not converge.

    Examples
    --------
    >>> import tape
    >>> area = lambda r: tape.scipy.integrate.dblquad(lambda y, x: 1.0, 0.0, r, 0.0, lambda x: r - x)[0]
    >>> float(tape.grad(area)(2.0).round(8))
    2.0
    """

    def ends(*outer: Any) -> list[Any]:
        return [end(outer[0]) if callable(end) else end for end in (gfun, hfun)]

    return nquad(func, [ends, [a, b]], args, {"epsabs": epsabs, "epsrel": epsrel})


def tplquad(
    func: Callable[..., Any], a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Any = (),
    epsabs: float = 1.49e-8, epsrel: float = 1.49e-8,
) -> tuple[Any, Any]:  # fmt: skip
    """Integrate ``func(z, y, x)`` over z, y and x, as SciPy's function of this name.

    Parameters
    ----------
    func : callable
        ``func(z, y, x, *args)``, a number.
    a, b : scalar or Var
        The limits of x.
    gfun, hfun : callable or scalar or Var
        The limits of y, functions of x.
    qfun, rfun : callable or scalar or Var
        The limits of z, functions of x and y.
    args : tuple
        Further arguments of ``func``.
    epsabs, epsrel : float
        Tolerances of each integral.

    Returns
    -------
    tuple
        The integral and an estimate of its error.

    Raises
    ------
    ConvergenceError
        In a sweep, if the integral of a derivative does not converge.

    Examples
    --------
    >>> import tape
    >>> box = tape.scipy.integrate.tplquad(lambda z, y, x: 1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 3.0)[0]
    >>> round(box, 8)
    6.0
    """

    def inner(*outer: Any) -> list[Any]:
        return [end(outer[1], outer[0]) if callable(end) else end for end in (qfun, rfun)]

    def middle(*outer: Any) -> list[Any]:
        return [end(outer[0]) if callable(end) else end for end in (gfun, hfun)]

    return nquad(func, [inner, middle, [a, b]], args, {"epsabs": epsabs, "epsrel": epsrel})


def nquad(
    func: Callable[..., Any],
    ranges: Sequence[Any],
    args: Any = (),
    opts: dict[str, Any] | None = None,
    full_output: bool = False,
) -> tuple[Any, Any]:
    """Integrate over several variables, as `scipy.integrate.nquad`.

    Parameters
    ----------
    func : callable
        ``func(x0, ..., xn, *args)``, a number. Vars among ``args``, and all that it closes over, are
        differentiated.
    ranges : sequence
        For each variable its limits, or a function of the variables behind it, and ``args``, that returns
        them.
    args : tuple
        Further arguments.
    opts : dict, optional
        Arguments of `quad`, the same for all.
    full_output : bool
        Not available.

    Returns
    -------
    tuple
        The integral and an estimate of its error.

    Raises
    ------
    ConvergenceError
        In a sweep, if the integral of a derivative does not converge.
    OptionError
        For ``opts`` of each variable, and ``full_output``.

    Examples
    --------
    >>> import tape
    >>> round(tape.scipy.integrate.nquad(lambda x, y: x * y, [[0.0, 1.0], [0.0, 2.0]])[0], 8)
    1.0
    """
    check_callable(func, "nquad")
    if opts is not None and not isinstance(opts, dict):
        raise errors.OptionError("nquad: opts must be one dict of arguments of quad, for all variables")
    if full_output:
        raise errors.OptionError("nquad: full_output is not available. Count the calls in the function")
    args = args if isinstance(args, tuple) else (args,)
    func, ranges = Bound(func), [Bound(limits) if callable(limits) else limits for limits in ranges]
    inner: list[Any] = []

    def over(depth: int, outer: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        if depth < 0:
            return func(*outer, *arguments)
        limits = ranges[depth]
        low, high = limits(*outer, *arguments) if callable(limits) else limits
        value, error, *_ = quad(
            lambda x, *args: over(depth - 1, (x, *outer), args), low, high, arguments, **(opts or {})
        )
        if depth == len(ranges) - 1:
            return value, error
        if not isinstance(error, Handle):
            inner.append(error)
        return value

    value, error = over(len(ranges) - 1, (), args)
    return value, error if isinstance(error, Handle) else max([error, *inner])
