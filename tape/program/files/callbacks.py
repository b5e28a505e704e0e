"""Callbacks that files may name. There is no code in a file: an operation is found by its name in a table.

Each entry of the table says how attributes become JSON, and checks what was read, which anybody may have
written. `tape.random` declares its draw; other callbacks are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tape import errors
from tape.core.op import Op
from tape.program.files.structures import list_of, require
from tape.program.files.types import dtype_name, dtype_of, number_entry, number_of, shape_of
from tape.program.ir.loops import Block, Packed


@dataclass(frozen=True)
class Portable:
    """An operation of several results that files may name.

    Attributes
    ----------
    op : Op
        The operation.
    describe : callable
        From its attributes to JSON.
    restore : callable
        ``restore(entry, operands, types)``, from JSON of any content to attributes; raises `Damaged`.
        Operands are numbers, and None where they are computed; types are shape and dtype of each result.
    """

    op: Op
    describe: Callable[[dict[str, Any]], Any]
    restore: Callable[[Any, Sequence[Any], Sequence[Any]], dict[str, Any]]


PORTABLE: dict[str, Portable] = {}
"""The operations by their names in files."""

_MODULES = {"draw": "tape.random"}
"""Who declares them: a module that is imported when it is first named, as it is on an upper floor."""


def is_portable(op: Op) -> bool:
    """Return whether files may name an operation that a program calls back."""
    return isinstance(op, Packed) and op.name in PORTABLE and PORTABLE[op.name].op is op.inner


def describe_callback(op: Packed, places: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """Describe a callback, one of a portable operation, for JSON."""
    numbers = [None if place is None else number_entry(place) for place in places]
    types = [[dtype_name(part.dtype), part.shape] for part in op.block.parts]
    return [op.name, numbers, PORTABLE[op.name].describe(attrs), types]


def callback_of(entry: Any) -> tuple[Op, tuple[Any, ...], dict[str, Any]]:
    """Return the callback of a description that was read."""
    name, numbers, attrs, types = list_of(entry, 4)
    require(type(name) is str and name in _MODULES, f"no callback {errors.describe(name)}")
    import_module(_MODULES[name])
    places = tuple([None if place is None else number_of(place) for place in list_of(numbers)])
    pairs = [list_of(one, 2) for one in list_of(types)]
    results = [(shape_of(shape), dtype_of(dtype)) for dtype, shape in pairs]
    found = PORTABLE[name]
    return Packed(found.op, Block(results)), places, found.restore(attrs, places, results)
