"""``flatten``: `tape.tree.ravel` under autograd's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tape import tree

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return all numbers of nested containers in a vector, and the function that goes back.

    See `tape.tree.ravel`.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd.misc import flatten
    >>> vector, unflatten = flatten({"w": np.ones((1, 2)), "b": 3.0})
    >>> unflatten(vector + 1)
    {'w': array([[2., 2.]]), 'b': np.float64(4.0)}
    """
    return tree.ravel(value)


def flatten_func(
    func: Callable[..., Any], example: Any
) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """Return a function of vectors, the function from vectors to containers, and the example as a vector.

    Parameters
    ----------
    func : callable
        ``func(value, *args)`` returns nested containers.
    example : tree
        One value.

    Returns
    -------
    tuple
        ``(of_vectors, unflatten, vector)``.

    Examples
    --------
    >>> from tape.compat.autograd.misc.flatten import flatten_func
    >>> of_vectors, unflatten, vector = flatten_func(lambda p: [p["a"], 2 * p["b"]], {"a": 1.0, "b": 3.0})
    >>> of_vectors(vector)
    array([1., 6.])
    """
    vector, unflatten = flatten(example)

    def of_vectors(vector: Any, *args: Any) -> Any:
        return flatten(func(unflatten(vector), *args))[0]

    return of_vectors, unflatten, vector
