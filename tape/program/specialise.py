"""`Specialisation`: the programs for one kind of arguments, one for each path that the function has taken.

Knows the forms of arguments and the outcomes of guards; `compiled` records and runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NoReturn

import numpy as np

from tape import errors, tree
from tape.conversion.foreign import complaint
from tape.program.calls.binding import Binding
from tape.program.calls.calling import as_python
from tape.program.calls.names import Bindings
from tape.program.calls.shortcuts import Dynamic, taker
from tape.program.calls.statics import Form
from tape.program.layouts import Layout, are_same, is_equal
from tape.program.program import Program
from tape.program.record.recorder import Outcome
from tape.program.record.recording import COPIED, Constant, Recorded, is_dynamic


@dataclass(frozen=True)
class Key:
    """The key of a program: a kind of arguments, and the numbers that branches have read.

    Attributes
    ----------
    name : str
        Name of the function.
    form : Form
        The form of positional and keyword arguments: structure, order of keys, static leaves.
    signatures : tuple
        One for each dynamic leaf: type, dtype and shape of an array, type of a number.
    outcomes : tuple
        The numbers that branches have read, in order.
    """

    name: str
    form: Form
    signatures: tuple[Any, ...]
    outcomes: tuple[Outcome, ...]

    def __repr__(self) -> str:
        fixed, signatures = self.form.fixed, iter(self.signatures)
        count = tree.size(self.form.structure)
        leaves = [
            fixed[k] if k in fixed else _Shown(next(signatures), k in self.form.ints) for k in range(count)
        ]
        args, kwargs = tree.unflatten(self.form.structure, leaves)
        shown = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
        read = f" reading {', '.join(map(repr, self.outcomes))}" if self.outcomes else ""
        return f"{self.name}({', '.join(shown)}){read}"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise errors.MissingAttributeError(
            f"a key of programs has no {name!r}. Take the program: programs[key], or programs.values()"
        )


class _Shown:
    """A signature as short text."""

    def __init__(self, signature: tuple[Any, ...], is_int: bool) -> None:
        self.signature = (int, None, None) if is_int else signature

    def __repr__(self) -> str:
        kind, dtype, shape = self.signature
        return kind.__name__ if dtype is None else f"{dtype}{list(shape)}"


class Results:
    """How the result of a recorded function is built from its leaves."""

    def __init__(self, recorded: Recorded) -> None:
        self.structure = recorded.out_structure
        self.weak = recorded.weak
        self.constants = [
            (k, out.value) for k, out in enumerate(recorded.outputs) if isinstance(out, Constant)
        ]

    def restore(self, leaves: list[Any]) -> Any:
        """Build the result from its leaves."""
        for k in self.weak:
            leaves[k] = as_python(leaves[k])
        for k, value in self.constants:
            leaves[k] = copy_of(value)
        return tree.unflatten(self.structure, leaves)


def copy_of(value: Any) -> Any:
    """Return a copy of a result that no operation has computed.

    An array that was created inside cannot be told from one that is referred to elsewhere.
    """
    if type(value) is np.ndarray:
        return value.astype(value.dtype.newbyteorder("="), "K")
    return value.copy() if type(value) in COPIED else value


class Path:
    """A program, and how its results are built.

    Attributes
    ----------
    outcomes : tuple
        The numbers that its guards must read.
    places : tuple of str
        The lines of user code that read them, as far as they are known.
    """

    def __init__(self, recorded: Recorded, program: Program) -> None:
        self.program = program
        self._shortcut: tuple[Bindings, Callable[[tuple[Any, ...], dict[str, Any]], Any]] | None = None
        self.run = program.run
        self.outcomes = tuple(guard.outcome for guard in recorded.guards)
        self.places = tuple(guard.place for guard in recorded.guards)
        self._results = Results(recorded)
        self.restore = self._results.restore

    def is_same_as(self, other: Path) -> bool:
        """Return whether two paths do the same; False if that is not certain."""
        pairs = zip_longest(self._results.constants, other._results.constants)
        return (
            self.outcomes == other.outcomes
            and all(a is not None and b is not None and is_equal(a[1], b[1]) for a, b in pairs)
            and are_same(self.program.ir, other.program.ir)
        )

    def shortcut(self, names: Bindings) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
        """Return a function from arguments to the result, a `Flip`, or `MISSED` if a name was rebound."""
        if self._shortcut is None or self._shortcut[0] is not names:
            shape = None
            structure = self._results.structure
            if not self._results.weak and not self._results.constants:
                shape = tree.unflatten(structure, [Dynamic(k, False) for k in range(tree.size(structure))])
            arguments = self.program.calling.arguments
            self._shortcut = names, self.program.shortcut(arguments, names, self.restore, shape)
        return self._shortcut[1]


class Specialisation:
    """All paths for one kind of arguments and one set of bindings of the names that the function reads.

    Parameters
    ----------
    form : Form
        The form of the arguments.
    signatures : tuple
        The types of the dynamic leaves.
    donated : frozenset of int
        Dynamic leaves whose memory may be used for results.

    Attributes
    ----------
    paths : tuple of Path
        Last used first. The tuple is replaced as a whole, so that it can be read without a lock.
    front : tuple or None
        The first path, and its shortcut; None until there is a path.
    names : Bindings or None
        The bindings of names; None until there is a path.
    is_plain : bool
        Whether it runs as plain Python, as it cannot be recorded.
    reads_ints : bool
        Whether paths depend on ints that are data.
    layouts : dict or None
        Whether its first path is for arguments that lie in memory like this, for those that are known; None
        unless it depends on that.
    awaits : str or None
        The machine code that its program needs and that is being compiled; None if nothing is missing.
    changes : int
        How often the function has bound a name anew, while it was recorded, that it uses itself.
    replaces : tuple of Specialisation and Binding, or None
        The one before an array held something else, and that array, if this was the reason to make this one.
    contents : dict
        By their place, the contents of arrays on which paths may depend: by results of NumPy, or branches.
    waiting : dict
        Calls that have run as plain Python for want of a path, by the outcomes with which it begins.
    """

    def __init__(self, form: Form, signatures: tuple[Any, ...], donated: frozenset[int]) -> None:
        self.form = form
        self.signatures = signatures
        self.donated = donated
        self.paths: tuple[Path, ...] = ()
        self.front: tuple[Path, Callable[[tuple[Any, ...], dict[str, Any]], Any]] | None = None
        self.names: Bindings | None = None
        self.has_warned = False
        self.is_plain = False
        self.awaits: str | None = None
        self.reads_ints = False
        self.changes = 0
        self.replaces: tuple[Specialisation, Binding] | None = None
        self.contents: dict[Any, Binding] = {}
        self.layouts: dict[Layout, bool] | None = None
        self.waiting: dict[tuple[Outcome, ...], int] = {}
        self._take: Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...] | None] | None = None

    @property
    def take(self) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...] | None]:
        """Return the dynamic leaves of arguments, or None if these are of another form."""
        if self._take is None:  # no cached property: those of Python 3.11 hold a lock, which a fork may keep
            self._take = taker(self.form)
        return self._take

    def fits(self, leaves: Sequence[Any]) -> bool:
        """Return whether leaves are of this kind, and programs take them as they are."""
        if len(leaves) != len(self.signatures):
            return False
        for leaf, (kind, dtype, shape) in zip(leaves, self.signatures, strict=False):  # strict takes a while
            if type(leaf) is not kind:
                return False
            if dtype is not None and (
                leaf.shape != shape or leaf.dtype is not dtype or not leaf.dtype.isnative
            ):
                return False
        return True

    def may_take(self, leaves: Sequence[Any]) -> bool:
        """Return whether the result of `take` has dynamic leaves for this form, of any kind."""
        return len(leaves) == len(self.signatures) and all(map(is_dynamic, leaves))

    def use(self, path: Path, names: Bindings | None = None) -> None:
        """Make a path the first that is tried; a new one comes with its bindings."""
        self.names = names or self.names
        assert self.names is not None
        self.front = path, path.shortcut(self.names)
        self.paths = (path, *(other for other in self.paths if other is not path))

    def rebound(self) -> Binding | None:
        """Return a name that has been rebound, if there is one."""
        if self.names is None:
            return None
        changed = self.names.changed()
        if changed is None and (now := self.names.current()) is not self.names:
            self.use(self.paths[0], now)
        return changed


def signature_of(leaf: Any) -> tuple[Any, Any, Any]:
    """Return the type of a dynamic leaf, and dtype and shape if it is an array."""
    if not isinstance(leaf, np.ndarray):
        return type(leaf), None, None
    if (wrong := complaint(leaf)) is not None:
        raise errors.DTypeError(f"an argument of a compiled function is {wrong}")
    return np.ndarray, leaf.dtype, leaf.shape


def static_leaf(leaf: Any) -> Any:
    """Return a leaf that may be static; raise for others."""
    if isinstance(leaf, np.ndarray):
        raise errors.DTypeError(
            f"an argument of a compiled function is {type(leaf).__name__} {errors.describe(leaf)}. Pass "
            "arrays of numbers or bools"
        )
    if isinstance(leaf, (np.random.Generator, np.random.RandomState)):
        raise errors.UnsupportedError(
            "an argument of a compiled function is a generator of random numbers, which would be the same "
            "in every call. Draw them outside, and pass them, or pass one of tape.random, which draws anew "
            "in each"
        )
    return leaf
