"""Floating-point errors that a function lets NumPy raise or report, as no program does.

NumPy's settings, and Python's filters of warnings, are compared with those at the start of the recording: a
function that has changed them, so that a division by zero would call, raise or be collected, may do something
else with other numbers. What has been set outside of it counts for nothing.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

_REPORTED = frozenset({"call", "log", "raise"})
_variable: Any = getattr(import_module("numpy._core.umath"), "_extobj_contextvar", None)
_current: Callable[[], Any] = object if _variable is None else _variable.get
"""Return NumPy's settings: another object whenever they are set. `numpy.geterr` takes much longer."""


class Observed:
    """What becomes of floating-point errors, at the time at which this is made.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.record.observed import Observed
    >>> at_start = Observed()
    >>> with np.errstate(divide="raise"):
    ...     at_start.is_same(), at_start.change()
    (False, 'np.errstate')
    >>> with np.errstate(divide="ignore"):
    ...     at_start.is_same(), at_start.change()
    (False, '')
    """

    __slots__ = ("_chosen", "_current", "_filters", "_first", "_harmless", "_reporter", "_rules")

    def __init__(self) -> None:
        self._current = _current()
        self._chosen = np.geterr()
        self._filters = warnings.filters
        self._first = warnings.filters[0] if warnings.filters else None
        self._rules = _rules()
        self._reporter = _reporter()
        self._harmless: tuple[Any, Any, Any] = (None, None, None)  # of the latest settings that are, as below

    def raises(self) -> bool:
        """Return whether errors were raised or reported at that time, or warnings of them were errors."""
        return self.reports() or any(rule[0] == "error" for rule in self._rules)

    def reports(self) -> bool:
        """Return whether NumPy's settings let errors be raised or reported at that time."""
        return bool(_REPORTED & {*self._chosen.values()})

    def is_same(self) -> bool:
        """Return whether nothing has been set since; False also where it was set to what it had been."""
        filters = warnings.filters
        return (
            _current() is self._current
            and filters is self._filters
            and (filters[0] if filters else None) is self._first
        )

    def is_harmless(self) -> bool:
        """Return whether what has been set since lets no more errors be raised or reported."""
        if self.is_same():
            return True
        filters = warnings.filters
        now = (_current(), filters, filters[0] if filters else None)
        if not all(map(operator.is_, now, self._harmless)):
            if self.change():
                return False
            self._harmless = now
        return True

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Let NumPy treat errors in a block as it did at that time; where that differs, it does not warn."""
        if self.is_same():
            yield
            return
        with warnings.catch_warnings(), np.errstate(**self._chosen):
            warnings.simplefilter("ignore", RuntimeWarning)
            yield

    def change(self) -> str:
        """Return what has been set so that errors are raised, reported or collected; empty if nothing has."""
        before: dict[str, Any] = {**self._chosen}
        if any(now in _REPORTED and now != before[kind] for kind, now in np.geterr().items()):
            return "np.errstate"
        rules = _rules()
        if any(rule[0] == "error" and rule not in self._rules for rule in rules):
            return "warnings"
        is_ignored = bool(rules) and rules[-1][0] == "ignore"
        return "" if is_ignored or _reporter() == self._reporter else "warnings"


def _rules() -> list[tuple[Any, ...]]:
    """Return the filters that decide what becomes of a warning of NumPy's, up to one that takes them all."""
    rules = []
    for rule in warnings.filters:
        _, message, category, module, _ = rule
        if issubclass(RuntimeWarning, category):
            rules.append(rule)
            if message is None and module is None:
                break
    return rules


def _reporter() -> tuple[Any, ...]:
    """Return the functions that show warnings; where these are collected, they are others."""
    return warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)
