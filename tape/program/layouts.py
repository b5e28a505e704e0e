"""How the arrays of arguments lie in memory, for functions that depend on it.

Programs run on arrays in C order; others are converted. That changes nothing unless a function takes elements
in the order of memory, or writes to what may share memory with something else: `Recorder.reads_layout`. It is
recorded once more for each layout that it meets. If the instructions are the same, the program is for that
layout as well; otherwise these calls run as plain Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tape import tree
from tape.program.ir.instructions import IR

Layout = tuple[Any, ...]


def layout_of(leaves: Iterable[Any]) -> Layout | None:
    """Return how arrays lie in memory: the strides in bytes of each, None for one in C order.

    None if all are in C order. Signs, zeros and gaps all matter to NumPy's order "K" and to its views.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.layouts import layout_of
    >>> layout_of([np.ones((2, 3)), 1.0])
    >>> layout_of([np.ones((2, 3)).T, np.ones(4)[::2]])
    ((8, 24), (16,))
    """
    found = tuple(
        [
            leaf.strides if isinstance(leaf, np.ndarray) and not leaf.flags.c_contiguous else None
            for leaf in leaves
        ]
    )
    return None if found.count(None) == len(found) else found


def overlap_themselves(leaves: Iterable[Any]) -> bool:
    """Return whether elements of an array share memory with each other: writing to one shows in others.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.layouts import overlap_themselves
    >>> windows = np.lib.stride_tricks.as_strided(np.arange(8.0), (4, 3), (8, 8))
    >>> [overlap_themselves([x]) for x in (windows, np.ones((3, 4)).T[::-2])]
    [True, False]
    """
    for leaf in leaves:
        if isinstance(leaf, np.ndarray) and leaf.size > 1 and leaf.flags.writeable:
            reach = leaf.itemsize
            axes = [(abs(stride), n) for stride, n in zip(leaf.strides, leaf.shape, strict=True) if n > 1]
            for stride, n in sorted(axes):
                if stride < reach:
                    return True
                reach += stride * (n - 1)
    return False


def in_c_order(args: Any) -> Any:
    """Return a tree of arguments with its arrays in C order."""
    return tree.map(lambda leaf: np.asarray(leaf, order="C") if isinstance(leaf, np.ndarray) else leaf, args)


def is_equal(a: Any, b: Any) -> bool:
    """Return whether two constants are the same object, or equal arrays or numbers of one type."""
    is_array = type(a) is type(b) and isinstance(a, (np.ndarray, np.generic))
    return a is b or (
        is_array and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    )


def are_same(ir: IR, other: IR) -> bool:
    """Return whether two lists of instructions do the same; False if that is not certain."""
    try:
        pairs = list(zip(ir.constants, other.constants, strict=True))
        return (
            ir.instructions == other.instructions
            and (ir.inputs, ir.outputs) == (other.inputs, other.outputs)
            and [guard.outcome for guard in ir.guards] == [guard.outcome for guard in other.guards]
            and all(is_equal(a, b) for a, b in pairs)
            and not ir.callbacks
            and not other.callbacks
        )
    except ValueError:  # other numbers of constants
        return False
