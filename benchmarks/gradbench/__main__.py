"""A tool for GradBench: ``gradbench run --eval ... --tool "python -m benchmarks.gradbench"``.

It answers each line of standard input, a message in JSON, by one line on standard output, and runs in one
thread unless ``--multithreaded`` is given. The protocol is that of GradBench's ``CONTRIBUTING.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.machine import limit_threads


def main(arguments: Sequence[str] | None = None) -> None:
    """Answer messages until the input ends.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gradbench", description="Answer the messages of a GradBench evaluation."
    )
    parser.add_argument("--multithreaded", action="store_true", help="use all cores for large arrays")
    if not parser.parse_args(arguments).multithreaded:
        limit_threads(1)
    from benchmarks.gradbench.protocol import serve  # NumPy reads the number of threads when it is imported

    try:
        serve(sys.stdin, sys.stdout)
    except BrokenPipeError:  # the evaluation has ended first
        sys.stderr.close()


if __name__ == "__main__":
    main()
