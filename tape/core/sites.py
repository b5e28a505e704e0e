"""Places and names: which line of the user's code recorded a node, and what it is called.

A node keeps a tuple with a code object and an offset in it, which takes well under a microsecond; what `Site`
tells, file, line, columns and text, is found out when somebody asks.
"""

from __future__ import annotations

import linecache
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from types import CodeType, FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tape import errors


class Text:
    """A text that is evaluated, such as an expression: a `Site` reads it as it reads code.

    Parameters
    ----------
    text : str
        Of any number of lines.
    name : str
        What to call it.
    spans : sequence of tuple
        Line, counted from 1, first and last column, counted from 0, of each part that may be a place.
    """

    def __init__(self, text: str, name: str, spans: Sequence[tuple[int, int, int]]) -> None:
        self.co_filename = f"<{name} {next(_numbers)}>"
        self.co_name = name
        self.co_firstlineno = 1
        self._spans = spans
        linecache.cache[self.co_filename] = (len(text), None, text.splitlines(True), self.co_filename)
        weakref.finalize(self, linecache.cache.pop, self.co_filename, None)

    def co_positions(self) -> Iterator[tuple[int, int, int, int]]:
        """As of code: first and last line, first and last column, for every second offset."""
        return ((line, line, begin, end) for line, begin, end in self._spans)


Place = tuple[CodeType | Text, int, tuple[str, ...]]
"""A place as nodes keep it: code, offset, names of the scopes around."""

_numbers = count(1)


_scope: ContextVar[tuple[str, ...]] = ContextVar("name scopes", default=())


class _Now(threading.local):
    part: tuple[Text, int] | None = None


NOW = _Now()
"""The part of a text that this thread computes, if it does."""


@contextmanager
def name_scope(name: str) -> Iterator[None]:
    """Group the nodes that are recorded in this block under a name: a cluster in pictures.

    Traces that record sites keep it (``tape.Trace(sites=True)``, ``tape.debug()``); others take no notice.
    Scopes nest.

    Parameters
    ----------
    name : str
        For instance that of a layer.

    Raises
    ------
    OptionError
        If it is no string, or empty.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace(sites=True)
    >>> x = tr.param(1.0)
    >>> with tape.name_scope("encoder"), tape.name_scope("dense"):
    ...     y = np.tanh(x)
    >>> y.node.site.scope
    ('encoder', 'dense')
    """
    if not isinstance(name, str) or not name:
        raise errors.OptionError(f"the name of a scope is {name!r}. Give it a string")
    _scope.set((*_scope.get(), name))
    try:
        yield
    finally:
        scope = _scope.get()
        if name in scope:  # not always the last: generators with blocks of their own may end in any order
            last = len(scope) - 1 - scope[::-1].index(name)
            _scope.set(scope[:last] + scope[last + 1 :])


class Site:
    """The place in the user's code that recorded a node.

    Of a node that a backward pass has recorded, for a derivative of higher order, it is the place of the node
    whose rule was at work.

    Attributes
    ----------
    scope : tuple of str
        The names of the `name_scope` blocks around, outermost first.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace(sites=True)
    >>> y = tr.param(3.0) * 2.0
    >>> y.node.site.function, y.node.site.line
    ('<module>', 1)
    """

    __slots__ = ("_code", "_offset", "scope")

    def __init__(self, code: CodeType | Text, offset: int, scope: tuple[str, ...]) -> None:
        self._code = code
        self._offset = offset
        self.scope = scope

    @property
    def filename(self) -> str:
        """The file, as Python names it."""
        return self._code.co_filename

    @property
    def function(self) -> str:
        """The name of the function."""
        return self._code.co_name

    @property
    def line(self) -> int:
        """The line, counted from 1."""
        return self._position[0] or self._code.co_firstlineno

    @property
    def columns(self) -> tuple[int, int] | None:
        """Where the expression begins and ends in that line, from 0; None if it is not on one line."""
        line, end_line, begin, end = self._position
        if line is None or line != end_line or begin is None or end is None:
            return None
        source = linecache.getline(self.filename, line).encode()  # positions count bytes
        return len(source[:begin].decode(errors="replace")), len(source[:end].decode(errors="replace"))

    @property
    def text(self) -> str:
        """The line itself, without the blanks around it; empty if it is not to be had."""
        return linecache.getline(self.filename, self.line).strip()

    @property
    def excerpt(self) -> list[str]:
        """The line, without the blanks around it; below it marks under the expression, if that is known."""
        text, columns = self.text, self.columns
        if not text or columns is None:
            return [text] if text else []
        begin, end = (column - self.indent for column in columns)
        return [text, " " * begin + "^" * (end - begin)]

    @property
    def indent(self) -> int:
        """How many blanks stand before `text` in its line."""
        line = linecache.getline(self.filename, self.line)
        return len(line) - len(line.lstrip())

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}"

    def __repr__(self) -> str:
        return f"<site {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self._code.co_filename, self._code.co_firstlineno, self._offset, self.scope

    @property
    def _position(self) -> tuple[int | None, int | None, int | None, int | None]:
        positions = _positions.get(self._code)
        if positions is None:
            positions = _positions[self._code] = tuple(self._code.co_positions())
        k = self._offset // 2
        return positions[k] if k < len(positions) else (None, None, None, None)


class Named(NamedTuple):
    """The place of something that has a name.

    Attributes
    ----------
    place : tuple or None
        None if no place is kept.
    name : str
    """

    place: Place | None
    name: str


class Noted:
    """Something recorded, with a place and a name if it was given them: the base of nodes."""

    # Of most nodes this slot is empty. It costs no memory, as allocation rounds the three of a node up to
    # four; so a name goes there, too.
    __slots__ = ("_site",)

    _site: Place | Named | None  # not there at all unless one was given

    @property
    def name(self) -> str | None:
        """The name that the user has given it, if any; it can be set."""
        note = getattr(self, "_site", None)
        return note.name if type(note) is Named else None

    @name.setter
    def name(self, name: str | None) -> None:
        self._site = self.place if name is None else Named(self.place, name)

    @property
    def place(self) -> Place | None:
        """The code and offset that `site` is made from."""
        note = getattr(self, "_site", None)
        return note.place if type(note) is Named else note

    @property
    def site(self) -> Site | None:
        """The place in the user's code that recorded it; None unless the trace keeps that."""
        place = self.place
        return None if place is None else Site(*place)


_positions: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()
"""Those of each code that was asked for."""


class _IsForeign(dict[str, bool]):
    """Whether a file is none of the user's: looked up by name, found out once."""

    def __missing__(self, filename: str) -> bool:
        self[filename] = errors.is_foreign(filename)
        return self[filename]


_is_foreign = _IsForeign()


def here() -> Place | None:
    """Return the user's line that is running, or part of a text: the innermost frame outside this package.

    None if there is none. To be called by what runs when a node is appended, three frames above any user's.
    """
    if NOW.part is not None:
        return *NOW.part, _scope.get()
    frame: FrameType | None = sys._getframe(3)
    while frame is not None:
        code = frame.f_code
        if not _is_foreign[code.co_filename]:
            return code, frame.f_lasti, _scope.get()
        frame = frame.f_back
    return None
