"""Which nodes of a tape are alike: the same operation on the same kind of operands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from tape.core.node import Handle, Node, plain
from tape.core.op import Op
from tape.ops.structure.indexing import getitem_op
from tape.transforms.loops.periods import Run


class Table:
    """A tape as arrays: a code for each node, equal for nodes alike, and its parents."""

    def __init__(self, nodes: Sequence[Node], inputs: Collection[int]) -> None:
        self.nodes = nodes
        self.codes = np.empty(len(nodes), np.int64)
        self._known: dict[Any, int] = {}
        self._calls: dict[int, int] = {}
        self._keys: dict[Any, int] = {}
        for id, node in enumerate(nodes):
            is_alone = id in inputs or (node.call.op is None and getattr(node, "is_param", False))
            self.codes[id] = -1 - id if is_alone else self._code(node)

    def _code(self, node: Node) -> int:
        call, value, inputs = node.call, plain(node.value), node.inputs
        key = self._calls.get(id(call))
        if key is None:
            whole = (call.op, call.pull is None, _key_of(call.op, call.attrs))
            key = self._calls[id(call)] = self._keys.setdefault(whole, len(self._keys))
        kinds: Any
        if len(inputs) == 4:  # as most have, and this is done for every node
            kinds = 2 * (inputs[0] is None) + (inputs[2] is None)
        else:
            kinds = tuple([parent is None for parent in inputs[::2]])
        return self._known.setdefault((key, kinds, value.shape, value.dtype), len(self._known))

    def parents(self, run: Run, position: int, slot: int) -> list[int | None]:
        """Return the parent of one operand in all steps of a run."""
        at = run.start + position
        return [self.nodes[at + k * run.period].inputs[2 * slot] for k in range(run.steps)]

    def operands(self, run: Run, position: int, slot: int) -> list[Any]:
        """Return the value of one operand in all steps of a run."""
        at = run.start + position
        return [self.nodes[at + k * run.period].inputs[2 * slot + 1] for k in range(run.steps)]


def _key_of(op: Op | None, attrs: dict[str, Any]) -> Any:
    """Return what the static arguments of nodes alike have in common; integers in an index may differ."""
    if op is getitem_op:
        return Hashable(tuple([int if type(i) is int else i for i in attrs["index"]]))
    return Hashable(tuple(attrs.items()))


class Hashable:
    """Static arguments, compared by their types and values; by identity if they are of another kind."""

    __slots__ = ("_key",)

    def __init__(self, value: Any) -> None:
        self._key = _flat(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


_PLAIN = frozenset({bool, int, str, type(None)})


def _flat(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return (kind, value)
    if isinstance(value, tuple):
        return (tuple, *[_flat(item) for item in value])
    if isinstance(value, slice):
        return (slice, _flat(value.start), _flat(value.stop), _flat(value.step))
    if isinstance(value, (int, str, np.dtype, type)):
        return (kind, value)
    if isinstance(value, (float, complex, np.generic)):
        return (kind, np.asarray(value).tobytes())
    return (id(value), Same(value))


class Same:
    """Equal to the same object alone, which it keeps."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def are_same(a: Any, b: Any) -> bool:
    """Return whether two constants are one: the same array or node, or the same number to the last bit."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, np.ndarray):
        return False
    if isinstance(a, Handle):
        return a.node is b.node
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def are_equal(a: Any, b: Any) -> bool:
    """Return whether two values are of one type, and equal to the last bit."""
    if type(a) is not type(b) or a.shape != b.shape or a.dtype != b.dtype:
        return False
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()
