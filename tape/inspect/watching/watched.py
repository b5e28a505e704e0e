"""The nodes of a trace that is watched: a list whose ``append`` tells.

Places the list notes by itself; for all else there are watches. What the rules of its nodes do it tells by
way of the calls that nodes have in common, so that no sweep has to ask.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from tape.core.node import Call, Contributions, Handle, Node, Pull
from tape.core.sites import here
from tape.inspect.watching.watch import AT_WORK, Watch

__all__ = ["Watched", "unwatched"]


_append = list.append


class Watched(list[Node]):
    """The nodes of a trace that is watched.

    Parameters
    ----------
    sites : bool
        Whether nodes keep the user's line that recorded them; what a rule records has its node's.
    watches : sequence of Watch
        Told of everything, in this order.
    """

    __slots__ = ("__weakref__", "_calls", "_sites", "_told", "_watches")

    def __init__(self, sites: bool, watches: Sequence[Watch]) -> None:
        super().__init__()
        self._sites = sites
        self._watches = watches
        self._told = [watch.recorded for watch in watches]
        self._calls: dict[Call, Call] = {}  # what nodes have in common, with a pull that tells

    def append(self, node: Node) -> None:
        """Append a node, after all have seen it; one of them may raise."""
        if self._sites:
            rules = AT_WORK.rules
            node._site = rules[-1][1]._site if rules else here()
        if self._told:
            for tell in self._told:
                tell(node, len(self))
            self._tell_of_rules(node)
        elif isinstance(node.value, Handle):  # what its rules do is recorded, on the trace around
            self._tell_of_rules(node)
        _append(self, node)

    def swept_from(self, seeds: Iterable[Any]) -> None:
        """A sweep is about to begin: from Vars of a trace around it, it is recorded there."""
        if not self._told and any(isinstance(seed, Handle) for seed in seeds):
            for node in self:
                self._tell_of_rules(node)

    def _tell_of_rules(self, node: Node) -> None:
        """Let a node call what tells."""
        call = node.call
        if call.pull is not None and not hasattr(call.pull, "__wrapped__"):
            told = self._calls.get(call)
            if told is None:
                told = self._calls[call] = Call(call.op, call.attrs, self._telling(call.pull))
            node.call = told

    def replayed(self, id: int, value: Any, inputs: tuple[Any, ...]) -> None:
        """Tell of a value that was computed anew, before the node gets it."""
        again = Node(value, self[id].call, inputs)
        again._site = self[id]._site if self._sites else None
        for tell in self._told:
            tell(again, id)

    def push_forward(self, node: Node, incoming: Sequence[Any]) -> Any:
        """The tangent of a node, as its operation has it."""
        rules = AT_WORK.rules
        rules.append(("tangent", node, None))
        try:
            for watch in self._watches:
                watch.pushing(node, self)
            tangent = node.call.op.push_forward(node, incoming)  # type: ignore[union-attr]
            for watch in self._watches:
                watch.pushed(node, incoming, tangent, self)
            return tangent
        finally:
            rules.pop()

    def _telling(self, pull: Pull) -> Pull:
        watches = self._watches
        seen = weakref.ref(self)  # held strongly, the tape would go only when the garbage is collected

        def tell(node: Node, adjoint: Any) -> Contributions:
            rules = AT_WORK.rules
            rules.append(("backward", node, adjoint))
            try:
                if not watches:
                    return pull(node, adjoint)
                nodes = seen() or ()
                for watch in watches:
                    watch.pulling(node, nodes)
                contributions = list(pull(node, adjoint))
                for watch in watches:
                    watch.pulled(node, adjoint, contributions, nodes)
                return contributions
            finally:
                rules.pop()

        tell.__wrapped__ = pull  # type: ignore[attr-defined]
        return tell


def unwatched(pull: Pull) -> Pull:
    """What a node calls for its vjp, so that no watch is told."""
    return getattr(pull, "__wrapped__", pull)
