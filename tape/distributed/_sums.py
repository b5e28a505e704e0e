"""Sums over parts and ranks in an order of their own: the same bits on every rank, and in every run.

Elements are added as the leaves of one binary tree, whatever their position in an array, its length and the
network: `ordered_sum` for arrays of this process, `sum_over_ranks` for those of all ranks.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tape.distributed._world import World

SEGMENT = 1 << 22
"""Bytes that are exchanged at once: what is received stays in the cache until it is added."""
_SLICE = 1 << 16
"""Bytes of a segment for each rank at least: beyond some dozen ranks, messages would be too short."""
_SMALL = 1 << 13
"""Bytes of all ranks up to which each one gets everything: a single message takes less time than two."""


def ordered_sum(rows: np.ndarray, out: np.ndarray) -> None:
    """Add rows, in an order that depends on their number only.

    Parameters
    ----------
    rows : numpy.ndarray, shape (k, n)
        Overwritten.
    out : numpy.ndarray, shape (n,)
        Overwritten with the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.distributed._sums import ordered_sum
    >>> out = np.empty(2)
    >>> ordered_sum(np.arange(6.0).reshape(3, 2), out)
    >>> out
    array([6., 9.])
    """
    count = len(rows)
    while count > 2:
        half = count // 2
        rows[:half] += rows[count - half : count]
        count -= half
    if count == 2:
        np.add(rows[0], rows[1], out=out)
    else:
        out[...] = rows[0]


def bounds(count: int, parts: int) -> list[int]:
    """Return where each part begins, and the end: parts in order, whose sizes differ by one at most.

    Examples
    --------
    >>> from tape.distributed._sums import bounds
    >>> bounds(10, 4)
    [0, 2, 5, 7, 10]
    """
    return [count * part // parts for part in range(parts + 1)]


def sum_over_ranks(world: World, vector: np.ndarray, *, by_mpi: bool = False) -> None:
    """Replace a vector by the sum of those of all ranks.

    Parameters
    ----------
    world : World
        All ranks; each one calls this.
    vector : numpy.ndarray, shape (n,)
        Contiguous, of the same length and dtype on all ranks. Overwritten.
    by_mpi : bool
        Whether MPI chooses the order.
    """
    if world.size == 1 or not vector.size:
        return
    step = max(SEGMENT, _SLICE * world.size) // vector.itemsize
    for start in range(0, len(vector), step):
        segment = vector[start : start + step]
        # Of two numbers there is only one order
        if (by_mpi or world.size == 2) and segment.dtype.char in "fdFD":
            world.comm.Allreduce(world.in_place, segment)
        elif segment.nbytes * world.size <= _SMALL:
            _sum_of_all(world, segment)
        else:
            _sum_of_slices(world, segment)


def _sum_of_all(world: World, segment: np.ndarray) -> None:
    rows = np.empty((world.size, len(segment)), segment.dtype)
    world.comm.Allgather([segment, world.byte], [rows, world.byte])
    ordered_sum(rows, segment)


def _sum_of_slices(world: World, segment: np.ndarray) -> None:
    """Add one slice on each rank, and share the sums."""
    starts = bounds(len(segment), world.size)
    mine = segment[starts[world.rank] : starts[world.rank + 1]]
    counts = [(stop - start) * segment.itemsize for start, stop in pairwise(starts)]
    places = [start * segment.itemsize for start in starts[:-1]]
    rows = np.empty((world.size, len(mine)), segment.dtype)
    world.comm.Alltoallv([segment, (counts, places), world.byte], [rows, world.byte])
    total = np.empty_like(mine)
    ordered_sum(rows, total)
    world.comm.Allgatherv([total, world.byte], [segment, (counts, places), world.byte])


def gather_slices(world: World, vector: np.ndarray) -> None:
    """Fill a vector of which each rank holds its part, by `bounds`, with the parts of all.

    Parameters
    ----------
    world : World
        All ranks; each one calls this.
    vector : numpy.ndarray, shape (n,)
        Contiguous. Overwritten, but for the part of this rank.
    """
    if world.size == 1 or not vector.size:
        return
    starts = bounds(len(vector), world.size)
    most = max(1, (1 << 30) // vector.itemsize // world.size)  # MPI counts bytes up to 2**31
    longest = max(stop - start for start, stop in pairwise(starts))
    for begin in range(0, longest, most):
        pieces = [
            (start + begin, max(start + begin, min(start + begin + most, stop)))
            for start, stop in pairwise(starts)
        ]
        counts = [(stop - start) * vector.itemsize for start, stop in pieces]
        places = [start * vector.itemsize for start, _ in pieces]
        mine = vector[slice(*pieces[world.rank])].copy()
        world.comm.Allgatherv([mine, world.byte], [vector, (counts, places), world.byte])
