"""Where a sequence of numbers repeats itself: runs in which every number equals the one a period before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_WIDTHS = (1, 4, 16, 64, 256)
"""Lengths of the windows whose distances are tried as periods: longer ones tell apart what repeats within."""
_MOST_PERIODS = 64


class Run(NamedTuple):
    """Part of a sequence that repeats itself: ``steps`` times ``period`` numbers, from ``start`` on."""

    start: int
    period: int
    steps: int

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return self.period * self.steps

    @property
    def stop(self) -> int:
        """The position after its last number."""
        return self.start + self.period * self.steps


def runs(codes: Any, least_count: int, least_size: int) -> list[Run]:
    """Return the parts of a sequence that repeat themselves, shortest periods first chosen, in order.

    Parameters
    ----------
    codes : numpy.ndarray
        int64, shape (n,).
    least_count, least_size : int
        How often a period repeats at least, and how many numbers a run has at least.

    Returns
    -------
    list of Run
        They do not overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.transforms.loops.periods import runs
    >>> runs(np.array([9, 1, 2, 1, 2, 1, 2, 1, 3]), 3, 6)
    [Run(start=1, period=2, steps=3)]
    """
    found: list[Run] = []
    taken = np.zeros(len(codes), bool)
    for period in _periods(codes, least_count):
        is_alike = codes[period:] == codes[:-period]
        is_alike &= ~(taken[period:] | taken[:-period])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], is_alike, [False]]).astype(np.int8)))
        end = 0
        for begin, stop in zip(edges[::2], edges[1::2], strict=True):
            start = max(begin, end)
            count = (stop - start + period) // period
            if count >= least_count and count * period >= least_size:
                found.append(Run(int(start), period, int(count)))
                end = found[-1].stop
                taken[start:end] = True
    return sorted(found)


def _periods(codes: Any, least_count: int) -> list[int]:
    """Return the distances at which windows of the sequence come again often enough, in increasing order."""
    distances: dict[int, int] = {}
    hashes = codes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    width = 1
    for wanted in _WIDTHS:
        while width < wanted and len(hashes) > width:
            hashes = hashes[:-width] * np.uint64(0xBF58476D1CE4E5B9 + 2 * width) + (
                hashes[width:] ^ hashes[width:] >> np.uint64(29)
            )
            width *= 2
        order = np.argsort(hashes, kind="stable")
        is_same = hashes[order][1:] == hashes[order][:-1]
        steps, counts = np.unique(np.diff(order)[is_same], return_counts=True)
        for step, count in zip(steps.tolist(), counts.tolist(), strict=True):
            if count >= least_count - 1 and step * least_count <= len(codes):
                distances[step] = max(distances.get(step, 0), count)
    often = sorted(distances, key=lambda step: -distances[step] * step)[:_MOST_PERIODS]
    return sorted(often)
