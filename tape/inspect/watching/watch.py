"""What a watch of a trace is told; each kind takes notice of what it is for. And which rule is at work."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from tape.core.node import Node

__all__ = ["AT_WORK", "Phase", "Rule", "Watch"]

Phase = Literal["forward", "backward", "tangent"]


class Rule(NamedTuple):
    """A rule that is running.

    Attributes
    ----------
    phase : {"backward", "tangent"}
        Whether that is a vjp or a jvp.
    node : Node
        Whose.
    given : array or None
        The adjoint of a vjp.
    """

    phase: Phase
    node: Node
    given: Any


class _AtWork(threading.local):
    def __init__(self) -> None:
        self.rules: list[tuple[Phase, Node, Any]] = []  # plain tuples, which take a tenth of the time to make


AT_WORK = _AtWork()
"""The rules of watched traces that run on this thread, innermost last: what is recorded now is theirs."""


class Watch:
    """Someone who sees what happens on traces. What it raises stops the work."""

    def recorded(self, node: Node, id: int) -> None:
        """A node has been computed, and is about to get this place on the tape; or anew, in a replay."""

    def pulling(self, node: Node, nodes: Sequence[Node]) -> None:
        """The vjp of a node is about to run."""

    def pulled(
        self, node: Node, adjoint: Any, contributions: Sequence[tuple[int, Any]], nodes: Sequence[Node]
    ) -> None:
        """The vjp of a node has run."""

    def pushing(self, node: Node, nodes: Sequence[Node]) -> None:
        """The jvp of a node is about to run."""

    def pushed(self, node: Node, incoming: Sequence[Any], tangent: Any, nodes: Sequence[Node]) -> None:
        """The jvp of a node has run; None where nothing flows."""
