"""Programs against eager where formulas have edges: at zero, one, infinity and NaN, and without elements."""

from functools import partial

import numpy as np
import pytest

import tape
from tape import ops
from tests.op_table import TWO_OF_EACH, a_third, by_operation, lightly, one_of_each
from tests.oracles import assert_same

EDGES = {
    "zeros": [0.0],
    "ones": [1.0],
    "signs": [0.0, 1.0, -1.0],
    "zeros of both signs": [0.0, -0.0, 0.5],
    "infinities": [np.inf, 0.25, -np.inf],
    "NaN": [np.nan, 0.25, 0.75],
}

ELSEWHERE = {
    **dict.fromkeys(
        ["scipy.linalg.qr_insert", "scipy.linalg.qr_delete", "scipy.linalg.qr_update",
         "scipy.linalg.eig_banded"],
        "SciPy refuses what is not finite, also where nothing reads it",
    ),
    **dict.fromkeys(
        ["special.multigammaln", "scipy.special.multigammaln", "stats.dirichlet",
         "scipy.linalg.fiedler_companion", "histogram"],
        "arguments out of the domain are refused by their numbers, which a program does not read",
    ),
    **dict.fromkeys(
        ["scipy.special.spherical_in", "scipy.special.spherical_kn", "scipy.special.riccati_jn",
         "scipy.special.log_softmax", "scipy.special.factorial", "polyval", "einsum", "geomspace",
         "stats.multivariate_t"],
        "of infinity and NaN other formulas than NumPy's or SciPy's are NaN elsewhere",
    ),
    "scipy.special.lmbda": "SciPy itself crashes there",
    "special.hyp1f1": "SciPy itself does not end there",
    "scipy.special.hyp1f1": "SciPy itself does not end there",
    "scipy.linalg.lu": "of a singular matrix the test itself solves equations",
    "interp": "of points that are not sorted NumPy's result is none in particular",
    "partition": "the order within the parts is none in particular",
}  # fmt: skip
"""Operations that differ there, and why."""

FLOATS = [
    case
    for case in TWO_OF_EACH
    if case.op not in ELSEWHERE and any(np.asarray(arg).dtype.kind == "f" for arg in case.args())
]


def at_edges(args):
    """The arguments with floats at edges: every other element of one of them, and all of all."""
    floats = [k for k, arg in enumerate(args) if np.asarray(arg).dtype.kind == "f"]
    for numbers in EDGES.values():
        for chosen, step in [*(({k}, 2) for k in floats), ({*floats}, 1)]:
            given = [np.array(arg) for arg in args]
            for k in chosen:
                given[k].reshape(-1)[::step] = np.resize(numbers, given[k].size)[::step]
            yield given


def outcome(f, args):
    try:
        with np.errstate(all="ignore"):
            return f(*args)
    except Exception as error:
        return error


def are_alike(found, expected):
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(are_alike, found, expected))
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.dtype.kind not in "fc":
        return np.array_equal(found, expected)
    is_finite = np.isfinite(expected)
    size = np.max(np.abs(expected[is_finite]), initial=1)
    return (
        found.shape == expected.shape
        and np.array_equal(np.isfinite(found), is_finite)
        and np.allclose(found[is_finite], expected[is_finite], 1e-9, 1e-9 * size)
        and (expected.dtype.kind == "c" or np.array_equal(found[~is_finite], expected[~is_finite], True))
    )


@pytest.mark.filterwarnings("ignore")
@by_operation(a_third(one_of_each(lightly(FLOATS)), 0))
def test_values_at_edges_are_those_of_eager(case):
    f, args = case.on(ops), case.args()
    compiled = tape.compile(f)
    outcome(compiled, args)
    for given in at_edges(args):
        found, expected = outcome(compiled, given), outcome(f, given)
        raised = [isinstance(result, Exception) for result in (found, expected)]
        assert all(raised) or (not any(raised) and are_alike(found, expected)), (given, found, expected)


# ---- without elements, and what has no instructions ---------------------------------------------------


def _with(z, **parts):
    z = z.copy()
    for name, part in parts.items():
        setattr(z, name, part)
    return z


MATRICES = np.stack([np.diag([1.0, 1e-3, 1e-5, 0.1]), np.diag([2.0, 3.0, 4.0, 5.0]), np.zeros((4, 4))])
CHOSEN = np.array([True, False, True])
NOTHING, ROWS = np.zeros(0), np.zeros((3, 0))
Z = np.array([1.26 + 2.04j, 5 - 3j, 1.26 + 3.06j])

