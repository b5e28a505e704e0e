"""`compile`: records a function once for each kind of arguments, and then runs it as a program.

This file finds the program for a call: a specialisation for the kind of arguments, one of
`tape.program.kinds`, and in it a path for each way in which the function branches. Where there is none,
`tape.program.making` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, overload

from tape import errors, tree
from tape.core.node import Handle
from tape.core.streams import Source, Undeclared
from tape.inspect.words import counted
from tape.kernels.loading import is_ready, wait
from tape.program.calls.calling import unshared
from tape.program.calls.shortcuts import dynamic_leaves
from tape.program.drawing import Drawing
from tape.program.growth import is_repeatable
from tape.program.layouts import layout_of
from tape.program.making import Maker
from tape.program.program import Program
from tape.program.record.proxies import Proxy
from tape.program.record.recording import native
from tape.program.runtime.run import MISSED, Flip, Rerun
from tape.program.specialise import Key, Path, Specialisation
from tape.system.pickling import reduced
from tape.transforms._record import check_callable

if TYPE_CHECKING:
    from tape.program.report.profile import Profile


@overload
def compile(f: Callable[..., Any], *, donate: int | Sequence[int] = (), max_paths: int = 64) -> Compiled: ...
@overload
def compile(
    f: None = None, *, donate: int | Sequence[int] = (), max_paths: int = 64
) -> Callable[[Callable[..., Any]], Compiled]: ...
def compile(
    f: Callable[..., Any] | None = None, *, donate: int | Sequence[int] = (), max_paths: int = 64
) -> Any:
    """Return the function as a program that runs without Python: recorded at the first call, replayed later.

    It may contain anything that tape's operations compute: gradients, Hessians, whole training steps. The
    first call records. So does the first call with arguments of another kind; from the fourth kind on, plain
    Python runs until a kind has come sixteen times.

    *Dynamic*, other numbers in every call: arrays of numbers and bools, NumPy scalars, Python floats and
    complex numbers, and ints that are only computed with. Operations without instructions are computed by
    Python.

    *Static*, a new kind if they differ: shapes, dtypes, tree structures, order of keys, bools, strings,
    hashable objects, and ints that Python reads, as ``range()`` does. They differ if Python code can tell
    them apart: 1 is neither True nor 1.0, and ``Decimal("1.0")`` is not ``Decimal("1.00")``. About a thousand
    kinds get programs; further ones run as plain Python.

    *Branches.* ``if``, ``while``, ``bool()`` and ``int()`` may read values: a call that reads another number
    than was recorded takes, or records, the path that fits. Integers and bools may be read in any way, up to
    1024 elements of an array: a plain array indexed by a traced one takes a path for each content, where
    ``np.asarray(X, like=i)[i]`` takes one path for all. ``float()``, ``.item()`` and ``.value`` of floats
    raise, since they would freeze a number. Printing a value shows the one of the recording, as does the
    string of a float; strings of integers and bools are read.

    *Random numbers* of a generator of `tape.random`, closed over or an argument, are drawn anew in each call.
    Its state moves on as it does without `compile`; an exception leaves it as it was.

    *Frozen* is everything else that Python does: it runs during recording only. Random numbers that NumPy
    draws inside stay the same, attributes are read once. An array that is closed over is a constant by
    reference: the program sees writes to it.

    *Types.* ``isinstance`` and ``np.isscalar`` in the user's own code find the class of the plain value.
    ``type(x)`` is that of a traced value, no ndarray and no float, and ``hasattr`` may differ.

    Called with Vars, in a derivative or in another compiled function, ``f`` simply runs and is recorded
    there.

    Parameters
    ----------
    f : callable
        Plain NumPy code; arguments and result are trees. If omitted, a decorator is returned.
    donate : int or sequence of int
        Positions of arguments whose arrays may be overwritten. Results of the same shape and dtype are
        written there, and these arrays are returned, without a copy. One that overlaps another argument is
        copied first. After an exception, KeyboardInterrupt included, a donated array may contain anything.
    max_paths : int
        Number of paths that are kept for one kind of arguments. Further paths run as plain Python.

    Returns
    -------
    Compiled
        Results are new arrays, or NumPy scalars of shape ().

    Raises
    ------
    UnsupportedError
        When called, if ``f`` uses a Var from outside that is not an argument, or an argument is neither an
        array nor hashable.
    ConversionError
        When called, if ``f`` reads a number that would be frozen.
    InPlaceError
        When called, if ``f`` writes to a plain array after computing with it, or a donated array is
        read-only.
    OptionError
        If ``donate`` or ``max_paths`` is out of range.
    TapeError
        When called, whatever ``f`` itself raises.

    Warns
    -----
    PathLimitWarning
        When more than 16 programs are needed, once; when there are more paths than ``max_paths``, or more
        than a thousand kinds of arguments.
    NotCompiledWarning
        Once in a process, where compiled code cannot run: everything is computed by plain NumPy. Also when
        ``f`` catches an exception of a traced value, lets floating-point errors be raised or reported, or
        cannot be recorded for a kind of arguments for which it has run.

    Examples
    --------
    >>> import numpy as np, tape
    >>> @tape.compile
    ... def step(w, x, rate):
    ...     return w - rate * tape.grad(lambda w: np.sum((x @ w) ** 2))(w)
    >>> step(np.array([1.0, 2.0]), np.eye(2), 0.25)
    array([0.5, 1. ])
    >>> step(np.array([4.0, 8.0]), np.eye(2), 0.25)
    array([2., 4.])
    >>> list(step.programs)
    [step(float64[2], float64[2, 2], float)]
    >>> @tape.compile
    ... def halved(x):
    ...     while x > 1:
    ...         x = x / 2
    ...     return x
    >>> [float(halved(x)) for x in (3.0, 0.5, 3.5)]
    [0.75, 0.5, 0.875]
    """
    if isinstance(max_paths, bool) or not isinstance(max_paths, int) or max_paths < 1:
        raise errors.OptionError(f"max_paths is {max_paths!r}. It is an int, 1 or more")
    positions = (donate,) if isinstance(donate, int) else tuple(donate)
    if any(isinstance(p, bool) or not isinstance(p, int) or p < 0 for p in positions):
        raise errors.OptionError(f"donate is {donate!r}. It is a position, or several, counted from 0")

    def compiled(f: Callable[..., Any]) -> Compiled:
        check_callable(f, "compile")
        return Compiled(f, frozenset(positions), max_paths)

    return compiled if f is None else compiled(f)


class Compiled(Maker):
    """A compiled function; see `compile`.

    Parameters
    ----------
    f : callable
        The function.
    donate : frozenset of int
        Positions of arguments whose arrays may be overwritten.
    max_paths : int
        Number of paths that are kept for one kind of arguments.

    Examples
    --------
    >>> import numpy as np, tape
    >>> double = tape.compile(lambda x: 2 * x)
    >>> double(np.ones(2)), double(np.ones(3, np.float32))
    (array([2., 2.]), array([2., 2., 2.], dtype=float32))
    >>> for key in double.programs:
    ...     print(key)
    <lambda>(float64[2])
    <lambda>(float32[3])
    """

    def __init__(self, f: Callable[..., Any], donate: frozenset[int], max_paths: int) -> None:
        update_wrapper(self, f)
        super().__init__(f, donate, max_paths)
        self._donate = donate
        self._drawing: Drawing | None = None  # if it draws random numbers: all calls go there

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result of the function."""
        latest = self._latest
        if latest is not None:
            path, shortcut = latest.front  # type: ignore[misc]
            try:
                out = shortcut(args, kwargs)
            except Rerun:
                return self._plain(args, kwargs)
            if type(out) is not Flip:
                return out
            leaves = None if out is MISSED else latest.take(args, kwargs)
            if leaves is not None:
                try:
                    return self._on_another_path(latest, path, out, leaves, args, kwargs)
                except Undeclared as missing:
                    return self._undeclared(missing, args, kwargs)
        return self._found(latest, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        return reduced(self, Compiled, self._f, self._donate, self._max_paths)  # programs are recorded anew

    def __repr__(self) -> str:
        return f"<compiled {self._name}: {counted(len(self.programs), 'program')}>"

    @property
    def programs(self) -> dict[Key, Program]:
        """All programs, by kind of arguments and path."""
        with self._kinds.lock:
            if self._drawing is not None:
                return self._drawing.programs
            return {
                Key(self._name, known.form, known.signatures, path.outcomes): path.program
                for known in self._kinds.all()
                for path in known.paths
            }

    @property
    def donates(self) -> bool:
        """Whether a call may overwrite an argument."""
        return bool(self._donate)

    def explain(self) -> str:
        """Return the statistics of every program; see `Program.explain`."""
        if not self.programs:
            return self._growth.observed or f"{self._name} has no program yet. Call it first"
        return "\n\n".join(f"{key}\n{program.explain()}" for key, program in self.programs.items())

    def profile(self, *args: Any, repeats: int = 20) -> Profile:
        """Measure the time of each instruction of the program for these arguments, recorded if necessary.

        See `Program.profile`.
        """
        if self._drawing is None:
            try:
                return self.profile_with(args, {}, repeats)
            except Undeclared:
                pass
        return self._draws().profile(args, repeats)

    def profile_with(self, args: tuple[Any, ...], kwargs: dict[str, Any], repeats: int) -> Profile:
        """Measure the program for these arguments, keyword arguments among them."""
        self._of_program(None, args, kwargs, is_due=True)
        latest = self._latest
        leaves = None if latest is None else latest.take(args, kwargs)
        if latest is None or not latest.paths or leaves is None:
            raise errors.UnsupportedError(
                f"{self._name} has no program for these arguments, and runs as plain Python. Profile "
                "the function itself"
            )
        return latest.paths[0].program.profile(*leaves, repeats=repeats)

    # ---- random numbers --------------------------------------------------------------------------

    def _found(
        self,
        known: Specialisation | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        is_due: bool = False,
    ) -> Any:
        """Return the result by a program for these arguments, or as one that draws."""
        if self._drawing is None:
            try:
                return self._of_program(known, args, kwargs, is_due)
            except Undeclared as missing:
                return self._undeclared(missing, args, kwargs)
        return self._drawing(args, kwargs)

    def _undeclared(self, missing: Undeclared, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call that draws, where it turns out that it does."""
        return self._draws()(args, kwargs)

    def _draws(self) -> Drawing:
        """Make this a function that draws: from a generator among its arguments, or from one closed over."""
        with self._kinds.lock:
            if self._drawing is None:
                self._drawing = Drawing(self._f, lambda f: _OfStates(f, self._donate, self._max_paths))
            self._latest = None  # so that calls do not pass by it
            self._kinds.clear()
            return self._drawing

    # ---- from arguments to a program -------------------------------------------------------------

    def _of_program(
        self,
        known: Specialisation | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        is_due: bool = False,
    ) -> Any:
        """Find or make the specialisation for these arguments, and return the result.

        If a program is due, it is made at once.
        """
        if not (wait() if is_due else is_ready()):  # not yet, or not at all: a warning has said so
            self._has_run = True
            return self._plain(args, kwargs)
        leaves = None if known is None else known.take(args, kwargs)
        if known is None or leaves is None or not known.fits(leaves):
            if known is not None and leaves is not None and known.may_take(leaves):
                form = known.form
            else:
                everything, structure = tree.flatten((args, kwargs))
                for leaf in everything:
                    if isinstance(leaf, Handle) or type(leaf) is Proxy:
                        return self._plain(args, kwargs)
                    if isinstance(leaf, Source):
                        raise Undeclared(leaf)
                form = self._kinds.form(structure, everything)
                leaves = dynamic_leaves(form, everything)
            known = self._kinds.of(form, leaves, args)
            leaves = tuple([native(leaf) for leaf in leaves])
        if known is not None and (changed := known.rebound()) is not None:
            known = self._kinds.bound_anew(known, changed)
        if known is None:
            return self._plain(args, kwargs)
        if not known.paths:
            if known.donated:
                unshared(leaves, known.donated, self._name)  # for its errors
            return self._again(known, leaves, self._made(known, (), args, kwargs, is_due))
        if known.layouts is not None and (layout := layout_of(leaves)) is not None:
            if not known.layouts.get(layout, True):
                return self._plain(args, kwargs)
            if layout not in known.layouts:
                return self._in_layout(known, layout, args, kwargs)
        self._latest = known
        path = known.paths[0]
        try:
            out = path.run(leaves)
        except Rerun:
            return self._plain(args, kwargs)
        if isinstance(out, Flip):
            return self._on_another_path(known, path, out, leaves, args, kwargs)
        return path.restore(out)

    def _on_another_path(
        self,
        known: Specialisation,
        path: Path,
        flip: Flip,
        leaves: tuple[Any, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Return the result after a guard of a path has read another number."""
        changed = known.rebound()
        if changed is not None:
            return self._found(None, args, kwargs)
        tried = {id(path)}
        while True:
            begin = (*path.outcomes[: flip.index], flip.outcome)
            fitting = (p for p in known.paths if id(p) not in tried and p.outcomes[: len(begin)] == begin)
            other = next(fitting, None)
            if other is None:
                return self._again(known, leaves, self._made(known, begin, args, kwargs))
            path = other
            tried.add(id(path))
            try:
                out = path.run(leaves)
            except Rerun:
                return self._plain(args, kwargs)
            if not isinstance(out, Flip):
                with self._kinds.lock:
                    known.use(path)
                return path.restore(out)
            flip = out

    def _again(self, known: Specialisation, leaves: tuple[Any, ...], recorded: Any) -> Any:
        """Return the result of a call that was just recorded: by its program, if calls must be repeatable."""
        if not is_repeatable() or not known.paths:
            return recorded
        path = known.paths[0]
        try:
            out = path.run(leaves)
        except Rerun:
            return recorded
        return recorded if isinstance(out, Flip) else path.restore(out)


class _OfStates(Compiled):
    """A compiled function whose states of generators are arguments: see `tape.program.drawing`."""

    def _found(
        self,
        known: Specialisation | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        is_due: bool = False,
    ) -> Any:
        """Return the result by a program; a generator that was not declared is for the `Drawing`."""
        return self._of_program(known, args, kwargs, is_due)

    def _undeclared(self, missing: Undeclared, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Pass the generator on to the `Drawing`."""
        raise missing
