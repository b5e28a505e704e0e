"""Loops over tiles of large arrays: that they are made, and compute what whole arrays would."""

import numpy as np
import optree
import pytest

import tape
from tape.program.ir import differences, tiling
from tests.oracles import assert_close
from tests.tiers import takes_long


def made(f, *args):
    """Return what the program of a function computes, in a list, and its loops."""
    compiled = tape.compile(f)
    compiled(*args)
    (program,) = compiled.programs.values()
    return optree.tree_leaves(program(*args)), [
        of.attrs[0] for of in program.ir.instructions if of.op == "loop"
    ]


def check(results, expected):
    for result, wanted in zip(results, optree.tree_leaves(expected), strict=True):
        assert_close(result, wanted)


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    monkeypatch.setenv("TAPE_NUM_THREADS", "1")


@pytest.fixture
def small(monkeypatch):
    """Let arrays of a few rows be worth a loop, with two rows in a tile."""
    monkeypatch.setattr(tiling, "_WORTH_IT", 8)
    monkeypatch.setattr(tiling, "_FEWEST_STEPS", 2)
    monkeypatch.setattr(tiling, "_TILE_BYTES", 2 * 8 * 40)
    monkeypatch.setattr(tiling, "_MEMBER_BYTES", 0)


def array(*shape, dtype=np.float64):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


def distances(x, y):
    return np.sum(np.abs(x[:, None, :] - y), axis=2)


def squared_distances(x, y):
    return np.sum((x[:, None, :] - y) ** 2, axis=2)


def test_large_array_between_a_difference_and_a_sum_is_never_whole():
    x, y = array(1003, 8), array(200, 8)  # 12.8 MB; the rows do not divide into tiles
    compiled = tape.compile(lambda x, y: np.sum(np.min(distances(x, y), axis=1)))
    for _ in range(2):  # recorded, and as a program
        assert_close(compiled(x, y), np.sum(np.min(distances(x, y), axis=1)))
    (program,) = compiled.programs.values()
    report = program.explain()
    assert report.arena_bytes < 2 << 20
    assert report.effects["tiled"] >= 3
    assert "tiled" in str(report)


def test_small_arrays_are_not_tiled():
    assert not made(lambda x, y: np.sum(np.min(distances(x, y), axis=1)), array(50, 8), array(20, 8))[1]


def test_one_group_of_blocks_needs_no_tiles():
    assert not made(lambda x: np.tanh(x) * x + 1.0, array(1000, 1000))[1]


def test_whole_arrays_are_shared_among_many_threads(monkeypatch):
    monkeypatch.setenv("TAPE_NUM_THREADS", "8")
    assert not made(lambda x, y: np.sum(np.min(distances(x, y), axis=1)), array(1000, 8), array(200, 8))[1]


def test_rounding_as_numpy_has_no_tiles(small):
    trace = tape.Trace()
    x = trace.param(array(6, 5))
    root = np.sum(np.max(np.sin(x) * 2.0, axis=1))
    for _ in range(9):  # sweeps become a program, which rounds as they do
        (gradient,) = trace.backward_param_grads(root)
    expected = np.where(np.sin(x.value) == np.sin(x.value).max(1, keepdims=True), 2 * np.cos(x.value), 0.0)
    assert np.array_equal(gradient, expected)


# ---- each way an instruction may read rows ----------------------------------------------------------

