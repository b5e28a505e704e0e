"""The determinant by expansion along rows, as in GradBench: scalars, and the same minors again and again.

The recursion is that of ``det`` in https://github.com/gradbench/gradbench. Of a matrix of size 6 it computes
1,957 minors, of which 63 differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_SIZES = (4, 6)


@workload("determinant")
def determinant(seed: int) -> list[Case]:
    """Determinants by scalar recursion, 4 by 4 and 6 by 6, as in GradBench: value and gradient."""
    return [_case(size, seed) for size in _SIZES]


def _case(size: int, seed: int) -> Case:
    matrix = np.random.default_rng(seed).standard_normal((size, size))
    frameworks = ("tape compiled", "tape", "torch", "autograd")

    def by_factorization() -> list[Any]:
        value = np.linalg.det(matrix)
        return [value, value * np.linalg.inv(matrix).T]

    contenders = gradients_by(dict.fromkeys(frameworks, by_minors), [matrix], [])
    return Case(
        f"{size} by {size}",
        {"numpy": lambda: by_factorization, **contenders},
        tolerance=1e-10,
        baseline="tape compiled",
    )


def by_minors(framework: Any, matrix: Any) -> Any:
    """Return the determinant of a matrix, expanding minor after minor."""

    def minor(row: int, columns: tuple[int, ...]) -> Any:
        if len(columns) == 1:
            return matrix[row, columns[0]]
        total = 0.0
        for k, column in enumerate(columns):
            term = matrix[row, column] * minor(row + 1, columns[:k] + columns[k + 1 :])
            total = total - term if k % 2 else total + term
        return total

    return minor(0, tuple(range(len(matrix))))
