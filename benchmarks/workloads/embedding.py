"""Lookups in a large table: the gradient is as large as the table, and nearly all zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_ROWS, _WIDTH, _LOOKUPS = 10**5, 64, 10**4


@workload("embedding")
def embedding(seed: int) -> list[Case]:
    """Embedding of 10**5 rows of 64, 10**4 lookups, float32: value and dense gradient."""
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((_ROWS, _WIDTH)).astype(np.float32)
    index = rng.integers(_ROWS, size=_LOOKUPS)
    factors = rng.standard_normal((_LOOKUPS, _WIDTH)).astype(np.float32)
    losses = {
        "tape compiled": _tape_loss,
        "tape": _tape_loss,
        "torch": _torch_loss,
        "jax": _jax_loss,
    }
    contenders = gradients_by(losses, [table], [index, factors])
    contenders["numba"] = lambda: _in_numba(table, index, factors)
    contenders["numpy"] = lambda: lambda: _by_hand(table, index, factors)
    # The value is a sum of 640,000 terms of either sign.
    return [Case("", contenders, baseline="tape compiled", tolerance=1e-3)]


def _by_hand(table: np.ndarray, index: np.ndarray, factors: np.ndarray) -> list[Any]:
    gradient = np.zeros_like(table)
    np.add.at(gradient, index, factors)
    return [np.vdot(table[index], factors), gradient]


def _in_numba(table: np.ndarray, index: np.ndarray, factors: np.ndarray) -> Call:
    from numba import njit

    @njit(fastmath=True)
    def value_and_scatter(table, index, factors, gradient):  # type: ignore[no-untyped-def]
        total = np.float32(0)
        for i in range(len(index)):
            row = index[i]
            for j in range(factors.shape[1]):
                total += table[row, j] * factors[i, j]
                gradient[row, j] += factors[i, j]
        return total

    def call() -> list[Any]:
        gradient = np.zeros_like(table)
        return [np.float32(value_and_scatter(table, index, factors, gradient)), gradient]

    return call


def _tape_loss(tape: Any, table: Any, index: Any, factors: Any) -> Any:
    return np.sum(tape.nn.embedding(index, table) * factors)


def _torch_loss(torch: Any, table: Any, index: Any, factors: Any) -> Any:
    return (torch.nn.functional.embedding(index, table) * factors).sum()


def _jax_loss(jax: Any, table: Any, index: Any, factors: Any) -> Any:
    return (table[index] * factors).sum()
