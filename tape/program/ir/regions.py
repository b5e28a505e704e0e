"""Instructions that belong together, because one computes what another one reads: regions of them."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Regions"]


class Regions:
    """Disjoint sets of numbers, each known by one of them, its root.

    Examples
    --------
    >>> from tape.program.ir.regions import Regions
    >>> regions = Regions()
    >>> regions.add(1, []), regions.add(2, []), regions.add(5, [1, 2])
    (None, None, None)
    >>> regions.root(1), regions.root(5)
    (5, 5)
    """

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def add(self, number: int, others: Iterable[int]) -> None:
        """Add a number, which becomes the root of the regions of some others."""
        self._above[number] = number
        for other in others:
            self._above[self.root(other)] = number

    def root(self, number: int) -> int:
        """Return the root of the region that a number is in."""
        above = self._above
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number