ROWS = {
    "elementwise": lambda x, y: np.max(np.sin(x) * y + 1.0, axis=1),
    "a row for all": lambda x, y: np.max(np.sin(x) * y[0], axis=1),
    "a column for each": lambda x, y: np.max(np.sin(x) * y[:, :1], axis=1),
    "sum over rows": lambda x, y: np.sum(np.sin(x) * y, axis=0),
    "sum over all": lambda x, y: np.sum(np.max(np.sin(x) * y, axis=1)),
    "used after a total": lambda x, y: np.sum(np.exp(x - np.sum(np.sin(x) ** 2, axis=0)), axis=0),
    "softmax over rows": lambda x, y: np.sum(tape.ops.softmax(x * y, axis=0) ** 2, axis=1),
    "softmax within rows": lambda x, y: np.sum(tape.ops.softmax(x * y, axis=1) ** 2, axis=1),
    "product": lambda x, y: np.sum(np.tanh(np.sin(x) @ y.T[:, :4]) ** 2, axis=1),
    "product with itself": lambda x, y: np.sum(np.sin(x[:5]) @ np.sin(x[:5]), axis=1),
    "products of a stack": lambda x, y: np.sum(np.sin(x[:, :, None]) @ y[:, None, :], axis=(1, 2)),
    "a matrix for a stack": lambda x, y: np.sum(np.sin(x.reshape(-1, 1, 5)) @ y[:5], axis=(1, 2)),
    "reshaped": lambda x, y: np.max(np.sin(x).reshape(-1, 1) * 2.0, axis=1),
    "transposed": lambda x, y: np.max(np.sin(x * y).reshape(-1, 5, 1).transpose(0, 2, 1) + y[0], axis=(1, 2)),
    "sliced": lambda x, y: np.max(np.sin(x * y)[:, 1:4], axis=1),
    "rows left out": lambda x, y: np.max(np.sin(x * y)[1:], axis=1),
    "rows reversed": lambda x, y: np.max(np.sin(x * y)[::-1] - x, axis=1),
    "joined": lambda x, y: np.max(np.concatenate([np.sin(x), y, np.ones_like(x)], axis=1), axis=1),
    "joined below": lambda x, y: np.max(np.concatenate([np.sin(x), y], axis=0), axis=1),
    "taken": lambda x, y: np.max(np.take(np.sin(x), np.array([0, 3, 3]), axis=1), axis=1),
    "also a result": lambda x, y: (np.sin(x) * y, np.max(np.sin(x) * y, axis=1)),
    "booleans": lambda x, y: np.sum((np.sin(x) > y) & (x > 0), axis=1),
    "position": lambda x, y: np.argmax(np.sin(x) * y, axis=1),
    "as long as wide": lambda x, y: np.max(np.sin(x[:5]) * x[:5, 0] + x[:5].T, axis=1),
    "one vector, twice": lambda x, y: np.max(np.sin(x[:5]) + np.sin(x[:5, 0]), axis=1),
}


NOT_WORTH_IT = {"rows left out", "rows reversed", "joined below", "also a result", "as long as wide"}
"""Whole arrays are needed all the same."""


@pytest.mark.parametrize("rows", [8, 9])
@pytest.mark.parametrize("name", ROWS)
def test_tiles_compute_what_whole_arrays_would(small, name, rows):
    x, y = array(rows, 5), array(1, rows, 5)[0]
    results, loops = made(ROWS[name], x, y)
    check(results, ROWS[name](x, y))
    assert loops or name in NOT_WORTH_IT


@pytest.mark.parametrize("name", ROWS)
def test_gradients_in_tiles(small, name):
    def total(x, y):
        result = ROWS[name](x, y)
        parts = result if isinstance(result, tuple) else (result,)
        return sum(np.sum(np.cos(part * 1.0)) for part in parts)

    x, y = array(9, 5), array(1, 9, 5)[0]
    gradient = tape.grad(total, argnums=(0, 1))
    if name in ("booleans", "position"):
        gradient = total
    results, _ = made(gradient, x, y)
    check(results, gradient(x, y))


def energy(x, y):
    return np.sum(np.exp(-np.min(squared_distances(x, y), axis=1)))


def energies(x, y):
    return np.sum(np.sin(tape.vmap(squared_distances)(x.reshape(-1, 3, 5), y.reshape(-1, 3, 5))))


def wide(x):
    return np.take(np.sin(x), np.arange(48) % 5, axis=1).reshape(-1, 2, 3, 8)


