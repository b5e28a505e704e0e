"""Walks forwards over a tape: for tangents, or for values once more.

As the reverse sweep, each is one loop over the nodes. `ForwardSweeps` has those that users ask a `Trace` for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tape.core.checks import check_replayed, check_root
from tape.core.closures import replaying
from tape.core.interpreter import OPEN
from tape.core.leaves import admit, check_leaf, check_replacement, checked_tangents
from tape.core.listed import Listed
from tape.core.node import Handle, Node, snapshot
from tape.core.sweep import place, refuse_recording
from tape.core.var import Var
from tape.inplace.aliases import settle


class ForwardSweeps(Listed):
    """The base of `Trace` with its sweeps forwards."""

    __slots__ = ()

    # ---- tangents ----------------------------------------------------------------------------

    def jvp(self, root: Var, tangents: Mapping[Var, Any]) -> Any:
        """Forward sweep: the derivative of ``root`` along the given tangents of leaves.

        Parameters
        ----------
        root : Var
            What is differentiated; any shape.
        tangents : mapping of Var to array_like
            A tangent, of the leaf's shape, for each leaf that moves; the others stand still.

        Returns
        -------
        numpy.ndarray
            Of the root's shape and dtype. A Var of the enclosing trace when traces are nested.

        Raises
        ------
        TraceMismatchError
            If ``root`` or a key is not a Var of this trace, or a key is not a leaf.
        SeedError
            If a tangent has the wrong shape or dtype, or holds NaN.

        Warns
        -----
        LostDerivativeWarning
            As `backward`, also of numbers that depend on inputs alone if one of these moves.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> x = tr.param(np.array([1.0, 2.0]))
        >>> tr.jvp(x * x, {x: [1.0, 0.5]})
        array([2., 2.])
        """
        check_root(self, root)
        seeds = checked_tangents(self, tangents)
        if self.taken is not None:
            self.taken.warn("jvp", root.id, inactive=any(not self.nodes[id].is_param for id in seeds))
        (tangent,) = self.push_forward(seeds, [root.id])
        if tangent is None:
            return np.zeros(root.node.value.shape, root.node.value.dtype)
        # A tangent that reaches the root as it is, e.g. through 1 * x, must not be the caller's array.
        return snapshot(tangent) if isinstance(tangent, Handle) else np.array(tangent)

    def push_forward(self, seeds: Mapping[int, Any], roots: Sequence[int]) -> list[Any]:
        """Forward sweep to any number of roots at once, for transforms: nothing is checked.

        Parameters
        ----------
        seeds : mapping of int to array
            The tangent of each leaf that moves, by node id, of the node's shape and dtype.
        roots : sequence of int
            Node ids.

        Returns
        -------
        list
            The tangent of each root, which may be a seed; None where nothing flows.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> x = tr.param(3.0)
        >>> y, z = 2 * x, x * x
        >>> [float(tangent) for tangent in tr.push_forward({x.id: np.float64(10)}, [y.id, z.id])]
        [20.0, 60.0]
        """
        self.held.settle(() if OPEN else self.nodes, roots)
        if self._replaced:
            check_replayed(self.nodes, self._replaced, roots)
        return push_forward(self.nodes, seeds, roots, where=self)

    # ---- values ------------------------------------------------------------------------------

    def set(self, leaf: Var, value: Any) -> None:
        """Give a leaf another value; `replay` then recomputes everything that follows from it.

        Parameters
        ----------
        leaf : Var
            A param or input of this trace.
        value : array_like
            Held by reference, of a dtype of the same kind. Another shape is fine if the recorded
            operations accept it; what the Python code made of the old one (slices, axes counted from
            the front, branches) stays, and so do positions and counts that functions such as ``np.cov``,
            ``np.repeat``, ``np.pad``, ``np.delete`` and ``np.split`` took from its lengths. What is recorded
            before a replay, of the new value and of what was computed from the old one, cannot be swept.

        Raises
        ------
        TraceMismatchError
            If ``leaf`` is not a leaf of this trace.
        DTypeError
            As `param` and `input`.

        Examples
        --------
        >>> import tape
        >>> tr = tape.Trace()
        >>> x = tr.input(2.0)
        >>> y = x * x
        >>> tr.set(x, 3.0)
        >>> tr.replay()
        >>> float(y)
        9.0
        """
        check_leaf(self, leaf, "the first argument of set")
        value = admit(self, value, leaf.node.is_param)
        check_replacement(leaf, value)
        settle(self)  # what shares memory with the old value
        leaf.node.value = value
        self._replaced.setdefault(leaf.id, []).append(len(self.nodes))

    def replay(self) -> None:
        """Recompute every value, in order, from the current leaves.

        The recorded operations run again, not the Python code that recorded them: a branch that
        was taken then is taken now. On an error nothing has changed.

        Raises
        ------
        TapeError
            Whatever an operation raises for the new values.

        Warns
        -----
        LostDerivativeWarning
            If more was recorded after plain numbers had been taken out of the trace: these stay as they were.
        """
        if self.taken is not None:
            self.taken.warn("replay", len(self.nodes) - 1, inactive=True)
        self.held.refresh()
        with replaying():
            recompute(self.nodes, where=self)
        self._replaced.clear()
        self.adjoints = self.root = None


def push_forward(
    nodes: list[Node],
    seeds: Mapping[int, Any],
    roots: Sequence[int],
    *,
    where: object,
) -> list[Any]:
    """Return the tangents of some nodes; all others are freed as soon as they are used up.

    Parameters
    ----------
    nodes : sequence of Node
        A tape.
    seeds : mapping of int to array
        The tangents of leaves that move, by node id.
    roots : sequence of int
        Of which nodes.
    where : object
        What errors name as the place of a node.

    Returns
    -------
    list
        One for each root, which may be a seed; None where nothing flows.
    """
    count = max(roots, default=-1) + 1
    tangents: list[Any] = [None] * count
    for i, seed in seeds.items():
        if i < count:
            tangents[i] = seed
    length = len(nodes)
    first = min(seeds, default=count) + 1
    last_use = _last_uses(nodes, first, count, roots)
    for i in range(first, count):
        if last_use[i] < 0:
            continue  # nobody wants it
        node = nodes[i]
        inputs = node.inputs
        incoming = [None if parent is None else tangents[parent] for parent in inputs[::2]]
        for tangent in incoming:
            if tangent is not None:
                break
        else:
            continue
        try:
            tangents[i] = node.call.push_forward(node, incoming)
        except Exception as error:
            error.add_note(f"in the jvp of {place(node, i, where)}")
            raise
        _drop_used(tangents, inputs, last_use, i)
    if len(nodes) != length:
        refuse_recording(nodes, length, where)
    return [tangents[root] for root in roots]


def _last_uses(nodes: Sequence[Node], first: int, count: int, roots: Sequence[int]) -> list[int]:
    """Return for each node the last one that needs it for a root; -1 if none does."""
    last = [-1] * count
    for root in roots:
        last[root] = count
    for i in range(count - 1, first - 1, -1):
        if last[i] < 0:
            continue
        for parent in nodes[i].inputs[::2]:
            if parent is not None and last[parent] < 0:
                last[parent] = i
    return last


def _drop_used(held: list[Any], inputs: tuple[Any, ...], last_use: Sequence[int], i: int) -> None:
    """Let go of what node ``i`` was the last one to use."""
    for parent in inputs[::2]:
        if parent is not None and last_use[parent] == i:
            held[parent] = None


def rerun(
    nodes: Sequence[Node], leaves: Mapping[int, Any], roots: Sequence[int], *, where: object
) -> list[Any]:
    """Return the values of some nodes for other leaves; the tape stays as it is.

    Parameters
    ----------
    nodes : sequence of Node
        A tape.
    leaves : mapping of int to array
        The values of leaves, by node id; others keep theirs.
    roots : sequence of int
        Of which nodes.
    where : object
        What errors name as the place of a node.

    Returns
    -------
    list
        One for each root.
    """
    count = max(roots, default=-1) + 1
    last_use = _last_uses(nodes, 0, count, roots)
    values: list[Any] = [None] * count
    for i in range(count):
        if last_use[i] < 0:
            continue  # nobody wants it
        node = nodes[i]
        op = node.call.op
        if op is None:
            values[i] = leaves.get(i, node.value)
            continue
        inputs = node.inputs
        operands = [
            operand if parent is None else values[parent]
            for parent, operand in zip(inputs[::2], inputs[1::2], strict=True)
        ]
        try:
            values[i] = op.bind(operands, node.call.attrs)
        except Exception as error:
            error.add_note(f"in {place(node, i, where)}")
            raise
        _drop_used(values, inputs, last_use, i)
    return [values[root] for root in roots]


def forget_values(nodes: Sequence[Node]) -> None:
    """Drop what `rerun` will compute anyway: all values but those of leaves and constants."""
    for node in nodes:
        if node.call.op is not None:
            node.value = None
            pairs = zip(node.parents, node.operands, strict=True)
            node.inputs = tuple(part for p, x in pairs for part in (p, x if p is None else None))


def recompute(nodes: Sequence[Node], *, where: object) -> None:
    """Compute every value anew from the leaves; on an error nothing has changed."""
    renewed: list[Node] = []
    for node in nodes:
        inputs: list[Any] = []
        for parent, operand in zip(node.parents, node.operands, strict=True):
            inputs += (parent, operand if parent is None else renewed[parent].value)
        try:
            renewed.append(node.call.again(node, len(renewed), tuple(inputs)))
        except Exception as error:
            error.add_note(f"in the replay of {place(node, len(renewed), where)}")
            raise
    for node, new in zip(nodes, renewed, strict=True):
        node.value, node.inputs = new.value, new.inputs
