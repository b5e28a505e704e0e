"""The public interface as text: every public name with its signature, one a line.

``python -m tests.public_api --write`` writes it to ``tests/api.txt``, ``python -m tests.public_api`` prints
how the two differ. `tests.test_public_api` fails where they do.

Public are the modules below, their submodules without an underscore, and what all of these list. Objects of
NumPy and SciPy that tape only passes on are left out, since they depend on their versions; so are the values
of defaults that are neither literals nor functions.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from tape.core.absent import Absent

FILE = Path(__file__).with_name("api.txt")
COMMAND = "python -m tests.public_api --write"

ROOTS = (
    "tape", "tape.compat.autograd", "tape.distributed", "tape.errors", "tape.interop", "tape.nn",
    "tape.numpy", "tape.ops", "tape.ops.fft", "tape.ops.linalg", "tape.ops.nn", "tape.ops.special",
    "tape.optim", "tape.random", "tape.scipy", "tape.sparse", "tape.testing", "tape.train",
    "tape.transforms", "tape.tree", "tape.viz",
)  # fmt: skip
_PRIVATE_BELOW = ("tape", "tape.ops", "tape.sparse", "tape.transforms", "tape.viz")
"""Packages whose submodules are private, but for those that are listed."""
_SHOWN = ("__call__",)


def interface() -> str:
    """Return the text; what has been listed before under another name is an alias of that."""
    seen: dict[int, str] = {}
    lines: list[str] = []
    for module in _modules():
        lines += [f"# {module}", *_lines(module, seen), ""]
    return "\n".join(lines)


def difference(written: str, found: str) -> str:
    """Return what has changed, as a diff; empty if nothing has."""
    lines = difflib.unified_diff(
        written.splitlines(), found.splitlines(), FILE.name, "the interface", n=0, lineterm=""
    )
    return "\n".join(lines)


def _modules() -> list[str]:
    names = dict.fromkeys(ROOTS)
    for root in ROOTS:
        if root not in _PRIVATE_BELOW and not root.startswith("tape.ops."):
            names.update(dict.fromkeys(_submodules(root)))
    return sorted(names)


def _submodules(package: str) -> Iterator[str]:
    for found in iter_modules(vars(import_module(package)).get("__path__", ())):  # not NumPy's, passed on
        name = f"{package}.{found.name}"
        if not found.name.startswith("_") and (found.ispkg or "__all__" in vars(import_module(name))):
            yield name
            yield from _submodules(name)


def _lines(name: str, seen: dict[int, str]) -> Iterator[str]:
    for key, value in sorted(_members(name).items()):
        full = f"{name}.{key}"
        if isinstance(value, ModuleType) or not _is_own(value):
            continue
        if id(value) in seen:
            yield f"{full} = {seen[id(value)]}"
        elif inspect.isclass(value):
            yield from _class(full, value)
        else:
            yield full + (_signature(value) if callable(value) else f": {type(value).__name__}")
        seen.setdefault(id(value), full)


def _members(name: str) -> dict[str, Any]:
    """What a module lists, or else what is defined in it and in the private modules below it."""
    module = import_module(name)
    if "__all__" in vars(module):
        return {key: getattr(module, key) for key in module.__all__ if not key.startswith("_")}
    names = sorted({*vars(module), *dir(module)})  # some are imported when they are looked up
    return {
        key: value
        for key in names
        if not key.startswith("_")
        and str(getattr(value := getattr(module, key), "__module__", "")).startswith(name)
    }


def _is_own(value: Any) -> bool:
    return str(getattr(value, "__module__", None) or type(value).__module__).partition(".")[0] == "tape"


def _class(name: str, cls: type) -> Iterator[str]:
    """The class with its constructor, then its public methods and properties, of private bases too."""
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base.__name__ != "Generic")
    is_made_here = any(
        _is_own(vars(base).get(key)) for base in cls.__mro__ for key in ("__init__", "__new__")
    )
    parameters = _signature(cls).partition(" -> ")[0] if is_made_here else ""
    yield f"class {name}{parameters}" + ("" if bases == "object" else f"  # {bases}")
    members: dict[str, Any] = {}
    for base in reversed([base for base in cls.__mro__ if _is_own(base)]):
        members.update(vars(base))
        members.update(dict.fromkeys(getattr(base, "__annotations__", ()), ...))
    for key, member in sorted(members.items()):
        if not isinstance(member, Absent) and (key in _SHOWN or not key.startswith("_")):
            yield f"    {key}{_member(member)}"


def _member(member: Any) -> str:
    if isinstance(member, (property, cached_property)):
        getter = member.fget if isinstance(member, property) else member.func
        is_settable = isinstance(member, property) and member.fset is not None
        return f": property{_signature(getter)[len('(self)') :]}" + (" (can be set)" if is_settable else "")
    if isinstance(member, (classmethod, staticmethod)):
        return f"{_signature(member.__func__)}  # {type(member).__name__}"
    return _signature(member) if callable(member) else ": attribute"


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    parts = list(map(_parameter, signature.parameters.values()))
    first_keyword = next((i for i, kind in enumerate(kinds) if kind is inspect.Parameter.KEYWORD_ONLY), None)
    if first_keyword is not None and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parts.insert(first_keyword, "*")
    if inspect.Parameter.POSITIONAL_ONLY in kinds:
        parts.insert(kinds.count(inspect.Parameter.POSITIONAL_ONLY), "/")
    returned = _annotation(signature.return_annotation)
    return f"({', '.join(parts)})" + (f" -> {returned}" if returned else "")


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    annotation = _annotation(parameter.annotation)
    text = f"{stars}{parameter.name}" + (f": {annotation}" if annotation else "")
    if parameter.default is parameter.empty:
        return text
    return text + (" = " if annotation else "=") + _default(parameter.default)


def _annotation(annotation: Any) -> str:
    """As it is written in the source; those of other libraries' functions are objects, and left out."""
    return annotation if isinstance(annotation, str) else ""


def _default(value: Any) -> str:
    if type(value) in (bool, int, float, complex, str, type(None)):
        return repr(value)
    if type(value) is tuple:
        inner = ", ".join(map(_default, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return getattr(value, "__name__", "...")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status is 1 if the file is another one."""
    parser = argparse.ArgumentParser(prog="python -m tests.public_api", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    options = parser.parse_args(arguments)
    found = interface()
    if options.write:
        FILE.write_text(found)
        return 0
    changes = difference(FILE.read_text() if FILE.exists() else "", found)
    print(changes or "nothing has changed")
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main())
