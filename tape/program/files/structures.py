"""The trees of arguments and results as JSON.

Trees of dicts, lists, tuples and None can be saved, others cannot. A file may come from anywhere: all that is
read is checked.
"""

from __future__ import annotations

from typing import Any

from tape import tree
from tape.program.calls.calling import Calling
from tape.program.calls.statics import Form


class Damaged(Exception):
    """A flaw of a file; it becomes a ProgramFileError."""


def require(condition: Any, reason: str) -> None:
    """Raise `Damaged` unless a condition holds."""
    if not condition:
        raise Damaged(reason)


def list_of(value: Any, length: int | None = None) -> list[Any]:
    """Return a value that must be a list of this length."""
    require(type(value) is list and length in (None, len(value)), "a list is missing, or has another length")
    return value


def is_short(value: Any) -> bool:
    """Return whether a number can be saved: Python refuses to write integers of very many digits."""
    return type(value) is not int or value.bit_length() < 4096


def structures_of(calling: Calling) -> list[Any] | None:
    """Return the structures of arguments and result as JSON; None if they cannot be saved.

    Parameters
    ----------
    calling : Calling
        Any.

    Returns
    -------
    list or None
        Of lists, strings and numbers, for `calling_of`.
    """
    structure, fixed = calling.arguments.structure, calling.arguments.fixed
    if not all(type(value) in (bool, int, str) and is_short(value) for value in fixed.values()):
        return None
    count = tree.size(structure)
    marks = [["fixed", fixed[k]] if k in fixed else ["leaf"] for k in range(count)]
    try:
        arguments = _branch(tree.unflatten(structure, [_Mark(mark) for mark in marks]))
        count = tree.size(calling.result)
        result = _branch(tree.unflatten(calling.result, [_Mark(["leaf"]) for _ in range(count)]))
    except Damaged:
        return None
    return [arguments, result]


class _Mark:
    """A leaf of a tree that is saved."""

    def __init__(self, mark: list[Any]) -> None:
        self.mark = mark


def _branch(branch: Any) -> list[Any]:
    """Return a tree as nested lists, each with its kind."""
    kind = type(branch)
    if kind is _Mark:
        return branch.mark
    if branch is None:
        return ["none"]
    if kind in (list, tuple):
        return [kind.__name__, [_branch(part) for part in branch]]
    if kind is dict and all(type(key) in (str, int) and is_short(key) for key in branch):
        return ["dict", [[key, _branch(part)] for key, part in branch.items()]]
    raise Damaged


def calling_of(
    trees: Any, leaves: int, results: int, weak: tuple[int, ...], ints: frozenset[int] = frozenset()
) -> Calling:
    """Return the `Calling` of a program with these structures.

    Parameters
    ----------
    trees : Any
        What `structures_of` has returned, or anything else.
    leaves, results : int
        Number of dynamic leaves of the arguments, and of leaves of the result.
    weak : tuple of int
        The leaves of the result that are Python numbers.
    ints : frozenset of int
        The dynamic leaves that are ints of Python.

    Returns
    -------
    Calling

    Raises
    ------
    Damaged
        If they are malformed, or have another number of leaves.

    Examples
    --------
    >>> from tape import tree
    >>> from tape.program.calls.calling import Calling
    >>> from tape.program.calls.statics import Form
    >>> from tape.program.files.structures import calling_of, structures_of
    >>> form = Form(tree.flatten(((1.0, {"n": 3}), {}))[1], {1: 3})
    >>> calling = Calling(form, tree.flatten([1.0])[1], ())
    >>> structures_of(calling)[0]
    ['tuple', [['tuple', [['leaf'], ['dict', [['n', ['fixed', 3]]]]]], ['dict', []]]]
    >>> calling_of(structures_of(calling), 1, 1, ()) == calling
    True
    """
    if trees is None:
        result = tree.flatten([0.0] * results)[1]
        return Calling.of_leaves(leaves, result, weak, ints)
    arguments, result = list_of(trees, 2)
    marks, structure = tree.flatten(_tree(arguments))
    require(all(type(mark) is _Mark for mark in marks), "the tree of the arguments is malformed")
    fixed = {k: mark.mark[1] for k, mark in enumerate(marks) if mark.mark[0] == "fixed"}
    count = len(marks)
    require(count - len(fixed) == leaves, "the arguments have another number of leaves")
    example = tree.unflatten(structure, marks)
    is_call = type(example) is tuple and [type(part) for part in example] == [tuple, dict]
    require(is_call and all(type(key) is str for key in example[1]), "the arguments are not those of a call")
    marks, shape = tree.flatten(_tree(result))
    require(
        all(mark.mark == ["leaf"] for mark in marks) and len(marks) == results,
        "the tree of the result is malformed",
    )
    dynamic = [k for k in range(count) if k not in fixed]
    places = frozenset([k for number, k in enumerate(dynamic) if number in ints])
    return Calling(Form(structure, fixed, places), shape, weak)


def _tree(branch: Any) -> Any:
    """Return a tree with a mark for each leaf."""
    kind, *rest = list_of(branch)
    if kind == "leaf":
        list_of(rest, 0)
        return _Mark(["leaf"])
    if kind == "none":
        return list_of(rest, 0) or None
    list_of(rest, 1)
    if kind == "fixed":
        require(type(rest[0]) in (bool, int, str), "an argument has no such type")
        return _Mark(branch)
    parts = list_of(rest[0])
    if kind == "list":
        return [_tree(part) for part in parts]
    if kind == "tuple":
        return tuple([_tree(part) for part in parts])
    require(kind == "dict", "a branch has no such kind")
    found = {}
    for part in parts:
        key, value = list_of(part, 2)
        require(type(key) in (str, int) and key not in found, "a key is malformed, or there twice")
        found[key] = _tree(value)
    return found
