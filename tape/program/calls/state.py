"""`State`: what a function uses, as it is before a run, to compare with what the run has left.

A program would change nothing of it. So a run that binds names to other objects, adds to collections or draws
random numbers is none to make a program of.
"""

from __future__ import annotations

import os
import pickle
import random
import types
from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from tape import tree
from tape.core.node import Handle, plain
from tape.core.streams import Source
from tape.core.weak import exact
from tape.program.calls.binding import Binding, is_same
from tape.program.calls.contents import Contents
from tape.program.calls.undoing import undo_of
from tape.program.record.collections import parts_of
from tape.program.record.reading import Number

__all__ = ["State"]

_PLAIN = frozenset({bool, int, float, complex, str, bytes, np.float64, np.float32, np.ndarray})
"""Common types of values that are not traced."""
_OF_ITEMS = ("keys", "length")
"""Kinds of bindings of collections as a whole."""
_OF_ATTRIBUTES = ("own", "has")
"""Kinds of bindings that say whether there is an attribute."""
_MEMORY = (array, bytearray, memoryview)
_DEPTH = 3
"""How deep objects are looked into that hold others."""


class State:
    """What a function uses, as it is now.

    Parameters
    ----------
    found : sequence of Binding
        The names that it reads or binds.
    watched : sequence of Binding
        Those on which programs do not depend: of collections that it only adds to, and of attributes that it
        makes.
    stored : set of str
        The names that it binds.
    generators : sequence
        Those of random numbers that it reaches.
    arrays : sequence of Binding
        Those of arrays.
    """

    def __init__(
        self,
        found: Sequence[Binding],
        watched: Sequence[Binding],
        stored: set[str],
        generators: Sequence[Any],
        arrays: Sequence[Binding],
    ) -> None:
        each = [*found, *watched]
        self._names = [b for b in each if b.kind not in (*_OF_ITEMS, "contents")]
        self._contents = [b for b in each if b.kind == "contents"]
        self._undo = [_undos_of(binding) for binding in self._contents]
        self._collections = [(b, _held(b.owner), undo_of(b.owner)) for b in each if b.kind in _OF_ITEMS]
        self._stored = stored
        self._drawn = [(generator, _state_of(generator)) for generator in generators]
        others = [*[b.value for b in arrays], *[os.environ for b in each if b.kind == "items"]]
        self._others = [undo for one in others if (undo := undo_of(one)) is not None]
        self._from_traced: set[int] = set()  # bindings that the run has bound to traced values, by id

    def settle(self) -> None:
        """Bind names, and items, that a run has bound to traced values to the plain values of these."""
        changed = [binding for binding in self._names if not _is_same(binding)]
        changed += [b for b, held, _ in self._collections if not _holds(b.owner, held)]
        for binding in changed:
            with suppress(Exception):  # whatever an object raises that is asked for its attributes
                if _settle(binding):
                    self._from_traced.add(id(binding))
        for binding in self._contents:
            if not binding.holds() and _settle_contents(binding):
                self._from_traced.add(id(binding))

    def restore(self) -> None:
        """Bind names that a run has bound to something else as they were, for it to run again.

        Collections, small arrays, the environment and generators of random numbers are what they were, too.
        """
        for binding in self._names:
            with suppress(Exception):
                if not _is_same(binding):
                    _restore(binding, self._stored)
        for binding, held, undo in self._collections:
            with suppress(Exception):
                if undo is not None and not _holds(binding.owner, held):
                    undo()
        for binding, undos in zip(self._contents, self._undo, strict=True):
            if not binding.holds():
                for undo in undos:
                    with suppress(Exception):
                        undo()
        for generator, state in self._drawn:
            if _state_of(generator) != state:
                _set_state(generator, state)
        for undo in self._others:
            undo()

    def changed(self) -> Binding | None:
        """Return a name that a run of the function has bound to something else, or what it has added to.

        Or a generator from which it has drawn, as from one of NumPy's, or in another thread.
        """
        bound = (b for b in (*self._names, *self._contents) if id(b) in self._from_traced or not b.holds())
        items = (b for b, held, _ in self._collections if not _holds(b.owner, held))
        drawn = (Binding("item", (one,), 0, one) for one, state in self._drawn if _state_of(one) != state)
        return next(chain(bound, items, drawn), None)


