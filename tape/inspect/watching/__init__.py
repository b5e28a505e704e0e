"""Watched traces: watches are called for every node as it is recorded, and every rule as it runs.

A watched trace has a `Watching`, to which it reports each node, and which puts a `WatchedCall` around the
call of the node: sweeps know nothing of it. Other traces have none, and record on a shorter path. The watches
are `finite.Finite`, for NaN, and `tape.inspect.profiling`, for time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from tape import errors
from tape.inspect.watching.finite import Finite
from tape.inspect.watching.watch import Ref, Watch
from tape.inspect.watching.watched import Watching

__all__ = ["BLOCKS", "Watch", "Watching", "debug", "watch_for", "watched"]


@dataclass(eq=False)
class _Block:
    """A ``with`` block in which new traces are watched."""

    sites: bool
    watches: Sequence[Watch]
    is_open: bool = True


BLOCKS: list[_Block] = []
"""The open blocks of all threads; nearly always none."""

_around: ContextVar[tuple[_Block, ...]] = ContextVar("blocks around", default=())


def watch_for(trace: Ref, sites: bool, check: bool) -> Watching | None:
    """Return the `Watching` of a new trace, by its options and the enclosing blocks; None without watches."""
    _check_options(sites, check)
    watches: list[Watch] = []
    for block in _around.get():
        if block.is_open:
            sites = sites or block.sites
            watches += block.watches
    if check:
        watches.append(Finite())
    return Watching(trace, sites or check, watches) if sites or watches else None


@contextmanager
def watched(*watches: Watch, sites: bool = True) -> Iterator[None]:
    """Watch all traces that are made in this block, on this thread or in this task."""
    block = _Block(sites, watches)
    _around.set((*_around.get(), block))
    BLOCKS.append(block)
    try:
        yield
    finally:
        # A generator may end on another thread than the one that opened it: there the block stays, closed.
        block.is_open = False
        BLOCKS.remove(block)
        _around.set(tuple(other for other in _around.get() if other is not block))


@contextmanager
def debug(*, sites: bool = True, check: bool = False) -> Iterator[None]:
    """Let all traces that are made in this block keep the sites of their nodes, those of transforms too.

    Compiled functions are not watched: use `tape.find_nonfinite` and `tape.profile` for these.

    Parameters
    ----------
    sites : bool
        Whether nodes keep the user's line that recorded them, which takes about a microsecond a node.
    check : bool
        Whether to raise at the first NaN or infinity that results from finite numbers, as
        ``Trace(check=True)`` does; NumPy's own warnings, which say less, are turned off.

    Examples
    --------
    >>> import numpy as np, tape
    >>> with tape.debug(check=True):
    ...     tape.grad(lambda x: np.sum(np.sqrt(x)))(np.array([1.0, 0.0]))
    Traceback (most recent call last):
        ...
    tape.errors.NonFiniteError: the derivative of sqrt made inf ...
    """
    _check_options(sites, check)
    quiet = np.errstate(all="ignore") if check else nullcontext()
    with quiet, watched(*((Finite(),) if check else ()), sites=sites or check):
        yield


def _check_options(sites: bool, check: bool) -> None:
    if not isinstance(sites, bool) or not isinstance(check, bool):
        raise errors.OptionError(f"debug: sites and check must be True or False, not {sites!r} and {check!r}")
