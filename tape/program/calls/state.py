"""`State`: what a function uses, as it is before a run, to compare with what the run has left.

A program would change nothing of it. So a run that binds names to other objects, adds to collections or draws
random numbers is none to make a program of.
"""

from __future__ import annotations

import operator
import pickle
import random
import types
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from tape import tree
from tape.core.node import Handle, plain
from tape.core.streams import Source
from tape.core.weak import exact
from tape.program.calls.binding import Binding
from tape.program.record.reading import Number

__all__ = ["State"]

_PLAIN = frozenset({bool, int, float, complex, str, bytes, np.float64, np.float32, np.ndarray})
"""Common types of values that are not traced."""
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
    """

    def __init__(
        self,
        found: Sequence[Binding],
        watched: Sequence[Binding],
        stored: set[str],
        generators: Sequence[Any],
    ) -> None:
        self._found = found
        self._watched = watched
        self._stored = stored
        self._drawn = [(generator, _state_of(generator)) for generator in generators]
        self._from_traced: set[int] = set()  # bindings that the run has bound to traced values, by id

    def settle(self) -> None:
        """Bind names, and items, that a run has bound to traced values to the plain values of these."""
        for binding in chain(self._found, self._watched):
            with suppress(Exception):  # whatever an object raises that is asked for its attributes
                if not _is_same(binding) and _settle(binding):
                    self._from_traced.add(id(binding))

    def restore(self) -> None:
        """Bind names that a run has bound to something else as they were, for it to run again.

        Collections that it has only added to, and generators of random numbers, are what they were, too.
        """
        for binding in self._found:
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

    def changed(self) -> Binding | None:
        """Return a name that a run of the function has bound to something else, or what it has added to.

        Or a generator from which it has drawn, as from one of NumPy's, or in another thread.
        """
        bound = (b for b in self._found if id(b) in self._from_traced or not b.holds())
        added_to = (b for b in self._watched if not _is_same(b))
        drawn = (Binding("item", (one,), 0, one) for one, state in self._drawn if _state_of(one) != state)
        return next(chain(bound, added_to, drawn), None)


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
        part.rebind(_settled(part.value))
    return bool(traced)


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
