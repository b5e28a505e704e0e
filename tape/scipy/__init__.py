"""SciPy, module by module, differentiable: its names, signatures and values.

``tape.scipy.special`` and its like have every name of the module in SciPy. Functions that SciPy writes in
Python are written here, so that they take Vars; ufuncs are SciPy's own, which take Vars, too. Without a Var
among the operands the results are arrays. A module is imported when it is first used, and SciPy's with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tape.scipy import optimize
from tape.scipy.optimize import curve_fit, least_squares, minimize, root

if TYPE_CHECKING:
    from tape.scipy import integrate, interpolate, linalg, ndimage, signal, sparse, spatial, special, stats

_LATE = ("integrate", "interpolate", "linalg", "ndimage", "signal", "sparse", "spatial", "special", "stats")

__all__ = [
    "curve_fit",
    "integrate",
    "interpolate",
    "least_squares",
    "linalg",
    "minimize",
    "ndimage",
    "optimize",
    "root",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
