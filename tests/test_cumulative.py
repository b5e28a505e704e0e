"""Running sums, products and extremes, and differences: recurrences, ties, edges and errors."""

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.core.table import UFUNC_METHODS
from tape.ops.reduction.recurrences import linear_recurrence
from tests.oracles import assert_close, assert_same, difference_gradient, jvp, record, vjp

RNG = np.random.default_rng(3)


# ---- recurrences ---------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 16, 17, 100, 333])
def test_a_recurrence_is_what_a_loop_makes(length):
    a, b = RNG.uniform(-1, 1, (2, 3, length))
    expected = np.zeros((3, length))
    for i in range(length):
        expected[:, i] = b[:, i] + (a[:, i] * expected[:, i - 1] if i else 0)
    assert_close(linear_recurrence(a, b, axis=1, backwards=False), expected, 1e-14)
    turned = linear_recurrence(a[:, ::-1], b[:, ::-1], axis=-1, backwards=True)
    assert_close(turned, expected[:, ::-1], 1e-14)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_recurrence_is_differentiated_by_both_operands(backwards):
    a, b, seed = RNG.uniform(-1, 1, (3, 10))

    def f(a, b):
        return linear_recurrence(a, b, axis=0, backwards=backwards)

    gradients = vjp(f, [a, b], seed)
    assert_close(gradients[0], difference_gradient(lambda a: f(a, b), a, seed))
    assert_close(gradients[1], difference_gradient(lambda b: f(a, b), b, seed))
    directions = list(RNG.uniform(-1, 1, (2, 10)))
    pushed = jvp(f, [a, b], directions)
    assert_close(
        np.sum(seed * pushed), sum(np.sum(g * t) for g, t in zip(gradients, directions, strict=True))
    )


@pytest.mark.parametrize("zeros", [[], [0], [19], [4], [4, 5], [3, 11, 17]])
def test_running_products_have_exact_derivatives_where_factors_are_zero(zeros):
    x = RNG.uniform(0.5, 2, 20)
    x[zeros] = 0
    seed = RNG.normal(size=20)
    expected = np.zeros(20)
    for i in range(20):
        for j in range(i + 1):
            expected[j] += seed[i] * np.prod(np.delete(x[: i + 1], j))
    assert_close(vjp(np.cumprod, [x], seed)[0], expected, 1e-13)


def test_long_running_products_cost_no_more_than_a_few_nodes():
    x = 1 + RNG.normal(size=5000) * 1e-3
    outer = tape.Trace()
    leaf = outer.param(x)
    vjp(np.cumprod, [leaf], np.ones(5000))
    assert len(outer.nodes) < 20


def test_running_sums_of_exponentials_do_not_overflow():
    x = np.array([-np.inf, -1e4, 0.0, 1e4, 1e4])
    value = ops.logcumsumexp(x)
    assert_same(value, np.logaddexp.accumulate(x))
    gradient = vjp(ops.logcumsumexp, [x], np.eye(5)[4])[0]
    assert_close(gradient, [0, 0, 0, 0.5, 0.5], 1e-12)
    nothing = np.full(3, -np.inf)
    assert_same(vjp(ops.logcumsumexp, [nothing], np.ones(3))[0], np.zeros(3))


# ---- extremes --------------------------------------------------------------------------------------


def test_of_equal_elements_the_first_has_the_derivative_of_the_running_extreme():
    x = np.array([1.0, 3.0, 3.0, 2.0, 4.0, 4.0])
    assert_same(vjp(ops.cummax, [x], np.ones(6))[0], np.array([1.0, 3, 0, 0, 2, 0]))
    assert_same(vjp(ops.cummin, [-x], np.ones(6))[0], np.array([1.0, 3, 0, 0, 2, 0]))
    assert_same(jvp(ops.cummax, [x], [np.arange(6.0)]), np.array([0.0, 1, 1, 1, 4, 4]))


def test_nan_stays_the_running_extreme():
    x = np.array([1.0, np.nan, 3.0])
    assert_same(ops.cummax(x), np.maximum.accumulate(x))
    assert_same(vjp(ops.cummax, [x], np.ones(3))[0], np.array([1.0, 2, 0]))


@pytest.mark.parametrize("ufunc", UFUNC_METHODS["accumulate"], ids=lambda ufunc: ufunc.__name__)
def test_ufuncs_accumulate(ufunc):
    x = RNG.normal(size=(3, 4))
    f = UFUNC_METHODS["accumulate"][ufunc]
    for axis in (0, 1, -1):
        assert_same(f(x, axis=axis), ufunc.accumulate(x, axis=axis))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float32])
def test_running_totals_have_the_dtypes_of_numpy(dtype):
    x = (RNG.random(50) * 2).astype(dtype)
    for name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
        assert_same(getattr(ops, name)(x), getattr(np, name)(x))
        assert_same(getattr(ops, name)(x, dtype=np.float64), getattr(np, name)(x, dtype=np.float64))
    assert_same(ops.cumulative_sum(x, include_initial=True), np.cumulative_sum(x, include_initial=True))


