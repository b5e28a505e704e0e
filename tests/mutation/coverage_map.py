"""Which tests execute which line.

A test is one item of pytest's; a few operations of `tests.op_table` make one. Test files are run one at a
time in a process each, and what was found is kept in a file each, under the digest of all that it depends on.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from tests.mutation.session import Chosen, run_tests

__all__ = ["Part", "digest", "file_of", "files_of", "load", "measure", "test_files"]

_UNSUITABLE = (
    "CONTRIBUTING.md", "tests/test_mutation.py", "tests/test_viz_stepper_browser.py",
    "tests/test_benchmarks.py",
)  # fmt: skip
"""A guide whose examples need files that it tells to write, this itself, a browser, and times."""


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
        File, line, and a number whose bit k says whether test k executed it, or a fixture that it shares.
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
    notes = [lambda name: coverage.switch_context(name or "")] * 2
    plugin = Chosen(None, {}, 0.0, *notes)
    run_tests(list(kept), plugin)
    coverage.stop()
    if "pytest" in plugin.failed:  # nothing was seen that would be worth keeping
        return {"failed": plugin.failed}
    unusable = {*plugin.failed, *plugin.skipped}
    parts = {name: Part(failed=[id for id in plugin.failed if file_of(id) == name]) for name in kept}
    places: dict[str, list[tuple[Part, int]]] = {}
    for id, seconds in plugin.times.items():
        if id not in unusable:
            part = parts[file_of(id)]
            places[id] = [(part, len(part.tests))]
            part.tests.append(id)
            part.times.append(seconds)
    for fixture, ids in plugin.sharing.items():
        places[fixture] = [place for id in ids for place in places.get(id, ())]
    data = coverage.get_data()
    for path in data.measured_files():
        module = Path(path).relative_to(Path.cwd()).as_posix()
        for line, contexts in data.contexts_by_lineno(path).items():
            for part, k in chain.from_iterable(places.get(id, ()) for id in contexts):
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


def files_of(ids: Sequence[str]) -> list[str]:
    """The files that tests are in, in the order of the tests."""
    return list(dict.fromkeys(map(file_of, ids)))


def file_of(id: str) -> str:
    """The file that a test is in."""
    return id.partition("::")[0]
