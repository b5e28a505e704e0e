"""`Command`: the declaration of a subcommand.

Knows nothing of the subcommands themselves; each has a file of its own beside this one.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

FILE = "FILE"
"""The metavar of arguments that name a file: shells complete them so."""


@dataclass(frozen=True)
class Command:
    """A subcommand of ``tape``.

    Attributes
    ----------
    name : str
        As it is typed.
    summary : str
        One line, for the list of subcommands.
    description : str
        What its own ``--help`` says first.
    examples : tuple of str
        Command lines to copy, for the end of ``--help``; each may end with a ``# comment``.
    add_arguments : callable
        Declares its arguments on a parser.
    run : callable
        Does the work; returns the exit status.
    passes_on : bool
        Whether all its arguments are for another program, and kept as ``options.rest``.
    """

    name: str
    summary: str
    description: str
    examples: tuple[str, ...]
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
    passes_on: bool = False
