"""Operands other than those of the table of operations: of other shapes and dtypes, and without elements.

Each argument of each operation is replaced by others, one at a time. NumPy says what is to come of it.
"""

import re
from collections.abc import Iterator
from inspect import isfunction

import numpy as np
import pytest

from tape import Var, errors, ops
from tests import naive
from tests.op_table import TWO_OF_EACH, Case, a_third, by_operation, lightly
from tests.op_table.special import FOUND
from tests.oracles import assert_close, inner, is_float, record, uniform

CHANGES = {
    "as complex numbers": lambda a: a + 0.5j if a.dtype.kind == "f" else None,
    "rounded to ints": lambda a: np.rint(a).astype(int) if a.dtype.kind == "f" else None,
    "one element": lambda a: np.asarray(a.ravel()[0]) if a.size else None,
    "seven elements": lambda a: np.resize(a, 7) if a.size else None,
    "two axes more": lambda a: a[None, None],
    "nothing": lambda a: np.zeros(0, a.dtype),
    "no rows": lambda a: a[:0] if a.ndim else None,
    "one row": lambda a: a[:1] if a.ndim else None,
}


OF_NUMPY = [case for case in lightly(TWO_OF_EACH) if not case.op.startswith("scipy.")]
"""What NumPy has something to say about: SciPy's functions treat odd operands each in its own way."""


def changed(case: Case) -> Iterator[tuple[str, list[np.ndarray]]]:
    """The arguments of a case with each of them replaced, and in which way."""
    args = case.args()
    for k, a in enumerate(args):
        for what, change in CHANGES.items():
            if (other := change(a)) is not None:
                yield f"argument {k}: {what}", [*args[:k], other, *args[k + 1 :]]


def outcome(f, args):
    """The value of a function, or the error that it raises."""
    try:
        return np.asarray(f(*args))
    except Exception as error:
        return error


def attempt(case, args):
    """What comes of recording a case: its trace and its result, or an error."""
    try:
        trace, _, out = record(case.on(ops), args)
    except Exception as error:
        return None, error
    return trace, out


quietly = pytest.mark.filterwarnings("ignore")


STRICTER = {
    "cov", "float_power", "log_softmax", "logsumexp", "polydiv", "put_along_axis", "set_at", "sigmoid",
    "softmax", "softmax_cross_entropy", "softplus", "special.itairy", "std", "take_along_axis",
    "ufunc_at", "var",
}  # fmt: skip
"""Operations outside of `ops.nn` that refuse what NumPy, or an oracle, does not."""
WIDER = {
    "erf", "pad", "polyder", "polyint", "interp", "corrcoef", "polyfit",
    *[f"special.{name}" for name in FOUND],
}  # fmt: skip
"""Operations that do what NumPy or an oracle refuses."""
REFUSED_BY_NUMPY = {("histogramdd", "argument 0: one element"), ("cov", "argument 2: as complex numbers")}
"""What raises an error of NumPy's own, as yet."""
COMPLEX_KNOTS = ("interp", "argument 3: as complex numbers")
"""NumPy drops imaginary parts that are all alike."""
ONE_MODE = {
    ("histogramdd", "argument 0: nothing"),  # refused by the reverse rule alone
    ("histogramdd", "argument 0: no rows"),
    ("special.jn", "argument 1: as complex numbers"),  # orders that are ints become complex
    ("special.kve", "argument 1: as complex numbers"),
}
"""What raises an error in one mode, as yet."""


CALLED_BY_LAYERS = {
    "add", "elu", "getitem", "hardtanh", "multiply", "pairwise_distance",
    "scaled_dot_product_attention", "sigmoid", "softmax",
}  # fmt: skip
NAMES = {case.op.rpartition(".")[2] for case in TWO_OF_EACH}


def assert_named(case, error):
    """An error begins with the operation that was called, or with one that it calls."""
    word = re.match(r"\w*", str(error)).group()
    if case.op.startswith("nn.") and word not in CALLED_BY_LAYERS:
        assert word == case.op[3:], error
    assert word in NAMES or case.op.rpartition(".")[2] in str(error), error


