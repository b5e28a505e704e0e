"""Calls of NumPy in programs, beside NumPy's own: small matrices, Fourier transforms, sorts, complex numbers.

Each is one call on large operands, so that the loops are measured, and not the way to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_MATRICES, _ROWS = 10_000, (3, 5, 8)
_LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
_SORTED = ((1_000_000,), (1_000, 1_000))
_COMPLEX = 100_000

Function = Callable[..., Any]


@workload("stacks")
def stacks(seed: int) -> list[Case]:
    """Stacks of 10**4 small matrices: det, inv, solve, cholesky, eigh of sizes 3, 5 and 8, compiled."""
    rng = np.random.default_rng(seed)
    cases = []
    for rows in _ROWS:
        a = rng.standard_normal((_MATRICES, rows, rows))
        definite = a @ a.swapaxes(1, 2) + rows * np.eye(rows)
        right = rng.standard_normal((_MATRICES, rows, 1))
        calls = {"det": (a,), "inv": (a,), "solve": (a, right), "cholesky": (definite,), "eigh": (definite,)}
        for name, operands in calls.items():
            function = getattr(np.linalg, name)
            cases.append(
                _case(f"{name} {rows} by {rows}", function, operands, 1e-9, unit="matrix", units=_MATRICES)
            )
    return cases


@workload("fft")
def fft(seed: int) -> list[Case]:
    """Fourier transforms of 10**3 to 10**6 numbers, compiled, beside NumPy's and SciPy's."""
    rng = np.random.default_rng(seed)
    cases = []
    for length in _LENGTHS:
        real, imaginary = rng.standard_normal((2, length))
        for name, signal in (("fft", real + 1j * imaginary), ("rfft", real)):
            cases.append(_case(f"{name} {length}", getattr(np.fft, name), (signal,), scipy=f"fft.{name}"))
    return cases


@workload("sort")
def sort(seed: int) -> list[Case]:
    """Sorts of 10**6 numbers, whole and by rows, and their orders, compiled."""
    rng = np.random.default_rng(seed)
    return [
        _case(f"{name} {'x'.join(map(str, shape))}", getattr(np, name), (rng.standard_normal(shape),), 0.0)
        for shape in _SORTED
        for name in ("sort", "argsort")
    ]


@workload("complex")
def complex_numbers(seed: int) -> list[Case]:
    """Functions of 10**5 complex numbers, element by element, compiled."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, _COMPLEX, 2)).view(complex)[..., 0]
    functions: dict[str, tuple[Function, tuple[np.ndarray, ...]]] = {
        "x * y + x": (lambda x, y: x * y + x, (x, y)),
        "x / y": (lambda x, y: x / y, (x, y)),
        "exp": (np.exp, (x,)),
        "log": (np.log, (x,)),
        "sqrt": (np.sqrt, (x,)),
        "abs": (np.abs, (x,)),
        "sin": (np.sin, (x,)),
        "tanh": (np.tanh, (x,)),
    }
    return [_case(name, function, operands, 1e-12) for name, (function, operands) in functions.items()]


def _case(
    label: str,
    function: Function,
    operands: tuple[np.ndarray, ...],
    tolerance: float | None = None,
    *,
    scipy: str = "",
    unit: str = "call",
    units: int = 1,
) -> Case:
    def by_tape() -> Call:
        compiled = load("tape").compile(function)
        return lambda: _parts(compiled(*operands))

    def by_scipy() -> Call:
        module, name = scipy.split(".")
        other = getattr(load(f"scipy.{module}"), name)
        return lambda: _parts(other(*operands))

    return Case(
        label,
        {"tape compiled": by_tape, "numpy": lambda: lambda: _parts(function(*operands))}
        | ({"scipy": by_scipy} if scipy else {}),
        tolerance=tolerance,
        unit=unit,
        units=units,
        memory="none",
        baseline="tape compiled",
    )


def _parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]
