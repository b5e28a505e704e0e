"""The matrix of Pythons and libraries: ``nox`` runs all of it, ``nox -s "tests-3.13"`` one session.

Arguments go to pytest: ``nox -s tests-3.13 -- tests/test_ops.py``. Interpreters that are not installed are
skipped by nox.
"""

import tomllib
from pathlib import Path

import nox

nox.options.sessions = ["tests", "oldest_versions", "free_threaded", "checks"]

PROJECT = tomllib.loads(Path("pyproject.toml").read_text())["project"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
FREE_THREADED = ["3.13t", "3.14t"]
"""numba has no wheels for 3.13t: there the session fails until it has."""
FEW = ["pytest", "pytest-xdist", "hypothesis"]
"""What tests cannot do without; the others are skipped where their libraries are missing."""


def oldest() -> list[str]:
    """Return the oldest versions of the dependencies, as pyproject.toml states them."""
    return [requirement.replace(">=", "==") + ".*" for requirement in PROJECT["dependencies"]]


def run_tests(session: nox.Session) -> None:
    """Run the plain tier of the tests, or those that were asked for."""
    session.run("python", "-m", "pytest", "-n", "auto", *session.posargs)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests with the newest versions of everything."""
    session.install("--upgrade", "-e", ".[test]")
    run_tests(session)


@nox.session(python="3.11")
def oldest_versions(session: nox.Session) -> None:
    """Run the tests with the oldest versions of the dependencies."""
    session.install("-e", ".[test]", *oldest())
    run_tests(session)


@nox.session(python=FREE_THREADED)
def free_threaded(session: nox.Session) -> None:
    """Run the tests in interpreters without the global lock, which few other libraries support."""
    session.install("-e", ".", *FEW)
    run_tests(session)


@nox.session(python="3.11")
def checks(session: nox.Session) -> None:
    """Run the linter, the formatter, the type checker and the check of layers."""
    session.install("-e", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
