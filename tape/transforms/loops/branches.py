"""`cond` and `switch`: code that runs as a number decides."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.core.nesting import batch_below
from tape.core.node import Handle
from tape.core.numpy_protocol import note_options
from tape.core.operands import lifted
from tape.interpreters.choosing import holds_for_some, of_some
from tape.transforms._record import check_callable, copied
from tape.transforms._returned import several_as_tuples
from tape.transforms.loops.carry import dtype_of


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Return ``true_fun(*operands)`` if a number is true, else ``false_fun(*operands)``.

    Only that function runs. In a compiled function the outcome is a guard, and each branch a path of its own,
    as with Python's ``if``. In a batch (`tape.vmap`) each function runs for the elements that it is for.

    Parameters
    ----------
    pred : bool, number or Var of shape ()
        What decides.
    true_fun, false_fun : callable
        Plain NumPy code.
    *operands : tree
        Their arguments.

    Returns
    -------
    Any
        What the function returns.

    Raises
    ------
    ShapeError, DTypeError
        If, in a batch, results of the two functions differ in structure, shapes or dtypes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> safe_log = lambda x: tape.cond(x > 0, np.log, lambda x: 0.0 * x, x)
    >>> tape.grad(safe_log)(2.0), tape.grad(safe_log)(-2.0)
    (np.float64(0.5), np.float64(0.0))
    >>> tape.vmap(tape.grad(safe_log))(np.array([2.0, -2.0, 0.0]))
    array([0.5, 0. , 0. ])
    """
    check_callable(true_fun, "cond")
    check_callable(false_fun, "cond")
    pred = lifted(pred)
    note_options(pred)
    if batch_below(pred) is not None:
        return _of_batch("cond", ops.not_equal(pred, 0), [(False, false_fun), (True, true_fun)], operands)
    return _called(true_fun if pred else false_fun, operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Return the result of one of several functions; an index out of range means the first or the last.

    Only that function runs. In a compiled function the index is a guard, and each branch a path of its own.
    In a batch (`tape.vmap`) each function runs for the elements that it is for.

    Parameters
    ----------
    index : int, or integer Var of shape ()
        Which function.
    branches : sequence of callable
        Plain NumPy code.
    *operands : tree
        Their arguments.

    Returns
    -------
    Any
        What the function returns.

    Raises
    ------
    ShapeError, DTypeError
        If, in a batch, results of the functions differ in structure, shapes or dtypes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.switch(1, [np.sin, np.exp, np.log], 0.0)
    np.float64(1.0)
    """
    for branch in branches:
        check_callable(branch, "switch")
    index = lifted(index)
    note_options(index)
    if batch_below(index) is not None:
        nearest = ops.clip(index, 0, len(branches) - 1)
        return _of_batch("switch", nearest, list(enumerate(branches)), operands)
    chosen = branches[min(max(operator.index(index), 0), len(branches) - 1)]
    return _called(chosen, operands)


def _called(branch: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Return the result of a function that may write to its arguments; what is plain in it is copied."""
    given = tree.map(lambda leaf: leaf.again() if isinstance(leaf, Handle) else leaf, tuple(operands))
    out = several_as_tuples(branch(*copied(given)))
    return tree.map(lambda leaf: np.array(leaf, order="C") if type(leaf) is np.ndarray else leaf, out)


def _of_batch(
    name: str, key: Any, branches: Sequence[tuple[Any, Callable[..., Any]]], operands: Sequence[Any]
) -> Any:
    """Return the results of the functions for those elements of a batch that have their key."""
    leaves: list[Any] = []
    structure: Any = None
    for value, branch in branches:
        is_chosen = ops.equal(key, value)
        if not holds_for_some(is_chosen):
            continue
        found, found_structure = tree.flatten(several_as_tuples(of_some(is_chosen, branch, *operands)))
        if structure is None:
            leaves, structure = found, found_structure
            continue
        if found_structure != structure:
            raise errors.ShapeError(
                f"{name}: in a batch, one function returns {tree.describe(structure)}, and another "
                f"{tree.describe(found_structure)}. Let them return the same structure"
            )
        leaves = [_either(name, is_chosen, *pair) for pair in zip(found, leaves, strict=True)]
    if structure is None:  # of an empty batch
        return branches[0][1](*operands)
    return tree.unflatten(structure, leaves)


def _either(name: str, is_chosen: Any, new: Any, old: Any) -> Any:
    """Return one leaf for some elements, and another for all others."""
    if np.shape(new) != np.shape(old) or dtype_of(new) != dtype_of(old):
        raise (errors.ShapeError if np.shape(new) != np.shape(old) else errors.DTypeError)(
            f"{name}: in a batch, one function returns {errors.describe(old)}, and another "
            f"{errors.describe(new)}. Let them return the same shape and dtype"
        )
    return ops.where(is_chosen, new, old)
