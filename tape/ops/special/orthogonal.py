"""Orthogonal polynomials, differentiable by the argument: the derivative is one of the next family below.

DLMF 18.9.15 to 18.9.28. None is differentiable by its order or its parameters.
"""

from __future__ import annotations

from typing import Any

from tape.inspect.samples import declare_samples
from tape.ops.elementwise.scipy_ufuncs import Function, scipy_ufunc
from tape.ops.elementwise.selection import where
from tape.ops.special.gammas import binom

__all__ = [
    "eval_chebyc",
    "eval_chebys",
    "eval_chebyt",
    "eval_chebyu",
    "eval_gegenbauer",
    "eval_genlaguerre",
    "eval_hermite",
    "eval_hermitenorm",
    "eval_jacobi",
    "eval_laguerre",
    "eval_legendre",
    "eval_sh_chebyt",
    "eval_sh_chebyu",
    "eval_sh_jacobi",
    "eval_sh_legendre",
]

declare_samples(
    "scipy.special.eval_chebyc, scipy.special.eval_chebys, scipy.special.eval_chebyt, "
    "scipy.special.eval_chebyu, scipy.special.eval_hermite, scipy.special.eval_hermitenorm, "
    "scipy.special.eval_laguerre, scipy.special.eval_legendre, scipy.special.eval_sh_chebyt, "
    "scipy.special.eval_sh_chebyu, scipy.special.eval_sh_legendre(3, x)",
    "scipy.special.eval_gegenbauer, scipy.special.eval_genlaguerre(3, 1.5, x)",
    "scipy.special.eval_jacobi, scipy.special.eval_sh_jacobi(3, 2.5, 1.5, x)",
)


def _below(f: Function, n: Any, *operands: Any) -> Any:
    """Return n times the polynomial of the order below; 0 of order 0."""
    is_constant = n == 0
    return n * f(where(is_constant, 1, n) - 1, *operands)


eval_jacobi: Function = scipy_ufunc(
    "eval_jacobi",
    "Jacobi's polynomial of order n with parameters alpha and beta, differentiable by x.",
    None,
    None,
    None,
    lambda d, out, n, a, b, x: d * _jacobi_slope(n, a, b, x),
)


def _jacobi_slope(n: Any, a: Any, b: Any, x: Any) -> Any:
    is_constant = n == 0
    lower = eval_jacobi(where(is_constant, 1, n) - 1, a + 1, b + 1, x)
    return where(is_constant, 0.0, (n + (a + b) + 1) / 2 * lower)


eval_legendre = scipy_ufunc(
    "eval_legendre",
    "Legendre's polynomial of order n, differentiable by x.",
    None,
    lambda d, out, n, x: d * _jacobi_slope(n, 0.0, 0.0, x),
)
eval_gegenbauer: Function = scipy_ufunc(
    "eval_gegenbauer",
    "Gegenbauer's polynomial of order n with parameter alpha, differentiable by x.",
    None,
    None,
    lambda d, out, n, a, x: d * _gegenbauer_slope(n, a, x),
)


def _gegenbauer_slope(n: Any, a: Any, x: Any) -> Any:
    is_constant = n == 0
    return where(is_constant, 0.0, 2 * a * eval_gegenbauer(where(is_constant, 1, n) - 1, a + 1, x))


eval_chebyu = scipy_ufunc(
    "eval_chebyu",
    "Chebyshev's polynomial of the second kind of order n, differentiable by x.",
    None,
    lambda d, out, n, x: d * _gegenbauer_slope(n, 1.0, x),
)
eval_chebyt = scipy_ufunc(
    "eval_chebyt",
    "Chebyshev's polynomial of the first kind of order n, differentiable by x.",
    None,
    lambda d, out, n, x: d * _below(eval_chebyu, n, x),
)
eval_chebyc = scipy_ufunc(
    "eval_chebyc",
    "Twice Chebyshev's polynomial of the first kind of order n, of x / 2, differentiable by x.",
    None,
    lambda d, out, n, x: d * _below(eval_chebyu, n, x / 2),
)
eval_chebys = scipy_ufunc(
    "eval_chebys",
    "Chebyshev's polynomial of the second kind of order n, of x / 2, differentiable by x.",
    None,
    lambda d, out, n, x: d * (_gegenbauer_slope(n, 1.0, x / 2) / 2),
)
eval_sh_chebyt = scipy_ufunc(
    "eval_sh_chebyt",
    "Chebyshev's polynomial of the first kind of order n, of 2 x - 1, differentiable by x.",
    None,
    lambda d, out, n, x: d * (2 * _below(eval_chebyu, n, 2 * x - 1)),
)
eval_sh_chebyu = scipy_ufunc(
    "eval_sh_chebyu",
    "Chebyshev's polynomial of the second kind of order n, of 2 x - 1, differentiable by x.",
    None,
    lambda d, out, n, x: d * (2 * _gegenbauer_slope(n, 1.0, 2 * x - 1)),
)
eval_sh_legendre = scipy_ufunc(
    "eval_sh_legendre",
    "Legendre's polynomial of order n, of 2 x - 1, differentiable by x.",
    None,
    lambda d, out, n, x: d * (2 * _jacobi_slope(n, 0.0, 0.0, 2 * x - 1)),
)
eval_sh_jacobi = scipy_ufunc(
    "eval_sh_jacobi",
    "The shifted polynomial of Jacobi of order n with parameters p and q, differentiable by x.",
    None,
    None,
    None,
    lambda d, out, n, p, q, x: (
        d * (2 * _jacobi_slope(n, p - q, q - 1, 2 * x - 1) / binom(2 * n + (p - 1), n))
    ),
)
eval_hermite: Function = scipy_ufunc(
    "eval_hermite",
    "Hermite's polynomial of whole order n, differentiable by x.",
    None,
    lambda d, out, n, x: d * (2 * _below(eval_hermite, n, x)),
    is_whole=True,
)
eval_hermitenorm: Function = scipy_ufunc(
    "eval_hermitenorm",
    "Hermite's polynomial of whole order n as probability has it, differentiable by x.",
    None,
    lambda d, out, n, x: d * _below(eval_hermitenorm, n, x),
    is_whole=True,
)
eval_genlaguerre: Function = scipy_ufunc(
    "eval_genlaguerre",
    "The generalised polynomial of Laguerre of order n with parameter alpha, differentiable by x.",
    None,
    None,
    lambda d, out, n, a, x: d * _laguerre_slope(n, a, x),
)


def _laguerre_slope(n: Any, a: Any, x: Any) -> Any:
    is_constant = n == 0
    return where(is_constant, 0.0, -eval_genlaguerre(where(is_constant, 1, n) - 1, a + 1, x))


eval_laguerre = scipy_ufunc(
    "eval_laguerre",
    "Laguerre's polynomial of order n, differentiable by x.",
    None,
    lambda d, out, n, x: d * _laguerre_slope(n, 0.0, x),
)
