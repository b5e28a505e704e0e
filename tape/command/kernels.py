"""``tape warm-up`` and ``tape build-kernels``: machine code before anybody waits for it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec

from tape.command.command import Command
from tape.program.native.warming import build_kernels, levels_here, warm_up


def _no_arguments(parser: ArgumentParser) -> None:
    """Add none."""


def _shows_progress() -> bool:
    return sys.stderr.isatty() and find_spec("tqdm") is not None


def _warm_up(options: Namespace) -> int:
    is_there = warm_up(progress=_shows_progress())
    print("machine code is there" if is_there else "no machine code can run here")
    return 0 if is_there else 1


WARM_UP = Command(
    name="warm-up",
    summary="compile all machine code now",
    description=(
        "Wait until all machine code is compiled for this processor, about a minute, once. Without it, the "
        "first programs run as plain Python meanwhile. For images of containers, and before measurements."
    ),
    examples=("tape warm-up",),
    add_arguments=_no_arguments,
    run=_warm_up,
)


def _add_levels(parser: ArgumentParser) -> None:
    parser.add_argument(
        "levels", nargs="*", metavar="LEVEL", help=f"levels of processors: {', '.join(levels_here())}; all"
    )


def _build(options: Namespace) -> int:
    for folder in build_kernels(options.levels or levels_here(), progress=_shows_progress()):
        print(folder)
    return 0


BUILD_KERNELS = Command(
    name="build-kernels",
    summary="compile machine code into the package, for wheels",
    description=(
        "Compile all machine code for levels of processors into the package. A wheel that is built of it "
        "afterwards compiles nothing where it is installed, with the same kind of Python."
    ),
    examples=("tape build-kernels", "tape build-kernels x86-64-v3"),
    add_arguments=_add_levels,
    run=_build,
)