@quietly
@by_operation(OF_NUMPY)
def test_odd_operands_are_treated_as_by_numpy(case):
    """Equal results, or errors of our own where NumPy raises; layers and distributions may be stricter."""
    is_layer = case.op.startswith(("nn.", "stats."))
    for what, args in changed(case):
        expected = outcome(case.on(naive), args)
        _, found = attempt(case, args)
        if isinstance(found, Exception):
            if case.op == "unstack" or (case.op, what) in REFUSED_BY_NUMPY:
                continue
            assert isinstance(found, errors.TapeError), (what, found)
            assert_named(case, found)
            if not is_layer and case.op not in STRICTER:
                assert isinstance(expected, Exception), (what, found)
        elif isinstance(expected, Exception):
            assert is_layer or case.op in WIDER, (what, expected)
        elif not is_layer and case.op != "erf" and (case.op, what) != COMPLEX_KNOTS:
            value = np.asarray(found.value if isinstance(found, Var) else found)
            assert (value.shape, value.dtype) == (expected.shape, expected.dtype), what
            assert_close(value, expected, 1e-12)


OF_ARRAYS = {
    "apply_over_axes", "block", "select", "full_like", "histogramdd", "hstack", "nn.cosine_similarity",
    "nn.triplet_margin_loss", "ix_", "percentile", "max", "setdiff1d", "linalg.svd", "geomspace", "cov",
    "corrcoef", "nn.multilabel_margin_loss", "stats.multivariate_normal", "stats.multivariate_t",
    "stats.wishart",
}  # fmt: skip
"""Operations of which a case computes with its arguments itself, as arrays."""


@quietly
@by_operation([case for case in OF_NUMPY if case.op not in OF_ARRAYS])
def test_lists_are_arrays(case):
    """Each argument alone as nested lists."""
    args = case.args()
    _, expected = attempt(case, args)
    expected = np.asarray(expected.value if isinstance(expected, Var) else expected)
    for k, a in enumerate(args):
        if a.size and not (a.dtype.kind == "i" and a.ndim == 0):
            mixed = [a.tolist() if j == k else b for j, b in enumerate(args)]
            found = np.asarray(case.on(ops)(*mixed))
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(found, expected)


@quietly
@by_operation([case for case in a_third(lightly(TWO_OF_EACH), 2) if case.has_derivative])
def test_both_modes_agree_on_odd_operands(case):
    """The inner product of an adjoint and a tangent is the same before and after the operation."""
    rng = case.rng(3)
    for what, args in changed(case):
        trace, out = attempt(case, args)
        if not isinstance(out, Var) or not is_float(out) or not trace.params:
            continue
        if (case.op, what) in ONE_MODE:
            continue
        seed = uniform(rng, out.value)
        tangents = [uniform(rng, p.value) for p in trace.params]
        gradients = trace.backward_param_grads(out, seed, unreached="zero")
        moved = trace.jvp(out, dict(zip(trace.params, tangents, strict=True)))
        ahead, back = inner([seed], [moved]), inner(gradients, tangents)
        if np.isfinite(ahead) and np.isfinite(back):
            assert ahead == pytest.approx(back, rel=1e-9, abs=1e-9), what


# ---- numbers of Python ---------------------------------------------------------------------------------

AXES = [{}, {"axis": 0}, {"axis": -1}, {"axis": (0,)}, {"axis": 3}]
ALONG_AXES = [name for name, function in vars(ops).items() if isfunction(function) and name[0] != "_"]


@quietly
@pytest.mark.parametrize("name", ALONG_AXES)
def test_numbers_of_python_are_operands_as_those_of_numpy_are(name):
    """Along axes that a number has not, too: the same, or the same error."""
    function = getattr(ops, name)
    for number in (2.0, 3, True, 1j):
        for options in AXES:
            expected = outcome(lambda x: function(x, **options), [np.asarray(number)[()]])  # noqa: B023
            found = outcome(lambda x: function(x, **options), [number])  # noqa: B023
            if isinstance(expected, Exception):
                assert type(found) is type(expected), (number, options)
            else:
                np.testing.assert_array_equal(found, expected)
