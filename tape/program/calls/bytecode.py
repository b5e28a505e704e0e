"""The names that Python bytecode reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from dis import Instruction
from functools import lru_cache
from types import CodeType
from typing import NamedTuple

from tape.program.calls.expressions import (
    ANYWHERE,
    ATTRIBUTE_READS,
    ITERABLE,
    OF_TYPE,
    READS,
    Expressions,
    Name,
    Param,
    Path,
    Returned,
)

_WRITES = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR")
_ITEM_WRITES = ("STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR")
_CONDITIONS = (
    "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE",
    "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE", "JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP",
    "UNARY_NOT",
)  # fmt: skip
_DECIDES = (
    *_CONDITIONS, "BINARY_SUBSCR", "BINARY_SLICE", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC",
    "CONVERT_VALUE",
)  # fmt: skip
_TAKES = (
    "BINARY_SUBSCR", "CONTAINS_OP", "GET_ITER", "RETURN_VALUE", "UNPACK_EX", "UNPACK_SEQUENCE", "YIELD_VALUE",
)  # fmt: skip
_CATCHES = ("CHECK_EXC_MATCH", "CHECK_EG_MATCH")
_NUMBERS = frozenset({"bool", "complex", "float", "int", "round", "range", "math", "cmath"})
"""What makes numbers of Python's, or takes them."""
_CHOOSERS = frozenset(
    {"abs", "all", "any", "bytes", "dict", "divmod", "format", "frozenset", "hash", "len", "max",
     "memoryview", "min", "pow", "repr", "set", "sorted", "str", "sum"}
)  # fmt: skip
"""What may make something of arrays, or of their elements, that shows no trace of them."""
_ITERATES = frozenset({"enumerate", "filter", "iter", "list", "map", "reduce", "reversed", "tuple", "zip"})
"""What hands on the elements of arrays."""
_READERS = frozenset({"item", "tolist", "tobytes"})
"""Methods of arrays that make numbers of Python's."""
_COUNTS = frozenset(
    {"allclose", "argwhere", "array_equal", "array_equiv", "compress", "count_nonzero", "extract",
     "flatnonzero", "intersect1d", "nonzero", "setdiff1d", "setxor1d", "trim_zeros", "union1d", "unique"}
)  # fmt: skip
"""Functions and methods with numbers of Python's, or arrays whose lengths depend on elements."""
_BY_STRINGS = frozenset(
    {"getattr", "hasattr", "attrgetter", "methodcaller", "vars", "__dict__", "__getattribute__"}
)
"""What reads attributes whose names are strings."""
_BY_NAME = {"getattr": 1, "attrgetter": 0}
"""Functions that read an attribute by its name, and which argument that is."""
_OF_ALL = frozenset({"vars", "__dict__", "dir", "fields", "asdict", "astuple"})
"""What reads attributes without any name."""
_MODULES = frozenset({"import_module", "__import__", "modules"})
"""What finds modules whose names are strings."""
_COLLECTS = frozenset({"append", "appendleft", "extend", "insert", "add"})
"""Methods that add to a collection, and read nothing of it."""
_FILLS = frozenset({"fill", "sort", "partition", "put", "resize", "setfield"})
"""Methods of arrays that write into them."""


class Read(NamedTuple):
    """A name of arrays whose elements Python reads.

    Attributes
    ----------
    name : str, Param or Returned
    indices : int or None
        How many indices the reading has: of arrays with more axes it reads a part. None: it reads elements of
        all arrays.
    depth : int or None
        How many collections deep in what has the name the arrays are; None for itself and for its items.
    is_condition : bool
        Whether a condition depends on it, and on nothing that may be traced.
    """

    name: Name
    indices: int | None = None
    depth: int | None = None
    is_condition: bool = False

    def of(self, name: Name, depth: int | None) -> Read:
        """Return the reading where what it reads is so many collections deep in what has another name."""
        if depth is None:
            return self._replace(name=name, indices=None, depth=None)
        return self._replace(name=name, depth=None if self.depth is None else depth + self.depth)


class Passed(NamedTuple):
    """A name in an argument of a call.

    Attributes
    ----------
    function : str
        The name of the function that is called.
    place : int or str
        The position of the argument, its name if it is passed by that, or `ANYWHERE`.
    name : str, Param or Returned
    depth : int or None
        How deep in what has the name the argument is; None if it is computed from it alone.
    """

    function: str
    place: int | str
    name: Name
    depth: int | None


