"""Sparse Hessians: Rosenbrock's function of n variables, of which the Hessian has three diagonals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload
from benchmarks.workloads.hessian import rosenbrock


@workload("sparse_hessian")
def sparse_hessian(seed: int) -> list[Case]:
    """The sparse Hessian of Rosenbrock's function of 100 and 100,000 variables, float64."""
    return [_case(n, seed) for n in (100, 100_000)]


def _case(n: int, seed: int) -> Case:
    x = np.random.default_rng(seed).uniform(-1, 1, n)
    contenders: dict[str, Callable[[np.ndarray], Call]] = {
        "tape": _with_tape,
        "tape indirect": _with_tape_indirect,
        "numpy": lambda x: lambda: [_by_hand(x)],
        "casadi": _with_casadi,
        "casadi buffer": _with_casadi_buffer,
    }
    return Case(f"n = {n}", {name: partial(make, x) for name, make in contenders.items()}, is_large=n > 100)


def _by_hand(x: np.ndarray) -> np.ndarray:
    """Return the elements row by row: below, on and above the diagonal."""
    rows = np.zeros((len(x), 3))
    rows[:-1, 1] = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    rows[1:, 1] += 200
    rows[:-1, 2] = rows[1:, 0] = -400 * x[:-1]
    return rows.ravel()[1:-1]


def _with_tape(x: np.ndarray) -> Call:
    second = load("tape").sparse_hessian(rosenbrock)
    return lambda: [second(x).data]


def _with_tape_indirect(x: np.ndarray) -> Call:
    second = load("tape").sparse_hessian(rosenbrock, recovery="indirect")
    return lambda: [second(x).data]


def _casadi_function(x: np.ndarray) -> Any:
    """Return CasADi's function for the Hessian; columns of a symmetric matrix are its rows."""
    casadi = load("casadi")
    point = casadi.SX.sym("x", len(x))
    value = casadi.sum1(100 * (point[1:] - point[:-1] ** 2) ** 2 + (1 - point[:-1]) ** 2)
    return casadi.Function("hessian", [point], [casadi.hessian(value, point)[0]])


class _Elements:
    """The elements of a matrix of CasADi, converted where they are compared and not where they are timed."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._matrix.nonzeros(), dtype)


def _with_casadi(x: np.ndarray) -> Call:
    function = _casadi_function(x)
    return lambda: [_Elements(function(x))]


def _with_casadi_buffer(x: np.ndarray) -> Call:
    """Into one array for all calls, without an object of CasADi's for the result."""
    function = _casadi_function(x)
    buffer, run = function.buffer()
    elements = np.zeros(function.nnz_out(0))
    buffer.set_arg(0, memoryview(x))
    buffer.set_res(0, memoryview(elements))

    def call(buffer: Any = buffer) -> list[Any]:  # which run() does not keep alive
        run()
        return [elements]

    return call
