"""Values on a recorded tape that cannot change between calls.

An array that the function closes over is read by reference in every call, as its owner may write to it. An
array that was created during recording, and that nothing but the tape refers to, has no owner: it is a
constant, and so is what was computed from such arrays alone.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tape.core.node import Leaf, Node
from tape.kernels.codes import DTYPE_CODES


def unowned_arrays(nodes: Sequence[Node], inputs: Collection[int]) -> frozenset[int]:
    """Find the plain arrays on a tape that nothing else refers to.

    Parameters
    ----------
    nodes : sequence of Node
        A tape, to whose nodes nothing else refers.
    inputs : collection of int
        Positions of the leaves that are arguments.

    Returns
    -------
    frozenset of int
        The ids of these objects.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.core.node import Leaf
    >>> from tape.program.record.fixed import unowned_arrays
    >>> closed_over = np.ones(2)
    >>> tape = [Leaf(closed_over, False, None), Leaf(np.ones(3), False, None)]
    >>> unowned_arrays(tape, []) == {id(tape[1].value)}
    True
    """
    arrays, held = _plain_arrays(nodes, inputs)
    return frozenset(number for number in arrays if _is_unowned(arrays, number, held))


def _plain_arrays(
    nodes: Sequence[Node], inputs: Collection[int]
) -> tuple[dict[int, np.ndarray], Counter[int]]:
    """Return the plain arrays on a tape by id, and how often it refers to each and to the base of each."""
    operands = list(chain.from_iterable([node.inputs for node in nodes]))
    given = [
        value
        for parent, value in zip(operands[::2], operands[1::2], strict=True)
        if parent is None and type(value) is np.ndarray
    ]
    for number, node in enumerate(nodes):
        if node.call.op is None and number not in inputs and type(node.value) is np.ndarray:
            given.append(node.value)
    if not given:  # as on most tapes that are long
        return {}, Counter()
    values = operands[1::2] + [node.value for node in nodes]
    counted = {id(one) for value in given for one in (value, value.base) if one is not None}
    held = Counter(filter(counted.__contains__, map(id, values)))
    views = {id(value): value for value in values if type(value) is np.ndarray and value.base is not None}
    held.update([id(view.base) for view in views.values()])
    return {id(value): value for value in given}, held


def share_arrays(nodes: list[Node], unowned: Collection[int]) -> None:
    """Let leaves that hold equal arrays without an owner hold the same array.

    Code that runs in every step of a loop makes such an array in every step.

    Parameters
    ----------
    nodes : list of Node
        A tape, which is changed.
    unowned : collection of int
        The result of `unowned_arrays`.
    """
    known: dict[Any, np.ndarray] = {}
    for number, node in enumerate(nodes):
        value = node.value
        if node.call.op is not None or type(value) is not np.ndarray:
            continue
        if id(value) in unowned and value.size <= _SMALL:
            same = known.setdefault((value.dtype.str, value.shape, value.tobytes()), value)
            if same is not value:
                nodes[number] = Leaf(same, False, None)


_SMALL = 1024  # elements: comparing larger arrays takes longer than the loop saves


def fixed_nodes(nodes: Sequence[Node], inputs: Collection[int], unowned: Collection[int]) -> frozenset[int]:
    """Find the nodes that cannot change: unowned leaves, and what is computed from them alone.

    They have dtypes that the machine computes with.

    Parameters
    ----------
    nodes, inputs
        As for `unowned_arrays`.
    unowned : collection of int
        The result of `unowned_arrays`.

    Returns
    -------
    frozenset of int
        Their positions.
    """
    fixed: set[int] = set()
    for number, node in enumerate(nodes):
        if node.op is None:
            is_fixed = number not in inputs and _is_fixed(node.value, unowned)
        else:
            is_fixed = node.value.dtype in DTYPE_CODES and all(
                _is_fixed(operand, unowned) if parent is None else parent in fixed
                for parent, operand in zip(node.inputs[::2], node.inputs[1::2], strict=True)
            )
        if is_fixed:
            fixed.add(number)
    return frozenset(fixed)


def _is_fixed(value: object, unowned: Collection[int]) -> bool:
    return type(value) is not np.ndarray or id(value) in unowned


def _is_unowned(arrays: dict[int, np.ndarray], number: int, held: Counter[int]) -> bool:
    """Return whether nothing but the tape refers to an array, nor to the array that it is a view of."""
    if sys.getrefcount(arrays[number]) - held[number] != _REFERENCES:
        return False
    base = arrays[number].base
    if base is None:
        return True
    is_array = type(base) is np.ndarray and base.base is None and id(base) not in arrays
    base_id = id(base)
    del base
    return is_array and sys.getrefcount(arrays[number].base) - held[base_id] == _BASE_REFERENCES


def _measured() -> tuple[int, int]:
    """Measure how many references the look-ups above add, which depends on the version of Python."""
    arrays = {0: np.ones(1), 1: np.ones(2)[1:]}
    return sys.getrefcount(arrays[0]), sys.getrefcount(arrays[1].base) - 1


_REFERENCES, _BASE_REFERENCES = _measured()
