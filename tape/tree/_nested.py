"""Trees taken apart and put together, and their structures.

`optree` does the work, and is imported for the first tree; a lone array, by far the most frequent tree, does
not need it. Dataclasses are registered on first use: their fields are branches, except those declared with
``field(metadata={"static": True})``, which are part of the structure.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from inspect import getattr_static
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle

_NAMESPACE = "tape"

LEAF: Any = "*"
"""The structure of a lone leaf."""

_PLAIN = frozenset({np.ndarray, float, int, bool, np.float64, np.float32})


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a tree, and its structure.

    Parameters
    ----------
    tree : Any
        Anything but a dict, list, tuple, namedtuple, dataclass or None is a leaf.

    Returns
    -------
    leaves : list
        The leaves in the order of fields and indices; those of dicts by sorted keys.
    structure
        The argument of `unflatten`. Equal for trees of the same structure, with dicts in any order.

    Raises
    ------
    UnsupportedError
        If the tree has too many levels.

    Examples
    --------
    >>> from tape import tree
    >>> leaves, structure = tree.flatten({"w": [1.0, 2.0], "b": 3.0, "none": None})
    >>> leaves
    [3.0, 1.0, 2.0]
    >>> tree.unflatten(structure, [30, 10, 20])
    {'w': [10, 20], 'b': 30, 'none': None}
    """
    if type(tree) in _PLAIN or isinstance(tree, Handle):
        return [tree], LEAF
    import optree  # here, since its import takes a tenth of that of all others

    try:
        leaves, structure = optree.tree_flatten(tree, namespace=_NAMESPACE)
    except RecursionError:
        raise too_deep() from None
    unknown = {type(leaf) for leaf in leaves if type(leaf) not in _PLAIN and _is_dataclass(leaf)}
    if unknown:
        for kind in unknown:
            _register(optree, kind)
        return flatten(tree)
    return leaves, LEAF if structure.is_leaf() else structure


def too_deep() -> errors.UnsupportedError:
    """Return the error for a tree of too many levels."""
    return errors.UnsupportedError(
        "a tree is nested more deeply than Python's recursion limit. Use fewer levels of longer lists"
    )


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """Return the tree of a structure with these leaves.

    Parameters
    ----------
    structure
        A result of `flatten` or `structure`.
    leaves : sequence
        As many as the structure has.

    Returns
    -------
    tree

    Raises
    ------
    ShapeError
        If there are more or fewer leaves.

    Examples
    --------
    >>> import tape
    >>> tape.tree.unflatten(tape.tree.structure({"w": 0, "b": (0, 0)}), "abc")
    {'w': 'c', 'b': ('a', 'b')}
    """
    if structure is LEAF:
        if len(leaves) == 1:
            return leaves[0]
    elif len(leaves) == structure.num_leaves:
        return structure.unflatten(leaves)
    raise errors.ShapeError(
        f"tree.unflatten: {len(leaves)} leaves for a tree of {size(structure)}, {describe(structure)}. "
        "Pass one for each"
    )


def flatten_up_to(structure: Any, tree: Any) -> list[Any]:
    """Return the subtrees at the leaves of a structure; any of them may be None.

    Raises
    ------
    ValueError
        If the tree does not have that structure.
    """
    return [tree] if structure is LEAF else structure.flatten_up_to(tree)


def spread(prefix: Any, tree: Any) -> list[Any]:
    """Return for each leaf of a tree that leaf of another one that stands at its place, or above it.

    Parameters
    ----------
    prefix : tree
        The upper part of a tree; None is a leaf of it.
    tree : tree
        The whole one.

    Raises
    ------
    ValueError
        If the two are different trees.

    Examples
    --------
    >>> from tape import tree
    >>> tree.spread({"x": 0, "y": None}, {"x": [1.0, 2.0], "y": 3.0})
    [0, 0, None]
    """
    import optree

    leaves, _ = flatten(tree)  # which registers dataclasses
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(leaves)
    flatten(prefix)
    tops, structure = optree.tree_flatten(prefix, none_is_leaf=True, namespace=_NAMESPACE)
    parts = structure.flatten_up_to(tree)
    return [top for top, part in zip(tops, parts, strict=True) for _ in flatten(part)[0]]


def size(structure: Any) -> int:
    """Return the number of leaves of a structure."""
    return 1 if structure is LEAF else structure.num_leaves


def names(structure: Any, root: str) -> list[str]:
    """Return a name for each leaf: ``root['w'][0]`` and so on."""
    if structure is LEAF:
        return [root]
    return [accessor.codify(root) for accessor in structure.accessors()]


def describe(structure: Any) -> str:
    """Describe a structure for messages, without the prefixes of `optree`."""
    if structure is LEAF:
        return "one array"
    text = str(structure).removeprefix("PyTreeSpec(").removesuffix(")")
    return text.replace(f", namespace={_NAMESPACE!r}", "")


def is_plain(structure: Any) -> bool:
    """Return whether all branches are tuples, lists, dicts, those of `collections`, dataclasses or None."""
    return structure is LEAF or structure.walk(range(structure.num_leaves), _are_plain, lambda _: True)


