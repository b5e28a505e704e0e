"""Traces that are watched: someone sees every node as it is recorded, and every rule as it runs.

The nodes of a trace are a plain list, and nothing asks whether anybody looks. Those of a watched one are a
`Watched` list, whose ``append`` tells: that is all there is to it, and why watching costs nothing when it is
off. Who looks: `finite.Finite`, for NaN, and `tape.profiling`, for time. Places the list notes by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from tape import errors
from tape.node import Call, Contributions, Node, Pull
from tape.sites import here
from tape.watching.finite import Finite
from tape.watching.watch import AT_WORK, Rule, Watch

__all__ = ["OPEN", "Watch", "Watched", "debug", "nodes_for", "unwatched", "watched"]

OPEN: list[tuple[bool, Sequence[Watch]]] = []
"""What new traces of any thread are to be watched by: nearly always nothing."""


class _Thread(threading.local):
    def __init__(self) -> None:
        self.open: list[tuple[bool, Sequence[Watch]]] = []


_thread = _Thread()


class Watched(list[Node]):
    """The nodes of a trace that is watched.

    Parameters
    ----------
    sites : bool
        Whether nodes keep the user's line that recorded them; what a rule records has its node's.
    watches : sequence of Watch
        Told of everything, in this order.
    """

    __slots__ = ("_calls", "_sites", "_told", "_watches")

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
            node._site = rules[-1].node._site if rules else here()
        for tell in self._told:
            tell(node, self)
        call = node.call
        if call.pull is not None:
            told = self._calls.get(call)
            if told is None:
                told = self._calls[call] = Call(call.op, call.attrs, self._telling(call.pull))
            node.call = told
        list.append(self, node)

    def push_forward(self, node: Node, incoming: Sequence[Any]) -> Any:
        """The tangent of a node, as its operation has it."""
        rules = AT_WORK.rules
        rules.append(Rule("tangent", node, None))
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

        def tell(node: Node, adjoint: Any) -> Contributions:
            rules = AT_WORK.rules
            rules.append(Rule("backward", node, adjoint))
            try:
                if not watches:
                    return pull(node, adjoint)
                for watch in watches:
                    watch.pulling(node, self)
                contributions = list(pull(node, adjoint))
                for watch in watches:
                    watch.pulled(node, adjoint, contributions, self)
                return contributions
            finally:
                rules.pop()

        tell.__wrapped__ = pull  # type: ignore[attr-defined]
        return tell


def unwatched(pull: Pull) -> Pull:
    """What a node calls for its vjp, so that no watch is told."""
    return getattr(pull, "__wrapped__", pull)


def nodes_for(sites: bool, check: bool) -> list[Node]:
    """The list for the nodes of a new trace: watched as was asked for, and by what this thread has open."""
    watches: list[Watch] = []
    for has_sites, opened in _thread.open:
        sites = sites or has_sites
        watches += opened
    if check:
        watches.append(Finite())
    return Watched(sites or check, watches) if sites or watches else []


@contextmanager
def watched(*watches: Watch, sites: bool = True) -> Iterator[None]:
    """All traces made in this block, on this thread, are watched by these."""
    opened = (sites, watches)
    _thread.open.append(opened)
    OPEN.append(opened)
    try:
        yield
    finally:
        _thread.open.remove(opened)
        OPEN.remove(opened)


@contextmanager
def debug(*, sites: bool = True, check: bool = False) -> Iterator[None]:
    """All traces made in this block know where their nodes come from, those of transforms too.

    Parameters
    ----------
    sites : bool
        Whether nodes keep the place that recorded them: about a microsecond a node.
    check : bool
        Whether the first NaN or infinity made out of finite numbers raises, as ``Trace(check=True)`` does;
        the warnings of NumPy, which say less, are off.

    Examples
    --------
    >>> import numpy as np, tape
    >>> with tape.debug(check=True):
    ...     tape.grad(lambda x: np.sum(np.sqrt(x)))(np.array([1.0, 0.0]))
    Traceback (most recent call last):
        ...
    tape.errors.NonFiniteError: the derivative of sqrt made inf ...
    """
    if not isinstance(sites, bool) or not isinstance(check, bool):
        raise errors.OptionError(f"sites and check are True or False, not {sites!r} and {check!r}")
    quiet = np.errstate(all="ignore") if check else nullcontext()
    with quiet, watched(*((Finite(),) if check else ()), sites=sites or check):
        yield
