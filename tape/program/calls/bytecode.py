"""The names that Python bytecode reads."""

from __future__ import annotations

import dis
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from types import CodeType
from typing import NamedTuple

_READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTE_READS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
_WRITES = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR")
_ITEM_WRITES = ("STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR")
_DECIDES = (
    "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE",
    "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE", "BINARY_SUBSCR", "BINARY_SLICE",
)  # fmt: skip
_CATCHES = ("CHECK_EXC_MATCH", "CHECK_EG_MATCH")
_NUMBERS = frozenset({"bool", "complex", "float", "int", "round", "range", "math", "cmath"})
"""What makes numbers of Python's, or takes them."""
_READERS = frozenset({"item", "tolist"})
"""Methods of arrays that make numbers of Python's."""
_OF_TYPE = frozenset({"ndim", "shape", "size", "dtype"})
"""Attributes of arrays that do not depend on what they hold."""
_BY_STRINGS = frozenset({"getattr", "hasattr", "attrgetter", "vars", "__dict__", "__getattribute__"})
"""What reads attributes whose names are strings."""
_COLLECTS = frozenset({"append", "appendleft", "extend", "insert", "add"})
"""Methods that add to a collection, and read nothing of it."""
_FILLS = frozenset({"fill", "sort", "partition", "put", "resize", "setfield"})
"""Methods of arrays that write into them."""


class Names(NamedTuple):
    """Names that code reads.

    Attributes
    ----------
    globals : tuple of str
        In the order of their first use.
    attributes : frozenset of str
        Names of attributes, of any object.
    read : frozenset of str
        Names of all kinds, except those of collections that it only adds to.
    stored : frozenset of str
        Names of all kinds that it binds, except local ones.
    used : frozenset of str
        Names that it reads for more than to bind them anew, as ``count += 1`` does, or to write into what
        they are bound to, as ``log[k] = loss`` does.
    written : frozenset of str
        Names of all kinds, except local ones, of what it writes into: ``work[k] = 1``, ``work += 1``,
        ``work.fill(1)``, also where a local variable is another name of it.
    filled : frozenset of str
        Names of collections of what it writes into: ``works[0][k] = 1``.
    decisive : frozenset of str
        Names in conditions and indices, and in what becomes a number of Python's: ``if k[0] > 0``,
        ``x[k[0]]``, ``float(k.sum())``.
    catches : bool
        Whether it catches exceptions.
    imports : tuple of tuple
        What it imports: level, module, and the names that it takes from it.
    matches : bool
        Whether it compares objects with the patterns of classes.
    optional : frozenset of str
        Names of attributes that it may do without: it asks for them by strings, as `getattr` does, or
        catches exceptions.
    """

    globals: tuple[str, ...]
    attributes: frozenset[str]
    read: frozenset[str]
    stored: frozenset[str]
    used: frozenset[str]
    written: frozenset[str]
    filled: frozenset[str]
    decisive: frozenset[str]
    catches: bool
    imports: tuple[tuple[int, str, tuple[str, ...]], ...]
    matches: bool
    optional: frozenset[str]


@lru_cache(maxsize=4096)
def names_in(code: CodeType) -> Names:
    """Return the names that code reads, including the code of functions defined in it.

    Examples
    --------
    >>> from tape.program.calls.bytecode import names_in
    >>> names_in(compile("lambda x: scale * model.w @ x", "", "eval")).globals
    ('scale', 'model')
    >>> sorted(names_in(compile("seen.append(w)", "", "exec")).read)
    ['append', 'w']
    """
    found: dict[str, None] = {}
    attributes: set[str] = set()
    read: set[str] = set()
    stored: set[str] = set()
    written: set[str] = set()
    filled: set[str] = set()
    decisive: set[str] = set()
    uses: Counter[str] = Counter()  # how often it is read, less how often it is bound to what it was and more
    catches = matches = False
    imports: list[tuple[int, str, tuple[str, ...]]] = []
    instructions = [one for one in dis.get_instructions(code) if one.opname != "EXTENDED_ARG"]
    aliases, sources = _aliases(instructions), _sources(instructions)
    for k, (instruction, following) in enumerate(zip(instructions, [*instructions[1:], None], strict=True)):
        opname, name = instruction.opname, instruction.argval
        catches = catches or opname in _CATCHES
        if opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found[name] = None
            if name in _NUMBERS:
                decisive |= _read_in(instructions[k + 1 : _end(instructions, k)], sources)
        elif opname in _DECIDES:  # a condition, or what is between brackets
            looks_for_key = k > 0 and instructions[k - 1].opname == "CONTAINS_OP"
            end = _start(instructions, k - 1) if looks_for_key else k
            decisive |= _read_in(instructions[_start(instructions, k) : end], sources)
        elif opname in _ATTRIBUTE_READS:
            attributes.add(name)
            if name in _FILLS and k:
                written |= _names_of(instructions[k - 1], aliases)
            if name in _READERS:
                decisive |= _read_in(instructions[_start(instructions, k) : k], sources)
        elif opname in _WRITES:
            stored.add(name)
            if _is_augmented(instructions[max(k - 2, 0) : k]):
                uses[name] -= 1
                written.add(name)
        elif opname in _ITEM_WRITES:
            end = _container(instructions, k)
            into = _names_of(instructions[end - 1], aliases) if end else set()
            written |= into
            uses.subtract(into)
            if end and instructions[end - 1].opname == "BINARY_SUBSCR":
                filled |= _read_in(instructions[_start(instructions, end) : end], aliases)
        elif opname == "STORE_FAST" and _is_augmented(instructions[max(k - 1, 0) : k]):
            written |= aliases.get(name, set())
        elif opname == "IMPORT_NAME":
            level, taken = [before.argval for before in instructions[k - 2 : k]]
            imports.append((level, name, tuple(taken or ())))
        elif opname == "MATCH_CLASS":
            matches = True
            attributes |= {*instructions[k - 1].argval}
            read |= {*instructions[k - 1].argval}
        if opname in _READS or opname in _ATTRIBUTE_READS:
            is_next = following is not None and following.opname in _ATTRIBUTE_READS
            if not (is_next and following is not None and following.argval in _COLLECTS):
                read.add(name)
                uses[name] += 1
    used = {name for name, count in uses.items() if count > 0}
    optional = attributes.copy() if catches else set()
    if not _BY_STRINGS.isdisjoint(found) or not _BY_STRINGS.isdisjoint(attributes):
        parts = {part for text in code.co_consts if isinstance(text, str) for part in text.split(".")}
        optional |= {part for part in parts if part.isidentifier()}
        attributes |= optional
        read |= optional
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = names_in(constant)
            found |= dict.fromkeys(inner.globals)
            attributes |= inner.attributes
            read |= inner.read
            stored |= inner.stored
            used |= inner.used
            written |= inner.written.difference(code.co_cellvars)
            filled |= inner.filled.difference(code.co_cellvars)
            decisive |= inner.decisive.difference(code.co_cellvars)
            catches, matches = catches or inner.catches, matches or inner.matches
            imports += inner.imports
            optional |= inner.optional
    return Names(
        tuple(found), frozenset(attributes), frozenset(read), frozenset(stored), frozenset(used | optional),
        frozenset(written), frozenset(filled), frozenset(decisive), catches, tuple(imports), matches,
        frozenset(optional),
    )  # fmt: skip


