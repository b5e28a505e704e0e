"""Functions of the reference whose names the source alone does not explain.

- One that is made by a call, as ``tanh = elementwise(np.tanh, ...)`` is, has no docstring in the source. It
  becomes a function, with the signature and the docstring that it has when it is imported.
- One with the name of its module, such as `tape.transforms.grad`, is hidden by the module in the source.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

import griffe

_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: griffe.ParameterKind.positional_only,
    inspect.Parameter.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
    inspect.Parameter.VAR_POSITIONAL: griffe.ParameterKind.var_positional,
    inspect.Parameter.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
    inspect.Parameter.VAR_KEYWORD: griffe.ParameterKind.var_keyword,
}
_PACKAGES = ("tape.ops", "tape.scipy", "tape.compat")


class RecordedFunctions(griffe.Extension):
    """Replace attributes and modules by the functions that their names are bound to."""

    def on_module_members(self, *, mod: griffe.Module, **ignored: Any) -> None:
        """Look at the attributes of a module that has been read."""
        if not mod.path.startswith(_PACKAGES):
            return
        for name, member in list(mod.members.items()):
            if name.startswith("_") or member.is_alias or not member.is_attribute or member.has_docstring:
                continue
            found = getattr(import_module(mod.path), name, None)
            if inspect.isfunction(found) and found.__doc__:
                mod.set_member(name, _function(name, found, member))

    def on_package(self, *, pkg: griffe.Module, **ignored: Any) -> None:
        """Look at the packages of a package that has been read."""
        _uncover(pkg)


def _uncover(package: Any) -> None:
    """Give names of packages that are those of functions and of their modules to the functions."""
    hidden = {}
    for name, member in list(package.members.items()):
        if member.is_alias or not member.is_module:
            continue
        if member.is_package or member.is_subpackage:
            _uncover(member)
        if name in member.members and not isinstance(_imported(member.path), ModuleType):
            hidden[name] = member
    for name, member in list(package.members.items()):
        if not member.is_alias:
            continue
        place, _, original = member.target_path.rpartition(".")
        source = hidden.get(place.removeprefix(f"{package.path}."))
        if source is None and (uncovered := _UNCOVERED.get(member.target_path)) is not None:
            source, original = uncovered, member.target_path.rpartition(".")[2]
        if source is not None and original in source.members:
            package.members[name] = griffe.Alias(name, source.members[original], parent=package)
    for name, member in hidden.items():
        package.members[name] = griffe.Alias(name, member.members[name], parent=package)
        _UNCOVERED[f"{package.path}.{name}"] = member


_UNCOVERED: dict[str, Any] = {}
"""Modules that were hidden, by the path that they had."""


def _imported(path: str) -> Any:
    """Return what a package has under the name of one of its modules, once that is imported."""
    place, _, name = path.rpartition(".")
    return getattr(import_module(place), name, ModuleType(name))


def _function(name: str, found: Any, attribute: Any) -> griffe.Function:
    parameters = (
        griffe.Parameter(
            each.name,
            kind=_KINDS[each.kind],
            default=None if each.default is each.empty else repr(each.default),
        )
        for each in inspect.signature(found).parameters.values()
    )
    function = griffe.Function(name, parameters=griffe.Parameters(*parameters), lineno=attribute.lineno)
    function.docstring = griffe.Docstring(inspect.cleandoc(found.__doc__), parent=function, parser="numpy")
    return function
