"""Generated functions that flatten and build trees of one structure, as fast as code written by hand.

`optree` handles any tree, and takes longer over a small one than a small program runs. For plain trees, which
nearly all are, Python code for one structure is generated and compiled once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from tape import tree
from tape.program.calls.names import Bindings
from tape.program.calls.statics import Form, Static, is_stable, key_of
from tape.program.record.reading import LIMIT


class Dynamic:
    """A placeholder for a dynamic leaf of a tree, with its number; ``is_int`` if it is an int."""

    def __init__(self, number: int, is_int: bool) -> None:
        self.number = number
        self.is_int = is_int


class _NotPlain(Exception):
    """Raised for a tree with nodes that are not plain."""


class _Source:
    """The source of a function that is generated, with the objects that it refers to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._count = 0

    def name(self) -> str:
        """Return a name for an intermediate value."""
        self._count += 1
        return f"v{self._count}"

    def bind(self, value: Any) -> str:
        """Return a name for an object."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def function(self, head: str) -> Callable[..., Any]:
        """Compile the source, and return the function."""
        body = "\n    ".join(self.lines)
        exec(_compiled(f"def shortcut({head}):\n    {body}\n"), self.names)
        return self.names["shortcut"]


@lru_cache(maxsize=512)
def _compiled(source: str) -> CodeType:
    """Compile a source; many functions share theirs, and differ in the objects it refers to."""
    return compile(source, "<tape shortcut>", "exec")


def taker(form: Form) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...] | None]:
    """Return a function that flattens arguments of a form.

    Parameters
    ----------
    form : Form
        The form of the arguments ``(args, kwargs)``.

    Returns
    -------
    callable
        ``take(args, kwargs)`` returns the dynamic leaves in order, or None if the arguments are of another
        form. It does not check the types of dynamic leaves, nor their number if all arguments are positional
        ones.

    Examples
    --------
    >>> from tape import tree
    >>> from tape.program.calls.shortcuts import taker
    >>> from tape.program.calls.statics import Form
    >>> take = taker(Form(tree.flatten((({"b": 1.0, "a": 2.0}, 3), {}))[1], {2: 3}))
    >>> take(({"b": 10.0, "a": 20.0}, 3), {}), take(({"a": 20.0, "b": 10.0}, 3), {})
    ((20.0, 10.0), None)
    """
    source = _Source()
    _take_arguments(source, form, None)
    source.lines.append("return leaves")
    return source.function("args, kwargs")


def _take_arguments(source: _Source, form: Form, missed: Any) -> None:
    """Generate code that finds the dynamic leaves, and returns for arguments of another form."""
    source.names |= {"key_of": key_of, "are_same": _are_same, "missed": missed, "int64": np.int64}
    if Form(form.structure, form.fixed, form.ints) != form:  # a list in a static field, say, has changed
        source.lines.append("return missed")
        return
    count = tree.size(form.structure)
    if not form.fixed and not form.ints and form.structure == tree.flatten(((0.0,) * count, {}))[1]:
        source.lines += ["if kwargs: return missed", "leaves = args"]  # the machine checks how many there are
        return
    try:
        if not tree.is_plain(form.structure):
            raise _NotPlain
        lines = _taking(source, form, count)
    except (_NotPlain, RecursionError):  # or it has too many levels
        source.names["take"] = _by_flattening(form)
        lines = ["leaves = take(args, kwargs)", "if leaves is None: return missed"]
    source.lines = lines


def _taking(source: _Source, form: Form, count: int) -> list[str]:
    """Return the lines for a plain tree with this many leaves."""
    marks = [Static(form.fixed[k]) if k in form.fixed else Dynamic(k, k in form.ints) for k in range(count)]
    args, kwargs = tree.unflatten(form.structure, marks)
    leaves: dict[int, str] = {}
    _take_parts(source, leaves, "args", args)
    _take_items(source, leaves, "kwargs", kwargs)
    found = "".join(f"{leaves[number]}, " for number in sorted(leaves))
    differing = "except (ValueError, AttributeError): return missed"  # another length, a field not set
    return ["try:", *(f"    {line}" for line in source.lines), differing, f"leaves = ({found})"]


def may_be_data(leaf: Any) -> bool:
    """Return whether a leaf is an int that programs take as data."""
    return type(leaf) is int and -LIMIT < leaf < LIMIT


def dynamic_leaves(form: Form, leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Return those of all leaves that are no static ones; ints as programs take them."""
    ints, fixed = form.ints, form.fixed
    return tuple([np.int64(leaf) if k in ints else leaf for k, leaf in enumerate(leaves) if k not in fixed])


