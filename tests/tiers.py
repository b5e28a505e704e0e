"""Two tiers of tests: the plain one runs everything once, the full one all combinations and long campaigns.

``python -m pytest`` runs the plain tier, ``python -m pytest --full`` the full one. What belongs to the full
tier alone is not collected in the plain one. There is no test of a behaviour that only the full tier has: it
runs the same tests on more combinations, more cases of each operation and more random examples.

The tier is chosen in `tests.conftest`, before any test is imported. `grid`, `some` and `rounds` read it where
a test is declared; `tests.op_table.spread` does the same for the cases of the table of operations.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import Any, TypeVar

import pytest

__all__ = ["choose", "cover", "grid", "is_full", "rounds", "some"]

Item = TypeVar("Item")

_tier = {"is_full": False}


def choose(*, full: bool) -> None:
    """Set the tier; tests that have been imported by then keep theirs."""
    _tier["is_full"] = full


def is_full() -> bool:
    """Return whether this is the full tier."""
    return _tier["is_full"]


def rounds(plain: int, full: int) -> int:
    """Return how many random examples, seeds or repetitions a test takes in this tier."""
    assert 0 < plain <= full
    return full if is_full() else plain


def some(cases: Iterable[Item], *, every: int) -> list[Item]:
    """Return all cases in the full tier, the first one of every so many in the plain tier."""
    return list(cases)[:: 1 if is_full() else every]


def grid(ids: Callable[[Any], Any] | None = None, **axes: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrize a test by all combinations in the full tier, by a `cover` of them in the plain tier.

    Parameters
    ----------
    ids : callable, optional
        As pytest takes it: names a single value.
    **axes : iterable
        The values of each parameter.

    Returns
    -------
    MarkDecorator
        As `pytest.mark.parametrize` returns it.
    """
    values = [list(axis) for axis in axes.values()]
    rows = list(product(*values)) if is_full() else cover(*values)
    return pytest.mark.parametrize(tuple(axes), rows, ids=ids)


def cover(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return as many combinations as the longest axis has values, with each value of each axis in some.

    Each row is the one that puts most values beside each other for the first time; the first one such, so
    that the rows are the same in every process.

    Examples
    --------
    >>> cover("abc", "xy", "mn")
    [('a', 'x', 'm'), ('b', 'y', 'n'), ('c', 'x', 'n')]
    """
    if not all(axes):
        return []
    longest = max(range(len(axes)), key=lambda k: len(axes[k]))
    others = [range(len(axis)) for axis in axes]
    seen: set[tuple[tuple[int, int], ...]] = set()
    rows = []
    for value in range(len(axes[longest])):
        others[longest] = range(value, value + 1)
        best, fresh = max(((row, _meetings(row) - seen) for row in product(*others)), key=lambda x: len(x[1]))
        seen |= fresh
        rows.append(tuple([axis[k] for axis, k in zip(axes, best, strict=True)]))
    return rows


def _meetings(row: Sequence[int]) -> set[tuple[tuple[int, int], ...]]:
    """The values of a row, one by one and in pairs, each with the number of its axis."""
    places = list(enumerate(row))
    return {(place,) for place in places} | set(combinations(places, 2))