def _are_plain(kind: type, _: Any, parts: tuple[bool, ...]) -> bool:
    is_namedtuple = issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__iter__ is tuple.__iter__
    return all(parts) and (kind in _BRANCHES or kind in _registered or is_namedtuple)


def settings(structure: Any) -> list[Any]:
    """Return what the dataclasses in a structure hold besides leaves: their classes and static fields.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> from tape import tree
    >>> @dataclass
    ... class Scaled:
    ...     by: float
    ...     unit: str = field(metadata={"static": True})
    >>> tree.settings(tree.structure([1.0, Scaled(2.0, "m")]))[1:]
    ['m']
    """
    found: list[Any] = []
    if structure is not LEAF:
        structure.walk(
            range(structure.num_leaves),
            lambda kind, data, parts: found.extend((kind, *data)) if type(data) is _Static else None,
            lambda leaf: None,
        )
    return found


_BRANCHES = frozenset({tuple, list, dict, OrderedDict, defaultdict, type(None)})


def fields_of(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the fields of a dataclass that are branches, and of those that are static."""
    fields = dataclasses.fields(kind)
    static = tuple(f.name for f in fields if f.metadata.get("static"))
    return tuple(f.name for f in fields if f.name not in static), static


def shadowable(kind: type) -> frozenset[str]:
    """Return the attributes of a dataclass that are no fields, of which an instance may have other values.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from tape import tree
    >>> @dataclass
    ... class Net:
    ...     w: float
    ...     training = True  # without a type, and so no field
    >>> tree.shadowable(Net)
    frozenset({'training'})
    """
    known = {field.name for field in dataclasses.fields(kind)}
    held = [item for base in kind.__mro__[:-1] for item in vars(base).items() if kind.__dictoffset__]
    plain = [name for name, value in held if name not in known and not hasattr(value, "__get__")]
    return frozenset(name for name in plain if not name.startswith("__"))


def _hidden(instance: Any, names: frozenset[str]) -> errors.UnsupportedError:
    found = next(name for name in vars(instance) if name in names)
    return errors.UnsupportedError(
        f"a {type(instance).__qualname__} has an attribute {found!r} that is no field, where its class has "
        "another value: trees are put together of fields alone. Declare it with a type, as a field: with "
        'field(metadata={"static": True}) it is part of the structure'
    )


def _is_dataclass(leaf: Any) -> bool:
    return dataclasses.is_dataclass(leaf) and not isinstance(leaf, type)


_lock = threading.Lock()
_registered: dict[type, Callable[..., Any]] = {}


def maker(kind: type) -> Callable[..., Any] | None:
    """Return what makes an instance of a dataclass from its fields, by name; None for any other class.

    Not ``__init__``, which may convert leaves that are not arrays. The class must have been in a tree.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from tape import tree
    >>> @dataclass
    ... class Point:
    ...     x: float
    ...     y: float
    >>> _ = tree.structure(Point(0.0, 0.0))
    >>> tree.maker(Point)(x=1.0, y=2.0)
    Point(x=1.0, y=2.0)
    """
    return _registered.get(kind)


def _make_maker(kind: type, names: tuple[str, ...]) -> Callable[..., Any]:
    new, put = object.__new__, object.__setattr__  # a frozen class has another __setattr__
    if any(hasattr(type(getattr_static(kind, name, None)), "__set__") for name in names):  # slots

        def make(**fields: Any) -> Any:
            instance: Any = new(kind)
            for name, value in fields.items():
                put(instance, name, value)
            return instance
    else:

        def make(**fields: Any) -> Any:
            instance: Any = new(kind)
            put(instance, "__dict__", fields)
            return instance

    return make


def _register(optree: Any, kind: type) -> None:
    """Register the fields of a dataclass as branches, once."""
    branches, static = fields_of(kind)
    names = (*branches, *static)
    for name in names:
        if isinstance(getattr_static(kind, name, None), property):
            raise errors.UnsupportedError(
                f"the field {name!r} of {kind.__qualname__} is a property, whose setter would run again for "
                "each tree that is put together. Make the property another name for a field"
            )
    make = _make_maker(kind, names)

    shadowed = shadowable(kind)

    def take_apart(instance: Any) -> Any:
        if shadowed and not shadowed.isdisjoint(getattr(instance, "__dict__", ())):
            raise _hidden(instance, shadowed)
        children = [getattr(instance, name) for name in branches]
        return children, _Static([getattr(instance, name) for name in static]), branches

    def put_together(rest: Any, children: Any) -> Any:
        return make(**dict(zip(names, (*children, *rest), strict=True)))

    with _lock:
        if kind not in _registered:
            optree.register_pytree_node(
                kind,
                take_apart,
                put_together,
                path_entry_type=optree.DataclassEntry,
                namespace=_NAMESPACE,
            )
            _registered[kind] = make


class _Static(tuple):
    """The static fields of a dataclass: equal if each is, arrays by their elements."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and len(self) == len(other) and all(map(_equal, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return len(self)


def _equal(a: Any, b: Any) -> bool:
    if a is b or type(a) is not type(b):
        return a is b
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)
