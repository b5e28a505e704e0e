"""`broadcast`, `gather` and `mean`: trees from one rank to all, and from all ranks to each."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np

from tape import errors, tree
from tape.core.node import Handle
from tape.distributed._agreement import raise_layouts
from tape.distributed._layout import Layout
from tape.distributed._sums import sum_over_ranks
from tape.distributed._world import World, world

_PIECE = 1 << 30
"""Bytes in a message: MPI counts them up to 2**31."""


def broadcast(value: Any, root: int = 0) -> Any:
    """Return the value of one rank, on all ranks.

    Parameters
    ----------
    value : tree
        On the root: arrays, and anything else that can be pickled, such as optimizers and generators of
        random numbers. On other ranks it is not used, and may be None.
    root : int
        The rank whose value it is.

    Returns
    -------
    tree
        On the root ``value`` itself, on other ranks a copy.

    Raises
    ------
    OptionError
        If there is no such rank.
    RankError
        If another rank has failed, does something else, or names another root.

    Examples
    --------
    >>> import numpy as np, tape.distributed
    >>> params = {"w": np.ones(2)} if tape.distributed.is_root() else None
    >>> tape.distributed.broadcast(params)
    {'w': array([1., 1.])}
    """
    ranks = world()
    if not 0 <= root < ranks.size:
        raise errors.OptionError(f"root is {root}. There are {ranks.size} ranks, counted from 0")
    headers = ranks.enter("broadcast", root)
    if np.any(headers["digest"] != root):
        raise ranks.failures.on_all(
            errors.RankError(
                f"the ranks name different roots: {headers['digest'].tolist()}. Pass the same one on all"
            )
        )
    if ranks.size == 1:
        return value
    if ranks.rank == root:
        try:
            leaves, structure = tree.flatten(value)
            arrays = [np.ascontiguousarray(leaf) if _is_plain_array(leaf) else None for leaf in leaves]
            frame = [
                leaf if array is None else _Absent(leaf.shape, leaf.dtype)
                for leaf, array in zip(leaves, arrays, strict=True)
            ]
            text = pickle.dumps(tree.unflatten(structure, frame), protocol=5)
        except Exception as error:
            ranks.failures.fail(error)
            raise
        ranks.comm.bcast(text, root)
        for array in arrays:
            if array is not None:
                _send(ranks, array, root)
        return value
    frame, structure = tree.flatten(pickle.loads(ranks.comm.bcast(None, root)))
    for i, leaf in enumerate(frame):
        if isinstance(leaf, _Absent):
            frame[i] = np.empty(leaf.shape, leaf.dtype)
            _send(ranks, frame[i], root)
    return tree.unflatten(structure, frame)


class _Absent:
    """An array whose numbers follow in a message of their own."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype


def _is_plain_array(leaf: Any) -> bool:
    return type(leaf) is np.ndarray and not leaf.dtype.hasobject


def _send(ranks: World, array: np.ndarray, root: int) -> None:
    memory = array.reshape(-1).view(np.uint8)
    for start in range(0, len(memory), _PIECE):
        ranks.comm.Bcast([memory[start : start + _PIECE], ranks.byte], root)


def gather(value: Any) -> Any:
    """Return the samples of all ranks, in the order of the ranks, on all ranks.

    Parameters
    ----------
    value : tree of array
        Arrays with a first axis of samples, whose length may differ between ranks; numbers count as one
        sample each.

    Returns
    -------
    tree of numpy.ndarray
        The arrays of all ranks one after the other.

    Raises
    ------
    DTypeError
        If a leaf is a Var, or is not of numbers.
    RankError
        If arrays differ between ranks in the structure, dtype, or shape of a sample.

    Examples
    --------
    >>> import numpy as np, tape.distributed
    >>> part = tape.distributed.shard(np.arange(4.0))
    >>> tape.distributed.gather({"prediction": part**2, "loss": 0.5})
    {'prediction': array([0., 1., 4., 9.]), 'loss': array([0.5])}
    """
    ranks = world()
    leaves, structure = tree.flatten(value)
    arrays = [np.atleast_1d(leaf) for leaf in leaves]
    names = tree.names(structure, "value")
    for name, leaf, array in zip(names, leaves, arrays, strict=True):
        if array.dtype.hasobject or isinstance(leaf, Handle):
            raise errors.DTypeError(
                f"{name} is {type(leaf).__name__} {errors.describe(leaf)}, and only arrays of numbers are "
                "gathered. Pass its .value, or convert it with np.asarray"
            )
    ranks.enter("gather")
    if ranks.size == 1:
        return tree.unflatten(structure, [array.copy() for array in arrays])
    lines = [
        f"{name}: {a.dtype}{['n', *a.shape[1:]]}".replace("'", "")
        for name, a in zip(names, arrays, strict=True)
    ]
    found = ranks.comm.allgather((lines, [len(array) for array in arrays]))
    if any(other != lines for other, _ in found):
        raise_layouts(ranks, lines)
    gathered = []
    for i, array in enumerate(arrays):
        out = np.empty((sum(counts[i] for _, counts in found), *array.shape[1:]), array.dtype)
        start = 0
        for source, (_, counts) in enumerate(found):
            part = out[start : start + counts[i]]
            if source == ranks.rank:
                part[...] = array
            _send(ranks, part, source)
            start += counts[i]
        gathered.append(out)
    return tree.unflatten(structure, gathered)


def mean(value: Any, weight: float = 1.0) -> Any:
    """Return the weighted mean over all ranks, on all ranks, added in an order of its own.

    Parameters
    ----------
    value : tree of float or array
        Of the same structure, shapes and dtypes on all ranks.
    weight : float
        Such as the number of samples; a rank with weight 0 counts for nothing, whatever its numbers.

    Returns
    -------
    tree
        Like ``value``.

    Raises
    ------
    DTypeError
        If a leaf is not of floats.
    OptionError
        If the weight is negative, or no rank has one.
    RankError
        If the ranks differ in structure, shapes or dtypes.

    Examples
    --------
    >>> import tape.distributed
    >>> tape.distributed.mean({"accuracy": 0.75}, weight=8)
    {'accuracy': 0.75}
    """
    ranks = world()
    if not 0 <= weight < math.inf:
        raise errors.OptionError(f"weight is {weight}. It is a finite number, 0 or more")
    leaves, structure = tree.flatten(value)
    layout = Layout(leaves, structure, "value")
    headers = ranks.enter("mean", layout.digest, 0, weight)
    if np.any(headers["digest"] != layout.digest):
        raise_layouts(ranks, layout.description)
    total = math.fsum(headers["weight"])
    if not total:
        raise ranks.failures.on_all(
            errors.OptionError("all ranks have weight 0, and there is no mean. Leave it out")
        )
    vectors = layout.vectors()
    for rows in vectors.values():
        rows[...] = 0
    if weight:
        layout.pack(leaves, weight / total, vectors, 0)
    sums = {char: rows[0] for char, rows in vectors.items()}
    for vector in sums.values():
        sum_over_ranks(ranks, vector)
    return layout.unpack(sums)
