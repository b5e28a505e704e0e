"""Distances as in `scipy.spatial.distance`."""

from typing import Any

import numpy as np
from scipy.spatial import distance

import tape
from tests import naive
from tests.op_table.case import Argument, Case, positive, real
from tests.tiers import is_full

orders = Argument((), lambda rng, shape: rng.uniform(1.4, 1.6, shape) * 2)
inverses = Argument(
    (2, 2), lambda rng, shape: np.array([[1.0, 0.3], [0.2, 2.0]]) + rng.uniform(-0.1, 0.1, shape)
)
left = Argument(
    (3, 2), lambda rng, s: np.array([[1.0, 10.0], [2.0, 14.0], [3.0, 18.0]]) + rng.uniform(-0.1, 0.1, s)
)
right = Argument((2, 2), lambda rng, s: np.array([[4.5, 1.0], [6.0, 3.0]]) + rng.uniform(-0.1, 0.1, s))
rising = Argument((2, 3), lambda rng, s: np.array([1.0, 4.0, 9.0]) + rng.uniform(-0.2, 0.2, s))
falling = Argument((2, 3), lambda rng, s: np.array([9.0, 4.0, 1.0]) + rng.uniform(-0.2, 0.2, s))
separate = Argument(
    (4, 2), lambda rng, shape: rng.permutation(8).reshape(shape) + rng.uniform(-0.1, 0.1, shape)
)


def module(ns: Any) -> Any:
    return distance if ns is naive else tape.scipy.spatial.distance


def between(metric: str, *arguments: Any, note: str = "", **options: Any) -> Case:
    def call(ns: Any, a: Any, b: Any) -> Any:
        return module(ns).cdist(a, b, metric, **options)

    return Case(
        f"scipy.spatial.distance.cdist {metric}{note} ints",
        call,
        *(arguments or (left, right)),
    )


def within(metric: str, *arguments: Any, **options: Any) -> Case:
    def call(ns: Any, x: Any) -> Any:
        return module(ns).pdist(x, metric, **options)

    return Case(f"scipy.spatial.distance.pdist {metric} ints", call, *(arguments or (separate,)))


def by_option(metric: str, name: str, option: Argument) -> Case:
    def call(ns: Any, a: Any, b: Any, option: Any) -> Any:
        if name == "p" and ns is naive:
            option = float(option)
        return module(ns).cdist(a, b, metric, **{name: option})

    return Case(f"scipy.spatial.distance.cdist {metric} {name} ints", call, left, right, option)


# "ints" marks what is computed in double precision whatever comes in.

PLAIN = [by_option("euclidean", "w", positive(2))]
ALL = [
    *PLAIN,
    *(between(metric) for metric in ("sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis",
                                     "seuclidean", "mahalanobis")),
    *(between(metric, rising, falling) for metric in ("cosine", "correlation")),
    between("jensenshannon", positive(3, 4), positive(2, 4)),
    between("minkowski", note=" of order 1", p=1),
    Case("scipy.spatial.distance.cdist hamming ints",
         lambda ns, w: module(ns).cdist([[0.0, 1.0]], [[0.0, 2.0]], "hamming", w=w), positive(2)),
    by_option("minkowski", "p", orders),
    by_option("chebyshev", "w", positive(2)),
    by_option("seuclidean", "V", positive(2)),
    by_option("mahalanobis", "VI", inverses),
    *(within(metric) for metric in ("euclidean", "seuclidean", "mahalanobis", "canberra")),
    Case("scipy.spatial.distance.squareform", lambda ns, v: module(ns).squareform(v), real(6)),
    Case("scipy.spatial.distance.squareform of a matrix ints",
         lambda ns, m: module(ns).squareform(m, checks=False), real(3, 3)),
    Case("scipy.spatial.distance.jensenshannon", lambda ns, p, q: module(ns).jensenshannon(p, q, 2.0, axis=1),
         rising, falling),
    Case("scipy.spatial.distance.correlation ints", lambda ns, u, v, w: module(ns).correlation(u, v, w),
         real(4), real(4), positive(4)),
]  # fmt: skip
CASES = ALL if is_full() else PLAIN
