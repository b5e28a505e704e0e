"""The watches of a trace, which it reports its events to; sites are recorded here too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tape.core.node import Contributions, Node
from tape.core.sites import here
from tape.inspect.watching.watch import RUNNING, Watch


class Watching:
    """The watches of a trace, and whether its nodes keep the user's line.

    A trace that has one reports each node before it is appended, and each rule of a sweep runs here.

    Parameters
    ----------
    sites : bool
        Whether nodes keep the user's line that recorded them; nodes that a rule records keep that of its
        node.
    watches : sequence of Watch
        The watches, called in this order.
    """

    __slots__ = ("_sites", "_watches")

    def __init__(self, sites: bool, watches: Sequence[Watch]) -> None:
        self._sites = sites
        self._watches = watches

    def recorded(self, node: Node, id: int) -> None:
        """Report a node that is about to be appended; a watch may raise."""
        if self._sites:
            rules = RUNNING.rules
            node._site = rules[-1][1].place if rules else here()
        for watch in self._watches:
            watch.recorded(node, id)

    def replayed(self, old: Node, id: int, value: Any, inputs: tuple[Any, ...]) -> None:
        """Report a recomputed value, before the node gets it."""
        again = Node(value, old.call, inputs)
        again._site = old._site if self._sites else None
        for watch in self._watches:
            watch.recorded(again, id)

    def pull(self, node: Node, adjoint: Any, nodes: Sequence[Node]) -> Contributions:
        """Run the vjp rule of a node."""
        rules = RUNNING.rules
        rules.append(("backward", node, adjoint))
        try:
            for watch in self._watches:
                watch.pulling(node, nodes)
            contributions = list(node.call.pull(node, adjoint))  # type: ignore[misc]
            for watch in self._watches:
                watch.pulled(node, adjoint, contributions, nodes)
            return contributions
        finally:
            rules.pop()

    def push(self, node: Node, incoming: Sequence[Any], nodes: Sequence[Node]) -> Any:
        """Run the jvp rule of a node."""
        rules = RUNNING.rules
        rules.append(("tangent", node, None))
        try:
            for watch in self._watches:
                watch.pushing(node, nodes)
            tangent = node.call.op.push_forward(node, incoming)  # type: ignore[union-attr]
            for watch in self._watches:
                watch.pushed(node, incoming, tangent, nodes)
            return tangent
        finally:
            rules.pop()
