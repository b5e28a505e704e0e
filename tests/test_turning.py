"""Bodies with the axis of the rows last: they compute the same, in loops over tiles and by themselves."""

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape.program.ir import tile_loops, tiling, turning
from tape.program.ir.builder import Builder
from tape.program.ir.check import check
from tape.program.ir.turning import is_worth_turning, turned
from tape.program.runtime import plain
from tests.oracles import assert_close
from tests.test_tiling import ROWS, array, made

DTYPES = [np.float64, np.float32]
AS_THEY_ARE = {"product", "product with itself", "products of a stack", "a matrix for a stack"}


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    monkeypatch.setenv("TAPE_NUM_THREADS", "1")


@pytest.fixture
def _turns_all(monkeypatch):
    """Let loops over a few rows have bodies that are turned, whatever that takes."""
    monkeypatch.setattr(tiling, "_WORTH_IT", 8)
    monkeypatch.setattr(tiling, "_FEWEST_STEPS", 2)
    monkeypatch.setattr(tiling, "_TILE_BYTES", 4 * 8 * 40)
    monkeypatch.setattr(tiling, "_MEMBER_BYTES", 0)
    monkeypatch.setattr(turning, "_FEWEST_ROWS", 2)
    monkeypatch.setattr(turning, "_TRANSPOSED", -1)
    monkeypatch.setattr(tile_loops, "_SHARE_OF_TURNED", 1)


def transpositions(ir):
    return [of for of in ir.instructions if of.op == "kernel" and of.attrs[0] == "transposed"]


# ---- bodies by themselves ----------------------------------------------------------------------------


def folded(b, x, kind, axes, is_spread=True):
    """Return a reduction, as large as its operand."""
    kept = tuple([1 if axis in axes else n for axis, n in enumerate(x.shape)])
    return b.broadcast(b.reshape(b.push("fold", (x,), (kind, axes)), kept), x.shape)


STEPS = {
    "scaled": lambda b, x, v: b.elementwise("multiply", x, folded(b, x, "sum", (2,))),
    "sum of squares": lambda b, x, v: b.elementwise(
        "add", x, b.reshape(b.push("sum_product", (x, x), ("sum", (1,))), (len_of(x), 1, x.shape[2]))
    ),
    "a row for all": lambda b, x, v: b.elementwise("add", x, b.slice(v, (0,), (1,), (x.shape[2],))),
    "a matrix for all": lambda b, x, v: b.elementwise(
        "add", x, b.reshape(b.slice(v, (1,), (1,), (x.shape[1],)), (1, x.shape[1], 1))
    ),
    "a number": lambda b, x, v: b.elementwise("subtract", x, 2.0),
    "largest": lambda b, x, v: folded(b, x, "max", (1,)),
    "product": lambda b, x, v: folded(b, x, "prod", (1, 2)),
    "positions": lambda b, x, v: b.cast(folded(b, x, "argmax", (2,)), x.dtype),
    "turned inside": lambda b, x, v: b.transpose(x, (0, 2, 1)),
    "in other parts": lambda b, x, v: b.reshape(x, (len_of(x), x.shape[2], x.shape[1])),
    "backwards": lambda b, x, v: b.slice(x, (0, 0, x.shape[2] - 1), (1, 1, -1), x.shape),
    "joined": lambda b, x, v: b.concatenate([x, b.elementwise("negative", x)], 1),
    "written": lambda b, x, v: b.push(
        "put",
        (x, b.slice(b.elementwise("negative", x), (0,) * 3, (1,) * 3, (*x.shape[:2], 1))),
        ((0,) * 3, (1,) * 3),
    ),
    "taken": lambda b, x, v: b.take(x, b.constant(np.arange(3) % x.shape[1]), 1),
    "sum over rows": lambda b, x, v: b.elementwise("add", x, folded(b, x, "sum", (0,))),
    "rows backwards": lambda b, x, v: b.slice(x, (len_of(x) - 1, 0, 0), (-1, 1, 1), x.shape),
    "chosen": lambda b, x, v: b.where(b.elementwise("isfinite", x), x, b.elementwise("absolute", x)),
    "as one row": lambda b, x, v: b.reshape(b.elementwise("square", b.reshape(x, (x.size,))), x.shape),
}
"""Instructions on rows of two axes, and on a vector that is the same for all."""


def len_of(x):
    return x.shape[0]