NUMPYS = {
    "frexp": (np.frexp, ROWS),
    "frexp of ints": (np.frexp, ROWS.astype(int)),
    "in nothing": (lambda x, y: np.isin(x, y), np.arange(4.0).reshape(2, 2), NOTHING),
    "not in nothing": (lambda x, y: np.isin(x, y, invert=True), np.arange(3.0), NOTHING),
    "common with nothing": (partial(np.intersect1d, return_indices=True), np.arange(3.0), NOTHING),
    "nothing in common": (partial(np.intersect1d, return_indices=True), NOTHING, np.arange(3.0)),
    "common of different": (
        lambda x, y: np.intersect1d(x, y, True, return_indices=True), np.array([3, 1, 2]), np.array([2, 3])),
    "trimmed": (np.trim_zeros, NOTHING),
    "interpolated": (lambda x: np.interp(x, [0.0, 1.0], [2.0, 3.0]), ROWS),
    "interpolated at ints": (lambda x: np.interp(x, [0.0, 1.0], [2.0, 3.0]), ROWS.astype(int)),
    "one edge": (lambda x: np.histogram_bin_edges(x, np.array([1.5])), np.arange(3.0)),
    "one edge, no bin": (lambda x: np.histogram(x, np.array([1.5])), np.arange(3.0)),
    "counts": (lambda x: np.histogram(x, np.array([1.0, 2.0, 3.0])), NOTHING),
    "counts with weights": (lambda x: np.histogram(x, np.array([1.0, 2.0, 3.0]), weights=x), NOTHING),
    "median": (lambda x: np.median(x, axis=0), ROWS),
    "median of nothing": (lambda x: np.median(x, axis=1), ROWS.astype(np.float32)),
    "nanmedian of nothing": (lambda x: np.nanmedian(x, axis=1, keepdims=True), ROWS),
    "median of no ints": (lambda x: np.median(x, axis=0), ROWS.astype(int)),
    "quantiles": (lambda x: np.quantile(x, [0.3, 0.5], axis=0, keepdims=True), ROWS),
    "a quantile": (lambda x: np.quantile(x, 0.3, axis=0), ROWS.astype(np.float32)),
    "an order statistic": (lambda x: np.quantile(x, 0.3, axis=0, method="lower"), ROWS.astype(int)),
    "positions of a number": (np.argwhere, np.float64(3)),
    "positions of zero": (np.argwhere, np.float64(0)),
    "a polynomial": (np.polyval, NOTHING, np.arange(3.0)),
    "real part written": (lambda z, x: _with(z, real=x), Z, np.array([5, np.inf, np.nan])),
    "imaginary part written": (lambda z, x: _with(z, imag=x), Z, np.array([5, np.inf, np.nan])),
    "parts in single precision": (
        lambda z, x: _with(z, real=x, imag=2 * x), Z.astype(np.complex64), np.array([5, 1, 2], np.float32)),
    "real part of one with no memory": (lambda z: _with(z, real=np.float32(2)), Z.astype(np.complex64)),
    "rounded complex": (lambda z: np.round(z, 1), Z),
    "rounded complex tens": (lambda z: np.round(z * 10, -1), Z),
    "sinc of halves": (np.sinc, np.array([0.3, 2.5, 0, -1], np.float16)),
    "a sum of halves": (lambda x: np.sum(x, where=CHOSEN), np.array([2000, 1, 2001], np.float16)),
    "the largest complex": (lambda z: np.max(z, where=CHOSEN, initial=-9), Z),
    "the least complex": (lambda z: np.min(z, where=CHOSEN, initial=9), Z),
    "variance in single precision": (lambda z: np.var(z, where=CHOSEN, dtype=np.complex64), Z),
    "variance in double precision": (
        lambda z: np.var(z, where=CHOSEN, dtype=np.complex128), Z.astype(np.complex64)),
    "ranks": (np.linalg.matrix_rank, MATRICES),
    "ranks with tolerances": (lambda a: np.linalg.matrix_rank(a, np.array([1e-4, 3.5, 0])), MATRICES),
    "ranks with relative tolerances": (
        lambda a: np.linalg.matrix_rank(a, rtol=np.array([1e-4, 0.7, 0])), MATRICES),
    "rank of one triangle": (lambda a: np.linalg.matrix_rank(a, hermitian=True), np.triu(np.ones((3, 3)))),
    "rank of a vector": (np.linalg.matrix_rank, np.array([0.0, 1.0])),
    "rank of a zero vector": (np.linalg.matrix_rank, np.array([0.0, 0.0])),
    "rank of a number": (np.linalg.matrix_rank, np.float64(0.5)),
    "rank of NaN": (np.linalg.matrix_rank, np.array([np.nan])),
    "pseudoinverses with tolerances": (
        lambda a: np.linalg.pinv(a, [1e-4, 0.7, 0.1]), MATRICES),
    "pseudoinverses with relative tolerances": (
        lambda a: np.linalg.pinv(a, rtol=[1e-4, 0.7, 0.1]), MATRICES),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NUMPYS)
def test_programs_of_nothing_and_of_odd_operands_are_numpys(name):
    f, *args = NUMPYS[name]
    expected, found = f(*args), tape.compile(f)(*args)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for one, other in pairs:
        assert_same(one, other)
