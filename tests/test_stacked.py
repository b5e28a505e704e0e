"""Results that loops stack are written where they are returned, if nothing but a copy leads there."""

import numpy as np
import pytest

import tape
from tests.oracles import assert_close
from tests.tiers import takes_long


def scanned(x, y):
    return tape.scan(lambda state, row: (np.tanh(state + row), np.sin(state) * row), y, x)


RETURNED = {
    "stacked": (lambda x, y: scanned(x, y)[1], 1),
    "state and stacked": (scanned, 1),
    "stacked twice": (lambda x, y: ((of_steps := scanned(x, y)[1]), of_steps.reshape(-1)), 1),
    "flat": (lambda x, y: scanned(x, y)[1].reshape(-1), 1),
    "joined": (lambda x, y: np.concatenate([x * 2.0, scanned(x, y)[1], x]), 1),
    "joined twice": (lambda x, y: np.concatenate([(of_steps := scanned(x, y)[1]), of_steps]), 1),
    "joined, and read": (
        lambda x, y: (np.concatenate([(s := scanned(x, y)[1]), x]), np.exp(s.T), np.sum(s[1:])), 1
    ),
    "two of them": (
        lambda x, y: np.concatenate([
            *tape.scan(lambda s, row: (s * 0.5 + row, (np.sin(s), np.cos(row))), y, x)[1]
        ]), 2,
    ),
    "a part": (lambda x, y: scanned(x, y)[1][1:], 0),
    "transposed": (lambda x, y: scanned(x, y)[1].T, 0),
    "joined within rows": (lambda x, y: np.concatenate([scanned(x, y)[1], x], axis=1), 0),
    "computed with": (lambda x, y: scanned(x, y)[1] * 2.0, 0),
    "in a loop": (lambda x, y: tape.scan(lambda s, row: (s, scanned(x * row[0], s)[1]), y, x)[1], 1),
}  # fmt: skip
"""Functions, and how many results of loops are where the outer one returns them."""


@takes_long
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [3, 700])
@pytest.mark.parametrize("name", RETURNED)
def test_results_are_those_of_a_copy(name, rows, dtype):
    rng = np.random.default_rng(rows)
    x, y = rng.normal(size=(rows, 5)).astype(dtype), rng.normal(size=5).astype(dtype)
    f, count = RETURNED[name]
    if name == "in a loop":
        x = x[:20]
    compiled = tape.compile(f)
    kept = [compiled(x * 0.5, y) for _ in range(3)]  # results that a later run must not overwrite
    results = compiled(x, y)
    for result, expected in zip(tape.tree.leaves(results), tape.tree.leaves(f(x, y)), strict=True):
        assert result.dtype == dtype
        assert_close(result, expected, 100 * np.finfo(dtype).eps)
    for result, expected in zip(tape.tree.leaves(kept[-1]), tape.tree.leaves(f(x * 0.5, y)), strict=True):
        assert_close(result, expected, 100 * np.finfo(dtype).eps)
    (program,) = compiled.programs.values()
    assert sum(map(len, program.plan.stacked.values())) == count


def test_results_of_two_runs_share_no_memory():
    compiled = tape.compile(RETURNED["stacked"][0])
    first = compiled(np.ones((4, 2)), np.ones(2)).copy()
    again = compiled(np.ones((4, 2)), np.ones(2))
    other = compiled(np.zeros((4, 2)), np.ones(2))
    assert not np.shares_memory(again, other)
    np.testing.assert_array_equal(again, first)
