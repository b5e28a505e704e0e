"""A search for the names that a function reads, without running it.

Found are globals, variables of enclosing functions, attributes and items of the objects that these are bound
to, in the function itself and in the plain Python functions it reaches. Code of libraries is not searched:
what their objects hold is compared as a whole, by `tape.program.calls.contents`.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import os
import random
import sys
import types
from array import array
from collections import ChainMap, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from importlib.util import resolve_name
from inspect import getattr_static
from itertools import chain, islice
from typing import Any

import numpy as np

from tape.conversion.foreign import is_sparse
from tape.core.op import Op
from tape.program.calls.binding import VALUES, Binding
from tape.program.calls.bytecode import names_in
from tape.program.calls.classes import Classes
from tape.program.calls.contents import Contents, is_compared
from tape.program.calls.flows import Flows
from tape.program.calls.objects import (
    EMPTY,
    absent_from,
    attributes_of,
    content_of,
    is_empty,
    is_ours,
    is_special,
    own_attributes,
)

__all__ = ["Search"]

_MOST_ITEMS = 64
"""Lists and dicts up to this length are checked item by item in every call; of others, the length is."""


class Search:
    """A search for names, from a function to all that it reads.

    What only operations reach that the user has declared comes last: these may be callbacks, which run in
    each call, and do there what they do.
    """

    def __init__(self, f: Callable[..., Any], statics: Iterable[Any]) -> None:
        self.found: list[Binding] = []
        self.fixed: list[Binding] = []  # items of tuples, which are bound for good
        self.iterators: list[Binding] = []
        self.arrays: list[Binding] = []
        self.generators: list[Any] = []  # of random numbers
        self.watched: list[Binding] = []  # what programs do not depend on, but runs may change
        self._operations: list[Op] = []
        self._is_in_operations = self._reads_environment = False
        self.catches = self.matches = False
        self._classes = Classes(f)
        self._kept: dict[int, Any] = {}  # what was seen, by id
        statics = [*statics]
        self._waiting: list[Any] = [f, *statics]
        self._owners: list[Any] = []  # objects with attributes
        self._draws: set[str] = set()  # whose generators code may draw from
        self._attributes: set[str] = set()  # that code reads, of whatever object
        self._optional: set[str] = set()  # attributes that code may do without
        self._read: set[str] = set()  # all names that code reads, not only puts something into
        self.stored: set[str] = set()  # names that code binds, of whatever kind
        self.valued: set[str] = set()  # names of which it reads more than the shape
        self._whole: set[str] = set()  # names of which it reads more than an attribute
        self.written: set[str] = set()  # names of what code writes into
        self.filled: set[str] = set()  # names of collections of such
        self.deciding: list[Binding] = []  # what else decides what a search finds: a run may change that
        self.imports = False
        self._is_open = False  # whether code reads attributes without their names
        self.flows = Flows()
        self._known: set[tuple[int, str]] = set()
        self._wanted = (0, False)  # how many attributes, and whether all, were looked up last
        self._looked_at = 0  # of how many owners
        self._stats = sys.modules.get("scipy.stats", EMPTY)
        self._of_libraries: list[Any] = []  # objects whose classes are, or derive from one that is
        self._collections: list[tuple[str, Any]] = []  # with names, which code may only put something into
        self._visit_all()
        if "numpy" in self._draws or ("random" in self._attributes and "np" in self._draws):
            self._visit(np.random.mtrand._rand)
        if "python" in self._draws:
            self._visit(random.seed.__self__)  # type: ignore[attr-defined]
        if self._reads_environment or not self._read.isdisjoint(("environ", "getenv")):
            strings = getattr(os.environ, "_data", os.environ)  # not to decode each of them
            self.found.append(Binding("items", strings, None, (*strings.items(),)))
        for binding in self.found:
            function = binding.value
            if isinstance(function, (types.MethodType, staticmethod, classmethod)):
                function = function.__func__
            if isinstance(function, types.FunctionType) and isinstance(binding.key, str):
                self.flows.define(function.__code__, binding.key)
        self.flows.follow()
        self.arrays = [
            binding for binding in (*self.found, *self.fixed) if isinstance(binding.value, np.ndarray)
        ]
        self._is_in_operations = True
        self._waiting += self._operations
        self._visit_all()
        self._compare_whole(statics)
        self.watched += [Binding("length", value, None, len(value)) for _, value in self._collections]
        made = self.stored & self._attributes
        for owner in self._owners if self._optional or made else ():
            own = own_attributes(owner)
            if type(own) is dict:
                for name in absent_from(owner, self._optional | made):
                    bindings = self.found if name in self._optional else self.watched
                    bindings.append(Binding("presence", own, name, False))
            self._note_absent(owner, made)

    def _note_absent(self, owner: Any, made: set[str]) -> None:
        """Note attributes that neither an object nor its class have: code may do without, or make them."""
        kind = owner if isinstance(owner, type) else type(owner)
        bases = self._classes.users_bases(kind)
        for names, bindings in ((self._optional, self.found), (made, self.deciding)):
            empty = [name for name in names & self._classes.slots_of(kind) if not hasattr(owner, name)]
            bindings += [Binding("has", owner, name, False) for name in sorted(empty)]
            for name in absent_from(owner, names) if bases else ():
                bindings += [Binding("own", base, name, False) for base in bases]

    def _visit_all(self) -> None:
        while self._waiting or self._look_up_attributes():
            self._visit(self._waiting.pop())

    def _bind(self, kind: str, owner: Any, key: Any, value: Any) -> None:
        """Record a name, and search the object that it is bound to."""
        self.found.append(Binding(kind, owner, key, value))
        self._note_draws(value)
        if value is os.environ or value is os.getenv:
            self._reads_environment = True
        if self._classes.about(value).is_iterator and not self._is_in_operations:
            self.iterators.append(self.found[-1])
        if kind in ("item", "context") or not isinstance(value, (list, dict, deque)):
            self._waiting.append(value)
        else:
            self._collections.append((key, value))

    def _note_draws(self, value: Any) -> None:
        """Note what draws from the generator of a module: NumPy's, which is SciPy's as well, or Python's."""
        if value is np:
            self._draws.add("np")
        elif value is np.random or value is self._stats or self._classes.about(value).is_distribution:
            self._draws.add("numpy")
        elif value is random:
            self._draws.add("python")

    def _visit(self, value: Any) -> None:
        if value is None or id(value) in self._kept:
            return
        about = self._classes.about(value)
        is_plain = about.is_plain
        if about.is_users and not is_plain:
            self._owners.append(value)  # also where it derives from a collection, or a number
            self._of_libraries.append(value)
            self._waiting.append(type(value))
        if about.is_value or (isinstance(value, np.ndarray) and value.dtype != object):
            if not is_plain:
                self._kept[id(value)] = value
            return
        if about.is_operation and not self._is_in_operations:
            self._operations.append(value)
            return
        self._kept[id(value)] = value
        if not self._is_in_operations:
            if about.is_generator:
                self.generators.append(value)
            if about.is_iterator and all(value is not known.value for known in self.iterators):
                self.iterators.append(Binding("item", (value,), 0, value))  # one without a name
        if about.is_layer:  # which reads its fields in code that is not searched
            for name in [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]:
                self._bind("attribute", value, name, getattr(value, name))
                self._waiting.append(getattr(value, name))
        if about.visit is None:
            about.visit = _visitor(value)
        about.visit(self, value)

    def _visit_method(self, value: types.MethodType) -> None:
        self._waiting += [value.__self__, value.__func__]

    def _visit_bound(self, value: Any) -> None:
        self._waiting.append(value.__self__)

    def _visit_partial(self, value: functools.partial[Any]) -> None:
        self._waiting.append(value.func)
        if isinstance(value.func, types.FunctionType):
            code = value.func.__code__
            self.flows.give(code, zip(code.co_varnames, value.args, strict=False))
            self.flows.give(code, value.keywords.items())
        self._visit_items(value.args)
        if value.func is getattr:
            self._attributes.update(value.args[1:2])
        self._visit_items(value.keywords)

    def _visit_partial_method(self, value: functools.partialmethod[Any]) -> None:
        self._waiting += [value.func, *value.args, *value.keywords.values()]

    def _visit_getter(self, value: Any) -> None:
        self._attributes.update(*[path.split(".") for path in value.__reduce__()[1]])

    def _visit_unbound(self, value: Any) -> None:
        self._waiting.append(value.__func__)

    def _visit_cell(self, value: types.CellType) -> None:
        if is_empty(value):
            self.found.append(Binding("empty", value, is_empty, True))
        else:
            self._bind("cell", value, "cell_contents", value.cell_contents)
            self._waiting.append(value.cell_contents)

    def _visit_context(self, value: ContextVar[Any]) -> None:
        self._bind("context", value, None, value.get(None))
        with suppress(LookupError):
            self._waiting.append(value.get())  # or its default

    def _visit_cached(self, value: Any) -> None:
        self._waiting.append(value.func)

    def _visit_dispatching(self, value: Any) -> None:
        self._waiting.append(value.dispatcher)

    def _visit_alias(self, value: Any) -> None:
        self._waiting.append(getattr(value, "__origin__", None))

    def _visit_property(self, value: property) -> None:
        self._waiting += [value.fget, value.fset]

    def _visit_user_collection(self, value: Any) -> None:
        self._bind("attribute", value, "data", value.data)
        self._visit_items(value.data)

    def _visit_objects(self, value: np.ndarray) -> None:
        for index in islice(np.ndindex(value.shape), _MOST_ITEMS):
            self._bind("item", value, index, value[index])

    def _visit_chain(self, value: ChainMap[Any, Any]) -> None:
        self._visit_items(value.maps)

    def _visit_sparse(self, value: Any) -> None:
        """Bind the parts of a sparse array, which products read, whatever the code says."""
        for name in _PARTS & vars(value).keys():
            self._bind("attribute", value, name, vars(value)[name])
            self._waiting.append(vars(value)[name])

    def _visit_view(self, value: Any) -> None:
        self._visit_items(value.mapping)

    def _visit_collection(self, value: Any) -> None:
        self._visit_items(value)
        if isinstance(value, defaultdict):
            self._waiting.append(value.default_factory)
            self.deciding.append(Binding("attribute", value, "default_factory", value.default_factory))

    def _visit_module(self, value: types.ModuleType) -> None:
        if self._classes.is_users_module(value):
            self._owners.append(value)

    def _visit_class(self, value: type) -> None:
        if self._classes.is_users(value):
            self._owners.append(value)
            if self.matches:
                self._attributes |= {*getattr(value, "__match_args__", ())}

    def _visit_object(self, value: Any) -> None:
        """Search an object of a library; one of the user's is looked at attribute by attribute."""
        if self._classes.is_users(type(value)):
            return
        own = own_attributes(value)
        if is_ours(type(value)):  # a transform holds the user's functions
            self._waiting += [part for part in attributes_of(value) if callable(part)]
        self._waiting.append((own or {}).get("__wrapped__"))  # of functools.lru_cache, say
        self._of_libraries.append(value)
        if type(own) is dict and is_compared(type(value)):  # as np.vectorize, which holds a function
            self._waiting += [part for part in own.values() if isinstance(part, _FUNCTIONS)]
        if type(own) is dict or self._classes.slots_of(type(value)):  # code of the user may read some of it
            self._owners.append(value)

    def _visit_function(self, function: types.FunctionType) -> None:
        code = function.__code__
        cells = [(cell, content_of(cell)) for cell in function.__closure__ or ()]
        if self._classes.is_library(code.co_filename):
            held = zip(code.co_freevars, cells, strict=True)
            self.deciding += [Binding("cell", cell, name, x) for name, (cell, x) in held if x is not EMPTY]
            by_type = function.__dict__.get("registry")  # of functools.singledispatch
            parts = [function.__dict__.get("__wrapped__"), *[value for _, value in cells]]
            if isinstance(by_type, Mapping):
                self.found.append(Binding("length", by_type, None, len(by_type)))
                self.found += [Binding("item", by_type, kind, chosen) for kind, chosen in by_type.items()]
                parts += by_type.values()
            self._waiting += [part for part in parts if callable(part) or is_ours(type(part))]
            return
        self._owners.append(function)
        self._bind("attribute", function, "__code__", code)
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                self._bind("attribute", function, name, getattr(function, name))
        self._waiting.append(function.__kwdefaults__)
        defaults = function.__defaults__ or ()
        last = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        self.flows.give(code, zip(last, defaults, strict=True))
        self.flows.give(code, (function.__kwdefaults__ or {}).items())
        names = names_in(code)
        self.flows.define(code, code.co_name)
        self._import(names.imports, function.__globals__)
        self.imports = self.imports or bool(names.imports)
        self.matches = self.matches or names.matches
        self._optional |= names.optional
        self.catches = self.catches or names.catches
        self._attributes |= names.attributes
        self._read |= names.read
        self._whole |= names.whole
        self.stored |= names.stored
        if not self._is_in_operations:
            self.valued |= names.valued
            if code.co_name not in _OF_NEW:  # which writes into what it makes
                self.written |= names.written
                self.filled |= names.filled
        self._is_open = self._is_open or names.is_open
        for name in names.globals:
            if name in function.__globals__:
                self._bind("global", function.__globals__, name, function.__globals__[name])
            else:  # a built-in, that a global may hide one day
                self.found.append(Binding("presence", function.__globals__, name, False))
        for name, (cell, value) in zip(code.co_freevars, cells, strict=True):
            if value is not EMPTY:
                self._bind("cell", cell, name, value)
            else:
                self.found.append(Binding("empty", cell, is_empty, True))

    def _import(self, imports: Iterable[tuple[int, str, tuple[str, ...]]], space: dict[str, Any]) -> None:
        """Search the modules that code imports itself, and bind the names that it takes from them."""
        for level, name, taken in imports:
            with suppress(ImportError, TypeError):
                name = resolve_name("." * level + name, space.get("__package__")) if level else name
            parts = name.split(".")
            modules = [sys.modules.get(".".join(parts[: k + 1])) for k in range(len(parts))]
            for module in modules:
                if isinstance(module, types.ModuleType):
                    self._visit(module)
                    self._note_draws(module)
            last: Any = modules[-1]
            if isinstance(last, types.ModuleType) and self._classes.is_users_module(last):
                for key in taken:
                    if key in vars(last):
                        self._read.add(key)
                        self._bind("global", vars(last), key, vars(last)[key])
                        self._waiting.append(vars(last)[key])

    def _visit_items(self, items: Any) -> None:
        if isinstance(items, memoryview) and items.ndim != 1:
            for index in islice(np.ndindex(items.shape or ()), _MOST_ITEMS):
                self._bind("item", items, index, items[index])
            return
        if isinstance(items, tuple):
            self._waiting += items[:_MOST_ITEMS]
            self.fixed += [Binding("item", items, k, value) for k, value in enumerate(items[:_MOST_ITEMS])]
            return
        is_short, is_mapping = len(items) <= _MOST_ITEMS, isinstance(items, Mapping)
        has_keys = is_short and (is_mapping or isinstance(items, (set, frozenset)))
        kind, value = ("keys", (*items,)) if has_keys else ("length", len(items))
        self.found.append(Binding(kind, items, None, value))
        if has_keys:
            self._waiting += [key for key in items if not isinstance(key, VALUES)]
        if is_short and not isinstance(items, (set, frozenset)):
            for key, value in items.items() if is_mapping else enumerate(items):
                self._bind("item", items, key, value)

    def _look_up_attributes(self) -> bool:
        """Look up attributes that code reads, unless that is done; return whether there were any."""
        wanted = (len(self._attributes), self._is_open)
        first = self._looked_at if wanted == self._wanted else 0
        self._wanted, self._looked_at = wanted, len(self._owners)
        for owner in self._owners[first:]:
            for name in sorted(self._names_of(owner)):
                if (id(owner), name) not in self._known:
                    self._known.add((id(owner), name))
                    self._look_up(owner, name)
        for k, (name, collection) in reversed([*enumerate(self._collections)]):
            if self._is_open or name in self._read:
                del self._collections[k]
                self._waiting.append(collection)
        return bool(self._waiting)

    def _compare_whole(self, statics: Iterable[Any]) -> None:
        """Bind the contents of objects, unless code reads no more of one than attributes, which are bound.

        Methods, and properties, may read all that it holds.
        """
        ways: dict[int, list[Binding]] = {}
        for binding in (*self.found, *self.fixed):
            ways.setdefault(id(binding.value), []).append(binding)
        given = [*statics, *[of_value[0].value for of_value in ways.values()]]
        methods = [one for one in given if isinstance(one, (types.MethodType, *_BOUND))]
        whole = {id(one) for one in (*statics, *[method.__self__ for method in methods])}
        for value in self._of_libraries:
            of_value = [] if self._is_open or id(value) in whole else ways.get(id(value), [])
            is_named = all(b.kind in _NAMED and b.key not in self._whole for b in of_value)
            own, kind = own_attributes(value) or {}, type(value)
            if of_value and is_named and all(n in own or not hasattr(kind, n) for n in self._attributes):
                continue
            contents = Contents(value, self._attributes)
            if contents.now:
                self.found.append(Binding("contents", value, contents, contents.now))

    def _names_of(self, owner: Any) -> set[str]:
        """Return the attributes that code reads and an object has; of a class also those Python reads."""
        if type(owner) is types.FunctionType and not owner.__dict__:
            return set()
        if isinstance(owner, types.ModuleType):
            return self._attributes & vars(owner).keys()
        if isinstance(owner, type):
            held = [item for kind in self._classes.users_bases(owner) for item in vars(kind).items()]
            if self._is_open:
                self._attributes.update([name for name, _ in held if not name.startswith("__")][:_MOST_ITEMS])
            return {name for name, value in held if name in self._attributes or is_special(name, value)}
        own = own_attributes(owner) or {}
        if self._is_open and type(own) is dict and 0 < len(own) <= _MOST_ITEMS:
            self._attributes.update(own)
            if (id(owner), "") not in self._known:
                self._known.add((id(owner), ""))
                self.found.append(Binding("keys", own, None, (*own,)))
        if self._is_open:
            self._attributes.update(self._classes.slots_of(type(owner)))
        if not self._classes.is_users(type(owner)):
            return self._attributes & {*own, *self._classes.slots_of(type(owner))}
        if hasattr(type(owner), "__getattr__"):  # which is asked for names that may be bound one day
            return self._attributes
        held_by = [getattr(owner, "__dict__", None) or (), *map(vars, type(owner).__mro__)]
        return self._attributes.intersection(chain.from_iterable(held_by))

    def _look_up(self, owner: Any, name: str) -> None:
        if isinstance(owner, types.ModuleType):
            if name in vars(owner):
                self._bind("global", vars(owner), name, vars(owner)[name])
            return
        if isinstance(owner, type):
            kinds = self._classes.users_bases(owner)
            have_it = [name in vars(kind) for kind in kinds]
            for number, (kind, has_it) in enumerate(zip(kinds, have_it, strict=True)):
                if has_it:
                    self._bind("class", kind, name, vars(kind)[name])
                elif any(have_it[number:]):  # inherited, and may be hidden one day
                    self.found.append(Binding("own", kind, name, False))
            return
        own = getattr(owner, "__dict__", None)
        value = getattr_static(owner, name, EMPTY)
        if isinstance(value, types.MemberDescriptorType):  # in slots
            value = getattr(owner, name, EMPTY)
        elif value is EMPTY and type(own) is dict:  # of a thread, or from `__getattr__`
            value = own.get(name, EMPTY)
            if value is EMPTY:
                self.found.append(Binding("presence", own, name, False))
        if value is EMPTY:
            return
        if name in (own or ()) or not hasattr(value, "__get__"):
            self._bind("attribute", owner, name, value)
        elif type(own) is dict and not hasattr(value, "__set__"):  # of the class, and may be hidden one day
            self.found.append(Binding("presence", own, name, False))


