"""Distributions of vectors and of matrices: parameters are arrays, and covariances are factorized."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle, plain
from tape.ops import special
from tape.ops.linalg import cholesky, eigh, solve_triangular
from tape.scipy._operands import require
from tape.scipy.stats._distribution import Array, Frozen, as_operand, quiet
from tape.transforms.stop import stop_gradient

_LOG_2_PI = math.log(2 * math.pi)


class Multivariate:
    """What all have: a name, and frozen ones."""

    _methods: frozenset[str] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Return the distribution with these parameters: its methods take only what is left."""
        return Frozen(self, args, kwargs)

    def __repr__(self) -> str:
        return f"tape.scipy.stats.{self.name}"

    def __getattr__(self, name: str) -> Any:
        """Look up what is not written here in SciPy: methods that draw numbers, fit and integrate."""
        if name.startswith("_"):
            raise AttributeError(name)
        from scipy import stats

        return getattr(getattr(stats, self.name), name)


class MultivariateNormal(Multivariate):
    """``exp(-(x - mean)' cov^-1 (x - mean) / 2) / sqrt(det(2 pi cov))``."""

    _methods = frozenset({"pdf", "logpdf", "entropy"})

    def logpdf(self, x: Array, mean: Array = None, cov: Array = 1, allow_singular: bool = False) -> Array:
        """Return the logarithm of the density at x ``(..., d)``.

        ``cov`` is a matrix, its diagonal or one number for all of that.
        """
        x, mean, cov = _vectors(self.name, x, mean, cov)
        distance, log_det, rank = _distances(x - mean, cov, allow_singular)
        return -(rank * _LOG_2_PI + log_det + distance) / 2

    def pdf(self, x: Array, mean: Array = None, cov: Array = 1, allow_singular: bool = False) -> Array:
        """Return the density at x, as `logpdf`."""
        return np.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Array = None, cov: Array = 1) -> Array:
        """Return the differential entropy in nats."""
        _, x, cov = _vectors(self.name, 0, mean, cov)
        _, log_det, _ = _distances(0.0 * x, cov, False)
        return cov.shape[0] * (_LOG_2_PI + 1) / 2 + log_det / 2


class MultivariateT(Multivariate):
    """Student's t distribution of vectors; with infinite degrees of freedom the normal one."""

    _methods = frozenset({"pdf", "logpdf", "entropy"})

    def logpdf(self, x: Array, loc: Array = None, shape: Array = 1, df: Array = 1) -> Array:
        """Return the logarithm of the density at x ``(..., d)``.

        ``shape`` is a matrix, its diagonal or one number for all of that.
        """
        df = _checked_df(self.name, df, 0)
        if not isinstance(df, Handle) and np.ndim(df) == 0 and df == np.inf:
            return MultivariateNormal(self.name).logpdf(x, loc, shape)
        x, loc, shape = _vectors(self.name, x, loc, shape)
        distance, log_det, size = _distances(x - loc, shape, False)
        half = (df + size) / 2
        constant = (
            special.gammaln(half) - special.gammaln(df / 2) - size / 2 * np.log(df * math.pi) - log_det / 2
        )
        return constant - half * np.log1p(distance / df)

    def pdf(
        self, x: Array, loc: Array = None, shape: Array = 1, df: Array = 1, allow_singular: bool = False
    ) -> Array:
        """Return the density at x, as `logpdf`."""
        return np.exp(self.logpdf(x, loc, shape, df))

    def entropy(self, loc: Array = None, shape: Array = 1, df: Array = 1) -> Array:
        """Return the differential entropy in nats."""
        df = _checked_df(self.name, df, 0)
        if not isinstance(df, Handle) and np.ndim(df) == 0 and df == np.inf:
            return MultivariateNormal(self.name).entropy(loc, shape)
        _, x, shape = _vectors(self.name, 0, loc, shape)
        _, log_det, size = _distances(0.0 * x, shape, False)
        half, total = df / 2, (df + size) / 2
        gammas = special.gammaln(half) - special.gammaln(total) + size / 2 * np.log(df * math.pi)
        return gammas + total * (special.digamma(total) - special.digamma(half)) + log_det / 2


