"""``tape plot``: a function of one variable and its derivatives, in the terminal and as a picture."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

import numpy as np

from tape import errors
from tape.command.canvas import ASCII, BRAILLE
from tape.command.chart import chart
from tape.command.command import FILE, Command
from tape.command.grad import positive
from tape.command.sampling import FAR, Curve, panels, sample
from tape.command.terminal import has_colours, writes_braille
from tape.command.values import assignments, check_names, expression_text, parsed_number, pieces, value
from tape.expressions import expression
from tape.inspect.words import one_line

_POINTS = 800
_MOST_POINTS = 100_000
_HIGHEST_ORDER = 20


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "expression", metavar="EXPR", help="such as 'sin(a*x)/x'; - reads stdin, @FILE a file"
    )
    parser.add_argument(
        "values",
        nargs="+",
        metavar="NAME=VALUE",
        help="a range for one variable, x=FROM:TO or x=FROM:TO:POINTS, and numbers for the others",
    )
    parser.add_argument(
        "--order", type=positive, default=1, metavar="N", help="the highest derivative to draw (default: 1)"
    )
    parser.add_argument(
        "--out", metavar=FILE, help="also save a picture: .png, .svg or .pdf; needs matplotlib"
    )
    parser.add_argument("--no-terminal", action="store_true", help="do not draw in the terminal")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII characters, without braille")


def _run(options: Namespace) -> int:
    if options.out is None and options.no_terminal:
        raise errors.OptionError("--no-terminal without --out draws nothing. Add --out plot.png")
    if options.out is not None:
        from tape.command.figure import save
        from tape.viz.drawing import checked_path
        from tape.viz.training import EXTENSIONS

        out = checked_path(options.out, EXTENSIONS)
    if options.order > _HIGHEST_ORDER:
        raise errors.OptionError(f"--order {options.order}: {_HIGHEST_ORDER} derivatives at most")
    text = expression_text(options.expression)
    f = expression(text)
    name, x, others = _point_values(assignments(options.values), list(f.variables))

    def alone(x: Any) -> Any:
        return f(**others, **{name: x}) if name in f.variables else f()

    curves = sample(alone, x, options.order, text)
    if options.out is not None:
        save(curves, text, name, out)
    if not options.no_terminal:
        _show(curves, text, name, is_ascii=options.ascii)
    if options.out is not None:
        print(f"wrote {options.out}", file=sys.stderr)
    return 0


def _point_values(given: dict[str, str], variables: list[str]) -> tuple[str, np.ndarray, dict[str, Any]]:
    """Return the variable of the horizontal axis, its grid, and the values of the others."""
    running = [name for name, text in given.items() if len(pieces(text, ":")) > 1]
    if len(running) != 1:
        name = (variables or ["x"])[0]
        raise errors.OptionError(
            f"{f'{len(running)} variables have' if running else 'no variable has'} a range. Give a range to "
            f"one, as {name}=-5:5, and numbers to the others"
        )
    (name,) = running
    check_names([other for other in given if other != name], variables, "the command line")
    if variables:
        check_names([name], variables, f"{name}={given[name]}")
    missing = [other for other in variables if other not in given]
    if missing:
        raise errors.OptionError(f"{missing[0]} has no value. Add {missing[0]}=1")
    others = {other: value(text, other) for other, text in given.items() if other != name}
    for other, constant in others.items():
        if np.shape(constant):
            raise errors.OptionError(f"{other} is an array. In a plot all but {name} are single numbers")
    return name, _grid(name, given[name]), others


def _grid(name: str, text: str) -> np.ndarray:
    parts = pieces(text, ":")
    if len(parts) > 3:
        raise errors.OptionError(
            f"{name}={text} is not a range. Write {name}=FROM:TO or {name}=FROM:TO:POINTS"
        )
    low, high = (parsed_number(part, name) for part in parts[:2])
    points = _POINTS
    if len(parts) == 3:
        if not parts[2].isascii() or not parts[2].isdecimal() or not 2 <= int(parts[2]) <= _MOST_POINTS:
            raise errors.OptionError(f"{name}={text}: the number of points is from 2 to {_MOST_POINTS}")
        points = int(parts[2])
    if any(np.iscomplexobj(end) or not abs(end) < FAR for end in (low, high)) or not low < high:
        raise errors.OptionError(f"{name}={text}: a range goes from a number up to a larger one, as -5:5")
    return np.linspace(float(low), float(high), points)


# ---- the terminal ----------------------------------------------------------------------------


def _show(curves: list[Curve], text: str, name: str, *, is_ascii: bool) -> None:
    size = shutil.get_terminal_size()
    marks = ASCII if is_ascii or not writes_braille(sys.stdout) else BRAILLE
    groups = panels(curves)
    rows = max(min(size.lines - 6, 24) // len(groups), 9)
    print(one_line(f"f({name}) = {text}", size.columns))
    for group in groups:
        lines = chart(group, min(size.columns, 100), rows, marks, is_coloured=has_colours(sys.stdout))
        print("", *lines, sep="\n")
    for curve in curves:
        if curve.is_empty:
            print(f"{curve.label} is finite nowhere here")


PLOT = Command(
    name="plot",
    summary="draw a function of one variable and its derivatives",
    description=(
        "Draw an expression of one variable and its derivatives in the terminal, and with --out as a "
        "picture. All derivatives come from one sweep of power series; exact slopes show where poles are. "
        "Colours are used in a terminal unless NO_COLOR is set."
    ),
    examples=(
        "tape plot 'sin(x) + 0.2*sin(5*x)' x=-6.28:6.28",
        "tape plot 'exp(-x**2)' x=-3:3 --order 2 --out gauss.png",
        "tape plot 'a*tan(x)' x=-2*pi:2*pi:2000 a=0.5    # 2000 points",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
