"""The workloads by name.

A workload is a function from a seed to a list of cases, decorated with `workload`, in any file of
``benchmarks/workloads``: adding that file registers it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import workloads
from benchmarks.harness import Case

__all__ = ["Workload", "all_workloads", "workload"]

MakeCases = Callable[[int], list[Case]]


@dataclass(frozen=True)
class Workload:
    """A name, a one-line summary, the cases for a seed, and whether it runs by default."""

    name: str
    summary: str
    cases: MakeCases
    is_default: bool


_registered: dict[str, Workload] = {}


def workload(name: str, *, is_default: bool = True) -> Callable[[MakeCases], MakeCases]:
    """Register the decorated function; the first line of its docstring is the summary.

    Parameters
    ----------
    name : str
        The name on the command line.
    is_default : bool
        Whether it runs when the command line names none.

    Examples
    --------
    >>> @workload("nothing", is_default=False)
    ... def nothing(seed: int) -> list[Case]:
    ...     '''No work at all.'''
    ...     return [Case("", {"numpy": lambda: lambda: []})]
    """

    def register(make_cases: MakeCases) -> MakeCases:
        summary = (make_cases.__doc__ or "").strip().partition("\n")[0]
        _registered[name] = Workload(name, summary, make_cases, is_default)
        return make_cases

    return register


def all_workloads() -> dict[str, Workload]:
    """Return all workloads by name."""
    for module in pkgutil.iter_modules(workloads.__path__):
        importlib.import_module(f"{workloads.__name__}.{module.name}")
    return dict(_registered)
