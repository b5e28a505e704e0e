"""Structures of arguments and results as JSON: what a file says about how its program is called.

Trees of dicts, lists, tuples and None can be written down, others cannot. What is read is whatever somebody
has written: it is checked.
"""

from __future__ import annotations

from typing import Any

from tape import tree
from tape.program.calls.calling import Calling
from tape.program.calls.statics import Form

__all__ = ["Damaged", "calling_of", "is_short", "list_of", "want", "written"]


class Damaged(Exception):
    """What is wrong with a file."""


def want(is_so: Any, why: str) -> None:
    """Go on if a claim holds.

    Raises
    ------
    Damaged
        If it does not.
    """
    if not is_so:
        raise Damaged(why)


def list_of(value: Any, length: int | None = None) -> list[Any]:
    """A value, if it is a list of this length."""
    want(type(value) is list and length in (None, len(value)), "a list in it is none")
    return value


def is_short(value: Any) -> bool:
    """Whether JSON takes it; Python refuses to write integers of very many digits."""
    return type(value) is not int or value.bit_length() < 4096


def written(calling: Calling) -> list[Any] | None:
    """The structures of arguments and result; None if they cannot be written down.

    Parameters
    ----------
    calling : Calling
        Of any function.

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
        arguments = _branch(tree.restore(structure, [_Mark(mark) for mark in marks]))
        count = tree.size(calling.result)
        result = _branch(tree.restore(calling.result, [_Mark(["leaf"]) for _ in range(count)]))
    except Damaged:
        return None
    return [arguments, result]


class _Mark:
    """Stands in a tree for a leaf."""

    def __init__(self, mark: list[Any]) -> None:
        self.mark = mark


def _branch(branch: Any) -> list[Any]:
    """A tree in lists that say what they are."""
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


def calling_of(trees: Any, leaves: int, results: int, weak: tuple[int, ...]) -> Calling:
    """How a program is called whose structures are these.

    Parameters
    ----------
    trees : Any
        What `written` has returned, or anything else.
    leaves, results : int
        How many dynamic leaves the arguments have, and how many leaves the result.
    weak : tuple of int
        The leaves of the result that are Python floats.

    Returns
    -------
    Calling

    Raises
    ------
    Damaged
        If the structures are none, or of another number of leaves.

    Examples
    --------
    >>> from tape import tree
    >>> from tape.program.calls.calling import Calling
    >>> from tape.program.calls.statics import Form
    >>> from tape.program.files.structures import calling_of, written
    >>> form = Form(tree.flatten(((1.0, {"n": 3}), {}))[1], {1: 3})
    >>> calling = Calling(form, tree.flatten([1.0])[1], ())
    >>> written(calling)[0]
    ['tuple', [['tuple', [['leaf'], ['dict', [['n', ['fixed', 3]]]]]], ['dict', []]]]
    >>> calling_of(written(calling), 1, 1, ()) == calling
    True
    """
    if trees is None:
        result = tree.flatten([0.0] * results)[1]
        return Calling.of_leaves(leaves, result, weak)
    arguments, result = list_of(trees, 2)
    marks, structure = tree.flatten(_tree(arguments))
    want(all(type(mark) is _Mark for mark in marks), "the tree of its arguments is none")
    fixed = {k: mark.mark[1] for k, mark in enumerate(marks) if mark.mark[0] == "fixed"}
    want(len(marks) - len(fixed) == leaves, "its arguments have another number of leaves")
    example = tree.restore(structure, marks)
    is_call = type(example) is tuple and [type(part) for part in example] == [tuple, dict]
    want(is_call and all(type(key) is str for key in example[1]), "its arguments are none")
    marks, shape = tree.flatten(_tree(result))
    want(all(mark.mark == ["leaf"] for mark in marks) and len(marks) == results, "its result is none")
    return Calling(Form(structure, fixed), shape, weak)


def _tree(branch: Any) -> Any:
    """A tree with a mark for each leaf."""
    kind, *rest = list_of(branch)
    if kind == "leaf":
        list_of(rest, 0)
        return _Mark(["leaf"])
    if kind == "none":
        return list_of(rest, 0) or None
    list_of(rest, 1)
    if kind == "fixed":
        want(type(rest[0]) in (bool, int, str), "an argument in it is none")
        return _Mark(branch)
    parts = list_of(rest[0])
    if kind == "list":
        return [_tree(part) for part in parts]
    if kind == "tuple":
        return tuple([_tree(part) for part in parts])
    want(kind == "dict", "there is no such branch")
    found = {}
    for part in parts:
        key, value = list_of(part, 2)
        want(type(key) in (str, int) and key not in found, "a key in it is none")
        found[key] = _tree(value)
    return found
