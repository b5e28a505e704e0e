"""The plain arrays that derivatives on a tape read: what they were when the tape was computed with them.

Nodes refer to the arrays of their calls, and NumPy code fills scratch arrays anew. Before a sweep, arrays
that have been written into since are found, and nodes get what they were. Leaves that have been written into,
by an optimiser say, are an error until they are replayed. A program refuses such arrays: see
`tape.program.record.recorder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from math import gcd
from types import FunctionType
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Node
from tape.core.pattern_rules import moves

_WHOLE = 1 << 16
"""Arrays of so many bytes are kept whole, of larger ones a sample."""
_SAMPLED = 128
"""About how many elements of these."""
_SHORT = 1024
"""Bytes of leaves that are kept whole."""


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

    __slots__ = ("_arrays", "_leaves", "_settled")

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[np.ndarray, bytes, Any, list[Node]]] = {}  # by id: content and type
        self._leaves: list[tuple[Node, np.ndarray, Any]] = []  # with what its array holds
        self._settled: list[tuple[np.ndarray, np.ndarray, list[Node]]] = []  # what stands for which array

    def hold_leaf(self, leaf: Node) -> None:
        """Note the array of a leaf if it is short, or else two elements: an update changes nearly all."""
        array = leaf.value
        self._leaves.append((leaf, array, _glance(array)))

    def hold(self, array: np.ndarray, node: Node) -> None:
        """Keep what an array is, with which a node was computed.

        Raises
        ------
        InPlaceError
            If it is large, and has been written into since it was used before.
        """
        content = _content(array)
        type = array.shape, array.dtype
        known = self._arrays.setdefault(id(array), (array, content, type, [node]))
        nodes = known[3]
        if nodes[-1] is node:
            return
        if known[1] == content and known[2] == type:
            nodes.append(node)
        else:
            _replace(array, _restored(*known), nodes)
            self._arrays[id(array)] = array, content, type, [node]

    def settle(self, nodes: Sequence[Node] = (), roots: Iterable[int] = ()) -> None:
        """Give nodes what arrays were that have been written into since.

        Parameters
        ----------
        nodes : sequence of Node
            Of the tape, if the arrays of leaves are looked at as well.
        roots : iterable of int
            What is swept.

        Raises
        ------
        InPlaceError
            If such an array is large, or if that of a leaf was written into which the sweep reads.
        """
        for leaf, array, content in self._leaves if nodes else ():
            if _glance(array) != content and _is_read(array, nodes, roots):
                name = f" {leaf.name!r}" if leaf.name else ""
                raise errors.InPlaceError(
                    f"the array of a leaf{name}, {errors.describe(array)}, was written into after the "
                    "trace had computed with it. Sweep before updating it, call replay() first, or make the "
                    "leaf of a copy"
                )
        changed = [
            known
            for known in self._arrays.values()
            if _content(known[0]) != known[1] or (known[0].shape, known[0].dtype) != known[2]
        ]
        for known in changed:
            array, _, _, nodes = known
            before = _restored(*known)
            _replace(array, before, nodes)
            del self._arrays[id(array)]
            self._settled.append((array, before, nodes))

    def refresh(self) -> None:
        """Let nodes have arrays as they are now, but for those that were written into between two uses."""
        leaves = [leaf for leaf, *_ in self._leaves if type(leaf.value) is np.ndarray]
        self._leaves.clear()
        for leaf in leaves:
            self.hold_leaf(leaf)
        for array, before, nodes in self._settled:
            _replace(before, array, nodes)
            later = self._arrays.get(id(array))
            self._arrays[id(array)] = array, b"", None, [*nodes, *(later[3] if later else ())]
        self._settled.clear()
        for number, (array, _, _, nodes) in self._arrays.items():
            self._arrays[number] = array, _content(array), (array.shape, array.dtype), nodes


class Kept:
    """A plain array, and what it was.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.core.held import Kept
    >>> array = np.ones(2)
    >>> kept = Kept(array)
    >>> array[0] = 3
    >>> kept.value()
    array([1., 1.])
    """

    __slots__ = ("__weakref__", "_content", "_type", "array")

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self._content, self._type = _content(array), (array.shape, array.dtype)

    def value(self) -> np.ndarray:
        """Return the array, or if it has been written into a read-only copy of what it was.

        Raises
        ------
        InPlaceError
            If it is large and has been written into.
        """
        return _restored(self.array, self._content, self._type) if self.is_changed() else self.array

    def is_like(self, array: np.ndarray) -> bool:
        """Return whether an array that is small holds what this one did."""
        return array.tobytes() == self._content

    def is_changed(self) -> bool:
        """Return whether the array has been written into, or has another shape or dtype."""
        return (self.array.shape, self.array.dtype) != self._type or _content(self.array) != self._content


def _restored(array: np.ndarray, content: bytes, type: Any, nodes: Sequence[Node] = ()) -> np.ndarray:
    """Return an array that has been written into as it was when nodes were computed with it."""
    if array.nbytes <= _WHOLE:
        shape, dtype = type
        return np.frombuffer(content, dtype).reshape(shape)
    names = ", ".join(dict.fromkeys([node.op.name for node in nodes if node.op is not None]))
    raise errors.InPlaceError(
        f"a plain array, {errors.describe(array)}, was written into after {names or 'a function'} had been "
        "recorded with it, whose derivative needs what it was. Make a new array in each step, or compute "
        "with a copy"
    )


def _content(array: np.ndarray) -> bytes:
    """Return the elements of an array; of a large one some."""
    return (array if array.nbytes <= _WHOLE else sample(array)).tobytes()


def sample(array: np.ndarray, count: int = _SAMPLED) -> np.ndarray:
    """Return a view of about so many elements of a large array, in different rows and columns."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return array.ravel("K")[:: sampling_step(array.size, count)]
    parts = [slice(None)] * array.ndim
    left = float(count)
    for done, axis in enumerate(np.argsort(array.shape)):  # what a short axis does not have, longer ones give
        n = array.shape[axis]
        each = max(2, round(left ** (1 / (array.ndim - done))))
        parts[axis] = slice(n // (2 * each), None, max(1, n // each))
        left = max(1.0, left / min(each, n))
    return array[tuple(parts)]


def _glance(array: np.ndarray) -> Any:
    """Return the elements of a short array, or two of another one."""
    if array.nbytes <= _SHORT:
        return array.tobytes()
    one, other = array.item(array.size * 5 // 8), array.item(0)
    return one if one == one else None, other if other == other else None  # NaN is not equal to itself


def _is_read(array: np.ndarray, nodes: Sequence[Node], roots: Iterable[int]) -> bool:
    """Return whether a derivative of some roots reads an array that nodes have among their operands."""
    needed = set(roots)
    for id in range(max(needed, default=-1), -1, -1):
        if id not in needed:
            continue
        node = nodes[id]
        parents, operands = node.inputs[::2], node.inputs[1::2]
        needed.update([parent for parent in parents if parent is not None])
        if node.call.pull is not None and any(
            operand is array and _is_read_by(node, k) for k, operand in enumerate(operands)
        ):
            return True
    return False


def _is_read_by(node: Node, position: int) -> bool:
    """Return whether the rules that a node needs, in either mode, may read an operand."""
    return _may_load(node.op, position, [parent is not None for parent in node.inputs[::2]])


@lru_cache(maxsize=1024)
def sampling_step(size: int, count: int) -> int:
    """Return the distance of about ``count`` elements in different columns, whatever the length of rows.

    Examples
    --------
    >>> from tape.core.held import sampling_step
    >>> sampling_step(1024 * 1024, 32), sampling_step(5000 * 3, 30)
    (32767, 499)
    """
    step = max(1, size // count)
    while gcd(step, size) > 1:
        step -= 1
    return step


def _replace(array: np.ndarray, other: np.ndarray, nodes: list[Node]) -> None:
    """Put an array in the place of another one among the operands of nodes."""
    for node in nodes:
        node.inputs = tuple([other if part is array else part for part in node.inputs])


def may_read(op: Any, position: int, array: np.ndarray) -> bool:
    """Return whether the derivative of an operation by its other operands may read the elements of one.

    It does not if no rule, a function ``rule(g, out, *operands, **attrs)``, loads it; and if elements are
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
        known = op.read_operands[position] = _may_load(op, position)
    return known and not (op.pattern is moves and array.dtype.kind in "fc")


def _may_load(op: Any, position: int, active: Sequence[bool] | None = None) -> bool:
    """Return whether the rules of an operation, or those of its active operands, may read an operand."""
    for rules in (op.vjp, op.jvp):
        wanted = [*rules] if isinstance(rules, (list, tuple)) else [rules]
        if active is not None and len(wanted) == len(active):
            wanted = [rule for rule, is_active in zip(wanted, active, strict=True) if is_active]
        if any(_loads(rule, position + 2) for rule in wanted if rule is not None):
            return True
    return False


def _loads(rule: Any, position: int) -> bool:
    """Return whether a function may read one of its arguments."""
    if isinstance(rule, partial) and rule.func.__module__.startswith("tape.core."):
        return False  # derived from a rule of the other mode
    rule = getattr(rule, "__wrapped__", rule)
    if type(rule) is not FunctionType:
        return True
    code = rule.__code__
    if position >= code.co_argcount:
        return True
    import dis  # here, since few tapes have such arrays

    name = code.co_varnames[position]
    for one in dis.get_instructions(code):
        names = one.argval if isinstance(one.argval, tuple) else (one.argval,)  # of two at once, from 3.13 on
        if name in names and "LOAD" in one.opname:
            return True
    return False