class Dirichlet(Multivariate):
    """``prod(x^(alpha - 1)) / B(alpha)``, where x >= 0 sums to 1; components along the first axis."""

    _methods = frozenset({"pdf", "logpdf", "entropy", "mean", "var", "cov"})

    def logpdf(self, x: Array, alpha: Array) -> Array:
        """Return the logarithm of the density at x, ``(k,)`` or ``(k, n)``.

        The last component may be left out: it is what the others leave to 1.
        """
        x, alpha = as_operand(self.name, x), self._alpha(alpha)
        if np.shape(x)[:1] == (np.shape(alpha)[0] - 1,):
            x = np.concatenate([x, (1 - np.sum(x, axis=0))[None]])
        if np.shape(x)[:1] != np.shape(alpha):
            raise errors.ShapeError(
                f"dirichlet: x has shape {np.shape(x)}, and alpha {np.shape(alpha)[0]} components. "
                "They are along the first axis"
            )
        if not isinstance(x, Handle) and (np.any(x < 0) or np.any(np.abs(np.sum(x, axis=0) - 1) > 1e-9)):
            raise errors.OptionError("dirichlet: the components of x must be positive and sum to 1")
        exponents = alpha.reshape(-1, *[1] * (np.ndim(x) - 1)) - 1
        if not isinstance(x, Handle) and not isinstance(alpha, Handle) and np.any((x == 0) & (exponents < 0)):
            raise errors.OptionError(
                "dirichlet: a component of x is 0 where alpha is less than 1, and the density infinite"
            )
        with quiet():
            powers = special.xlogy(exponents, x)
            return np.sum(powers, axis=0) - _log_beta(alpha)

    def pdf(self, x: Array, alpha: Array) -> Array:
        """Return the density at x, as `logpdf`."""
        return np.exp(self.logpdf(x, alpha))

    def entropy(self, alpha: Array) -> Array:
        """Return the differential entropy in nats."""
        alpha = self._alpha(alpha)
        total, size = np.sum(alpha), np.shape(alpha)[0]
        inner = (total - size) * special.digamma(total)
        return _log_beta(alpha) + inner - np.sum((alpha - 1) * special.digamma(alpha))

    def mean(self, alpha: Array) -> Array:
        """Return the expected value of each component."""
        alpha = self._alpha(alpha)
        return alpha / np.sum(alpha)

    def var(self, alpha: Array) -> Array:
        """Return the variance of each component."""
        alpha = self._alpha(alpha)
        total = np.sum(alpha)
        return alpha * (total - alpha) / (total**2 * (total + 1))

    def cov(self, alpha: Array) -> Array:
        """Return the matrix of covariances."""
        alpha = self._alpha(alpha)
        total = np.sum(alpha)
        share = alpha / total
        return (np.diag(share) - np.outer(share, share)) / (total + 1)

    def _alpha(self, alpha: Array) -> Array:
        alpha = as_operand(self.name, alpha)
        if np.ndim(alpha) != 1:
            raise errors.ShapeError(f"dirichlet: alpha has shape {np.shape(alpha)}. Pass a vector")
        if not isinstance(alpha, Handle) and not np.all(alpha > 0):
            raise errors.OptionError("dirichlet: all of alpha must be greater than 0")
        return alpha


def _log_beta(alpha: Array) -> Array:
    return np.sum(special.gammaln(alpha)) - special.gammaln(np.sum(alpha))


