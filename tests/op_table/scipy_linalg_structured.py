"""Diagonals, Toeplitz, circulant and other structured matrices of `scipy.linalg`; the oracle is SciPy."""

from typing import Any

import numpy as np

from tests.op_table.case import Case, _domain, complexes, grid, positive, real
from tests.op_table.scipy_linalg import case, column, f, half_bands, upper_bands

half_bands_complex = _domain(
    lambda rng, s: rng.uniform(-0.5, 0.5, s) + np.where(np.arange(s[-2]) == 0, 4, 0.3j)[:, None]
)


def factor(ns: Any, ab: Any) -> Any:
    """The upper factor, without what SciPy leaves outside of the matrix."""
    bands = f("cholesky_banded")(ns, ab)
    count, n = bands.shape[-2:]
    is_inside = np.arange(n) + np.arange(count)[:, None] >= count - 1
    return np.where(is_inside, bands, 0)


def solved(lower: bool) -> Any:
    def call(ns: Any, ab: Any, b: Any) -> Any:
        return f("cho_solve_banded")(ns, (f("cholesky_banded", lower=lower)(ns, ab), lower), b)

    return call


def pair(ns: Any, c: Any, r: Any, x: Any) -> Any:
    return f("matmul_toeplitz")(ns, (c, r), x)


CASES = [
    Case("scipy.linalg.cholesky_banded", factor, upper_bands(3, 4)),
    Case("scipy.linalg.cho_solve_banded", solved(True), half_bands(2, 4), real(4)),
    Case("scipy.linalg.cho_solve_banded complex", solved(True), half_bands_complex(2, 3), complexes(3)),
    Case("scipy.linalg.cho_solve_banded upper", solved(False), upper_bands(2, 4), real(4, 2)),
    case("convolution_matrix", real(2, 3), n=4),
    case("convolution_matrix", real(4), note=" same", n=3, mode="same"),
    case("convolution_matrix", real(2), note=" valid", n=5, mode="valid"),
    case("diagsvd", real(2), M=2, N=3),
    case("fiedler", grid(4)),
    case("fiedler_companion", positive(6)),
    case("fiedler_companion", positive(2), note=" 2"),
    case("leslie", real(3), real(2)),
    Case("scipy.linalg.matmul_toeplitz", pair, real(3), real(4), real(4, 2)),
    case("matmul_toeplitz", complexes(3), real(3), note=" complex"),
    case("solve_circulant", column(4), real(4, 2)),
    case("solve_circulant", column(2, 3), real(3), note=" stack"),
    case("solve_circulant", column(4), complexes(4), note=" lstsq", singular="lstsq"),
]