def body(names, rows, shape, dtype):
    """Return the IR of some steps, one after another; the last two are its results."""
    b = Builder()
    x, v = b.input((rows, *shape), np.dtype(dtype)), b.input((300,), np.dtype(dtype))
    results = [x]
    for name in names:
        results.append(STEPS[name](b, results[-1], v))
    b.ir.outputs = [value.id for value in results[-2:]]
    return b.ir


@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6), rows=st.integers(2, 9),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4)), dtype=st.sampled_from(DTYPES),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_turned_bodies_compute_the_same(names, rows, shape, dtype, seed):
    rng = np.random.default_rng(seed)
    ir = body(names, rows, shape, dtype)
    x = rng.choice(
        [0.5, 1.0, -2.0, 0.0, -0.0, np.inf, np.nan], (rows, *shape), p=[0.3, 0.3, 0.2, 0.1, 0.08, 0.01, 0.01]
    )
    leaves = [x.astype(dtype), rng.integers(-2, 3, 300).astype(dtype)]
    other = turned(ir, rows)
    check(other)
    for result, expected in zip(plain.run(other, leaves), plain.run(ir, leaves), strict=True):
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(result, expected, 256 * np.finfo(dtype).eps, 1e-30)


def test_short_rows_are_worth_it_and_long_ones_or_few_are_not():
    names = ["scaled", "sum of squares"] * 3
    assert is_worth_turning(body(names, 200, (2, 3), float), 200)
    assert not is_worth_turning(body(names, 200, (2, 300), float), 200)
    assert not is_worth_turning(body(names, 20, (2, 3), float), 20)
    assert not is_worth_turning(body(["a number"], 200, (2, 3), float), 200)


def test_values_are_transposed_once_each_way():
    ir = turned(body(["scaled", "joined", "sum over rows", "scaled"], 200, (2, 3), float), 200)
    assert len(transpositions(ir)) == 4  # the input, what the sum is of, and two results


# ---- in loops over tiles -----------------------------------------------------------------------------


@pytest.mark.usefixtures("_turns_all")
@pytest.mark.parametrize("name", ROWS)
def test_tiles_with_the_rows_last_compute_what_whole_arrays_would(name):
    x, y = array(11, 5), array(1, 11, 5)[0]
    results, loops = made(ROWS[name], x, y)
    for result, expected in zip(results, optree.tree_leaves(ROWS[name](x, y)), strict=True):
        assert_close(result, expected)
    assert all(transpositions(loop.body) for loop in loops) or name in AS_THEY_ARE


def turned_about(vector, point):
    """A point that is turned about an axis, and seen: cross products, norms, quotients."""
    angle = np.sqrt(np.sum(vector**2))
    axis = vector / angle
    seen = point * np.cos(angle) + np.cross(axis, point) * np.sin(angle) + axis * np.dot(axis, point)
    return seen[:2] / seen[2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_jacobians_of_a_batch_have_the_rows_last(dtype):
    count = 60_011  # the rows do not divide into tiles
    x, y = array(count, 3, dtype=dtype), array(1, count, 3, dtype=dtype)[0]
    x *= dtype(0.3)
    y[:, 2] += dtype(7)  # far from the plane of the camera

    def jacobians(x, y):
        return tape.vmap(tape.jacobian(turned_about, argnums=(0, 1)))(x, y)

    x[7], y[-1] = np.nan, np.inf
    x[-2] = 0.0
    with np.errstate(all="ignore"):
        results, loops = made(jacobians, x, y)
        expected = optree.tree_leaves(jacobians(x, y))
    assert any(transpositions(loop.body) for loop in loops)
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == dtype
        np.testing.assert_allclose(result, wanted, 1e4 * np.finfo(dtype).eps, 100 * np.finfo(dtype).eps)


def test_results_without_elements():
    """Of features that there may be none of."""

    def model(x):
        u = x
        for _ in range(5):
            u = np.tanh(u / np.sqrt(np.sum(u * u, axis=-1, keepdims=True) + 1)) * x
        return np.sum(u), u[:0] * 2

    x = array(60_000, 6)
    compiled = tape.compile(tape.vmap(model))
    total, nothing = compiled(x)
    (program,) = compiled.programs.values()
    loops = [of.attrs[0] for of in program.ir.instructions if of.op == "loop"]
    assert loops
    assert all(transpositions(loop.body) for loop in loops)
    expected, as_nothing = tape.vmap(model)(x)
    assert_close(total, expected)
    assert nothing.shape == as_nothing.shape == (60_000, 0)
