"""Points where a derivative is a matter of choice, of all operations: one table, checked in every way.

docs/conventions.md states the choices; each line here is one of them at one point.
"""

import itertools

import numpy as np
import pytest
from scipy import special

import tape
from tape import errors, ops
from tests.compiled import check
from tests.oracles import assert_close, assert_same, jvp, record, vjp

INF, NAN = np.inf, np.nan
EYE, ONES = np.eye(2), np.ones((2, 2))
ALONG = np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 1.0], [7.0, 0.0, 1.0]])
NILPOTENT = np.array([[0.0, 1.0], [0.0, 0.0]])

# function, arguments, the gradient of the sum of its results by each of them
POINTS = {
    # one number
    "abs 0": (np.abs, [0.0], [0.0]),
    "fabs 0": (np.fabs, [0.0], [0.0]),
    "sign 0": (np.sign, [0.0, 3.0], [0.0, 0.0]),
    "relu 0": (ops.relu, [0.0], [0.0]),
    "heaviside 0": (np.heaviside, [0.0], [0.5], [0.0], [1.0]),
    "rounding at a step": (lambda x: np.floor(x) + np.rint(x / 2) + np.trunc(x), [1.0, 2.0], [0.0, 0.0]),
    "remainder at a step": (lambda x: np.remainder(x, 2), [2.0, -2.0], [1.0, 1.0]),
    "modf at a step": (lambda x: np.modf(x)[0], [2.0, -0.0], [1.0, 1.0]),
    "nan_to_num": (np.nan_to_num, [NAN, INF, 1.0], [0.0, 0.0, 1.0]),
    "sqrt 0": (np.sqrt, [0.0], [INF]),
    "cbrt 0": (np.cbrt, [0.0], [INF]),
    "log 0": (np.log, [0.0], [INF]),
    "arcsin 1": (np.arcsin, [1.0], [INF]),
    "arctanh 1": (np.arctanh, [1.0], [INF]),
    "reciprocal 0": (np.reciprocal, [0.0], [-INF]),
    "sinc 0": (np.sinc, [0.0], [0.0]),
    "i0 0": (np.i0, [0.0], [0.0]),
    "exprel -inf": (special.exprel, [-INF], [0.0]),
    "entr 0": (special.entr, [0.0], [INF]),
    "complex abs 0": (np.abs, [0j], [0j]),
    "complex abs far out": (np.abs, [3e200 + 4e200j], [0.6 - 0.8j]),
    "complex sign 0": (np.sign, [0j], [0j]),
    "angle 0": (np.angle, [0j], [0j]),
    "angle of a real number": (np.angle, [0.0, -1.0], [0.0, 0.0]),
    # powers
    "x**0": (lambda x: x**0, [0.0, 2.0], [0.0, 0.0]),
    "x**1": (lambda x: x**1, [0.0], [1.0]),
    "x**2": (lambda x: x**2, [0.0], [0.0]),
    "x**0.5": (lambda x: x**0.5, [0.0], [INF]),
    "x**[0, 1, 2]": (lambda x: x ** np.array([0.0, 1.0, 2.0]), [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    "0**y": (lambda y: 0.0**y, [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]),
    "0**0": (np.power, [0.0], [0.0], [0.0], [0.0]),
    "0**2": (np.power, [0.0], [2.0], [0.0], [0.0]),
    "complex 0**0": (np.power, [0j], [0j], [0j], [0j]),
    "complex 0**2": (np.power, [0j], [2 + 0j], [0j], [0j]),
    # two numbers
    "maximum": (np.maximum, [2.0], [2.0], [0.5], [0.5]),
    "minimum of a number": (lambda x: np.minimum(0, x), [0.0], [0.5]),
    "fmax": (np.fmax, [2.0], [2.0], [0.5], [0.5]),
    "fmax nan": (np.fmax, [NAN, 2.0, NAN], [2.0, NAN, NAN], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]),
    "clip": (lambda x: np.clip(x, 0.0, 1.0), [0.0, 0.5, 1.0], [0.5, 1.0, 0.5]),
    "clip between equal bounds": (np.clip, [1.0], [1.0], [1.0], [0.25], [0.25], [0.5]),
    "hypot 0": (np.hypot, [0.0], [0.0], [0.0], [0.0]),
    "arctan2 0": (np.arctan2, [0.0, 0.0], [0.0, -0.0], [0.0, 0.0], [0.0, 0.0]),
    "copysign 0": (np.copysign, [0.0], [-1.0], [0.0], [0.0]),
    "logaddexp -inf": (np.logaddexp, [-INF, -INF], [-INF, 3.0], [0.0, 0.0], [0.0, 1.0]),
    "xlogy (0, 0)": (lambda y: special.xlogy(0.0, y), [0.0], [0.0]),
    "rel_entr (0, 0)": (special.rel_entr, [0.0], [0.0], [0.0], [0.0]),
    "kl_div (0, 0)": (special.kl_div, [0.0], [0.0], [0.0], [1.0]),
    # the safe form of a choice: no operation sees what is outside of its domain
    "where of a safe log": (
        lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0), [0.0, -1.0, 2.0], [0.0, 0.0, 0.5]
    ),
    "where at a step": (lambda x: np.where(x > 0, x, 0), [0.0], [0.0]),
    "select": (lambda x: np.select([x > 0], [x], x**2), [0.0], [0.0]),
    "piecewise of a log": (lambda x: np.piecewise(x, [x > 0], [np.log, 0.0]), [0.0, 2.0], [0.0, 0.5]),
    # the largest, the smallest, the middle
    "max": (np.max, [2.0, 1.0, 2.0], [0.5, 0.0, 0.5]),
    "min": (np.min, [1.0, 1.0, 1.0, 1.0], [0.25] * 4),
    "nanmax": (np.nanmax, [2.0, NAN, 2.0], [0.5, 0.0, 0.5]),
    "nanmin of nothing": (np.nanmin, [NAN, NAN], [0.0, 0.0]),
    "ptp": (np.ptp, [3.0, 3.0], [0.0, 0.0]),
    "cummax": (ops.cummax, [1.0, 2.0, 2.0, 1.0], [1.0, 3.0, 0.0, 0.0]),
    "cummin": (ops.cummin, [1.0, 1.0, 1.0], [3.0, 0.0, 0.0]),
    "sort": (lambda x: np.sort(x) * [1, 2, 3], [2.0, 1.0, 2.0], [2.0, 1.0, 3.0]),
    "partition": (lambda x: np.partition(x, 1) * [1, 2], [2.0, 2.0], [1.0, 2.0]),
    "unique": (np.unique, [2.0, 1.0, 2.0], [1.0, 1.0, 0.0]),
    "median": (np.median, [2.0, 2.0, 2.0], [0.0, 1.0, 0.0]),
    "median of two": (np.median, [2.0, 2.0], [0.5, 0.5]),
    "nanmedian of nothing": (np.nanmedian, [NAN, NAN], [0.0, 0.0]),
    "quantile at an element": (lambda q: np.quantile([1.0, 2.0, 4.0], q), [0.0, 0.5, 1.0], [2, 4, 0]),
    # sums, products, spreads
    "prod, one 0": (np.prod, [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    "prod, two 0": (np.prod, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
    "cumprod, one 0": (np.cumprod, [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
    "cumprod, two 0": (np.cumprod, [0.0, 0.0, 3.0], [1.0, 0.0, 0.0]),
    "nanprod of nothing": (np.nanprod, [NAN, NAN], [0.0, 0.0]),
    "nansum": (np.nansum, [NAN, 1.0], [0.0, 1.0]),
    "nanmean of nothing": (np.nanmean, [NAN, NAN], [0.0, 0.0]),
    "std": (np.std, [3.0, 3.0], [0.0, 0.0]),
    "std, with a mean not quite 0.1": (np.std, [0.1] * 7, [0.0] * 7),
    "std of one": (np.std, [3.0], [0.0]),
    "var": (np.var, [3.0, 3.0], [0.0, 0.0]),
    "complex std": (np.std, [1j, 1j], [0j, 0j]),
    "nanstd": (np.nanstd, [3.0, NAN, 3.0], [0.0, 0.0, 0.0]),
    "nanstd of nothing": (np.nanstd, [NAN, NAN], [0.0, 0.0]),
    "cov": (np.cov, [[1.0, 1.0], [2.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]),
    "corrcoef 1": (np.corrcoef, [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], np.zeros((2, 3))),
    "logsumexp -inf": (ops.logsumexp, [-INF, -INF], [0.0, 0.0]),
    "logsumexp some -inf": (ops.logsumexp, [-INF, 3.0], [0.0, 1.0]),
    "logcumsumexp -inf": (ops.logcumsumexp, [-INF, -INF], [0.0, 0.0]),
    "softmax -inf": (lambda x: ops.softmax(x)[1], [-INF, 0.0], [0.0, 0.0]),
    "cross-entropy -inf": (
        lambda x: ops.softmax_cross_entropy(x, np.array([0.0, 1.0])), [-INF, 0.0], [0.0, 0.0]
    ),
    # along a line
    "interp at knots": (lambda x: np.interp(x, [0, 1, 2], [0, 1, 4]), [0.0, 1.0, 2.0, 9.0], [1, 3, 3, 0]),
    "interp by values": (lambda f: np.interp([1.0, -9.0], [0, 1, 2], f), [0.0, 1.0, 4.0], [1.0, 1.0, 0.0]),
    "unwrap at a jump": (np.unwrap, [0.0, np.pi, 0.0], [1.0, 1.0, 1.0]),
    "take twice": (lambda x: np.take(x, [0, 0]), [1.0, 2.0], [2.0, 0.0]),
    # norms
    **{
        f"norm {order} of 0": (lambda x, p=order: np.linalg.norm(x, p), [0.0, 0.0], [0.0, 0.0])
        for order in (None, 0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1)
    },
    **{
        f"norm {order} of a matrix of 0": (
            lambda x, p=order: np.linalg.norm(x, p), np.zeros((2, 3)), np.zeros((2, 3))
        )
        for order in ("fro", 1, -1, INF, -INF)
    },
    "complex norm 0": (np.linalg.norm, [0j, 0j], [0j, 0j]),
    "norm inf": (lambda x: np.linalg.norm(x, INF), [2.0, -2.0, 1.0], [0.5, -0.5, 0.0]),
    "norm 1": (lambda x: np.linalg.norm(x, 1), [0.0, -2.0], [0.0, -1.0]),
    # singular matrices
    "det of rank 1": (np.linalg.det, ONES, [[1.0, -1.0], [-1.0, 1.0]]),
    "det of rank 0": (np.linalg.det, np.zeros((3, 3)), np.zeros((3, 3))),
    "pinv of rank 1": (np.linalg.pinv, ONES, ONES * -0.25),
    "pinv of rank 0": (np.linalg.pinv, np.zeros((2, 2)), np.zeros((2, 2))),
    "lstsq of rank 1": (lambda a: np.linalg.lstsq(a, np.ones(2))[0], ONES, ONES * -0.25),
    "matrix_power 0": (lambda a: np.linalg.matrix_power(a, 0), ONES, np.zeros((2, 2))),
    "matrix_power 2": (lambda a: np.linalg.matrix_power(a, 2), NILPOTENT, [[1.0, 0.0], [2.0, 1.0]]),
    "cond 1, singular": (lambda a: np.linalg.cond(a, 1), ONES, np.zeros((2, 2))),
    "expm 0": (ops.linalg.expm, np.zeros((2, 2)), ONES),
    # nothing at all
    **{
        f"{f.__name__} of nothing": (f, np.zeros((0,)), np.zeros((0,)))
        for f in (np.sum, np.prod, np.sort, np.cumsum, np.cumprod, ops.cummax, np.diff, np.unique)
    },
    "norm of nothing": (np.linalg.norm, np.zeros((0,)), np.zeros((0,))),
    "det of nothing": (np.linalg.det, np.zeros((0, 0)), np.zeros((0, 0))),
    "inv of nothing": (np.linalg.inv, np.zeros((0, 0)), np.zeros((0, 0))),
    "fft of a stack of none": (lambda x: np.fft.fft(x).real, np.zeros((0, 4)), np.zeros((0, 4))),
    "einsum of nothing": (lambda x: np.einsum("ij,ij->i", x, x), np.zeros((2, 0)), np.zeros((2, 0))),
}  # fmt: skip

# As above. Equal eigenvalues and singular values: their functions have first derivatives; second ones
# would need vectors that can turn freely, so that they are an error where they are not 0.
EQUAL_VALUES = {
    "eigvalsh": (np.linalg.eigvalsh, EYE, EYE),
    "eigvals": (lambda a: np.linalg.eigvals(a).real, EYE, EYE),
    "eigh, values": (lambda a: np.linalg.eigh(a).eigenvalues, EYE, EYE),
    "eig, values": (lambda a: np.linalg.eig(a).eigenvalues.real, EYE, EYE),
    "svdvals": (np.linalg.svdvals, EYE, EYE),
    "svd, values": (lambda a: np.linalg.svd(a).S, EYE, EYE),
    "svdvals of 0": (np.linalg.svdvals, np.zeros((2, 3)), np.zeros((2, 3))),
    "norm 2": (lambda a: np.linalg.norm(a, 2), EYE, EYE / 2),
    "norm 2 of 0": (lambda a: np.linalg.norm(a, 2), np.zeros((2, 3)), np.zeros((2, 3))),
    "norm -2": (lambda a: np.linalg.norm(a, -2), EYE, EYE / 2),
    "norm nuc": (lambda a: np.linalg.norm(a, "nuc"), EYE, EYE),
    "norm nuc of 0": (lambda a: np.linalg.norm(a, "nuc"), np.zeros((2, 3)), np.zeros((2, 3))),
    "cond": (np.linalg.cond, EYE, np.zeros((2, 2))),
    "cond -2": (lambda a: np.linalg.cond(a, -2), EYE, np.zeros((2, 2))),
    "cond of 0": (np.linalg.cond, np.zeros((2, 2)), np.zeros((2, 2))),
}

pytestmark = pytest.mark.filterwarnings(  # of NumPy's: they are as they are without tape
    "ignore:(divide by zero|invalid value|Mean of empty|All-NaN|Degrees of freedom):RuntimeWarning"
)


def parts(row):
    """The sum of the results as a function, the arguments, and the gradients."""
    f, *arrays = row
    arrays = [np.asarray(a, complex if np.iscomplexobj(a) else float) for a in arrays]
    half = len(arrays) // 2
    return lambda *args: ops.sum(ops.real(f(*args))), arrays[:half], arrays[half:]


def pushed(f, args):
    """The gradients by forward sweeps, one for each number the arguments are made of."""
    grads = [np.zeros(a.shape, a.dtype) for a in args]
    for k, grad in enumerate(grads):

        def of_one(x, k=k):
            return f(*args[:k], x, *args[k + 1 :])

        for i, part in itertools.product(range(grad.size), (1, 1j) if grad.dtype.kind == "c" else (1,)):
            unit = np.zeros(grad.shape, grad.dtype)
            unit.flat[i] = part
            grad.flat[i] += np.conj(part) * jvp(of_one, [args[k]], [unit])
    return grads


def assert_gradients(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15, strict=True)


# ---- the table -----------------------------------------------------------------------------------

every_point = pytest.mark.parametrize("name", [*POINTS, *EQUAL_VALUES])


@every_point
def test_both_modes_give_what_was_chosen(name):
    f, args, slopes = parts({**POINTS, **EQUAL_VALUES}[name])
    assert_gradients(vjp(f, args), slopes)
    assert_gradients(pushed(f, args), slopes)


@every_point
def test_programs_give_what_eager_does(name):
    f, args, _ = parts({**POINTS, **EQUAL_VALUES}[name])
    check(tape.grad(f, tuple(range(len(args)))), args)


def second_order(f, args):
    """What the sum of the gradients changes by with each argument, in all four combinations of modes."""
    ones = [np.ones(a.shape, a.dtype) for a in args]

    def total(*args):
        return sum((ops.sum(ops.real(g)) for g in vjp(f, args)), start=0.0)

    def along(*args):
        return jvp(f, args, ones)

    return [lambda sweep=sweep, g=g: sweep(g, args) for g in (total, along) for sweep in (vjp, pushed)]


@pytest.mark.parametrize("name", [n for n, row in POINTS.items() if np.all(np.isfinite(parts(row)[2][0]))])
def test_second_derivatives_are_numbers_and_the_same_in_all_four_modes(name):
    f, args, _ = parts(POINTS[name])
    first, *others = (sweeps() for sweeps in second_order(f, args))
    for found in (first, *others):
        assert np.isfinite(np.concatenate([np.ravel(x) for x in found])).all()
        for one, other in zip(found, first, strict=True):
            assert_close(one, other, 1e-12)


@pytest.mark.parametrize("name", EQUAL_VALUES)
def test_second_derivatives_beside_equal_values_are_zero_or_an_error(name):
    f, args, _ = parts(EQUAL_VALUES[name])
    for sweeps in second_order(f, args):
        try:
            found = sweeps()
        except errors.SingularMatrixError:
            continue
        assert not np.any(found)


# ---- what has no derivative says so --------------------------------------------------------------

AT_THE_CALL = {
    "inv": (np.linalg.inv, ONES),
    "solve": (lambda a: np.linalg.solve(a, np.ones(2)), ONES),
    "solve_triangular": (lambda a: ops.linalg.solve_triangular(a, np.ones(2)), NILPOTENT),
    "matrix_power": (lambda a: np.linalg.matrix_power(a, -1), ONES),
    "cholesky": (np.linalg.cholesky, -EYE),
    "cho_factor": (lambda a: ops.linalg.cho_factor(a)[0], ONES),
}

IN_A_SWEEP = {
    "slogdet": (lambda a: np.linalg.slogdet(a).logabsdet, ONES, "Singular"),
    "eigh, vectors": (lambda a: np.linalg.eigh(a).eigenvectors, EYE, "turn freely"),
    "eig, vectors": (lambda a: np.linalg.eig(a).eigenvectors.real, EYE, "turn freely"),
    "svd, vectors": (lambda a: np.linalg.svd(a).U, EYE, "turn freely"),
    "eigvals, defective": (lambda a: np.linalg.eigvals(a).real, NILPOTENT, "defective"),
    "qr, dependent columns": (lambda a: np.linalg.qr(a).R, np.ones((3, 3)), "turn freely"),
    "qr, q": (lambda a: np.linalg.qr(a).Q, np.outer([1.0, 3.0, 0.1], [1.0, 0.7]), "turn freely"),
    "qr, a row of 0": (lambda a: np.linalg.qr(a, "r"), np.diag([1.0, 0.0]), "turn freely"),
}


@pytest.mark.parametrize("name", AT_THE_CALL)
def test_there_is_no_result(name):
    f, a = AT_THE_CALL[name]
    trace = tape.Trace()
    leaf = trace.param(a)
    with pytest.raises(errors.SingularMatrixError, match=r"test_conventions\.py"):
        f(leaf)
    assert len(trace) == 1


@pytest.mark.parametrize("name", IN_A_SWEEP)
def test_there_is_no_derivative(name):
    f, a, message = IN_A_SWEEP[name]
    trace, (leaf,), root = record(f, [a])
    np.testing.assert_array_equal(root.value, f(a))
    with pytest.raises(errors.SingularMatrixError, match=message):
        trace.backward(root)
    with pytest.raises(errors.SingularMatrixError, match=message):
        trace.jvp(
            root,
            {leaf: np.array([[1.0, 2.0, 4.0], [3.0, 1.0, 1.0], [7.0, 0.0, 1.0]])[: len(a), : a.shape[1]]},
        )


@pytest.mark.parametrize("f", [np.max, np.min, np.ptp, np.nanmax, np.argmax, ops.logsumexp])
def test_there_is_nothing_to_choose_from(f):
    trace = tape.Trace()
    x = trace.param(np.ones((0, 3)))
    with pytest.raises(errors.ShapeError, match=f.__name__):
        f(x, axis=0)
    assert len(trace) == 1


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x**x, -1.0),  # by the exponent, of a negative base
        (lambda x: np.where(x > 0, np.log(x), 0.0), 0.0),  # infinity times 0: write it as in the table
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0),
        (np.sqrt, -1.0),
    ],
)
def test_documented_nan(f, x):
    with np.errstate(all="ignore"):
        assert np.isnan(vjp(f, [np.array(x)])[0])


@pytest.mark.parametrize("op", [ops.var, ops.std])
def test_too_many_degrees_of_freedom_are_nan_not_an_error(op):
    (grad,) = vjp(lambda x: op(x, axis=0, ddof=1), [np.ones((1, 3))])
    assert grad.shape == (1, 3)
    assert not np.isfinite(grad).any()


# ---- questions, and positions, of equal elements ---------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.argsort(x, stable=True),
        np.argmax,
        np.argmin,
        lambda x: np.searchsorted(x, [1.0, 2.0]),
        lambda x: np.digitize(x, [1.0, 2.0]),
        lambda x: np.unique(x, return_index=True)[1],
        lambda x: np.histogram(x, [1.0, 2.0, 2.0])[0],
        np.nonzero,
        np.sign,
        np.round,
        lambda x: x > 1,
    ],
)
def test_positions_and_steps_are_those_of_numpy_and_constant(f):
    x = np.array([1.0, 1.0, 2.0, 2.0, 2.0])
    _, _, out = record(f, [x])
    expected = f(x)
    if type(out) is tuple:
        (out,), (expected,) = out, expected
    assert_same(out.value, expected)
    assert out.node.vjp is None


