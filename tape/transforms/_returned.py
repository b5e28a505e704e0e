"""What functions return to transforms: several results of one operation are a tuple of results."""

from __future__ import annotations

from typing import Any

from tape import tree
from tape.core.results import is_several, unpack


def several_as_tuples(out: Any) -> Any:
    """Return what a function has returned with a tuple in the place of several results of one operation."""
    leaves, structure = tree.flatten(out)
    if not any(map(is_several, leaves)):
        return out
    return tree.unflatten(structure, [tuple(unpack(leaf)) if is_several(leaf) else leaf for leaf in leaves])
