"""Functions of the reference that are made by calls, such as ``tanh = elementwise(np.tanh, ...)``.

Read from the source such a name is an attribute without a docstring. Here it becomes a function, with the
signature and the docstring that it has when it is imported.
"""

from __future__ import annotations

import inspect
from importlib import import_module
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
    """Replace attributes of modules by the functions that they are bound to."""

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
