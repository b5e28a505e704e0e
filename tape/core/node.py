"""Nodes, of which a tape is a list, and the bare `Handle` to one that users hold.

Knows nothing of recording, sweeping or arithmetic. `tape.core.trace` makes lists of these; `tape.core.var`
makes the handle behave like an array.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tape import errors
from tape.core.sites import Noted
from tape.kernels.accumulate import Scattered

if TYPE_CHECKING:
    from tape.core.op import Op
    from tape.core.trace import Trace
    from tape.inplace.aliases import Share

Contributions = Iterable[tuple[int, Any]]
Pull = Callable[["Node", Any], Contributions]


class Call:
    """An operation as it was called, shared by all nodes that differ only in their operands.

    Parameters
    ----------
    op : Op or None
        The operation; None for a leaf.
    attrs : dict
        The static arguments (axis, shape, ...).
    pull : callable or None
        ``pull(node, adjoint)``: what `Node.vjp` calls. None for leaves and where no param is behind.
    """

    __slots__ = ("attrs", "op", "pull")

    def __init__(self, op: Op | None, attrs: dict[str, Any], pull: Pull | None) -> None:
        self.op = op
        self.attrs = attrs
        self.pull = pull

    def push_forward(self, node: Node, tangents: Sequence[Any]) -> Any:
        """Return the tangent of a node, given those of its operands; None where nothing flows."""
        return self.op.tangent(node.value, node.inputs[1::2], tangents, self.attrs)  # type: ignore[union-attr]

    def again(self, node: Node, id: int, inputs: tuple[Any, ...]) -> Node:
        """Return node number ``id`` with other inputs, its value computed from these."""
        return Node(node.value if self.op is None else self.op.bind(inputs[1::2], self.attrs), self, inputs)


class Node(Noted):
    """One entry of a tape.

    Attributes
    ----------
    value : numpy.ndarray, numpy.generic or Var
        The result of the operation; a Var of the enclosing trace when traces are nested.
    call : Call
        The operation that made it, with its static arguments; shared by nodes alike.
    inputs : tuple
        For each operand the id of the node it came from, None for a constant, and its value:
        ``(id, value, id, value, ...)``. `parents` and `operands` are the two halves.
    is_param : bool
        Whether this is a leaf to differentiate by.
    name : str or None
        The name the user gave.
    site : Site or None
        The place in the user's code that recorded it, if the trace keeps that.
    """

    # The environment of the vjp closure is the node itself, and a node refers to as little as it can:
    # on a long scalar tape, every further slot costs memory and makes each garbage collection longer.
    __slots__ = ("call", "inputs", "value")

    is_param = False

    def __init__(self, value: Any, call: Call, inputs: tuple[Any, ...]) -> None:
        self.value = value
        self.call = call
        self.inputs = inputs

    @property
    def op(self) -> Op | None:
        """The operation that made it; None for a leaf."""
        return self.call.op

    @property
    def attrs(self) -> dict[str, Any]:
        """The static arguments of the operation (axis, shape, ...)."""
        return self.call.attrs

    @property
    def parents(self) -> tuple[int | None, ...]:
        """The id of the node each operand came from; None for a constant."""
        return self.inputs[::2]

    @property
    def operands(self) -> tuple[Any, ...]:
        """The value of each operand."""
        return self.inputs[1::2]

    @property
    def vjp(self) -> Callable[[Any], Contributions] | None:
        """The closure ``vjp(adjoint)``: (parent id, contribution) for each operand that wants one.

        None for leaves and for nodes that depend on no param.
        """
        pull = self.call.pull
        if pull is None:
            return None

        def vjp(adjoint: Any) -> Contributions:
            return [
                (parent, part.dense() if isinstance(part, Scattered) else part)
                for parent, part in pull(self, adjoint)
            ]

        return vjp

    @property
    def is_active(self) -> bool:
        """Whether this is a param or depends on one, and so may receive an adjoint."""
        return self.call.pull is not None or self.is_param


_NO_CALL = Call(None, {}, None)


class Leaf(Node):
    """An entry that no operation made: a param or an input."""

    __slots__ = ("is_param", "name")

    def __init__(self, value: Any, is_param: bool, name: str | None) -> None:
        self.value = value
        self.call = _NO_CALL
        self.inputs = ()
        self.is_param = is_param
        self.name = name


class Handle:
    """A trace and a node of it: the base of `Var`, which users hold.

    The trace is held weakly: dropping the trace frees the whole tape at once, whatever handles are
    left. `tape.Var` adds everything that makes a handle behave like an array.
    """

    __slots__ = ("__weakref__", "id", "node", "share", "trace_ref")

    # Whether a program computes this anew (`tape.program.record.traced`), whether it stands for several
    # values (`tape.interpreters.batching`), and whether its node is recorded later, when `like` is a node of
    # its type (`tape.transforms.loops.deferring`).
    is_traced: ClassVar[bool] = False
    is_batch: ClassVar[bool] = False
    is_deferred: ClassVar[bool] = False

    def __init__(self, trace_ref: weakref.ref[Trace], id: int, node: Node) -> None:
        self.trace_ref = trace_ref
        self.id = id
        self.node = node
        self.share: Share | Handle | None = None  # of what it is a view: see `tape.inplace.aliases`

    def again(self) -> Self:
        """Another handle to the same node, which stays there when this one is written to and moves on."""
        return type(self)(self.trace_ref, self.id, self.node)

    @property
    def trace(self) -> Trace:
        """The trace this belongs to.

        Raises
        ------
        TraceDroppedError
            If the trace is gone.
        """
        trace = self.trace_ref()
        if trace is None:
            raise errors.TraceDroppedError(
                f"{self!r} was used after its trace was dropped. Keep a reference to the Trace as "
                "long as its Vars take part in computations; .value still reads the number"
            )
        return trace


def snapshot(value: Any) -> Any:
    """Return a value to keep: writing to the Var in place later does not change it."""
    return value.again() if isinstance(value, Handle) else value


def plain(value: Any) -> Any:
    """The array below all nesting; of a batch, the first one, from which shapes and dtypes can be read."""
    while isinstance(value, Handle):
        if value.is_batch:
            return _first(plain(value.node.value))
        value = value.node.value
    return value


def _first(values: Any) -> Any:
    if isinstance(values, tuple):  # several results
        return type(values)(map(_first, values))
    return values[0] if len(values) else np.zeros(values.shape[1:], values.dtype)[()]
