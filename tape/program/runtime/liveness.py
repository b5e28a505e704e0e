"""Which memory of the arena is read behind some rows, for code that need not write the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tape.program.native.opcodes import ARENA, WIDTH, opcode
from tape.program.runtime.extents import Claims, Extent

__all__ = ["WORD", "live_behind"]

WORD = 8
"""Bytes that are live or not together."""
_OVERWRITING = tuple(map(opcode, ("unary", "binary", "pair", "fold", "sum_product", "copy")))
"""Rows that write each result whatever was there before."""
_CALLBACK = opcode("callback")


def live_behind(
    code: np.ndarray, rows: int, claims: Claims, size: int, stops: Sequence[int]
) -> list[np.ndarray]:
    """Return what is read of the arena from some rows on, before it is overwritten.

    Nothing is read of it once the last row has run. What is not known counts as read.

    Parameters
    ----------
    code : numpy.ndarray
        int64: the rows, and what follows them.
    rows : int
        How many rows.
    claims : Claims
        What rows touch, from `tape.program.runtime.verify.verify`.
    size : int
        Bytes of the arena.
    stops : sequence of int
        The rows, in ascending order.

    Returns
    -------
    list of numpy.ndarray
        bool, for each word of the arena.
    """
    touched: list[list[Extent]] = [[] for _ in range(rows)]
    for extent in claims.extents():
        if extent.slot == ARENA:
            touched[extent.row].append(extent)
    live, found = np.zeros(-(-size // WORD), bool), {}
    wanted = set(stops)
    for row in range(rows, -1, -1):
        if row in wanted:
            found[row] = live.copy()
        if not row:
            break
        kind = code[(row - 1) * WIDTH]
        live |= kind == _CALLBACK  # which Python reads operands for
        is_overwriting = kind in _OVERWRITING
        for extent in touched[row - 1] if is_overwriting else ():
            if extent.is_written and extent.is_dense:
                live[-(-extent.start // WORD) : extent.stop // WORD] = False
        for extent in touched[row - 1]:
            if not (extent.is_written and is_overwriting):
                live[extent.start // WORD : -(-extent.stop // WORD)] = True
    return [found[row] for row in stops]
