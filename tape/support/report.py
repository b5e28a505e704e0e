"""The support table of all functions that can be called with Vars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tape.inspect.samples import SAMPLES
from tape.support.probe import Support, probe
from tape.system.progress import progress_bar

_DISPATCHING = (type(np.sum), np.ufunc)
_STATUS = {
    "derivative": "",
    "no derivative": "recorded; its derivative is zero almost everywhere",
    "answered": "answered from the value or its shape, not recorded",
    "none": "raises at the call",
}


def functions() -> Iterator[str]:
    """Yield the name of every NumPy function that dispatches to Vars, and of the others that have rules.

    Examples
    --------
    >>> from tape.support import functions
    >>> {"np.exp", "np.linalg.inv", "np.fft.rfft", "scipy.special.erf"} <= set(functions())
    True
    """
    seen: set[Any] = set()
    yield from SAMPLES
    for sample in SAMPLES:
        if sample.startswith("np."):
            seen.add(_named(sample))
    for namespace, title in ((np, "np"), (np.linalg, "np.linalg"), (np.fft, "np.fft")):
        for name, function in vars(namespace).items():
            if isinstance(function, _DISPATCHING) and function not in seen:
                seen.add(function)
                yield f"{title}.{name}"


def _named(name: str) -> Any:
    found: Any = np
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def report(names: Sequence[str] | None = None, *, progress: bool = False) -> list[Support]:
    """Try functions.

    Parameters
    ----------
    names : sequence of str, optional
        Which, as ``"np.sum"``; by default all.
    progress : bool
        Whether to show a progress bar; needs tqdm.

    Returns
    -------
    list of Support
        In alphabetical order.

    Examples
    --------
    >>> from tape.support import report
    >>> [found.status for found in report(["np.argmax", "np.packbits"])]
    ['no derivative', 'none']
    """
    chosen = sorted(names or functions(), key=str.lower)
    found = []
    with progress_bar(progress, "functions", len(chosen), "functions") as bar:
        for name in chosen:
            sample = SAMPLES.get(name)
            found.append(probe(sample) if sample else Support(name, "", "none"))
            bar.update()
    return found


def rows(found: Sequence[Support]) -> list[tuple[str, ...]]:
    """Return the cells of the table, the heading first."""
    heading = ("function", "vjp", "jvp", "second order", "complex", "in a Program", "")
    return [heading, *(_row(one) for one in found)]


def _row(one: Support) -> tuple[str, ...]:
    if one.status != "derivative":
        return one.name, "", "", "", "", one.program, _STATUS[one.status]
    complex_ = "" if one.is_complex is None else _yes(one.is_complex)
    return one.name, _yes(one.vjp), _yes(one.jvp), _yes(one.second), complex_, one.program, one.detail


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def text(found: Sequence[Support]) -> str:
    """Return the table as aligned text."""
    cells = rows(found)
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(line.rstrip() for line in lines)


def markdown(found: Sequence[Support]) -> str:
    """Return the table as Markdown."""
    heading, *others = rows(found)
    lines = [heading, tuple("---" for _ in heading), *((f"`{row[0]}`", *row[1:]) for row in others)]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"
