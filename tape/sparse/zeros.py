"""`Zeros`: which elements of the values of a program are zero whatever its arguments are.

Adjoints are: of elements that are not read, a sweep makes zeros, and a second derivative has none there.
Zeros come from constants and from adding to zeros, and pass through operations that are linear, as index sets
do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tape.core import pattern_rules
from tape.core.node import Node, plain
from tape.ops.structure.taking import put_along_axis_op
from tape.sparse.sets import IndexSets
from tape.transforms.loops.patterns import pattern as pattern_of_loops


class Support(NamedTuple):
    """Where a value may differ from zero.

    Attributes
    ----------
    mask : numpy.ndarray or None
        None if it may everywhere.
    sources : frozenset of int
        The nodes whose content this follows from.
    """

    mask: np.ndarray | None
    sources: frozenset[int]


_ANYWHERE = Support(None, frozenset())

_UNKNOWN = (None, pattern_rules.dense, pattern_rules.elementwise, pattern_of_loops)
"""Rules of operations that are not linear, or may not be."""


class Zeros(IndexSets):
    """The supports of the values of a program, found when they are asked for.

    Parameters
    ----------
    nodes : list of Node
        The program as far as it is recorded.
    is_fixed : callable
        Whether a node depends on no argument.
    is_known : callable
        Whether the content of a node does not depend on floats.
    """

    def __init__(
        self, nodes: list[Node], is_fixed: Callable[[int], bool], is_known: Callable[[int], bool]
    ) -> None:
        super().__init__(1)
        self._nodes, self._is_fixed, self._is_known = nodes, is_fixed, is_known
        self._found: list[Support] = []
        self._read: set[int] = set()  # the nodes whose content the present rule has read
        self._named: dict[int, int] = {}  # the node of each operand that it was given, by identity
        self._masks: dict[int, np.ndarray] = {}  # and the support

    def of(self, id: int) -> Support:
        """Return the support of a node."""
        while len(self._found) <= id:
            self._found.append(self._of_node(len(self._found)))
        return self._found[id]

    def contents(self, operands: Sequence[Any]) -> list[np.ndarray] | None:
        """Return the content of operands that do not depend on floats, or None if one does."""
        ids = [self._named.get(id(operand)) for operand in operands]
        if not all(i is None or self._is_known(i) for i in ids):
            return None
        self._read |= {i for i in ids if i is not None}
        return [np.asarray(plain(operand)) for operand in operands]

    def support(self, operand: Any) -> np.ndarray | None:
        """Return where an operand that is held may differ from zero; None if everywhere."""
        mask = self._masks.get(id(operand))
        return None if mask is None or np.all(mask) else mask

    def _of_node(self, i: int) -> Support:
        node = self._nodes[i]
        value = plain(node.value)
        if isinstance(value, tuple):
            return _ANYWHERE
        if self._is_fixed(i):
            return _ANYWHERE if np.all(value) else Support(value != 0, frozenset((i,)))
        if node.op is None or value.dtype.kind not in "fc" or node.op.pattern in _UNKNOWN:
            return _ANYWHERE
        if node.op is put_along_axis_op:  # whose positions stand between the others
            return _ANYWHERE
        operands = [
            Support(np.asarray(x) != 0, frozenset()) if parent is None else self._found[parent]
            for parent, x in zip(node.parents, node.operands, strict=True)
        ]
        if all(one.mask is None for one in operands) and not _makes_zeros(node, value):
            return _ANYWHERE
        return self._passed(node, operands, value)

    def _passed(self, node: Node, operands: Sequence[Support], value: Any) -> Support:
        op: Any = node.op
        sources = frozenset().union(*[one.sources for one in operands])
        masks = [
            np.ones(np.shape(plain(x)), bool) if one.mask is None else one.mask
            for one, x in zip(operands, node.operands, strict=True)
        ]
        if op.pattern is pattern_rules.products:
            mask = masks[0] & masks[1]
        elif op.pattern is pattern_rules.scalings:
            mask = np.broadcast_to(masks[0], value.shape)
        elif op.pattern is pattern_rules.choices:
            condition, parent = plain(node.operands[0]), node.parents[0]
            if parent is None or self._is_fixed(parent):
                mask = np.where(condition, masks[1], masks[2])
                sources |= frozenset() if parent is None else {parent}
            else:
                mask = masks[1] | masks[2]
        else:
            mask, read = self._by_rule(node, masks, value)
            sources |= read
        mask = np.broadcast_to(mask, value.shape)
        return _ANYWHERE if np.all(mask) else Support(mask, frozenset(sources))

    def _by_rule(self, node: Node, masks: Sequence[Any], value: Any) -> tuple[Any, set[int]]:
        """Return where the pattern rule of an operation lets any operand that is not zero come through."""
        op: Any = node.op
        first = pattern_rules.POSITIONS.get(op.pattern, len(masks))
        is_moving = [k < first for k in range(len(masks))]  # integers too, which are data like all others
        operands = [
            mask.astype(np.int64) if moves else _as_array(x)
            for mask, x, moves in zip(masks, node.operands, is_moving, strict=True)
        ]
        self._read = set()
        self._masks = {
            id(x): mask for x, mask, moves in zip(operands, masks, is_moving, strict=True) if moves
        }
        self._named = {
            id(x): parent for x, parent in zip(operands, node.parents, strict=True) if parent is not None
        }
        if op.pattern not in pattern_rules.MULTILINEAR:
            return np.asarray(op.pattern(self, op, operands, is_moving, node.attrs, value)) > 0, self._read
        mask = np.ones(value.shape, bool)
        for k, moves in enumerate(is_moving):
            if moves and not np.all(masks[k]):
                alone = [j == k for j in range(len(is_moving))]
                mask &= np.asarray(op.pattern(self, op, operands, alone, node.attrs, value)) > 0
        return mask, self._read


def _as_array(x: Any) -> Any:
    """Return an operand as an array, of its own, by whose identity it is known."""
    x = plain(x)
    return x if isinstance(x, tuple) else np.asarray(x).view()


def _makes_zeros(node: Node, value: Any) -> bool:
    """Return whether an operation adds to zeros, or fills up with them."""
    op: Any = node.op
    if op.pattern is pattern_rules.moves:
        return value.size > sum(np.size(plain(x)) for x in node.operands)
    return op.pattern in pattern_rules.MAKING_ZEROS
