"""Runs of pytest within this process: only some tests, in a given order, with a time limit each."""

from __future__ import annotations

import io
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest

__all__ = ["AllCases", "Chosen", "function_of", "run_tests"]

_GRACE = 20.0
"""Seconds that each test may take whatever it took before: the computer may be busy."""


class Chosen:
    """A plugin of pytest's that runs some tests, in order of preference, and notes how each went.

    Parameters
    ----------
    order : sequence of str or None
        Ids of the tests; None for all, as they come.
    expected : dict of str to float
        How long they take, in seconds. One that takes much longer ends the process by a signal.
    patience : float
        Seconds more than that.
    around : callable, optional
        Called with the id of each test before it starts, and with None after it.
    making : callable, optional
        Called with each fixture that several tests share before it is made, and with the id of the test
        that is first to ask for it after that.

    Attributes
    ----------
    times : dict of str to float
        Seconds that each test took.
    failed : list of str
        Tests, or files that cannot be imported.
    skipped : set of str
        Tests.
    sharing : dict of str to list of str
        By fixture, as `making` is called with it, the tests that have it.
    """

    def __init__(
        self,
        order: Sequence[str] | None,
        expected: dict[str, float],
        patience: float = 0.0,
        around: Callable[[str | None], None] | None = None,
        making: Callable[[str | None], None] | None = None,
    ) -> None:
        self._order = None if order is None else {id: k for k, id in enumerate(order)}
        self._expected = expected
        self._patience = patience
        self._around = around or (lambda id: None)
        self._making = making or (lambda name: None)
        self.times: dict[str, float] = {}
        self.failed: list[str] = []
        self.skipped: set[str] = set()
        self.sharing: dict[str, list[str]] = {}
        self._now: str | None = None

    def pytest_sessionstart(self) -> None:
        """What hangs when it is imported ends as well."""
        self._limit(3 * _GRACE)

    def _limit(self, seconds: float) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds + self._patience if self._expected else 0)

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Leave the chosen ones."""
        for item in items:
            for definitions in item._fixtureinfo.name2fixturedefs.values():
                if _is_shared(definitions[-1]):
                    self.sharing.setdefault(_name(definitions[-1]), []).append(item.nodeid)
        if self._order is not None:
            order = self._order
            items[:] = sorted(
                (item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid]
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """What a fixture executes for several tests is not only the first one's, nor is the time it takes."""
        if not _is_shared(fixturedef):
            return (yield)
        before, name = self._now, _name(fixturedef)
        self._now = name
        self._making(name)
        self._limit(self._usual(name))
        try:
            return (yield)
        finally:
            self._now = before
            self._making(before)
            self._limit(self._usual(before))

    def _usual(self, name: str | None) -> float:
        """How many seconds a test may take, or a fixture: in the map its time is that of one of its tests."""
        ids = self.sharing.get(name or "", [name or ""])
        return _GRACE + 10 * max((self._expected.get(id, 0.0) for id in ids), default=0.0)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """The clock starts."""
        self._limit(self._usual(nodeid))
        self._started = time.perf_counter()
        self._now = nodeid
        self._around(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """The clock stops."""
        self._now = None
        self._around(None)
        self.times[nodeid] = time.perf_counter() - self._started
        signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note failures, of fixtures as well."""
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
        if report.skipped:
            self.skipped.add(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        """What cannot be imported has failed, too."""
        if report.failed:
            self.failed.append(report.nodeid)


class AllCases(Chosen):
    """A plugin that runs all cases of some tests, as many as there are, until the time is up.

    Parameters
    ----------
    functions : sequence of str
        Ids of the tests without their cases, in order of preference.
    seconds : float
        How long they may take together.
    around : callable
        As for `Chosen`.
    """

    def __init__(
        self, functions: Sequence[str], seconds: float, around: Callable[[str | None], None] | None = None
    ) -> None:
        super().__init__(None, {}, around=around)
        self._functions = {function: k for k, function in enumerate(functions)}
        self._end = time.perf_counter() + seconds

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Leave the cases of the chosen ones."""
        order = self._functions
        chosen = [item for item in items if function_of(item.nodeid) in order]
        items[:] = sorted(chosen, key=lambda item: order[function_of(item.nodeid)])

    @pytest.hookimpl
    def pytest_runtest_teardown(self, item: Any) -> None:
        """Stop when the time is up."""
        if time.perf_counter() > self._end:
            item.session.shouldstop = "the time is up"


def function_of(id: str) -> str:
    """The id of a test without its case."""
    return id.partition("[")[0]


def _is_shared(definition: Any) -> bool:
    return definition.scope != "function"


def _name(definition: Any) -> str:
    """What a fixture is called where ids of tests are expected."""
    return f"{definition.baseid}::{definition.argname} (fixture)"


def run_tests(paths: Sequence[str], plugin: Chosen, *options: str) -> None:
    """Run pytest within this process, quietly, with random tests that are the same in each run.

    If pytest itself does not get far enough to run a test, "pytest" has failed.
    """
    from hypothesis import settings

    settings.register_profile("mutation", derandomize=True, database=None, deadline=None)
    settings.load_profile("mutation")
    plugins = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler"]
    ignored = [
        *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # imported before the fork
        *("-W", "ignore::pytest.PytestConfigWarning"),  # of options of plugins that are left out
    ]
    others = "--continue-on-collection-errors"  # one file that pytest cannot collect does not stop the others
    arguments = ["-q", others, *plugins, *ignored, *options, *paths]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        status = pytest.main(arguments, plugins=[plugin])
    if status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR) and not plugin.failed:
        plugin.failed.append("pytest")
