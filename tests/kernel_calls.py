"""Calls of single kernels of programs, and what they should give by plain NumPy."""

import ctypes
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tape.kernels.codes import DTYPE_CODES
from tape.kernels.loading import native
from tape.kernels.registry import GROUPS, needs_of
from tape.program.runtime import plain_kernels

__all__ = ["computed", "naive"]

_MARGIN = 40  # numbers around memory that is written to


def computed(
    name: str, operands: Sequence[np.ndarray], parameters: Sequence[int], parts: int = 1
) -> np.ndarray:
    """Run a kernel that has a result, its tasks in so many portions from the last to the first."""
    needs = needs_of(name, tuple(parameters))
    assert needs.operands == tuple(x.size for x in operands)
    (group,) = [group for group, kernels in GROUPS.items() if name in kernels]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 10)(native(group).addresses[name])
    dtype, table = operands[0].dtype, np.array(parameters)
    (out, around), (workspace, around_workspace) = (_framed(count, dtype) for count in needs[1:3])
    pointers = [x.ctypes.data for x in operands] + [0] * (3 - len(operands))
    pointers += [workspace.ctypes.data, out.ctypes.data]
    ends = np.linspace(0, needs.tasks, parts + 1).astype(int)
    for start, stop in reversed(list(pairwise(ends))):
        assert function(0, DTYPE_CODES[dtype], table.ctypes.data, start, stop, *pointers) == 1
    for margin in (*around, *around_workspace):
        assert (margin == 7).all()
    return out


def naive(name: str, operands: Sequence[np.ndarray], parameters: Sequence[int]) -> np.ndarray:
    """Return what a kernel should give, its elements in order."""
    found: Any = plain_kernels.KERNELS[name](*operands, parameters)
    return found.ravel()


def _framed(count: int, dtype: Any) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return memory for so many numbers, and what is in front of it and behind it."""
    whole = np.full(count + 2 * _MARGIN, 7, dtype)
    return whole[_MARGIN:-_MARGIN], (whole[:_MARGIN], whole[-_MARGIN:])
