"""The content of a listing, independent of its rendering: columns, rows, marks.

The text, the coloured table of a terminal and the HTML table of a notebook are three renderings of a
`Sheet`. Long tapes are cut here: nodes that are not shown are never formatted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from os.path import basename
from typing import Any, Literal

from tape import errors
from tape.core.node import plain
from tape.inspect.listing._calls import call_text
from tape.inspect.words import digest, one_line

_HEAD = 40
_TAIL = 20
_LONGEST = 200  # width of a name, wherever it is shown
_BESIDE_ADJOINT, _BESIDE_SITE = 24, 20
"""The width of values beside adjoints, and beside adjoints and sites."""
_LEGENDS = {"*": "* root", "·": "· depends on no param"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and its smallest and largest width as text."""

    title: str
    narrowest: int
    widest: int


_ID, _NAME = Column("id", 0, 12), Column("name", 6, 16)
_MADE, _TYPE = Column("operation", 20, 64), Column("type", 10, 28)
_VALUE, _ADJOINT, _SITE = Column("value", 12, 32), Column("adjoint", 12, 32), Column("site", 12, 28)


@dataclass(frozen=True, slots=True)
class Row:
    """The row of one node.

    Attributes
    ----------
    kind : str
        ``"param"``, ``"input"``, ``"active"`` if the node depends on a param, or ``"inactive"``.
    is_root : bool
        Whether the last sweep started here.
    cells : tuple of str
        One cell for each column, each a single line.
    """

    kind: Literal["param", "input", "active", "inactive"]
    is_root: bool
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A listing, ready to render.

    Attributes
    ----------
    title : str
        A description of the trace.
    columns : tuple of Column
        The columns that are not empty.
    head, tail : list of Row
        The rows before and after the nodes that are left out; a short tape is all head.
    skipped : int
        The number of nodes left out.
    legend : tuple of str
        The meaning of the marks that occur.
    explains_itself : bool
        Whether the columns need no titles.
    """

    title: str
    columns: tuple[Column, ...]
    head: list[Row]
    skipped: int
    tail: list[Row]
    legend: tuple[str, ...]
    explains_itself: bool

    @property
    def rows(self) -> list[Row]:
        """All rows that are shown."""
        return [*self.head, *self.tail]


def sheet_of(trace: Any) -> Sheet:
    """Return the listing of a trace."""
    count = len(trace.nodes)
    skipped = max(count - _HEAD - _TAIL, 0)
    shown = [*range(_HEAD), *range(count - _TAIL, count)] if skipped else list(range(count))
    has_adjoints = trace.adjoints is not None
    has_sites = any(trace.nodes[id].site is not None for id in shown)
    width = _VALUE.widest if not has_adjoints else _BESIDE_SITE if has_sites else _BESIDE_ADJOINT
    made = [_row(trace, id, width) for id in shown]
    columns = (_ID, _NAME, _MADE, _TYPE, _VALUE, _ADJOINT, _SITE)
    is_empty = {
        _NAME: not any(row.cells[1] for row in made),
        _ADJOINT: not has_adjoints,
        _SITE: not has_sites,
    }
    filled = [k for k, column in enumerate(columns) if not is_empty.get(column)]
    rows = [Row(row.kind, row.is_root, tuple([row.cells[k] for k in filled])) for row in made]
    kept = tuple([columns[k] for k in filled])
    marks = {row.cells[0][-1] for row in rows}
    return Sheet(
        title=one_line(repr(trace)),
        columns=kept,
        head=rows[: _HEAD if skipped else count],
        skipped=skipped,
        tail=rows[_HEAD:] if skipped else [],
        legend=tuple([text for mark, text in _LEGENDS.items() if mark in marks]),
        explains_itself=not (has_adjoints or has_sites),
    )


def is_alarming(cell: str) -> bool:
    """Return whether the text of a value, by `digest`, reports NaN or infinities."""
    return re.search("nan|inf", cell) is not None


def _row(trace: Any, id: int, width: int) -> Row:
    """Return a node with all columns, also those that may turn out empty."""
    node = trace.nodes[id]
    kind = _kind(node)
    is_root = trace.root is not None and trace.root.id == id
    mark = "*" if is_root else "·" if kind == "inactive" else ""
    adjoint = trace.adjoints[id] if trace.adjoints is not None and id < len(trace.adjoints) else None
    cells = (
        f"%{id}{mark}",
        one_line(node.name or "", _LONGEST),
        one_line(str(call_text(node)), _LONGEST),
        errors.describe(plain(node.value)),
        digest(node.value, width),
        "" if adjoint is None else digest(adjoint, width),
        "" if node.site is None else one_line(f"{basename(node.site.filename)}:{node.site.line}"),
    )
    return Row(kind, is_root, cells)


def _kind(node: Any) -> Literal["param", "input", "active", "inactive"]:
    if node.op is None:
        return "param" if node.is_param else "input"
    return "active" if node.is_active else "inactive"