@dataclass
class Names:
    """Names that code reads.

    Attributes
    ----------
    params : tuple of str
        The parameters of the code itself, of which the first ``count`` have positions.
    others : str or None
        The parameter that all other positions are for.
    returns : set of Path
        What it returns, as far as it is clear.
    globals : dict of str to None
        In the order of their first use.
    attributes : set of str
        Names of attributes, of any object.
    read : set of str
        Names of all kinds, except those of collections that it only adds to.
    stored : set of str
        Names of all kinds that it binds, except local ones.
    valued : set of str
        Names that it reads for more than a shape or a dtype.
    whole : set of str
        Names that it reads for more than an attribute.
    written : set of str
        Names of all kinds, except local ones, of what it writes into: ``work[k] = 1``, ``work += 1``,
        ``work.fill(1)``, also where a local variable is another name of it.
    filled : set of str
        Names of collections of what it writes into: ``works[0][k] = 1``.
    decisive : set of Read
        Names in conditions and indices, and in what becomes a number of Python's: ``if k[0] > 0``,
        ``x[k[0]]``, ``float(k.sum())``; and those of arrays whose elements it reads, ``max(1, k[0])``.
    passed : set of Passed
        Names that it passes to functions.
    imports : list of tuple
        What it imports: level, module, and the names that it takes from it.
    optional : set of str
        Names of attributes that it may do without: it asks for them by strings, as `getattr` does, or
        catches exceptions.
    catches : bool
        Whether it catches exceptions.
    matches : bool
        Whether it compares objects with the patterns of classes.
    is_open : bool
        Whether it reads attributes without their names, as ``vars(o).values()`` does.
    """

    params: tuple[str, ...] = ()
    count: int = 0
    others: str | None = None
    returns: set[Path] = field(default_factory=set)
    globals: dict[str, None] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    valued: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    filled: set[str] = field(default_factory=set)
    decisive: set[Read] = field(default_factory=set)
    passed: set[Passed] = field(default_factory=set)
    imports: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    optional: set[str] = field(default_factory=set)
    catches: bool = False
    matches: bool = False
    is_open: bool = False

    def reads_at(self, place: int | str, reads: Iterable[Read]) -> Iterator[Read]:
        """Yield the readings of parameters that an argument may be for, also after a ``self``."""
        for read in reads:
            if isinstance(read.name, Param):
                name = read.name.name
                at = self.params.index(name) if name in self.params else -1
                if place in (name, ANYWHERE) or (
                    isinstance(place, int) and place <= at <= place + 1 <= self.count
                ):
                    yield read
                elif name == self.others and isinstance(place, int) and place + 1 >= self.count:
                    yield read._replace(depth=max(read.depth - 1, 0) if read.depth else read.depth)


@lru_cache(maxsize=4096)
def names_in(code: CodeType) -> Names:
    """Return the names that code reads, including the code of functions defined in it.

    Examples
    --------
    >>> from tape.program.calls.bytecode import names_in
    >>> list(names_in(compile("lambda x: scale * model.w @ x", "", "eval")).globals)
    ['scale', 'model']
    >>> sorted(names_in(compile("seen.append(w)", "", "exec")).read)
    ['append', 'w']
    """
    return _Reader(code).names


