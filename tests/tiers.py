"""Two tiers of tests: a plain one for every change, a full one with all combinations and long campaigns.

``python -m pytest`` runs the plain tier, ``python -m pytest --full`` the full one, and ``--rest`` what of
that the plain one has not run (`tests.rest`). What belongs to the full tier alone is not collected in the
plain one. The full tier runs the same tests on more combinations, more cases of each operation and more
random examples. What only those who work on tape use is tried in it alone: the guide for contributors, the
site of the documentation and the runner of mutants, by `tests.test_contributing`, `tests.test_docs_site` and
`tests.test_mutation`.

The tier is chosen in `tests.conftest`, before any test is imported. `grid`, `some` and `rounds` read it where
a test is declared; `tests.op_table.spread` does the same for the cases of the table of operations.
Of other tests with several calls a run of the whole plain tier takes a third, and of those marked by
`takes_long`, one in thirty, with two fifths of the time, nothing (`thinned`): ``--rest`` runs them, and so
does a run of a few files.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, groupby, product
from typing import Any, TypeVar

import pytest

__all__ = ["choose", "cover", "grid", "is_full", "rounds", "some", "takes_long", "thinned"]

Item = TypeVar("Item")
Test = TypeVar("Test", bound=Callable[..., Any])

_tier = {"is_full": False}


def choose(*, full: bool) -> None:
    """Set the tier; tests that have been imported by then keep theirs."""
    _tier["is_full"] = full


def is_full() -> bool:
    """Return whether this is the full tier."""
    return _tier["is_full"]


def rounds(full: int, plain: int | None = None) -> int:
    """Return how many random examples, seeds or repetitions a test takes in this tier; plainly a third."""
    if is_full():
        return full
    return max(1, full // 3) if plain is None else min(plain, full)


def some(cases: Iterable[Item], *, every: int) -> list[Item]:
    """Return all cases in the full tier, the first one of every so many in the plain tier."""
    return list(cases)[:: 1 if is_full() else every]


def grid(
    ids: Callable[[Any], Any] | None = None, times: int = 1, **axes: Iterable[Any]
) -> pytest.MarkDecorator:
    """Parametrize a test by all combinations in the full tier, by a `cover` of them in the plain tier.

    Parameters
    ----------
    ids : callable, optional
        As pytest takes it: names a single value.
    times : int, optional
        In how many combinations of the plain tier each value of the longest axis is.
    **axes : iterable
        The values of each parameter.

    Returns
    -------
    MarkDecorator
        As `pytest.mark.parametrize` returns it.
    """
    values = [list(axis) for axis in axes.values()]
    rows = list(product(*values)) if is_full() else cover(*values, times=times)
    return pytest.mark.parametrize(tuple(axes), rows, ids=ids)


def cover(*axes: Sequence[Any], times: int = 1) -> list[tuple[Any, ...]]:
    """Return some combinations: so many with each value of the longest axis, and each value in some.

    Each one is that which puts most values beside each other for the first time, then the one of values that
    have come up least, then the first: they are the same in every process.

    Examples
    --------
    >>> cover("abc", "xy", "mn")
    [('a', 'x', 'm'), ('b', 'y', 'n'), ('c', 'x', 'n')]
    """
    if not all(axes):
        return []
    places = [range(len(axis)) for axis in axes]
    longest = places.index(max(places, key=len))
    left: dict[int, list[tuple[int, ...]]] = {value: [] for value in places[longest]}
    for row in product(*places):
        left[row[longest]].append(row)
    seen: Counter[tuple[tuple[int, int], ...]] = Counter()
    rows = []
    for candidates in [*left.values()] * times:
        if candidates:
            row = max(candidates, key=lambda row: _worth(row, seen))
            seen.update(_meetings(row))
            candidates.remove(row)
            rows.append(tuple([axis[k] for axis, k in zip(axes, row, strict=True)]))
    return rows


def _worth(row: Sequence[int], seen: Counter[tuple[tuple[int, int], ...]]) -> tuple[int, int]:
    """How many of its meetings are new, and how often others have been seen before, negated."""
    times = [seen[meeting] for meeting in _meetings(row)]
    return times.count(0), -sum(times)


def _meetings(row: Sequence[int]) -> list[tuple[tuple[int, int], ...]]:
    """The values of a row, one by one and in pairs, each with the number of its axis."""
    places = list(enumerate(row))
    return [*((place,) for place in places), *combinations(places, 2)]


def takes_long(test: Test) -> Test:
    """Mark a test that takes half a second or more: a run of the whole plain tier leaves it to ``--rest``."""
    test.takes_long = True  # type: ignore[attr-defined]
    return test


def thinned(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return some of the calls of each test that has several: what the plain tier runs of them.

    They are every third one, and of several axes each with a value that none before has. Tests of operations
    keep all: the table of operations has chosen. Nothing is left of tests that are marked by `takes_long`.
    """
    kept: list[pytest.Item] = []
    quick = (item for item in items if not hasattr(getattr(item, "function", None), "takes_long"))
    for _, group in groupby(quick, lambda item: item.nodeid.partition("[")[0]):
        seen: set[tuple[str, int]] = set()
        for k, item in enumerate(group):
            values = _values(item)
            if k % 3 == 0 or not values or (len(values) > 1 and not values <= seen):
                kept.append(item)
                seen |= values
    return kept


def _values(item: pytest.Item) -> set[tuple[str, int]]:
    """Which value of each axis a call of a test has; nothing of one that has to be kept."""
    if not hasattr(item, "callspec") or hasattr(getattr(item, "function", None), "of_operations"):
        return set()
    axes = [
        mark.args[0] if mark.args else mark.kwargs["argnames"] for mark in item.iter_markers("parametrize")
    ]
    names = [axis.split(",")[0].strip() if isinstance(axis, str) else axis[0] for axis in axes]
    return {(name, item.callspec.indices[name]) for name in names if name in item.callspec.indices}
