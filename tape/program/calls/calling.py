"""How a program is called as the function was: arguments to dynamic leaves, leaves of the result to a result.

Knows structures and what each leaf must be; nothing of instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from tape import errors, tree
from tape.program.calls.objects import Leaf
from tape.program.calls.shortcuts import taker
from tape.program.calls.statics import Form, key_of
from tape.program.record.record import is_dynamic, native

__all__ = ["Calling", "as_python", "fitting", "unshared"]


@dataclass(frozen=True)
class Calling:
    """The arguments and the result of a function, but for their numbers.

    Attributes
    ----------
    arguments : Form
        That of ``(args, kwargs)``.
    result
        The structure of the result.
    weak : tuple of int
        The leaves of the result that are numbers of Python's own.
    """

    arguments: Form
    result: Any
    weak: tuple[int, ...]

    @classmethod
    def of_leaves(cls, count: int, result: Any, weak: tuple[int, ...]) -> Calling:
        """A function whose positional arguments are the leaves."""
        return cls(Form(tree.flatten(((0.0,) * count, {}))[1], {}), result, weak)

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
        leaves = self._take(args, kwargs)
        if leaves is None or len(leaves) != len(wanted) or not all(map(is_dynamic, leaves)):
            leaves = self._looked_at(args, kwargs, name)
        structure, fixed = self.arguments.structure, self.arguments.fixed
        dynamic = (k for k in range(tree.size(structure)) if k not in fixed)
        return tuple(
            [
                fitting(native(leaf), kind, partial(_place, name, structure, k))
                for leaf, kind, k in zip(leaves, wanted, dynamic, strict=True)
            ]
        )

    @cached_property
    def _take(self) -> Callable[[Any, Any], tuple[Any, ...] | None]:
        return taker(self.arguments)

    def _looked_at(self, args: Any, kwargs: Any, name: str) -> tuple[Any, ...]:
        """The leaves that should be dynamic; an error for arguments of another form."""
        leaves, structure = tree.flatten((args, kwargs))
        known, fixed = self.arguments.structure, self.arguments.fixed
        if structure != known:
            raise errors.ShapeError(
                f"{name} is a program for arguments {tree.describe(known)}, and was given "
                f"{tree.describe(structure)}. Both are (args, kwargs)"
            )
        for k, value in fixed.items():
            if key_of(leaves[k]) != key_of(value):
                raise errors.OptionError(
                    f"{_place(name, structure, k)} is {errors.describe(leaves[k])}, and this program is for "
                    f"{errors.describe(value)} only"
                )
        if Form(structure, fixed) != self.arguments:
            raise errors.OptionError(
                f"{name} is a program for arguments {_shown(known)}, and was given {_shown(structure)}: keys "
                "in another order, equal ones of another type, or other static fields"
            )
        return tuple([leaf for k, leaf in enumerate(leaves) if k not in fixed])

    def restore(self, leaves: list[Any]) -> Any:
        """The result, of a list of its leaves."""
        for k in self.weak:
            leaves[k] = as_python(leaves[k])
        return tree.restore(self.result, leaves)


def as_python(number: Any) -> Any:
    """A NumPy scalar as the number of Python's own that it holds."""
    return number.item() if isinstance(number, np.generic) else number


def _place(name: str, structure: Any, k: int) -> str:
    """Which leaf this is, for messages."""
    return f"{name}: {tree.names(structure, '(args, kwargs)')[k]}"


def _shown(structure: Any) -> str:
    """A structure with its keys in their order."""
    return repr(tree.restore(structure, [_STAR] * tree.size(structure)))


class _Star:
    def __repr__(self) -> str:
        return "*"


_STAR = _Star()


def fitting(value: Any, wanted: Leaf, place: Callable[[], str]) -> Any:
    """A leaf, if it is what it should be; ``place`` says which one it is."""
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
            f"{place()} is {errors.describe(value)}, of {type(value).__name__}, and this program is for "
            f"{kind}{dtype}"
        )
    if np.shape(value) != wanted.shape:
        raise errors.ShapeError(
            f"{place()} has shape {np.shape(value)}, and this program is for {wanted.shape} only"
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
    arrays = {k: leaf for k, leaf in enumerate((*leaves, *constants)) if isinstance(leaf, np.ndarray)}
    separate = list(leaves)
    for k in donated & arrays.keys():
        if not leaves[k].flags.writeable:
            raise errors.InPlaceError(
                f"{name} donates {errors.describe(leaves[k])}, which is read-only. Pass a copy"
            )
        # By their addresses: nothing else tells that two arrays are on one buffer of somebody else's.
        if any(np.may_share_memory(leaves[k], other) for i, other in arrays.items() if i != k):
            separate[k] = leaves[k].copy()
    return tuple(separate)
