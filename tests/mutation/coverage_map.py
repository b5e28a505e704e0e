"""Which tests execute which line, and which of them to run first where a line has changed.

A test is one item of pytest's; a few operations of `tests.op_table` make one. Test files are run one at a
time in a process each, and what was found is kept in a file each, under the digest of all that it depends on.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from tests.mutation.session import Chosen, run_tests

__all__ = ["CoverageMap", "Part", "Tests", "digest", "files_of", "load", "measure", "test_files"]

Tests = dict[str, list[str]]
"""By test file, the ids of some of its tests."""

_UNSUITABLE = ("tests/test_mutation.py", "tests/test_viz_stepper_browser.py", "tests/test_benchmarks.py")
"""This itself, a browser, and times."""
_FIRST_SECONDS = 4.0
"""How much of each file is run before the rest of any."""


@dataclass
class Part:
    """What a run of one test file has shown.

    Attributes
    ----------
    tests : list of str
        Ids of those that passed.
    times : list of float
        Seconds that each took, while it was looked at.
    lines : dict of str to dict of int to int
        File, line, and a number whose bit k says whether test k executed it.
    at_import : dict of str to list of int
        Lines that are executed when the module is imported.
    failed : list of str
        Tests that do not pass, or not in a copy, or not while looked at: they are of no use.
    """

    tests: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    lines: dict[str, dict[int, int]] = field(default_factory=dict)
    at_import: dict[str, list[int]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


def test_files(root: Path) -> list[str]:
    """All files with tests, doctests of the modules included, relative to the root; long ones first."""
    files = [*root.glob("tests/test_*.py"), *root.glob("tape/**/*.py"), *root.glob("*.md")]
    texts = {path.relative_to(root).as_posix(): path.read_text() for path in files}
    found = [name for name, text in texts.items() if name.startswith("tests/") or ">>> " in text]
    found = [name for name in found if name not in _UNSUITABLE and not name.endswith("__main__.py")]
    return sorted(found, key=lambda name: (not name.startswith("tests/"), -len(texts[name])))


def digest(root: Path, *patterns: str) -> str:
    """Of all files that the patterns match: their names, and what is in them."""
    total = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:24]


def measure(kept: dict[str, Path]) -> dict[str, Any]:
    """Run test files within this process, whose current folder is the repository, and keep their parts.

    Parameters
    ----------
    kept : dict of str to Path
        The files, and where the part of each goes.

    Returns
    -------
    dict
        Which tests ``failed``, so that they are of no use.
    """
    from coverage import Coverage

    coverage = Coverage(data_file=None, config_file=False, include=["tape/*"], messages=False)
    coverage.start()
    plugin = Chosen(None, {}, around=lambda id: coverage.switch_context(id or ""))
    run_tests(list(kept), plugin)
    coverage.stop()
    if "pytest" in plugin.failed:  # nothing was seen that would be worth keeping
        return {"failed": plugin.failed}
    unusable = {*plugin.failed, *plugin.skipped}
    parts = {name: Part(failed=[id for id in plugin.failed if file_of(id) == name]) for name in kept}
    places: dict[str, tuple[Part, int]] = {}
    for id, seconds in plugin.times.items():
        if id not in unusable:
            part = parts[file_of(id)]
            places[id] = part, len(part.tests)
            part.tests.append(id)
            part.times.append(seconds)
    data = coverage.get_data()
    for path in data.measured_files():
        module = Path(path).relative_to(Path.cwd()).as_posix()
        for line, contexts in data.contexts_by_lineno(path).items():
            for part, k in (places[id] for id in contexts if id in places):
                lines = part.lines.setdefault(module, {})
                lines[line] = lines.get(line, 0) | 1 << k
            if "" in contexts:
                for part in parts.values():
                    part.at_import.setdefault(module, []).append(line)
    for name, part in parts.items():
        temporary = kept[name].with_suffix(f".{os.getpid()}")
        temporary.write_bytes(pickle.dumps(vars(part)))
        temporary.replace(kept[name])
    return {"failed": plugin.failed}


def load(kept: Path) -> Part:
    """A part as `measure` has kept it."""
    return Part(**pickle.loads(kept.read_bytes()))


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


def files_of(ids: Sequence[str]) -> list[str]:
    """The files that tests are in, in the order of the tests."""
    return list(dict.fromkeys(map(file_of, ids)))


def file_of(id: str) -> str:
    """The file that a test is in."""
    return id.partition("::")[0]
