"""Tests that fork, and claims about forked processes."""

import inspect
import os
import signal
import subprocess
import sys
import traceback

import pytest

__all__ = ["forks", "in_a_fork"]

_IN_THIS_PROCESS = "TAPE_TESTS_FORK"
"""Environment variable: tests that fork run where they are collected, as the runner of mutants asks for."""

_SECONDS = 300
"""How long one may take in a process of its own, which imports everything anew."""


def forks(test):
    """Run a test in a fresh process: a fork of one where a library has threads, such as JAX, may hang.

    Parameters
    ----------
    test : callable
        May take fixtures.

    Returns
    -------
    callable
        A test without arguments.
    """
    if not hasattr(os, "fork"):
        return pytest.mark.skip(reason="needs os.fork")(test)
    if _IN_THIS_PROCESS in os.environ:
        return pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")(test)

    def alone():
        place = f"{inspect.getfile(test)}::{test.__name__}"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", place]
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        run = subprocess.run(
            command,
            env={**variables, _IN_THIS_PROCESS: "1"},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        assert run.returncode == 0, run.stdout + run.stderr

    alone.__name__, alone.__doc__, alone.__module__ = test.__name__, test.__doc__, test.__module__
    return alone


def in_a_fork(claim, seconds=60):
    """Whether a claim holds in a forked process, which is killed if it takes too long.

    Parameters
    ----------
    claim : callable
        Without arguments. What it raises is printed, and counts as False.
    seconds : int
        How long it may take.

    Returns
    -------
    bool
    """
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(seconds)
            os._exit(0 if claim() else 1)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0
