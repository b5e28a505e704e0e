"""The tape as an HTML table for notebooks: one self-contained fragment.

Colours have a medium lightness that is readable on white and on black, and everything else is inherited:
notebooks choose light or dark themselves, and do not set ``prefers-color-scheme``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from tape.inspect.listing._sheet import Row, Sheet, is_alarming, sheet_of

_STYLE = """<style>
.tape-listing { color: inherit; background: transparent; overflow-x: auto; max-width: 100%; }
.tape-listing table { border-collapse: collapse; border: 0; margin: .3em 0; font: .85em/1.45
  ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: inherit; }
.tape-listing caption { caption-side: top; text-align: left; font-weight: 600; padding: .2em .6em;
  color: inherit; }
.tape-listing th, .tape-listing td { text-align: left; padding: .1em .6em; white-space: nowrap; border: 0;
  max-width: 42em; overflow: hidden; text-overflow: ellipsis; color: inherit; background: transparent; }
.tape-listing th { font-weight: 600; border-bottom: 1px solid rgba(128, 128, 128, .5); }
.tape-listing tbody tr:hover td { background: rgba(128, 128, 128, .15); }
.tape-listing .number { text-align: right; font-variant-numeric: tabular-nums; }
.tape-listing .param td:nth-child(-n+3) { color: #2a8c46; font-weight: 600; }
.tape-listing .input td:nth-child(-n+3) { color: #1f83b4; }
.tape-listing .inactive td { opacity: .6; }
.tape-listing .root td:first-child { color: #b455c8; font-weight: 700; }
.tape-listing td.alarm { color: #e0392b; font-weight: 700; opacity: 1; }
.tape-listing .gap td { text-align: center; font-style: italic; opacity: .6; }
.tape-listing .legend { padding: 0 .6em; font: .8em/1.45 ui-monospace, SFMono-Regular, Menlo,
  Consolas, monospace; opacity: .75; }
</style>"""


def listing_html(trace: Any) -> str:
    """Return the Wengert list of a trace as HTML, as notebooks show it.

    Parameters
    ----------
    trace : Trace
        A trace of any length; the middle of a long one is left out.

    Returns
    -------
    str
        A fragment with a table of the columns of `listing` and its style, readable on light and dark
        pages. Cells that were cut show their full text on hover. Names and attributes are escaped.

    Examples
    --------
    >>> import tape
    >>> from tape.inspect.listing import listing_html
    >>> tr = tape.Trace()
    >>> y = tr.param(3.0, name="<a>") * 2.0
    >>> "&lt;a&gt;" in listing_html(tr)
    True
    """
    sheet = sheet_of(trace)
    rows = [_row(sheet, row) for row in sheet.rows]
    if sheet.skipped:
        gap = f'<tr class="gap"><td colspan="{len(sheet.columns)}">... {sheet.skipped} nodes ...</td></tr>'
        rows.insert(len(sheet.head), gap)
    return html_table(sheet.title, [column.title for column in sheet.columns], rows, ", ".join(sheet.legend))


def html_table(
    title: str, columns: Sequence[str], rows: Iterable[str], legend: str = "", numeric: Sequence[int] = ()
) -> str:
    """Return a table with its own style; titles are escaped here, ``rows`` are HTML already."""
    heads = "".join(
        [
            f'<th scope="col"{" class=number" if k in numeric else ""}>{escape(column)}</th>'
            for k, column in enumerate(columns)
        ]
    )
    below = f'<div class="legend">{escape(legend)}</div>' if legend else ""
    return "\n".join(
        [
            f'<div class="tape-listing">{_STYLE}',
            f"<table><caption>{escape(title)}</caption><thead><tr>{heads}</tr></thead>",
            "<tbody>",
            *rows,
            f"</tbody></table>{below}</div>",
        ]
    )


def _row(sheet: Sheet, row: Row) -> str:
    cells = []
    for column, cell in zip(sheet.columns, row.cells, strict=True):
        alarm = ' class="alarm"' if column.title in ("value", "adjoint") and is_alarming(cell) else ""
        full = f' title="{escape(cell)}"' if len(cell) > 40 else ""
        cells.append(f"<td{alarm}{full}>{escape(cell)}</td>")
    return f'<tr class="{row.kind}{" root" if row.is_root else ""}">{"".join(cells)}</tr>'
