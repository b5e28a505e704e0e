"""Densities estimated by Gaussian kernels, as `scipy.stats.gaussian_kde`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from tape import errors, ops
from tape.core.node import Handle
from tape.ops import special
from tape.ops.linalg import cholesky, inv, solve_triangular
from tape.scipy._operands import Array, double, is_recorded, operand
from tape.scipy.special import logsumexp

__all__ = ["gaussian_kde"]


class gaussian_kde(stats.gaussian_kde):
    """A density estimated by Gaussian kernels, differentiable by dataset, weights, bandwidth and points.

    Parameters
    ----------
    dataset : array or Var, shape (n,) or (d, n)
        The points to estimate from.
    bw_method : str, number, Var or callable, optional
        How the bandwidth is found: "scott" (default), "silverman", the factor itself, or a function of this
        object that returns it.
    weights : array or Var, shape (n,), optional
        Of the points; they need not sum to one.

    Attributes
    ----------
    dataset, d, n, weights, neff, factor, covariance, cho_cov, inv_cov, log_det
        As in SciPy; Vars where they depend on one.

    Raises
    ------
    ShapeError
        If there is one number only, there are fewer points than dimensions, or weights of another number.
    SingularMatrixError
        If the points lie in a lower-dimensional space.
    OptionError
        If ``bw_method`` is none of these.

    Notes
    -----
    For plain numbers `evaluate` and `logpdf` are SciPy's. With a Var they need memory for all pairs of a
    point and one of the dataset.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.scipy.stats import gaussian_kde
    >>> data = np.array([-1.0, 0.5, 2.0])
    >>> gaussian_kde(data).pdf(np.array([0.0, 1.0])).round(4)
    array([0.2073, 0.2073])
    >>> tape.grad(lambda data: gaussian_kde(data).logpdf(0.0)[0])(data).round(4)
    array([ 0.3554, -0.1685, -0.2802])
    """

    _methods = frozenset({"pdf", "logpdf"})

    def __init__(self, dataset: Array, bw_method: Any = None, weights: Array = None) -> None:
        self.dataset = _rows(operand(dataset))
        if not self.dataset.size > 1:
            raise errors.ShapeError("gaussian_kde: the dataset is one number. Pass several")
        self.d, self.n = self.dataset.shape
        if weights is not None:
            weights = double(weights)
            if weights.shape != (self.n,):
                raise errors.ShapeError(
                    f"gaussian_kde: weights of shape {list(weights.shape)} for {self.n} points. Pass as many"
                )
            self._weights = weights / ops.sum(weights)
        if self.d > self.n:
            raise errors.ShapeError(
                f"gaussian_kde: {self.n} points in {self.d} dimensions have a singular covariance. The "
                "columns of the dataset are the points: transpose it"
            )
        self.set_bandwidth(bw_method)

    # ---- the bandwidth -----------------------------------------------------------------------------

    @property
    def weights(self) -> Array:
        """The weights, whose sum is one."""
        if not hasattr(self, "_weights"):
            self._weights = np.full(self.n, 1 / self.n)
        return self._weights

    @property
    def neff(self) -> Array:
        """The effective number of points."""
        return 1 / ops.sum(self.weights**2)

    def scotts_factor(self) -> Array:
        """Return ``neff**(-1 / (d + 4))``."""
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self) -> Array:
        """Return ``(neff * (d + 2) / 4)**(-1 / (d + 4))``."""
        return (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4))

    covariance_factor: Callable[..., Any] = scotts_factor

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Compute the bandwidth again, by another method."""
        if bw_method is None:
            pass
        elif isinstance(bw_method, str) and bw_method in ("scott", "silverman"):
            is_scott = bw_method == "scott"
            self.covariance_factor = self.scotts_factor if is_scott else self.silverman_factor
        elif _is_number(bw_method):
            self.covariance_factor = lambda: bw_method
        elif callable(bw_method):
            self.covariance_factor = lambda: bw_method(self)
        else:
            raise errors.OptionError(
                f"gaussian_kde: bw_method is {errors.describe(bw_method)}. Use 'scott', 'silverman', a "
                "number or a function"
            )
        self._compute_covariance()

    def _compute_covariance(self) -> None:
        self.factor = self.covariance_factor()
        if not hasattr(self, "_data_cho_cov"):
            data = double(self.dataset)
            centred = data - (data @ self.weights)[:, None]
            self._data_covariance = (centred * self.weights) @ centred.T / (1 - ops.sum(self.weights**2))
            try:
                self._data_cho_cov = cholesky(self._data_covariance)
            except errors.SingularMatrixError as error:
                raise errors.SingularMatrixError(
                    "gaussian_kde: the points lie in a lower-dimensional space, or weights are negative, so "
                    "that their covariance is singular. Leave out dimensions, e.g. by an analysis of "
                    "principal components"
                ) from error
        self.covariance = self._data_covariance * self.factor**2
        self.cho_cov = self._data_cho_cov * self.factor
        self.log_det = 2 * ops.sum(ops.log(ops.diagonal(self.cho_cov) * math.sqrt(2 * math.pi)))

    @property
    def inv_cov(self) -> Array:
        """The inverse of the covariance."""
        return inv(self.covariance)

    # ---- densities ---------------------------------------------------------------------------------

    def evaluate(self, points: Array) -> Array:
        """Return the density at points.

        Parameters
        ----------
        points : array or Var, shape (m,) or (d, m)
            A vector of length d is one point.

        Returns
        -------
        array or Var, shape (m,)

        Raises
        ------
        ShapeError
            If the points are not of d dimensions.
        """
        points = self._points(points)
        if not self._is_recorded(points):
            return super().evaluate(points)
        return ops.exp(-self.log_det / 2) * (self.weights @ ops.exp(-self._energies(points)))

    __call__ = evaluate

    def pdf(self, x: Array) -> Array:
        """Return the density at points, as `evaluate`."""
        return self.evaluate(x)

    def logpdf(self, x: Array) -> Array:
        """Return the logarithm of the density at points, as `evaluate`."""
        points = self._points(x)
        if not self._is_recorded(points):
            return super().logpdf(points)
        energies = self._energies(points)
        return logsumexp(-energies, axis=0, b=self.weights[:, None]) - self.log_det / 2

    def _is_recorded(self, *others: Any) -> bool:
        return is_recorded(self.dataset, self.weights, self.factor, others)

    def _points(self, points: Array) -> Array:
        points = _rows(operand(points))
        if points.shape == (1, self.d) and self.d > 1:
            points = ops.reshape(points, (self.d, 1))
        if points.ndim != 2 or points.shape[0] != self.d:
            raise errors.ShapeError(
                f"gaussian_kde: points of shape {list(points.shape)}, for a dataset of {self.d} dimensions. "
                f"Pass shape [{self.d}, m]"
            )
        return points

    def _energies(self, points: Array) -> Array:
        """Return half the squared distances ``(n, m)`` of the dataset and points, in units of the kernel."""
        return _half_squares(self.cho_cov, double(self.dataset), double(points))

    # ---- integrals ---------------------------------------------------------------------------------

    def integrate_gaussian(self, mean: Array, cov: Array) -> Array:
        """Return the integral of the density times that of a normal distribution.

        Parameters
        ----------
        mean : array or Var, shape (d,)
            Of the normal distribution.
        cov : array or Var, shape (d, d)
            Its covariance.

        Raises
        ------
        ShapeError
            If they are not of d dimensions.
        """
        mean, cov = ops.reshape(double(mean), (-1,)), _rows(double(cov))
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise errors.ShapeError(
                f"gaussian_kde: a mean of shape {list(mean.shape)} and a covariance of {list(cov.shape)}, "
                f"for {self.d} dimensions"
            )
        root = cholesky(self.covariance + cov)
        products = ops.exp(-_half_squares(root, double(self.dataset), mean[:, None]))[:, 0]
        return ops.sum(self.weights * products) / _normalization(root)

    def integrate_box_1d(self, low: Array, high: Array) -> Array:
        """Return the integral of a density of one dimension from low to high.

        Raises
        ------
        ShapeError
            If there are more dimensions.
        """
        if self.d != 1:
            raise errors.ShapeError(
                f"gaussian_kde: integrate_box_1d is for one dimension, not {self.d}. Use integrate_box"
            )
        spread = ops.sqrt(self.covariance[0, 0])
        low, high = ((double(end) - double(self.dataset[0])) / spread for end in (low, high))
        # of two numbers that are nearly one the difference would lose its digits
        is_right = low > -high
        first, last = ops.where(is_right, -high, low), ops.where(is_right, -low, high)
        return ops.sum(self.weights * (special.ndtr(last) - special.ndtr(first)))

    def integrate_box(self, low_bounds: Array, high_bounds: Array, *args: Any, **options: Any) -> Any:
        """Return the integral over a box; of more than one dimension SciPy's, for plain numbers.

        Raises
        ------
        UnsupportedError
            If there is a Var, and more than one dimension.
        """
        if self.d == 1:
            low, high = (ops.reshape(operand(end), ()) for end in (low_bounds, high_bounds))
            return self.integrate_box_1d(low, high)
        if self._is_recorded(low_bounds, high_bounds):
            raise errors.UnsupportedError(
                "gaussian_kde: integrate_box has no derivative in more than one dimension. Integrate the "
                "density by tape.scipy.integrate.nquad"
            )
        return super().integrate_box(low_bounds, high_bounds, *args, **options)

    def integrate_kde(self, other: Any) -> Array:
        """Return the integral of the product with another density.

        Raises
        ------
        ShapeError
            If that is of other dimensions.
        """
        if other.d != self.d:
            raise errors.ShapeError(
                f"gaussian_kde: densities of {self.d} and {other.d} dimensions have no product"
            )
        root = cholesky(self.covariance + other.covariance)
        products = ops.exp(-_half_squares(root, double(self.dataset), double(other.dataset)))
        return self.weights @ products @ other.weights / _normalization(root)

    def resample(self, size: int | None = None, seed: Any = None) -> np.ndarray:
        """Draw points from the density, of plain numbers.

        Raises
        ------
        UnsupportedError
            If there is a Var.
        """
        if self._is_recorded():
            raise errors.UnsupportedError(
                "gaussian_kde: points that are drawn have no derivative. Make it of plain numbers for that, "
                "by tape.stop_gradient"
            )
        drawn: np.ndarray = super().resample(size, seed)
        return drawn

    def marginal(self, dimensions: Any) -> gaussian_kde:
        """Return the density of some of the dimensions.

        Parameters
        ----------
        dimensions : int or array of ints
            Which ones.

        Raises
        ------
        OptionError
            If they are no whole numbers, twice the same, or there is no such dimension.
        """
        chosen = np.atleast_1d(dimensions)
        is_known = chosen.dtype.kind in "iu" and np.all((-self.d <= chosen) & (chosen < self.d))
        if not is_known or len(np.unique(chosen % self.d)) < len(chosen):
            raise errors.OptionError(
                f"gaussian_kde: dimensions {errors.describe(dimensions)} of {self.d}. Pass different ints"
            )
        return gaussian_kde(self.dataset[chosen % self.d], self.covariance_factor(), self.weights)


def _is_number(x: Any) -> bool:
    if isinstance(x, (Handle, np.ndarray, np.number)):
        return operand(x).ndim == 0
    return isinstance(x, (float, int))


def _rows(x: Array) -> Array:
    """Return an array of at least two axes."""
    return x if x.ndim >= 2 else ops.reshape(x, (1, -1))


def _half_squares(root: Array, left: Array, right: Array) -> Array:
    """Return half the squared distances of all pairs of columns, in units of a triangular matrix."""
    left, right = (solve_triangular(root, part, lower=True) for part in (left, right))
    total: Any = 0.0
    for row, other in zip(left, right, strict=True):
        total = total + (row[:, None] - other[None, :]) ** 2
    return total / 2


def _normalization(root: Array) -> Array:
    """Return the integral of a Gaussian, given the Cholesky factor of its covariance."""
    return (2 * math.pi) ** (root.shape[0] / 2) * ops.prod(ops.diagonal(root))