class Multinomial(Multivariate):
    """``n! / prod(x!) prod(p^x)``; NaN where the probabilities do not sum to 1."""

    _methods = frozenset({"pmf", "logpmf", "mean", "cov", "entropy"})

    def logpmf(self, x: Array, n: Array, p: Array) -> Array:
        """Return the logarithm of the probability of the counts x ``(..., k)``."""
        x = as_operand(self.name, x)
        x = x if isinstance(x, Handle) else np.asarray(x, float)
        n, p = as_operand(self.name, n), as_operand(self.name, p)
        with quiet():
            ways = special.gammaln(n + 1) - np.sum(special.gammaln(x + 1), axis=-1)
            out = ways + np.sum(special.xlogy(x, p), axis=-1)
        is_count = np.all((x == np.floor(x)) & (x >= 0), axis=-1) & (np.sum(x, axis=-1) == n)
        is_valid = _are_probabilities(p) & (n >= 0)
        return np.where(is_valid, np.where(is_count, out, -np.inf), np.nan)[()]

    def pmf(self, x: Array, n: Array, p: Array) -> Array:
        """Return the probability of the counts x ``(..., k)``."""
        return np.exp(self.logpmf(x, n, p))

    def mean(self, n: Array, p: Array) -> Array:
        """Return the expected counts."""
        p = as_operand(self.name, p)
        return np.where(_are_probabilities(p)[..., None], as_operand(self.name, n) * p, np.nan)

    def cov(self, n: Array, p: Array) -> Array:
        """Return the matrix of covariances of the counts."""
        n, p = as_operand(self.name, n), as_operand(self.name, p)
        out = n * (p[..., :, None] * np.eye(np.shape(p)[-1]) - p[..., :, None] * p[..., None, :])
        return np.where(_are_probabilities(p)[..., None, None], out, np.nan)

    def entropy(self, n: Array, p: Array) -> Array:
        """Return the entropy in nats; n is one number."""
        p, count = as_operand(self.name, p), int(stop_gradient(n))
        from tape.scipy.stats import binom

        k = np.arange(1, count + 1)
        expected = np.sum(binom.pmf(k, count, p[..., None]) * special.gammaln(k + 1), axis=(-1, -2))
        out = count * np.sum(special.entr(p), axis=-1) - special.gammaln(count + 1) + expected
        return np.where(_are_probabilities(p), out, np.nan)[()]


def _are_probabilities(p: Array) -> Array:
    rounding = 10 * np.finfo(np.result_type(plain(p), np.float32)).eps
    return np.all((p >= 0) & (p <= 1), axis=-1) & (np.abs(np.sum(p, axis=-1) - 1) <= rounding)


class Wishart(Multivariate):
    """The distribution of the scatter of df normal vectors with covariance ``scale``."""

    _methods = frozenset({"pdf", "logpdf", "mean", "var", "mode", "entropy"})

    def logpdf(self, x: Array, df: Array, scale: Array) -> Array:
        """Return the logarithm of the density at matrices x, ``(p, p)`` or ``(p, p, n)``."""
        scale = _matrix(self.name, scale, 1)
        size = scale.shape[0]
        x, df = as_operand(self.name, x), _checked_df(self.name, df, size - 1)
        x = x * np.eye(size) if np.ndim(x) == 0 else x
        x = x[None, None, :] if np.ndim(x) == 1 else x
        matrices = np.moveaxis(x, 2, 0) if np.ndim(x) == 3 else x
        factor, of_x = cholesky(_symmetric(scale)), cholesky(_symmetric(matrices))
        # The trace of scale^-1 x is the sum of squares of the quotient of the factors.
        columns = of_x if np.ndim(of_x) == 2 else np.moveaxis(of_x, 0, 1).reshape(size, -1)
        quotients = solve_triangular(factor, columns, lower=True)
        squares = quotients**2
        trace = (
            np.sum(squares) if np.ndim(of_x) == 2 else np.sum(squares.reshape(size, -1, size), axis=(0, 2))
        )
        out = (
            (df - size - 1) / 2 * _log_det(of_x)
            - trace / 2
            - df / 2 * (size * math.log(2) + _log_det(factor))
        )
        return out - _multigammaln(df / 2, size)

    def pdf(self, x: Array, df: Array, scale: Array) -> Array:
        """Return the density at matrices x, as `logpdf`."""
        return np.exp(self.logpdf(x, df, scale))

    def mean(self, df: Array, scale: Array) -> Array:
        """Return the expected matrix."""
        return _number_if_one(df * _matrix(self.name, scale, 1))

    def var(self, df: Array, scale: Array) -> Array:
        """Return the variance of each element."""
        scale = _matrix(self.name, scale, 1)
        diagonal = np.diagonal(scale)
        return _number_if_one(df * (scale**2 + np.outer(diagonal, diagonal)))

    def mode(self, df: Array, scale: Array) -> Array:
        """Return the matrix of the greatest density; None if there is none."""
        scale = _matrix(self.name, scale, 1)
        left = df - scale.shape[0] - 1
        return _number_if_one(left * scale) if left >= 0 else None

    def entropy(self, df: Array, scale: Array) -> Array:
        """Return the differential entropy in nats."""
        scale = _matrix(self.name, scale, 1)
        size = scale.shape[0]
        log_det = _log_det(cholesky(_symmetric(scale)))
        digammas = sum(special.digamma((df - j) / 2) for j in range(size))
        powers = (size + 1) / 2 * log_det + size * (size + 1) / 2 * math.log(2) + df * size / 2
        return powers + _multigammaln(df / 2, size) - (df - size - 1) / 2 * digammas


