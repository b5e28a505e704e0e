"""The parsers of the subcommands, the overview of them all, and messages for wrong command lines."""

from __future__ import annotations

from argparse import ArgumentParser, HelpFormatter, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from textwrap import fill
from typing import NoReturn

from tape import errors
from tape.command.bench import BENCH
from tape.command.command import Command
from tape.command.completion import COMPLETION
from tape.command.config import CONFIG
from tape.command.grad import GRAD
from tape.command.kernels import BUILD_KERNELS, WARM_UP
from tape.command.ops import OPS
from tape.command.plot import PLOT

COMMANDS: tuple[Command, ...] = (GRAD, PLOT, OPS, CONFIG, WARM_UP, BUILD_KERNELS, BENCH, COMPLETION)

_WIDTH = 80
_OVERVIEW = """\
usage: tape SUBCOMMAND ...        (or python -m tape SUBCOMMAND ...)

Derivatives of expressions: printed, drawn, stepped through.

subcommands:
{subcommands}

options:
  -h, --help    show this text
  --version     show the version of tape

`tape SUBCOMMAND --help` has details and examples. A first one:
  tape grad 'sin(a) + 0.2*sin(5*a)' a=0.3

exit status:
  0    done
  1    the computation failed, or the expression has a mistake
  2    the command line is wrong
  130  interrupted (Ctrl-C)
"""


class Parser(ArgumentParser):
    """A parser that raises `OptionError` instead of exiting."""

    def error(self, message: str) -> NoReturn:
        """Raise the message that argparse would print."""
        raise errors.OptionError(f"{message}. See {self.prog} --help")

    @property
    def options(self) -> list[str]:
        """All options, with their dashes."""
        return list(self._option_string_actions)


def _formatter(prog: str) -> HelpFormatter:
    return RawDescriptionHelpFormatter(prog, max_help_position=24, width=_WIDTH)


def parser_of(command: Command) -> Parser:
    """Return the parser of a subcommand.

    Examples
    --------
    >>> from tape.command.grad import GRAD
    >>> from tape.command.parser import parser_of
    >>> parser_of(GRAD).parse_args(["a*b", "a=1", "b=2"]).values
    ['a=1', 'b=2']
    """
    examples = "\n".join(f"  {example}" for example in command.examples)
    parser = Parser(
        prog=f"tape {command.name}",
        description=fill(command.description, _WIDTH - 2),
        epilog=f"examples:\n{examples}",
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    return parser


def overview() -> str:
    """Return the text of ``tape --help``."""
    width = max(len(command.name) for command in COMMANDS)
    lines = [f"  {command.name:<{width}}  {command.summary}" for command in COMMANDS]
    return _OVERVIEW.format(subcommands="\n".join(lines))


def parse(arguments: Sequence[str]) -> tuple[Command, Namespace]:
    """Parse a command line into its subcommand and options.

    Parameters
    ----------
    arguments : sequence of str
        The name of a subcommand first.

    Returns
    -------
    Command, argparse.Namespace
        Arguments that are passed on to another program are its ``rest``.

    Raises
    ------
    OptionError
        If there is no such subcommand or option, or one is not used as it should be.

    Examples
    --------
    >>> from tape.command.parser import parse
    >>> command, options = parse(["grad", "-x**2", "x=3", "--order", "2"])
    >>> command.name, options.expression.strip(), options.order
    ('grad', '-x**2', 2)
    """
    name, *others = arguments
    commands = {command.name: command for command in COMMANDS}
    if name not in commands:
        what = "option" if name.startswith("-") else "subcommand"
        hint = errors.near(name, [*commands, "--help", "--version"]) or ". See tape --help"
        raise errors.OptionError(f"there is no {what} {name}{hint}")
    command = commands[name]
    parser = parser_of(command)
    # argparse.REMAINDER would leave out options that come before everything else.
    if command.passes_on and others[:1] not in (["-h"], ["--help"]):
        return command, Namespace(rest=others[1:] if others[:1] == ["--"] else others)
    options, unknown = parser.parse_known_intermixed_args([_shielded(text) for text in others])
    if unknown:
        what = "option" if unknown[0].startswith("-") else "argument"
        hint = errors.near(unknown[0].partition("=")[0], parser.options) or f". See {parser.prog} --help"
        raise errors.OptionError(f"there is no {what} {unknown[0]}{hint}")
    return command, options


def _shielded(text: str) -> str:
    """Protect an argument that begins with a minus sign, as ``-x**2``, from being read as an option."""
    is_option = text.startswith("--") or text in ("-", "-h")
    return f" {text}" if text.startswith("-") and not is_option else text
