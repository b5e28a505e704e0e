"""Gradients of largest and smallest elements in programs: one kernel, and the numbers of the rule."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.kernels.extremes import LONGEST
from tape.program.ir import extremes, rewrite, tile_loops
from tests.naive_program import compiled_for, run
from tests.oracles import assert_close
from tests.tiers import takes_long


def kernels(ir):
    """Return the lengths of each kernel, also in loops over tiles."""
    found = [
        of.attrs[1][:2] for of in ir.instructions if of.op == "kernel" and of.attrs[0] == "share_extremes"
    ]
    return found + [
        lengths for of in ir.instructions if of.op == "loop" for lengths in kernels(of.attrs[0].body)
    ]


def rounded(*shape, dtype=np.float64):
    """Numbers of which many are equal, and whose squares are exact."""
    return (np.round(np.random.default_rng(len(shape)).normal(size=shape) * 8) / 8).astype(dtype)


SHARED = {  # functions of x (30, 40, 20), y (30, 40): the rows of the kernels of the gradient by x
    "along the last axis": (lambda x, y: np.sum(np.min(x, axis=2) ** 2), [(1200, 20)]),
    "along several": (lambda x, y: np.sum(np.max(x, axis=(1, 2)) ** 2), [(30, 800)]),
    "kept": (lambda x, y: np.sum(np.exp(x - np.max(x, axis=2, keepdims=True))), [(1200, 20)]),
    "the same for all": (lambda x, y: np.sum(np.max(x, axis=2)), [(1200, 20)]),
    "a number for each": (lambda x, y: np.sum(y * np.min(x, axis=2)), [(1200, 20)]),
    "spread": (lambda x, y: np.sum(y[:, :1] * np.max(x, axis=2)), [(1200, 20)]),
    "of what is computed": (lambda x, y: np.sum(np.max(np.sin(x * y[..., None]), axis=2) ** 2), [(1200, 20)]),
    "of all": (lambda x, y: np.max(x[:4]) ** 2, [(1, 3200)]),
    "both": (lambda x, y: np.sum(np.max(x, axis=2) * np.min(x, axis=2)), [(1200, 20)] * 2),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SHARED)
def test_gradients_make_no_arrays_of_bools(name, dtype):
    f, lengths = SHARED[name]
    args = rounded(30, 40, 20, dtype=dtype), rounded(30, 40, dtype=dtype)
    compiled, program = compiled_for(tape.grad(f), *args)
    assert kernels(program.ir) == lengths
    for found in (compiled(*args), run(program.ir, args)[0]):
        assert found.dtype == dtype
        assert_close(found, tape.grad(f)(*args), 16 * np.finfo(dtype).eps)


OTHER = {
    "rows of few elements": (lambda x: np.sum(np.max(x, axis=1) ** 2), (200, 3)),
    "along the first axis": (lambda x: np.sum(np.max(x, axis=0) ** 2), (30, 40)),
    "small": (lambda x: np.sum(np.max(x, axis=1) ** 2), (5, 40)),
    "long": (lambda x: np.max(x) ** 2, (LONGEST + 1,)),
    "written out": (lambda x: np.sum(np.where(x == np.max(x, axis=1)[:, None], x, 0.0)), (30, 40)),
    "others counted": (
        lambda x: np.sum(np.where(x == 0.0, x / np.maximum(np.sum(x == 0.5), 1), 0.0)), (30, 40)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER)
def test_the_rest_stays_what_it_is(name):
    f, shape = OTHER[name]
    x = rounded(*shape)
    compiled, program = compiled_for(tape.grad(f), x)
    assert not kernels(program.ir)
    assert_close(compiled(x), tape.grad(f)(x))


def test_tiles_have_it_too():
    def f(x, y):
        return np.sum(np.min(np.sum((x[:, None] - y) ** 2, axis=2), axis=1))

    args = rounded(5001, 3), rounded(100, 3)
    compiled, program = compiled_for(tape.grad(f, argnums=1), *args)
    assert program.ir.effects["tiled"] > 0
    assert [length for _, length in kernels(program.ir)] == [100, 100]  # in a loop, and after it
    assert_close(compiled(*args), tape.grad(f, argnums=1)(*args))


@takes_long
@settings(max_examples=60)
@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3), data=st.data(), is_max=st.booleans(),
    keepdims=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_extreme_has_the_bits_of_the_rule(shape, data, is_max, keepdims, seed):
    first = data.draw(st.integers(0, len(shape) - 1))
    axis = tuple(range(first, len(shape)))
    rng = np.random.default_rng(seed)
    x = rng.choice([-np.inf, -0.1, -0.0, 0.0, 0.1, np.inf, np.nan], shape, p=[0.1, *[0.19] * 4, 0.1, 0.04])
    weights = rng.choice([-1.5, -0.0, 0.0, 0.3, np.inf], np.max(x, axis=axis, keepdims=keepdims).shape)

    def f(x):
        return np.sum(weights * (np.max if is_max else np.min)(x, axis=axis, keepdims=keepdims))

    with np.errstate(invalid="ignore"):
        with patch.multiple(extremes, _WORTH_IT=1, _FEWEST_BYTES=1):
            compiled = tape.compile(tape.grad(f))
            found = compiled(x)
        without = [patch.object(module, "share_extremes", lambda _: 0) for module in (rewrite, tile_loops)]
        with without[0], without[1]:
            plain = tape.compile(tape.grad(f))
            expected = plain(x)
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])
    (program,) = compiled.programs.values()
    assert kernels(program.ir) or x.size == weights.size
