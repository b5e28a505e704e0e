"""What `tape.scipy` has of SciPy's modules: functions that take Vars, and SciPy's own for plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import isclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tape.ops import special

MODULES = ("special", "linalg", "stats", "optimize", "integrate", "interpolate", "signal", "ndimage",
           "spatial.distance")  # fmt: skip
METHODS = (
    "pdf",
    "logpdf",
    "pmf",
    "logpmf",
    "cdf",
    "logcdf",
    "sf",
    "logsf",
    "ppf",
    "isf",
    "entropy",
    "mean",
    "var",
)
"""What of a distribution may have a derivative."""


class Coverage(NamedTuple):
    """The public functions of a module."""

    module: str
    """Its name in SciPy, as ``"special"``."""
    there: list[str]
    """Functions that take Vars."""
    others: list[str]
    """Functions that are SciPy's own: they take plain numbers, and raise an error at a Var."""

    @property
    def share(self) -> float:
        """The share that takes Vars."""
        return len(self.there) / max(len(self.there) + len(self.others), 1)


def coverage(module: str) -> Coverage:
    """List the functions of a module of SciPy's.

    Parameters
    ----------
    module : str
        One of `MODULES`. Of ``"stats"`` these are the methods of the distributions that are written here.

    Returns
    -------
    Coverage

    Examples
    --------
    >>> from tape.support.scipy_modules import coverage
    >>> found = coverage("stats")
    >>> "norm.logpdf" in found.there, "norm.logpdf" in found.others
    (True, False)
    """
    theirs = import_module(f"scipy.{module}")
    try:
        ours: ModuleType | None = import_module(f"tape.scipy.{module}")
    except ModuleNotFoundError:
        ours = None
    there: list[str] = []
    others: list[str] = []
    for name, function in _methods(theirs, ours) if module == "stats" else _functions(theirs):
        own: Any = ours
        for part in name.split("."):
            own = getattr(own, part, None)
        is_ufunc = isinstance(function, np.ufunc) and name in special.__all__
        is_ours = (getattr(own, "__module__", None) or "").startswith("tape.")
        (there if is_ufunc or is_ours else others).append(name)
    return Coverage(module, there, others)


def _functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in sorted(module.__all__, key=str.lower):
        function = getattr(module, name)
        is_error = isclass(function) and issubclass(function, (Exception, Warning))
        if callable(function) and not is_error and not name.startswith("_"):
            yield name, function


def _methods(theirs: ModuleType, ours: ModuleType | None) -> Iterator[tuple[str, Any]]:
    for name, distribution in sorted(vars(ours).items(), key=lambda item: item[0].lower()):
        if hasattr(distribution, "_methods") and name in theirs.__all__ and name[0].islower():
            original = getattr(theirs, name)
            yield from (
                (f"{name}.{method}", getattr(original, method))
                for method in METHODS
                if hasattr(original, method)
            )


def text(found: list[Coverage]) -> str:
    """Return a list of names for each module, as Markdown."""
    lines = []
    for one in found:
        total = len(one.there) + len(one.others)
        lines += [f"### scipy.{one.module}: {len(one.there)} of {total}", ""]
        lines += [f"In `tape.scipy.{one.module}`: {', '.join(one.there) or 'nothing'}.", ""]
        if one.others:
            lines += [f"For plain numbers: {', '.join(one.others)}.", ""]
    return "\n".join(lines)
