"""Which program fits a call: kinds of arguments, and in each the paths a function has taken.

Knows what arguments look like and what programs have read; recording and running are for `compiled`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tape import errors, tree
from tape.foreign import complaint
from tape.program.calling import as_python
from tape.program.program import Program
from tape.program.record import Constant, Recorded, is_dynamic, native
from tape.program.shortcuts import Dynamic, taker

__all__ = ["Key", "Path", "Specialisation", "signature_of"]


@dataclass(frozen=True)
class Key:
    """What a program is for: a kind of arguments, and what was read on the way.

    Attributes
    ----------
    name : str
        Of the function.
    structure
        That of the positional and keyword arguments.
    signatures : tuple
        One for each leaf: type, dtype and shape of an array, type of a number, type and value of
        everything else.
    outcomes : tuple
        The numbers that branches have read, in order.
    """

    name: str
    structure: Any
    signatures: tuple[Any, ...]
    outcomes: tuple[bool | int, ...]

    def __repr__(self) -> str:
        args, kwargs = tree.restore(self.structure, [_Shown(s) for s in self.signatures])
        shown = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
        read = f" reading {', '.join(map(repr, self.outcomes))}" if self.outcomes else ""
        return f"{self.name}({', '.join(shown)}){read}"


class _Shown:
    """A signature in a few characters."""

    def __init__(self, signature: tuple[Any, ...]) -> None:
        self.signature = signature

    def __repr__(self) -> str:
        kind, *rest = self.signature
        if kind is np.ndarray:
            return f"{rest[0]}{list(rest[1])}"
        return repr(rest[0]) if rest else kind.__name__


class Path:
    """A program, and how its results are put together.

    Attributes
    ----------
    outcomes : tuple
        What its guards must read.
    """

    def __init__(self, recorded: Recorded, program: Program) -> None:
        self.program = program
        self.run = program.run
        self.outcomes = tuple(guard.outcome for guard in recorded.guards)
        self._structure = recorded.out_structure
        self._weak = recorded.weak
        self._constants = [
            (k, out.value) for k, out in enumerate(recorded.outputs) if isinstance(out, Constant)
        ]

    @cached_property
    def shortcut(self) -> Callable[[tuple[Any, ...]], Any]:
        """`run` and `restore` in one: the result itself, or a `Flip`."""
        shape = None
        if not self._weak and not self._constants:
            count = tree.size(self._structure)
            shape = tree.restore(self._structure, [Dynamic(k) for k in range(count)])
        return self.program.shortcut(self.restore, shape)

    def restore(self, leaves: list[Any]) -> Any:
        """The result of the function."""
        for k in self._weak:
            leaves[k] = as_python(leaves[k])
        for k, value in self._constants:
            # Nobody can tell an array that was made inside from one that is somebody's.
            leaves[k] = value.copy() if type(value) is np.ndarray else value
        return tree.restore(self._structure, leaves)


class Specialisation:
    """All paths for one kind of arguments.

    Attributes
    ----------
    paths : tuple of Path
        The one used last comes first; replaced as a whole, so that it can be read without a lock.
    """

    def __init__(
        self, structure: Any, signatures: tuple[Any, ...], leaves: Sequence[Any], donated: frozenset[int]
    ) -> None:
        self.structure = structure
        self.signatures = signatures
        self.donated = donated
        self.paths: tuple[Path, ...] = ()
        self.has_warned = False
        self.dynamic = [k for k, leaf in enumerate(leaves) if is_dynamic(leaf)]
        self.fixed = {k: leaf for k, leaf in enumerate(leaves) if not is_dynamic(leaf)}
        # (type, dtype, shape) of arrays, (type, None, None) of numbers, (type, _STATIC, value) of the rest
        self._checks = [_check_of(leaf) for leaf in leaves]
        numbers = iter(range(len(self.dynamic)))
        marks = [Dynamic(next(numbers)) if is_dynamic(leaf) else leaf for leaf in leaves]
        args, kwargs = tree.restore(structure, marks)
        self.take = None if kwargs else taker(args)
        """The dynamic leaves of positional arguments like these: most calls are like the one before."""

    def fits(self, leaves: Sequence[Any]) -> bool:
        """Whether as many leaves are of this kind and may go to a program as they are."""
        for leaf, (kind, dtype, shape) in zip(leaves, self._checks, strict=False):  # strict takes a while
            if type(leaf) is not kind:
                return False
            if dtype is None:
                continue
            if dtype is _STATIC:
                if leaf is not shape and leaf != shape:
                    return False
            elif leaf.shape != shape or leaf.dtype is not dtype:
                return False
        return True

    def use(self, path: Path) -> None:
        """Let a path be the first to be tried."""
        self.paths = (path, *(other for other in self.paths if other is not path))


def signature_of(leaf: Any) -> tuple[Any, ...]:
    """What must be the same for a program to fit, of one leaf."""
    kind = type(leaf)
    if isinstance(leaf, np.ndarray):
        if (wrong := complaint(leaf)) is not None:
            raise errors.DTypeError(f"an argument of a compiled function is {wrong}")
        if leaf.dtype.kind not in "biufc":
            raise errors.DTypeError(
                f"an argument of a compiled function is {kind.__name__} {errors.describe(leaf)}. Pass "
                "arrays of numbers or bools"
            )
        return (np.ndarray, leaf.dtype, leaf.shape)
    if is_dynamic(leaf):
        return (kind,)
    if isinstance(leaf, (np.random.Generator, np.random.RandomState)):
        raise errors.UnsupportedError(
            "an argument of a compiled function is a generator of random numbers, which would be the same in "
            "every call. Draw them outside, and pass them"
        )
    return (kind, leaf)


_STATIC = object()


def _check_of(leaf: Any) -> tuple[Any, Any, Any]:
    if not is_dynamic(leaf):
        return type(leaf), _STATIC, leaf
    if native(leaf) is not leaf:
        return None, None, None  # to be looked up, and converted
    return (np.ndarray, leaf.dtype, leaf.shape) if isinstance(leaf, np.ndarray) else (type(leaf), None, None)
