"""Keywords of reductions, and those that leave NaN out: values, and derivatives of what counts alone."""

import warnings

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core.table import UFUNC_METHODS
from tests.oracles import (
    assert_close,
    assert_same,
    difference,
    difference_gradient,
    inner,
    jvp,
    laid_out,
    record,
    vjp,
)

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 300))
MASK = RNG.random((40, 300)) < 0.6
HOLES = np.where(MASK, X, np.nan)
DTYPED = ("sum", "prod", "mean", "var", "std", "cumsum", "cumprod")
NAN_FREE = ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian")

CALLS = {
    "sum dtype": lambda ns, x: ns.sum(x, 1, np.float64),
    "sum where": lambda ns, x: ns.sum(x, where=MASK),
    "sum initial": lambda ns, x: ns.sum(x, axis=0, initial=3.5),
    "prod where": lambda ns, x: ns.prod(x, axis=1, where=MASK, initial=2.0),
    "max where": lambda ns, x: ns.max(x, axis=1, where=MASK, initial=-1),
    "min initial": lambda ns, x: ns.min(x, initial=np.float64(0.1)),
    "mean where": lambda ns, x: ns.mean(x, axis=0, where=MASK),
    "mean dtype": lambda ns, x: ns.mean(x, dtype=np.float64),
    "mean column": lambda ns, x: ns.mean(x, where=MASK[:, :1]),
    "var where": lambda ns, x: ns.var(x, axis=1, where=MASK, ddof=1),
    "var dtype": lambda ns, x: ns.var(x, axis=(0, 1), dtype=np.float64),
    "std mean": lambda ns, x: ns.std(x, axis=1, mean=np.mean(X, 1, keepdims=True).astype(x.dtype)),
    "std where": lambda ns, x: ns.std(x, where=MASK, correction=2),
    "ptp": lambda ns, x: ns.ptp(x, axis=1, keepdims=True),
    **{
        name: lambda ns, x, name=name: getattr(ns, name)(np.where(MASK, x, np.nan), axis=0)
        for name in NAN_FREE
    },
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("name", CALLS)
def test_values_are_exactly_those_of_numpy(name, dtype):
    x = X.astype(dtype)
    if dtype == np.complex128:
        if name.startswith(("max", "min")) or "dtype" in name or name == "nanmedian":
            return
        x = x + 1j * X[::-1]
    for layout in ("C", "F", "backwards"):
        laid = laid_out(x, layout)
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of overflow, in both
            assert_same(CALLS[name](ops, laid), CALLS[name](np, laid))


def test_a_plain_sum_is_one_node_of_the_plain_operation():
    trace, _, _ = record(lambda x: np.sum(x, axis=0), [X])
    assert [(node.op.name, node.attrs) for node in trace.nodes[1:]] == [
        ("sum", {"axis": (0,), "keepdims": False})
    ]
    for f in (np.prod, np.max, np.min, np.mean, np.var, np.std):
        trace, _, _ = record(f, [X])
        assert len(trace.nodes) == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, m: np.sum(x, where=m),
        lambda x, m: np.prod(x, axis=0, where=m),
        lambda x, m: np.mean(x, axis=1, where=m),
        lambda x, m: np.max(x, where=m, initial=-9.0),
        lambda x, m: np.var(x, axis=1, where=m),
        lambda x, m: np.std(x, where=m, mean=0.3),
        lambda x, m: np.std(x, where=m),
    ],
)
def test_what_is_masked_out_is_exactly_without_derivative(f, bad):
    """Whatever stands there: in both modes, and of second order."""
    good = np.array([[0.5, -1.5, 2.0], [1.0, 3.0, -0.7]])
    mask = np.array([[True, False, True], [True, True, False]])
    spoiled = np.where(mask, good, bad)

    def pulled(x):
        out = f(x, mask)
        return vjp(lambda x: f(x, mask), [x], np.ones(out.shape))[0]

    assert_same(pulled(spoiled), np.where(mask, pulled(good), 0))
    spoiler = np.where(mask, 1.0, bad)  # of the tangent as well
    pushed = jvp(lambda x: f(x * spoiler, mask), [good], [np.full(good.shape, 0.3)])
    assert_close(pushed, jvp(lambda x: f(x, mask), [good], [mask * 0.3]))
    second = vjp(lambda x: np.sum(pulled(x) * good), [spoiled])[0]
    assert_close(second, vjp(lambda x: np.sum(pulled(x) * good * mask), [good])[0])
    assert not np.any(second[~mask])


