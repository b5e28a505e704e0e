"""Loops over Python's numbers of steps as rows of a program, for `checkpoint_loop`.

The number of a step is an integer of NumPy there, which overflows and is divided by zero in other ways than
an int of Python. So it may only be added to, compared, read at, be an exponent, or meet doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import tree
from tape.core.dispatch import recorder
from tape.core.node import Handle, plain
from tape.transforms._record import name_of
from tape.transforms.loops.body import Body, Unrolled
from tape.transforms.loops.scan import Scan, looped

_WIDE = frozenset(map(np.dtype, ("f8", "c16", "i8", "?")))
_AS_INTS = frozenset({"add", "subtract"})
_BY_ANOTHER = frozenset({"floor_divide", "remainder"})
_DIVIDING = frozenset({"divide", "floor_divide", "remainder"})
_POWERS = frozenset({"power", "float_power", "reciprocal"})


def rows_of(body: Callable[[Any, Any], Any], state: Any, steps: int) -> Any:
    """Return the last state, recorded as a loop of the program that is being recorded; else None.

    Parameters
    ----------
    body : callable
        From a state and the number of a step to the next state.
    state : tree
        The first one.
    steps : int
        How many.
    """
    program: Any = recorder()
    if program is None or not steps:
        return None
    leaves, _ = tree.flatten(state)
    if not leaves or not all(_dtype_of(leaf).char in "dD" for leaf in leaves):
        return None

    def step(state: Any, number: Any) -> tuple[Any, None]:
        given = [leaf for leaf in tree.flatten(state)[0] if isinstance(leaf, Handle)]
        nodes = [leaf.node for leaf in given]
        after = body(state, number)
        if any(leaf.node is not node for leaf, node in zip(given, nodes, strict=True)):
            raise Unrolled("it writes into an array it was given")
        return after, None

    numbers, name = np.arange(steps), f"checkpoint_loop({name_of(body)})"
    roll_back = program.savepoint()
    try:
        found = Scan(step, state, numbers, None, False, name).recorded()
        is_exact = found is not None and _counts_as_python(found, len(leaves))
    except Exception:  # whatever it is, the code raises it again if it is its own
        is_exact = False
    if not is_exact:
        roll_back()
        program.notes.append("checkpoint_loop runs in Python: its body reads numbers, or computes with ints")
        return None
    return looped(step, state, numbers, name=name, checkpoint="sqrt")[0]


def _dtype_of(leaf: Any) -> np.dtype[Any]:
    return np.result_type(plain(leaf))


def _counts_as_python(body: Body, states: int) -> bool:
    """Return whether the number of the step, the last input, means in the body what it means in Python."""
    numbers = {body.inputs[-1]}
    for id, node in enumerate(body.nodes):
        if np.asarray(node.value).dtype not in _WIDE:
            return False
        places = [k for k, parent in enumerate(node.inputs[::2]) if parent in numbers]
        if not places:
            continue
        name = node.call.op.name if node.call.op is not None else ""
        if name in _DIVIDING and places != [0]:
            return False
        if name in _POWERS and (places != [1] or node.inputs[2] != body.inputs[-1]):
            return False
        if np.asarray(node.value).dtype.kind == "i":
            if name not in _AS_INTS and name not in _BY_ANOTHER:
                return False
            numbers.add(id)
    return True
