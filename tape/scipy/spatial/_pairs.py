"""Distances between two vectors, one function for each metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tape import errors, ops
from tape.scipy._operands import Array, inexact, require
from tape.scipy.spatial import _metrics
from tape.scipy.spatial._metrics import METRICS

__all__ = [
    "braycurtis",
    "canberra",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "hamming",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "seuclidean",
    "sqeuclidean",
]


def _real(what: str, x: Any) -> Array:
    """Return an operand of floats."""
    x = inexact(x)
    if x.dtype.kind == "c":
        raise errors.DTypeError(f"{what}: an operand is {errors.describe(x)}. It must be real")
    return x


def _vectors(what: str, *given: Any) -> list[Array]:
    """Return vectors of one length."""
    found = []
    for x in given:
        x = _real(what, x)
        found.append(ops.reshape(x, (1,)) if not x.ndim else x)
    shapes = [list(x.shape) for x in found]
    if any(x.ndim != 1 for x in found) or any(shape != shapes[0] for shape in shapes):
        raise errors.ShapeError(f"{what}: of shapes {shapes}. They must be vectors of one length")
    return found


def _operands(what: str, u: Any, v: Any, w: Any) -> list[Array]:
    """Return two vectors, and weights if there are any."""
    found = _vectors(what, u, v, *([] if w is None else [w]))
    if w is not None:
        require(ops.all(found[2] >= 0), f"{what}: weights must not be negative")
    return found


def _weighted(name: str) -> Callable[..., Array]:
    """Make the function of two vectors, and of weights, of a metric."""
    formula = METRICS[name][0]

    def function(u: Any, v: Any, w: Any = None) -> Array:
        return formula(*_operands(name, u, v, w))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {name} distance of two vectors, as `scipy.spatial.distance.{name}`.

    Parameters
    ----------
    u, v : array_like or Var
        ``(n,)``: real.
    w : array_like or Var, optional
        ``(n,)``: weights, not negative.

    Returns
    -------
    numpy.generic or Var

    Raises
    ------
    ShapeError
        If the vectors have different lengths.
    OptionError
        If a weight is negative.

    Examples
    --------
    >>> import tape
    >>> bool(tape.scipy.spatial.distance.{name}([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]) >= 0)
    True
    """
    return function


braycurtis = _weighted("braycurtis")
canberra = _weighted("canberra")
chebyshev = _weighted("chebyshev")
cityblock = _weighted("cityblock")
cosine = _weighted("cosine")
euclidean = _weighted("euclidean")
hamming = _weighted("hamming")
sqeuclidean = _weighted("sqeuclidean")


def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Array:
    """Return what the correlation of two vectors is less than 1, as SciPy's function of this name.

    Parameters
    ----------
    u, v : array_like or Var
        ``(n,)``: real.
    w : array_like or Var, optional
        ``(n,)``: weights, not negative.
    centered : bool
        Whether the means are taken out first.

    Returns
    -------
    numpy.generic or Var

    Raises
    ------
    ShapeError
        If the vectors have different lengths.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.spatial.distance.correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]).round(9).item()
    2.0
    """
    u, v, *weights = _operands("correlation", u, v, w)
    return _metrics.correlation(u, v, weights[0] if weights else None, centered)


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Array:
    """Return the distance of two vectors of order p, as `scipy.spatial.distance.minkowski`.

    Parameters
    ----------
    u, v : array_like or Var
        ``(n,)``: real.
    p : scalar or Var
        The order, positive; infinity is the largest difference.
    w : array_like or Var, optional
        ``(n,)``: weights, not negative.

    Returns
    -------
    numpy.generic or Var

    Raises
    ------
    ShapeError
        If the vectors have different lengths.
    OptionError
        If the order is not positive.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.spatial.distance.minkowski([0.0, 0.0], [3.0, 4.0], 1).item()
    7.0
    """
    u, v, *weights = _operands("minkowski", u, v, w)
    return _metrics.minkowski(u, v, p, weights[0] if weights else None)


def mahalanobis(u: Any, v: Any, VI: Any) -> Array:
    """Return the distance of two vectors relative to a covariance, as SciPy's function of this name.

    Parameters
    ----------
    u, v : array_like or Var
        ``(n,)``: real.
    VI : array_like or Var
        ``(n, n)``: the inverse of the covariance.

    Returns
    -------
    numpy.generic or Var

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.scipy.spatial.distance.mahalanobis([0.0, 0.0], [3.0, 4.0], np.eye(2)).item()
    5.0
    """
    u, v = _vectors("mahalanobis", u, v)
    return _metrics.mahalanobis(u, v, checked(inexact(VI), (u.shape[0],) * 2, "VI", "mahalanobis"))


def seuclidean(u: Any, v: Any, V: Any) -> Array:
    """Return the Euclidean distance relative to variances, as `scipy.spatial.distance.seuclidean`.

    Parameters
    ----------
    u, v : array_like or Var
        ``(n,)``: real.
    V : array_like or Var
        ``(n,)``: the variances.

    Returns
    -------
    numpy.generic or Var

    Raises
    ------
    ShapeError
        If the vectors have different lengths.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.spatial.distance.seuclidean([0.0, 0.0], [3.0, 4.0], [9.0, 16.0]).round(6).item()
    1.414214
    """
    u, v, V = _vectors("seuclidean", u, v, V)
    return _metrics.seuclidean(u, v, V)


def jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Array:
    """Return the distance of Jensen and Shannon of distributions, as SciPy's function of this name.

    Parameters
    ----------
    p, q : array_like or Var
        Not negative; they are normalized along the axis, and broadcast along the others.
    base : scalar or Var, optional
        The base of logarithms, by default e.
    axis : int
        The axis.
    keepdims : bool
        Whether to keep the axis, with length 1.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.spatial.distance.jensenshannon([1.0, 0.0], [0.0, 1.0], 2.0).item()
    1.0
    """
    p, q = (_real("jensenshannon", x) for x in (p, q))
    p, q = ops.broadcast_arrays(p, q)
    out = _metrics.jensenshannon(ops.moveaxis(p, axis, -1), ops.moveaxis(q, axis, -1), base)
    return ops.expand_dims(out, axis) if keepdims else out


def checked(x: Array, shape: tuple[int, ...], name: str, what: str) -> Array:
    """Return an operand of a given shape, or raise."""
    if x.shape != shape:
        raise errors.ShapeError(f"{what}: {name} has shape {list(x.shape)}. It must be {list(shape)}")
    return x
