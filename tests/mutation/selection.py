"""Which tests are tried on a mutant, and which of them first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path

from tests.mutation.coverage_map import Part

__all__ = ["CoverageMap", "Tests"]

Tests = dict[str, list[str]]
"""By test file, the ids of some of its tests."""

_FIRST_SECONDS = 4.0
"""How much of each file is run before the rest of any."""


class CoverageMap:
    """All parts together.

    Parameters
    ----------
    parts : dict of str to Part
        By test file.
    """

    def __init__(self, parts: dict[str, Part]) -> None:
        self.parts = parts

    @cached_property
    def times(self) -> dict[str, float]:
        """Seconds that each test takes."""
        return {
            id: time for part in self.parts.values() for id, time in zip(part.tests, part.times, strict=True)
        }

    def tests_of(self, path: str, lines: Iterable[int], statement: tuple[int, int]) -> list[Tests]:
        """The tests that may notice a change, those first that execute it.

        Parameters
        ----------
        path : str
            The module.
        lines : iterable of int
            The lines that were changed.
        statement : tuple of int
            The first line and the last one of the statement that they belong to.

        Returns
        -------
        list of dict of str to list of str
            By test file, first the tests that execute the lines; or, if there are none, the statement. Then,
            if that is executed when something is imported, such as a table or a declaration, those that
            execute anything in the module; tests may be in both.
        """
        around = range(statement[0], statement[1] + 1)
        direct = self._executing(path, lines) or self._executing(path, around)
        if not any(line in around for part in self.parts.values() for line in part.at_import.get(path, ())):
            return [direct]
        return [direct, self.users_of(path)]

    def users_of(self, path: str) -> Tests:
        """The tests that execute anything in a module."""
        return self._executing(
            path, {line for part in self.parts.values() for line in part.lines.get(path, ())}
        )

    def _executing(self, path: str, lines: Iterable[int]) -> Tests:
        wanted = list(lines)
        found = {}
        for name, part in self.parts.items():
            bits = 0
            for line in wanted:
                bits |= part.lines.get(path, {}).get(line, 0)
            if bits:
                found[name] = [id for k, id in enumerate(part.tests) if bits >> k & 1]
        return found

    def batches(self, path: str, stages: Sequence[Tests], budget: float) -> list[list[str]]:
        """The order in which tests are to be tried, in runs of pytest's: within some seconds, if they last.

        Of each stage, files that mirror the module come first, then those of which the largest share takes
        part; of each file first the quick tests, for a few seconds.

        Parameters
        ----------
        path : str
            The module that was changed.
        stages : sequence of dict of str to list of str
            As `tests_of` returns them.
        budget : float
            How many seconds they may take together.

        Returns
        -------
        list of list of str
            Each not empty.
        """
        left = budget
        batches = []
        for group in (group for tests in stages for group in self._in_order(path, tests)):
            batch = []
            for id in group:
                if left > 0:
                    batch.append(id)
                    left -= self.times[id]
            if batch:
                batches.append(batch)
        return batches

    def _in_order(self, path: str, tests: Tests) -> list[list[str]]:
        """Tests in runs of pytest's, of which the first one is short."""

        def preference(name: str) -> tuple[bool, float, float]:
            share = len(tests[name]) / max(len(self.parts[name].tests), 1)
            return not _mirrors(name, path), -share, sum(self.times[id] for id in tests[name])

        quick: list[list[str]] = []
        slow: list[str] = []
        for name in sorted(tests, key=preference):
            spent = 0.0
            quick.append([])
            for id in sorted(tests[name], key=self.times.__getitem__):
                spent += self.times[id]
                (quick[-1] if spent <= _FIRST_SECONDS or not quick[-1] else slow).append(id)
        return [*(list(chain(*quick[a:b])) for a, b in pairwise((0, 1, 4, 12, None))), slow]


def _mirrors(name: str, path: str) -> bool:
    """Whether a test file is that of a module, by its name, or holds the module's doctests."""
    if name == path:
        return True
    module, test = Path(path), Path(name).stem
    words = {module.stem.lstrip("_"), *module.parent.parts[1:]} - {"__init__"}
    return any(f"_{word}_" in f"{test}_" for word in words if len(word) > 2) and name.startswith("tests/")
