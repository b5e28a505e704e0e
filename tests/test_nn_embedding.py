"""Embeddings: gradients that add up, padding, bounds, PyTorch."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.ops import nn
from tests.oracles import assert_close, difference, pytorch, vjp
from tests.test_nn_normalization import DTYPES, assert_as_torch, normal

RNG = np.random.default_rng(12)


def numbers(*shape, rows=6):
    return RNG.integers(0, rows, shape)


@DTYPES
@pytest.mark.parametrize("shape", [(7,), (2, 3, 4), (0,), ()])
@pytest.mark.parametrize("padding", [None, 2, -1])
def test_embedding_is_that_of_torch(dtype, tolerance, shape, padding):
    index = np.asarray(numbers(*shape))
    assert_as_torch(
        lambda w: nn.embedding(index, w, padding),
        lambda F, w: F.embedding(_tensor(index), w, padding),
        [normal(6, 3, dtype=dtype)], tolerance,
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
@pytest.mark.parametrize("padding", [None, 1])
def test_bags_are_those_of_torch(dtype, tolerance, mode, padding):
    index = numbers(4, 5)
    index[2] = 1  # a bag of padding alone
    assert_as_torch(
        lambda w: nn.embedding_bag(index, w, mode, padding_idx=padding),
        lambda F, w: F.embedding_bag(_tensor(index), w, mode=mode, padding_idx=padding),
        [_distinct(6, 3, dtype)], tolerance,
    )  # fmt: skip


@DTYPES
def test_weighted_bags_are_those_of_torch(dtype, tolerance):
    index = numbers(4, 5)
    assert_as_torch(
        lambda w, each: nn.embedding_bag(index, w, "sum", each),
        lambda F, w, each: F.embedding_bag(_tensor(index), w, mode="sum", per_sample_weights=each),
        [normal(6, 3, dtype=dtype), normal(4, 5, dtype=dtype)], tolerance,
    )  # fmt: skip


def _tensor(index):
    torch = pytorch()
    return torch.tensor(index)


def _distinct(rows, width, dtype):
    """A table in which no two elements are alike. Ties are shared here; PyTorch takes the first."""
    return RNG.permutation(rows * width).reshape(rows, width).astype(dtype)


# ---- padding -------------------------------------------------------------------------------------


def test_a_row_for_padding_is_read_and_gets_no_derivative_of_any_order():
    index, table, along = np.array([0, 2, 2, 1]), normal(3, 2), normal(3, 2)

    def f(table):
        return np.sum(np.sin(nn.embedding(index, table, padding_idx=2)))

    np.testing.assert_array_equal(nn.embedding(index, table, padding_idx=2), table[index])
    frozen = np.where(np.arange(3)[:, None] == 2, 0, along)
    _, pushed = tape.jvp(f, [table], [along])
    assert_close(pushed, difference(f, [table], [frozen]))
    gradient = tape.grad(f)
    assert not np.any(gradient(table)[2])
    assert_close(tape.hvp(f)(table, along), difference(gradient, [table], [frozen]))
    assert_close(tape.compile(gradient)(table), gradient(table))


# ---- bounds --------------------------------------------------------------------------------------

CALLS = {
    "value": nn.embedding,
    "gradient": lambda index, w: vjp(lambda w: nn.embedding(index, w), [w])[0],
    "padded": lambda index, w: vjp(lambda w: nn.embedding(index, w, 0), [w])[0],
    "bag": nn.embedding_bag,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", [6, -1, 10**12])
def test_an_index_out_of_range_is_named_with_its_position_and_the_bound(name, wrong):
    call, table = CALLS[name], normal(6, 2)
    compiled = tape.compile(call)
    right = numbers(3, 4)
    assert_close(compiled(right, table), call(right, table))
    index = right.copy()
    index[1, 2] = wrong
    for run in (call, compiled, tape.compile(call)):
        with pytest.raises(errors.OutOfBoundsError, match=rf"index {wrong} at position \(1, 2\).*6 rows"):
            run(index, table)
    assert_close(compiled(right, table), call(right, table))


def test_replay_may_change_the_index_and_checks_it():
    trace = tape.Trace()
    table = normal(3, 2)
    w, index = trace.param(table), trace.input(np.array([0, 1]))
    out = nn.embedding(index, w)
    trace.set(index, np.array([2, 2]))
    trace.replay()
    np.testing.assert_array_equal(out.value, table[[2, 2]])
    np.testing.assert_array_equal(trace.backward_param_grads(out)[0], [[0, 0], [0, 0], [2, 2]])
    trace.set(index, np.array([0, 3]))
    with pytest.raises(errors.OutOfBoundsError, match="index 3 at position 1"):
        trace.replay()


TABLE = np.ones((4, 2))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nn.embedding([0.0], TABLE), errors.DTypeError, "Use ints"),
        (lambda: nn.embedding([True], TABLE), errors.DTypeError, "Use ints"),
        (lambda: nn.embedding([0], np.ones(3)), errors.ShapeError, "table of rows"),
        (lambda: nn.embedding([0], TABLE, padding_idx=4), errors.OptionError, "padding_idx=4.*4"),
        (lambda: nn.embedding([0], np.ones((0, 2))), errors.OutOfBoundsError, "0 rows"),
        (lambda: nn.embedding_bag([0], TABLE), errors.ShapeError, r"\(bags, length\)"),
        (lambda: nn.embedding_bag([[0]], TABLE, offsets=[0]), errors.ShapeError, "with offsets"),
        (lambda: nn.embedding_bag([0], TABLE, offsets=[1]), errors.OutOfBoundsError, "start with 0"),
        (lambda: nn.embedding_bag([0], TABLE, offsets=[0, 2]), errors.OutOfBoundsError, "for 1 rows"),
        (lambda: nn.embedding_bag([0], TABLE, offsets=[0.0]), errors.DTypeError, "must hold ints"),
        (
            lambda: nn.embedding_bag([0], TABLE, offsets=np.zeros(0, int)),
            errors.ShapeError,
            r"\[0\].*\(bags,\)",
        ),
        (lambda: nn.embedding_bag([0], TABLE, offsets=[[0]]), errors.ShapeError, r"\[1, 1\].*\(bags,\)"),
        (lambda: nn.embedding_bag([0], TABLE, "max", offsets=[0]), errors.OptionError, "no offsets"),
        (lambda: nn.embedding_bag([[0]], TABLE, "median"), errors.OptionError, "median"),
        (lambda: nn.embedding_bag([[0]], TABLE, "max", [[1.0]]), errors.OptionError, "per_sample_weights"),
        (lambda: nn.embedding_bag([[0]], TABLE, "sum", [1.0]), errors.ShapeError, "per_sample_weights"),
    ],
)
def test_errors_are_raised_at_the_call(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("mode", ["mean", "sum"])
@pytest.mark.parametrize("ends", [True, False])
def test_bags_by_offsets_are_those_of_pytorch(mode, ends):
    torch = pytorch()
    rng = np.random.default_rng(4)
    table, index, starts = rng.normal(size=(5, 3)), rng.integers(0, 5, 9), np.array([0, 0, 4, 7, 9])
    settings = {"mode": mode, "include_last_offset": ends, "padding_idx": 2}
    tensor = torch.tensor(table, requires_grad=True)
    theirs = torch.nn.functional.embedding_bag(torch.tensor(index), tensor, torch.tensor(starts), **settings)
    (theirs**2).sum().backward()

    def ours(table, index, starts):
        return nn.embedding_bag(index, table, offsets=starts, **settings)

    np.testing.assert_allclose(ours(table, index, starts), theirs.detach().numpy(), rtol=1e-12)
    slope = tape.compile(tape.grad(lambda *args: np.sum(ours(*args) ** 2)))
    for _ in range(2):
        np.testing.assert_allclose(slope(table, index, starts), tensor.grad.numpy(), rtol=1e-12)
    other = np.array([0, 2, 2, 8, 9])
    np.testing.assert_allclose(
        slope(table, index, other), tape.grad(lambda t: np.sum(ours(t, index, other) ** 2))(table)
    )
    with pytest.raises(errors.OutOfBoundsError, match="never go down"):
        slope(table, index, np.array([0, 5, 4, 8, 9]))


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
def test_bags_of_nothing_are_zeros(mode):
    np.testing.assert_array_equal(nn.embedding_bag(np.zeros((3, 0), int), TABLE, mode), np.zeros((3, 2)))


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@pytest.mark.parametrize(
    "f",
    [
        lambda w: tape.nn.embedding(np.array([0, 2, 1]), w, padding_idx=1) ** 2,
        lambda w: tape.nn.embedding(np.array([[0, 2], [1, 0]]), w) ** 2,
        lambda w: tape.nn.embedding_bag(np.array([[0, 2, 1]]), w, padding_idx=1) ** 2,
        lambda w: tape.nn.embedding_bag(np.array([0, 2, 1]), w, "sum", None, 1, np.array([0, 1])) ** 2,
        lambda w: tape.nn.embedding_bag(np.array([[0, 2, 1]]), w, "max") ** 2,
    ],
    ids=["padded", "plain", "mean", "sum", "max"],
)
def test_tables_of_a_batch_read_at_the_same_rows(f, mode):
    """In a batch of batches, and of seeds, each table is its own."""
    tables = np.random.default_rng(0).normal(size=(2, 3, 4, 2))
    for count in (1, 2, 3):
        of_all = tape.jacobian(tape.vmap(f), mode=mode)
        of_each = tape.jacobian(lambda w: np.stack([f(table) for table in w]), mode=mode)
        expected = np.stack([of_each(w) for w in tables[:, :count]])
        for g in (tape.vmap(of_all), tape.compile(tape.vmap(of_all))):
            np.testing.assert_allclose(g(tables[:, :count]), expected, rtol=1e-9, atol=1e-12)
    gradient = tape.grad(lambda w: np.sum(np.sin(f(w))))
    expected = [[gradient(table) for table in row] for row in tables]
    np.testing.assert_allclose(tape.vmap(tape.vmap(gradient))(tables), expected, rtol=1e-9, atol=1e-12)
