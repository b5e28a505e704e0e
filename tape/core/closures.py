"""What a function closes over, bound for good: derivatives run it again, and must find what it found.

Python binds late. A function reads the variables around it, and globals, when it runs; a loop that calls
``root(lambda x: x**3 - c, 1.0)`` has bound ``c`` anew, and filled its arrays anew, when a sweep comes back
to the first equation. `bound` returns a copy of a function with variables of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dis import get_instructions
from functools import partial
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tape import errors
from tape.core.dispatch import recorder
from tape.core.held import Kept

_MOST_KNOWN = 4096
_is_replaying: ContextVar[bool] = ContextVar("is_replaying", default=False)


def bound(f: Callable[..., Any], *, is_rule: bool = False) -> Callable[..., Any]:
    """Return a function that finds in its closure and in globals what is there now, whenever it runs.

    That goes for the functions of the user which it calls by such names as well, and for the elements of
    plain arrays. Variables that one of them assigns to, with ``nonlocal`` or ``global``, stay shared; so do
    attributes, the items of lists, and what compiled functions close over.

    Parameters
    ----------
    f : callable
        A function, method, partial or transform; others are returned as they are.
    is_rule : bool
        Whether sweeps alone call it. Otherwise arrays that it writes into when it runs first are left alone.

    Raises
    ------
    InPlaceError
        When called, if a large array was written into since, or any array while a program is recorded.

    Examples
    --------
    >>> from tape.core.closures import bound
    >>> functions = []
    >>> for scale in (2.0, 3.0):
    ...     functions.append(bound(lambda x: scale * x))
    >>> [f(1.0) for f in functions]
    [2.0, 3.0]
    """
    reach = _Reach(f)
    if not reach.is_variable:
        return f
    copied = _Copies(reach).changed(f)
    return _WithArrays(copied, reach.arrays.values(), is_first=not is_rule) if reach.arrays else copied


@contextmanager
def replaying() -> Iterator[None]:
    """Let functions that were bound read their arrays as they are now, and from now on."""
    token = _is_replaying.set(True)
    try:
        yield
    finally:
        _is_replaying.reset(token)


# ---- what a function reads ---------------------------------------------------------------------------


class _Names(NamedTuple):
    """The names in a code object and those inside of it."""

    globals: frozenset[str]
    assigned: frozenset[str]  # of variables around it
    has_own_globals: bool  # whether it may be given globals of its own
    is_foreign: bool  # whether it is of this package or its dependencies


_known: dict[int, tuple[CodeType, _Names]] = {}  # by id, as to hash code takes long


def _names(code: CodeType) -> _Names:
    known = _known.get(id(code))
    if known is None:
        if len(_known) > _MOST_KNOWN:
            _known.clear()
        known = _known[id(code)] = code, _names_in(code)
    return known[1]


def _names_in(code: CodeType) -> _Names:
    read: set[str] = set()
    assigned: set[str] = set()
    is_plain = True
    for one in get_instructions(code):
        if one.opname.startswith("LOAD") and ("GLOBAL" in one.opname or "NAME" in one.opname):
            read.add(one.argval)
        elif one.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            is_plain = False
        elif one.opname in ("STORE_DEREF", "DELETE_DEREF"):
            assigned.add(one.argval)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            inner = _names(part)
            read |= inner.globals
            assigned |= inner.assigned
            is_plain = is_plain and inner.has_own_globals
    is_plain = (
        is_plain and not read & {"eval", "exec", "globals"} and not errors.is_installed(code.co_filename)
    )
    return _Names(
        frozenset(read),
        frozenset(assigned.intersection(code.co_freevars)),
        is_plain,
        errors.is_foreign(code.co_filename),
    )


class _Reach:
    """The functions and arrays that a function reaches by its variables, globals and defaults.

    Attributes
    ----------
    functions, arrays : dict
        By id.
    globals : dict
        Those that a function reads, by its id.
    shared : set of int
        The cells that one of the functions assigns to, by id.
    is_variable : bool
        Whether they read anything that may be bound anew, or written into.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        self.functions: dict[int, FunctionType] = {}
        self.globals: dict[int, dict[str, Any]] = {}
        self.arrays: dict[int, np.ndarray] = {}
        self.shared: set[int] = set()
        self.is_variable = False
        self._seen: dict[int, Any] = {}
        self._visit(f)

    def _visit(self, value: Any) -> Any:
        """Look for functions and arrays in a value; return it."""
        kind = type(value)
        if kind is np.ndarray:
            self.arrays[id(value)] = value
            self.is_variable = True
        elif kind is FunctionType:
            names = _names(value.__code__)
            if id(value) not in self.functions and not names.is_foreign:
                self.functions[id(value)] = value
                self._visit_names(value, names)
        elif _is_made_of_functions(kind) and id(value) not in self._seen:
            self._seen[id(value)] = value
            _rebuilt(value, self._visit)
        return value

    def _visit_names(self, function: FunctionType, names: _Names) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.is_variable = True
            if name in names.assigned:
                self.shared.add(id(cell))
            self._visit(_content(cell))
        self.globals[id(function)] = _globals(function, names)
        for name, value in self.globals[id(function)].items():
            if not _is_definition(name, value):
                self.is_variable = True
                self._visit(value)
        if function.__defaults__ or function.__kwdefaults__:
            for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
                self._visit(value)


def _globals(function: FunctionType, names: _Names) -> dict[str, Any]:
    """Return the globals that a function reads, if it may be given globals of its own."""
    space = function.__globals__
    return {name: space[name] for name in names.globals if name in space} if names.has_own_globals else {}


