"""Programs against eager where formulas have edges: at zero, one, infinity and NaN."""

import numpy as np
import pytest

import tape
from tape import ops
from tests.op_table import TWO_OF_EACH, a_third, by_operation, lightly, one_of_each

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
