"""The tape as plain text: aligned columns, in 110 characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tape.inspect.listing._sheet import Sheet, sheet_of
from tape.inspect.words import columns_of, cut

_LINE = 110
_GAP = "  "


def listing(trace: Any) -> str:
    """Return the Wengert list of a trace, one line a node, as ``print(trace)`` shows it.

    Parameters
    ----------
    trace : Trace
        A trace of any length: of more than 60 nodes, the first 40 and the last 20 are shown.

    Returns
    -------
    str
        Lines of at most 110 columns: id, name, operation with its parents (``%3``) and constants, dtype
        and shape, and the value: small ones in full, of larger ones the range and the mean; a Var of an
        enclosing trace as ``Var(...)``. After `Trace.backward` also the adjoint, empty where nothing
        flows; if the trace has recorded them, also the user's file and line. The root of that sweep has a
        ``*`` beside its id, and operations that depend on no param a ``·``.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace(name="t")
    >>> y = tr.param(3.0, name="a") * 2.0
    >>> print(tr)
    <Trace t: 2 nodes, 1 param>
    %0  a  param              float64[]  3.0
    %1     multiply(%0, 2.0)  float64[]  6.0
    >>> adjoints = tr.backward(y)
    >>> print(tr)
    <Trace t: 2 nodes, 1 param>
    id   name  operation          type       value  adjoint
    %0   a     param              float64[]  3.0    2.0
    %1*        multiply(%0, 2.0)  float64[]  6.0    1.0
    * root
    """
    sheet = sheet_of(trace)
    titles = [] if sheet.explains_itself else [[column.title for column in sheet.columns]]
    cells = [*titles, *(row.cells for row in sheet.rows)]
    lines = aligned(cells, widths_in(sheet, cells, _LINE))
    if sheet.skipped:
        lines.insert(len(titles) + len(sheet.head), f"... {sheet.skipped} nodes ...")
    return "\n".join([cut(sheet.title, _LINE), *lines, *([", ".join(sheet.legend)] if sheet.legend else [])])


def aligned(table: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[int] = ()) -> list[str]:
    """Return lines with cells aligned to the left or right of their columns; longer cells are cut."""
    lines = []
    for row in table:
        cells = []
        for k, (text, width) in enumerate(zip(row, widths, strict=True)):
            text = cut(text, width)
            blanks = " " * (width - columns_of(text))
            cells.append(blanks + text if k in right else text + blanks)
        lines.append(_GAP.join(cells).rstrip())
    return lines


def widths_in(sheet: Sheet, table: Sequence[Sequence[str]], line: int) -> list[int]:
    """Return the widths of columns on a line: those of their cells, if there is room.

    Otherwise the widest shrink first. If that is not enough, the least important columns get no width.
    """
    widths = [
        min(max((columns_of(row[k]) for row in table), default=0), column.widest)
        for k, column in enumerate(sheet.columns)
    ]
    narrowest = [
        min(width, column.narrowest or width) for width, column in zip(widths, sheet.columns, strict=True)
    ]
    titles = [column.title for column in sheet.columns]
    for title in ("type", "site", "name", "adjoint", "value"):
        if title in titles and sum(narrowest) + _gaps(narrowest) > line:
            k = titles.index(title)
            narrowest[k] = widths[k] = 0
    if sum(narrowest) + _gaps(narrowest) > line:
        narrowest[titles.index("operation")] = 1
    while sum(widths) + _gaps(widths) > line:
        slack = [width - least for width, least in zip(widths, narrowest, strict=True)]
        if not any(slack):
            break
        widths[slack.index(max(slack))] -= 1
    return widths


def _gaps(widths: Sequence[int]) -> int:
    return len(_GAP) * (sum(map(bool, widths)) - 1)