def _visitor(value: Any) -> Callable[[Search, Any], None]:
    """Return the method for a value."""
    if is_sparse(value):
        return Search._visit_sparse
    if type(value).__module__ == "typing":
        return Search._visit_alias
    return next((visit for kinds, visit in _VISITORS if isinstance(value, kinds)), Search._visit_object)


_NAMED = ("global", "cell", "attribute")
"""Kinds of bindings by which code reads an object by a name of its own."""
_OF_NEW = frozenset({"__init__", "__new__", "__post_init__", "__setstate__"})
"""Methods of objects that are being made."""
_FUNCTIONS = (types.FunctionType, types.MethodType)
_BOUND = (types.BuiltinMethodType, types.MethodWrapperType)
_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_COLLECTIONS = (
    tuple, list, dict, set, frozenset, deque, array, bytearray, memoryview, types.MappingProxyType,
)  # fmt: skip
_PARTS = {"_dict", "coords", "data", "indices", "indptr", "offsets", "rows"}
"""Of sparse arrays."""
_VISITORS: tuple[tuple[Any, Callable[[Search, Any], None]], ...] = (
    (types.FunctionType, Search._visit_function),
    (types.MethodType, Search._visit_method),
    (_BOUND, Search._visit_bound),
    (functools.partial, Search._visit_partial),
    (functools.partialmethod, Search._visit_partial_method),
    (operator.attrgetter, Search._visit_getter),
    ((staticmethod, classmethod), Search._visit_unbound),
    (types.CellType, Search._visit_cell),
    (ContextVar, Search._visit_context),
    (functools.cached_property, Search._visit_cached),
    (functools.singledispatchmethod, Search._visit_dispatching),
    (types.GenericAlias, Search._visit_alias),
    (property, Search._visit_property),
    ((UserDict, UserList), Search._visit_user_collection),
    (np.ndarray, Search._visit_objects),
    (ChainMap, Search._visit_chain),
    (_VIEWS, Search._visit_view),
    (_COLLECTIONS, Search._visit_collection),
    (types.ModuleType, Search._visit_module),
    (type, Search._visit_class),
)
