"""Expressions in Python bytecode: where they begin and end, the names that they read, what they may be."""

from __future__ import annotations

import builtins
import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
ATTRIBUTE_READS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
OF_TYPE = frozenset({"ndim", "shape", "size", "dtype"})
"""Attributes of arrays that do not depend on what they hold."""
ANYWHERE = "*"
"""The place of an argument that may be any."""
ITERABLE = ".0"
"""What a comprehension has as its parameter."""
_CALLS = ("CALL", "CALL_FUNCTION", "CALL_METHOD", "CALL_KW")
_BESIDE_CALLS = ("PRECALL", "KW_NAMES", "PUSH_NULL")
_FUNCTIONS = frozenset({*dir(builtins), "np", "numpy", "math"})
"""Names that are those of functions and their modules."""
_OF_IDENTITY = frozenset({"callable", "hasattr", "id", "isinstance", "issubclass", "len", "type"})
"""Functions whose results do not depend on what arrays hold."""
_COPIES = frozenset({"copy", "deque", "list", "sorted", "tuple"})
_SAME_ITEMS = frozenset({"copy", "deque", "iter", "list", "reversed", "sorted", "tuple", "values", "vars"})
"""Functions and methods that return the items of a collection, in a collection."""
_WITH_ITEMS = frozenset({"enumerate", "items", "zip"})
"""Those that return items in tuples."""
_PAIRS = {
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}
"""Instructions that are two in one."""
_MOST_PATHS = 16


class Param(NamedTuple):
    """A parameter of a function, as a name."""

    name: str


class Returned(NamedTuple):
    """What a function of this name returns, as a name."""

    function: str


Name: TypeAlias = str | Param | Returned


class Path(NamedTuple):
    """What an expression may be: what has a name, or an item of that, or an item of an item.

    Attributes
    ----------
    name : str, Param or Returned
        Names of attributes stand for themselves, whatever the object.
    depth : int
        The number of collections in between: 1 for ``ws[0]``, and for ``w`` in ``for w in ws``.
    """

    name: Name
    depth: int