def _number_if_one(matrix: Array) -> Array:
    return matrix[0, 0] if matrix.shape == (1, 1) else matrix


def _multigammaln(a: Array, size: int) -> Array:
    return size * (size - 1) / 4 * math.log(math.pi) + sum(special.gammaln(a - j / 2) for j in range(size))


# ---- covariances -----------------------------------------------------------------------------------------


def _vectors(name: str, x: Array, mean: Array, cov: Array) -> tuple[Array, Array, Array]:
    """Return vectors (..., d), the mean and the matrix of covariances, whatever SciPy allows them to be."""
    x = as_operand(name, x)
    mean = None if mean is None else as_operand(name, mean)
    cov = as_operand(name, cov)
    size = np.shape(cov)[0] if np.ndim(cov) else 1 if mean is None else max(1, np.size(mean))
    mean = np.zeros(size) if mean is None else np.reshape(mean, 1) if np.ndim(mean) == 0 else mean
    cov = _matrix(name, cov, size)
    if np.shape(cov) != (size, size) or np.shape(mean) != (size,):
        raise errors.ShapeError(
            f"{name}: a mean of shape {np.shape(mean)} and covariances of shape {np.shape(cov)} do not fit. "
            "Pass d numbers and (d, d), d or one"
        )
    if np.ndim(x) == 0:
        x = np.reshape(x, 1)
    if size == 1 and np.ndim(x) == 1 and np.shape(x) != (1,):
        x = x[:, None]
    return x, mean, cov


def _checked_df(name: str, df: Array, least: int) -> Array:
    """Return the degrees of freedom, which must be more than ``least``."""
    df = as_operand(name, df)
    require(np.logical_not(np.any(df <= least)), f"{name}: df={df}. It must be more than {least}")
    return df


def _matrix(name: str, cov: Array, size: int) -> Array:
    cov = as_operand(name, cov)
    if np.ndim(cov) == 0:
        return cov * np.eye(size)
    return np.diag(cov) if np.ndim(cov) == 1 else cov


def _symmetric(matrices: Array) -> Array:
    return (matrices + np.swapaxes(matrices, -1, -2)) / 2


def _log_det(factors: Array) -> Array:
    """Return the logarithm of the determinant of what these triangular matrices are the factors of."""
    return 2 * np.sum(np.log(np.diagonal(factors, axis1=-2, axis2=-1)), axis=-1)


def _distances(x: Array, cov: Array, allow_singular: bool) -> tuple[Array, Array, Array]:
    """Return ``x' cov^-1 x`` of each vector, the logarithm of the determinant, and the rank."""
    size = cov.shape[0]
    if allow_singular:
        return _distances_of_rank(x, cov)
    factor = cholesky(_symmetric(cov))
    columns = np.reshape(x, (-1, size)).T
    distances = np.sum(solve_triangular(factor, columns, lower=True) ** 2, axis=0)
    return np.reshape(distances, np.shape(x)[:-1]), _log_det(factor), size


def _distances_of_rank(x: Array, cov: Array) -> tuple[Array, Array, Array]:
    """The same where the covariances are singular: infinite outside of the space that they span.

    What counts as zero is what SciPy takes for it.
    """
    values, vectors = eigh(_symmetric(cov))
    tiny = 1e6 * np.finfo(np.float64).eps * np.max(np.abs(values))
    is_positive = values > tiny
    sizes = np.where(is_positive, values, 1.0)
    along = x @ vectors
    distance = np.sum(np.where(is_positive, along**2 / sizes, 0.0), axis=-1)
    outside = np.sum(np.where(is_positive, 0.0, along**2), axis=-1) >= (1e3 * tiny) ** 2
    rank = np.sum(is_positive)
    distance = np.where((rank < cov.shape[0]) & outside, np.inf, distance)
    return distance, np.sum(np.log(sizes)), rank
