"""Transpositions behind elementwise arithmetic: that there are fewer, and that nothing else changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.program.ir import rewrite, transposing
from tape.program.runtime.plain import run
from tests.oracles import assert_close
from tests.tiers import takes_long


def array(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


def ir_of(f, *args):
    """Return the IR of the program of a function."""
    compiled = tape.compile(f)
    compiled(*args)
    (program,) = compiled.programs.values()
    return program.ir


def transposed(ir):
    """Return the sizes of what is transposed."""
    return [of.size for of in ir.instructions if of.op == "transpose" and of.size > 500]


FEWER = {  # functions of x, y (7, 3, 100), c (100, 3); how often an array of their size is transposed
    "several arrays": (lambda x, y, c: np.swapaxes(x, 1, 2) * np.swapaxes(y, 1, 2) + c, 1),
    "a chain": (lambda x, y, c: np.exp(-np.swapaxes(x, 1, 2) * c) - np.swapaxes(y, 1, 2), 1),
    "transposed again": (lambda x, y, c: np.swapaxes(np.swapaxes(x, 1, 2) * c + 1, 1, 2), 0),
    "axes that are merged": (lambda x, y, c: (np.swapaxes(x, 1, 2) + c).reshape(7, 300).T, 1),
    "what is computed from few": (
        lambda x, y, c: np.swapaxes(x, 1, 2) + np.swapaxes(y, 1, 2) + c * c[:7, None, :1], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FEWER)
def test_arrays_are_transposed_behind_arithmetic(name):
    f, count = FEWER[name]
    args = array(7, 3, 100), array(7, 3, 100) + 1, array(100, 3)
    ir = ir_of(f, *args)
    assert len(transposed(ir)) == count
    assert_close(run(ir, list(args))[0], f(*args))
    assert_close(tape.compile(f)(*args), f(*args))


SAME = {
    "one array": lambda x, y, c: np.swapaxes(x, 1, 2) + c,
    "small arrays": lambda x, y, c: x[0, :, :4].T + y[0, :, :4].T,
    "other orders": lambda x, y, c: (
        np.transpose(x, (2, 1, 0)) + np.transpose(y.reshape(7, 100, 3), (1, 2, 0))
    ),
    "arrays in order": lambda x, y, c: (
        np.swapaxes(x, 1, 2) + np.swapaxes(y, 1, 2) * np.exp(x.reshape(7, 100, 3))
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_where_nothing_is_won_nothing_moves(name):
    args = array(7, 3, 100), array(7, 3, 100) + 1, array(100, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite, "sink_transposes", lambda ir: 0)
        expected = ir_of(SAME[name], *args)
    assert [of.op for of in ir_of(SAME[name], *args).instructions] == [of.op for of in expected.instructions]


@takes_long
@settings(max_examples=100)
@given(st.integers(0, 1 << 20), st.integers(1, 12))
def test_any_order_of_axes_computes_the_same(seed, count):
    def f(*args):
        rng = np.random.default_rng(seed)
        values = list(args)
        for _ in range(count):
            x = values[rng.integers(len(values))]
            if rng.random() < 0.6:
                same = [
                    y
                    for y in values
                    if np.shape(y) in (np.shape(x), np.shape(x)[1:], (1, 1, np.shape(x)[-1]))
                ]
                values.append(x * same[rng.integers(len(same))] if same else -x)
            elif rng.random() < 0.7:
                values.append(np.transpose(x, rng.permutation(np.ndim(x))))
            else:
                shape = np.shape(x)
                values.append(np.reshape(x, (shape[0], int(np.prod(shape[1:])))))
        return values[len(args) :]

    args = [array(2, 3, 4), array(4, 3, 2), array(3, 4), array(2, 12)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transposing, "_SMALLEST", 1)
        ir = ir_of(f, *args)
    for found, expected in zip(run(ir, args), f(*args), strict=True):
        np.testing.assert_array_equal(found, expected)
    compiled = tape.compile(f)
    for found, expected in zip(compiled(*args), f(*args), strict=True):
        assert_close(found, expected)
