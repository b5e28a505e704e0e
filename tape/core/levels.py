"""Which trace an operation belongs to: the deepest among those of its operands, or a region above it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from tape import errors
from tape.core.node import Handle
from tape.core.scope import REGIONS, Region, region_above
from tape.core.trace import Trace

__all__ = ["alive", "deepest", "region_over"]


def alive(ref: weakref.ref[Trace], operands: Sequence[Any]) -> Trace:
    """The trace behind ``ref``; if it is gone, the error says which operand had it."""
    trace = ref()
    if trace is None:
        trace = next(o for o in operands if isinstance(o, Handle) and o.trace_ref is ref).trace
    return trace


def deepest(operands: Sequence[Any]) -> weakref.ref[Trace]:
    """A reference to the deepest trace among the operands, of which one at least is a Var."""
    ref: weakref.ref[Trace] | None = None
    gone: weakref.ref[Trace] | None = None
    for operand in operands:
        if not isinstance(operand, Handle) or operand.trace_ref is ref:
            continue
        if REGIONS and operand.trace_ref() is None and region_above(-1):
            gone = operand.trace_ref  # the region has another Var in its place, once its turn comes
            continue
        if ref is None:
            ref = operand.trace_ref
            continue
        first, second = alive(ref, operands), operand.trace
        if first.level == second.level:
            raise errors.TraceMismatchError(
                f"Vars of two unrelated traces met: {first!r} and {second!r}, both at level {first.level}. "
                "Use one trace; or nest them, opening the inner one with `with tape.Trace() as inner:` "
                "inside the other's, or making its params from the other's Vars"
            )
        if second.level > first.level:
            ref = operand.trace_ref
    ref = ref or gone
    assert ref is not None
    return ref


def region_over(operands: Sequence[Any]) -> Region | None:
    """The region that is asked about these operands before their traces are."""
    level = -1  # that of a trace which is gone: a region may have another Var in its place
    for operand in operands:
        trace = operand.trace_ref() if isinstance(operand, Handle) else None
        if trace is not None:
            if trace.is_batch:
                return None
            level = max(level, trace.level)
    return region_above(level)
