"""The tape as a rich table, for terminals with colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tape.inspect.listing._sheet import is_alarming, sheet_of
from tape.inspect.listing._text import widths_in
from tape.system.extras import need

if TYPE_CHECKING:
    from rich.table import Table

_UNLIMITED = 10_000
_STYLES = {"param": "bold green", "input": "cyan", "active": "", "inactive": "dim"}


def listing_table(trace: Any, width: int | None = None) -> Table:
    """Return the Wengert list of a trace as a coloured table, as ``rich.print(trace)`` shows it.

    Parameters
    ----------
    trace : Trace
        A trace of any length; the middle of a long one is left out.
    width : int, optional
        The width of the terminal. Cells are cut to fit, and the least important columns left out; by default
        the table is as wide as its content.

    Returns
    -------
    rich.table.Table
        A table with the columns of `listing`. Params are green, inputs cyan, nodes that depend on no param
        dim, the id of the root of the last sweep magenta, NaN and infinities red.

    Raises
    ------
    UnsupportedError
        If rich is not installed.

    Examples
    --------
    >>> import tape
    >>> from tape.inspect.listing import listing_table
    >>> tr = tape.Trace()
    >>> y = tr.param(3.0, name="a") * 2.0
    >>> [column.header for column in listing_table(tr).columns]
    ['id', 'name', 'operation', 'type', 'value']
    """
    need("rich", "coloured tables", "viz", "Or print the trace")
    from rich import box
    from rich.table import Table
    from rich.text import Text

    sheet = sheet_of(trace)
    titles = [column.title for column in sheet.columns]
    widths = widths_in(
        sheet, [titles, *(row.cells for row in sheet.rows)], _UNLIMITED if width is None else width
    )
    kept = [k for k, room in enumerate(widths) if room]
    table = Table(
        title=Text(sheet.title, style="bold"),
        caption=Text(", ".join(sheet.legend)) if sheet.legend else None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    for k in kept:
        table.add_column(titles[k], width=widths[k])
    for k, row in enumerate(sheet.rows):
        if sheet.skipped and k == len(sheet.head):
            gap = f"... {sheet.skipped} nodes ..."
            table.add_row(*[gap if titles[k] == "operation" else "" for k in kept], style="dim italic")
        # Text, not a string: rich would interpret names and attributes as markup.
        cells = [Text(cell, no_wrap=True, overflow="ellipsis") for cell in row.cells]
        if row.is_root:
            cells[0].stylize("bold magenta")
        for title, cell in zip(titles, cells, strict=True):
            if title in ("value", "adjoint") and is_alarming(cell.plain):
                cell.highlight_regex(r"[^,\[( ]*(nan|inf)", "bold red")
        table.add_row(*[cells[k] for k in kept], style=_STYLES[row.kind])
    return table
