"""The tape in words: as text, as a coloured table, as HTML, and summed up.

Works on anything with ``nodes``, ``adjoints`` and ``root``; knows nothing of recording or sweeping.
"""

from tape.listing._html import listing_html
from tape.listing._rich import listing_table
from tape.listing._shown import Shown
from tape.listing._summary import OpTotal, Summary, summary
from tape.listing._text import listing
from tape.listing._words import byte_size, columns_of, digest, number, short

__all__ = [
    "OpTotal",
    "Shown",
    "Summary",
    "byte_size",
    "columns_of",
    "digest",
    "listing",
    "listing_html",
    "listing_table",
    "number",
    "short",
    "summary",
]
