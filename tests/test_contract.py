"""Products take in what is scaled, transposed and joined around them, and read operands where they lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape import ops
from tape.program.ir import contract
from tests.naive_program import compiled_for, counts, run
from tests.oracles import assert_close


def normal(*shape, dtype=np.float64):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


def copies(program):
    return sum(instruction.op == "copy" for instruction in program.plan.instructions)


def scaled_both(x, y):
    s = 0.5 * x
    return s @ y + (s.T @ s)[:3, :3]


def scaled_and_read(x, y):
    s = 0.5 * x
    return s @ y + np.sum(s)


# What is left besides views, of x (3, 3) and y (3, 3).
LISTED = {
    "a factor scaled": (lambda x, y: (0.5 * x) @ y, {"matmul": 1}),
    "both scaled": (lambda x, y: (0.5 * x) @ (y * 3.0), {"matmul": 1}),
    "scaled and transposed": (lambda x, y: y @ np.transpose(0.5 * x), {"matmul": 1}),
    "scaled for two products": (scaled_both, {"matmul": 1, "matmul_add": 1}),
    "scaled for other readers": (scaled_and_read, {"multiply": 1, "matmul_add": 1, "fold": 1}),
    "scaled by much": (lambda x, y: (1e9 * x) @ y, {"multiply": 1, "matmul": 1}),
    "transposed product": (lambda x, y: np.transpose(x @ y), {"matmul": 1}),
    "transposed products": (lambda x, y: np.transpose(x @ np.transpose(y @ x)), {"matmul": 2}),
    "transposed and read": (lambda x, y: [np.transpose(x @ y), x @ y], {"matmul": 1}),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", LISTED)
def test_what_products_take_in(name, dtype):
    f, left = LISTED[name]
    x, y = normal(3, 3, dtype=dtype), normal(3, 3, dtype=dtype) + 1
    compiled, program = compiled_for(f, x, y)
    assert counts(program.ir) == left
    for found, expected in zip(*(np.atleast_3d(g(x, y)) for g in (compiled, f)), strict=True):
        assert_close(found, expected, 64 * np.finfo(dtype).eps)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_factor_scaled_by_zero_keeps_nan():
    x = np.array([[np.nan, 1.0], [np.inf, 0.0]])
    compiled, _ = compiled_for(lambda x: (0.0 * x) @ x, x)
    np.testing.assert_array_equal(compiled(x), (0.0 * x) @ x)


STACKS = {
    "heads": lambda x: x.reshape(2, 5, 3, 3, 4)[:, :, 1].transpose(0, 2, 1, 3),
    "backwards": lambda x: x.reshape(2, 5, 9, 4)[::-1, :, ::-3].transpose(0, 2, 1, 3),
    "repeated": lambda x: np.broadcast_to(x.reshape(2, 1, 45, 4)[:, :, :5], (2, 3, 5, 4)),
    "one": lambda x: x.reshape(18, 5, 4)[3:4],
    "in order": lambda x: x.reshape(2, 9, 5, 4)[:, :3],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("right", STACKS)
@pytest.mark.parametrize("left", STACKS)
def test_stacks_are_read_where_they_lie(left, right, dtype):
    """Parts of one array, of any strides, as they are and transposed; results where they are read."""
    x = normal(360, dtype=dtype)

    def f(x):
        a, b = STACKS[left](x), STACKS[right](x)
        product = np.matmul(a, ops.swapaxes(b, -1, -2))
        mixed = np.matmul(product, b)
        return ops.swapaxes(mixed, 0, -2) * 2.0, np.matmul(ops.swapaxes(a, -1, -2), b)

    compiled, program = compiled_for(f, x)
    assert not copies(program)
    for found, expected in zip(compiled(x), f(x), strict=True):
        assert_close(found, expected, 64 * np.finfo(dtype).eps)


def test_attention_copies_nothing():
    """Heads are read, and written, where they lie in the arrays around them."""
    x, w = normal(2, 5, 12), normal(12, 36)

    def loss(x, w):
        query, key, value = np.transpose((x @ w).reshape(2, 5, 3, 3, 4), (2, 0, 3, 1, 4))
        mixed = tape.nn.scaled_dot_product_attention(query, key, value)
        return np.sum(np.transpose(mixed, (0, 2, 1, 3)).reshape(2, 5, 12) ** 2)

    f = tape.value_and_grad(loss, argnums=1)
    compiled, program = compiled_for(f, x, w)
    assert not copies(program)
    assert counts(program.ir)["concatenate"] == 1
    assert "add_at" not in counts(program.ir)
    (value, found), (wanted, expected) = compiled(x, w), f(x, w)
    assert_close(value, wanted, 1e-13)
    assert_close(found, expected, 1e-12)


@pytest.mark.parametrize(
    ("cuts", "is_joined"),
    [
        ([np.s_[:2], np.s_[2:3], np.s_[3:]], True),
        ([np.s_[3:], np.s_[:3]], True),
        ([np.s_[:, 1:], np.s_[:, :1]], True),
        ([np.s_[:2], np.s_[1:3], np.s_[3:]], False),
        ([np.s_[:2], np.s_[3:]], False),
        ([np.s_[::2], np.s_[1::2]], False),
        ([np.s_[::-1]], False),
        ([np.s_[:2, :2], np.s_[2:, :2], np.s_[:, 2:]], False),
    ],
)
def test_gradients_of_parts_are_joined(cuts, is_joined):
    """Where parts follow each other along an axis and nothing is left out."""
    x = normal(4, 3)

    def f(x):
        return sum(np.sum(np.sin(x[cut]) * (k + 1)) for k, cut in enumerate(cuts))

    compiled, program = compiled_for(tape.grad(f), x)
    assert ("concatenate" in counts(program.ir)) == is_joined
    assert_close(compiled(x), tape.grad(f)(x), 1e-14)


def test_what_is_turned_for_a_product_is_turned_once():
    def f(x, y):
        product = np.transpose(x @ y)  # of which nothing but the transpose is read
        return product, np.transpose(y) * 2, np.transpose(x) + 1

    x, y = normal(3, 3), normal(3, 3) + 1
    compiled, program = compiled_for(f, x, y)
    turned = [one.operands for one in program.ir.instructions if one.op == "transpose"]
    assert len(turned) == len(set(turned)) == 2
    for found, expected in zip(compiled(x, y), f(x, y), strict=True):
        assert_close(found, expected, 1e-14)


# ---- sums with weights that repeat along some axes -------------------------------------------------------

WEIGHTED = {  # of x (8, 5, 3, 80) and w (5, 80): the parameters of the kernel
    "around the sum": (lambda x, w: np.sum(x * w[:, None], axis=1), (1, 8, 5, 3, 80)),
    "weights first": (lambda x, w: np.sum(w[:, None] * x, axis=1), (1, 8, 5, 3, 80)),
    "behind": (lambda x, w: np.sum(x[0] * w[:, None], axis=0), (1, 1, 5, 3, 80)),
    "before": (lambda x, w: np.sum(x[:, :, 1] * w, axis=1), (1, 8, 5, 1, 80)),
    "two axes before": (lambda x, w: np.sum(x.transpose(0, 2, 1, 3) * w, axis=2), (1, 24, 5, 1, 80)),
    "two axes summed": (lambda x, w: np.sum(x * (x[1] + 0), axis=(1, 2)), (1, 8, 15, 1, 80)),
    "a batch": (lambda x, w: np.sum(x * x[:, :, :1], axis=1), (8, 1, 5, 3, 80)),
    "repeated by hand": (
        lambda x, w: np.sum(x * np.broadcast_to(w[:, None], (5, 3, 80)), axis=1), (1, 8, 5, 3, 80)),
    "axes kept": (lambda x, w: np.sum(x * w[:, None], axis=1, keepdims=True), (1, 8, 5, 3, 80)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", WEIGHTED)
def test_sums_with_weights_that_repeat_write_no_products(name, dtype):
    f, parameters = WEIGHTED[name]
    x, w = normal(8, 5, 3, 80, dtype=dtype), normal(5, 80, dtype=dtype)
    compiled, program = compiled_for(f, x, w)
    (kernel,) = [of for of in program.ir.instructions if of.op == "kernel"]
    assert kernel.attrs == ("weighted_sums", parameters)
    for found in (compiled(x, w), run(program.ir, [x, w])[0]):
        assert found.dtype == dtype
        assert_close(found, f(x, w), 1000 * np.finfo(dtype).eps)


LEFT = {
    "few columns": lambda x, w: np.sum(x[..., :7] * w[:, None, :7], axis=1),
    "few elements": lambda x, w: np.sum(x[:1, :, :, :8] * w[:, None, :8], axis=1),
    "no weights along the sum": lambda x, w: np.sum(x * w[0], axis=1),
    "no weights along columns": lambda x, w: np.sum(x * w[:, None, :1], axis=1),
    "a sum of columns": lambda x, w: np.sum(x * w[:, None], axis=3),
    "axes in turn": lambda x, w: np.sum(x * x[0, :, 0][:1, None] * x[:, :1, :1], axis=0),
    "weights for all": lambda x, w: np.max(x * w[:, None], axis=1),
    "what is computed for that alone": lambda x, w: np.sum(np.sin(x) * w[:, None], axis=1),
    "products that are used": lambda x, w: np.sum((y := x * w[:, None]), axis=1) + np.max(y),
    "two arrays that repeat": lambda x, w: np.sum(x[:, :, :1] * x[0], axis=1),
    "integers": lambda x, w: np.sum(np.round(x).astype(int) * np.round(w).astype(int)[:, None], axis=1),
}


@pytest.mark.parametrize("name", LEFT)
def test_other_weighted_sums_stay_what_they_are(name):
    x, w = normal(8, 5, 3, 80), normal(5, 80)
    compiled, program = compiled_for(LEFT[name], x, w)
    assert "kernel" not in counts(program.ir)
    assert_close(compiled(x, w), LEFT[name](x, w))


@given(
    axes=st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.booleans()), min_size=2, max_size=5),
    first=st.integers(0, 4), count=st.integers(1, 2), dtype=st.sampled_from([np.float64, np.float32]),
    seed=st.integers(0, 9),
)  # fmt: skip
def test_any_weighted_sum_is_numpys(axes, first, count, dtype, seed):
    """Lengths, and which of the operands have an axis; the sum is over axes that follow each other."""
    rng = np.random.default_rng(seed)  # small integers: exact in any order
    x, w = (
        rng.integers(-3, 4, [length if has[k] else 1 for length, *has in axes]).astype(dtype)
        for k in range(2)
    )
    first %= len(axes)
    over = tuple(range(first, min(first + count, len(axes))))

    def f(x, w):
        return np.sum(x * w, axis=over)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contract, "_WORTH_A_KERNEL", 1)
        patch.setattr(contract, "_FEWEST_COLUMNS", 1)
        compiled, program = compiled_for(f, x, w)
    np.testing.assert_array_equal(compiled(x, w), f(x, w))
    np.testing.assert_array_equal(run(program.ir, [x, w])[0], f(x, w))


# ---- weighted sums of products ---------------------------------------------------------------------------

PRODUCTS = {  # of x (8, 5, 3, 4), y (4, 80) and w (5, 80): the parameters of the kernel
    "of matrices for all": (lambda x, y, w: np.sum((x @ y) * w[:, None], axis=1), (5, 24, 4, 80)),
    "of one": (lambda x, y, w: np.sum((x[0] @ y) * w[:, None], axis=0), (5, 3, 4, 80)),
    "weights first": (lambda x, y, w: np.sum(w[:, None] * (x @ y), axis=1, keepdims=True), (5, 24, 4, 80)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PRODUCTS)
def test_weighted_sums_of_products_write_no_products(name, dtype):
    f, parameters = PRODUCTS[name]
    args = [normal(8, 5, 3, 4, dtype=dtype), normal(4, 80, dtype=dtype), normal(5, 80, dtype=dtype)]
    compiled, program = compiled_for(f, *args)
    (kernel,) = [of for of in program.ir.instructions if of.op == "kernel"]
    assert kernel.attrs == ("weighted_products", parameters)
    for found in (compiled(*args), run(program.ir, args)[0]):
        assert found.dtype == dtype
        assert_close(found, f(*args), 1000 * np.finfo(dtype).eps)


OTHER_PRODUCTS = {
    "that are used": lambda x, y, w: np.sum((z := x @ y) * w[:, None], axis=1) + np.max(z),
    "of many terms": lambda x, y, w: np.sum(
        (np.tile(x, 5) @ np.tile(y.T, 5).T) * w[:, None], axis=1),
    "of long sums": lambda x, y, w: np.sum(
        (np.tile(x, (1, 13, 1, 1)) @ y) * np.tile(w, (13, 1))[:, None], axis=1),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_PRODUCTS)
def test_other_products_are_left_to_blas(name):
    args = [normal(8, 5, 3, 4), normal(4, 80), normal(5, 80)]
    compiled, program = compiled_for(OTHER_PRODUCTS[name], *args)
    kernels = [of.attrs[0] for of in program.ir.instructions if of.op == "kernel"]
    assert kernels == ["weighted_sums"]
    assert_close(compiled(*args), OTHER_PRODUCTS[name](*args))
