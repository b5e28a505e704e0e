"""The nodes of a watched trace: a list whose ``append`` calls the watches.

The list records sites itself; all else is up to watches. They are called for the rules of its nodes through
the `Call` objects that nodes share, so that sweeps need no checks.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from tape.core.node import Call, Contributions, Handle, Node, Pull
from tape.core.sites import here
from tape.inspect.watching.watch import RUNNING, Watch

__all__ = ["Watched", "unwatched"]


_append = list.append


class Watched(list[Node]):
    """The nodes of a watched trace.

    Parameters
    ----------
    sites : bool
        Whether nodes keep the user's line that recorded them; nodes that a rule records keep that of its
        node.
    watches : sequence of Watch
        The watches, called in this order.
    """

    __slots__ = ("__weakref__", "_calls", "_recorded", "_sites", "_watches")

    def __init__(self, sites: bool, watches: Sequence[Watch]) -> None:
        super().__init__()
        self._sites = sites
        self._watches = watches
        self._recorded = [watch.recorded for watch in watches]
        self._calls: dict[Call, Call] = {}  # shared calls, with a pull that calls the watches

    def append(self, node: Node) -> None:
        """Append a node after calling the watches, one of which may raise."""
        if self._sites:
            rules = RUNNING.rules
            node._site = rules[-1][1]._site if rules else here()
        if self._recorded:
            for recorded in self._recorded:
                recorded(node, len(self))
            self._watch_rules(node)
        elif isinstance(node.value, Handle):  # its rules record on the enclosing trace
            self._watch_rules(node)
        _append(self, node)

    def swept_from(self, seeds: Iterable[Any]) -> None:
        """Handle the start of a sweep; from Vars of an enclosing trace, it is recorded there."""
        if not self._recorded and any(isinstance(seed, Handle) for seed in seeds):
            for node in self:
                self._watch_rules(node)

    def _watch_rules(self, node: Node) -> None:
        """Let the vjp of a node call the watches."""
        call = node.call
        if call.pull is not None and not hasattr(call.pull, "__wrapped__"):
            watched = self._calls.get(call)
            if watched is None:
                watched = self._calls[call] = Call(call.op, call.attrs, self._watched_pull(call.pull))
            node.call = watched

    def replayed(self, id: int, value: Any, inputs: tuple[Any, ...]) -> None:
        """Call the watches for a recomputed value, before the node gets it."""
        again = Node(value, self[id].call, inputs)
        again._site = self[id]._site if self._sites else None
        for recorded in self._recorded:
            recorded(again, id)

    def push_forward(self, node: Node, incoming: Sequence[Any]) -> Any:
        """Return the tangent of a node by the rule of its operation."""
        rules = RUNNING.rules
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

    def _watched_pull(self, pull: Pull) -> Pull:
        watches = self._watches
        seen = weakref.ref(self)  # a strong reference would keep the tape until garbage collection

        def tell(node: Node, adjoint: Any) -> Contributions:
            rules = RUNNING.rules
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
    """Return the call of a node for its vjp without watches."""
    return getattr(pull, "__wrapped__", pull)
