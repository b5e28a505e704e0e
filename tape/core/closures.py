"""What functions close over, as it was: derivatives run them again, and must find what was there at the call.

Python binds late. A function reads the variables around it, and globals, when it runs; a loop that calls
``root(lambda x: x**3 - c, 1.0)`` has bound ``c`` anew, and filled its arrays anew, when a sweep comes back
to the first equation. A `Bound` function notes what there is when it is made, which is at the call. When it
runs again (`rerun`) and something has changed, the functions that depend on this are copied, with variables
of their own. What it changes itself when it runs is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import combinations, count
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tape.core.dispatch import recorder
from tape.core.held import Kept
from tape.core.reached import Copies, Reach, Reaching, constants_of, is_users_object, rebound, written_into

_MOST_WORK = 10_000
_OF_PYTHON = (FunctionType, MethodType, partial, type)
_times = count(1)
_rerun_since: ContextVar[int] = ContextVar("rerun_since", default=0)
_is_replaying: ContextVar[bool] = ContextVar("is_replaying", default=False)


@contextmanager
def replaying() -> Iterator[None]:
    """Let functions that run again read their arrays as they are now, and from now on."""
    token = _is_replaying.set(True)
    try:
        yield
    finally:
        _is_replaying.reset(token)


def rerun(f: Callable[..., Any], *args: Any) -> Any:
    """Call a function in which those run again that have been bound before."""
    token = _rerun_since.set(next(_times))
    try:
        return f(*args)
    finally:
        _rerun_since.reset(token)


class Bound(Reaching):
    """A function that finds by its names, when it runs again, what was there when it was bound.

    Names are those of variables around it, globals and defaults, in the function itself and in those of the
    user that it reaches by such names, by partials, and by tuples of up to 64 items. Arrays that they are
    bound to have the elements they had. Read as they are when it runs again are variables and arrays that the
    functions change themselves; attributes, and what methods reached by them read; items of lists and dicts;
    and what compiled functions close over.

    Parameters
    ----------
    f : callable
        A function, method, partial, transform, or object that can be called.
    written : mapping, optional
        If the function is a rule, which sweeps alone call: arrays that are left alone, by id. Those that it
        writes into are added whenever it has run.

    Raises
    ------
    InPlaceError
        When it runs again, if an array was written into since that is large, or shares memory with another
        one, or is of another class; and any array while a program is recorded.

    Examples
    --------
    >>> from tape.core.closures import Bound, rerun
    >>> scale = 2.0
    >>> f = Bound(lambda x: scale * x)
    >>> scale = 3.0
    >>> rerun(f, 1.0)
    2.0
    """

    __slots__ = ("_arrays", "_call", "_f", "_is_in_program", "_latest", "_since", "_written")

    def __init__(self, f: Callable[..., Any], written: MutableMapping[int, np.ndarray] | None = None) -> None:
        self._f = self._call = f
        if not isinstance(f, _OF_PYTHON) and is_users_object(type(f)):
            self._call = MethodType(type(f).__call__, f)
        self._written = written
        self._since = next(_times)
        self._is_in_program = recorder() is not None
        self._reach = Reach(self._call)
        self._arrays = {key: _kept(array) for key, array in self._reach.arrays.items()}
        self._latest: tuple[Any, Copies | None] = (), None  # what had changed, and the copies for that

    def __getattr__(self, name: str) -> Any:
        if name == "_f":  # of one that is just being made
            raise AttributeError(name)
        return getattr(self._f, name)  # which solvers of SciPy read: `event.terminal`

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        copies = None
        if self._written is not None or _rerun_since.get() > self._since:
            copies = self._copies_of_changed()
        if copies is None:
            found = self._call(*args, **kwargs)
            self._leave_its_own()
            return found
        found = copies.mapped(self._call)(*args, **kwargs)
        copies.finish()
        return found

    def functions(self) -> list[FunctionType | MethodType]:
        """Return the functions and methods of the user that it reaches by names."""
        return self._reach.all_functions()

    def is_as_it_was(self) -> bool:
        """Return whether names are bound to what there was, and arrays hold it; in a program they must."""
        changed = [kept.array for kept in self._arrays.values() if kept.is_changed()]
        if changed and self._is_in_program:
            raise written_into(changed[0])
        return not changed and not self._reach.is_changed()

    # ---- what it changes itself ------------------------------------------------------------------

    def _leave_its_own(self) -> None:
        """Note no longer what the function has bound anew or written into just now."""
        if self._reach.is_changed():
            self._reach.forget_changed()
        if self._arrays and (not self._is_in_program or recorder() is not None):
            self._leave([kept.array for kept in self._arrays.values() if kept.is_changed()])

    def _leave(self, arrays: Iterable[np.ndarray]) -> None:
        """Restore these arrays no longer, nor those that share memory with them."""
        for array in arrays:
            if self._written is not None:
                self._written[id(array)] = array
            for key, kept in [*self._arrays.items()]:
                if _share_memory(kept.array, array):
                    del self._arrays[key]

    # ---- what others have changed ----------------------------------------------------------------

    def _copies_of_changed(self) -> Copies | None:
        """Return copies of the functions that find what was there; None if nothing has changed."""
        if _is_replaying.get():
            self._arrays = {key: _kept(kept.array) for key, kept in self._arrays.items()}
            self._latest = (), None
        arrays = self._changed_arrays() if self._arrays else {}
        if not arrays and not self._reach.is_changed():
            return None
        names = self._reach.changed()
        what = (*names, *arrays)
        copies = self._latest[1] if self._latest[0] == what else None
        if copies is None:
            copies = Copies(self._reach, names, arrays)
            self._latest = (what, copies) if copies.is_lasting else ((), None)
        return copies

    def _changed_arrays(self) -> dict[int, Kept]:
        """Return the arrays that were written into, by id."""
        if self._is_in_program and recorder() is None:
            return {}  # a program calls it, and reads arrays as they are
        if self._written:
            self._leave([*self._written.values()])
        changed = {key: kept for key, kept in self._arrays.items() if kept.is_changed()}
        arrays = [kept.array for kept in changed.values()]
        refused = arrays if self._is_in_program else [one for one in arrays if type(one) is not np.ndarray]
        refused += [one for one, other in combinations(arrays, 2) if _share_memory(one, other)]
        if refused:
            raise written_into(refused[0])
        return changed


def bound(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs later as one that finds by its names what there is now.

    If these are numbers, modules and the like, it is made in a fraction of the time of a `Bound`.
    """
    if type(f) is not FunctionType or (constants := constants_of(f)) is None:
        return Bound(f, _written)
    return partial(_run_with, constants, f) if constants else f


_written: WeakValueDictionary[int, Any] = WeakValueDictionary()


def is_as_it_was(found: Any, f: Any) -> bool:
    """Return whether what `bound` has returned for a function still does what the function does.

    Raises
    ------
    InPlaceError
        If an array was written into that the function reads, while a program is recorded.
    """
    if isinstance(found, Bound):
        return found.is_as_it_was()
    return isinstance(found, partial) and found.args[1:] == (f,) and not rebound(f, found.args[0])


def _run_with(constants: list[Any], function: FunctionType, *args: Any, **kwargs: Any) -> Any:
    """Call a function that finds by its names the constants that there were."""
    changed = rebound(function, constants)
    if not changed:
        return function(*args, **kwargs)
    copies = Copies(Reach(function), changed, {})
    found = copies.mapped(function)(*args, **kwargs)
    copies.finish()
    return found


def _share_memory(one: np.ndarray, other: np.ndarray) -> bool:
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


_by_array: WeakValueDictionary[int, Kept] = WeakValueDictionary()


def _kept(array: np.ndarray) -> Kept:
    """Return what an array is; the same again while it does not change."""
    known = _by_array.get(id(array))
    if known is None or known.array is not array or known.is_changed():
        known = _by_array[id(array)] = Kept(array)
    return known
