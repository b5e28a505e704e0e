"""``tape bench``: run the benchmarks of the repository, which are not installed with the package."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

import tape
from tape import errors
from tape.command.command import Command


def _add_arguments(parser: ArgumentParser) -> None:
    """Add no arguments: all are passed on."""


def _run(options: Namespace) -> int:
    checkout = _checkout()
    if checkout is None:
        raise errors.OptionError(
            "the benchmarks are not installed with tape, they are in its repository: clone that, "
            "run pip install -e '.[bench]' there, and tape bench again"
        )
    # A process of its own: the number of threads has to be limited before NumPy is imported. Not the folder
    # it is started in, but the checkout says which benchmarks are meant (-P).
    paths = [str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-P", "-m", "benchmarks", *options.rest]
    return subprocess.run(
        command, env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)}, check=False
    ).returncode


def _checkout() -> Path | None:
    """Return the root of the repository this package is in; None if it is installed elsewhere."""
    root = Path(tape.__file__).parent.parent
    return root if (root / "benchmarks" / "__main__.py").is_file() else None


BENCH = Command(
    name="bench",
    summary="run the benchmarks, from a checkout of the repository",
    description=(
        "Run `python -m benchmarks` of the repository that tape is installed from (pip install -e). All "
        "arguments are passed on; `tape bench -- --help` says which there are."
    ),
    examples=("tape bench --list", "tape bench mlp --seconds 1", "tape bench -- --help"),
    add_arguments=_add_arguments,
    run=_run,
    passes_on=True,
)