@pytest.mark.parametrize("name", [*NAN_FREE, "nancumsum", "nancumprod"])
def test_nan_gets_no_derivative_and_gives_none(name):
    f = getattr(np, name)
    x = np.array([0.5, np.nan, 2.0, 1.2, np.nan, -0.6])
    keep = ~np.isnan(x)
    short = x[keep]
    out = f(short)
    seed = np.cos(np.arange(np.size(out))).reshape(np.shape(out))
    long_seed = seed
    if np.ndim(out):
        long_seed = np.zeros(6)
        long_seed[keep] = seed

    def gradient(x):
        return vjp(f, [x], long_seed)[0]

    expected = vjp(f, [short], seed)[0]
    assert_close(gradient(x)[keep], expected, 1e-14)
    assert_same(gradient(x)[~keep], np.zeros(2))
    tangent = jvp(lambda y: f(y * np.where(keep, 1.0, np.nan)), [np.nan_to_num(x)], [np.ones(6)])
    assert_close(tangent[keep] if np.ndim(out) else tangent, jvp(f, [short], [np.ones(4)]), 1e-14)
    weights = np.sin(np.arange(6.0))
    second = vjp(lambda x: np.sum(gradient(x) * weights), [x])[0]
    again = vjp(lambda x: np.sum(vjp(f, [x], seed)[0] * weights[keep]), [short])[0]
    assert_close(second[keep], again, 1e-13)
    assert not np.any(second[~keep])


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian"])
def test_slices_of_nothing_but_nan_warn_as_numpy_does_and_have_no_derivative(name):
    x = np.array([[np.nan, np.nan], [1.0, 3.0]])
    with pytest.warns(RuntimeWarning):
        value = ops.__dict__[name](x, axis=1)
    with pytest.warns(RuntimeWarning):
        assert_same(value, getattr(np, name)(x, axis=1))
    with pytest.warns(RuntimeWarning):
        trace, _, out = record(lambda x: getattr(np, name)(x, axis=1), [x])
    (gradient,) = trace.backward_param_grads(out, np.ones(2))
    assert_same(gradient[0], np.zeros(2))
    assert np.isfinite(gradient).all()
    with pytest.raises(errors.ShapeError, match="All-NaN"):
        np.nanargmax(trace.params[0], axis=1)


def test_ties_are_shared_with_an_equal_initial_value():
    gradients = vjp(lambda x, y: np.max(x, initial=y), [np.array([1.0, 2.0, 2.0]), np.array(2.0)])
    assert_close(gradients[0], [0, 1 / 3, 1 / 3], 1e-15)
    assert_close(gradients[1], 1 / 3, 1e-15)
    many = np.tile([1.0, 2.0, 2.0], (1, 4000))  # for which there is a kernel
    for f in (np.max, np.nanmax):
        gradients = vjp(lambda x, y, f=f: f(x, axis=1, initial=y), [many, np.array(2.0)])
        assert_close(gradients[0], np.where(many == 2, 1 / 8001, 0), 1e-15)
        assert_close(gradients[1], 1 / 8001, 1e-15)
    (shared,) = vjp(np.nanmin, [np.array([1.0, np.nan, 1.0])])
    assert_same(shared, np.array([0.5, 0.0, 0.5]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.std(x, axis=1, where=np.array([True, True, False])),
        lambda x: np.nanstd(x, axis=1),
        lambda x: np.std(x, axis=1, mean=np.full((2, 1), 0.1)),
        lambda x: np.std(x.astype(np.complex128), axis=1),
    ],
)
def test_the_deviation_of_equal_elements_has_derivative_zero(f):
    x = np.full((2, 3), 0.1)
    assert_same(vjp(f, [x], np.ones(2))[0], np.zeros((2, 3)))
    assert_same(jvp(f, [x], [RNG.normal(size=(2, 3))]), np.zeros(2))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_lost_degree_of_freedom_has_no_derivative():
    x = np.array([[1.0, 2.0], [3.0, 5.0]])
    mask = np.array([[True, False], [True, True]])
    missing = np.where(mask, x, np.nan)
    for f, at in (
        (lambda x: np.var(x, axis=1, ddof=1, where=mask), x),
        (lambda x: np.nanvar(x, axis=1, ddof=1), missing),
    ):
        assert_same(vjp(f, [at], np.ones(2))[0], np.array([[0.0, 0.0], [-2.0, 2.0]]))
        assert_same(jvp(f, [at], [np.ones((2, 2)) * [1, 3]]), np.array([0.0, 4.0]))


