"""``det``: the determinant by expansion along rows. All scalars, and the same minors again and again."""

from __future__ import annotations

from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "determinant", "example"]


def determinant(matrix: Any) -> Any:
    """Return the determinant of a square matrix, expanding minor after minor."""

    def minor(row: int, columns: tuple[int, ...]) -> Any:
        if len(columns) == 1:
            return matrix[row, columns[0]]
        total = 0.0
        for k, column in enumerate(columns):
            term = matrix[row, column] * minor(row + 1, columns[:k] + columns[k + 1 :])
            total = total - term if k % 2 else total + term
        return total

    return minor(0, tuple(range(len(matrix))))


def example(seed: int = 0, ell: int = 7) -> Input:
    """Return an input: a matrix of size ell, flattened."""
    return {"A": np.random.default_rng(seed).random(ell * ell).tolist(), "ell": ell}


def _prepare(data: Input) -> tuple[np.ndarray]:
    size = int(data["ell"])
    return (np.array(data["A"], float).reshape(size, size),)


FUNCTIONS = {
    "primal": Function(_prepare, tape.compile(determinant)),
    "gradient": Function(
        _prepare, tape.compile(tape.grad(determinant)), lambda gradient: gradient.ravel().tolist()
    ),
}
