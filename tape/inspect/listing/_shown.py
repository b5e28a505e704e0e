"""The display methods of a trace: text, rich, notebook and summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tape.inspect.listing._html import listing_html
from tape.inspect.listing._rich import listing_table
from tape.inspect.listing._summary import Summary, summary
from tape.inspect.listing._text import listing


class Shown:
    """The base of `Trace` with its display methods."""

    __slots__ = ()

    def __str__(self) -> str:
        return listing(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        yield listing_table(self, options.max_width)

    def _repr_html_(self) -> str:
        return listing_html(self)

    def summary(self) -> Summary:
        """Return a summary of the tape: nodes, memory and FLOPs by operation, longest chain, params.

        Returns
        -------
        Summary
            The figures; they display as a table. Takes about 3 us a node.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> y = np.tanh(tr.param(np.ones((3, 2))) @ np.ones(2))
        >>> found = tr.summary()
        >>> found.longest_chain, found.value_bytes
        (3, 96)
        """
        return summary(self)
