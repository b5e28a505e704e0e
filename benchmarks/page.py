"""A page of figures from a run that was saved: ``python -m benchmarks.page FILE``.

Writes Markdown to ``docs/figures.md``, or where ``--output`` says: the machine and the date, and a table for
each workload.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import header, load_warning
from benchmarks.report import relative, seconds

__all__ = ["main", "page"]

_OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "figures.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("file", type=Path, help="what python -m benchmarks --save has written")
    parser.add_argument("--output", type=Path, default=_OUTPUT, help="docs/figures.md if not given")
    options = parser.parse_args(arguments)
    options.output.write_text(page(json.loads(options.file.read_text())))
    return 0


def page(run: dict[str, Any]) -> str:
    """Return the Markdown of a run."""
    names = " ".join(workload["workload"] for workload in run["workloads"])
    facts = header(run["machine"]).splitlines()
    warning = load_warning(run["machine"])
    lines = [
        "# Figures",
        "",
        f"Measured on {run['date'][:10]} by `python -m benchmarks {names}`, contenders in turns;",
        "medians over the rounds. A ratio is the median of the ratios within each round, with the quartiles.",
        "",
        *(f"- {fact}" for fact in facts),
        *(["", f"**{warning}.**"] if warning else []),
    ]
    for workload in run["workloads"]:
        lines += [
            "",
            f"## {workload['workload']}",
            "",
            f"{workload['summary']}.",
            "",
            *_table(workload["cases"]),
        ]
    return "\n".join(lines) + "\n"


def _table(cases: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each contender of each case."""
    yield "| case | contender | time | ratio | quartiles | first call |"
    yield "|---|---|--:|--:|--:|--:|"
    for case in cases:
        for contender in case["contenders"]:
            yield f"| {' | '.join([case['case'], *_cells(contender, case['unit'])])} |"
        for reason in sorted(set(case["not_available"].values())):
            yield f"| {case['case']} | {reason} | | | | |"


def _cells(contender: dict[str, Any], unit: str) -> list[str]:
    key = next(key for key in contender if key.startswith("ratio_to_"))
    ratio, quartiles = contender[key], contender["ratio_quartiles"]
    return [
        contender["name"],
        f"{seconds(contender['seconds_per_unit'])}/{unit}",
        "" if ratio is None else f"{relative(ratio)} x {key.removeprefix('ratio_to_')}",
        "" if quartiles is None else " - ".join(map(relative, quartiles)),
        seconds(contender["first_call_seconds"]),
    ]


if __name__ == "__main__":
    sys.exit(main())