# ---- extremes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "x", "value", "slope"),
    [
        (ops.sigmoid, [-1e4, 1e4], [0, 1], [0, 0]),
        (ops.softplus, [-1e4, 1e4], [0, 1e4], [0, 1]),
        (ops.tanh, [-1e4, 1e4], [-1, 1], [0, 0]),
        (ops.logsumexp, [1e4, 1e4], 1e4 + np.log(2), [0.5, 0.5]),
        (ops.logsumexp, [-np.inf, 3.0], 3, [0, 1]),
        (ops.logsumexp, [-np.inf, -np.inf], -np.inf, [0, 0]),
        (ops.logsumexp, [-1e4, -1e4], -1e4 + np.log(2), [0.5, 0.5]),
        (ops.softmax, [1e4, -1e4], [1, 0], [0, 0]),
        (lambda x: ops.log_softmax(x)[0], [1e4, -1e4], 0, [0, 0]),
        (lambda x: ops.softmax_cross_entropy(x, 1), [1e4, -1e4], 2e4, [1, -1]),
        (lambda x: ops.softmax_cross_entropy(x, [0.0, 1.0]), [1e4, -1e4], 2e4, [1, -1]),
        (ops.log1p, [1e-20], [1e-20], [1]),
        (ops.expm1, [1e-20], [1e-20], [1]),
    ],
)
def test_nothing_overflows_or_cancels(f, x, value, slope):
    x = np.array(x)
    np.testing.assert_allclose(f(x), value, rtol=1e-14)
    np.testing.assert_allclose(vjp(f, [x])[0], slope, rtol=1e-12, atol=1e-300)
    along = slope if np.ndim(value) else np.sum(slope)
    np.testing.assert_allclose(jvp(f, [x], [np.ones(x.shape)]), along)


def test_nan_and_infinity_propagate():
    x = np.array([np.nan, np.inf, -np.inf])
    for op in (ops.add, ops.multiply, ops.maximum, ops.minimum):
        assert_same(record(lambda v, op=op: op(v, 1.0), [x])[2].value, getattr(np, op.__name__)(x, 1.0))
    with np.errstate(invalid="ignore"):
        assert np.isnan(vjp(lambda v: v * v, [x])[0][0])
        assert np.isnan(ops.sum(x))
        assert np.isnan(ops.softmax(x)).all()


def test_second_derivatives_of_the_angle_at_the_origin_are_zero_in_all_ways():
    def angle(x):
        return np.arctan2(x[0], x[1])

    z = np.zeros(2)
    for outer in ("fwd", "rev"):
        for inner in ("fwd", "rev"):
            second = tape.jacobian(tape.jacobian(angle, mode=inner), mode=outer)
            for f in (second, tape.compile(second)):
                np.testing.assert_array_equal(f(z), np.zeros((2, 2)))
    np.testing.assert_array_equal(tape.hvp(angle)(z, np.array([0.0, 1.0])), [0.0, 0.0])