def _is_augmented(before: Sequence[dis.Instruction]) -> bool:
    """Return whether what is bound after these instructions is the result of ``+=`` or its like."""
    return any(one.opname == "BINARY_OP" and one.argrepr.endswith("=") for one in before)


def _names_of(instruction: dis.Instruction, aliases: dict[str, set[str]]) -> set[str]:
    """Return the name that an instruction reads; of a local one, the name that it stands for, if any."""
    if instruction.opname in _READS or instruction.opname in _ATTRIBUTE_READS:
        return {instruction.argval}
    return aliases.get(instruction.argval, set()) if instruction.opname.startswith("LOAD_FAST") else set()


def _aliases(instructions: Sequence[dis.Instruction]) -> dict[str, set[str]]:
    """Return local variables that are bound once, to what has a name that is not local: with that name."""
    bindings = Counter(one.argval for one in instructions if one.opname == "STORE_FAST")
    return {
        one.argval: _names_of(before, {})
        for before, one in pairwise(instructions)
        if one.opname == "STORE_FAST" and bindings[one.argval] == 1
    }


def _sources(instructions: Sequence[dis.Instruction]) -> dict[str, set[str]]:
    """Return local variables with the names that are read in what they are bound to."""
    sources: dict[str, set[str]] = {}
    for k, one in enumerate(instructions):
        if one.opname == "STORE_FAST":
            is_of_loop = k > 1 and instructions[k - 1].opname == "FOR_ITER"
            end = k - 1 - (instructions[k - 2].opname == "GET_ITER") if is_of_loop else k
            found = _read_in(instructions[_start(instructions, end) : end], sources)
            sources.setdefault(one.argval, set()).update(found)
    return sources


def _container(instructions: Sequence[dis.Instruction], at: int) -> int:
    """Return where the expression ends in whose value an item is bound; 0 if that is not clear."""
    end = at
    while end and instructions[end - 1].opname == "SWAP":  # of an augmented assignment
        end -= 1
    if end < at:
        copies = [k for k in range(end) if instructions[k].opname == "COPY"]
        end = copies[-2] if len(copies) > 1 else 0
    for _ in range(2 if instructions[at].opname == "STORE_SLICE" and end == at else 1):
        end = _start(instructions, end)
    return end


def _start(instructions: Sequence[dis.Instruction], end: int) -> int:
    """Return where the expression begins whose value is on the stack before an instruction."""
    depth = 0
    while end and depth < 1:
        end -= 1
        depth += _effect(instructions[end])
    return end


def _end(instructions: Sequence[dis.Instruction], start: int) -> int:
    """Return where the call ends whose function an instruction loads."""
    depth = 0
    for k in range(start, len(instructions)):
        depth += _effect(instructions[k])
        if k > start and depth <= 1:
            return k + 1
    return len(instructions)


def _effect(instruction: dis.Instruction) -> int:
    return dis.stack_effect(instruction.opcode, instruction.arg, jump=False)


def _read_in(instructions: Sequence[dis.Instruction], sources: dict[str, set[str]]) -> set[str]:
    """Return the names that instructions read, but for those of which only the type matters."""
    found: set[str] = set()
    for one, following in zip(instructions, [*instructions[1:], None], strict=True):
        if following is None or following.argval not in _OF_TYPE:
            found |= _names_of(one, sources)
    return found
