"""What a builder makes of identities and chains of views: how much is left, and that results agree."""

import numpy as np
import pytest

import tape
from tape import ops
from tape.program.ir.builder import Builder
from tests.naive_program import compiled_for, counts, program_of
from tests.oracles import assert_close, assert_same
from tests.tiers import takes_long

INF, NAN = np.inf, np.nan
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e308, -1e308, 5e-324, 2.5])
X = np.repeat(SPECIAL[:, None], 3, axis=1)
Y = X[::-1].copy()


# The function, and what is left of it: the result stays the same, to the sign of zero.
IDENTITIES = {
    "x + 0": (lambda x, y: x + 0, {"add": 1}),
    "0 + x": (lambda x, y: 0.0 + x, {"add": 1}),
    "x - 0": (lambda x, y: x - 0, {}),
    "0 - x": (lambda x, y: 0 - x, {"subtract": 1}),
    "x * 1": (lambda x, y: x * 1, {}),
    "1 * x": (lambda x, y: 1.0 * x, {}),
    "x * -1": (lambda x, y: x * -1, {"negative": 1}),
    "x / 1": (lambda x, y: x / 1, {}),
    "x / 4": (lambda x, y: x / 4, {"multiply": 1}),
    "x / -0.5": (lambda x, y: x / -0.5, {"multiply": 1}),
    "x / 3": (lambda x, y: x / 3, {"divide": 1}),
    "x / 0": (lambda x, y: x / 0, {"divide": 1}),
    "x * 0": (lambda x, y: x * 0, {"multiply": 1}),
    "0 / x": (lambda x, y: 0 / x, {"divide": 1}),
    "x - x": (lambda x, y: x - x, {"subtract": 1}),
    "x / x": (lambda x, y: x / x, {"divide": 1}),
    "x * 2 * 4": (lambda x, y: x * 2 * 4, {"multiply": 1}),
    "-(-x)": (lambda x, y: ops.negative(-x), {}),
    "+x": (lambda x, y: +x, {}),
    "x + -y": (lambda x, y: x + -y, {"subtract": 1}),
    "-x + y": (lambda x, y: -x + y, {"subtract": 1}),
    "x - -y": (lambda x, y: x - -y, {"add": 1}),
    "-x - y": (lambda x, y: -x - y, {"negative": 1, "subtract": 1}),
    "-x * y": (lambda x, y: -x * y, {"multiply": 1, "negative": 1}),
    "-x * -y": (lambda x, y: -x * -y, {"multiply": 1}),
    "-x * 3": (lambda x, y: -x * 3, {"multiply": 1}),
    "-x / y": (lambda x, y: -x / y, {"divide": 1, "negative": 1}),
    "x / -y": (lambda x, y: x / -y, {"divide": 1, "negative": 1}),
    "-x / -y": (lambda x, y: -x / -y, {"divide": 1}),
    "-(x - y)": (lambda x, y: -(x - y), {"subtract": 1, "negative": 1}),
    "|-x|": (lambda x, y: abs(-x), {"absolute": 1}),
    "|0 - x|": (lambda x, y: abs(0 - x), {"absolute": 1}),
    "|1 - x|": (lambda x, y: abs(1 - x), {"subtract": 1, "absolute": 1}),
    "|zeros - row|": (lambda x, y: abs(np.zeros_like(x) - y[0]), {"absolute": 1}),
    "-(x * 3)": (lambda x, y: -(x * 3), {"multiply": 1}),
    "x**1": (lambda x, y: x**1, {}),
    "x**2": (lambda x, y: x**2, {"multiply": 1}),
    "x**2.0": (lambda x, y: x**2.0, {"multiply": 1}),
    "x**3": (lambda x, y: x**3, {"multiply": 2}),
    "x**4": (lambda x, y: x**4, {"multiply": 2}),
    "x**-1": (lambda x, y: x**-1, {"divide": 1}),
    "x**0.5": (lambda x, y: x**0.5, {"sqrt": 1}),
    "square": (lambda x, y: ops.square(x), {"multiply": 1}),
    "reciprocal": (lambda x, y: ops.reciprocal(x), {"divide": 1}),
    "maximum of one": (lambda x, y: ops.maximum(x, x), {}),
    "minimum of one": (lambda x, y: ops.minimum(x, x), {}),
    "where alike": (lambda x, y: ops.where(x > y, x, x), {}),
    "where True": (lambda x, y: ops.where(True, x, y), {}),
    "where False": (lambda x, y: ops.where(False, x, y), {}),
    "x + y, y + x": (lambda x, y: [x + y, y + x], {"add": 1}),
    "x * y, y * x": (lambda x, y: [x * y, y * x], {"multiply": 1}),
    "x - y, y - x": (lambda x, y: [x - y, y - x], {"subtract": 2}),
    "sin twice": (lambda x, y: ops.arctan(x) + ops.arctan(x), {"arctan": 1, "multiply": 1}),
    "unused": (lambda x, y: [ops.tanh(y), x + 1][1], {"add": 1}),
    "literals": (lambda x, y: x + ops.sin(ops.exp(np.float32(2.0)) * 0.5), {"add": 1}),
    "cast to its own": (lambda x, y: ops.astype(x, x.dtype), {}),
}


