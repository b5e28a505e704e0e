"""The short way through trees: functions made for one structure, as fast as code written for it by hand.

`optree` handles any tree, and takes longer over a small one than a small program runs. For trees of plain
tuples, lists, dicts and None, which are nearly all, the code that takes one apart or puts one together is
written down once and then only called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Dynamic", "runner", "taker"]


class Dynamic:
    """Stands in a tree for a leaf that may be another one in every call; they are numbered."""

    def __init__(self, number: int) -> None:
        self.number = number


class _NotPlain(Exception):
    """There is something else in the tree."""


class _Source:
    """Lines of a function in the making, with the objects that they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}

    def bind(self, value: Any) -> str:
        """A name for an object."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def function(self, head: str) -> Callable[..., Any]:
        """What was written down."""
        body = "\n    ".join(self.lines)
        exec(f"def shortcut{head}:\n    {body}\n", self.names)
        return self.names["shortcut"]


def taker(args: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], tuple[Any, ...] | None] | None:
    """A function that takes arguments apart, if they are like these.

    Parameters
    ----------
    args : tuple
        A tree with a `Dynamic` for each dynamic leaf; other leaves must be equal, and of the same type.

    Returns
    -------
    callable or None
        ``take(args)``: the dynamic leaves in the order of their numbers, or None if the arguments differ.
        None if the tree has other branches than plain tuples, lists and dicts.

    Examples
    --------
    >>> from tape.program.shortcuts import Dynamic, taker
    >>> take = taker(({"a": Dynamic(1), "b": Dynamic(0)}, 3))
    >>> take(({"a": 10.0, "b": 20.0}, 3)), take(({"a": 10.0, "b": 20.0}, 4))
    ((20.0, 10.0), None)
    """
    source = _Source()
    leaves: dict[int, str] = {}
    try:
        _take(source, leaves, "args", args)
    except _NotPlain:
        return None
    is_flat = len(leaves) == len(args) and all(isinstance(arg, Dynamic) for arg in args)
    if is_flat and list(leaves) == sorted(leaves):
        return lambda given: given  # the machine checks how many there are
    found = "".join(f"{leaves[number]}, " for number in sorted(leaves))
    source.lines.append(f"return ({found})")
    return source.function("(args)")


def _take(source: _Source, leaves: dict[int, str], name: str, tree: Any) -> None:
    """Write down how to take apart the tree of this name."""
    kind = type(tree)
    if kind is Dynamic:
        leaves[tree.number] = name
        return
    if kind in (tuple, list):
        source.lines.append(
            f"if type({name}) is not {kind.__name__} or len({name}) != {len(tree)}: return None"
        )
        parts = [(f"{name}_{k}", part) for k, part in enumerate(tree)]
        if parts:
            source.lines.append("".join(f"{part}, " for part, _ in parts) + f"= {name}")
    elif kind is dict:
        source.lines.append(f"if type({name}) is not dict or len({name}) != {len(tree)}: return None")
        parts = []
        if tree:
            source.lines.append("try:")
        for k, (key, part) in enumerate(tree.items()):
            parts.append((f"{name}_{k}", part))
            source.lines.append(f"    {name}_{k} = {name}[{source.bind(key)}]")
        if tree:
            source.lines.append("except KeyError: return None")
    elif tree is None:
        source.lines.append(f"if {name} is not None: return None")
        return
    elif kind in (int, bool, str, bytes):
        source.lines.append(
            f"if type({name}) is not {kind.__name__} or {name} != {source.bind(tree)}: return None"
        )
        return
    else:
        raise _NotPlain
    for part_name, part in parts:
        _take(source, leaves, part_name, part)


def runner(
    call: Callable[..., Any],
    otherwise: Callable[..., Any],
    pool: list[Any],
    arrays: int,
    results: Sequence[tuple[str, Any]],
    restore: Callable[[list[Any]], Any],
    tree: Any,
) -> Callable[[tuple[Any, ...]], Any]:
    """A function that runs a program and puts its result together.

    Parameters
    ----------
    call : callable
        The way into the machine.
    otherwise : callable
        ``otherwise(workspace, leaves)``: what to do if the machine does not run through; with None if
        there is no workspace to be had.
    pool : list
        Of workspaces.
    arrays : int
        How many arrays the result has that the program computes.
    results : sequence of pairs
        Where each leaf of the result is: ``("array", k)``, ``("scalar", k)``, ``("leaf", k)`` or
        ``("constant", value)``.
    restore : callable
        Makes the result of a list of leaves, whatever its structure.
    tree : Any
        The result with a `Dynamic` for each leaf; None to use ``restore`` in any case.

    Returns
    -------
    callable
        ``run(leaves)``.
    """
    source = _Source()
    source.names |= {"call": call, "otherwise": otherwise, "pool": pool, "restore": restore}
    unpacked = "".join(f"o{k}, " for k in range(arrays))
    leaves = []
    for kind, k in results:
        leaves.append(
            {"array": f"o{k}", "scalar": f"scalars[{k}][()]", "leaf": f"leaves[{k}]"}.get(kind)
            or source.bind(k)
        )
    try:
        if tree is None:
            raise _NotPlain
        expression = _put(leaves, source, tree)
    except _NotPlain:
        expression = f"restore([{', '.join(leaves)}])"
    source.lines = [
        "try: workspace = pool.pop()",
        "except IndexError: return otherwise(None, leaves)",
        "outs = call(workspace.frame, leaves, workspace.ring)",
        "if outs is False: return otherwise(workspace, leaves)",
    ]
    if unpacked:
        source.lines.append(f"{unpacked}= outs")
    if any(kind == "scalar" for kind, _ in results):
        source.lines.append("scalars = workspace.scalars")
    source.lines += [f"result = {expression}", "pool.append(workspace)", "return result"]
    return source.function("(leaves)")


def _put(leaves: list[str], source: _Source, tree: Any) -> str:
    """The expression for a tree."""
    kind = type(tree)
    if kind is Dynamic:
        return leaves[tree.number]
    if kind is tuple:
        return "(" + "".join(f"{_put(leaves, source, part)}, " for part in tree) + ")"
    if kind is list:
        return "[" + ", ".join(_put(leaves, source, part) for part in tree) + "]"
    if kind is dict:
        items = (f"{source.bind(key)}: {_put(leaves, source, part)}" for key, part in tree.items())
        return "{" + ", ".join(items) + "}"
    if tree is None:
        return "None"
    raise _NotPlain
