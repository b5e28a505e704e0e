"""What functions read of the elements of arrays, followed from function to function through calls."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType
from typing import Any

from tape.program.calls.bytecode import Names, Passed, Read, names_in
from tape.program.calls.expressions import Param, Returned

__all__ = ["MOST_DEPTH", "Flows"]

MOST_DEPTH = 4
"""Collections in collections up to this depth are followed to the arrays in them."""
_SHOWING = ("__repr__", "__str__", "__format__", "__rich_repr__")
"""Methods that make texts, which no result is to depend on."""


class Flows:
    """Functions that call each other by name, and what their code says of elements of arrays.

    Attributes
    ----------
    decisive : set of Read
        Names whose arrays decide something, in whatever function.
    given : list of tuple
        Values that parameters have before a call and that decide something, with how they are read.

    Examples
    --------
    >>> from tape.program.calls.flows import Flows
    >>> flows = Flows()
    >>> flows.define((lambda x: bounded(x, k)).__code__, "f")
    >>> flows.define((lambda x, low: x * max(1, low[0])).__code__, "bounded")
    >>> flows.follow()
    >>> {read.name for read in flows.decisive}
    {'k'}
    """

    def __init__(self) -> None:
        self.decisive: set[Read] = set()
        self.given: list[tuple[Any, Read]] = []
        self._functions: dict[str, list[Names]] = {}
        self._values: list[tuple[Names, Param, Any]] = []

    def define(self, code: CodeType, name: str) -> None:
        """Add a function under a name by which it may be called, and those that are defined in it."""
        known, found = self._functions.setdefault(name, []), names_in(code)
        if not any(names is found for names in known):
            known.append(found)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.define(constant, constant.co_name)

    def give(self, code: CodeType, values: Iterable[tuple[str, Any]]) -> None:
        """Add values that parameters have before a call: defaults, and arguments of a partial."""
        self._values += [(names_in(code), Param(name), value) for name, value in values]

    def follow(self) -> None:
        """Find what decides something, in these functions or in what they call."""
        for name in _SHOWING:
            self._functions.pop(name, None)
        every = {id(names): names for known in self._functions.values() for names in known}
        callers: dict[int, list[tuple[Names, Passed]]] = {}
        for names in every.values():
            for passed in names.passed:
                for callee in self._functions.get(passed.function, ()):
                    callers.setdefault(id(callee), []).append((names, passed))
        reads = {number: {*names.decisive} for number, names in every.items()}
        waiting = [(names, read) for names in every.values() for read in names.decisive]

        def add(names: Names, read: Read) -> None:
            is_deep = read.depth is not None and abs(read.depth) > MOST_DEPTH
            if not is_deep and read not in reads[id(names)]:  # there is no end to what functions may call
                reads[id(names)].add(read)
                waiting.append((names, read))

        while waiting:
            names, read = waiting.pop()
            if isinstance(read.name, Param):  # of callers, it is what they pass
                for caller, passed in callers.get(id(names), ()):
                    for of_place in names.reads_at(passed.place, (read,)):
                        add(caller, of_place.of(passed.name, passed.depth))
            elif isinstance(read.name, Returned):  # of those that return it, what they return
                for callee in self._functions.get(read.name.function, ()):
                    for path in callee.returns:
                        add(callee, read.of(*path))
        self.decisive = {read for found in reads.values() for read in found if isinstance(read.name, str)}
        self.given = [
            (value, read)
            for names, param, value in self._values
            for read in reads.get(id(names), ())
            if read.name == param
        ]
