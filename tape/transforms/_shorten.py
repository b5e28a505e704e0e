"""A tape made shorter before a program sweeps it: merged, and with loops in place of what repeats itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tape.core.trace import Trace
from tape.transforms._merge import merged, moved
from tape.transforms.loops import rolling
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.trimming import trimmed


def shortened(trace: Trace, params: Sequence[Any], roots: Sequence[Any], notes: list[str]) -> Sequence[Any]:
    """Make the tape of a trace shorter.

    Parameters
    ----------
    trace : Trace
        Nothing records on it any more.
    params, roots : sequence of Var
        Its leaves that stay, and the nodes that are asked for.
    notes : list of str
        To which the reason is added why something that repeats itself is no loop.

    Returns
    -------
    sequence of Var
        The params, and then the roots, where they are now.
    """
    handles: Sequence[Any] = [*params, *roots]
    count = len(params)
    if len(trace) >= min(rolling.LEAST_NODES, rolling.LEAST_OF_PRODUCTS):
        columns = Columns(trace.nodes)
        shorter = merged(columns, [handle.id for handle in handles])
        # Otherwise loops first: what a step shares with the one before would become a state of the loop.
        if shorter is not None and 2 * len(shorter[0]) < len(trace):
            handles = moved(trace, handles, shorter)
            columns = Columns(trace.nodes)
        ids = [handle.id for handle in handles]
        shorter = rolling.rolled(columns, ids[:count], ids[count:], notes)
        handles = moved(trace, handles, shorter)
    handles = moved(trace, handles, rolling.gathered(Columns(trace.nodes), [handle.id for handle in handles]))
    ids = [handle.id for handle in handles]
    handles = moved(trace, handles, trimmed(Columns(trace.nodes), ids[:count], ids[count:]))
    return moved(trace, handles, merged(Columns(trace.nodes), [handle.id for handle in handles]))
