"""The trees of arguments and results as JSON.

Trees of dicts, lists, tuples and None can be saved, others cannot. A file may come from anywhere: all that is
read is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors, tree
from tape.core.bit_states import set_state, state_size
from tape.core.streams import Source
from tape.program.calls.calling import Calling, Leaf
from tape.program.calls.generators import STATES, Argument, Generators, argument, arguments_of
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


def structures_of(calling: Calling, generators: int = 0) -> list[Any] | None:
    """Return the structures of arguments and result as JSON; None if they cannot be saved.

    Parameters
    ----------
    calling : Calling
        Any.
    generators : int
        Number of generators whose states are among the arguments. Structures that cannot be saved are
        replaced by those of positional arguments, dynamic leaves before generators, and of a list of results.

    Returns
    -------
    list or None
        Of lists, strings and numbers, for `calling_of`.
    """
    structure, fixed = calling.arguments.structure, calling.arguments.fixed
    if not all(map(_is_saved, fixed.values())):
        return _of_leaves(calling, generators)
    marks = [_mark_of(fixed[k]) if k in fixed else ["leaf"] for k in range(tree.size(structure))]
    try:
        arguments = _branch(tree.unflatten(structure, [_Mark(mark) for mark in marks]))
        count = tree.size(calling.result)
        result = _branch(tree.unflatten(calling.result, [_Mark(["leaf"]) for _ in range(count)]))
    except Damaged:
        return _of_leaves(calling, generators)
    return [arguments, result]


def _is_saved(value: Any) -> bool:
    return isinstance(value, Argument) or (type(value) in (bool, int, str) and is_short(value))


def _mark_of(fixed: Any) -> list[Any]:
    return ["generator", fixed.number] if isinstance(fixed, Argument) else ["fixed", fixed]


def _of_leaves(calling: Calling, generators: int) -> list[Any] | None:
    """Return the structures of a function of leaves, and of generators if there are any."""
    if not generators:
        return None
    structure, fixed = calling.arguments.structure, calling.arguments.fixed
    order = tree.unflatten(structure, range(tree.size(structure)))[1][STATES]
    count = tree.size(structure) - len(fixed) - generators
    if any(k not in fixed for k in range(order[-1] + 1, tree.size(structure))):
        raise errors.UnsupportedError(
            "a program that draws has keyword arguments behind its generators, in trees that files cannot "
            "hold. Pass arguments by position"
        )
    given = [["generator", number] for number in arguments_of(fixed)]
    states = ["tuple", [["leaf"]] * generators]
    arguments = [["tuple", [*[["leaf"]] * count, *given]], ["dict", [[STATES, states]]]]
    out = ["list", [["leaf"]] * (tree.size(calling.result) - generators)]
    return [["tuple", arguments], ["tuple", [out, states]]]


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
    trees: Any,
    leaves: int,
    results: int,
    weak: tuple[int, ...],
    ints: frozenset[int] = frozenset(),
    kinds: Sequence[str] = (),
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
    kinds : sequence of str
        The types of the bit generators of all generators.

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
    fixed = {k: _fixed(mark.mark, kinds) for k, mark in enumerate(marks) if mark.mark[0] != "leaf"}
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


def _fixed(mark: list[Any], kinds: Sequence[str]) -> Any:
    """Return what a static leaf is in every call."""
    kind, value = mark
    require(kind == "fixed" or value < len(kinds), "there is no such generator")
    return value if kind == "fixed" else argument(value, kinds[value], Source, False)


def generators_of(
    calling: Calling, kinds: Sequence[str], states: Sequence[np.ndarray | None], leaves: Sequence[Leaf]
) -> Generators | None:
    """Return the generators of a program from a file; raise `Damaged` unless arguments and result have them.

    Parameters
    ----------
    calling : Calling
        The structures of arguments and result.
    kinds, states : sequence
        The type of each bit generator, and its state if it is not an argument.
    leaves : sequence of Leaf
        The types of the dynamic leaves.
    """
    form = calling.arguments
    given = list(arguments_of(form.fixed))
    if not kinds:
        return None
    count = tree.size(form.structure)
    places = tree.unflatten(form.structure, range(count))[1].get(STATES)
    is_tuple = type(places) is tuple and len(places) == len(kinds) and all(type(k) is int for k in places)
    require(is_tuple and not any(k in form.fixed for k in places), "the states of generators are missing")
    dynamic = [k for k in range(count) if k not in form.fixed]
    wanted = [Leaf(np.ndarray, (state_size(kind),), np.dtype(np.int64)) for kind in kinds]
    found = [leaves[dynamic.index(k)] for k in places]
    require(found == wanted, "the state of a generator has another type than its leaf")
    result = tree.unflatten(calling.result, range(tree.size(calling.result)))
    is_pair = type(result) is tuple and len(result) == 2 and type(result[1]) is tuple
    require(is_pair and len(result[1]) == len(kinds), "the result has no states of generators")
    numbers = [number for number, state in enumerate(states) if state is None]
    require(sorted(given) == numbers, "a generator is neither an argument nor has it a state")
    return Generators(
        kinds,
        [None if s is None else _bits(kind, s) for kind, s in zip(kinds, states, strict=True)],
        given,
        is_any_type=True,
    )


def _bits(kind: str, state: np.ndarray) -> Any:
    """Return a bit generator in this state."""
    made = getattr(np.random, kind)(0)
    set_state(made, state)  # raises for what is no state
    return made


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
    if kind == "generator":
        require(type(rest[0]) is int and rest[0] >= 0, "a generator has no number")
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