# ---- collections -------------------------------------------------------------------------------------


def _held(owner: Any) -> list[Any]:
    """Return what a collection holds, with the keys if it has some; of memory, all bytes."""
    if isinstance(owner, _MEMORY):
        return [bytes(owner)]
    return parts_of(owner)


def _holds(owner: Any, held: list[Any]) -> bool:
    """Return whether a collection holds the same objects, or equal numbers and strings."""
    if isinstance(owner, Set):
        return len(owner) == len(held) and all(one in owner for one in held)
    now = _held(owner)
    return len(now) == len(held) and all(map(is_same, now, held))


def _undos_of(contents: Binding) -> list[Callable[[], None]]:
    """Return what puts back all that an object of a library holds."""
    undos = []
    for one in contents.key.held:
        with suppress(Exception):  # of whatever kind code of the library raises
            if (undo := undo_of(one)) is not None:
                undos.append(undo)
    return undos


# ---- generators of random numbers --------------------------------------------------------------------


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


# ---- traced values -----------------------------------------------------------------------------------


def _is_same(binding: Binding) -> bool:
    """Return whether a name is bound to the same object."""
    with suppress(Exception):
        return binding.current() is binding.value
    return False


def _restore(binding: Binding, stored: set[str]) -> None:
    """Bind a name as it was, if code binds it."""
    if binding.kind == "presence":
        if not binding.value:
            del binding.owner[binding.key]
    elif binding.kind in _OF_ATTRIBUTES:
        if not binding.value:
            delattr(binding.owner, binding.key)
    elif binding.key in stored and not binding.holds():
        binding.rebind(binding.value)


def _settle(binding: Binding) -> bool:
    """Bind a name, or items of a collection, to the plain values of traced ones; return whether some are."""
    owner, key = binding.owner, binding.key
    if binding.kind in _OF_ITEMS:
        items = [*(owner.items() if isinstance(owner, Mapping) else enumerate(owner))]
        parts = [Binding("item", owner, key, value) for key, value in items]
    elif binding.kind == "presence":  # of a name that is new
        parts = [Binding("item", owner, key, owner[key])]
    elif binding.kind in _OF_ATTRIBUTES:
        parts = [Binding("attribute", owner, key, getattr(owner, key))]
    else:
        parts = [replace(binding, value=binding.current())]
    traced = [part for part in parts if _is_traced(part.value)]
    for part in traced:
        part.rebind(_settled(part.value))
    return bool(traced)


def _settle_contents(contents: Binding) -> bool:
    """Put plain values in the place of traced ones in an object of a library; return whether some are."""
    is_any = False
    for one in Contents(contents.owner, contents.key.names).held:
        if isinstance(one, (list, dict, deque)):
            with suppress(Exception):  # of items that cannot be compared or copied
                is_any = _settle(Binding("keys", one, None, None)) or is_any
    return is_any


def _is_traced(value: Any, depth: int = _DEPTH) -> bool:
    """Return whether a value is traced, or holds one that is."""
    if type(value) in _PLAIN:
        return False
    return any(
        isinstance(leaf, (Handle, Number))
        or (depth and any(_is_traced(part, depth - 1) for part in _attributes(leaf).values()))
        for leaf in tree.leaves(value)
    )


def _settled(value: Any, depth: int = _DEPTH) -> Any:
    """Return a value with plain values in the place of traced ones, also in the objects that it holds."""
    leaves, structure = tree.flatten(value)
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, Number):
            leaves[k] = leaf.number
        elif isinstance(leaf, Handle):
            number = exact(plain(leaf))
            leaves[k] = number.copy() if isinstance(number, np.ndarray) else number
        elif depth:
            attributes = _attributes(leaf)
            for name, part in [*attributes.items()]:
                if _is_traced(part, depth - 1):
                    attributes[name] = _settled(part, depth - 1)
    return tree.unflatten(structure, leaves)


def _attributes(leaf: Any) -> dict[str, Any]:
    """Return the attributes of an object itself, but for modules, classes and functions."""
    if isinstance(leaf, (type, types.ModuleType, types.FunctionType)):
        return {}
    own = getattr(leaf, "__dict__", None)
    return own if type(own) is dict else {}
