"""The names that a function reads, and their bindings: a program is valid for these bindings only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from tape.program.calls.binding import LOOKUPS, OF_EQUALS, Binding
from tape.program.calls.bytecode import Read
from tape.program.calls.flows import MOST_DEPTH
from tape.program.calls.reached import Search
from tape.program.calls.state import State

__all__ = ["Bindings"]


class Bindings:
    """The bindings of all names that a function reads, as they are now.

    Parameters
    ----------
    f : callable
        The function.
    statics : iterable
        Its static arguments: their attributes are names as well.

    Attributes
    ----------
    tells_types : bool
        Whether it calls ``type``, or catches exceptions, so that it can tell an int from an object like it.
    arrays : list of Binding
        Those of arrays, also of items of tuples, but for arrays that it only stores something in.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.calls.names import Bindings
    >>> scale = np.ones(2)
    >>> def scaled(x):
    ...     return scale * x
    >>> bindings = Bindings(scaled, [])
    >>> bindings.changed()
    >>> scale = np.zeros(2)
    >>> bindings.changed().key
    'scale'
    """

    def __init__(self, f: Callable[..., Any], statics: Iterable[Any]) -> None:
        search = Search(f, statics)
        self.found = search.found
        self._stored = search.stored
        self._written = search.written
        self._filled = search.filled
        self.iterators = search.iterators  # which a run uses up
        self._watched = search.watched
        self._generators = search.generators
        self.arrays = search.arrays
        self._ways: dict[int, list[Binding]] = {}  # the names and items that hold an object, by its id
        for binding in chain(search.found, search.fixed):
            self._ways.setdefault(id(binding.value), []).append(binding)
        self._flows = search.flows
        self._valued = search.valued
        self._deciding = search.deciding
        self._imports = search.imports
        self.tells_types = search.catches or any(
            b.kind == "presence" and b.key == "type" for b in search.found
        )

    def values(self) -> Iterator[Any]:
        """Yield what names, items and attributes are bound to."""
        return (binding.value for ways in self._ways.values() for binding in ways)

    def extend(self, others: Iterable[Binding]) -> None:
        """Add bindings that have to hold as well."""
        self.found.extend(others)

    def agree_with(self, others: Bindings) -> bool:
        """Return whether names have the same values in others; those that the function binds may differ."""
        known = {(b.kind, id(b.owner), b.key): b.value for b in others.found}
        return all(
            known.get((b.kind, id(b.owner), b.key), b.value) is b.value
            for b in self.found
            if b.kind in ("global", "cell", "attribute", "class") and b.key not in self._stored
        )

    def is_what_a_search_finds(self) -> bool:
        """Return whether a search would find the same names now, bound to the same objects."""
        return not self._imports and all(
            binding.holds() and (binding.kind in OF_EQUALS or binding.current() is binding.value)
            for binding in chain(self.found, self._watched, self._deciding)
        )

    def state(self) -> State:
        """Return the state of what they are bound to, to compare with that after a run."""
        return State(self.found, self._watched, self._stored, self._generators, self.arrays)

    def written(self) -> Binding | None:
        """Return a name of an array that the function writes to, if there is one."""
        arrays = (
            binding
            for binding in self.arrays
            if binding.key in self._written
            or any(way.key in self._filled for way in self._ways.get(id(binding.owner), ()))
        )
        return next(arrays, None)

    def valued(self) -> list[Binding]:
        """Return the arrays of which code may read more than the shape and the dtype."""
        return [b for b in self.arrays if b.kind == "item" or b.key in self._valued]

    def decisive(self, *, conditions: bool = False) -> set[int]:
        """Return the ids of arrays that are in conditions and indices, or become numbers of Python's.

        Or whose elements are read in other ways; also where the name is that of a collection that holds them.
        With ``conditions``, only those that conditions depend on.
        """
        reads: dict[Any, list[Read]] = {}
        for read in self._flows.decisive:
            reads.setdefault(read.name, []).append(read)
        given: dict[int, list[Read]] = {}
        for value, read in self._flows.given:
            given.setdefault(id(value), []).append(read)

        def decides(array: np.ndarray) -> bool:
            return any(
                (read.depth == depth or (read.depth is None and depth <= 1))
                and (read.indices is None or array.ndim <= read.indices)
                and (read.is_condition or not conditions)
                for holder, name, depth in self._reached(array)
                for read in (given.get(id(holder), ()) if name is None else reads.get(name, ()))
            )

        return {id(binding.value) for binding in self.arrays if decides(binding.value)}

    def _reached(self, array: np.ndarray) -> Iterator[tuple[Any, str | None, int]]:
        """Yield an array and what holds it, with its name if it has one, and how deep the array is in it."""
        holders: list[Any] = [array]
        for depth in range(MOST_DEPTH + 1):
            ways = [binding for holder in holders for binding in self._ways.get(id(holder), ())]
            for holder in holders:
                yield holder, None, depth
            for binding in ways:
                if binding.kind != "item":
                    yield None, binding.key, depth
            holders = [*{id(binding.owner): binding.owner for binding in ways}.values()]

    def changed(self) -> Binding | None:
        """Return a name that is bound to something else now, if there is one."""
        return next((binding for binding in self.found if not binding.holds()), None)

    def current(self) -> Bindings:
        """Return bindings to the present objects, if all hold; these bindings if the objects are the same.

        A number or a string may be another object of the same value.
        """
        now = [replace(binding, value=binding.current()) for binding in self.found]
        pairs = zip(now, self.found, strict=True)
        if all(new.value is old.value or new.kind in OF_EQUALS for new, old in pairs):
            return self
        bindings = copy(self)
        bindings.found = now
        return bindings

    def conditions(self, bind: Callable[[Any], str]) -> list[str]:
        """Return expressions, each true if a name is bound to the identical object.

        Parameters
        ----------
        bind : callable
            A name for an object, by which the expression can refer to it.
        """
        return [
            f"{LOOKUPS[b.kind][0].format(bind(b.owner), bind(b.key), b.key)} "
            f"{'==' if b.kind in OF_EQUALS else 'is'} {bind(b.value)}"
            for b in self.found
        ]
