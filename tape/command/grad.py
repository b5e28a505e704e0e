"""``tape grad``: the value of an expression, its derivatives, and the tape they come from."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tape import errors
from tape.command.command import FILE, Command
from tape.command.derivatives import Derivatives, along, differentiate, higher
from tape.command.report import as_json, as_text, facts
from tape.command.terminal import has_colours
from tape.command.values import assignments, check_names, expression_text, is_assignment, pieces, value
from tape.expressions import expression

_STDOUT = "-"


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "expression", metavar="EXPR", help="such as 'a * sin(b)'; - reads stdin, @FILE a file"
    )
    parser.add_argument(
        "values",
        nargs="*",
        default=[],
        metavar="NAME=VALUE",
        help="a number (0.3, 2*pi), an array ([1,2,3], [[1,2],[3,4]]), or a file (@x.npy, @x.csv)",
    )
    parser.add_argument("--wrt", metavar="NAME,...", help="variables to differentiate by (default: all)")
    parser.add_argument(
        "--order",
        type=positive,
        default=1,
        metavar="N",
        help="all derivatives up to this order: of one variable, mixed ones of several numbers, or (N = 2) "
        "the Hessian of arrays",
    )
    parser.add_argument(
        "--jvp", metavar="NAME=VALUE,...", help="the derivative along this direction (default: 0)"
    )
    parser.add_argument(
        "--dot",
        nargs="?",
        const=_STDOUT,
        metavar=FILE,
        help="write the graph as DOT, to a file or instead of the report",
    )
    parser.add_argument("--html", metavar=FILE, help="write an HTML page that steps through both passes")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print everything as JSON; NaN and infinities are strings",
    )


def positive(text: str) -> int:
    """Parse a positive integer; anything else is a usage error."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text.strip()!r} is not a whole number from 1 up")
    return int(text)


def _run(options: Namespace) -> int:
    if options.dot is not None and is_assignment(options.dot):  # `--dot a=1`: no file was meant
        options.values = [*options.values, options.dot]
        options.dot = _STDOUT
    _check_files(options)
    text = expression_text(options.expression)
    given = assignments(options.values)
    f = expression(text)
    names = list(f.variables)
    if is_assignment(text) and not names and not given:
        raise errors.OptionError(
            f"{text} is a value, and there is no expression. Write it first: tape grad 'a*b' a=1 b=2"
        )
    check_names(given, names, "the command line")
    missing = [name for name in names if name not in given]
    if missing:
        example = " ".join(f"{name}=0.5" for name in missing)
        raise errors.OptionError(f"{', '.join(missing)} {_has(missing)} no value. Add {example}")
    values = {name: value(given[name], name) for name in names}
    wanted = names if options.wrt is None else pieces(options.wrt)
    check_names(wanted, names, "--wrt")
    tangents = _tangents(options.jvp, names)
    if options.dot == _STDOUT and options.json:
        raise errors.OptionError("--dot and --json both write to stdout. Give --dot a file")
    with np.errstate(all="ignore"):  # the report says what is not finite, and where it came from
        found = differentiate(f, values, wanted)
        if options.jvp is not None:
            along(found, tangents)
        if options.order > 1:
            higher(found, options.order)
    _write(found, options)
    return 0


def _check_files(options: Namespace) -> None:
    """Check that files can be written, before anything is computed."""
    if options.html is None and options.dot in (None, _STDOUT):
        return
    from tape.viz.drawing import checked_path

    checked_path(options.html, ("html", "htm"))
    if options.dot != _STDOUT:
        checked_path(options.dot)


def _has(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _tangents(text: str | None, names: list[str]) -> dict[str, Any]:
    if text is None:
        return {}
    given = assignments(pieces(text))
    check_names(given, names, "--jvp")
    return {name: value(tangent, name) for name, tangent in given.items()}


def _write(found: Derivatives, options: Namespace) -> None:
    written = []
    if options.html is not None:
        _need_root(found, "--html")
        from tape.viz.stepper import html

        # Recorded again, with the places in the text: what is printed does not depend on the page.
        again = differentiate(found.f, found.values, list(found.partials), sites=True)
        html(again.trace, options.html)
        written.append(options.html)
    if options.dot is not None:
        _need_root(found, "--dot")
        from tape.viz.dot import dot

        graph = dot(found.trace, root=found.root)
        if options.dot != _STDOUT:
            Path(options.dot).write_text(graph + "\n", encoding="utf-8")
            written.append(options.dot)
    if options.dot == _STDOUT:
        print(graph)
    elif options.json:
        print(json.dumps(as_json(found), indent=2, allow_nan=False))
    elif found.trace.nodes and has_colours(sys.stdout) and find_spec("rich") is not None:
        from rich.console import Console

        print(facts(found), end="\n\n")
        Console(file=sys.stdout, force_terminal=True).print(found.trace)
    else:
        print(as_text(found))
    for path in written:
        print(f"wrote {path}", file=sys.stderr)


def _need_root(found: Derivatives, option: str) -> None:
    if found.root is None:
        raise errors.OptionError(f"{option}: the expression has no variables, so there is no tape to show")


GRAD = Command(
    name="grad",
    summary="print the value, the derivatives and the tape of an expression",
    description=(
        "Evaluate an expression, differentiate it by all its variables, and show the tape (the Wengert list) "
        "with the adjoint of every node. Of an array, the sum of the elements is differentiated."
    ),
    examples=(
        "tape grad 'sin(a) + 0.2*sin(5*a)' a=0.3",
        "tape grad 'a * exp(-b)' a=2 b=0.5 --order 2    # and all second derivatives",
        "tape grad 'sum(tanh(W @ x))' W='[[1,2],[3,4]]' x='[0.1,0.2]' --wrt W",
        "tape grad 'a*b' a=3 b=4 --jvp a=1,b=0          # along a direction",
        "tape grad 'a*b' a=3 b=4 --dot | dot -Tsvg > graph.svg",
        "tape grad 'a*b' a=3 b=4 --html passes.html     # step through both passes",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
