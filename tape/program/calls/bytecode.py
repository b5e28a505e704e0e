"""The names that Python bytecode reads."""

from __future__ import annotations

import dis
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType
from typing import NamedTuple

_READS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTE_READS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
_WRITES = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR")
_CATCHES = ("CHECK_EXC_MATCH", "CHECK_EG_MATCH")
_COLLECTS = frozenset({"append", "appendleft", "extend", "insert", "add"})
"""Methods that add to a collection, and read nothing of it."""


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
        Names that it reads for more than to bind them anew, as ``count += 1`` does.
    catches : bool
        Whether it catches exceptions.
    imports : tuple of tuple
        What it imports: level, module, and the names that it takes from it.
    matches : bool
        Whether it compares objects with the patterns of classes.
    optional : frozenset of str
        Names of attributes that it may do without: it asks for them by `getattr` or `hasattr`, or catches
        exceptions.
    """

    globals: tuple[str, ...]
    attributes: frozenset[str]
    read: frozenset[str]
    stored: frozenset[str]
    used: frozenset[str]
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
    uses: Counter[str] = Counter()  # how often it is read, less how often it is bound to what it was and more
    catches = matches = False
    imports: list[tuple[int, str, tuple[str, ...]]] = []
    instructions = [one for one in dis.get_instructions(code) if one.opname != "EXTENDED_ARG"]
    for k, (instruction, following) in enumerate(zip(instructions, [*instructions[1:], None], strict=True)):
        opname, name = instruction.opname, instruction.argval
        catches = catches or opname in _CATCHES
        if opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found[name] = None
        elif opname in _ATTRIBUTE_READS:
            attributes.add(name)
        elif opname in _WRITES:
            stored.add(name)
            uses[name] -= _is_augmented(instructions[max(k - 2, 0) : k])
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
    if not found.keys().isdisjoint(("getattr", "hasattr")):
        optional |= {part for part in code.co_consts if isinstance(part, str) and part.isidentifier()}
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
            catches, matches = catches or inner.catches, matches or inner.matches
            imports += inner.imports
            optional |= inner.optional
    return Names(
        tuple(found), frozenset(attributes), frozenset(read), frozenset(stored), frozenset(used | optional),
        catches, tuple(imports), matches, frozenset(optional),
    )  # fmt: skip


def _is_augmented(before: Sequence[dis.Instruction]) -> bool:
    """Return whether what is bound after these instructions is the result of ``+=`` or its like."""
    return any(one.opname == "BINARY_OP" and one.argrepr.endswith("=") for one in before)