def same_bits(found, expected):
    """Equal, NaN and infinity for NaN and infinity, and -0.0 for -0.0."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert_same(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", IDENTITIES)
def test_identities(name, dtype):
    f, left = IDENTITIES[name]
    with np.errstate(all="ignore"):
        x, y = X.astype(dtype), Y.astype(dtype)
        compiled, program = compiled_for(f, x, y)
        assert counts(program.ir) == left
        found, expected = compiled(x, y), f(x, y)
        if not isinstance(expected, list):
            found, expected = [found], [expected]
        for one, other in zip(found, expected, strict=True):
            if "**" in name and name not in ("x**1", "x**2", "x**2.0", "x**-1"):
                np.testing.assert_allclose(one, other, rtol=8 * np.finfo(dtype).eps)
            else:
                same_bits(one, other)


COMPARISONS = {
    "greater": {"greater": 1},
    "greater_equal": {"greater": 1},
    "less": {"multiply": 1, "less_equal": 1},
    "less_equal": {"multiply": 1, "less_equal": 1},
}


@takes_long
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", COMPARISONS)
def test_roots_are_compared_without_roots(name, dtype):
    """Of numbers just above and below the one that decides, and of any other: as roots compare."""
    compare, is_of_squares = getattr(ops, name), name.startswith("less")
    rng = np.random.default_rng(0)
    for number in [1e-5, 1.0, 2.0, 3.0, 0.1, *np.exp(rng.uniform(-30, 30, 30))]:
        most = dtype(number)
        near = most if is_of_squares else most * most
        around = [near]
        for _ in range(6):
            around = [np.nextafter(around[0], dtype(0)), *around, np.nextafter(around[-1], dtype(np.inf))]
        x = np.concatenate([np.array(around, dtype), SPECIAL.astype(dtype)])

        def f(x, most=most):
            return compare(ops.sqrt(x * x if is_of_squares else x), most)

        compiled, program = compiled_for(f, x)
        assert counts(program.ir) == COMPARISONS[name]
        assert_same(compiled(x), compare(np.sqrt(x * x if is_of_squares else x), most))


@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda x: ops.sqrt(x) < 2.0, {"sqrt": 1, "less": 1}),  # NaN if x is negative
        (lambda x: ops.sqrt(x * 3.0) <= 2.0, {"multiply": 1, "sqrt": 1, "less_equal": 1}),
        (lambda x: ops.sqrt(x) > 1e-200, {"sqrt": 1, "greater": 1}),  # whose square is 0
        (lambda x: ops.sqrt(x) > 1e200, {"sqrt": 1, "greater": 1}),
        (lambda x: ops.sqrt(x) > -1.0, {"sqrt": 1, "greater": 1}),
        (lambda x: ops.sqrt(x) > 0.0, {"sqrt": 1, "greater": 1}),
        (lambda x: ops.sqrt(x) > np.inf, {"sqrt": 1, "greater": 1}),
        (lambda x: ops.sqrt(x) > np.nan, {"sqrt": 1, "greater": 1}),
        (lambda x: ops.sqrt(x) > x, {"sqrt": 1, "greater": 1}),
        (
            lambda x: ops.sqrt(np.sum(x * x) + x * x) <= 2.0,
            {"multiply": 1, "fold": 1, "add": 1, "less_equal": 1},
        ),
    ],
)  # fmt: skip
def test_roots_are_compared_where_that_is_not_sure_to_be_the_same(f, left):
    x = np.abs(X[:, 0])
    with np.errstate(all="ignore"):
        compiled, program = compiled_for(f, x)
        assert counts(program.ir) == left
        assert_same(compiled(x), f(x))


# The function of arrays of 33, the instructions that are left, and FLOPs: on the smaller array if it can be.
OF_A_ROW = {
    "x / row": (lambda x, y: x / y[0], {"divide": 1, "multiply": 1}, 36),
    "x / column": (lambda x, y: x / y[:, :1], {"divide": 1, "multiply": 1}, 44),
    "x / one": (lambda x, y: x / y[0, 0], {"divide": 1, "multiply": 1}, 34),
    "row / x": (lambda x, y: y[0] / x, {"divide": 1}, 33),
    "-x / row": (lambda x, y: -x / y[0], {"divide": 1, "negative": 1, "multiply": 1}, 39),
    "-x * row": (lambda x, y: -x * y[0], {"negative": 1, "multiply": 1}, 36),
    "-row * x": (lambda x, y: -y[0] * x, {"negative": 1, "multiply": 1}, 36),
    "-(x * row)": (lambda x, y: -(x * y[0]), {"negative": 1, "multiply": 1}, 36),
    "-(x * y)": (lambda x, y: -(x * y), {"negative": 1, "multiply": 1}, 66),
    "row * ones": (lambda x, y: y[0] * np.ones_like(x), {}, 0),
    "row + zeros": (lambda x, y: y[0] + np.zeros_like(x), {"add": 1}, 3),
    "row - zeros": (lambda x, y: y[0] - np.zeros_like(x), {}, 0),
    "-zeros - row": (lambda x, y: -np.zeros_like(x) - y[0], {"negative": 1}, 3),
    "0.5 * x * 0.5": (lambda x, y: 0.5 * x * 0.5, {"multiply": 1}, 33),
    "0.5 * x * 4": (lambda x, y: 0.5 * x * 4, {"multiply": 2}, 66),
    "2 * x * 3 * row": (lambda x, y: 2 * x * 3 * y[0], {"multiply": 2}, 66),
    "x / 2 / 4": (lambda x, y: x / 2 / 4, {"multiply": 1}, 33),
    "x * 3 / 2": (lambda x, y: x * 3 / 2, {"multiply": 2}, 66),
    "2 * -x": (lambda x, y: 2 * -x, {"multiply": 1}, 33),
    "-x * 2": (lambda x, y: -x * 2, {"multiply": 1}, 33),
    "-(2 * x)": (lambda x, y: -(2 * x), {"multiply": 1}, 33),
    "x**-2": (lambda x, y: x**-2, {"power": 1}, 33),
    "x**0": (lambda x, y: x**0, {"power": 1}, 33),
    "x**0.5 of one": (lambda x, y: x[0, 0] ** 0.5, {"power": 1}, 1),
    "and": (lambda x, y: ops.logical_and(x > y, x > y), {"greater": 1}, 33),
    "or": (lambda x, y: ops.logical_or(x > y, x > y), {"greater": 1}, 33),
    "xor": (lambda x, y: ops.logical_xor(x > y, x > y), {"greater": 1, "logical_xor": 1}, 66),
}


@pytest.mark.parametrize("name", OF_A_ROW)
def test_identities_of_arrays_and_rows(name):
    f, left, flops = OF_A_ROW[name]
    x, y = np.random.default_rng(0).uniform(0.5, 2.0, size=(2, 11, 3))
    compiled, program = compiled_for(f, x, y)
    assert counts(program.ir) == left
    assert program.explain().flops == flops
    assert_close(compiled(x, y), f(x, y), 4e-16)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, bool])
@pytest.mark.parametrize("name", [
    name for name in IDENTITIES
    if not any(word in name for word in ("-", "+", "**", "cast", "literals"))
])  # fmt: skip
def test_identities_of_integers(name, dtype):
    """What holds for floats need not hold for integers, whose arithmetic wraps, nor for bools."""
    f = IDENTITIES[name][0]
    x, y = (np.array([0, 1, 2, 127, 128, 255]).astype(dtype) for _ in range(2))
    compiled, _ = compiled_for(f, x, y)
    found, expected = compiled(x, y), f(x, y)
    for one, other in zip(*(a if isinstance(a, list) else [a] for a in (found, expected)), strict=True):
        assert_same(one, other)


def test_no_instruction_is_true_or_false():
    x = Builder().input((), np.dtype(float))
    for condition in (x, x > 0, x == x):
        with pytest.raises(TypeError, match="no instruction is true or false"):
            bool(condition)


INTEGER_ARITHMETIC = {
    "x + 0": lambda x: x + 0,
    "0 - x": lambda x: 0 - x,
    "-(-x)": lambda x: ops.negative(-x),
    "x - -x": lambda x: x - -x,
    "-x + x": lambda x: -x + x,
    "-(x - 3)": lambda x: -(x - 3),
    "-x * x": lambda x: -x * x,
    "-x / 2": lambda x: -x / 2,
    "x / -x": lambda x: x / -x,
    "x**2": lambda x: x**2,
    "x**3": lambda x: x**3,
    "square": lambda x: ops.square(x),
    "x * 1.0": lambda x: x * 1.0,
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8, np.uint32])
@pytest.mark.parametrize("name", INTEGER_ARITHMETIC)
def test_arithmetic_of_integers_wraps_as_ever(name, dtype):
    f, info = INTEGER_ARITHMETIC[name], np.iinfo(dtype)
    x = np.array([0, 1, 2, 3, 100, info.max, info.max - 1, info.min, info.min + 1], dtype)
    with np.errstate(all="ignore"):
        compiled, _ = compiled_for(f, x)
        assert_same(compiled(x), f(x))


@pytest.mark.parametrize(("f", "x"), [
    (lambda x: x * 1e-200 * 1e-200, 1e300),
    (lambda x: 1e200 * (x * 1e200), 1e-300),
    (lambda x: -(x * 1e-200) * 1e-200, 1e300),
    (lambda x: x * np.float32(1e-30) * np.float32(1e-30), np.float32(1e30)),
    (lambda x: x / np.float32(2**-140), np.float32(2**-130)),
    (lambda x: 1e-30 * (1e-30 * (x @ x)), np.float32(1e18)),
], ids=["underflow", "overflow", "negated", "float32", "division", "product"])  # fmt: skip
def test_factors_are_joined_only_where_their_product_is_a_number(f, x):
    """Nothing overflows or underflows, and nobody is warned, that does not in eager."""
    x = np.full((2, 2), x)
    compiled, _ = compiled_for(f, x)
    np.testing.assert_allclose(compiled(x), f(x), rtol=8 * np.finfo(x.dtype).eps, atol=0)


# ---- views and sums ------------------------------------------------------------------------------

VIEWS = {
    "transpose twice": (lambda x: ops.transpose(ops.transpose(x, (1, 2, 0)), (2, 0, 1)), {}, 0),
    "transposes join": (lambda x: ops.transpose(ops.transpose(x, (1, 2, 0)), (1, 0, 2)), {}, 1),
    "reshapes join": (lambda x: ops.reshape(ops.reshape(ops.reshape(x, (6, 4)), (24,)), (4, 6)), {}, 1),
    "reshape back": (lambda x: ops.reshape(ops.reshape(x, (6, 4)), (2, 3, 4)), {}, 0),
    "broadcasts join": (
        lambda x: ops.broadcast_to(ops.broadcast_to(x, (5, 2, 3, 4)), (6, 5, 2, 3, 4)), {}, 1),
    "broadcast to its own": (lambda x: ops.broadcast_to(x, x.shape), {}, 0),
    "all of it": (lambda x: x[:, ::1, 0:4], {}, 0),
    "squeeze of expand_dims": (lambda x: ops.squeeze(ops.expand_dims(x, 1), 1), {}, 0),
    "axes of length one move": (lambda x: ops.transpose(ops.expand_dims(x, 0), (1, 0, 2, 3)), {}, 1),
    "sum of broadcast": (
        lambda x: ops.sum(ops.broadcast_to(x, (5, 2, 3, 4)), 0), {"multiply": 1, "add": 1}, None),
    "sum of broadcast and more": (
        lambda x: ops.sum(ops.broadcast_to(x, (5, 2, 3, 4)), (0, 1)), {"fold": 1, "multiply": 1}, None),
    "sum over an axis of one": (lambda x: ops.sum(ops.expand_dims(x, 0), 0), {"add": 1}, None),
    "sum of all axes is one fold": (lambda x: ops.sum(x), {"fold": 1}, None),
    "sum of a product": (lambda x: ops.sum(ops.arctan(x) * x), {"arctan": 1, "sum_product": 1}, None),
    "elementwise on the smaller": (
        lambda x: ops.sum(ops.arctan(ops.broadcast_to(x, (50, 2, 3, 4))), 0),
        {"arctan": 1, "multiply": 1, "add": 1}, None),
    "one array joined": (lambda x: ops.concatenate([x, x[:0]]), {}, None),
    "number spread and cut": (lambda x: ops.broadcast_to(2.0 * ops.sum(x), (7, 7))[1:3, ::2] * 1.0,
                              {"fold": 1, "multiply": 1}, None),
    "x @ y.T": (lambda x: x[0] @ ops.transpose(x[1]), {"matmul": 1}, None),
    "scaled product": (lambda x: 2.0 * (x[0] @ ops.transpose(x[1])), {"matmul": 1}, None),
    "negative product": (lambda x: -(x[0] @ ops.transpose(x[1])), {"matmul": 1}, None),
    "sum of products": (lambda x: x[0] @ x[1].T + x[1] @ x[0].T, {"matmul": 1, "matmul_add": 1}, None),
    "difference of products": (lambda x: x[0] @ x[1].T - x[1] @ x[0].T, {"matmul": 1, "matmul_add": 1}, None),
    "stack times matrix is one product": (lambda x: x @ ops.transpose(x[0]), {"matmul": 1}, None),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", VIEWS)
def test_views_and_sums(name, dtype):
    """What is left besides views, how many views, and results."""
    f, left, views = VIEWS[name]
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(dtype)
    compiled, program = compiled_for(f, x)
    assert counts(program.ir) == left
    if views is not None:
        assert len(program.ir.instructions) == 1 + views
    found, expected = compiled(x), f(x)
    assert found.dtype == expected.dtype
    assert_close(found, expected, 64 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", [name for name in VIEWS if VIEWS[name][2] is not None])
def test_views_cost_no_more_than_one_copy(name):
    f = VIEWS[name][0]
    assert len(program_of(f, np.ones((2, 3, 4)))) <= 1


def test_products_that_are_used_twice_are_not_taken_in():
    def f(x):
        product = x @ x
        return [product, 2.0 * product, product + x]

    x = np.random.default_rng(0).normal(size=(4, 4))
    compiled, program = compiled_for(f, x)
    assert counts(program.ir)["matmul"] == 1
    for one, other in zip(compiled(x), f(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_with_nan_and_infinity():
    """A product taken in by a sum does not lose what 0 * NaN is."""
    a = np.array([[NAN, 1.0], [INF, 0.0]])
    for f in (lambda a: 0.0 * (a @ a), lambda a: a + a @ a, lambda a: -(a @ np.eye(2)), lambda a: a - a @ a):
        compiled, _ = compiled_for(f, a)
        np.testing.assert_array_equal(compiled(a), f(a))


def test_sums_of_no_elements():
    for f in (
        lambda x: ops.sum(ops.broadcast_to(x, (0, 3)), 0),
        lambda x: ops.sum(ops.broadcast_to(x, (0, 3))),
        lambda x: ops.sum(ops.broadcast_to(x * INF, (0, 3)), 0),
    ):
        compiled, _ = compiled_for(f, np.ones(3))
        assert_same(compiled(np.ones(3)), f(np.ones(3)))


NO_ELEMENTS = {
    "flip": lambda x: np.flip(x) * x,
    "flip and transpose": lambda x: np.flip(x.T).T * x,
    "rot90": lambda x: np.rot90(x) * x.T,
    "one and two": lambda x: x[1:] * x[:-1],
    "every other": lambda x: x[1::2] * x[1::2],
    "backwards by two": lambda x: x[::-2] * x[::-2],
    "split": lambda x: np.multiply(*np.split(x, 2)),
    "unstack": lambda x: np.multiply(*np.unstack(x)[1:3]),
    "reshaped": lambda x: x[1:].reshape(5, 0) * x[:3].reshape(5, 0),
    "none of some": lambda x: (x + np.ones((2, 4, 1)))[1:, :0],
    "joined": lambda x: np.concatenate([x[2:], x[1:]]) * 2.0,
}


@pytest.mark.parametrize("name", NO_ELEMENTS)
def test_views_of_no_elements(name):
    """Wherever the first of them would be, nothing outside of the memory is asked for."""
    x = np.zeros((4, 0))
    for f in (
        NO_ELEMENTS[name],
        lambda x: np.sum(NO_ELEMENTS[name](x)),
        lambda x: np.prod(NO_ELEMENTS[name](x), axis=-1),
        tape.grad(lambda x: np.sum(NO_ELEMENTS[name](x))),
    ):
        compiled, _ = compiled_for(f, x)
        assert_same(compiled(x), f(x))


@pytest.mark.parametrize("kind", ["max", "min", "nanmax", "nanmin"])
def test_extremes_of_no_elements_are_the_initial_value(kind):
    def f(x):
        return getattr(np, kind)(x, axis=1, initial=2.0)

    for shape in ((2, 0), (2, 0, 3), (0, 2), (0, 0)):
        compiled, _ = compiled_for(f, np.zeros(shape))
        assert_same(compiled(np.zeros(shape)), f(np.zeros(shape)))


def test_sums_of_what_is_repeated_along_some_of_the_axes_of_length_one():
    """Nothing is left to make smaller along an axis of length one that stays so."""
    x, counts = np.arange(12.0).reshape(3, 4, 1), np.array([[True], [False], [True], [True]])
    for f, arg in (
        (lambda counts: np.std(x, axis=(2, -2), where=counts), counts),
        (lambda y: ops.sum(ops.broadcast_to(y, (3, 4, 1)), (1, 2)), x[0]),
        (lambda y: ops.sum(ops.broadcast_to(y, (3, 4, 1)), (0, 2)), x[0]),
    ):
        compiled, _ = compiled_for(f, arg)
        assert_close(compiled(arg), f(arg), 1e-14)


# ---- Jacobian times vector, by two reverse sweeps ------------------------------------------------


def rop_by_lops(f):
    """The derivative of ``f`` along ``v``: the pullback is linear in ``w``, whatever that is."""

    def rop(x, v, w):
        (along,) = tape.vjp(lambda w: tape.vjp(f, x)[1](w)[0], w)[1](v)
        return along

    return rop


def rop_direct(f):
    return lambda x, v: tape.jvp(f, (x,), (v,))[1]


A = np.random.default_rng(0).normal(size=(5, 3))
LAYERS = [np.random.default_rng(k).normal(size=shape) for k, shape in enumerate([(5, 8), (8, 8), (8, 2)])]


def network(x):
    for layer in LAYERS[:-1]:
        x = np.tanh(x @ layer)
    return x @ LAYERS[-1]


@pytest.mark.parametrize(("f", "size"), [
    (lambda x: np.sin(np.sin(np.sin(x))), 3),
    (lambda x: np.tanh(x @ A), 5),
    (network, 5),
], ids=["sin sin sin", "tanh(x @ A)", "network of three layers"])  # fmt: skip
def test_rop_by_two_lops_is_no_longer_than_the_jvp(f, size):
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=(2, size))
    w = rng.normal(size=np.shape(f(x)))
    by_lops, direct = program_of(rop_by_lops(f), x, v, w), program_of(rop_direct(f), x, v)
    assert by_lops.plan.inputs[2] is None
    assert len(by_lops.ir.instructions) <= len(direct.ir.instructions)
    assert len(by_lops) <= len(direct)
    compiled, _ = compiled_for(rop_by_lops(f), x, v, w)
    expected = rop_direct(f)(x, v)
    np.testing.assert_allclose(compiled(x, v, w), expected, rtol=1e-12)
    np.testing.assert_array_equal(compiled(x, v, np.full_like(w, NAN)), compiled(x, v, w))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("f", "factor"),
    [(lambda x: -x, -1.0), (lambda x: x + x, 2.0), (lambda x: 0.5 * x, 0.5), (lambda x: -2.0 * x, -2.0)],
)
def test_signs_and_powers_of_two_leave_sums(dtype, f, factor):
    """What is summed is not changed first, with the same bits; a sum of zeros is 0.0 all the same."""
    x = np.random.default_rng(0).normal(size=(7, 9)).astype(dtype)
    program = program_of(lambda x: ops.sum(f(x), 1), x)
    (fold,) = [instruction for instruction in program.ir.instructions if instruction.op == "fold"]
    assert program.ir.instructions[fold.operands[0]].op == "input"
    plain = program_of(lambda x: ops.sum(x, 1), x)
    np.testing.assert_array_equal(program(x), factor * plain(x))
    zeros = np.zeros_like(x)
    assert np.signbit(program(zeros)).tolist() == np.signbit(np.sum(f(zeros), 1)).tolist()


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_for_each_row_join_a_product_before_it_is_reshaped(sign):
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(6, 4)), rng.normal(size=(4, 5)), rng.normal(size=(2, 3, 1))

    def f(a, b, c):
        return ops.reshape(a @ b, (2, 3, 5)) + sign * c

    compiled, program = compiled_for(f, a, b, c)
    assert counts(program.ir).get("matmul_add") == 1
    assert not {"add", "subtract"} & counts(program.ir).keys()
    np.testing.assert_allclose(compiled(a, b, c), f(a, b, c), rtol=1e-14)
    half = c[:1]  # of a part of the rows
    np.testing.assert_allclose(tape.compile(f)(a, b, half), f(a, b, half), rtol=1e-14)
