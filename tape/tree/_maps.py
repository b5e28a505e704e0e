"""Functions of the leaves of a tree, one by one or one after the other."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

from tape import errors
from tape.tree._nested import describe, flatten, flatten_up_to, unflatten


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree.

    Examples
    --------
    >>> import tape
    >>> tape.tree.leaves({"w": [1.0, 2.0], "b": 3.0, "none": None})
    [3.0, 1.0, 2.0]
    """
    return flatten(tree)[0]


def structure(tree: Any) -> Any:
    """Return the structure of a tree, which compares equal for trees alike.

    Examples
    --------
    >>> import tape
    >>> tape.tree.structure({"w": 1.0, "b": 2.0}) == tape.tree.structure({"b": "x", "w": "y"})
    True
    """
    return flatten(tree)[1]


def map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Return the tree with a function applied to every leaf.

    Parameters
    ----------
    function : callable
        It takes a leaf, and what stands at its place in each of the other trees.
    tree : tree
        The tree whose leaves are replaced.
    *rest : tree
        Trees of the same structure, or with whole trees in place of leaves.

    Returns
    -------
    tree
        Of the structure of ``tree``.

    Raises
    ------
    ShapeError
        If another tree does not have the structure of the first one.

    Examples
    --------
    >>> import tape
    >>> params, gradient = {"w": [1.0, 2.0], "b": 3.0}, {"w": [10.0, 20.0], "b": 30.0}
    >>> tape.tree.map(lambda p, g: p - 0.1 * g, params, gradient)
    {'w': [0.0, 0.0], 'b': 0.0}
    """
    leaves, structure = flatten(tree)
    if not rest:
        return unflatten(structure, [function(leaf) for leaf in leaves])
    columns = [leaves]
    for i, other in enumerate(rest, 1):
        try:
            columns.append(flatten_up_to(structure, other))
        except ValueError as error:
            raise errors.ShapeError(
                f"tree.map: tree {i} is not like the first one, {describe(structure)}: {error}. "
                "Give all trees one structure"
            ) from error
    return unflatten(structure, [function(*row) for row in zip(*columns, strict=True)])


def reduce(function: Callable[[Any, Any], Any], tree: Any, *initializer: Any) -> Any:
    """Combine the leaves of a tree by a function of two, as `functools.reduce` does.

    Parameters
    ----------
    function : callable
        It takes the result so far and a leaf.
    tree : tree
        The leaves to combine, in the order of `leaves`.
    initializer : optional
        The first result. By default the first leaf.

    Returns
    -------
    object

    Raises
    ------
    ShapeError
        If there are no leaves, and no initializer.

    Examples
    --------
    >>> import numpy as np, tape
    >>> float(tape.tree.reduce(lambda total, leaf: total + np.sum(leaf**2), {"w": np.ones(3), "b": 2.0}, 0.0))
    7.0
    """
    found = flatten(tree)[0]
    if not found and not initializer:
        raise errors.ShapeError("tree.reduce: a tree without leaves. Pass an initializer, the result for it")
    return functools.reduce(function, found, *initializer)


def all(tree: Any) -> bool:
    """Return whether all leaves of a tree are true.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.tree.all(tape.tree.map(np.allclose, {"w": np.ones(2)}, {"w": np.array([1.0, 1.0])}))
    True
    """
    return builtins.all(flatten(tree)[0])
