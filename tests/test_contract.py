"""Products take in what is scaled, transposed and joined around them, and read operands where they lie."""

import numpy as np
import pytest

import tape
from tape import ops
from tests.naive_program import compiled_for, counts
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
