"""The abilities of a terminal: colours, and characters beyond ASCII."""

from __future__ import annotations

import os
from typing import TextIO


def has_colours(stream: TextIO) -> bool:
    """Whether to use colours: on a terminal, unless turned off (https://no-color.org).

    Examples
    --------
    >>> import io
    >>> from tape.command.terminal import has_colours
    >>> has_colours(io.StringIO())
    False
    """
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def writes_braille(stream: TextIO) -> bool:
    """Whether the encoding of a stream has braille and line characters."""
    try:
        "⣿│".encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
