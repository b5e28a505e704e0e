"""What functions reach by the names in their code, and copies of them that find it as it was.

`tape.core.closures` says when these are made. It happens at each call, so that attributes are not followed;
`tape.program.calls.reached` follows them, once for each program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dis import get_instructions
from functools import partial
from itertools import repeat
from operator import attrgetter, is_
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any, NamedTuple

import numpy as np

from tape import errors
from tape.core.held import Kept
from tape.core.node import Handle

_MOST_KNOWN, _MOST_ITEMS = 4096, 64


class _Names(NamedTuple):
    """The names in a code object and those inside of it."""

    globals: frozenset[str]  # that code of the user reads
    assigned: frozenset[str]  # free variables that it assigns to
    assigned_globals: frozenset[str]
    is_users: bool
    needs_all: bool  # whether it looks names up in the globals itself, or runs the body of a class


_names_by_id: dict[int, tuple[CodeType, _Names]] = {}  # as to hash code takes long


def _names(code: CodeType) -> _Names:
    known = _names_by_id.get(id(code))
    if known is None:
        if len(_names_by_id) > _MOST_KNOWN:
            _names_by_id.clear()
        known = _names_by_id[id(code)] = code, _names_in(code)
    return known[1]


def _names_in(code: CodeType) -> _Names:
    read: set[str] = set()
    assigned: set[str] = set()
    assigned_globals: set[str] = set()
    needs_all = False
    for one in get_instructions(code):
        if one.opname.startswith("LOAD") and ("GLOBAL" in one.opname or "NAME" in one.opname):
            read.add(one.argval)
            needs_all = needs_all or "GLOBAL" not in one.opname or one.argval in _LOOKING
        elif one.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            assigned_globals.add(one.argval)
        elif one.opname in ("STORE_DEREF", "DELETE_DEREF"):
            assigned.add(one.argval)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            inner = _names(part)
            read |= inner.globals
            assigned |= inner.assigned
            assigned_globals |= inner.assigned_globals
            needs_all = needs_all or inner.needs_all
    is_users = not (errors.is_foreign(code.co_filename) or errors.is_installed(code.co_filename))
    return _Names(
        frozenset(read if is_users else ()),
        frozenset(assigned.intersection(code.co_freevars)),
        frozenset(assigned_globals),
        is_users,
        needs_all,
    )


_LOOKING = frozenset(["eval", "exec", "globals"])
_EMPTY: Any = object()


def content(cell: CellType) -> Any:
    """Return what a variable is bound to, or a mark if it is not."""
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def assigned_globals(function: FunctionType) -> frozenset[str]:
    """Return the globals that a function assigns to."""
    return _names(function.__code__).assigned_globals


_content = attrgetter("cell_contents")
_CONSTANTS = frozenset({bool, int, float, complex, str, bytes, NoneType, type, ModuleType, np.ufunc, np.int64,
                        np.float64, BuiltinFunctionType, type(np.sum), type(_EMPTY)})  # fmt: skip


def constants_of(function: FunctionType) -> list[Any] | None:
    """Return what the names in a function are bound to, in some order; None if not all are constants."""
    known, closure = _names_by_id.get(id(function.__code__)), function.__closure__
    names = _names(function.__code__) if known is None else known[1]
    if names.needs_all or function.__defaults__ or function.__kwdefaults__:
        return None
    found: list[Any] = []
    if closure:
        try:
            found += map(_content, closure)
        except ValueError:  # a variable is bound to nothing
            return None
    if names.globals:
        found += map(function.__globals__.get, names.globals, repeat(_EMPTY))
    return found if _CONSTANTS.issuperset(map(type, found)) else None


def rebound(function: FunctionType, constants: list[Any]) -> dict[Any, Any]:
    """Return the constants that names in a function are not bound to any more, by the keys of a `Reach`."""
    names = _names(function.__code__).globals
    now = _bindings(function, names)
    if all(map(is_, now, constants)):
        return {}
    keys = [*map(id, function.__closure__ or ()), *[(id(function.__globals__), name) for name in names]]
    return {key: old for key, old, new in zip(keys, constants, now, strict=True) if old is not new}


def _bindings(function: FunctionType, names: frozenset[str]) -> list[Any]:
    """Return what the variables around a function, and these globals, are bound to."""
    found = [*map(content, function.__closure__)] if function.__closure__ else []
    if names:
        space = function.__globals__
        found += [space.get(name, _EMPTY) for name in names]
    return found


class Reaching:
    """An object that knows what its function reaches."""

    __slots__ = ("_reach",)

    _reach: Reach


class Reach:
    """What a function reaches by the names in its code.

    Attributes
    ----------
    functions : dict
        The functions, by id.
    cells : dict
        The cells of variables, with what they are bound to, by id.
    globals : dict
        The dictionaries of globals, with what a name is bound to, by the id of the dictionary and the name.
    vars : dict
        The Vars among the values of both, which may be written to in place, with what they were.
    arrays : dict
        The plain arrays among all these, defaults, and the items of tuples, by id.
    assigned : set
        The keys of variables and globals that one of the functions assigns to, which are not noted.
    inner : list of Reaching
        Those among the values, whose functions are not visited.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        self.functions: dict[int, FunctionType] = {}
        self.cells: dict[int, tuple[CellType, Any]] = {}
        self.globals: dict[tuple[int, str], tuple[dict[str, Any], Any]] = {}
        self.vars: dict[Any, tuple[Any, Any]] = {}
        self.arrays: dict[int, np.ndarray] = {}
        self._seen: dict[int, Any] = {}
        self.assigned: set[Any] = set()
        self.inner: list[Reaching] = []
        self.visit(f)
        self._drop_assigned()

    def visit(self, value: Any) -> Any:
        """Look for functions and arrays in a value; return it."""
        kind = type(value)
        if kind is FunctionType:
            if id(value) not in self.functions:
                self._visit_function(value)
        elif isinstance(value, np.ndarray):
            if not value.dtype.hasobject:
                self.arrays[id(value)] = value
        elif isinstance(value, Reaching):
            self.inner.append(value)
        elif kind in _MADE_OF_PARTS and id(value) not in self._seen:
            self._seen[id(value)] = value
            _rebuilt(value, self.visit)
        return value

    def _visit_function(self, function: FunctionType) -> None:
        code, closure = function.__code__, function.__closure__
        names = _names(code)
        if not (names.is_users or closure):
            return
        self.functions[id(function)] = function
        for name, cell in zip(code.co_freevars, closure or (), strict=True):
            if name in names.assigned:
                self.assigned.add(id(cell))
            value = content(cell)
            if names.is_users and value is not _EMPTY:
                self.cells[id(cell)] = cell, value
            self._visit_value(value, id(cell))
        space = function.__globals__
        for name in names.globals:
            value = space.get(name, _EMPTY)
            if value is not _EMPTY:
                self.globals[id(space), name] = space, value
                self._visit_value(value, (id(space), name))
        self.assigned.update([(id(space), name) for name in names.assigned_globals])
        if function.__defaults__ or function.__kwdefaults__:
            for value in _defaults(function):
                self.visit(value)

    def _visit_value(self, value: Any, key: Any) -> None:
        if isinstance(value, Handle):
            self.vars[key] = value, value.again()
        else:
            self.visit(value)

    def all_vars(self) -> Iterator[Any]:
        """Return the Vars, also of inner functions."""
        for var, _ in self.vars.values():
            yield var
        for one in self.inner:
            yield from one._reach.all_vars()

    def all_functions(self) -> list[FunctionType | MethodType]:
        """Return the functions and methods."""
        return [*self.functions.values(), *[one for one in self._seen.values() if type(one) is MethodType]]

    def forget_changed(self) -> None:
        """Note no longer what is bound to something else now."""
        self.assigned |= self.changed().keys()
        self._drop_assigned()

    def _drop_assigned(self) -> None:
        for key in self.assigned:
            for names in (self.cells, self.globals, self.vars):
                names.pop(key, None)

    def is_changed(self) -> bool:
        """Return whether a variable or global is bound to something else now."""
        try:
            for cell, value in self.cells.values():
                if cell.cell_contents is not value:
                    return True
        except ValueError:  # it is bound to nothing
            return True
        for (_, name), (space, value) in self.globals.items():
            if space.get(name, _EMPTY) is not value:
                return True
        return bool(self.vars) and any(var.node is not kept.node for var, kept in self.vars.values())

    def changed(self) -> dict[Any, Any]:
        """Return what variables and globals were that are bound to something else now, by the same keys."""
        found: dict[Any, Any] = {}
        for key, (cell, value) in self.cells.items():
            if content(cell) is not value:
                found[key] = value
        for name, (space, value) in self.globals.items():
            if space.get(name[1], _EMPTY) is not value:
                found[name] = value
        found |= {key: None for key, (var, kept) in self.vars.items() if var.node is not kept.node}
        return {key: self.vars[key][1] if key in self.vars else value for key, value in found.items()}


