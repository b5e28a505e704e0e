"""Formulas of distances between vectors along the last axis, with broadcasting along all others.

Roots of what is zero have derivative zero there, as norms have.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log
from typing import Any

import numpy as np

from tape import errors, ops
from tape.core.node import Handle
from tape.scipy._operands import Array, quiet, require

__all__ = ["ALIASES", "METRICS"]


def _root(x: Array) -> Array:
    is_zero = x <= 0
    return ops.where(is_zero, 0.0, ops.sqrt(ops.where(is_zero, 1.0, x)))


def _summed(x: Array, w: Any) -> Array:
    return ops.sum(x if w is None else w * x, axis=-1)


def sqeuclidean(u: Array, v: Array, w: Any = None) -> Array:
    """Return sums of squares."""
    d = u - v
    return _summed(d * d, w)


def euclidean(u: Array, v: Array, w: Any = None) -> Array:
    """Return roots of sums of squares."""
    return _root(sqeuclidean(u, v, w))


def cityblock(u: Array, v: Array, w: Any = None) -> Array:
    """Return sums of absolute values."""
    return _summed(ops.abs(u - v), w)


def chebyshev(u: Array, v: Array, w: Any = None) -> Array:
    """Return the largest absolute values, of elements whose weight is not zero."""
    d = ops.abs(u - v)
    return ops.max(d if w is None else ops.where(w > 0, d, 0.0), axis=-1)


def minkowski(u: Array, v: Array, p: Any = 2.0, w: Any = None) -> Array:
    """Return roots of order p of sums of p-th powers."""
    if np.ndim(p):
        raise errors.ShapeError(f"minkowski: p has shape {list(np.shape(p))}. It must be a number")
    require(p > 0, "minkowski: p must be greater than 0")
    if not isinstance(p, Handle):
        if p == 1:
            return cityblock(u, v, w)
        if p == 2:
            return euclidean(u, v, w)
        if p == inf:
            return chebyshev(u, v, None if w is None else w != 0)
    d = ops.abs(u - v)
    is_zero = d == 0
    powers = ops.where(is_zero, 0.0, ops.where(is_zero, 1.0, d) ** p)
    total = _summed(powers, w)
    is_none = total == 0
    return ops.where(is_none, 0.0, ops.where(is_none, 1.0, total) ** (1.0 / p))


def _of_angles(u: Array, v: Array, w: Any) -> Array:
    product = _summed(u * v, w)
    with quiet():  # of zero vectors, NaN
        share = product / ops.sqrt(_summed(u * u, w) * _summed(v * v, w))
    return 1.0 - ops.where(share > 1, 1.0, ops.where(share < -1, -1.0, share))


def cosine(u: Array, v: Array, w: Any = None) -> Array:
    """Return what the cosines of angles are less than 1."""
    return _of_angles(u, v, w)


def correlation(u: Array, v: Array, w: Any = None, centered: bool = True) -> Array:
    """Return what correlations are less than 1."""
    if w is not None:
        w = w / ops.sum(w)
    if centered:
        if w is None:
            u, v = (x - ops.mean(x, axis=-1, keepdims=True) for x in (u, v))
        else:
            u, v = (x - ops.sum(w * x, axis=-1, keepdims=True) for x in (u, v))
    return _of_angles(u, v, w)


def canberra(u: Array, v: Array, w: Any = None) -> Array:
    """Return sums of differences, each relative to the sum of both sizes; nothing for two zeros."""
    sizes = ops.abs(u) + ops.abs(v)
    is_zero = sizes == 0
    return _summed(ops.where(is_zero, 0.0, ops.abs(u - v) / ops.where(is_zero, 1.0, sizes)), w)


def braycurtis(u: Array, v: Array, w: Any = None) -> Array:
    """Return sums of differences, relative to those of sums."""
    with quiet():  # of zero vectors, NaN
        return _summed(ops.abs(u - v), w) / _summed(ops.abs(u + v), w)


def hamming(u: Array, v: Array, w: Any = None) -> Array:
    """Return the share of elements that differ: it has no derivative but by the weights."""
    differs = ops.astype(u != v, np.float64)
    return ops.mean(differs, axis=-1) if w is None else ops.sum(w * differs, axis=-1) / ops.sum(w)


def mahalanobis(u: Array, v: Array, VI: Any) -> Array:
    """Return roots of quadratic forms."""
    d = u - v
    return _root(ops.sum((d @ VI) * d, axis=-1))


def seuclidean(u: Array, v: Array, V: Any) -> Array:
    """Return roots of sums of squares, each relative to a variance."""
    d = u - v
    return _root(ops.sum(d * d / V, axis=-1))


def jensenshannon(u: Array, v: Array, base: Any = None) -> Array:
    """Return roots of the divergence of Jensen and Shannon between distributions, which are normalized."""
    from scipy.special import rel_entr

    p, q = (x / ops.sum(x, axis=-1, keepdims=True) for x in (u, v))
    m = (p + q) / 2.0
    total = ops.sum(rel_entr(p, m), axis=-1) + ops.sum(rel_entr(q, m), axis=-1)
    if base is not None and not isinstance(base, Handle) and not base > 0:
        raise errors.OptionError(f"jensenshannon: base={base!r}. It must be a positive number")
    if base is not None:
        total = total / (ops.log(base) if isinstance(base, Handle) else log(base))
    return _root(total / 2.0)


METRICS: dict[str, tuple[Callable[..., Array], tuple[str, ...]]] = {
    "braycurtis": (braycurtis, ("w",)),
    "canberra": (canberra, ("w",)),
    "chebyshev": (chebyshev, ("w",)),
    "cityblock": (cityblock, ("w",)),
    "correlation": (correlation, ("w",)),
    "cosine": (cosine, ("w",)),
    "euclidean": (euclidean, ("w",)),
    "hamming": (hamming, ("w",)),
    "jensenshannon": (jensenshannon, ()),
    "mahalanobis": (mahalanobis, ("VI",)),
    "minkowski": (minkowski, ("p", "w")),
    "seuclidean": (seuclidean, ("V",)),
    "sqeuclidean": (sqeuclidean, ("w",)),
}
"""The formula of each metric, and the options that `cdist` and `pdist` take for it."""

ALIASES = {
    **dict.fromkeys(("chebychev", "cheby", "cheb", "ch"), "chebyshev"),
    **dict.fromkeys(("cblock", "cb", "c"), "cityblock"),
    **dict.fromkeys(("euclid", "eu", "e"), "euclidean"),
    **dict.fromkeys(("matching", "hamm", "ha", "h"), "hamming"),
    **dict.fromkeys(("mahal", "mah"), "mahalanobis"),
    **dict.fromkeys(("mi", "m", "pnorm"), "minkowski"),
    **dict.fromkeys(("se", "s"), "seuclidean"),
    **dict.fromkeys(("sqe", "sqeuclid"), "sqeuclidean"),
    "co": "correlation", "cos": "cosine", "js": "jensenshannon",
}  # fmt: skip
"""Short names of metrics, as in SciPy."""
