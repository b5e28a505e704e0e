"""``tape ops``: the table of supported functions, measured when it is printed."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec

from tape import errors
from tape.command.command import Command
from tape.support.report import functions, markdown, report, text


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="FUNCTION",
        help="such as np.sum, or a part of names, such as linalg (default: all)",
    )
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown")
    parser.add_argument("--list", action="store_true", help="print the names only, without trying them")


def _run(options: Namespace) -> int:
    names = _chosen(options.names, sorted(functions(), key=str.lower))
    if options.list:
        print("\n".join(names))
        return 0
    is_bar_shown = sys.stderr.isatty() and len(names) > 20 and find_spec("tqdm") is not None
    found = report(names, progress=is_bar_shown)
    print((markdown if options.markdown else text)(found).rstrip("\n"))
    return 0


def _chosen(asked: list[str], known: list[str]) -> list[str]:
    """Return the functions meant by the arguments: exact names, or all that contain the text."""
    chosen: dict[str, None] = {}
    for name in asked:
        exact = [one for one in known if one in (name, f"np.{name}", f"scipy.special.{name}")]
        meant = exact or [one for one in known if name.lower() in one.lower()]
        if not meant:
            hint = errors.near(name, known) or ". See tape ops --list"
            raise errors.OptionError(f"there is no function {name}{hint}")
        chosen |= dict.fromkeys(meant)
    return list(chosen) if asked else known


OPS = Command(
    name="ops",
    summary="show which derivatives and modes every function supports",
    description=(
        "Try functions and print what they support: reverse mode (vjp), forward mode (jvp), second order, "
        "complex numbers, and whether programs run them natively. All of them take some seconds."
    ),
    examples=(
        "tape ops",
        "tape ops np.sum exp          # these two",
        "tape ops linalg              # all that have linalg in their names",
        "tape ops --markdown > ops.md",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
