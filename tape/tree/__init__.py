"""Trees: nested dicts, lists, tuples, namedtuples, dataclasses and None, with arrays as their leaves.

For users are `map`, `flatten`, `unflatten`, `leaves`, `structure`, `all`, `reduce` and `ravel`, under the
names that they have in JAX. Vars, and everything else that is no container, are leaves.

Examples
--------
>>> import numpy as np, tape
>>> params = {"w": np.ones((2, 2)), "b": np.zeros(2)}
>>> gradient = tape.grad(lambda p: np.sum((p["w"] @ np.ones(2) + p["b"] - 1) ** 2))(params)
>>> tape.tree.map(lambda p, g: p - 0.1 * g, params, gradient)
{'w': array([[0.8, 0.8],
       [0.8, 0.8]]), 'b': array([-0.2, -0.2])}
"""

from tape.tree._maps import all, leaves, map, reduce, structure
from tape.tree._nested import (
    LEAF,
    describe,
    fields_of,
    flatten,
    flatten_up_to,
    is_plain,
    maker,
    names,
    settings,
    shadowable,
    size,
    spread,
    too_deep,
    unflatten,
)
from tape.tree._vectors import Layout, ravel

__all__ = [
    "LEAF",
    "Layout",
    "all",
    "describe",
    "fields_of",
    "flatten",
    "flatten_up_to",
    "is_plain",
    "leaves",
    "maker",
    "map",
    "names",
    "ravel",
    "reduce",
    "settings",
    "shadowable",
    "size",
    "spread",
    "structure",
    "too_deep",
    "unflatten",
]