class Expressions:
    """The expressions in the code of a function.

    Parameters
    ----------
    code : code object

    Attributes
    ----------
    instructions : list of dis.Instruction
    params : tuple of str
        Those of positions, that of the others if there is one, and those by name alone.
    count : int
        How many parameters have positions.
    paths : dict
        Local variables, with all that they may be.
    sources : dict
        Local variables, with the names that are read in what they are bound to.
    shared : set of str
        Local variables that may be what a path says itself, not a copy of it.
    """

    def __init__(self, code: CodeType) -> None:
        self.instructions = [*_instructions(code)]
        self.count = code.co_argcount
        has_more = [bool(code.co_flags & flag) for flag in (0x04, 0x08)]
        self.params = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + sum(has_more)]
        self.others = self.params[code.co_argcount + code.co_kwonlyargcount] if has_more[0] else None
        self._constants: tuple[Any, ...] = code.co_consts
        self._locals = {*code.co_varnames, *code.co_cellvars}
        self._cells = {*code.co_cellvars}
        self.paths: dict[str, set[Path]] = {name: {Path(Param(name), 0)} for name in self.params}
        self.sources: dict[str, set[Name]] = {name: {Param(name)} for name in self.params}
        self.shared: set[str] = {*self.params}
        for k, one in enumerate(self.instructions):
            if one.opname in ("STORE_FAST", "STORE_DEREF") and one.argval in self._locals:
                for start, end, depth in self._bound_to(k):
                    known = self.paths.setdefault(one.argval, set())
                    paths = {Path(name, at + depth) for name, at in self.path(start, end)}
                    if len(known) < _MOST_PATHS:
                        known |= paths
                    self.sources.setdefault(one.argval, set()).update(self.read(start, end))
                    is_copied = not depth and self.is_call(end - 1) and self.call(end - 1)[0] in _COPIES
                    if paths and not is_copied:
                        self.shared.add(one.argval)

    def _bound_to(self, store: int) -> Iterator[tuple[int, int, int]]:
        """Yield the expressions that a variable may be bound to, and how deep in their values.

        There are several if it is bound to a conditional expression.
        """
        end, depth = store, 0
        while end and self.instructions[end - 1].opname.startswith("STORE_"):  # of a tuple
            end -= 1
        if end and self.instructions[end - 1].opname in ("UNPACK_SEQUENCE", "UNPACK_EX"):
            end -= 1
            depth += 1
        else:
            end = store
        while (
            end > 1 and self.instructions[end - 1].opname == "COPY"
        ):  # it is the value of an expression, too
            end -= 1
        if end > 1 and self.instructions[end - 1].opname == "FOR_ITER":
            end -= 1 + (self.instructions[end - 2].opname == "GET_ITER")
            depth += 1
        start = self.start(end)
        yield start, end, depth
        while start and self.instructions[start - 1].opname == "JUMP_FORWARD":
            end = start - 1
            start = self.start(end)
            yield start, end, depth

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

    def is_call(self, at: int) -> bool:
        """Return whether an instruction calls a function."""
        return self.instructions[at].opname in (*_CALLS, "CALL_FUNCTION_EX")

    def call(self, at: int) -> tuple[str, int, list[tuple[int | str, int, int]]]:
        """Return the name of the function that is called, where it is loaded, and the arguments.

        Of each argument these are its place, where it begins and where it ends. The place is its position,
        its name if it is passed by that, or `ANYWHERE` if it is unpacked.
        """
        one, end, keywords = self.instructions[at], at, ()
        arguments: list[tuple[int | str, int, int]] = []
        if one.opname == "CALL_FUNCTION_EX":
            for _ in range(1 + ((one.arg or 0) & 1)):
                start = self.start(end)
                arguments.append((ANYWHERE, start, end))
                end = start
        else:
            while end and self.instructions[end - 1].opname in _BESIDE_CALLS:
                end -= 1
                if self.instructions[end].opname == "KW_NAMES":
                    keywords = self._constants[self.instructions[end].arg or 0]
            if one.opname == "CALL_KW":
                end -= 1
                keywords = self.instructions[end].argval
            count = one.arg or 0
            for k in reversed(range(count)):
                start, position = self.start(end), k - count + len(keywords)
                arguments.append((keywords[position] if position >= 0 else k, start, end))
                end = start
        if end and self.instructions[end - 1].opname == "PUSH_NULL":
            end -= 1
        loaded = self.instructions[end - 1].argval if end else None
        return loaded if isinstance(loaded, str) else "", end - 1, arguments

    def path(self, start: int, end: int) -> set[Path]:
        """Return what an expression may be, as far as it is clear."""
        if end <= start:
            return set()
        last = self.instructions[end - 1]
        if last.opname in ATTRIBUTE_READS:
            return {Path(last.argval, 0)}
        if last.opname == "BINARY_SUBSCR":
            index = self.start(end - 1)
            if not self.indices(index, end - 1):
                return set()
            return {Path(name, depth + 1) for name, depth in self.path(self.start(index), index)}
        if self.is_call(end - 1):
            return {*self._returned(end - 1)}
        if end - start != 1:
            return set()
        if local := self._local(last):
            return self.paths.get(local, set())
        return {Path(last.argval, 0)} if last.opname in READS else set()

    def _local(self, one: dis.Instruction) -> str:
        """Return the local variable that an instruction loads; empty if it loads none."""
        is_local = one.opname.startswith("LOAD_FAST") or (
            one.opname == "LOAD_DEREF" and one.argval in self._cells
        )
        return one.argval if is_local and isinstance(one.argval, str) else ""

    def _returned(self, call: int) -> Iterator[Path]:
        """Yield what a call may return."""
        function, at, arguments = self.call(call)
        if function in _SAME_ITEMS or function in _WITH_ITEMS:
            parts = [(start, end) for _, start, end in arguments]
            if at > 0 and self.instructions[at].opname in ATTRIBUTE_READS:
                parts.append((self.start(at), at))
            for start, end in parts:
                for name, depth in self.path(start, end):
                    yield Path(name, depth - (function in _WITH_ITEMS))
        elif function:
            yield Path(Returned(function), 0)

    def named_by(self, one: dis.Instruction) -> set[str]:
        """Return the name that an instruction reads, unless it is local."""
        is_name = one.opname in READS and not self._local(one)
        return {one.argval} if is_name or one.opname in ATTRIBUTE_READS else set()

    def names_of(self, end: int) -> set[str]:
        """Return the names of what is on the stack before an instruction, if it has some."""
        if not end:
            return set()
        one = self.instructions[end - 1]
        if local := self._local(one):
            paths = self.paths.get(local, set())
            is_clear = len(paths) == 1 and local in self.shared
            return {name for name, depth in paths if is_clear and not depth and isinstance(name, str)}
        return self.named_by(one)

    def read(self, start: int, end: int) -> set[Name]:
        """Return the names that instructions read, but for those of which only type or identity matters."""
        found: set[Name] = set()
        if end and self.instructions[end - 1].opname == "IS_OP":
            return found
        k = start
        while k < end:
            one = self.instructions[k]
            if one.opname in READS and one.argval in _OF_IDENTITY:
                after = self.call_of(k)
                if after <= end and self._is_simple(k + 1, after):
                    k = after
                    continue
            if k + 1 >= end or self.instructions[k + 1].argval not in OF_TYPE:
                local = self._local(one)
                found |= self.sources.get(local, set()) if local else self.named_by(one)
            k += 1
        return found

    def _is_simple(self, start: int, end: int) -> bool:
        """Return whether nothing is called or looked up between two instructions."""
        computes = ("BINARY_SUBSCR", "BINARY_OP", "COMPARE_OP", "LOAD_METHOD", "MAKE_FUNCTION")
        calls = sum(self.is_call(k) for k in range(start, end))
        return calls <= 1 and not any(one.opname in computes for one in self.instructions[start:end])

    def is_plain(self, start: int, end: int) -> bool:
        """Return whether an expression depends on nothing that may be traced beside plain arrays.

        It does on names that are not local, or on one parameter: calls tell which of these are traced.
        """
        inside = self.instructions[start:end]
        if any(one.opname == "LOAD_CLOSURE" and one.argval in self._cells for one in inside):
            return False
        names: set[Name] = set().union(*[self.sources.get(self._local(one), set()) for one in inside])
        if not any(isinstance(name, Param) for name in names):
            return True
        free = {one.argval for one in inside if one.opname in READS and not self._local(one)}
        return len(names) == 1 and free <= _FUNCTIONS

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


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """Yield the instructions of code, as CPython 3.11 has them where later versions have one for several."""
    for one in dis.get_instructions(code):
        if one.opname in _PAIRS:
            for opname, name in zip(_PAIRS[one.opname], one.argval, strict=True):
                yield one._replace(opname=opname, opcode=dis.opmap[opname], arg=0, argval=name)
        elif one.opname == "BINARY_OP" and one.argrepr == "[]":
            yield one._replace(opname="BINARY_SUBSCR")
        elif one.opname != "EXTENDED_ARG":
            yield one


def _effect(instruction: dis.Instruction) -> int:
    return dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
