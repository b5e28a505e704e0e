"""Forked processes at work, each in a copy of the repository of its own, in which one file may be changed."""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from tqdm import tqdm

from tests.mutation.operators import Mutant

__all__ = ["Task", "Workplace"]

_PARTS = (
    "tape", "tests", "benchmarks", "examples", "docs", "README.md", "mkdocs.yml",
    "pyproject.toml", "LICENSE",
)  # fmt: skip
_LIBRARIES = (
    "numpy", "numpy.testing", "scipy.fft", "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.special",
    "scipy.stats", "llvmlite.binding", "optree", "pytest", "hypothesis", "hypothesis.extra.numpy", "tqdm",
)  # fmt: skip
_MOST_BYTES = 12 << 30

Job = TypeVar("Job")


@dataclass
class Task:
    """What a process has to do.

    Attributes
    ----------
    work : callable
        Is given a file in which it may note what it is at; returns what JSON can hold.
    limit : float
        After so many seconds it is given up.
    mutant : Mutant, optional
        How its copy of the repository differs.
    is_compiled : bool
        Whether the mutant is one of machine code, which must not be that of other sources.
    """

    work: Callable[[Path], dict[str, Any]]
    limit: float
    mutant: Mutant | None = None
    is_compiled: bool = False


class Workplace:
    """Some copies of the repository, and what is needed to work in them at the same time.

    Parameters
    ----------
    root : Path
        The repository, which is only read.
    folder : Path
        For the copies and for the machine code.
    processes : int
        How many copies.
    """

    def __init__(self, root: Path, folder: Path, processes: int) -> None:
        self._root = root
        self._folder = folder
        self._changed: dict[int, str] = {}
        self._slots = range(processes)
        # The lock of progress bars is one for all forked processes: one that is killed while it holds the
        # lock would stop this process. Each gets its own, and no thread holds it while another is forked.
        tqdm.monitor_interval = 0
        tqdm.set_lock(RLock())
        for name in _LIBRARIES:  # what does not change need not be imported by each process
            importlib.import_module(name)
        for slot in self._slots:
            _copy(root, self._tree(slot))

    def each(self, jobs: Iterable[Job], task: Callable[[Job], Task]) -> Iterator[tuple[Job, dict[str, Any]]]:
        """Do all jobs, and yield each with its answer when it is done.

        Parameters
        ----------
        jobs : iterable
            Anything.
        task : callable
            Says what is to be done for one; called when there is a process for it.

        Yields
        ------
        job : object
            As it was given.
        answer : dict
            What the work returned, or the ``signal`` that ended it, with the ``seconds`` that it took and
            what it noted last, as ``now``.
        """
        waiting = iter(jobs)
        busy: dict[int, tuple[Job, _Child]] = {}
        try:
            while True:
                for slot in self._slots:
                    if slot not in busy and (job := next(waiting, None)) is not None:
                        busy[slot] = job, self._start(slot, task(job))
                if not busy:
                    return
                time.sleep(0.02)
                for slot, (job, child) in list(busy.items()):
                    answer = child.poll()
                    if answer is not None:
                        del busy[slot]
                        yield job, answer
        finally:
            for _, child in busy.values():
                child.kill()

    def _tree(self, slot: int) -> Path:
        return self._folder / f"tree-{slot}"

    def _start(self, slot: int, task: Task) -> _Child:
        self._change(slot, task.mutant)
        caches = self._folder / "caches"
        if task.is_compiled:
            caches = self._folder / f"caches-{slot}"
            shutil.rmtree(caches, ignore_errors=True)
        return _fork(task, self._tree(slot), caches)

    def _change(self, slot: int, mutant: Mutant | None) -> None:
        """Apply a mutant to a copy, and take back the one before.

        The time of the file is another one, so that Python does not take the bytecode of the original.
        """
        tree = self._tree(slot)
        if slot in self._changed:
            path = self._changed.pop(slot)
            shutil.copy2(self._root / path, tree / path)
        if mutant is not None:
            self._changed[slot] = mutant.path
            original = self._root / mutant.path
            (tree / mutant.path).write_text(mutant.applied(original.read_text()))
            later = original.stat().st_mtime + 1000
            os.utime(tree / mutant.path, (later, later))


def _copy(root: Path, folder: Path) -> None:
    """Make a folder the copy of the repository, but for what Python has cached in it.

    Files that are the same are not touched, so that the caches remain valid.
    """
    for part in _PARTS:
        source, target = root / part, folder / part
        files = [source] if source.is_file() else [path for path in source.rglob("*") if path.is_file()]
        wanted = {target / path.relative_to(source) for path in files if "__pycache__" not in path.parts}
        for path in target.rglob("*") if target.is_dir() else ():
            if path.is_file() and "__pycache__" not in path.parts and path not in wanted:
                path.unlink()
        for path in wanted:
            original = source / path.relative_to(target)
            if not path.exists() or path.read_bytes() != original.read_bytes():
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(original, path)


class _Child:
    """A process at work on a task."""

    def __init__(self, id: int, answer: Path, limit: float) -> None:
        self._id = id
        self._answer = answer
        self._started = time.monotonic()
        self._limit = limit

    def poll(self) -> dict[str, Any] | None:
        """What the process has to say, once it has ended."""
        ended, status = os.waitpid(self._id, os.WNOHANG)
        seconds = time.monotonic() - self._started
        if not ended:
            if seconds < self._limit:
                return None
            self.kill()
            _, status = os.waitpid(self._id, 0)
        self.kill()  # what it has started and left behind
        about = {"seconds": round(seconds, 1), "now": _read(self._answer.with_suffix(".now"))}
        if os.WIFSIGNALED(status):
            return {"signal": os.WTERMSIG(status), **about}
        text = _read(self._answer)
        return {**(json.loads(text) if text else {"signal": 0}), **about}

    def kill(self) -> None:
        """End the process and what it has started: all of them are one group."""
        try:
            os.killpg(self._id, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _fork(task: Task, tree: Path, caches: Path) -> _Child:
    """Start a process that imports `tape` from a copy of the repository."""
    answer = tree.with_suffix(".json")
    now = answer.with_suffix(".now")
    for path in (answer, now):
        path.unlink(missing_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    id = os.fork()
    if id:
        return _Child(id, answer, task.limit)
    status = 1
    try:
        os.setsid()
        _settle(tree, caches, keep=task.mutant is None)
        answer.write_text(json.dumps(task.work(now)))
        status = 0
    except BaseException:
        answer.with_suffix(".error").write_text(traceback.format_exc())
    finally:
        os._exit(status)


def _settle(tree: Path, caches: Path, *, keep: bool) -> None:
    """Make a forked process a stranger to the repository that it comes from.

    Parameters
    ----------
    tree : Path
        Where it finds `tape` from now on.
    caches : Path
        Where machine code is kept.
    keep : bool
        Whether Python keeps bytecode.
    """
    for descriptor in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for module in [name for name in sys.modules if name.partition(".")[0] in ("tape", "tests")]:
        del sys.modules[module]
    before = Path.cwd()
    os.chdir(tree)
    sys.path[:] = [str(tree), *(path for path in sys.path if path and Path(path) != before)]
    sys.dont_write_bytecode = not keep
    os.environ.update(PYTHONPATH=str(tree), TAPE_CACHE_DIR=str(caches / "tape"), TAPE_TESTS_FORK="1")
    if not keep:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    gc.unfreeze()
