"""Products and systems with sparse arrays, by their elements and by the dense operand."""

from typing import Any

import numpy as np
from scipy import sparse

import tape
from tests import naive
from tests.op_table.case import Argument, Case, complexes, real
from tests.tiers import is_full

PATTERN = sparse.csr_array(np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 1]], float))
SQUARE = sparse.csc_array(np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1]], float))

elements = Argument(
    (6,), lambda rng, s: np.array([4.0, 1.0, 3.0, 0.5, -1.0, 5.0]) + rng.uniform(-0.2, 0.2, s)
)


def filled(ns: Any, pattern: Any, data: Any) -> Any:
    """A matrix with these elements: dense for the oracle."""
    if ns is not naive:
        return tape.scipy.sparse.with_data(pattern, data)
    if np.shape(data) != pattern.data.shape:
        raise ValueError("there are not as many elements")
    made = pattern.copy()
    made.data = data
    return made.toarray()


def dense(ns: Any, data: Any) -> Any:
    made = filled(ns, PATTERN, data)
    return 2 * (made if ns is naive else made.toarray())


def solve(ns: Any, data: Any, b: Any, turned: bool = False) -> Any:
    matrix = filled(ns, SQUARE, data)
    matrix = matrix.T if turned else matrix
    return np.linalg.solve(matrix, b) if ns is naive else tape.scipy.sparse.linalg.spsolve(matrix, b)


PLAIN = [
    Case(
        "scipy.sparse.with_data product",
        lambda ns, data, x: filled(ns, PATTERN, data) @ x,
        real(5),
        real(4, 2),
    ),
    Case("scipy.sparse.linalg.spsolve", solve, elements, real(3)),
]
ALL = [
    *PLAIN,
    Case("scipy.sparse.with_data from the right", lambda ns, data, x: x @ filled(ns, PATTERN, data),
         real(5), real(3)),
    Case("scipy.sparse.with_data of a stack", lambda ns, data, x: x @ filled(ns, PATTERN.tocsc(), data),
         real(5), real(2, 1, 3)),
    Case("scipy.sparse.with_data transposed", lambda ns, data, x: filled(ns, PATTERN, data).T @ x,
         real(5), real(3)),
    Case("scipy.sparse.with_data complex", lambda ns, data, x: filled(ns, PATTERN, data) @ x,
         complexes(5), complexes(4)),
    Case("scipy.sparse.with_data dense", dense, real(5)),
    Case("scipy.sparse.linalg.spsolve columns", solve, elements, real(3, 2)),
    Case("scipy.sparse.linalg.spsolve turned", lambda ns, data, b: solve(ns, data, b, True),
         elements, real(3)),
    Case("scipy.sparse.linalg.spsolve complex", solve, elements, complexes(3)),
]  # fmt: skip

TABLED = [case for case in ALL if "complex" not in case.name.split()]
CASES = TABLED if is_full() else PLAIN
