"""Programs that round as NumPy does: equal to the last bit, for any sizes, layouts and numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import errors, ops
from tape.kernels.reduce import sum_to_shape
from tape.ops.reduction.softmax import softmax_shares as shares_along
from tape.program.ir.rounding import is_exact, is_view, require_order
from tape.program.program import Program
from tape.program.record.recording import record
from tests.tiers import rounds, takes_long

DTYPES = [np.float64, np.float32]


def program_of(f, *args):
    return Program(record(f, args, {}, "f"), as_numpy=True)


def assert_same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])


def numbers(rng, shape, dtype):
    """Of sizes that differ: another order of additions shows in the last digits."""
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)


def on_other_numbers(f, *shapes, dtype, seed, times=3):
    rng = np.random.default_rng(seed)
    with np.errstate(invalid="ignore"):  # single precision: BLAS may compute with what lies behind a matrix
        program = program_of(f, *[numbers(rng, shape, dtype) for shape in shapes])
        for _ in range(times):
            args = [numbers(rng, shape, dtype) for shape in shapes]
            assert_same(program(*args), f(*args))
    return program


LENGTHS = st.one_of(st.integers(1, 9), st.sampled_from([16, 31, 64, 127, 128, 129, 300]))
SHAPES = st.lists(LENGTHS, min_size=1, max_size=3).map(tuple)


@settings(max_examples=rounds(60))
@given(SHAPES, st.data(), st.sampled_from(DTYPES), st.integers(0, 999))
def test_sums_add_in_the_order_of_numpy(shape, data, dtype, seed):
    first = data.draw(st.integers(0, len(shape) - 1))
    last = data.draw(st.integers(first, len(shape) - 1))
    axes = tuple(range(first, last + 1))
    program = on_other_numbers(lambda x: ops.sum(x * x, axis=axes), shape, dtype=dtype, seed=seed)
    assert not program.ir.callbacks


@settings(max_examples=rounds(60))
@given(SHAPES, st.data(), st.sampled_from(DTYPES), st.integers(0, 999))
def test_broadcasting_is_undone_in_the_order_of_numpy(shape, data, dtype, seed):
    kept = [length if data.draw(st.booleans()) else 1 for length in shape]
    target = tuple(kept[data.draw(st.integers(0, len(shape) - 1)) :])
    x = numbers(np.random.default_rng(seed), shape, dtype)
    lead = x.ndim - len(target)
    axes = tuple(k for k in range(x.ndim) if k < lead or (target[k - lead] == 1 != shape[k]))
    runs = "".join("x" if k in axes else " " for k in range(x.ndim)).split()
    if len(runs) == 1:  # several runs are summed one after the other
        assert_same(sum_to_shape(x, target), np.add.reduce(x, axis=axes).reshape(target))


def test_a_single_column_is_added_up_pairwise():
    x = numbers(np.random.default_rng(0), (16, 1), np.float64)
    assert_same(sum_to_shape(x, (1,)), np.add.reduce(x, axis=0))


LAYOUTS = {
    "as they are": lambda a, b: a @ b,
    "both transposed": lambda a, b: a.T @ b.T,
    "left transposed": lambda a, b: a.T @ b,
    "right transposed": lambda a, b: a @ b.T,
    "with itself": lambda a, b: (a @ a.T) @ (b @ b.T),
    "its transpose with itself": lambda a, b: a.T @ a,
    "the first of a stack": lambda a, b: np.stack([a, a])[0] @ b,
}
TRANSPOSED = {
    "both transposed": (True, True),
    "left transposed": (True, False),
    "right transposed": (False, True),
}


@settings(max_examples=rounds(80))
@given(
    LENGTHS, LENGTHS, LENGTHS, st.sampled_from(sorted(LAYOUTS)), st.sampled_from(DTYPES), st.integers(0, 999)
)
def test_products_are_those_of_numpy(m, k, n, layout, dtype, seed):
    a, b = TRANSPOSED.get(layout, (False, False))
    if layout == "with itself":
        n, k = k, m
    shapes = [(k, m) if a else (m, k), (n, k) if b else (k, n)]
    program = on_other_numbers(LAYOUTS[layout], *shapes, dtype=dtype, seed=seed)
    assert not program.ir.callbacks


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shapes", [((4, 3, 5), (5, 6)), ((4, 3, 5), (4, 5, 6)), ((3, 5), (4, 5, 6)), ((1, 3, 5), (4, 5, 1))]
)
def test_products_of_stacks(shapes, dtype):
    on_other_numbers(np.matmul, *shapes, dtype=dtype, seed=0)


RULES = {
    "scales that would move into products": lambda x, w: (2.5 * x) @ (w * 0.3) * 0.7,
    "scales one after the other": lambda x, w: x * 0.1 * 0.7 * w[0, 0],
    "quotients by few": lambda x, w: x / w[0],
    "sums of products": lambda x, w: ops.sum(x * x) + ops.sum(w * w, axis=0),
    "products added up": lambda x, w: x @ w + x @ w.T - w @ x,
    "sums of what is broadcast": lambda x, w: ops.sum(ops.broadcast_to(w[0], x.shape), axis=0),
    "axes apart": lambda x, w: ops.sum(ops.reshape(x, (2, 4, 8)), axis=(0, 2)),
    "squares and roots": lambda x, w: np.square(x) + np.sqrt(abs(w)) / np.reciprocal(x),
    "means": lambda x, w: ops.mean(x, axis=1) * ops.mean(w),
    "views that are summed": lambda x, w: ops.sum(x[:, ::2], axis=1) + ops.sum(w.T, axis=0),
    "functions": lambda x, w: np.exp(-(x * x)) + np.sin(w) * np.log(abs(w)) + np.tanh(x),
    "functions of all sizes": lambda x, w: (
        np.log1p(np.square(x[:3, :1])) + np.arctan(w[:1, 3:]) * np.expm1(-abs(x[0, 0]))
    ),
    "products of parts": lambda x, w: x[:, ::2] @ w[::2] + x[::-1] @ w[:, ::-1] + x.T[1:].T @ w[1:, :8],
    "products of stacks of parts": lambda x, w: ops.reshape(x, (2, 4, 8))[:, ::2].swapaxes(0, 1) @ w,
    "rules of activations": lambda x, w: tape.grad(
        lambda x: ops.sum(ops.relu(x) * w) + ops.sum(np.tanh(x) / w) + ops.sum(ops.sigmoid(x) * w)
    )(x),
    "scattered": lambda x, w: ops.sum(x[np.array([1, 1, 2])] @ w, axis=0),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RULES)
def test_nothing_is_rewritten_that_rounds_otherwise(name, dtype):
    on_other_numbers(RULES[name], (8, 8), (8, 8), dtype=dtype, seed=1, times=rounds(10))


@settings(max_examples=rounds(60))
@given(LENGTHS, LENGTHS, LENGTHS, st.booleans(), st.booleans(), st.sampled_from(DTYPES), st.integers(0, 999))
def test_the_shorter_call_of_a_product_rounds_alike(m, k, n, a, b, dtype, seed):
    rng = np.random.default_rng(seed)
    x = numbers(rng, (k, m), dtype).T if a else numbers(rng, (m, k), dtype)
    y = numbers(rng, (n, k), dtype).T if b else numbers(rng, (k, n), dtype)
    assert_same(ops.matmul(x, y), np.matmul(x, y))
    assert_same(ops.matmul(x, x.T), np.matmul(x, x.T))


def test_special_numbers():
    x = np.array([[0.0, -0.0, np.inf], [-0.0, -0.0, 1.0], [np.nan, 1e308, 1e308]])
    program = program_of(lambda x: (ops.sum(x, axis=0), x @ x, x - x, x * -0.0), np.ones((3, 3)))
    with np.errstate(all="ignore"):
        for found, expected in zip(program(x), (np.sum(x, axis=0), x @ x, x - x, x * -0.0), strict=True):
            assert_same(found, expected)


@settings(max_examples=rounds(60))
@given(
    LENGTHS,
    st.sampled_from(["arctan", "cos", "exp", "expm1", "log", "log1p", "sin", "tan", "tanh"]),
    st.sampled_from(DTYPES),
)
def test_functions_of_any_number_of_elements(length, name, dtype):
    def f(x):
        return getattr(np, name)(abs(x) % 20)

    on_other_numbers(f, (length,), dtype=dtype, seed=length)
    on_other_numbers(lambda x: f(x[:, ::2]) + f(x[0, 0]), (8, 8), dtype=dtype, seed=length)


def with_ties(rng, shape, dtype):
    """Few different numbers, zeros of both signs, infinities and NaN among them."""
    few = np.array([0.0, -0.0, 1.0, -1.0, 2.5, 0.1, np.inf, -np.inf, np.nan])
    rarely = [0.2, 0.2, 0.2, 0.15, 0.15, 0.06, 0.02, 0.01, 0.01]
    return rng.choice(few, shape, p=rarely).astype(dtype)


@takes_long
@settings(max_examples=rounds(60))
@given(SHAPES, st.data(), st.sampled_from(DTYPES), st.sampled_from(["max", "min"]), st.integers(0, 999))
def test_of_zeros_of_both_signs_the_one_is_largest_that_numpy_finds(shape, data, dtype, name, seed):
    first = data.draw(st.integers(0, len(shape) - 1))
    axes = tuple(range(first, data.draw(st.integers(first, len(shape) - 1)) + 1))

    def f(x):
        return getattr(ops, name)(x * x.dtype.type(1), axis=axes)

    rng = np.random.default_rng(seed)
    program = program_of(f, numbers(rng, shape, dtype))
    assert not program.ir.callbacks
    for _ in range(3):
        x = with_ties(rng, shape, dtype)
        with np.errstate(invalid="ignore"):
            assert_same(program(x), f(x))


@settings(max_examples=rounds(40))
@given(
    st.tuples(LENGTHS, LENGTHS),
    st.integers(-1, 1),
    st.booleans(),
    st.sampled_from(DTYPES),
    st.integers(0, 999),
)
def test_running_sums_are_those_of_numpy(shape, axis, backwards, dtype, seed):
    def f(x):
        return (ops.flip(ops.cumsum(x, axis=axis), axis) if backwards else ops.cumsum(x, axis=axis)) * 1

    def gradient(x, w):
        return tape.grad(lambda x: ops.sum(ops.cumsum(x, axis=axis) * w))(x)

    program = on_other_numbers(gradient, shape, shape, dtype=dtype, seed=seed)
    assert not program.ir.callbacks
    if not backwards:
        assert not on_other_numbers(f, shape, dtype=dtype, seed=seed).ir.callbacks


@settings(max_examples=rounds(40))
@given(st.tuples(LENGTHS, LENGTHS), st.integers(0, 1), st.sampled_from(DTYPES), st.integers(0, 999))
def test_the_order_of_elements_is_that_of_numpy(shape, axis, dtype, seed):
    """Of equal elements, too, and what several positions of an array have added to one element."""

    def f(x, w):
        order = ops.argsort(x, axis=axis, kind="stable")
        half = order // 2  # each position twice
        return tape.grad(lambda w: ops.sum(np.take_along_axis(w, half, axis) * w))(w), order

    rng = np.random.default_rng(seed)
    program = program_of(f, numbers(rng, shape, dtype), numbers(rng, shape, dtype))
    for _ in range(3):
        x, w = with_ties(rng, shape, dtype), numbers(rng, shape, dtype)
        for found, expected in zip(program(x, w), f(x, w), strict=True):
            assert_same(found, expected)


@settings(max_examples=rounds(40))
@given(SHAPES, st.data(), st.sampled_from(DTYPES), st.integers(0, 999))
def test_shares_of_exponentials_are_those_of_numpy(shape, data, dtype, seed):
    axis = data.draw(st.integers(0, len(shape) - 1))

    def f(x):
        return tape.grad(lambda x: ops.sum(ops.logsumexp(x, axis=axis)))(x)

    rng = np.random.default_rng(seed)
    program = program_of(f, numbers(rng, shape, dtype))
    for x in (numbers(rng, shape, dtype), with_ties(rng, shape, dtype), np.full(shape, -np.inf, dtype)):
        with np.errstate(all="ignore"):
            assert_same(program(x), f(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "subscripts", ["ij,ij->ij", "i,j->ij", "i,ij->ij", "ij,j->ij", ",ij->ij", "ij,k->ijk"]
)
def test_outer_products_are_those_of_numpy(subscripts, dtype):
    lengths = {"i": 5, "j": 7, "k": 3}
    terms = subscripts.split("->")[0].split(",")
    shapes = [tuple(lengths[label] for label in term) for term in terms]
    program = on_other_numbers(lambda x, y: np.einsum(subscripts, x, y), *shapes, dtype=dtype, seed=0)
    assert not program.ir.callbacks


def test_what_lies_otherwise_than_in_numpy_is_refused():
    with pytest.raises(errors.UnsupportedError, match="not in C order"):
        program_of(lambda x: ops.sum(x.T * x.T, axis=0), np.ones((3, 4)))
    with pytest.raises(errors.UnsupportedError, match="not in C order"):  # as NumPy makes it
        program_of(lambda x: ops.sum(x[:, np.array([0, 2])], axis=0), np.ones((3, 4)))


@pytest.mark.parametrize("x", [1.5, np.ones(3, np.float32)])
def test_powers_are_left_to_python(x):
    with pytest.raises(errors.UnsupportedError, match="Python"):
        program_of(lambda x, y: x**y, x, 2.5)


def test_elements_that_may_be_named_twice_are_not_added_to():
    def f(x):
        return tape.grad(lambda y: np.sum(y[np.array([0, 0, 1])] ** 2) + np.sum(y * y))(x)

    with pytest.raises(errors.UnsupportedError, match="another order"):
        program_of(f, np.ones(3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8])
def test_any_number_of_decimals(dtype):
    """Powers of ten beyond 64 bits too, which NumPy multiplies up one by one."""
    x = np.array(
        [5.1, 149, 150, 250, 7.77e-21] if np.dtype(dtype).kind == "f" else [5, 149, 150, 250]
    ).astype(dtype)
    x = np.append(x, [1e25, 3e20, 1e300]) if dtype == np.float64 else x
    with np.errstate(all="ignore"):
        for decimals in (1, 2, 5, 19, 20, 64, 300, 308, -1, -2, -5, -19, -20, -25, -64, -300, -308):
            compiled = tape.compile(lambda x, decimals=decimals: np.round(x, decimals))
            for _ in range(2):
                found = compiled(x)
                assert found.dtype == dtype
                np.testing.assert_array_equal(found, np.round(x, decimals))


def softmax_shares(x):
    return shares_along(x, axis=(0,))


SQUARE, STACK = np.arange(16.0).reshape(4, 4) + 1, np.arange(24.0).reshape(2, 3, 4) + 1
NODES = {
    # an operation, its operands, whether a program computes it to the last bit, and whether it is a view
    "add": (ops.add, [SQUARE, SQUARE.T], True, False),
    "square root": (ops.sqrt, [SQUARE.T], True, False),
    "power": (ops.power, [SQUARE, 2.5], False, False),
    "exp": (ops.exp, [SQUARE], True, False),
    "exp of a number": (ops.exp, [SQUARE[0, 0]], False, False),
    "exp of one element": (ops.exp, [SQUARE[:1, :1].copy()], False, False),
    "exp in another order": (ops.exp, [SQUARE.T], False, False),
    "exp of parts": (ops.exp, [SQUARE[:, ::2]], False, False),
    "cosh": (ops.cosh, [SQUARE], False, False),
    "sum": (ops.sum, [SQUARE], True, False),
    "sum in another order": (ops.sum, [SQUARE.T], False, False),
    "sum of a number": (ops.sum, [SQUARE[0, 0]], True, False),
    "mean": (ops.mean, [SQUARE], True, False),
    "mean of integers": (ops.mean, [SQUARE.astype(int)], False, False),
    "sum of integers": (ops.sum, [SQUARE.astype(int)], True, False),
    "prod": (ops.prod, [SQUARE], False, False),
    "largest element": (ops.max, [SQUARE], True, False),
    "largest element in another order": (ops.max, [SQUARE.T], False, False),
    "running sum": (lambda x: ops.cumsum(x, axis=0), [SQUARE.T], True, False),
    "shares": (softmax_shares, [SQUARE], True, False),
    "shares in another order": (softmax_shares, [SQUARE.T], False, False),
    "shares of one element": (softmax_shares, [SQUARE[:1, :1].copy()], False, False),
    "shares of complex numbers": (softmax_shares, [SQUARE * 1j], False, False),
    "stable order": (lambda x: ops.argsort(x, axis=0, kind="stable"), [SQUARE], True, False),
    "some order": (lambda x: ops.argsort(x, axis=0), [SQUARE], False, False),
    "outer product": (lambda x: np.einsum("i,ij->ij", x[0], x), [SQUARE], True, False),
    "outer product of three": (lambda x: np.einsum("i,ij,j->ij", x[0], x, x[1]), [SQUARE], False, False),
    "outer complex product": (lambda x: np.einsum("i,ij->ij", x[0], x), [SQUARE * 1j], False, False),
    "product of a diagonal": (lambda x: np.einsum("ii,ij->ij", x, x), [SQUARE], False, False),
    "sum of products": (lambda x: np.einsum("ij,ij->i", x, x), [SQUARE], False, False),
    "product": (ops.matmul, [SQUARE, SQUARE], True, False),
    "product of a transpose": (ops.matmul, [SQUARE, SQUARE.T], True, False),
    "product of parts": (ops.matmul, [SQUARE[:, ::2], SQUARE[::2]], False, False),
    "product with parts": (ops.matmul, [SQUARE, SQUARE[:, ::2]], False, False),
    "product of a vector": (ops.matmul, [SQUARE, SQUARE[0]], False, False),
    "product of stacks": (ops.matmul, [STACK, STACK.swapaxes(1, 2)], True, False),
    "product of parts of stacks": (ops.matmul, [STACK[..., ::2], STACK[:, :2]], False, False),
    "product of turned stacks": (
        ops.matmul, [STACK.transpose(1, 0, 2)[:, :, :2], STACK[0, :2]], False, False),
    "product of larger stacks": (ops.matmul, [STACK[None], STACK.swapaxes(1, 2)], False, False),
    "transpose": (ops.transpose, [SQUARE], True, True),
    "reshape": (lambda x: ops.reshape(x, (2, 8)), [SQUARE], True, True),
    "slice": (lambda x: x[1:, ::2], [SQUARE], True, True),
    "index": (lambda x: x[np.array([1, 0])], [SQUARE], True, False),
    "where": (lambda x: ops.where(x > 3, x, 0.0), [SQUARE], True, False),
    "stack": (lambda x: ops.stack([x, x]), [SQUARE], True, False),
}  # fmt: skip


@pytest.mark.parametrize("name", NODES)
def test_which_operations_round_one_way_only(name):
    f, operands, exact, view = NODES[name]
    trace = tape.Trace()
    given = [trace.input(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in operands]
    node = f(*given).node
    assert (is_exact(node), is_view(node)) == (exact, view)


@pytest.mark.parametrize(
    ("f", "is_refused"),
    [
        (lambda x: ops.transpose(x), True), (lambda x: ops.exp(x), False),
        (lambda x: ops.power(x, 2.5), True),
        (lambda x: ops.add(ops.transpose(x), 1.0), True), (lambda x: ops.sum(ops.transpose(x)), False),
        (lambda x: x[:, ::2], True), (lambda x: ops.transpose(x[:1]), False),
    ],
)  # fmt: skip
def test_results_are_in_the_order_of_c(f, is_refused):
    trace = tape.Trace()
    node = f(trace.param(SQUARE)).node
    if is_refused:
        with pytest.raises(errors.UnsupportedError, match=r"not in C order|a power may be"):
            require_order(node)
    else:
        require_order(node)
