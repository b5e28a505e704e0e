"""Sums of exponentials, and functions derived from the gamma function."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special as scipy_special

from tape.core.operands import as_operand, composed
from tape.errors import OptionError
from tape.numpy._conversion import array
from tape.ops import special
from tape.ops.structure.shape import Axes
from tape.scipy._operands import has_vars
from tape.scipy.special._calls import for_vars

__all__ = [
    "assoc_laguerre",
    "comb",
    "diric",
    "factorial",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "perm",
    "polygamma",
    "sinc",
    "softmax",
    "softplus",
    "zeta",
]


@for_vars
def logsumexp(
    a: Any, axis: Axes = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Return the logarithm of a sum of exponentials: `tape.ops.logsumexp`."""
    b = None if b is None else array(b)
    return special.logsumexp(array(a), axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)


@for_vars
def softmax(x: Any, axis: Axes = None) -> Any:
    """Return exponentials over their sum: `tape.ops.special.softmax`."""
    return special.softmax(array(x), axis)


@for_vars
def log_softmax(x: Any, axis: Axes = None) -> Any:
    """Return the logarithm of `softmax`, exact for small numbers too."""
    return special.log_softmax(array(x), axis)


@for_vars
def polygamma(n: Any, x: Any) -> Any:
    """Return the derivative of order n of digamma: `tape.ops.special.polygamma`."""
    return special.polygamma(n, array(x))


@for_vars
def multigammaln(a: Any, d: int) -> Any:
    """Return the logarithm of the multivariate gamma function: `tape.ops.special.multigammaln`."""
    return special.multigammaln(array(a), d)


@for_vars
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Return the number of ways to choose k of N, by the beta function; 0 for impossible ones.

    Parameters
    ----------
    N, k : array_like or Var
        Of shapes that broadcast.
    exact : bool
        Whole numbers without rounding: refused with Vars.
    repetition : bool
        Choose things more than once.

    Returns
    -------
    Var

    Raises
    ------
    OptionError
        With ``exact``.

    Examples
    --------
    >>> import tape
    >>> round(float(tape.grad(lambda k: tape.scipy.special.comb(4, k))(2.0)), 12)  # the largest one
    0.0
    """
    _refuse_exact("comb", exact)
    N, k = array(N), array(k)
    if repetition:
        return np.where((k == 0) & (N >= 0), 1.0, special.binom(N + k - 1, k))
    is_possible = (k <= N) & (N >= 0) & (k >= 0)
    ways = special.binom(np.where(is_possible, N, 1.0), np.where(is_possible, k, 0.0))
    return np.where(is_possible, ways, 0.0)


@for_vars
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Return the number of ways to line up k of N; 0 for impossible ones.

    Parameters
    ----------
    N, k : array_like or Var
        Of shapes that broadcast.
    exact : bool
        Whole numbers without rounding: refused with Vars.

    Returns
    -------
    Var

    Raises
    ------
    OptionError
        With ``exact``.

    Examples
    --------
    >>> import tape
    >>> round(float(tape.grad(lambda n: tape.scipy.special.perm(n, 2))(5.0)), 12)  # of n (n - 1)
    9.0
    """
    _refuse_exact("perm", exact)
    N, k = array(N), array(k)
    is_possible = (k <= N) & (N >= 0) & (k >= 0)
    inside, count = np.where(is_possible, N, 1.0), np.where(is_possible, k, 0.0)
    return np.where(is_possible, special.poch(inside - count + 1, count), 0.0)


@for_vars
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Return ``gamma(n + 1)``; 0 for negative numbers, unless they are extended.

    Parameters
    ----------
    n : array_like or Var
        Any shape.
    exact : bool
        Whole numbers without rounding: refused with Vars.
    extend : {"zero", "complex"}
        Take negative numbers to 0, or the gamma function everywhere.

    Returns
    -------
    Var

    Raises
    ------
    OptionError
        With ``exact``, or if ``extend`` is something else.

    Examples
    --------
    >>> import tape
    >>> round(float(tape.grad(tape.scipy.special.factorial)(0.0)), 6)  # minus Euler's constant
    -0.577216
    """
    _refuse_exact("factorial", exact)
    if extend not in ("zero", "complex"):
        raise OptionError(f"factorial: extend={extend!r}. It must be 'zero' or 'complex'")
    n = array(n)
    if extend == "complex":
        return special.gamma(n + 1)
    is_negative = n < 0
    return np.where(is_negative, 0.0, special.gamma(np.where(is_negative, 0.0, n) + 1))


@for_vars
def assoc_laguerre(x: Any, n: Any, k: Any = 0.0) -> Any:
    """Return `eval_genlaguerre` of n, k and x: a generalised polynomial of Laguerre."""
    return special.eval_genlaguerre(n, k, array(x))


@for_vars
def sinc(x: Any) -> Any:
    """Return ``sin(pi x) / (pi x)``: `numpy.sinc`."""
    return special.sinc(array(x))


@composed
def softplus(x: Any, **kwargs: Any) -> Any:
    """Return ``log(1 + exp(x))``: `tape.ops.special.softplus`, of arrays as of Vars.

    SciPy's loop is another one, and slower; it runs if there are keywords of ufuncs, which Vars refuse.

    Raises
    ------
    OptionError
        With keywords and a Var.
    """
    if not kwargs:
        return special.softplus(array(x))
    if has_vars(x):
        _refuse_out("softplus", **kwargs)
    return scipy_special.softplus(x, **kwargs)


@for_vars
def zeta(x: Any, q: Any = None, out: Any = None) -> Any:
    """Return the zeta function of Riemann, or with q of Hurwitz: `tape.ops.special.zeta`.

    Raises
    ------
    OptionError
        With ``out``.
    """
    _refuse_out("zeta", **({} if out is None else {"out": out}))
    return special.zeta(array(x), None if q is None else array(q))


@composed
def diric(x: Any, n: Any) -> Any:
    """Return the periodic sinc, ``sin(n x / 2) / (n sin(x / 2))``: a polynomial in ``cos(x / 2)``.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    n : array_like of int
        At least 1; NaN for others.

    Returns
    -------
    Var

    Examples
    --------
    >>> import tape
    >>> round(float(tape.hessian(lambda x: tape.scipy.special.diric(x, 3))(0.0)), 6)  # of (1 + 2 cos(x)) / 3
    -0.666667
    """
    cosine = np.cos(array(x) / 2)
    if isinstance(n, int) and n > 0:
        return special.eval_chebyu(n - 1, cosine) / n
    n = np.asarray(as_operand(n))
    is_size = (n == np.floor(n)) & (n > 0)
    size = np.where(is_size, n, 1)
    is_known = is_size & ~np.isnan(cosine)  # the polynomial of degree 0 is 1, whatever it is of
    return np.where(is_known, special.eval_chebyu(size - 1.0, cosine) / size, np.nan)


def _refuse_exact(name: str, is_exact: bool) -> None:
    if is_exact:
        raise OptionError(f"{name}: with exact=True it is no function of real numbers. Leave exact out")


def _refuse_out(name: str, **kwargs: Any) -> None:
    if kwargs:
        raise OptionError(f"{name}: Vars are taken without {', '.join(kwargs)}=. Leave it out")
