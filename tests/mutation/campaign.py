"""A campaign: the map is measured, mutants are tried, and what came of it is kept."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tests.mutation.coverage_map import digest, files_of, load, measure, test_files
from tests.mutation.operators import Mutant
from tests.mutation.sample import is_compiled
from tests.mutation.selection import CoverageMap, Tests
from tests.mutation.session import AllCases, Chosen, function_of, run_tests
from tests.mutation.workplace import Task, Workplace

__all__ = ["Campaign", "Result"]

Result = dict[str, Any]
"""A ``mutant``; its ``verdict``: "caught", "crashed", "timed out", "survived", or "untested" if no test
has to do with it; ``by`` which test; how many tests ``ran`` ``of`` those that execute it; and ``seconds``."""

_TESTS_OF_COMPILED = tuple(
    f"tests/test_{name}" for name in ("kernels", "machine", "compile", "program", "loop", "signals")
)
"""Beginnings of the names of the test files for code that coverage does not see."""
_SECONDS_TO_COMPILE = 240.0
_SECONDS_FOR_A_FILE = 1800.0
_DOCTESTS = 16


class Campaign:
    """What is known of a version of the repository.

    Parameters
    ----------
    root : Path
        The repository, which is only read.
    folder : Path
        For the map, the copies, the machine code and the results.
    processes : int
        How many tests may run at a time.
    budget : float
        How many seconds of tests a mutant gets that none of them notices; more where many execute it.
    """

    def __init__(self, root: Path, folder: Path, processes: int, budget: float) -> None:
        self._root = root
        self._folder = folder
        self._budget = budget
        self._results = folder / "results.jsonl"
        self._sources = digest(root, "tape/**/*.py")
        self._tests = digest(root, "tests/**/*.py", "*.md")
        self._without: set[str] = set()
        self._confirmed: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)
        self._workplace = Workplace(root, folder, processes)

    # ---- the map -----------------------------------------------------------------------------------

    def measure(self, only: Sequence[str] = ()) -> CoverageMap:
        """The map; only what has changed is measured anew.

        Parameters
        ----------
        only : sequence of str
            The test files that are wanted; all if there are none.
        """
        helpers = digest(
            self._root, "tests/[!t]*.py", "tests/t[!e]*.py", "tests/op_table/*.py",
            *(f"tests/mutation/{name}.py" for name in ("coverage_map", "session")),
        )  # fmt: skip
        parts = self._folder / "map"
        parts.mkdir(exist_ok=True)
        kept = {
            name: parts / f"{name.replace('/', '.')}-{self._sources}-{helpers}-{digest(self._root, name)}"
            for name in only or test_files(self._root)
        }
        missing = {name: path for name, path in kept.items() if not path.exists()}
        progress = tqdm(total=len(missing), desc="map", unit="file", disable=not missing)
        tasks = self._workplace.each(
            _together(missing), lambda some: Task(lambda now: measure(some), _SECONDS_FOR_A_FILE)
        )
        for some, answer in tasks:
            progress.update(len(some))
            if "signal" in answer:
                progress.write(
                    f"{', '.join(some)} not used: its process ended with signal {answer['signal']}"
                )
            elif answer["failed"]:
                progress.write(f"not used: {', '.join(answer['failed'])}")
        progress.close()
        return CoverageMap({name: load(path) for name, path in kept.items() if path.exists()})

    # ---- trying them -------------------------------------------------------------------------------

    def run(self, mutants: Sequence[Mutant], coverage: CoverageMap) -> list[Result]:
        """What became of each mutant: from the results that are kept, or by trying it."""
        while True:
            known = self._known()
            self._try([mutant for mutant in mutants if mutant not in known], coverage)
            known = self._known()
            results = [known[mutant] for mutant in mutants]
            doubtful = self._doubtful(results, coverage)
            if not doubtful:
                return results
            self._without |= doubtful
            self._keep([{**result, "sources": ""} for result in results if result["by"] in doubtful])

    def _try(self, mutants: Sequence[Mutant], coverage: CoverageMap) -> None:
        progress = tqdm(total=len(mutants), desc="mutants", unit="mutant", disable=not mutants, smoothing=0)
        survivors = 0
        for mutant, answer in self._workplace.each(mutants, lambda mutant: self._task(mutant, coverage)):
            count = self.tests_for(mutant, coverage)
            result = {
                "mutant": asdict(mutant), "sources": self._sources, "tests": self._tests, "of": count,
                "budget": self._budget, "seconds": answer["seconds"], **_verdict(answer, count),
            }  # fmt: skip
            self._keep([result])
            survivors += result["verdict"] in ("survived", "untested")
            progress.set_postfix(survivors=survivors)
            progress.update()
        progress.close()

    def _task(self, mutant: Mutant, coverage: CoverageMap) -> Task:
        stages = self._tests_of(mutant, coverage)
        budget = coverage.budget_for(stages, self._budget)
        batches = coverage.batches(mutant.path, stages, budget)
        compiled = is_compiled(mutant.path)
        patience = _SECONDS_TO_COMPILE if compiled else 0.0
        return Task(
            lambda now: attempt(batches, coverage.times, patience, now),
            120 + 4 * budget + 2 * patience,
            mutant,
            compiled,
        )

    def tests_for(self, mutant: Mutant, coverage: CoverageMap) -> int:
        """How many tests may notice a mutant."""
        return sum(len(ids) for stage in self._tests_of(mutant, coverage) for ids in stage.values())

    def _tests_of(self, mutant: Mutant, coverage: CoverageMap) -> list[Tests]:
        """The tests that may notice a mutant, in stages, without those that cannot be relied on."""
        source = (self._root / mutant.path).read_text()
        stages = coverage.tests_of(mutant.path, range(mutant.line, mutant.last_line + 1), mutant.statement)
        if "cache" in source:  # the first test computes what others rely on
            stages.append({name: coverage.parts[name].tests for name in stages[0]})
        if (table := self._table_of(mutant, source)) is not None:
            stages.insert(0, coverage.readers_of(table, self._root))
        if is_compiled(mutant.path):
            stages.append(coverage.users_of(mutant.path))
            parts = coverage.parts.items()
            stages.append({name: part.tests for name, part in parts if name.startswith(_TESTS_OF_COMPILED)})
        elif not any(stages):  # executed in another process, or when it was imported before coverage began
            stages += [coverage.mirrors_of(mutant.path), coverage.readers_of(mutant.path, self._root)]
        seen = set(self._without)
        chosen: list[Tests] = []
        for stage in stages:
            fresh = {name: [id for id in ids if id not in seen] for name, ids in stage.items()}
            chosen.append({name: ids for name, ids in fresh.items() if ids})
            seen.update(id for ids in fresh.values() for id in ids)
        return chosen

    def _table_of(self, mutant: Mutant, source: str) -> str | None:
        """The module whose table a mutant changes, if it is in a call such as ``declare_cost(...)``."""
        first = source.splitlines()[mutant.statement[0] - 1]
        if (declaration := re.match(r"\s*(declare_\w+)\(", first)) is None:
            return None
        head = f"def {declaration[1]}("
        found = (path for path in sorted(self._root.glob("tape/**/*.py")) if head in path.read_text())
        path = next(found, None)
        return None if path is None else path.relative_to(self._root).as_posix()

    def _doubtful(self, results: Sequence[Result], coverage: CoverageMap) -> set[str]:
        """Tests that noticed a mutant, but that fail as well if they run alone without one."""
        ids = ({result["by"] for result in results} & set(coverage.times)) - self._confirmed
        names = files_of(sorted(ids))
        of = {name: sorted(id for id in ids if id.startswith(f"{name}::")) for name in names}
        doubtful: set[str] = set()
        tasks = self._workplace.each(
            names,
            lambda name: Task(
                lambda now: attempt([of[name]], coverage.times, 60.0, now, "--maxfail=999"), 600
            ),
        )
        for name, answer in tqdm(tasks, total=len(names), desc="without", unit="file", disable=not names):
            doubtful |= set(of[name] if "signal" in answer else answer["failed"])
        self._confirmed |= ids - doubtful
        return doubtful

    def run_in_full(self, results: Sequence[Result], coverage: CoverageMap, seconds: float) -> list[Result]:
        """What became of each mutant if those that survive are tried with all cases of the full tier.

        Parameters
        ----------
        results : sequence of Result
            As `run` returns them.
        coverage : CoverageMap
            Of the plain tier: the full one has other cases of the same tests.
        seconds : float
            How long the tests of one mutant may take.
        """
        found = {Mutant(**{**r["mutant"], "statement": tuple(r["mutant"]["statement"])}): r for r in results}
        survivors = [
            mutant
            for mutant, result in found.items()
            if result["verdict"] == "survived" and result.get("full", 0.0) < seconds
        ]

        def task(mutant: Mutant) -> Task:
            stages = self._tests_of(mutant, coverage)
            ids = [id for batch in coverage.batches(mutant.path, stages, float("inf")) for id in batch]
            functions = list(dict.fromkeys(map(function_of, ids)))
            limit = 120 + 4 * seconds
            return Task(
                lambda now: attempt_all(functions, seconds, now), limit, mutant, is_compiled(mutant.path)
            )

        progress = tqdm(total=len(survivors), desc="full tier", unit="mutant", disable=not survivors)
        for mutant, answer in self._workplace.each(survivors, task):
            verdict = _verdict(answer, 1)
            if verdict["by"] and self._fails_anyway(verdict["by"], seconds):
                verdict = {**verdict, "verdict": "survived", "by": ""}
            result = {**found[mutant], "full": seconds}
            if verdict["verdict"] != "survived":
                result.update(verdict, ran=result["ran"], by=f"{verdict['by']} (full tier)")
            self._keep([result])
            found[mutant] = result
            progress.update()
        progress.close()
        return list(found.values())

    def _fails_anyway(self, id: str, seconds: float) -> bool:
        """Whether the full tier of a test fails without a mutant."""
        task = Task(lambda now: attempt_all([function_of(id)], seconds, now), 120 + 4 * seconds)
        ((_, answer),) = self._workplace.each([id], lambda id: task)
        return "signal" in answer or bool(answer["failed"])

    # ---- results -----------------------------------------------------------------------------------

    def _keep(self, results: Sequence[Result]) -> None:
        with self._results.open("a") as file:
            file.writelines(json.dumps(result) + "\n" for result in results)

    def _known(self) -> dict[Mutant, Result]:
        """Results that still hold; of each mutant the last counts."""
        known: dict[Mutant, Result] = {}
        for line in self._results.read_text().splitlines() if self._results.exists() else ():
            result = json.loads(line)
            fields = result["mutant"]
            mutant = Mutant(**{**fields, "statement": tuple(fields["statement"])})
            known.pop(mutant, None)
            if result["sources"] == self._sources and self._is_final(result):
                known[mutant] = result
        return known

    def _is_final(self, result: Result) -> bool:
        """Whether a mutant was noticed, or survives as many of the tests as there are or as may be run."""
        if result["verdict"] not in ("survived", "untested"):
            return True
        all_that_may = result["ran"] == result["of"] or result["budget"] >= self._budget
        return all_that_may and result["tests"] == self._tests


def _together(files: dict[str, Path]) -> list[dict[str, Path]]:
    """Files that one process runs: of tests one, of doctests several, which take less time than a process."""
    tests = [{name: path} for name, path in files.items() if name.startswith("tests/")]
    doctests = [(name, path) for name, path in files.items() if not name.startswith("tests/")]
    return tests + [dict(doctests[k : k + _DOCTESTS]) for k in range(0, len(doctests), _DOCTESTS)]


def attempt(
    batches: Sequence[Sequence[str]], times: dict[str, float], patience: float, now: Path, option: str = "-x"
) -> dict[str, Any]:
    """Run tests within this process until one fails.

    Parameters
    ----------
    batches : sequence of sequence of str
        Their ids, one run of pytest after the other.
    times : dict of str to float
        How long they usually take.
    patience : float
        How many seconds more they may take.
    now : Path
        A file in which the id of the test is noted that is running.
    option : str
        Of pytest's: when to stop.

    Returns
    -------
    dict
        The ids of those that ``failed``, and how many ``ran``.
    """
    ran = 0
    for batch in batches:
        plugin = Chosen(batch, times, patience, lambda id: now.write_text(id or ""))
        run_tests(files_of(batch), plugin, option)
        ran += len(plugin.times)
        if plugin.failed:
            return {"failed": plugin.failed, "ran": ran}
    return {"failed": [], "ran": ran}


def attempt_all(functions: Sequence[str], seconds: float, now: Path) -> dict[str, Any]:
    """Run all cases of some tests within this process until one fails, as `attempt` does."""
    plugin = AllCases(functions, seconds, lambda id: now.write_text(id or ""))
    run_tests(files_of(functions), plugin, "-x", "--full")
    return {"failed": plugin.failed, "ran": len(plugin.times)}


def _verdict(answer: dict[str, Any], count: int) -> dict[str, Any]:
    """What the answer of a process says of its mutant."""
    if not count:
        return {"verdict": "untested", "by": "", "ran": 0}
    if "signal" in answer:
        timed_out = answer["signal"] in (signal.SIGALRM, signal.SIGKILL)
        return {"verdict": "timed out" if timed_out else "crashed", "by": answer["now"], "ran": 0}
    verdict = "caught" if answer["failed"] else "survived"
    return {"verdict": verdict, "by": next(iter(answer["failed"]), ""), "ran": answer["ran"]}
