"""How a program is called as the function was: arguments to dynamic leaves, leaves of the result to a result.

Knows structures and what each leaf must be; nothing of instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tape import errors, tree
from tape.program.objects import Leaf
from tape.program.record import native

__all__ = ["Calling", "as_python", "fitting", "unshared"]


@dataclass(frozen=True, slots=True)
class Calling:
    """The arguments and the result of a function, but for their numbers.

    Attributes
    ----------
    arguments
        The structure of ``(args, kwargs)``.
    fixed : dict of int to Any
        The leaves of the arguments that are the same in every call, by position among all leaves.
    result
        The structure of the result.
    weak : tuple of int
        The leaves of the result that are numbers of Python's own.
    """

    arguments: Any
    fixed: dict[int, Any]
    result: Any
    weak: tuple[int, ...]

    @classmethod
    def of_leaves(cls, count: int, result: Any, weak: tuple[int, ...]) -> Calling:
        """A function whose positional arguments are the leaves."""
        return cls(tree.flatten(((0.0,) * count, {}))[1], {}, result, weak)

    def leaves_of(self, args: Any, kwargs: Any, wanted: Sequence[Leaf], name: str) -> tuple[Any, ...]:
        """The dynamic leaves of arguments, if the program is for such.

        Raises
        ------
        ShapeError
            If the structure of the arguments or the shape of a leaf is another one.
        DTypeError
            If a leaf is of another dtype or kind.
        OptionError
            If a leaf that is the same in every call is not.
        """
        leaves, structure = tree.flatten((args, kwargs))
        if structure != self.arguments:
            raise errors.ShapeError(
                f"{name} is a program for arguments {tree.told(self.arguments)}, and was given "
                f"{tree.told(structure)}. Both are (args, kwargs)"
            )
        names = tree.names(structure, "(args, kwargs)")
        dynamic: list[Any] = []
        for k, leaf in enumerate(leaves):
            if k not in self.fixed:
                dynamic.append(fitting(native(leaf), wanted[len(dynamic)], f"{name}: {names[k]}"))
            elif type(leaf) is not type(self.fixed[k]) or leaf != self.fixed[k]:
                raise errors.OptionError(
                    f"{name}: {names[k]} is {errors.describe(leaf)}, and this program is for "
                    f"{errors.describe(self.fixed[k])} only"
                )
        return tuple(dynamic)

    def restore(self, leaves: list[Any]) -> Any:
        """The result, of a list of its leaves."""
        for k in self.weak:
            leaves[k] = as_python(leaves[k])
        return tree.restore(self.result, leaves)


def as_python(number: Any) -> Any:
    """A NumPy scalar as the number of Python's own that it holds."""
    return number.item() if isinstance(number, np.generic) else number


def fitting(value: Any, wanted: Leaf, name: str) -> Any:
    """A leaf, if it is what it should be."""
    if wanted.is_array:  # or a number that is too wide to be read as one
        is_wide = wanted.dtype.itemsize > 8 and isinstance(value, (np.generic, complex))
        is_fitting = (isinstance(value, np.ndarray) or is_wide) and np.result_type(value) == wanted.dtype
    elif wanted.kind is float:
        is_fitting = type(value) is float
    else:
        is_fitting = isinstance(value, np.generic) and value.dtype == wanted.dtype
    if not is_fitting:
        kind = "an array" if wanted.is_array else "a Python float" if wanted.kind is float else "a scalar"
        dtype = "" if wanted.kind is float else f" of {wanted.dtype}"
        raise errors.DTypeError(
            f"{name} is {errors.describe(value)}, of {type(value).__name__}, and this program is for "
            f"{kind}{dtype}"
        )
    if np.shape(value) != wanted.shape:
        raise errors.ShapeError(
            f"{name} has shape {np.shape(value)}, and this program is for {wanted.shape} only"
        )
    return value


def unshared(
    leaves: tuple[Any, ...], donated: frozenset[int], name: str, constants: Sequence[np.ndarray] = ()
) -> tuple[Any, ...]:
    """The leaves, with copies of donated ones that others would see being overwritten.

    Parameters
    ----------
    leaves : tuple
        Dynamic leaves.
    donated : frozenset of int
        Which of them may be overwritten.
    name : str
        Of the function.
    constants : sequence of numpy.ndarray
        What else the program reads.

    Raises
    ------
    InPlaceError
        If a donated array is read-only.
    """
    for k in donated:
        if not leaves[k].flags.writeable:
            raise errors.InPlaceError(
                f"{name} donates {errors.describe(leaves[k])}, which is read-only. Pass a copy"
            )
    owners = [_owner(leaf) for leaf in (*leaves, *constants)]
    if len(set(owners)) == len(owners):
        return leaves
    separate = list(leaves)
    for k in donated:
        others = (x for i, x in enumerate((*leaves, *constants)) if i != k and owners[i] == owners[k])
        if any(isinstance(x, np.ndarray) and np.may_share_memory(leaves[k], x) for x in others):
            separate[k] = leaves[k].copy()
    return tuple(separate)


def _owner(leaf: Any) -> int:
    """What arrays that share memory have in common."""
    while isinstance(base := getattr(leaf, "base", None), np.ndarray):
        leaf = base
    return id(leaf if base is None else base)