class _Reader:
    """A walk through the instructions of code, which collects names."""

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._expressions = Expressions(code)
        self._instructions = self._expressions.instructions
        expressions = self._expressions
        self.names = Names(expressions.params, expressions.count, expressions.others)
        for k, one in enumerate(self._instructions):
            self._read_name(k, one)
            self._read_elements(k, one)
            self._write(k, one)
            self._look_for_kinds(k, one)
        self._read_by_strings()
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._add(names_in(constant))

    def _decide(self, start: int, end: int, is_condition: bool = False) -> None:
        """Note that elements of all arrays that are read in an expression decide something."""
        is_condition = is_condition and self._expressions.is_plain(start, end)
        names = self._expressions.read(start, end)
        self.names.decisive |= {Read(name, is_condition=is_condition) for name in names}

    def _decide_if_plain(self, start: int, end: int) -> None:
        if self._expressions.is_plain(start, end):
            self._decide(start, end)

    def _read_name(self, k: int, one: Instruction) -> None:
        names, opname, name = self.names, one.opname, one.argval
        if opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.globals[name] = None
            if name in _NUMBERS:
                self._decide(k + 1, self._expressions.call_of(k))
        elif opname in ATTRIBUTE_READS:
            names.attributes.add(name)
            if name in _FILLS and k:
                names.written |= self._expressions.names_of(k)
            if name in _READERS:
                self._decide(self._expressions.start(k), k)
            elif name in _COUNTS:  # a method, or a function of a module
                self._decide_if_plain(self._expressions.start(k), k)
        if opname in READS or opname in ATTRIBUTE_READS:
            following = self._instructions[k + 1] if k + 1 < len(self._instructions) else None
            is_next = following is not None and following.opname in ATTRIBUTE_READS
            if not (is_next and following is not None and following.argval in _COLLECTS):
                names.read.add(name)
            if following is None or following.argval not in OF_TYPE:
                names.valued.add(name)
            if not is_next:
                names.whole.add(name)

    def _read_elements(self, k: int, one: Instruction) -> None:
        """Note what depends on elements of arrays without a trace of them."""
        expressions, opname = self._expressions, one.opname
        if opname in _DECIDES:  # a condition, or what is between brackets
            looks_for_key = k > 0 and self._instructions[k - 1].opname == "CONTAINS_OP"
            end = expressions.start(k - 1) if looks_for_key else k
            self._decide(expressions.start(k), end, is_condition=opname in _CONDITIONS)
        if opname not in _TAKES:
            if expressions.is_call(k):
                self._pass_arguments(k)
            return
        start = expressions.start(k)
        if opname == "CONTAINS_OP":
            self._read_part(start, k, None)
            self._decide(expressions.start(start), start)
        elif opname == "BINARY_SUBSCR":
            if indices := expressions.indices(start, k):
                self._read_part(expressions.start(start), start, indices)
        elif opname in ("RETURN_VALUE", "YIELD_VALUE"):
            is_item = opname == "YIELD_VALUE"
            self.names.returns |= {Path(name, at - is_item) for name, at in expressions.path(start, k)}
        else:
            self._read_part(start, k, 1)
            self._compare_in_comprehension(start, k)

    def _read_part(self, start: int, end: int, indices: int | None) -> None:
        """Note the array that an expression is, if it is one."""
        self.names.decisive |= {
            Read(name, indices, depth) for name, depth in self._expressions.path(start, end)
        }

    def _compare_in_comprehension(self, start: int, end: int) -> None:
        """Note what a comprehension goes through, if it has conditions about that."""
        before = self._instructions[start - 1 : start]
        if before and before[0].opname == "MAKE_FUNCTION":
            code = self._instructions[start - 2].argval
            for read in names_in(code).decisive if isinstance(code, CodeType) else ():
                if read.name == Param(ITERABLE):
                    paths = self._expressions.path(start, end)
                    self.names.decisive |= {read.of(name, depth) for name, depth in paths}
                    if read.indices is None and not paths:
                        self._decide(start, end)

    def _pass_arguments(self, k: int) -> None:
        expressions = self._expressions
        function, _, arguments = expressions.call(k)
        found = [(place, start, end, expressions.path(start, end)) for place, start, end in arguments]
        handed_on = {
            name for *_, paths in found for name, depth in paths if isinstance(name, str) and not depth
        }
        for place, start, end, paths in found:
            is_named = any(not isinstance(name, Returned) for name, _ in paths)
            if function in _ITERATES:
                self._read_part(start, end, 1)
            elif function in _CHOOSERS and not (function == "len" and is_named):
                self._read_part(start, end, 1)
                self._decide_if_plain(start, end)
            elif function in _COUNTS or (function == "where" and len(arguments) == 1):
                self._decide_if_plain(start, end)
            parts: set[tuple[Name, int | None]] = {*paths}
            if place == ANYWHERE or (not is_named and expressions.is_plain(start, end)):
                parts |= {(name, None) for name in expressions.read(start, end)}
            self.names.passed |= {Passed(function, place, *part) for part in parts}
            # A function among the arguments may be called with the others.
            self.names.passed |= {Passed(other, ANYWHERE, *part) for other in handed_on for part in parts}

    def _write(self, k: int, one: Instruction) -> None:
        names, opname, name = self.names, one.opname, one.argval
        if opname in _WRITES:
            names.stored.add(name)
            if opname.endswith("_ATTR"):
                names.attributes.add(name)
            elif opname.endswith("_GLOBAL"):
                names.globals[name] = None
            if _is_augmented(self._instructions[max(k - 2, 0) : k]):
                names.written.add(name)
        elif opname in _ITEM_WRITES:
            end = self._expressions.container(k)
            into = self._expressions.names_of(end)
            names.written |= into
            if end and self._instructions[end - 1].opname == "BINARY_SUBSCR":
                start = self._expressions.start(end)
                names.filled |= {
                    name for name, _ in self._expressions.path(start, end) if isinstance(name, str)
                }
        elif opname == "STORE_FAST" and _is_augmented(self._instructions[max(k - 1, 0) : k]):
            paths = self._expressions.paths.get(name, ()) if name in self._expressions.shared else ()
            names.written |= {of for of, depth in paths if isinstance(of, str) and not depth}

    def _look_for_kinds(self, k: int, one: Instruction) -> None:
        names = self.names
        names.catches = names.catches or one.opname in _CATCHES
        if one.opname == "IMPORT_NAME":
            level, taken = [before.argval for before in self._instructions[k - 2 : k]]
            names.imports.append((level, one.argval, tuple(taken or ())))
        elif one.opname == "MATCH_CLASS":
            names.matches = True
            names.attributes |= {*self._instructions[k - 1].argval}
            names.read |= {*self._instructions[k - 1].argval}

    def _read_by_strings(self) -> None:
        """Add the attributes and modules that code names by strings, or does without."""
        names = self.names
        known = names.globals.keys() | names.attributes
        texts = [text for text in self._code.co_consts if isinstance(text, str)]
        if names.catches:
            names.optional |= names.attributes
        if not _BY_STRINGS.isdisjoint(known):
            parts = {part for text in texts for part in text.split(".")}
            names.optional |= {part for part in parts if part.isidentifier()}
            names.attributes |= names.optional
            names.read |= names.optional
        if not _MODULES.isdisjoint(known):
            names.imports += [(0, text, ()) for text in texts if text.replace(".", "_").isidentifier()]
        names.is_open = not _OF_ALL.isdisjoint(known) or self._computes_names()

    def _computes_names(self) -> bool:
        """Return whether the names of attributes come from anything but strings in the code."""
        for k in range(len(self._instructions)):
            if self._expressions.is_call(k):
                function, _, arguments = self._expressions.call(k)
                for place, start, end in arguments if function in _BY_NAME else ():
                    is_text = end - start == 1 and self._instructions[start].opname == "LOAD_CONST"
                    if place == _BY_NAME[function] and not is_text:
                        return True
        return False

    def _add(self, inner: Names) -> None:
        """Add the names of a function that is defined in this one."""
        names, own = self.names, {*self._code.co_cellvars}
        for part in ("globals", "attributes", "read", "stored", "valued", "whole", "optional"):
            getattr(names, part).update(getattr(inner, part))
        names.written |= inner.written - own
        names.filled |= inner.filled - own
        names.imports += inner.imports
        names.catches, names.matches = names.catches or inner.catches, names.matches or inner.matches
        names.is_open = names.is_open or inner.is_open
        for read in inner.decisive:
            names.decisive |= {read.of(*path) for path in self._outside(read.name)}
        for passed in inner.passed:
            for name, depth in self._outside(passed.name):
                at = None if passed.depth is None else passed.depth + depth
                names.passed.add(passed._replace(name=name, depth=at))

    def _outside(self, name: Name) -> set[Path]:
        """Return what a name of an inner function is in this one."""
        if isinstance(name, Param):
            return set()
        if name in self._code.co_cellvars:
            return self._expressions.paths.get(str(name), set())
        return {Path(name, 0)}


def _is_augmented(before: Sequence[Instruction]) -> bool:
    """Return whether what is bound after these instructions is the result of ``+=`` or its like."""
    return any(one.opname == "BINARY_OP" and one.argrepr.endswith("=") for one in before)
