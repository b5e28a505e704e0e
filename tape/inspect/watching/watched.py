"""The watches of a trace, called for its nodes and for the rules of these; sites are recorded here too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tape.core.node import Call, Contributions, Node, Pull
from tape.core.sites import here
from tape.inspect.watching.watch import RUNNING, Ref, Watch


class Watching:
    """The watches of a trace, and whether its nodes keep the user's line.

    A trace that has one reports each node before it is appended; the node's call then is a `WatchedCall`.

    Parameters
    ----------
    trace : weakref.ref of Trace
        The trace.
    sites : bool
        Whether nodes keep the user's line that recorded them; nodes that a rule records keep that of its
        node.
    watches : sequence of Watch
        The watches, called in this order.
    """

    __slots__ = ("_calls", "_sites", "_trace", "_watches")

    def __init__(self, trace: Ref, sites: bool, watches: Sequence[Watch]) -> None:
        self._trace = trace
        self._sites = sites
        self._watches = watches
        self._calls: dict[Call, WatchedCall] = {}

    def recorded(self, node: Node, id: int) -> None:
        """Report a node that is about to be appended; a watch may raise."""
        if self._sites:
            rules = RUNNING.rules
            node._site = rules[-1][1].place if rules else here()
        for watch in self._watches:
            watch.recorded(node, id)
        call = node.call
        watched = self._calls.get(call)
        if watched is None:
            watched = self._calls[call] = WatchedCall(call, self._trace, self._watches)
        node.call = watched


class WatchedCall(Call):
    """The call of nodes on a watched trace, whose watches are called for each rule, and in a replay.

    Parameters
    ----------
    call : Call
        The call itself.
    trace : weakref.ref of Trace
        The trace.
    watches : sequence of Watch
        The watches, called in this order.
    """

    __slots__ = ("_trace", "_watches", "call")

    def __init__(self, call: Call, trace: Ref, watches: Sequence[Watch]) -> None:
        super().__init__(call.op, call.attrs, call.pull and _pull_watched(call.pull, trace, watches))
        self.call = call
        self._trace = trace
        self._watches = watches

    def push_forward(self, node: Node, tangents: Sequence[Any]) -> Any:
        """As for every call, watched."""
        rules = RUNNING.rules
        rules.append(("tangent", node, None))
        try:
            for watch in self._watches:
                watch.pushing(node)
            tangent = super().push_forward(node, tangents)
            for watch in self._watches:
                watch.pushed(node, tangents, tangent, self._trace)
            return tangent
        finally:
            rules.pop()

    def again(self, node: Node, id: int, inputs: tuple[Any, ...]) -> Node:
        """As for every call, watched: as if the new node were recorded."""
        renewed = super().again(node, id, inputs)
        renewed._site = node.place
        for watch in self._watches:
            watch.recorded(renewed, id)
        return renewed


def unwatched(call: Call) -> Call:
    """Return the call itself of one that is watched."""
    return call.call if isinstance(call, WatchedCall) else call


def _pull_watched(pull: Pull, trace: Ref, watches: Sequence[Watch]) -> Pull:
    """Return a pull function that calls the watches."""

    def watched(node: Node, adjoint: Any) -> Contributions:
        rules = RUNNING.rules
        rules.append(("backward", node, adjoint))
        try:
            for watch in watches:
                watch.pulling(node)
            contributions = list(pull(node, adjoint))
            for watch in watches:
                watch.pulled(node, adjoint, contributions, trace)
            return contributions
        finally:
            rules.pop()

    return watched
