"""Listings of a tape: as text, as a coloured table, as HTML, and as a summary.

This package works on any object with ``nodes``, ``adjoints`` and ``root``. It must never know recording or
sweeping.
"""

from tape.inspect.listing._calls import CallText, call_text
from tape.inspect.listing._html import html_table, listing_html
from tape.inspect.listing._rich import listing_table
from tape.inspect.listing._shown import Shown
from tape.inspect.listing._summary import OpTotal, Summary, summary
from tape.inspect.listing._text import aligned, listing
from tape.inspect.listing._words import (
    brief,
    byte_size,
    columns_of,
    digest,
    duration,
    number,
    one_line,
    short,
)

__all__ = [
    "CallText",
    "OpTotal",
    "Shown",
    "Summary",
    "aligned",
    "brief",
    "byte_size",
    "call_text",
    "columns_of",
    "digest",
    "duration",
    "html_table",
    "listing",
    "listing_html",
    "listing_table",
    "number",
    "one_line",
    "short",
    "summary",
]