def test_dtype_is_what_is_added_up_in_and_gradients_keep_their_own():
    x = np.full(1000, 0.1, np.float32)
    trace, _, out = record(lambda x: np.sum(x, dtype=np.float64), [x])
    assert_same(out.value, np.sum(x, dtype=np.float64))
    (gradient,) = trace.backward_param_grads(out)
    assert_same(gradient, np.ones(1000, np.float32))
    whole = record(lambda x: np.sum(x * 7, dtype=int), [x])[2]
    assert (whole.value, whole.node.vjp) == (0, None)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("dtype", [bool, int, np.int8, np.float16, np.float32, np.complex128])
@pytest.mark.parametrize("name", [*DTYPED, "nansum", "nanmean", "nanstd", "nancumsum", "cumulative_prod"])
def test_what_is_added_up_in_another_dtype_is_as_in_numpy(name, dtype):
    for x in (
        np.array([0.3, 1.6, 2.2]),
        np.array([1, 0, 3]),
        np.array([True, False]),
        np.array([1.7 + 2j, 3]),
    ):
        try:
            expected = getattr(np, name)(x, dtype=dtype)
        except TypeError:
            with pytest.raises(errors.DTypeError, match=name):
                getattr(ops, name)(x, dtype=dtype)
            continue
        _, _, out = record(lambda x: getattr(np, name)(x, dtype=dtype), [x])
        assert_same(out.value, expected)
        if out.dtype.kind not in "fc":
            assert out.node.vjp is None
        if x.dtype.kind != "c":
            compiled = tape.compile(lambda x: getattr(np, name)(x, dtype=dtype))(x)
            assert compiled.dtype == expected.dtype
            assert_close(compiled, expected, 1e-6)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_a_spread_of_complex_numbers_in_another_dtype_to_second_order(name, dtype):
    """In a real one distances are from the real part of the mean; in a complex one the result is real."""

    def f(z):
        return np.real(getattr(np, name)(z, dtype=dtype, ddof=0.5) * (2 - 1j))

    z, *directions = RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))
    assert_close(jvp(f, [z], directions[:1]), difference(f, [z], directions[:1]))
    assert_close(inner(vjp(f, [z]), directions[:1]), difference(f, [z], directions[:1]))

    def slope(z):
        return np.real(np.sum(tape.grad(f)(z) * directions[0]))

    assert_close(inner(vjp(slope, [z]), directions[1:]), difference(slope, [z], directions[1:]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_nothing_counts_both_modes_have_no_derivative():
    nothing, none = np.zeros(3, bool), np.full(3, np.nan)
    for f, x in (
        *((lambda x, f=f: f(x, where=nothing), np.arange(3.0)) for f in (np.mean, np.var, np.std)),
        *((f, none) for f in (np.nanmean, np.nanvar, np.nanstd)),
    ):
        assert np.isnan(f(x))
        assert_same(vjp(f, [x])[0], np.zeros(3))
        assert_same(jvp(f, [x], [np.ones(3)]), np.float64(0))


def test_a_reduction_of_complex_numbers_is_differentiated_by_both_parts():
    z = RNG.normal(size=6) + 1j * RNG.normal(size=6)
    for f in (np.var, np.std, lambda z: np.var(z, mean=0.5j, where=np.arange(6) % 2 == 0)):
        assert_close(vjp(f, [z])[0], difference_gradient(f, z, 1.0))


BAD = {
    "no such axis": (lambda x: np.sum(x, axis=2, where=MASK[:2, :3]), errors.ShapeError, "axis 2"),
    "where of numbers": (lambda x: np.sum(x, where=np.ones(3)), errors.DTypeError, "bools"),
    "large where": (lambda x: np.mean(x, where=np.ones((4, 2, 3), bool)), errors.ShapeError, "where"),
    "initial array": (lambda x: np.sum(x, initial=np.ones(3)), errors.ShapeError, "single number"),
    "no candidate": (lambda x: np.max(x, where=MASK[:2, :3]), errors.OptionError, "initial"),
    "no candidate but NaN": (lambda x: np.nanmin(x, where=MASK[:2, :3]), errors.OptionError, "initial"),
    "nothing to choose": (lambda x: np.max(x[:0]), errors.ShapeError, "nothing to choose"),
    "no dtype": (lambda x: np.prod(x, dtype="fish"), errors.DTypeError, "fish"),
    "nansum": (lambda x: np.nansum(x, dtype="fish"), errors.DTypeError, "fish"),
    "both names": (lambda x: np.var(x, ddof=1, correction=1), errors.OptionError, "correction"),
    "mean": (lambda x: np.nanvar(x, mean=np.ones(4)), errors.ShapeError, "mean"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_errors_come_at_the_call_and_leave_nothing_behind(name):
    f, kind, message = BAD[name]
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    before = len(trace.nodes)
    with pytest.raises(kind, match=message):
        f(x)
    assert len(trace.nodes) - before == (name == "nothing to choose")  # the slice


def test_nothing_to_choose_from_but_an_initial_value():
    trace, _, out = record(lambda x, y: np.max(x, axis=0, initial=y), [np.ones((0, 2)), np.array(3.0)])
    assert_same(out.value, np.array([3.0, 3.0]))
    gradients = trace.backward_param_grads(out, np.array([1.0, 10.0]))
    assert gradients[0].shape == (0, 2)
    assert gradients[1] == 11


@pytest.mark.parametrize("ufunc", UFUNC_METHODS["reduce"], ids=lambda ufunc: ufunc.__name__)
def test_ufuncs_reduce(ufunc):
    x = X[:4, :5]
    f = UFUNC_METHODS["reduce"][ufunc]
    for axis in (0, 1, None):
        if ufunc is np.logaddexp and axis is None:
            continue  # which NumPy refuses
        assert_same(f(x, axis=axis, keepdims=True), ufunc.reduce(x, axis=axis, keepdims=True))
    if ufunc is np.logaddexp:
        seed = RNG.normal(size=5)
        gradient = vjp(lambda x: f(x, axis=0), [x], seed)[0]
        assert_close(gradient, difference_gradient(lambda x: ufunc.reduce(x, axis=0), x, seed))
        assert_close(f(np.full(3, -np.inf)), -np.inf)
        assert_same(vjp(lambda x: f(x), [np.full(3, -np.inf)])[0], np.zeros(3))


@pytest.mark.parametrize("indices", [[0, 3, 5], [4, 2, 2, 0], [5], [0, 4, 1, 5, 2]])
def test_sums_between_indices(indices):
    x, f = X[:6, :3], UFUNC_METHODS["reduceat"][np.add]
    assert_same(f(x, indices), np.add.reduceat(x, indices))
    assert_same(f(x.T, indices, axis=-1), np.add.reduceat(x.T, indices, axis=-1))
    seed = RNG.normal(size=(len(indices), 3))
    (gradient,) = vjp(lambda x: f(x, indices), [x], seed)
    assert_close(gradient, difference_gradient(lambda x: np.add.reduceat(x, indices), x, seed))
    assert_close(jvp(lambda x: f(x, indices), [x], [x]), np.add.reduceat(x, indices))
    with pytest.raises(errors.OutOfBoundsError):
        f(tape.Trace().param(x), [0.5])


@pytest.mark.parametrize("name", ["max", "min", "nanmax", "nanmin"])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extremes_of_many_numbers_share_what_ties(name, axis, dtype):
    """For these there is a kernel, if adjoints lie in memory one after the other."""
    x = np.random.default_rng(0).integers(-3, 3, (60, 50)).astype(dtype)
    f = getattr(np, name)
    out = f(x, axis=axis, keepdims=True)
    seed = np.random.default_rng(1).normal(size=out.shape).astype(dtype)
    (found,) = vjp(lambda x: f(x, axis=axis, keepdims=True), [x], seed)
    is_extreme = x == out
    assert found.dtype == dtype
    assert_close(found, seed * is_extreme / is_extreme.sum(axis=axis, keepdims=True), 1e-6)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i4", bool])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_exponentials_of_integers_are_those_of_floats(name, dtype):
    """Small integers would wrap around when the largest is taken from them."""
    f, x = getattr(tape.ops, name), np.array([1, 100, 120], "i8").astype(dtype)
    expected = f(x.astype(float))
    weighted = tape.compile(lambda w, x: w * f(x))
    weighted(1.0, x)
    for found in (f(x), tape.compile(f)(x), weighted(1.0, x), tape.vmap(f)(x[None])[0]):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("function", [np.any, np.all])
def test_questions_about_some_elements_are_those_of_numpy(function, axis):
    where = np.array([[True, False, True], [True, True, False]])
    compiled = tape.compile(lambda x: function(x > 0, axis=axis, where=where))
    for x in (np.array([[1.0, -1.0, 2.0], [-3.0, 1.0, 1.0]]), np.full((2, 3), 1.0), np.full((2, 3), -1.0)):
        expected = function(x > 0, axis=axis, where=where)
        np.testing.assert_array_equal(compiled(x), expected)
        np.testing.assert_array_equal(
            tape.vmap(lambda x: function(x > 0, where=where))(x[None]), [function(x > 0, where=where)]
        )
