"""The display methods of a trace: text, rich, notebook and summary, which are imported when they are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tape.inspect.listing import Summary


class Shown:
    """The base of `Trace` with its display methods."""

    __slots__ = ()

    def __str__(self) -> str:
        from tape.inspect.listing import listing

        return listing(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from tape.inspect.listing import listing_table

        yield listing_table(self, options.max_width)

    def _repr_html_(self) -> str:
        from tape.inspect.listing import listing_html

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
        from tape.inspect.listing import summary

        return summary(self)