def _by_flattening(form: Form) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...] | None]:
    """Return what `taker` returns, for any tree."""

    def take(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        leaves, structure = tree.flatten((args, kwargs))
        if structure != form.structure:
            return None
        if Form(structure, {k: leaves[k] for k in form.fixed}, form.ints) != form:
            return None
        if not all(may_be_data(leaves[k]) for k in form.ints):
            return None
        return dynamic_leaves(form, leaves)

    return take


def _are_same(found: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Return whether keys equal those of the recording, in order, though they are other objects."""
    return all(
        a is b or (type(a) is str and type(b) is str and a == b) or key_of(a) == key_of(b)
        for a, b in zip(found, wanted, strict=True)
    )


def _take(source: _Source, leaves: dict[int, str], name: str, branch: Any) -> None:
    """Generate code that flattens the tree of this name."""
    kind = type(branch)
    if kind is Dynamic:
        if branch.is_int:
            test = f"type({name}) is not int or not {-LIMIT} < {name} < {LIMIT}"
            source.lines += [f"if {test}: return missed", f"{name} = int64({name})"]
        leaves[branch.number] = name
    elif kind is Static:
        _compare(source, name, branch)
    elif branch is None:
        source.lines.append(f"if {name} is not None: return missed")
    else:
        source.lines.append(f"if type({name}) is not {source.bind(kind)}: return missed")
        if isinstance(branch, (tuple, list)):
            _take_parts(source, leaves, name, branch)
        elif isinstance(branch, dict):
            if isinstance(branch, defaultdict):
                _compare(source, f"{name}.default_factory", Static(branch.default_factory))
            _take_items(source, leaves, name, branch)
        else:
            _take_fields(source, leaves, name, branch)


def _take_parts(source: _Source, leaves: dict[int, str], name: str, parts: Sequence[Any]) -> None:
    """Generate code that flattens a sequence."""
    names = [source.name() for _ in parts]
    source.lines.append(f"{', '.join(names)}, = {name}" if parts else f"if {name}: return missed")
    for part_name, part in zip(names, parts, strict=True):
        _take(source, leaves, part_name, part)


def _take_items(source: _Source, leaves: dict[int, str], name: str, items: dict[Any, Any]) -> None:
    """Generate code that flattens a dict, whose keys must be identical or equal."""
    names = [source.name() for _ in items]
    known = [source.bind(key) for key in items]
    if not items:
        source.lines.append(f"if {name}: return missed")
        return
    found = f"{', '.join(names)},"
    differ = " or ".join(f"{key} is not {other}" for key, other in zip(names, known, strict=True))
    source.lines.append(f"{found} = {name}")
    source.lines.append(f"if ({differ}) and not are_same(({found}), ({', '.join(known)},)): return missed")
    for key, part in zip(names, items.values(), strict=True):
        value = source.name()
        source.lines.append(f"{value} = {name}[{key}]")
        _take(source, leaves, value, part)


def _take_fields(source: _Source, leaves: dict[int, str], name: str, instance: Any) -> None:
    """Generate code that flattens a dataclass."""
    branches, static = tree.fields_of(type(instance))
    if shadowed := tree.shadowable(type(instance)):
        source.lines.append(f"if not {source.bind(shadowed)}.isdisjoint({name}.__dict__): return missed")
    for field in static:
        _compare(source, f"{name}.{field}", Static(getattr(instance, field)))
    for field in branches:
        part = source.name()
        source.lines.append(f"{part} = {name}.{field}")
        _take(source, leaves, part, getattr(instance, field))


def _compare(source: _Source, name: str, static: Static) -> None:
    """Generate a check that something is this value."""
    value = static.value
    kind = type(value)
    known = source.bind(value)
    if kind in (int, str, bytes):
        test = f"{name} is not {known} and (type({name}) is not {kind.__name__} or {name} != {known})"
    elif value is None or kind is bool:
        test = f"{name} is not {known}"
    else:
        test = f"key_of({name}) != {source.bind(static.key)}"
        if is_stable(value):
            test = f"{name} is not {known} and {test}"
    source.lines.append(f"if {test}: return missed")


def runner(
    form: Form,
    names: Bindings,
    missed: Any,
    call: Callable[..., Any],
    otherwise: Callable[..., Any],
    pool: list[Any],
    arrays: int,
    results: Sequence[tuple[str, Any]],
    restore: Callable[[list[Any]], Any],
    shape: Any,
) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Return a function that flattens arguments, runs a program and builds its result.

    Parameters
    ----------
    form : Form
        The form of the arguments ``(args, kwargs)``.
    names : Bindings
        The names that the function reads, and their bindings.
    missed : Any
        Returned for arguments of another form, and if a name is bound to another object.
    call : callable
        The machine.
    otherwise : callable
        ``otherwise(workspace, leaves)`` is called if the machine stops, or with None if the pool is empty.
    pool : list
        Workspaces that are free.
    arrays : int
        Number of arrays in the result that the program computes.
    results : sequence of pairs
        The source of each leaf of the result: ``("array", k)``, ``("scalar", k)``, ``("leaf", k)`` or
        ``("constant", value)``.
    restore : callable
        Builds the result from a list of leaves, for any structure.
    shape : Any
        The result with a `Dynamic` for each leaf; None to use ``restore`` always.

    Returns
    -------
    callable
        ``run(args, kwargs)``.
    """
    source = _Source()
    _take_arguments(source, form, missed)
    _check_names(source, names)
    source.names |= {"call": call, "otherwise": otherwise, "pool": pool, "restore": restore}
    unpacked = "".join(f"o{k}, " for k in range(arrays))
    leaves = []
    for kind, k in results:
        leaves.append(
            {"array": f"o{k}", "scalar": f"scalars[{k}][()]", "leaf": f"leaves[{k}]"}.get(kind)
            or source.bind(k)
        )
    source.lines += [
        "try: workspace = pool.pop()",
        "except IndexError: return otherwise(None, leaves)",
        "outs = call(workspace.frame, leaves, workspace.ring)",
        "if outs is False: return otherwise(workspace, leaves)",
    ]
    if unpacked:
        source.lines.append(f"{unpacked}= outs")
    if any(kind == "scalar" for kind, _ in results):
        source.lines.append("scalars = workspace.scalars")
    before = len(source.lines)
    try:
        if shape is None:
            raise _NotPlain
        expression = _put(leaves, source, shape, _DEEPEST)
    except _NotPlain:
        del source.lines[before:]
        expression = f"restore([{', '.join(leaves)}])"
    source.lines += [f"result = {expression}", "pool.append(workspace)", "return result"]
    return source.function("args, kwargs")


def _check_names(source: _Source, names: Bindings) -> None:
    """Generate checks that names are bound as they were, before all else."""
    conditions = names.conditions(source.bind)
    if conditions:
        source.lines = [
            "try:",
            f"    if not ({' and '.join(conditions)}): return missed",
            "except (LookupError, AttributeError, ValueError, RuntimeError): return missed",
            *source.lines,
        ]


_DEEPEST = 50  # levels of parentheses: Python reads no more than 200


def _put(leaves: list[str], source: _Source, branch: Any, levels: int) -> str:
    """Return an expression that builds a tree, of dataclasses that lines before it make."""
    kind = type(branch)
    if kind is Dynamic:
        return leaves[branch.number]
    if branch is None:
        return "None"
    if levels == 0:
        raise _NotPlain
    if kind is tuple:
        return "(" + "".join(f"{_put(leaves, source, part, levels - 1)}, " for part in branch) + ")"
    if kind is list:
        return "[" + ", ".join(_put(leaves, source, part, levels - 1) for part in branch) + "]"
    if kind is dict:
        parts = [(source.bind(key), _put(leaves, source, part, levels - 1)) for key, part in branch.items()]
        return "{" + ", ".join(f"{key}: {part}" for key, part in parts) + "}"
    make = tree.maker(kind)
    if make is None:
        raise _NotPlain
    branches, static = tree.fields_of(kind)
    fields = {name: _put(leaves, source, getattr(branch, name), levels - 1) for name in branches}
    fields |= {name: source.bind(getattr(branch, name)) for name in static}
    assign: Any = kind.__setattr__
    if assign is not object.__setattr__:  # a frozen one, say
        return f"{source.bind(make)}({', '.join(f'{name}={value}' for name, value in fields.items())})"
    made, source.names["new"] = source.name(), object.__new__
    source.lines.append(f"{made} = new({source.bind(kind)})")
    source.lines += [f"{made}.{name} = {value}" for name, value in fields.items()]
    return made
