"""What an object is, and what it holds, for the search of `tape.program.calls.reached`."""

from __future__ import annotations

import builtins
import dataclasses
import io
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from os.path import dirname, join
from typing import Any

from tape import errors
from tape.conversion.foreign import module_of

__all__ = [
    "EMPTY",
    "absent_from",
    "attributes_of",
    "content_of",
    "is_distribution",
    "is_empty",
    "is_iterator",
    "is_layer",
    "is_library",
    "is_library_file",
    "is_ours",
    "is_special",
    "known_of",
    "name_of",
    "own_attributes",
    "package_folder",
    "slots_of",
]

EMPTY: Any = object()
"""Stands for what is not there."""
_MADE_BY_CODE = 1 << 9
"""The flag of classes that are not part of an interpreter's code: Py_TPFLAGS_HEAPTYPE."""


def is_layer(kind: type) -> bool:
    """Return whether this is a class of layers of this package, or derives from one."""
    is_ours = any(module_of(base).startswith("tape.nn.") for base in kind.__mro__)
    return is_ours and dataclasses.is_dataclass(kind)


def is_ours(kind: type) -> bool:
    """Return whether a class is one of this package."""
    return module_of(kind).partition(".")[0] == "tape"


def is_library_file(name: str) -> bool:
    """Return whether a file is of Python, of an installed library or of this package."""
    return name.startswith(_LIBRARIES) or errors.is_foreign(name)


def is_library(kind: type) -> bool:
    """Return whether a class is one of Python, of an installed library or of this package."""
    name = module_of(kind)
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is not None:
        return is_library_file(file)
    if name == "builtins":  # what `exec` makes without a `__name__` says so, too
        return not kind.__flags__ & _MADE_BY_CODE or vars(builtins).get(kind.__name__) is kind
    return name.partition(".")[0] in sys.stdlib_module_names  # compiled into Python, or made by hand


def known_of(kind: type, table: Mapping[str, Any]) -> Any:
    """Return what a table has for the name of a class, or of one that it derives from; None for others."""
    return next((table[name] for name in map(name_of, kind.__mro__) if name in table), None)


def name_of(kind: type) -> str:
    """Return the name of a class, with its module."""
    return f"{module_of(kind)}.{kind.__qualname__}"


def is_distribution(kind: type) -> bool:
    """Return whether this is a class of distributions of `scipy.stats`, which draw from NumPy's generator."""
    return module_of(kind).startswith("scipy.stats.")


def is_iterator(value: Any) -> bool:
    return isinstance(value, Iterator) and not isinstance(value, io.IOBase)


def package_folder(f: Any) -> str:
    """Return the folder of the package that a function belongs to; empty if there is none."""
    module = sys.modules.get((getattr(f, "__module__", None) or "").partition(".")[0])
    file = getattr(module, "__file__", None)
    if file is None or not hasattr(module, "__path__") or errors.is_foreign(file):
        return ""
    return join(dirname(file), "")


def own_attributes(value: Any) -> dict[str, Any] | None:
    """Return the attributes of an object itself; None if it has none, or raises."""
    try:
        return vars(value)
    except Exception:  # of whatever kind its own code raises
        return None


def absent_from(value: Any, names: Iterable[str]) -> list[str]:
    """Return those names, sorted, that neither an object nor a class of it has, but for `__getattr__`."""
    kinds = [*type(value).__mro__, *(value.__mro__ if isinstance(value, type) else ())]
    left = [*names]
    for held in (own_attributes(value) or {}, *map(vars, kinds)):
        left = [name for name in left if name not in held]
    return sorted(left)


def slots_of(kind: type) -> frozenset[str]:
    """Return the attributes that instances of a class written in Python hold in slots."""
    slots = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    names = chain.from_iterable([(one,) if isinstance(one, str) else one for one in slots])
    return frozenset(name for name in names if isinstance(name, str))


def is_empty(cell: types.CellType) -> bool:
    return content_of(cell) is EMPTY


def content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def attributes_of(value: Any) -> list[Any]:
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in slots)]


def is_special(name: str, value: Any) -> bool:
    """Return whether this is a special method, which Python calls without its name in the code."""
    return name.startswith("__") and isinstance(value, (types.FunctionType, staticmethod, classmethod))


_LIBRARIES = tuple(
    {join(path, "") for name, path in sysconfig.get_paths().items() if name.endswith(("stdlib", "lib"))}
)
