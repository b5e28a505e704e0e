"""What `tape.scipy` has of SciPy's modules: functions that take Vars, and SciPy's own for plain numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from inspect import isclass
from textwrap import wrap
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tape.conversion.callers import is_written_here
from tape.ops import special

MODULES = ("special", "linalg", "stats", "optimize", "integrate", "interpolate", "signal", "ndimage",
           "spatial.distance")  # fmt: skip
METHODS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "entropy", "mean",
           "var")  # fmt: skip
"""What of a distribution may have a derivative."""

_CONSTANT = {
    "special": re.compile(
        r".*_zeros|.*_roots|roots_.*|.*_cv_seq|errstate|geterr|seterr"  # tables, settings
        r"|bernoulli|euler|factorial2|factorialk|stirling2|ellip_normal|mathieu_(even|odd)_coef"
        r"|(sh_)?(cheby[cstu]|legendre|jacobi)|gegenbauer|(gen)?laguerre|hermite(norm)?"  # as objects
    ),
    "linalg": re.compile(
        r"get_.*_funcs|find_best_blas_type|bandwidth|is(symmetric|hermitian)|clarkson_woodruff_transform"
        r"|hadamard|helmert|(inv)?(hilbert|pascal)|dft"
    ),
}
"""Functions that nothing can be differentiated through: of whole numbers, and of the library itself."""


class Coverage(NamedTuple):
    """The public functions of a module."""

    module: str
    """Its name in SciPy, as ``"special"``."""
    there: list[str]
    """Functions that take Vars."""
    others: list[str]
    """Functions that are SciPy's own: they take plain numbers, and raise an error at a Var."""
    constant: list[str]
    """The same, of whole numbers or of the library itself: there is nothing to differentiate by."""

    @property
    def share(self) -> float:
        """The share that takes Vars, of those that might."""
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
    there: list[str] = []
    others: list[str] = []
    constant: list[str] = []
    is_constant = _CONSTANT[module].fullmatch if module in _CONSTANT else lambda name: None
    for name, function in _methods(theirs) if module == "stats" else _functions(theirs):
        is_ufunc = isinstance(function, np.ufunc) and name in special.__all__
        is_there = is_ufunc or is_written_here(f"scipy.{module}.{name}")
        (there if is_there else constant if is_constant(name) else others).append(name)
    return Coverage(module, there, others, constant)


def _functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in sorted(module.__all__, key=str.lower):
        function = getattr(module, name)
        is_error = isclass(function) and issubclass(function, (Exception, Warning))
        if callable(function) and not is_error and not name.startswith("_"):
            yield name, function


def _methods(theirs: ModuleType) -> Iterator[tuple[str, Any]]:
    ours = vars(import_module("tape.scipy.stats"))
    for name, distribution in sorted(ours.items(), key=lambda item: item[0].lower()):
        if hasattr(distribution, "_methods") and name in theirs.__all__ and name[0].islower():
            original = getattr(theirs, name)
            yield from (
                (f"{name}.{method}", getattr(original, method))
                for method in METHODS
                if hasattr(original, method)
            )


def text(found: Sequence[Coverage]) -> str:
    """Return the names of each module, as Markdown."""
    lines = []
    for one in found:
        lines += [f"## scipy.{one.module}: {len(one.there)} of {len(one.there) + len(one.others)}", ""]
        for names, what in (
            (one.there, f"In `tape.scipy.{one.module}`"),
            (one.others, "For plain numbers"),
            (one.constant, "Of whole numbers, tables and settings"),
        ):
            if names:
                lines += [*wrap(f"{what}: {', '.join(names)}.", 110, break_on_hyphens=False), ""]
    return "\n".join(lines)
