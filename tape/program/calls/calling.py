"""Arguments of a call to the dynamic leaves of a program, and the leaves of its result to a result.

Knows structures and the types of leaves; nothing of instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from tape import errors, tree
from tape.kernels.headers import CONTIGUOUS_ALIGNED, WRITEABLE
from tape.program.calls.shortcuts import dynamic_leaves, may_be_data, taker
from tape.program.calls.statics import Form, key_of
from tape.program.record.recording import is_dynamic, native


@dataclass(frozen=True, slots=True)
class Leaf:
    """The type of a dynamic leaf: of an array, a NumPy scalar or a Python float.

    Attributes
    ----------
    kind : type
        `numpy.ndarray`, a scalar type of NumPy's, or float.
    shape : tuple of int
    dtype : numpy.dtype
    """

    kind: type
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def like(cls, value: Any) -> Leaf:
        """Return the type of a value."""
        if isinstance(value, np.ndarray) or np.result_type(value).itemsize > 8:
            return cls(np.ndarray, np.shape(value), np.dtype(np.result_type(value).str))
        kind = type(value) if isinstance(value, np.generic) else float
        kind = np.int64 if isinstance(value, int) else kind  # as which an int is passed
        return cls(kind, (), np.dtype(kind))

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.kind is np.ndarray

    def spec(self, slot: int, lengths_at: int, is_donated: bool) -> list[int]:
        """Return the type as the machine checks it: see `tape.program.native.opcodes.LEAF`."""
        flags = CONTIGUOUS_ALIGNED | (WRITEABLE if is_donated else 0)
        numbers = [slot, int(self.is_array), id(self.kind), id(self.dtype), flags]
        return [*numbers, len(self.shape), lengths_at]

    @property
    def nbytes(self) -> int:
        """Bytes of its elements; 0 for a number."""
        return math.prod(self.shape) * self.dtype.itemsize if self.is_array else 0

    def convert(self, value: Any) -> Any:
        """Convert a value to one of this type that the machine can read."""
        if self.is_array:
            return np.require(np.asarray(value, self.dtype), requirements=["C", "A"])
        return value if type(value) is self.kind else self.kind(value)


@dataclass(frozen=True)
class Calling:
    """The structures of the arguments and the result of a function.

    Attributes
    ----------
    arguments : Form
        The form of ``(args, kwargs)``.
    result
        The structure of the result.
    weak : tuple of int
        The leaves of the result that are Python numbers.
    """

    arguments: Form
    result: Any
    weak: tuple[int, ...]

    @classmethod
    def of_leaves(
        cls, count: int, result: Any, weak: tuple[int, ...], ints: frozenset[int] = frozenset()
    ) -> Calling:
        """Return the structures of a function whose positional arguments are the leaves."""
        return cls(Form(tree.flatten(((0.0,) * count, {}))[1], {}, ints), result, weak)

    def leaves_of(self, args: Any, kwargs: Any, wanted: Sequence[Leaf], name: str) -> tuple[Any, ...]:
        """Return the dynamic leaves of arguments, which must be of the right types.

        Raises
        ------
        ShapeError
            If the structure of the arguments or the shape of a leaf differs.
        DTypeError
            If the dtype or kind of a leaf differs.
        OptionError
            If a static leaf has another value.
        """
        leaves = self._take(args, kwargs)
        if leaves is None or len(leaves) != len(wanted) or not all(map(is_dynamic, leaves)):
            leaves = self._checked_leaves(args, kwargs, name)
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

    def _checked_leaves(self, args: Any, kwargs: Any, name: str) -> tuple[Any, ...]:
        """Return the leaves that must be dynamic; raise for arguments of another form."""
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
        if Form(structure, fixed, self.arguments.ints) != self.arguments:
            raise errors.OptionError(
                f"{name} is a program for arguments {_shown(known)}, and was given {_shown(structure)}: "
                "keys differ in order or type, or static fields differ"
            )
        for k in self.arguments.ints:
            if not may_be_data(leaves[k]):
                raise errors.DTypeError(
                    f"{_place(name, structure, k)} is {errors.describe(leaves[k])}, of "
                    f"{type(leaves[k]).__name__}, and this program is for an int between -2**31 and 2**31"
                )
        return dynamic_leaves(self.arguments, leaves)

    def restore(self, leaves: list[Any]) -> Any:
        """Build the result from the list of its leaves."""
        for k in self.weak:
            leaves[k] = as_python(leaves[k])
        return tree.unflatten(self.result, leaves)


def as_python(number: Any) -> Any:
    """Convert a NumPy scalar to a Python number."""
    return number.item() if isinstance(number, np.generic) else number


def _place(name: str, structure: Any, k: int) -> str:
    """Return the name of a leaf, for messages."""
    return f"{name}: {tree.names(structure, '(args, kwargs)')[k]}"


def _shown(structure: Any) -> str:
    """Return a structure as text, with its keys in their order."""
    return repr(tree.unflatten(structure, [_STAR] * tree.size(structure)))


class _Star:
    def __repr__(self) -> str:
        return "*"


_STAR = _Star()


def fitting(value: Any, wanted: Leaf, place: Callable[[], str]) -> Any:
    """Return a leaf that must be of this type; ``place`` names it in messages."""
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
    """Return the leaves, with copies of donated ones that share memory with something else.

    Parameters
    ----------
    leaves : tuple
        Dynamic leaves.
    donated : frozenset of int
        Which of them may be overwritten.
    name : str
        Name of the function.
    constants : sequence of numpy.ndarray
        Other arrays that the program reads.

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
        # By their addresses: two arrays may be on one foreign buffer.
        if any(np.may_share_memory(leaves[k], other) for i, other in arrays.items() if i != k):
            separate[k] = leaves[k].copy()
    return tuple(separate)