_MADE_OF_PARTS: set[type] = {MethodType, partial, tuple}


def made_of_functions(kind: type) -> type:
    """Declare a class whose objects hold functions; ``with_functions(change)`` returns one with others."""
    _MADE_OF_PARTS.add(kind)
    return kind


def is_users_object(kind: type) -> bool:
    """Whether objects of a class can be called, by a method that the user has written."""
    call = getattr(kind, "__call__", None)  # noqa: B004
    return type(call) is FunctionType and _names(call.__code__).is_users


def _rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a method, partial, transform or tuple of other functions and arrays."""
    kind = type(value)
    if kind is MethodType:
        function = change(value.__func__)
        return value if function is value.__func__ else MethodType(function, value.__self__)
    if kind is tuple:
        items = [change(item) for item in value[:_MOST_ITEMS]]
        is_same = all(new is old for new, old in zip(items, value, strict=False))
        return value if is_same else (*items, *value[_MOST_ITEMS:])
    if kind is partial:
        function, args = change(value.func), change(value.args)
        keywords = {name: change(part) for name, part in value.keywords.items()}
        is_same = function is value.func and args is value.args
        if is_same and all(keywords[name] is part for name, part in value.keywords.items()):
            return value
        return partial(function, *args, **keywords)
    return value.with_functions(change)


# ---- copies ------------------------------------------------------------------------------------------


class Copies:
    """Copies of the functions that depend on what has changed.

    Parameters
    ----------
    reach : Reach
    values, arrays : dict
        What has changed: what names were bound to, and arrays held, by the keys of the reach.

    Attributes
    ----------
    is_lasting : bool
        Whether they may be used again: none has a copy of all globals.
    """

    def __init__(self, reach: Reach, values: dict[Any, Any], arrays: dict[int, Kept]) -> None:
        self._reach, self._values, self._kept = reach, values, arrays
        self._arrays = {key: kept.value().copy() for key, kept in arrays.items()}  # writable
        self._dependent: set[int] = set()
        self._find_dependent()
        self._cells: dict[int, CellType] = {}
        functions = {key: reach.functions[key] for key in self._dependent}
        self._copies = {key: self._copied(function) for key, function in functions.items()}
        for key, function in functions.items():
            self._fill(function, self._copies[key])
        self.is_lasting = not any(_names(function.__code__).needs_all for function in functions.values())

    def finish(self) -> None:
        """Let globals be what copies have assigned to them, after they have run.

        Raises
        ------
        InPlaceError
            If they have written into an array, of which others may have read the original meanwhile.
        """
        for key, copied in self._copies.items():
            own, around = copied.__globals__, self._reach.functions[key].__globals__
            for name in _names(copied.__code__).assigned_globals if own is not around else ():
                if name in own and own[name] is not around.get(name, _EMPTY):
                    around[name] = own[name]
                    if type(own) is _Space:
                        del own[name]
        for key, kept in self._kept.items():
            if not kept.is_like(self._arrays[key]):
                raise written_into(kept.array)

    def mapped(self, value: Any) -> Any:
        """Return a value with copies in it, and arrays as they were."""
        kind = type(value)
        if kind is FunctionType:
            return self._copies.get(id(value), value)
        if kind is np.ndarray:
            return self._arrays.get(id(value), value)
        return _rebuilt(value, self.mapped) if kind in _MADE_OF_PARTS else value

    # ---- which functions -------------------------------------------------------------------------

    def _find_dependent(self) -> None:
        count = -1
        while count < len(self._dependent):
            count = len(self._dependent)
            for key, function in self._reach.functions.items():
                if key not in self._dependent and self._is_dependent(function):
                    self._dependent.add(key)

    def _is_dependent(self, function: FunctionType) -> bool:
        is_changed = any(self._is_own(id(cell), content(cell)) for cell in function.__closure__ or ())
        return is_changed or bool(self._own_names(function)) or self._depends(_defaults(function))

    def _is_own(self, key: Any, value: Any) -> bool:
        """Whether a variable or global of a copy is another one than that of the function."""
        return key not in self._reach.assigned and (key in self._values or self._depends(value))

    def _own_names(self, function: FunctionType) -> list[str]:
        space = function.__globals__
        names = _names(function.__code__).globals
        return [name for name in names if self._is_own((id(space), name), space.get(name, _EMPTY))]

    def _depends(self, value: Any) -> bool:
        """Whether there is a function in a value that depends on what has changed, or an array that has."""
        kind = type(value)
        if kind is FunctionType:
            return id(value) in self._dependent
        if kind is np.ndarray:
            return id(value) in self._arrays
        if kind not in _MADE_OF_PARTS:
            return False
        is_dependent = False

        def look(part: Any) -> Any:
            nonlocal is_dependent
            is_dependent = is_dependent or self._depends(part)
            return part

        _rebuilt(value, look)
        return is_dependent

    # ---- the copies ------------------------------------------------------------------------------

    def _copied(self, function: FunctionType) -> FunctionType:
        """Return a copy whose own variables are still empty."""
        space: dict[str, Any] = function.__globals__
        if self._own_names(function):
            needs_all = _names(function.__code__).needs_all and type(space) is dict
            space = dict(space) if needs_all else _Space(space)
        cells = [self._cell(cell) for cell in function.__closure__ or ()]
        copied = FunctionType(function.__code__, space, function.__name__, None, tuple(cells) or None)
        copied.__qualname__, copied.__module__ = function.__qualname__, function.__module__
        copied.__dict__ = function.__dict__  # the same one, which functions may write to
        return copied

    def _cell(self, cell: CellType) -> CellType:
        if not self._is_own(id(cell), content(cell)):
            return cell
        return self._cells.setdefault(id(cell), CellType())

    def _fill(self, function: FunctionType, copied: FunctionType) -> None:
        for cell, own in zip(function.__closure__ or (), copied.__closure__ or (), strict=True):
            if own is not cell:
                own.cell_contents = self.mapped(self._values.get(id(cell), content(cell)))
        space = function.__globals__
        for name in self._own_names(function):
            copied.__globals__[name] = self.mapped(
                self._values.get((id(space), name), space.get(name, _EMPTY))
            )
        if function.__defaults__:
            copied.__defaults__ = tuple(map(self.mapped, function.__defaults__))
        if function.__kwdefaults__:
            items = function.__kwdefaults__.items()
            copied.__kwdefaults__ = {name: self.mapped(value) for name, value in items}


def _defaults(function: FunctionType) -> tuple[Any, ...]:
    return (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())


_READ_BY_PYTHON = ("__builtins__", "__name__", "__package__", "__spec__")
"""Names that Python reads from the dictionary itself, when functions are made and modules imported."""


class _Space(dict[str, Any]):
    """The globals of a copy: some as they were, all others as they are."""

    def __init__(self, around: dict[str, Any]) -> None:
        super().__init__({name: around[name] for name in _READ_BY_PYTHON if name in around})
        self._around = around

    def __missing__(self, name: str) -> Any:
        return self._around[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return what a name is bound to."""
        try:
            return self[name]
        except KeyError:
            return default


def written_into(array: np.ndarray) -> errors.InPlaceError:
    return errors.InPlaceError(
        f"a plain array, {errors.describe(array)}, was written into after a function that closes over it had "
        "been recorded, whose derivative runs it again. Make a new array in each step, or pass it as an "
        "argument"
    )
