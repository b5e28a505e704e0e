"""The plain arrays that derivatives on a tape read: what they were when the tape was computed with them.

Nodes refer to the arrays of their calls, and NumPy code fills scratch arrays anew. Before a sweep, arrays
that have been written into since are found, and nodes get what they were. A program refuses such arrays: see
`tape.program.record.recorder`.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Node
from tape.core.pattern_rules import moves

_WHOLE = 1 << 16
"""Arrays of so many bytes are kept whole, of larger ones a sample."""
_SAMPLED = 64


class Held:
    """The plain arrays that the derivatives of nodes read.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr, scale = tape.Trace(), np.array([1.0, 2.0])
    >>> y = np.sum(tr.param(np.ones(2)) * scale)
    >>> scale[:] = 0
    >>> tr.backward_param_grads(y)
    [array([1., 2.])]
    """

    __slots__ = ("_arrays",)

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[np.ndarray, bytes, list[Node]]] = {}  # by id

    def hold(self, array: np.ndarray, node: Node) -> None:
        """Keep what an array is, with which a node was computed.

        Raises
        ------
        InPlaceError
            If it is large, and has been written into since it was used before.
        """
        known = self._arrays.get(id(array))
        content = _content(array)
        if known is None:
            self._arrays[id(array)] = (array, content, [node])
        elif content == known[1]:
            known[2].append(node)
        else:
            _restore(*known)
            self._arrays[id(array)] = (array, content, [node])

    def settle(self) -> None:
        """Give nodes what arrays were that have been written into since.

        Raises
        ------
        InPlaceError
            If such an array is large.
        """
        for known in [*self._arrays.values()]:
            if _content(known[0]) != known[1]:
                _restore(*known)
                del self._arrays[id(known[0])]


def _content(array: np.ndarray) -> bytes:
    """Return the elements of an array; of a large one some, at regular distances."""
    if array.nbytes <= _WHOLE:
        return array.tobytes()
    if array.flags.c_contiguous:
        return array.reshape(-1)[:: array.size // _SAMPLED].tobytes()
    each = max(2, round(_SAMPLED ** (1 / array.ndim)))
    return array[tuple([slice(n // (2 * each), None, max(1, n // each)) for n in array.shape])].tobytes()


def _restore(array: np.ndarray, content: bytes, nodes: list[Node]) -> None:
    """Put an array with an earlier content in the place of one that has been written into."""
    if array.nbytes > _WHOLE:
        names = ", ".join(dict.fromkeys([node.op.name for node in nodes if node.op is not None]))
        raise errors.InPlaceError(
            f"a plain array, {errors.describe(array)}, was written into after {names} had been recorded with "
            "it, whose derivative needs what it was. Make a new array in each step, or compute with a copy"
        )
    before = np.frombuffer(content, array.dtype).reshape(array.shape)
    for node in nodes:
        node.inputs = tuple([before if part is array else part for part in node.inputs])


def may_read(op: Any, position: int, array: np.ndarray) -> bool:
    """Return whether the derivative of an operation by its other operands may read the elements of one.

    It does not if no vjp rule, a function ``rule(g, out, *operands, **attrs)``, loads it; and if elements are
    moved, it reads the integers that say where to.

    Examples
    --------
    >>> import numpy as np
    >>> from tape import ops
    >>> from tape.core.held import may_read
    >>> [may_read(f.op, 1, np.ones(3)) for f in (ops.add, ops.multiply)]
    [False, True]
    """
    known = op.read_operands.get(position)
    if known is None:
        rules = [*op.vjp] if isinstance(op.vjp, (list, tuple)) else [op.vjp]
        known = any(_loads(rule, position + 2) for rule in rules if rule is not None)
        op.read_operands[position] = known
    return known and not (op.pattern is moves and array.dtype.kind in "fc")


def _loads(rule: Any, position: int) -> bool:
    """Return whether a function may read one of its arguments."""
    if type(rule) is not FunctionType:
        return True
    code = rule.__code__
    if position >= code.co_argcount:
        return True
    import dis  # here, since few tapes have such arrays

    name = code.co_varnames[position]
    return any(name == one.argval and one.opname.startswith("LOAD") for one in dis.get_instructions(code))
