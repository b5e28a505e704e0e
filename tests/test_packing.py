"""Factors in panels: loops that multiply with one matrix in every step are those that NumPy runs."""

import numpy as np
import pytest

import tape
from tape.kernels import matrices
from tape.program.ir import packing
from tape.program.ir.loops import all_ir
from tape.system.blas import AVX512_FLAGS
from tests.naive_program import program_of

CLOSE = {"float64": {"rtol": 1e-11, "atol": 1e-12}, "float32": {"rtol": 2e-4, "atol": 2e-5}}
BOTH = pytest.mark.parametrize("dtype", ["float64", "float32"])
STEPS = 16


@pytest.fixture(autouse=True)
def any_size_is_worth_it(monkeypatch):
    def is_divided(m, n, k, size):
        return n % matrices.columns_of_a_panel(size) == 0

    monkeypatch.setattr(packing, "are_worth_packing", is_divided)


def numbers(dtype, *shape, scale=1.0, seed=0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def loops(program):
    return [of.attrs[0] for ir in all_ir(program.ir) for of in ir.instructions if of.op == "loop"]


def panels(program):
    """The shapes of stacks of matrices that loops get as constants."""
    found = [of.shape for loop in loops(program) for of in loop.inputs[: loop.constants] if of is not None]
    return [shape for shape in found if len(shape) == 3]


def recurrence(state, w, x):
    def step(state, x):
        state = np.tanh(state @ w + x)
        return state, state

    return tape.scan(step, state, x)


def total(state, w, x):
    last, states = recurrence(state, w, x)
    return np.sum(last) + np.sum(states * states)


def arguments(dtype, rows=5, width=64):
    state, w = numbers(dtype, rows, width), numbers(dtype, width, width, scale=width**-0.5, seed=1)
    return state, w, numbers(dtype, STEPS, rows, width, seed=2)


def check(function, *args, dtype="float64"):
    """Check the compiled function against itself; return its program."""
    program = program_of(function, *args)
    for found, expected in zip(
        tape.tree.leaves(program(*args)), tape.tree.leaves(function(*args)), strict=True
    ):
        np.testing.assert_allclose(found, expected, **CLOSE[dtype])
    return program


@BOTH
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 33, 70])
def test_recurrences_and_their_gradients(dtype, rows):
    args = arguments(dtype, rows)
    found = panels(check(recurrence, *args, dtype=dtype))
    columns = matrices.columns_of_a_panel(np.dtype(dtype).itemsize)
    assert found == [(64 // columns, 64, columns)]
    backward = check(tape.grad(total, argnums=(0, 1, 2)), *args, dtype=dtype)
    assert len(panels(backward)) >= 2  # the transpose in the reverse pass


@BOTH
def test_transposes_of_factors_are_packed_from_what_they_are_of(dtype):
    state, w, x = arguments(dtype)

    def f(state, v, x):
        return total(state, v.T, x)

    check(tape.value_and_grad(f, argnums=1), state, np.ascontiguousarray(w.T), x, dtype=dtype)
    check(tape.value_and_grad(lambda s, v, x: f(s, v.T.T, x), argnums=1), state, w.T.copy(), x, dtype=dtype)


def test_factors_that_are_read_otherwise_too_stay_whole():
    def f(state, w, x):
        def step(state, x):
            return np.tanh(state @ w + x + np.sum(w * state[0], axis=1)), state @ w.T

        return tape.scan(step, state, x)

    program = check(f, *arguments("float64"))
    (loop,) = loops(program)
    shapes = [of.shape for of in loop.inputs[: loop.constants]]
    assert (64, 64) in shapes
    assert len(panels(program)) == 2


def test_one_factor_in_several_loops_and_products():
    def f(state, w, x):
        last, states = recurrence(state, w, x)
        again, _ = recurrence(last @ w, w, states)
        return again @ w.T

    check(f, *arguments("float64"))
    check(tape.grad(lambda *args: np.sum(f(*args)), argnums=(0, 1, 2)), *arguments("float64"))


def test_factors_that_change_and_widths_that_are_not_divided():
    def f(state, w, x):
        def step(carry, x):
            state, w = carry
            return (np.tanh(state @ w + x), 0.9 * w), None

        return tape.scan(step, (state, w), x)[0]

    assert panels(check(f, *arguments("float64"))) == []
    assert panels(check(recurrence, *arguments("float64", width=50))) == []


def test_few_steps_are_not_worth_it():
    state, w, x = arguments("float64")
    assert panels(check(recurrence, state, w, x[:15])) == []


def test_scaled_products_and_sums_of_them():
    def f(state, w, x):
        def step(state, x):
            return np.tanh(x - 0.5 * (state @ w) + 2 * (x @ w)), np.ones(64) + state @ w

        return tape.scan(step, state, x)

    check(f, *arguments("float64"))


def test_loops_within_loops_and_loops_that_data_end():
    def nested(state, w, x):
        def step(state, x):
            return tape.fori_loop(0, 16, lambda k, state: np.tanh(state @ w + x), state), None

        return tape.scan(step, state, x)[0]

    def until(state, w, x):
        def is_large(state):
            return np.sum(state * state) > 1.0

        return tape.while_loop(is_large, lambda state: 0.5 * np.tanh(state @ w), state)

    assert panels(check(nested, *arguments("float64")))
    check(tape.grad(lambda *args: np.sum(nested(*args)), argnums=(0, 1)), *arguments("float64"))
    check(until, *arguments("float64"))


def test_loops_of_python_that_are_rolled():
    def f(state, w, x):
        for k in range(40):
            state = np.tanh(state @ w + x[k % STEPS])
        return np.sum(state)

    check(tape.value_and_grad(f, argnums=(0, 1)), *arguments("float64"))


@pytest.mark.parametrize("flags", [frozenset(), AVX512_FLAGS])
def test_panels_of_either_width_are_saved_and_shared_among_threads(tmp_path, monkeypatch, flags):
    monkeypatch.setattr(matrices, "cpu_flags", lambda: flags)
    args = arguments("float32", rows=130, width=128)
    program = check(recurrence, *args, dtype="float32")
    assert panels(program)[0][2] == (32 if flags else 16)
    program.save(tmp_path / "loop")
    for found, expected in zip(
        tape.tree.leaves(tape.load(tmp_path / "loop")(*args)), tape.tree.leaves(program(*args)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    program.threads = 2
    np.testing.assert_allclose(program(*args)[0], recurrence(*args)[0], **CLOSE["float32"])


def test_values_that_are_not_finite():
    state, w, x = arguments("float64")
    state[0, 0], w[3, 5] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        check(recurrence, state, w, x)


def test_batches_of_loops():
    state, w, x = arguments("float64")

    def f(state, x):
        return recurrence(state, w, x[:, None])[0]

    check(tape.vmap(f), np.stack([state, -state]), np.stack([x[:, 0], x[:, 1]]))


def test_what_is_worth_it(monkeypatch):
    def is_worth_it(m, n, k):
        return matrices.are_worth_packing(m, n, k, 4)

    monkeypatch.setattr(matrices, "has_small_kernels", lambda: True)
    monkeypatch.setattr(matrices, "cpu_flags", lambda: AVX512_FLAGS)
    assert is_worth_it(16, 1024, 256)
    assert not is_worth_it(16, 1000, 256)  # not divided
    assert not is_worth_it(7, 1024, 256)  # rows are fewer than a tile has
    assert not is_worth_it(16, 128, 128)  # BLAS is as fast
    assert is_worth_it(128, 512, 128)
    assert is_worth_it(128, 1024, 256)
    monkeypatch.setattr(matrices, "has_small_kernels", lambda: False)
    monkeypatch.setattr(matrices, "has_older_kernels", lambda: True)
    monkeypatch.setattr(matrices, "cpu_flags", frozenset)
    assert is_worth_it(16, 512, 200)
    assert not is_worth_it(64, 512, 200)
    monkeypatch.setattr(matrices, "has_older_kernels", lambda: False)
    assert not is_worth_it(16, 512, 200)
