"""The names that a function reads, and their bindings: a program is valid for these bindings only."""

from __future__ import annotations

import operator
import pickle
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from tape import tree
from tape.core.node import Handle, plain
from tape.core.streams import Source
from tape.core.weak import exact
from tape.program.calls.binding import LOOKUPS, OF_EQUALS, Binding
from tape.program.calls.bytecode import Read
from tape.program.calls.flows import MOST_DEPTH
from tape.program.calls.reached import Search
from tape.program.record.reading import Number

__all__ = ["Bindings"]

_PLAIN = frozenset({bool, int, float, complex, str, bytes, np.float64, np.float32, np.ndarray})
"""Common types of values that are not traced."""


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
        self._from_traced: set[int] = set()  # bindings that a run has bound to traced values, by id
        self._written = search.written
        self._filled = search.filled
        self._iterators = search.iterators
        self._watched = search.watched
        self._drawn = [(generator, _state_of(generator)) for generator in search.generators]
        self.arrays = search.arrays
        self._ways: dict[int, list[Binding]] = {}  # the names and items that hold an object, by its id
        for binding in chain(search.found, search.fixed):
            self._ways.setdefault(id(binding.value), []).append(binding)
        self._flows = search.flows
        self._valued = search.valued
        self.tells_types = search.catches or any(
            b.kind == "presence" and b.key == "type" for b in search.found
        )

    def extend(self, others: Iterable[Binding]) -> None:
        """Add bindings that have to hold as well."""
        self.found.extend(others)

    def agree_with(self, others: Bindings) -> bool:
        """Return whether names have the same values in others; those that the function binds may differ."""
        known = {(b.kind, id(b.owner), b.key): b.value for b in others.found}
        return all(
            known.get((b.kind, id(b.owner), b.key), b.value) is b.value
            for b in self.found
            if b.kind in ("global", "cell", "attribute") and b.key not in self._stored
        )

    def settle(self) -> None:
        """Bind names, and items, that a run has bound to traced values to the plain values of these."""
        for binding in chain(self.found, self._watched):
            with suppress(Exception):  # whatever an object raises that is asked for its attributes
                if not _is_same(binding) and _settle(binding):
                    self._from_traced.add(id(binding))

    def restore(self) -> None:
        """Bind names that a run has bound to something else as they were, for it to run again.

        Collections that it has only added to, and generators of random numbers, are what they were, too.
        """
        for binding in self.found:
            with suppress(Exception):
                if binding.key in self._stored and not binding.holds():
                    binding.rebind(binding.value)
        for binding in self._watched:
            with suppress(Exception):
                if not _is_same(binding):
                    _restore(binding)
        for generator, state in self._drawn:
            if _state_of(generator) != state:
                _set_state(generator, state)

    def bound_anew(self) -> Binding | None:
        """Return a name that a run of the function has bound to something else, or what it has added to.

        Or a generator from which it has drawn, as from one of NumPy's, or in another thread.
        """
        bound = (b for b in self.found if id(b) in self._from_traced or not b.holds())
        added_to = (b for b in self._watched if not _is_same(b))
        drawn = (Binding("item", (one,), 0, one) for one, state in self._drawn if _state_of(one) != state)
        return next(chain(bound, added_to, drawn), None)

    def written(self) -> Binding | None:
        """Return a name of an array that the function writes to, or of an iterator, if there is one."""
        arrays = (
            binding
            for binding in self.arrays
            if binding.key in self._written
            or any(way.key in self._filled for way in self._ways.get(id(binding.owner), ()))
        )
        return next(chain(self._iterators, arrays), None)

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


def _state_of(generator: Any) -> bytes:
    """Return the state of a generator of random numbers."""
    if isinstance(generator, random.Random):
        return pickle.dumps(generator.getstate())
    if isinstance(generator, np.random.RandomState):
        return pickle.dumps(generator.get_state(legacy=False))
    bits = generator.bits if isinstance(generator, Source) else generator.bit_generator
    return pickle.dumps(bits.state)


def _set_state(generator: Any, state: bytes) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(pickle.loads(state))
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(pickle.loads(state))
    else:
        bits = generator.bits if isinstance(generator, Source) else generator.bit_generator
        bits.state = pickle.loads(state)


def _is_same(binding: Binding) -> bool:
    """Return whether a name is bound to the same object, or a collection holds the same ones."""
    found = binding.current()
    if binding.kind == "keys":
        return len(found) == len(binding.value) and all(map(operator.is_, found, binding.value))
    return found is binding.value


def _restore(binding: Binding) -> None:
    """Put what is only watched into the state that it was in."""
    if binding.kind == "presence":
        del binding.owner[binding.key]
    elif isinstance(binding.owner, (list, deque)):
        binding.owner.clear()
        binding.owner.extend(binding.value)


def _settle(binding: Binding) -> bool:
    """Bind a name, or items of a collection, to the plain values of traced ones; return whether some are."""
    owner, key = binding.owner, binding.key
    if binding.kind in ("keys", "length"):  # of a collection with other items now
        items = [*(owner.items() if isinstance(owner, dict) else enumerate(owner))]
        parts = [Binding("item", owner, key, value) for key, value in items]
    elif binding.kind == "presence":  # of a name that is new
        parts = [Binding("item", owner, key, owner[key])]
    else:
        parts = [replace(binding, value=binding.current())]
    traced = [part for part in parts if _is_traced(part.value)]
    for part in traced:
        leaves, structure = tree.flatten(part.value)
        part.rebind(tree.unflatten(structure, [_settled(leaf) for leaf in leaves]))
    return bool(traced)


def _is_traced(value: Any) -> bool:
    """Return whether a value is traced, or holds one that is."""
    if type(value) in _PLAIN:
        return False
    return any(isinstance(leaf, (Handle, Number)) for leaf in tree.leaves(value))


def _settled(leaf: Any) -> Any:
    if isinstance(leaf, Number):
        return leaf.number
    if not isinstance(leaf, Handle):
        return leaf
    value = exact(plain(leaf))
    return value.copy() if isinstance(value, np.ndarray) else value