# ---- differences and slopes ------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(5))
@pytest.mark.parametrize("length", [1, 2, 6])
def test_differences_of_every_order(n, length):
    x = RNG.normal(size=(length, 2))
    expected = np.diff(x, n=n, axis=0)
    assert_same(ops.diff(x, n=n, axis=0), expected)
    seed = RNG.normal(size=expected.shape)
    assert_close(
        vjp(lambda x: np.diff(x, n=n, axis=0), [x], seed)[0],
        difference_gradient(lambda x: np.diff(x, n=n, axis=0), x, seed),
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("spacing", ["none", "number", "even", "uneven", "ints"])
def test_slopes_are_exactly_those_of_numpy(spacing, edge_order, dtype):
    f = RNG.normal(size=(7, 6)).astype(dtype)
    given = {
        "none": (),
        "number": (0.3,),
        "even": (np.arange(7) * 0.5, 2.0),
        "uneven": (np.cumsum(RNG.uniform(0.5, 1, 7)), np.arange(6.0)),
        "ints": (np.array([0, 1, 3, 4, 8, 9, 12], np.uint8), 1),
    }[spacing]
    for mine, theirs in zip(
        ops.gradient(f, *given, edge_order=edge_order),
        np.gradient(f, *given, edge_order=edge_order),
        strict=True,
    ):
        assert_same(mine, theirs)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_evenly_spaced_positions_are_differentiated_one_by_one(edge_order):
    """NumPy takes a short cut there, which would make all but one of them constants."""
    f, x, seed = RNG.normal(size=5), np.arange(5.0), RNG.normal(size=5)

    def uneven(x):
        return np.gradient(f, x, edge_order=edge_order)

    (gradient,) = vjp(uneven, [x], seed)
    assert_close(gradient, difference_gradient(uneven, x, seed))


@pytest.mark.parametrize("edge_order", [1, 2])
def test_compiled_slopes_between_even_and_uneven_positions_are_those_of_numpy(edge_order):
    """An infinity in the middle of three has no weight where they are even."""
    compiled = tape.compile(lambda f, x: np.gradient(f, x, edge_order=edge_order))
    finite, infinite = RNG.normal(size=5), np.array([1.0, np.inf, 2.0, 5.0, -np.inf])
    for x in (np.arange(5.0), np.array([0.0, 1, 3, 4, 5]), 2 * np.arange(5.0), np.arange(5.0)):
        for f in (finite, infinite, finite):
            with np.errstate(invalid="ignore"):
                assert_same(compiled(f, x), np.gradient(f, x, edge_order=edge_order))
    assert len(compiled.programs) == 2


BAD = {
    "cumsum axis": (lambda x: np.cumsum(x, axis=2), errors.ShapeError, "axis 2"),
    "cumsum axes": (lambda x: np.cumsum(x, axis=(0, 1)), errors.ShapeError, "one axis"),
    "cumsum dtype": (lambda x: np.cumsum(x, dtype="fish"), errors.DTypeError, "fish"),
    "nancumsum axis": (lambda x: np.nancumsum(x, axis=2), errors.ShapeError, "axis 2"),
    "cumulative_sum": (lambda x: np.cumulative_sum(x), errors.ShapeError, "needs an axis"),
    "diff order": (lambda x: np.diff(x, n=-1), errors.OptionError, "n=-1"),
    "diff edge": (lambda x: np.diff(x, prepend=np.ones(4)), errors.ShapeError, "prepend"),
    "diff edges": (lambda x: np.diff(x, prepend=0.0, append=np.ones((3, 1))), errors.ShapeError, "append"),
    "ediff1d end": (lambda x: np.ediff1d(x, to_end=1j), errors.DTypeError, "to_end"),
    "gradient order": (lambda x: np.gradient(x, edge_order=3), errors.OptionError, "edge_order"),
    "gradient samples": (lambda x: np.gradient(x, axis=0, edge_order=2), errors.ShapeError, "3 elements"),
    "gradient spacings": (lambda x: np.gradient(x, 1, 2, 3), errors.OptionError, "3 spacings"),
    "gradient positions": (lambda x: np.gradient(x, np.arange(4), 1), errors.ShapeError, "positions"),
    "trapezoid": (lambda x: np.trapezoid(x, np.arange(4.0)), errors.ShapeError, "distances"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_errors_come_at_the_call_and_leave_nothing_behind(name):
    f, kind, message = BAD[name]
    trace = tape.Trace()
    x = trace.param(np.ones((2, 3)))
    with pytest.raises(kind, match=message):
        f(x)
    assert len(trace.nodes) == 1


def test_a_difference_of_order_zero_is_the_operand():
    trace, (x,), y = record(lambda x: np.diff(x, n=0), [np.arange(3.0)])
    assert y is x
    assert len(trace.nodes) == 1
