"""What functions read of the elements of arrays, followed from function to function through calls."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType
from typing import Any

from tape.program.calls.bytecode import Names, Read, names_in
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
        known = self._functions.setdefault(name, [])
        if not any(names is names_in(code) for names in known):
            known.append(names_in(code))
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
        reads = {number: {*names.decisive} for number, names in every.items()}
        count = -1
        while count != (count := sum(map(len, reads.values()))):
            for names in every.values():
                self._follow_calls(names, reads)
        self.decisive = {read for found in reads.values() for read in found if isinstance(read.name, str)}
        self.given = [
            (value, read)
            for names, param, value in self._values
            for read in reads.get(id(names), ())
            if read.name == param
        ]

    def _follow_calls(self, names: Names, reads: dict[int, set[Read]]) -> None:
        """Add what functions read of their arguments to callers, and what these read of results to them."""
        for passed in names.passed:
            for callee in self._functions.get(passed.function, ()):
                for read in [*callee.reads_at(passed.place, reads[id(callee)])]:
                    _add(reads[id(names)], read.of(passed.name, passed.depth))
        for read in [*reads[id(names)]]:
            if isinstance(read.name, Returned):
                for callee in self._functions.get(read.name.function, ()):
                    for path in callee.returns:
                        _add(reads[id(callee)], read.of(*path))


def _add(reads: set[Read], read: Read) -> None:
    """Add a reading, unless it is deeper than is followed: there is no end to what functions may call."""
    if read.depth is None or abs(read.depth) <= MOST_DEPTH:
        reads.add(read)
