"""Distances as in `scipy.spatial.distance`, differentiable by vectors, weights and parameters.

`cdist`, `pdist` and `squareform`, for the metrics euclidean, sqeuclidean, cityblock, chebyshev, minkowski,
cosine, correlation, canberra, braycurtis, hamming, mahalanobis, seuclidean and jensenshannon, and for
functions of your own; and a function of two vectors for each. At distance zero derivatives are zero. All
other names are SciPy's own, for plain numbers.

Examples
--------
>>> import numpy as np, tape
>>> from tape.scipy.spatial import distance
>>> x = np.array([[0.0, 0.0], [3.0, 4.0]])
>>> distance.pdist(x)
array([5.])
>>> tape.grad(lambda x: np.sum(distance.cdist(x, x)))(x)
array([[-1.2, -1.6],
       [ 1.2,  1.6]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import distance as _distance

from tape import errors, ops
from tape.scipy._operands import Array, has_vars, is_recorded, operand, real_double, refusing, require
from tape.scipy.spatial._metrics import ALIASES, METRICS
from tape.scipy.spatial._pairs import (
    braycurtis,
    canberra,
    chebyshev,
    checked,
    cityblock,
    correlation,
    cosine,
    euclidean,
    hamming,
    jensenshannon,
    mahalanobis,
    minkowski,
    seuclidean,
    sqeuclidean,
)

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "hamming",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "pdist",
    "seuclidean",
    "sqeuclidean",
    "squareform",
]


# ---- between many ----------------------------------------------------------------------------------


def _metric(
    metric: Any, options: dict[str, Any], observations: Callable[[], Array], size: int, what: str
) -> Callable[[Array, Array], Array] | None:
    """Return the formula of a metric with its options; None if there is none that is differentiable."""
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", "")
    name = ALIASES.get(name.lower(), name.lower())
    if name not in METRICS or (callable(metric) and metric is not globals().get(name)
                               and metric is not getattr(_distance, name)):  # fmt: skip
        return None
    formula, names = METRICS[name]
    unknown = options.keys() - set(names)
    if unknown:
        raise errors.OptionError(f"{what}: {name} has no option {', '.join(sorted(unknown))}")
    found = {key: real_double(value, f"{what}: {key}") for key, value in options.items() if value is not None}
    if "w" in found:
        checked(found["w"], (size,), "w", what)
        require(ops.all(found["w"] >= 0), f"{what}: weights must not be negative")
    if name == "minkowski" and "p" in found and not is_recorded(options["p"]):
        found["p"] = float(options["p"])
    if name == "seuclidean":
        V = found["V"] if "V" in found else ops.var(observations(), axis=0, ddof=1)
        found["V"] = checked(V, (size,), "V", what)
    if name == "mahalanobis":
        if "VI" not in found:
            x = observations()
            if x.shape[0] <= size:
                raise errors.ShapeError(
                    f"{what}: {x.shape[0]} observations of {size} features have a singular covariance. Give "
                    f"{size + 1} at least, or VI"
                )
            covariance = ops.reshape(ops.cov(ops.transpose(x)), (size, size))
            found["VI"] = ops.transpose(ops.linalg.inv(covariance))
        checked(found["VI"], (size, size), "VI", what)
    return lambda u, v: formula(u, v, **found)


def _left_to_scipy(function: Any, metric: Any, arguments: Any, options: dict[str, Any]) -> Any:
    """Return SciPy's result for plain numbers; raise if there are Vars."""
    if has_vars(list(arguments), options):
        raise errors.UnsupportedError(
            f"{function.__name__}: the metric {metric!r} has no derivative, nor have results that are "
            f"written to out=. Take one of {', '.join(METRICS)}, or a function of two vectors"
        )
    return function(*arguments, metric, **options)


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Array:
    """Return the distances between two sets of vectors, as `scipy.spatial.distance.cdist`.

    Parameters
    ----------
    XA, XB : array_like or Var
        ``(m, n)`` and ``(k, n)``.
    metric : str or callable
        The name of a metric, or a function of two vectors.
    out : None
        Others are for plain arrays.
    **kwargs
        Options of the metric: ``w``, weights ``(n,)``; ``p`` of minkowski; ``V`` of seuclidean, variances;
        and ``VI`` of mahalanobis, the inverse covariance. Each may be a Var; by default the last two are
        those of all vectors.

    Returns
    -------
    numpy.ndarray or Var
        ``(m, k)``, in double precision.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If an option is unknown or out of range.
    UnsupportedError
        With Vars, if the metric has no derivative.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.spatial.distance.cdist([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]], "cityblock")
    array([[7., 1.]])
    """
    a, b = operand(XA), operand(XB)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise errors.ShapeError(
            f"cdist: of shapes {list(a.shape)} and {list(b.shape)}. They must be (m, n) and (k, n)"
        )

    def observations() -> Array:
        return ops.concatenate([real_double(a, "cdist: XA"), real_double(b, "cdist: XB")])

    formula = None if out is not None else _metric(metric, kwargs, observations, a.shape[1], "cdist")
    if formula is not None:
        a, b = real_double(a, "cdist: XA"), real_double(b, "cdist: XB")
        return formula(ops.expand_dims(a, 1), ops.expand_dims(b, 0))
    if callable(metric) and out is None:
        rows = [[operand(metric(a[i], b[j], **kwargs)) for j in range(b.shape[0])] for i in range(a.shape[0])]
        return _stacked([x for row in rows for x in row], (a.shape[0], b.shape[0]))
    return _left_to_scipy(_distance.cdist, metric, (a, b), {**kwargs, "out": out})


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Array:
    """Return the distances between the vectors of a set, as `scipy.spatial.distance.pdist`.

    Parameters
    ----------
    X : array_like or Var
        ``(m, n)``.
    metric, out, **kwargs
        As for `cdist`.

    Returns
    -------
    numpy.ndarray or Var
        ``(m * (m - 1) / 2,)``: of the first vector to all others, of the second one to those after it, ...

    Raises
    ------
    ShapeError, OptionError, UnsupportedError
        As `cdist`.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.spatial.distance.pdist([[0.0], [1.0], [3.0]])
    array([1., 3., 2.])
    """
    x = operand(X)
    if x.ndim != 2:
        raise errors.ShapeError(f"pdist: X has shape {list(x.shape)}. It must be (m, n)")
    first, second = np.triu_indices(x.shape[0], 1)
    formula = None
    if out is None:
        formula = _metric(metric, kwargs, lambda: real_double(x, "pdist: X"), x.shape[1], "pdist")
    if formula is not None:
        x = real_double(x, "pdist: X")
        return formula(ops.getitem(x, first), ops.getitem(x, second))
    if callable(metric) and out is None:
        found = [operand(metric(x[i], x[j], **kwargs)) for i, j in zip(first, second, strict=True)]
        return _stacked(found, (len(first),))
    return _left_to_scipy(_distance.pdist, metric, (x,), {**kwargs, "out": out})


