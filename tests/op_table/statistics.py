"""Averages, covariances and correlations."""

from typing import Any

import numpy as np

from tests.op_table.case import Case, call, complexes, ints, positive, real


def of_its_dtype(op: str, **options: Any) -> Any:
    """Called with the dtype of the first argument, where NumPy would make it float64."""
    return lambda ns, x, *rest: getattr(ns, op)(x, *rest, dtype=x.dtype, **options)


CASES = [
    Case("average", call("average", axis=1), real(2, 3)),
    Case("average weights", lambda ns, x, w: ns.average(x, weights=w), real(2, 3), positive(2, 3)),
    Case("average along", lambda ns, x, w: ns.average(x, 1, w, keepdims=True), real(2, 3, 2), positive(3)),
    Case("average along two", lambda ns, x, w: ns.average(x, (2, 0), w), real(2, 3, 4), positive(4, 2)),
    Case("average total", lambda ns, x, w: ns.average(x, 0, w, returned=True)[1], real(3, 2), positive(3)),
    Case("average complex", lambda ns, x, w: ns.average(x, 0, w), complexes(3, 2), positive(3)),
    Case("average of ints", lambda ns, n, w: ns.average(n, weights=w), ints(3), positive(3)),
    Case("cov", of_its_dtype("cov"), real(2, 5)),
    Case("cov columns", of_its_dtype("cov", rowvar=False, bias=True), real(5, 2)),
    Case("cov of one", of_its_dtype("cov", ddof=0), real(5)),
    Case("cov of two", of_its_dtype("cov"), real(5), real(5)),
    Case("cov y", of_its_dtype("cov"), real(2, 4), real(1, 4)),
    Case("cov aweights like ints", lambda ns, x, w: ns.cov(x, aweights=w), real(2, 5), positive(5)),
    Case("cov aweights ddof=0 like ints", lambda ns, x, w: ns.cov(x, ddof=0, aweights=w),
         real(2, 5), positive(5)),
    Case("cov weights of ints", lambda ns, x, n, w: ns.cov(x, fweights=n * n + 1, aweights=w),
         real(2, 5), ints(5), positive(5)),
    Case("cov fweights of ints", lambda ns, x, n: ns.cov(x, fweights=n * n + 1), real(2, 5), ints(5)),
    Case("cov weights with a zero like ints", lambda ns, x, w: ns.cov(
        x, fweights=np.array([1, 0, 2, 1, 3]), aweights=w * np.array([1, 2, 1, 0, 1])),
         real(2, 5), positive(5)),
    Case("cov complex", of_its_dtype("cov"), complexes(2, 4)),
    Case("corrcoef", of_its_dtype("corrcoef"), real(3, 5)),
    Case("corrcoef columns", of_its_dtype("corrcoef", rowvar=False), real(5, 2)),
    Case("corrcoef of two", of_its_dtype("corrcoef"), real(5), real(5)),
    Case("corrcoef complex", of_its_dtype("corrcoef"), complexes(2, 4)),
]  # fmt: skip
