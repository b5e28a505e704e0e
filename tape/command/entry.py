"""`main`: run a command line, and turn exceptions into a message and an exit status."""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Sequence
from io import StringIO, TextIOWrapper
from textwrap import fill

import tape
from tape import errors
from tape.command.parser import COMMANDS, overview, parse

_FAILED, _USAGE, _INTERRUPTED, _BROKEN_PIPE = 1, 2, 130, 141
_PLACE = re.compile(r" \[at [^\]\n]*:\d+\]")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``tape ...``.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``tape``; by default what the process was started with.

    Returns
    -------
    int
        The exit status: 0 done; 1 the computation failed, or the expression has a mistake; 2 the command
        line is wrong; 130 interrupted; 141 nobody reads the output any more.

    Examples
    --------
    >>> from tape.command import main
    >>> main(["grad", "a * sin(b)", "a=2", "b=0"])
    f = a * sin(b)
    <BLANKLINE>
    value  0.0
    df/da  0.0
    df/db  2.0
    <BLANKLINE>
    <Trace f: 4 nodes, 2 params>
    ...
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.stdout, sys.stderr = sys.stdout or StringIO(), sys.stderr or StringIO()  # closed ones, as by `>&-`
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal cannot show is a question mark there
            stream.reconfigure(errors="replace")
    try:
        status = _run(given)
        sys.stdout.flush()
    except SystemExit as finished:  # argparse has printed a help text
        return int(finished.code or 0)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # As in `tape ops | head`: the rest goes nowhere, also what Python flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except errors.OptionError as error:
        return _report(given, error, _USAGE)
    except errors.TapeError as error:
        return _report(given, error, _FAILED)
    except OSError as error:
        return _report(given, error, _FAILED)
    return status


def _run(arguments: list[str]) -> int:
    if arguments[:1] in (["-h"], ["--help"]):
        print(overview(), end="")
        return 0
    if arguments[:1] == ["--version"]:
        print(f"tape {tape.__version__}")
        return 0
    if not arguments:
        print(overview(), end="", file=sys.stderr)
        return _USAGE
    command, options = parse(arguments)
    with warnings.catch_warnings():
        # That a derivative is zero is an answer.
        warnings.simplefilter("ignore", errors.ConstantResultWarning)
        return command.run(options)


def _report(arguments: list[str], error: Exception, status: int) -> int:
    """Print an error, without the place in Python code: the user has written none."""
    if isinstance(error, OSError):
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    else:
        message = _PLACE.sub("", str(error))
    who = f"tape {arguments[0]}" if arguments[0] in {command.name for command in COMMANDS} else "tape"
    lines = "\n".join([f"{who}: {message}", *getattr(error, "__notes__", [])]).splitlines()
    if sys.stderr.isatty():  # whole words on each line; what is indented shows where a mistake is
        columns = shutil.get_terminal_size().columns
        lines = [line if line.startswith(" ") else fill(line, columns) for line in lines]
    print("\n".join(lines), file=sys.stderr)
    return status
