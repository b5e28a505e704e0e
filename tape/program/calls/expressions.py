"""Expressions in Python bytecode: where they begin and end, and the names that they read."""

from __future__ import annotations

import builtins
import dis
from collections import Counter
from itertools import pairwise
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
ATTRIBUTE_READS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
_CALLS = ("CALL", "CALL_FUNCTION", "CALL_METHOD")
_BESIDE_CALLS = ("PRECALL", "KW_NAMES", "PUSH_NULL")
OF_TYPE = frozenset({"ndim", "shape", "size", "dtype"})
"""Attributes of arrays that do not depend on what they hold."""
_FUNCTIONS = frozenset({*dir(builtins), "np", "numpy", "math"})
"""Names that are those of functions and their modules."""
ITERABLE = ".0"
"""What a comprehension has as its parameter."""


class Param(NamedTuple):
    """A parameter of the function, as the name that a local variable stands for."""

    name: str


Name: TypeAlias = str | Param


class Expressions:
    """The expressions in the code of a function.

    Parameters
    ----------
    code : code object

    Attributes
    ----------
    instructions : list of dis.Instruction
    params : tuple of str
    aliases : dict
        Local variables that are bound once, to what has a name: with that name.
    sources : dict
        Local variables with the names that are read in what they are bound to.
    """

    def __init__(self, code: CodeType) -> None:
        self.instructions = [one for one in dis.get_instructions(code) if one.opname != "EXTENDED_ARG"]
        self.params = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self._constants: tuple[Any, ...] = code.co_consts
        self._cells = {*code.co_cellvars} & {*code.co_varnames}
        self.aliases: dict[str, set[Name]] = {name: {Param(name)} for name in self.params}
        bindings = Counter(one.argval for one in self.instructions if one.opname == "STORE_FAST")
        for before, one in pairwise(self.instructions):
            if one.opname == "STORE_FAST":
                is_only = bindings[one.argval] == 1 and one.argval not in self.params
                self.aliases[one.argval] = self.named_by(before, {}) if is_only else set()
        self.sources: dict[str, set[Name]] = {name: {Param(name)} for name in self.params}
        for k, one in enumerate(self.instructions):
            if one.opname == "STORE_FAST":
                is_of_loop = k > 1 and self.instructions[k - 1].opname == "FOR_ITER"
                end = k - 1 - (self.instructions[k - 2].opname == "GET_ITER") if is_of_loop else k
                self.sources.setdefault(one.argval, set()).update(self.read(self.start(end), end))

    def start(self, end: int) -> int:
        """Return where the expression begins whose value is on the stack before an instruction."""
        depth = 0
        while end and depth < 1:
            end -= 1
            depth += _effect(self.instructions[end])
        return end

    def call_of(self, start: int) -> int:
        """Return where the call ends whose function an instruction loads."""
        depth = 0
        for k in range(start, len(self.instructions)):
            depth += _effect(self.instructions[k])
            if k > start and depth <= 1:
                return k + 1
        return len(self.instructions)

    def container(self, at: int) -> int:
        """Return where the expression ends in whose value an item is bound; 0 if that is not clear."""
        end = at
        while end and self.instructions[end - 1].opname == "SWAP":  # of an augmented assignment
            end -= 1
        if end < at:
            copies = [k for k in range(end) if self.instructions[k].opname == "COPY"]
            end = copies[-2] if len(copies) > 1 else 0
        for _ in range(2 if self.instructions[at].opname == "STORE_SLICE" and end == at else 1):
            end = self.start(end)
        return end

    def call(self, at: int) -> tuple[set[Name], list[tuple[int | str, int, int]]]:
        """Return the name of the function that is called, and the arguments: place, beginning and end.

        The place of an argument is its position, or its name if it is passed by that.
        """
        one, end, keywords = self.instructions[at], at, ()
        while end and self.instructions[end - 1].opname in _BESIDE_CALLS:
            end -= 1
            if self.instructions[end].opname == "KW_NAMES":
                keywords = self._constants[self.instructions[end].arg or 0]
        if one.opname == "CALL_KW":
            end -= 1
            keywords = self.instructions[end].argval
        count = one.arg or 0
        arguments: list[tuple[int | str, int, int]] = []
        for k in reversed(range(count)):
            start, position = self.start(end), k - count + len(keywords)
            arguments.append((keywords[position] if position >= 0 else k, start, end))
            end = start
        if end and self.instructions[end - 1].opname == "PUSH_NULL":
            end -= 1
        return self.named_by(self.instructions[end - 1], {}) if end else set(), arguments

    def is_call(self, at: int) -> bool:
        """Return whether an instruction calls a function with arguments that are not unpacked."""
        return self.instructions[at].opname in (*_CALLS, "CALL_KW")

    def named_by(self, one: dis.Instruction, locals_: dict[str, set[Name]]) -> set[Name]:
        """Return the name that an instruction reads; of a local one, the names that it stands for."""
        if one.opname in READS or one.opname in ATTRIBUTE_READS:
            return {one.argval}
        return locals_.get(one.argval, set()) if one.opname.startswith("LOAD_FAST") else set()

    def read(self, start: int, end: int, locals_: dict[str, set[Name]] | None = None) -> set[Name]:
        """Return the names that instructions read, but for those of which only the type matters."""
        found: set[Name] = set()
        for k in range(start, end):
            following = self.instructions[k + 1] if k + 1 < end else None
            if following is None or following.argval not in OF_TYPE:
                found |= self.named_by(self.instructions[k], self.sources if locals_ is None else locals_)
        return found

    def alone(self, start: int, end: int) -> set[Name]:
        """Return the name that an expression consists of; an attribute is its name."""
        if end - start == 1 or (end > start and self.instructions[end - 1].opname in ATTRIBUTE_READS):
            return self.named_by(self.instructions[end - 1], self.aliases)
        return set()

    def holder(self, start: int, end: int) -> set[Name]:
        """Return the name of the collection, if an expression is an item of one that has a name."""
        if end - start < 3 or self.instructions[end - 1].opname != "BINARY_SUBSCR":
            return set()
        index = self.start(end - 1)
        return self.alone(self.start(index), index)

    def is_plain(self, start: int, end: int) -> bool:
        """Return whether an expression depends on nothing that may be traced beside plain arrays.

        It does on names that are not local, or on one parameter: calls tell which of these are traced.
        """
        inside = self.instructions[start:end]
        known = [self.sources.get(one.argval, set()) for one in inside if one.opname.startswith("LOAD_FAST")]
        names = set().union(*known)
        if not any(isinstance(name, Param) for name in names):
            return not any(one.opname == "LOAD_CLOSURE" and one.argval in self._cells for one in inside)
        return len(names) == 1 and {one.argval for one in inside if one.opname in READS} <= _FUNCTIONS

    def indices(self, start: int, end: int) -> int:
        """Return how many indices an expression between brackets has; 0 if there may be slices."""
        inside = self.instructions[start:end]
        constants = [one.argval for one in inside if one.opname == "LOAD_CONST"]
        if any(one.opname == "BUILD_SLICE" for one in inside) or any(
            constant is None or isinstance(constant, slice) for constant in constants
        ):
            return 0
        last = inside[-1]
        if last.opname == "BUILD_TUPLE":
            return last.arg or 0
        return len(last.argval) if last.opname == "LOAD_CONST" and isinstance(last.argval, tuple) else 1


def _effect(instruction: dis.Instruction) -> int:
    return dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
