"""``tape config``: print versions, hardware and caches, and advice on speed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tape.command.command import Command
from tape.config import show_config


def _add_arguments(parser: ArgumentParser) -> None:
    """Add no arguments."""


def _run(options: Namespace) -> int:
    print(show_config())
    return 0


CONFIG = Command(
    name="config",
    summary="show versions, hardware and caches, with advice on speed",
    description="Print versions, cores, BLAS, threads and caches, and advice where something costs speed.",
    examples=("tape config",),
    add_arguments=_add_arguments,
    run=_run,
)