KERNELS = {
    "distances": (lambda x, y: np.min(squared_distances(x, y), axis=1), 1),
    "distances, of columns": (lambda x, y: np.min(np.sin(squared_distances(y, x)), axis=0), 1),
    "gradient by rows": (tape.grad(energy), 2),
    "gradient by what all rows see": (tape.grad(energy, argnums=1), 2),
    "both": (tape.grad(energy, argnums=(0, 1)), 3),
    "a batch": (lambda x, y: np.sum(np.sin(
        tape.vmap(squared_distances)(x.reshape(-1, 3, 5), y.reshape(-1, 3, 5))), axis=(1, 2)), 1),
    "gradients of a batch": (tape.grad(energies, argnums=(0, 1)), 3),
    "weighted": (lambda x, y: np.sum(wide(x) * wide(y[:1])[0, :, :1], axis=1), 1),
    "weighted in a batch": (lambda x, y: np.sum(wide(x) * wide(y)[:, :, :1], axis=1), 1),
    "weighted rows": (lambda x, y: np.sum(wide(x) * wide(y)[:, :1], axis=0), 1),
}  # fmt: skip
"""Functions with kernels, and how many of them are in loops."""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [24, 27])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_in_tiles(small, monkeypatch, name, rows, dtype):
    monkeypatch.setattr(differences, "_WORTH_IT", 1)
    x, y = array(rows, 5, dtype=dtype), array(1, rows, 5, dtype=dtype)[0]
    f, count = KERNELS[name]
    results, loops = made(f, x, y)
    inside = [of for loop in loops for of in loop.body.instructions if of.op == "kernel"]
    assert len(inside) == count
    for result, wanted in zip(results, optree.tree_leaves(f(x, y)), strict=True):
        assert_close(result, wanted, 1000 * np.finfo(dtype).eps)


@takes_long
def test_distances_and_their_derivatives_are_never_whole():
    x, y = array(1003, 8), array(1600, 8)  # 12.8 MB of distances
    compiled = tape.compile(tape.grad(energy, argnums=(0, 1)))
    for result, wanted in zip(compiled(x, y), tape.grad(energy, argnums=(0, 1))(x, y), strict=True):
        assert_close(result, wanted)
    (program,) = compiled.programs.values()
    assert program.explain().arena_bytes < 2 << 20


def test_sums_of_float32_add_up_in_float64(small, monkeypatch):
    monkeypatch.setattr(tiling, "_TILE_BYTES", 8)
    x = np.full((4096, 5), 0.1, np.float32)
    ((result,), loops) = made(lambda x: np.sum(np.sum(x * x, axis=1) * x[:, 0]), x)
    (loop,) = loops
    assert loop.length > 500
    assert result.dtype == np.float32
    exact = 4096 * 5 * float(np.float32(0.1)) ** 3
    assert abs(result - exact) < 2e-7 * exact


def test_index_out_of_range_in_a_tile_is_an_error(small):
    def f(x, i):
        return np.max(np.asarray(np.sin(x), like=x)[:, i], axis=1)

    compiled = tape.compile(f)
    x = array(8, 5)
    for _ in range(2):
        assert_close(compiled(x, np.array([0, 4])), f(x, np.array([0, 4])))
    with pytest.raises(IndexError):
        compiled(x, np.array([0, 5]))


def test_strided_arguments_and_changes_in_place_are_read_as_they_are(small):
    def f(x, y):
        return np.max(np.sin(x) * y, axis=1)

    compiled = tape.compile(f)
    x, y = array(8, 5), array(5, 8).T
    assert_close(compiled(x, y), f(x, y))
    x[3] += 1.0
    assert_close(compiled(x[::-1], y), f(x[::-1], y))


def test_programs_with_tiles_are_saved_and_loaded(small, tmp_path):
    compiled = tape.compile(lambda x, y: np.sum(np.sin(x) * y, axis=0))
    x, y = array(9, 5), array(1, 9, 5)[0]
    compiled(x, y)
    (program,) = compiled.programs.values()
    program.save(tmp_path / "f.tape")
    loaded = tape.load(tmp_path / "f.tape")
    assert str(loaded) == str(program)
    assert np.array_equal(loaded(x, y), program(x, y))


def test_reductions_of_repeated_values_are_computed_once():
    compiled = tape.compile(lambda x: np.max(np.broadcast_to(np.sin(x)[:, None], (30, 70)), axis=0))
    sums = tape.compile(lambda x: np.sum(np.broadcast_to(np.sin(x)[:, :, None], (30, 4, 70)), axis=0))
    for _ in range(2):
        assert_close(sums(array(30, 4)), np.broadcast_to(np.sin(array(30, 4)).sum(0)[:, None], (4, 70)))
        assert_close(compiled(array(30)), np.broadcast_to(np.sin(array(30)).max(), 70))
    for f in (compiled, sums):
        (program,) = f.programs.values()
        assert all(
            of.op != "fold" or program.ir.instructions[of.operands[0]].size <= 120
            for of in program.ir.instructions
        )
