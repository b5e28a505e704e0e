"""``tape completion``: prints a script that makes a shell complete ``tape``.

shtab writes it from the parsers themselves, so that it cannot differ from what ``tape`` takes.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tape.command.command import FILE, Command
from tape.system.extras import need

_SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS))


def _run(options: Namespace) -> int:
    print(script(options.shell), end="")
    return 0


def script(shell: str) -> str:
    """Return the script that a shell reads to complete ``tape``.

    Parameters
    ----------
    shell : {"bash", "zsh", "fish", "tcsh", "powershell"}
        The shell it is for.

    Returns
    -------
    str

    Raises
    ------
    UnsupportedError
        If shtab is not installed.

    Examples
    --------
    >>> import pytest; _ = pytest.importorskip("shtab")
    >>> from tape.command.completion import script
    >>> "-F _shtab_tape tape" in script("bash")
    True
    """
    shtab = need("shtab", "completion scripts", "completion")
    from tape.command.parser import COMMANDS  # which has this subcommand, too

    parser = ArgumentParser("tape")
    parser.add_argument("--version", action="version", help="show the version of tape")
    subcommands = parser.add_subparsers()
    for command in COMMANDS:
        subparser = subcommands.add_parser(command.name, help=command.summary)
        command.add_arguments(subparser)
        for action in subparser._actions:
            if action.metavar == FILE:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


COMPLETION = Command(
    name="completion",
    summary="print a script for completion in your shell",
    description=(
        "Print a completion script for a shell, written from the parsers of tape. Needs shtab: "
        "pip install 'tape[completion]'."
    ),
    examples=(
        'eval "$(tape completion bash)"                  # for instance in ~/.bashrc',
        'eval "$(tape completion zsh)"                   # in ~/.zshrc, after compinit',
        "tape completion fish > ~/.config/fish/completions/tape.fish",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
