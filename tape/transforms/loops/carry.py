"""`Carry`: the tree of values that a loop hands from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.core.leaves import in_native_order
from tape.core.node import Handle, plain, snapshot
from tape.ops.structure.layout import in_c_order
from tape.transforms._returned import several_as_tuples


class Carry:
    """The structure of what a loop carries, which each step must keep, with its shapes and dtypes.

    Parameters
    ----------
    init : tree
        The first one: arrays and numbers.
    what : str
        What it is called, in messages.
    name : str
        Of the loop, in messages.

    Attributes
    ----------
    leaves : list
        Those of the first one, as arrays, numbers of NumPy, or Vars of these.
    """

    def __init__(self, init: Any, what: str, name: str) -> None:
        leaves, self._structure = tree.flatten(init)
        self._what, self._name = what, name
        self.leaves = [as_value(leaf, f"the {what}") for leaf in leaves]

    def __len__(self) -> int:
        return len(self.leaves)

    def restored(self, leaves: Sequence[Any]) -> Any:
        """Return the tree of these leaves."""
        return tree.unflatten(self._structure, leaves)

    def after(self, returned: Any, before: Sequence[Any]) -> list[Any]:
        """Return the leaves of the next one, which must be of the types of the leaves before."""
        found, structure = tree.flatten(several_as_tuples(returned))
        if structure != self._structure:
            raise errors.ShapeError(
                f"{self._name}: the next {self._what} is a tree {tree.describe(structure)}, and the "
                f"{self._what} {tree.describe(self._structure)}. It must keep the structure"
            )
        leaves = [as_value(leaf, f"the next {self._what}") for leaf in found]
        for k, (old, new) in enumerate(zip(before, leaves, strict=False)):
            if np.shape(old) != np.shape(new) or dtype_of(old) != dtype_of(new):
                raise (errors.ShapeError if np.shape(old) != np.shape(new) else errors.DTypeError)(
                    f"{self._name}: {tree.names(self._structure, self._what)[k]} is {errors.describe(old)}, "
                    f"and after a step {errors.describe(new)}. It must keep shape and dtype"
                )
        return list(map(in_c_order, leaves))


def as_value(leaf: Any, what: str) -> Any:
    """Return a leaf as an array in native byte order, a number of NumPy, or a Var of one of these."""
    if isinstance(leaf, Handle):
        if not isinstance(plain(leaf), (np.ndarray, np.generic)):
            leaf = ops.reshape(leaf, ())
        return leaf[()] if leaf.ndim == 0 and isinstance(plain(leaf), np.ndarray) else leaf
    value = np.asarray(leaf)
    if value.dtype.kind not in "biufc":
        raise errors.DTypeError(
            f"a leaf of {what} is {errors.describe(leaf)}. A loop carries arrays and numbers; the function "
            "may close over anything else"
        )
    value = in_native_order(value)
    return value if value.ndim else value[()]


def dtype_of(value: Any) -> np.dtype[Any]:
    """Return the dtype of an array, a number or a Var."""
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def own(value: Any) -> Any:
    """Return a value that the body may write to, without changing the original."""
    return value.copy() if type(value) is np.ndarray else in_c_order(snapshot(value))


def example_of(value: Any) -> Any:
    """Return the plain value, of which a body is recorded."""
    return np.asarray(plain(value), order="C")[()]