def _stacked(found: list[Any], shape: tuple[int, ...]) -> Array:
    if not found:
        return np.zeros(shape)
    return ops.reshape(ops.stack([ops.astype(ops.reshape(one, ()), np.float64) for one in found]), shape)


def squareform(X: Any, force: str = "no", checks: bool = True) -> Array:
    """Return the matrix of distances in a vector as of `pdist`, or that vector of a matrix, as SciPy.

    Parameters
    ----------
    X : array_like or Var
        ``(m * (m - 1) / 2,)`` or ``(m, m)``.
    force : {"no", "tomatrix", "tovector"}
        What ``X`` must be.
    checks : bool
        Whether a matrix must be symmetric with zeros on its diagonal.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If the number of elements is no such number, or the matrix not square.
    OptionError
        If the matrix is not symmetric, or its diagonal not zero.

    Examples
    --------
    >>> import tape
    >>> tape.scipy.spatial.distance.squareform([1.0, 3.0, 2.0])
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    x = operand(X)
    wanted = {"tomatrix": 1, "tovector": 2}.get(force.lower(), x.ndim)
    if x.ndim not in (1, 2) or x.ndim != wanted:
        raise errors.ShapeError(
            f"squareform: X has shape {list(x.shape)}, and force is {force!r}. Give a vector for a matrix, "
            "or a matrix for a vector"
        )
    if x.ndim == 1:
        size = int(np.ceil(np.sqrt(2 * x.shape[0]))) if x.shape[0] else 1
        if size * (size - 1) != 2 * x.shape[0]:
            raise errors.ShapeError(f"squareform: {x.shape[0]} is not m * (m - 1) / 2 for any m")
        if not x.shape[0]:
            return np.zeros((1, 1), x.dtype)
        places = np.zeros((size, size), int)
        places[np.triu_indices(size, 1)] = np.arange(x.shape[0])
        places = places + places.T
        found = ops.getitem(x, places)
        return ops.where(np.eye(size, dtype=bool), np.zeros((), x.dtype), found)
    if x.shape[0] != x.shape[1]:
        raise errors.ShapeError(f"squareform: the matrix has shape {list(x.shape)}. It must be square")
    if checks:
        require(
            ops.all(x == ops.transpose(x)) & ops.all(ops.diagonal(x) == 0),
            "squareform: the matrix must be symmetric, with zeros on its diagonal. Or pass checks=False",
        )
    return ops.getitem(x, np.triu_indices(x.shape[0], 1))


__getattr__, __dir__ = refusing(
    _distance,
    globals(),
    "scipy.spatial.distance",
    "cdist, pdist, squareform and the functions " + ", ".join(METRICS),
)
