"""`shard` and `batches`: which samples of the whole belong to this rank.

Both depend on the numbers of samples and ranks only, so that no rank has to ask another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tape import errors, tree
from tape.distributed._sums import bounds
from tape.distributed._world import world


def length_of(data: Any, name: str) -> int:
    """Return the number of samples in a tree of arrays: the length of the first axis of all of them."""
    leaves, structure = tree.flatten(data)
    found: dict[int, str] = {}
    for i, leaf in enumerate(leaves):
        if not np.ndim(leaf):
            raise errors.ShapeError(
                f"{tree.names(structure, name)[i]} is {errors.describe(leaf)}, which has no axis of samples. "
                "Say with batch=... which arguments are of samples"
            )
        found.setdefault(len(leaf), tree.names(structure, name)[i])
    if len(found) != 1:
        what = ", ".join(f"{name} of {count}" for count, name in found.items()) or "no array"
        raise errors.ShapeError(f"samples are counted along the first axis of all arrays; here {what}")
    return next(iter(found))


def take(data: Any, index: Any) -> Any:
    """Return these samples of all arrays of a tree; for a slice they are views."""
    return tree.map(lambda leaf: leaf[index], data)


def shard(data: Any, rank: int | None = None, size: int | None = None) -> Any:
    """Return the part of the samples that belongs to a rank.

    The parts are contiguous and in the order of the ranks; their sizes differ by one at most, and there are
    empty ones if there are fewer samples than ranks.

    Parameters
    ----------
    data : int or tree of array
        The number of samples, or arrays with one first axis of samples.
    rank, size : int, optional
        Which of how many; this one of all ranks if left out.

    Returns
    -------
    slice or tree
        The slice of the samples for a number, and views of arrays for arrays.

    Raises
    ------
    ShapeError
        If arrays are of different lengths.
    OptionError
        If there is no such rank, or a negative number of samples.

    Examples
    --------
    >>> import numpy as np, tape.distributed
    >>> [tape.distributed.shard(10, rank, 4) for rank in range(4)]
    [slice(0, 2, None), slice(2, 5, None), slice(5, 7, None), slice(7, 10, None)]
    >>> tape.distributed.shard({"x": np.arange(5), "y": np.zeros((5, 2))}, 1, 3)
    {'x': array([1, 2]), 'y': array([[0., 0.],
           [0., 0.]])}
    """
    size = world().size if size is None else size
    rank = world().rank if rank is None else rank
    if not 0 <= rank < size:
        raise errors.OptionError(f"shard {rank} of {size}: ranks are counted from 0 to {size - 1}")
    is_count = isinstance(data, (int, np.integer)) and not isinstance(data, bool)
    count = int(data) if is_count else length_of(data, "data")
    if count < 0:
        raise errors.OptionError(f"{count} samples: their number is at least 0")
    starts = bounds(count, size)
    part = slice(starts[rank], starts[rank + 1])
    return part if is_count else take(data, part)


def batches(
    data: Any,
    batch_size: int,
    *,
    seed: Any = None,
    drop_last: bool = False,
    rank: int | None = None,
    size: int | None = None,
) -> Iterator[Any]:
    """Yield the part of this rank of each global batch, for one pass through the data.

    The global batches are the same for any number of ranks, and so is the number of parts that each rank
    gets. The last batch may be smaller, and parts may differ by a sample or be empty: `data_parallel`
    weights them.

    Parameters
    ----------
    data : tree of array
        All samples, on every rank, along the first axis of each array.
    batch_size : int
        Samples in a global batch.
    seed : int or sequence of int, optional
        Of the order, such as ``(seed, epoch)``. In order if left out.
    drop_last : bool
        Whether to leave out a last batch that is smaller.
    rank, size : int, optional
        Which of how many; this one of all ranks if left out.

    Yields
    ------
    tree of numpy.ndarray
        Like ``data``: copies if in random order, else views.

    Raises
    ------
    ShapeError
        If arrays are of different lengths.
    OptionError
        If the batch size is not positive.

    Examples
    --------
    >>> import numpy as np, tape.distributed
    >>> [x.tolist() for x in tape.distributed.batches(np.arange(7), 4, seed=(0, 1))]
    [[1, 3, 6, 0], [4, 2, 5]]
    >>> [x.tolist() for x in tape.distributed.batches(np.arange(7), 4, seed=(0, 1), rank=1, size=2)]
    [[6, 0], [2, 5]]
    """
    if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise errors.OptionError(f"batch_size is {batch_size!r}. It is the number of samples, at least 1")
    count = length_of(data, "data")
    part_of = [shard(batch_size, rank, size), shard(count % batch_size, rank, size)]
    order = None if seed is None else np.random.default_rng(seed).permutation(count)

    def parts() -> Iterator[Any]:
        for start in range(0, count, batch_size):
            is_last = start + batch_size > count
            if is_last and drop_last:
                return
            part = part_of[is_last]
            chosen = slice(start + part.start, start + part.stop)
            yield take(data, chosen if order is None else order[chosen])

    return parts()
