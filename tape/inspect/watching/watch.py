"""The interface of a watch of a trace, and the stack of rules that are running."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import ref

if TYPE_CHECKING:
    from tape.core.node import Node

Phase = Literal["forward", "backward", "tangent"]
Ref = ref[Any]
"""A reference to a trace, which watches must not keep alive."""


class Rule(NamedTuple):
    """A rule that is running.

    Attributes
    ----------
    phase : {"backward", "tangent"}
        Whether it is a vjp or a jvp.
    node : Node
        The node it belongs to.
    given : array or None
        The adjoint that a vjp gets.
    """

    phase: Phase
    node: Node
    given: Any


class _Running(threading.local):
    def __init__(self) -> None:
        self.rules: list[tuple[Phase, Node, Any]] = []  # plain tuples, made in a tenth of the time


RUNNING = _Running()
"""The running rules of watched traces on this thread, innermost last; they record the nodes made now."""


class Watch:
    """A listener to the events of watched traces. An exception that it raises propagates."""

    def recorded(self, node: Node, id: int) -> None:
        """Handle a node that was computed, just before it gets this place on the tape, or in a replay."""

    def pulling(self, node: Node) -> None:
        """Handle the start of the vjp of a node."""

    def pulled(self, node: Node, adjoint: Any, contributions: Sequence[tuple[int, Any]], trace: Ref) -> None:
        """Handle the result of the vjp of a node."""

    def pushing(self, node: Node) -> None:
        """Handle the start of the jvp of a node."""

    def pushed(self, node: Node, incoming: Sequence[Any], tangent: Any, trace: Ref) -> None:
        """Handle the result of the jvp of a node; None for a zero tangent."""
