"""Which tests are tried on a mutant, which of them first, and for how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from math import inf, sqrt
from pathlib import Path
from statistics import median

from tests.mutation.coverage_map import Part
from tests.mutation.session import function_of

__all__ = ["CoverageMap", "Tests"]

Tests = dict[str, list[str]]
"""By test file, the ids of some of its tests."""

_ROUNDS = (2.0, 8.0, 32.0, inf)
"""How many seconds of each file are run before more of any: tests of one file are much alike."""
_FILES_AT_A_TIME = (0, 1, 4, 12, 40, None)
"""Runs of pytest in the first round end here: imports of files that come later are often not needed."""


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

    @cached_property
    def breadths(self) -> dict[str, int]:
        """How many modules each test executes, of which a change may be hidden behind others."""
        return {
            id: breadth
            for part in self.parts.values()
            for id, breadth in zip(part.tests, _breadths(part), strict=True)
        }

    # ---- which -----------------------------------------------------------------------------------------

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

    def readers_of(self, path: str, root: Path) -> Tests:
        """The tests that may read a table which a module holds: no line of it runs when one looks there.

        Parameters
        ----------
        path : str
            The module.
        root : Path
            The repository: all tests of files count that name the module.

        Returns
        -------
        dict of str to list of str
            By test file.
        """
        module = path.removesuffix(".py").replace("/", ".")
        found = self.users_of(path)
        for name, part in self.parts.items():
            if name.startswith("tests/") and module in (root / name).read_text():
                found[name] = part.tests
        return found

    def mirrors_of(self, path: str) -> Tests:
        """The tests that mirror a module: of files with its name, or with that of a folder it is in."""
        return {name: part.tests for name, part in self.parts.items() if _likeness(name, path)}

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

    # ---- for how long, and in which order --------------------------------------------------------------

    def budget_for(self, stages: Sequence[Tests], budget: float) -> float:
        """How many seconds of tests a change gets that none of them notices.

        What many tests execute is often noticed by few of them, so that a fixed time would pass such a change
        for a survivor; all of them would take half an hour for each true survivor. The time grows as the
        square root of theirs: 300 s of 1500 s, if the budget is 60 s.

        Parameters
        ----------
        stages : sequence of dict of str to list of str
            As `tests_of` returns them.
        budget : float
            Enough for any change that so many seconds of tests execute.
        """
        every = {id for tests in stages for ids in tests.values() for id in ids}
        return max(budget, sqrt(budget * sum(self.times[id] for id in every)))

    def batches(self, path: str, stages: Sequence[Tests], budget: float) -> list[list[str]]:
        """The order in which tests are to be tried, in runs of pytest's: within some seconds, if they last.

        Of each stage, files that mirror the module come first, then those of narrow tests; two seconds of
        each file, then more of each.

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

    def _in_order(self, path: str, tests: Tests) -> Iterator[list[str]]:
        """Tests in runs of pytest's, of which the first one is short."""

        def preference(name: str) -> tuple[int, float]:
            return -_likeness(name, path), median(self.breadths[id] for id in tests[name])

        files = [self._in_rounds(tests[name]) for name in sorted(tests, key=preference)]
        for begin, end in pairwise(_FILES_AT_A_TIME):
            yield [id for rounds in files[begin:end] for id in rounds[0]]
        for k in range(1, len(_ROUNDS)):
            yield [id for rounds in files for id in rounds[k]]

    def _in_rounds(self, ids: Sequence[str]) -> list[list[str]]:
        """Tests of one file: quick and narrow ones first, and not many cases of one function in a row."""
        # What a test tells of one line falls with the number of modules that it executes. Another case of the
        # same function tells less with each.
        costs = {id: self.times[id] * self.breadths[id] for id in ids}
        cases: Counter[str] = Counter()
        for id in sorted(ids, key=costs.__getitem__):
            function = function_of(id)
            cases[function] += 1
            costs[id] *= cases[function]
        rounds: list[list[str]] = [[] for _ in _ROUNDS]
        spent = 0.0
        for number, id in enumerate(sorted(ids, key=costs.__getitem__)):
            spent += self.times[id]
            place = next(k for k, most in enumerate(_ROUNDS) if spent <= most) if number else 0
            rounds[place].append(id)
        return rounds


def _breadths(part: Part) -> list[int]:
    """How many modules each test of a part executes."""
    found = [0] * len(part.tests)
    for lines in part.lines.values():
        bits = 0
        for some in lines.values():
            bits |= some
        for k in range(len(found)):
            found[k] += bits >> k & 1
    return found


def _likeness(name: str, path: str) -> int:
    """How much a test file is that of a module: 3 for its doctests, 2 by its name, 1 by that of a folder."""
    if name == path:
        return 3
    if not name.startswith("tests/"):
        return 0
    module, test = Path(path), f"_{Path(name).stem}_"
    own = module.parent.name if module.stem == "__init__" else module.stem.lstrip("_")
    if len(own) > 2 and f"_{own}_" in test:
        return 2
    return int(any(len(word) > 2 and f"_{word}_" in test for word in module.parent.parts[1:]))
