"""Listings of a tape: as text, as a coloured table, as HTML, and as a summary.

This package works on any object with ``nodes``, ``adjoints`` and ``root``. It must never know recording or
sweeping.
"""

from tape.inspect.listing._calls import CallText, call_text
from tape.inspect.listing._html import html_table, listing_html
from tape.inspect.listing._rich import listing_table
from tape.inspect.listing._summary import OpTotal, Summary, summary
from tape.inspect.listing._text import aligned, listing

__all__ = [
    "CallText",
    "OpTotal",
    "Summary",
    "aligned",
    "call_text",
    "html_table",
    "listing",
    "listing_html",
    "listing_table",
    "summary",
]
