"""Whether all ranks hold the same: the structure of a tree, shapes, dtypes, and its numbers.

Ranks compare digests, which cost nothing; what differs is looked for once they do.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, zip_longest
from typing import Any, NoReturn

import numpy as np

from tape import errors, tree
from tape.distributed._layout import describe, digest_of, key_of
from tape.distributed._world import World, world

_BLOCK = 1 << 12
"""Elements of the parameters that are compared in each step."""


class Watched:
    """A tree that has to be the same on all ranks in every step.

    The first time, and whenever its layout changes, all of its numbers are compared; then a block in each
    step, one after the other, so that ranks that drift apart are found out before long.

    Parameters
    ----------
    root : str
        What the tree is called in messages.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._structure: Any = None
        self._key: list[Any] | None = None
        self._starts: list[int] = []
        self._blocks = 0
        self._block = -1
        self.description: list[str] = []
        self.digest = 0

    def look(self, value: Any) -> int:
        """Return a number that is the same where ranks hold the same."""
        leaves, structure = tree.flatten(value)
        key = key_of(leaves)
        if key != self._key or structure != self._structure:
            self._structure, self._key = structure, key
            self.description = describe(structure, key, self._root)
            self.digest = digest_of(self.description)
            counts = [
                -(-leaf.size // _BLOCK) if isinstance(leaf, np.ndarray) and not leaf.dtype.hasobject else 0
                for leaf in leaves
            ]
            self._starts = [0, *accumulate(counts)]
            self._block = -1
            return checksum(leaves)
        if not self._starts[-1]:
            return 0
        self._block = (self._block + 1) % self._starts[-1]
        number = bisect_right(self._starts, self._block) - 1
        start = (self._block - self._starts[number]) * _BLOCK
        block = leaves[number].flat[start : start + _BLOCK]  # in the order of C, which memory may not be in
        return zlib.crc32(block.tobytes())


def checksum(leaves: Sequence[Any]) -> int:
    """Return a number for the bytes of all arrays and numbers among leaves."""
    code = 0
    for leaf in leaves:
        if isinstance(leaf, (np.ndarray, np.generic, float, int, complex)):
            array = np.asarray(leaf)
            if not array.dtype.hasobject:
                memory: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                code = zlib.crc32(memory, code)
    return code


def raise_layouts(ranks: World, description: Sequence[str] | None) -> NoReturn:
    """Raise RankError with the first difference of descriptions, if there are; all ranks call it."""
    found = {rank: lines for rank, lines in enumerate(ranks.comm.allgather(description)) if lines is not None}
    origin = min(found)
    for number, lines in found.items():
        for first, other in zip_longest(found[origin], lines):
            if first != other:
                raise ranks.failures.on_all(
                    errors.RankError(
                        f"the ranks compute different things: rank {origin} has {first or 'no more'}, rank "
                        f"{number} has {other or 'no more'}. Make the same on all ranks, or broadcast it"
                    )
                )
    raise ranks.failures.on_all(errors.RankError("the ranks compute trees of different structures"))


def raise_numbers(ranks: World, headers: np.ndarray, name: str) -> NoReturn:
    """Raise RankError for numbers that differ from those of rank 0."""
    others = np.flatnonzero(headers["check"] != headers["check"][0])
    which = f"rank{'s' if len(others) > 1 else ''} {', '.join(map(str, others[:8]))}"
    raise ranks.failures.on_all(
        errors.RankError(
            f"{name}: the numbers of {which} are not those of rank 0. Start from {name} = "
            f"tape.distributed.broadcast({name}), and update it in the same way on all ranks"
        )
    )


def check_same(value: Any, name: str = "value") -> None:
    """Check that a tree is the same on all ranks, to the last bit.

    Parameters
    ----------
    value : tree
        Of arrays and numbers; other leaves are not compared.
    name : str
        What it is called in the message.

    Raises
    ------
    RankError
        If the structure, a shape, a dtype or a number differs between ranks; on all of them.

    Examples
    --------
    >>> import numpy as np, tape.distributed
    >>> tape.distributed.check_same({"w": np.ones(3)}, "params")
    """
    ranks = world()
    leaves, structure = tree.flatten(value)
    lines = describe(structure, key_of(leaves), name)
    headers = ranks.enter("check_same", digest_of(lines), checksum(leaves))
    if np.any(headers["digest"] != headers["digest"][0]):
        raise_layouts(ranks, lines)
    if np.any(headers["check"] != headers["check"][0]):
        raise_numbers(ranks, headers, name)