def _is_definition(name: str, value: Any) -> bool:
    """Whether a global is one that is imported or defined under its own name, and not bound in a loop."""
    kind = type(value)
    if kind is ModuleType or isinstance(value, type):
        return True
    is_library = kind in _OF_LIBRARIES or (kind is FunctionType and _names(value.__code__).is_foreign)
    return is_library and value.__name__ == name


_OF_LIBRARIES = (BuiltinFunctionType, np.ufunc, type(np.sum))


_EMPTY: Any = object()


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _is_made_of_functions(kind: type) -> bool:
    return kind is MethodType or kind is partial or hasattr(kind, "with_functions")


def _rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a method, partial or transform of other functions."""
    if type(value) is MethodType:
        function = change(value.__func__)
        return value if function is value.__func__ else MethodType(function, value.__self__)
    if type(value) is partial:
        parts = [value.func, *value.args, *value.keywords.values()]
        first, *others = found = [change(part) for part in parts]
        if all(new is old for new, old in zip(found, parts, strict=True)):
            return value
        count = len(value.args)
        return partial(first, *others[:count], **dict(zip(value.keywords, others[count:], strict=True)))
    return value.with_functions(change)


# ---- copies ------------------------------------------------------------------------------------------


class _Copies:
    """Copies of functions with variables, globals and defaults of their own, and perhaps other arrays."""

    def __init__(self, reach: _Reach, arrays: Mapping[int, np.ndarray] | None = None) -> None:
        self._arrays = arrays or {}
        self._functions: dict[int, FunctionType] = {}
        self._cells: dict[int, CellType] = {}
        for key, function in reach.functions.items():
            cells = [self._cell(cell, reach) for cell in function.__closure__ or ()]
            self._functions[key] = _copy(function, cells, has_own_globals=bool(reach.globals[key]))
        for key, function in reach.functions.items():
            copied, space = self._functions[key], reach.globals[key]
            for cell, own in zip(function.__closure__ or (), copied.__closure__ or (), strict=True):
                if own is not cell:
                    own.cell_contents = self.changed(cell.cell_contents)
            copied.__globals__.update({name: self.changed(value) for name, value in space.items()})
            if function.__defaults__:
                copied.__defaults__ = tuple([self.changed(value) for value in function.__defaults__])
            if function.__kwdefaults__:
                defaults = function.__kwdefaults__.items()
                copied.__kwdefaults__ = {name: self.changed(value) for name, value in defaults}

    def changed(self, value: Any) -> Any:
        """Return a value with the copies of functions in it, or the other array."""
        kind = type(value)
        if kind is np.ndarray:
            return self._arrays.get(id(value), value)
        if kind is FunctionType:
            return self._functions.get(id(value), value)
        return _rebuilt(value, self.changed) if _is_made_of_functions(kind) else value

    def _cell(self, cell: CellType, reach: _Reach) -> CellType:
        known = self._cells.get(id(cell))
        if known is None:
            is_shared = id(cell) in reach.shared or _content(cell) is _EMPTY
            known = self._cells[id(cell)] = cell if is_shared else CellType()
        return known


_OF_MODULES = ("__builtins__", "__file__", "__loader__", "__name__", "__package__", "__spec__")


def _copy(function: FunctionType, cells: list[CellType], *, has_own_globals: bool) -> FunctionType:
    """Return a copy of a function with other cells, and without defaults yet."""
    space: dict[str, Any] = function.__globals__
    if has_own_globals:
        space = {name: space[name] for name in _OF_MODULES if name in space}
    closure = tuple(cells) if cells else None
    copied = FunctionType(function.__code__, space, function.__name__, None, closure)
    copied.__qualname__, copied.__module__ = function.__qualname__, function.__module__
    if function.__dict__:
        copied.__dict__.update(function.__dict__)
    return copied


class _WithArrays:
    """A function that was bound, which finds the elements of its arrays as they were."""

    def __init__(self, f: Callable[..., Any], arrays: Iterable[np.ndarray], *, is_first: bool) -> None:
        self.__wrapped__ = self._f = f
        named = f.func if type(f) is partial else f
        self.__name__ = getattr(named, "__name__", type(named).__name__)
        self._kept = [Kept(array) for array in arrays]
        self._is_first = is_first
        self._is_in_program = recorder() is not None
        self._restored: tuple[list[Kept], Callable[..., Any]] = ([], f)  # which arrays, in which function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_first:
            found = self._f(*args, **kwargs)
            self._is_first = False
            self._kept = [kept for kept in self._kept if not kept.is_changed()]
            return found
        return self._as_it_was()(*args, **kwargs)

    def _as_it_was(self) -> Callable[..., Any]:
        """Return the function with the elements that arrays had."""
        if _is_replaying.get():
            self._kept = [Kept(kept.array) for kept in self._kept]
            self._restored = [], self._f
        if self._is_in_program and recorder() is None:
            return self._f  # a program calls it, and reads arrays as they are
        changed = [kept for kept in self._kept if kept.is_changed()]
        if changed and self._is_in_program:
            raise errors.InPlaceError(
                f"a plain array, {errors.describe(changed[0].array)}, was written into after a function that "
                "closes over it had been recorded, whose derivative runs it again. Make a new array in each "
                "step, or pass it as an argument"
            )
        if changed != self._restored[0]:
            arrays = {id(kept.array): kept.value().copy() for kept in changed}  # it may write into them
            self._restored = changed, _Copies(_Reach(self._f), arrays).changed(self._f)
        return self._restored[1]
