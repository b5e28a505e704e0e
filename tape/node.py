"""What a tape is made of: the `Node`, and the bare `Handle` to one that users hold.

Knows nothing of recording, sweeping or arithmetic. `tape.trace` makes lists of these; `tape.var`
makes the handle behave like an array.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tape import errors
from tape.kernels.accumulate import Scattered

if TYPE_CHECKING:
    from tape.op import Op
    from tape.trace import Trace

__all__ = ["Contributions", "Handle", "Leaf", "Node", "Pull"]

Contributions = Iterable[tuple[int, Any]]
Pull = Callable[["Node", Any], Contributions]


class Node:
    """One entry of a tape.

    Attributes
    ----------
    value : numpy.ndarray, numpy.generic or Var
        The result of the operation; a Var of the enclosing trace when traces are nested.
    op : Op or None
        The operation that made it; None for a leaf.
    inputs : tuple
        For each operand the id of the node it came from, None for a constant, and its value:
        ``(id, value, id, value, ...)``. `parents` and `operands` are the two halves.
    attrs : dict
        The static arguments of the operation (axis, shape, ...).
    pull : callable or None
        What `vjp` calls, shared by all nodes alike. None for leaves and where no param is behind.
    is_param : bool
        Whether this is a leaf to differentiate by.
    name : str or None
        The name the user gave.
    """

    # The environment of the vjp closure is the node itself, and parents and operands share a tuple:
    # every further object would cost a scalar tape memory, and the garbage collector time.
    __slots__ = ("attrs", "inputs", "op", "pull", "value")

    is_param = False
    name: str | None = None

    def __init__(
        self, value: Any, op: Op | None, inputs: tuple[Any, ...], attrs: dict[str, Any], pull: Pull | None
    ) -> None:
        self.value = value
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.pull = pull

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
        pull = self.pull
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
        return self.pull is not None or self.is_param


class Leaf(Node):
    """An entry that no operation made: a param or an input."""

    __slots__ = ("is_param", "name")

    def __init__(self, value: Any, is_param: bool, name: str | None) -> None:
        self.value = value
        self.op = None
        self.inputs = ()
        self.attrs = {}
        self.pull = None
        self.is_param = is_param
        self.name = name


class Handle:
    """What the user holds: a trace and a node of it.

    The trace is held weakly: dropping the trace frees the whole tape at once, whatever handles are
    left. `tape.Var` adds everything that makes a handle behave like an array.
    """

    __slots__ = ("id", "node", "trace_ref")

    def __init__(self, trace_ref: weakref.ref[Trace], id: int, node: Node) -> None:
        self.trace_ref = trace_ref
        self.id = id
        self.node = node

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
