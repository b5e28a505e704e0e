"""Packs: of processes that share the tests, each runs several calls of a test as one.

Each test costs a millisecond or two beside what it does: to set up, to report three times, to collect the
reports. Calls of one test that need nothing but their arguments do without. A process that is alone runs each
call as a test of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, islice
from typing import Any

import pytest

__all__ = ["packed"]

_AT_ONCE = 12
"""How many calls make one test."""

_LONG_AT_ONCE = 3
"""How many of those that look at several operations each: see `tests.op_table.by_operation`."""

_FOR_ALL = {"programs_at_once"}
"""Fixtures that do the same for all tests."""


def packed(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return as many of the tests as have to be managed; they run the others, too."""
    kept = []
    for function, group in groupby(items, _function_of_arguments):
        remaining = iter(group)
        while pack := list(islice(remaining, _size(function))):
            kept.append(pack[0])
            if len(pack) > 1:
                pack[0].runtest = _Pack(pack)  # type: ignore[method-assign]
    return kept


def _size(function: Any) -> int:
    if function is None:
        return 1
    return _LONG_AT_ONCE if hasattr(function, "of_operations") else _AT_ONCE


def _function_of_arguments(item: pytest.Item) -> Any:
    """Return the function of a test that needs arguments alone; None for others."""
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return None
    if any(mark.name != "parametrize" or mark.kwargs.get("indirect") for mark in item.iter_markers()):
        return None
    given = set(item.callspec.params)
    return item.function if given == set(item.fixturenames) - _FOR_ALL == _declared(item) else None


def _declared(item: pytest.Item) -> set[str]:
    """Return the names of the arguments that a test is parametrized by."""
    declared: set[str] = set()
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        declared.update(map(str.strip, names.split(",")) if isinstance(names, str) else names)
    return declared


class _Pack:
    """What the first test of a pack runs instead."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def __call__(self) -> None:
        skipped = [error for item in self._items if (error := _run(item)) is not None]
        if len(skipped) == len(self._items):
            raise skipped[0]


def _run(item: Any) -> BaseException | None:
    """Run one of a pack; return why it was skipped, if it was."""
    try:
        item.obj(**item.callspec.params)
    except pytest.skip.Exception as reason:
        return reason
    except BaseException as error:
        error.add_note(f"in {item.name}")
        raise
    return None
