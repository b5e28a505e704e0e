"""Results as an aligned table for people and as plain data for JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import BASELINE, CaseResult, Timing

__all__ = ["as_data", "legend", "relative", "seconds", "table"]

_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
_SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))


def legend() -> str:
    """Return an explanation of the columns."""
    return (
        f"time: median over rounds. vs {BASELINE}, or the baseline named there: median of the ratios within\n"
        "each round, and their quartiles. first: the first call in this process, including compilation,\n"
        "tracing and lazy loading, but without importing the framework.\n"
        "peak: what one call allocates through Python and NumPy; n/a where tracemalloc cannot see it.\n"
        "Where contenders stand side by side: the median time of each, and the median ratio; subtracted is\n"
        "what a call costs without the computation.\n"
        "Before timing, every result was checked against the hand-written one."
    )


def table(name: str, summary: str, results: list[CaseResult]) -> str:
    """Return the results of a workload as text.

    Parameters
    ----------
    name, summary : str
        The workload.
    results : list of CaseResult
        Its cases; contenders that are not available are listed below the table.

    Returns
    -------
    str
        Several lines.
    """
    lines = [f"{name}: {summary}"]
    for title in dict.fromkeys(result.case.table for result in results):
        group = [result for result in results if result.case.table == title]
        lines += _side_by_side(title, group) if title else _one_below_another(group)
    missing = {reason for result in results for reason in result.missing.values()}
    lines += [f"  {reason}" for reason in sorted(missing)]
    return "\n".join(lines)


def _one_below_another(results: list[CaseResult]) -> list[str]:
    """Return a table with a row for each contender."""
    has_labels = len(results) > 1
    head = ["case"] if has_labels else []
    unit, baseline = results[0].case.unit, results[0].case.baseline
    columns = list(results[0].case.figures)
    rows = [[*head, "", f"time/{unit}", f"vs {baseline}", "quartiles", "first", "peak", *columns]]
    for result in results:
        for i, timing in enumerate(result.timings):
            label = [result.case.label if i == 0 else ""] if has_labels else []
            counted = [
                f"{timing.figures[column]:,}" if column in timing.figures else "" for column in columns
            ]
            rows.append([*label, timing.name, *_figures(timing, result), *counted])
    return _aligned(rows, left=2 if has_labels else 1) if len(rows) > 1 else []


def _side_by_side(title: str, results: list[CaseResult]) -> list[str]:
    """Return a table with a row for each case: the time of each contender and its ratio to the baseline.

    The last row has the medians over all cases; below stand the medians of what was subtracted.
    """
    subtracted = dict.fromkeys(empty for result in results for empty in result.case.overhead.values())
    measured = [{timing.name: timing for timing in result.timings} for result in results]
    found = dict.fromkeys(name for timings in measured for name in timings)
    columns: list[tuple[str, list[str]]] = [("", [*(result.case.label for result in results), "median"])]
    for name in (name for name in found if name not in subtracted):
        timings = [timings.get(name) for timings in measured]
        columns.append((name, _column([timing and timing.seconds for timing in timings], seconds)))
        if name != results[0].case.baseline:
            ratios = [timing and timing.ratio and timing.ratio.median for timing in timings]
            columns.append(("ratio", _column(ratios, relative)))
    rows = [[head, *cells] for head, cells in columns]
    lines = [f"  {title}", *_aligned([list(row) for row in zip(*rows, strict=True)], left=1)]
    costs = []
    for name in (name for name in subtracted if name in found):
        cost = np.median([timings[name].seconds for timings in measured if name in timings])
        costs.append(f"{name} {seconds(float(cost))}")
    return [*lines, *([f"  subtracted: {', '.join(costs)}"] if costs else [])]


def _column(numbers: list[float | None], shown: Callable[[float], str]) -> list[str]:
    """Format the numbers as cells, with their median below; empty where there is none."""
    present = [number for number in numbers if number is not None]
    cells = ["" if number is None else shown(number) for number in numbers]
    return [*cells, shown(float(np.median(present))) if present else ""]


def as_data(name: str, summary: str, results: list[CaseResult]) -> dict[str, Any]:
    """Return the results of a workload as plain data for JSON; times in seconds, sizes in bytes."""
    return {
        "workload": name,
        "summary": summary,
        "cases": [
            {
                "case": result.case.label,
                **({"table": result.case.table} if result.case.table else {}),
                "unit": result.case.unit,
                "units_per_call": result.case.units,
                "rounds": result.rounds,
                "contenders": [_timing_data(timing, result.case.baseline) for timing in result.timings],
                "not_available": result.missing,
            }
            for result in results
        ],
    }


def _timing_data(timing: Timing, baseline: str) -> dict[str, Any]:
    ratio = timing.ratio
    return {
        "name": timing.name,
        "seconds_per_unit": timing.seconds,
        f"ratio_to_{baseline}": ratio and ratio.median,
        "ratio_quartiles": ratio and [ratio.low, ratio.high],
        "first_call_seconds": timing.first_seconds,
        "peak_bytes_per_call": timing.peak_bytes,
        "calls_per_block": timing.calls_per_block,
        "figures": timing.figures,
    }


def _figures(timing: Timing, result: CaseResult) -> list[str]:
    ratio = timing.ratio
    if timing.peak_bytes is None:
        peak = "n/a"
    elif result.case.memory == "unit":
        peak = f"{_scaled(timing.peak_bytes / result.case.units, _SIZES)}/{result.case.unit}"
    else:
        peak = _scaled(timing.peak_bytes, _SIZES)
    return [
        seconds(timing.seconds),
        "n/a" if ratio is None else relative(ratio.median),
        ""
        if ratio is None or timing.name == result.case.baseline
        else f"{relative(ratio.low)} - {relative(ratio.high)}",
        seconds(timing.first_seconds),
        peak,
    ]


def relative(ratio: float) -> str:
    """Format with two decimals, or two significant digits if that is more."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def seconds(time: float) -> str:
    """Format with three digits and a fitting unit."""
    return _scaled(time, _TIMES)


def _scaled(quantity: float, units: tuple[tuple[str, float], ...]) -> str:
    """Format with three digits and a fitting unit."""
    for unit, scale in units:
        if quantity >= 0.9995 * scale:
            return f"{quantity / scale:#.3g}".rstrip(".") + f" {unit}"
    unit, scale = units[-1]
    return f"{quantity / scale:.2g} {unit}"


def _aligned(rows: list[list[str]], left: int) -> list[str]:
    """Join columns, the first ``left`` of them left-aligned and the others right-aligned."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
