"""The ranks of this run: how many there are, which one this is, and what each must do in the same order.

A process that an MPI launcher has started is one rank of several; any other process is the only rank, and
needs no MPI. Every collective operation begins with `World.enter`: a few bytes from each rank say what it is
about to do, so that ranks that do different things get an error and never numbers of each other.

This file must never know what is computed.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tape import errors
from tape.distributed._failures import Failures
from tape.system.extras import need

_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
"""Variables in which launchers give the number of ranks."""
_RANKS = ("PMIX_RANK", "PMI_RANK")
"""Variables that launchers set which do not give the number."""

_TIMEOUT = "TAPE_RANK_TIMEOUT"
"""The variable with the time limit of a whole run."""

KINDS = ("step", "broadcast", "gather", "mean", "barrier", "update", "check_same")
"""The collective operations."""

_SPINS = 200
"""Tests for arrival before a waiting rank lets others have its core."""
_SPINNING_TIME = 0.05
"""Seconds after which a waiting rank sleeps between tests."""


class World:
    """All ranks of a run, seen from one of them.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        The communicator of all ranks; None for a process on its own.
    """

    def __init__(self, comm: Any = None) -> None:
        self.comm = comm
        self.rank: int = 0 if comm is None else comm.Get_rank()
        self.size: int = 1 if comm is None else comm.Get_size()
        mpi: Any = sys.modules.get("mpi4py.MPI")
        self.byte: Any = None if comm is None else mpi.BYTE
        self.in_place: Any = None if comm is None else mpi.IN_PLACE
        self.failures = Failures(comm if self.size > 1 else None)
        if _TIMEOUT in os.environ:
            self.failures.limit = _limit(_TIMEOUT, os.environ[_TIMEOUT])

    def enter(self, kind: str, digest: int = 0, check: int = 0, weight: float = 0.0) -> np.ndarray:
        """Wait for all ranks to begin the same operation, and return what each of them says.

        Parameters
        ----------
        kind : str
            One of `KINDS`.
        digest, check : int
            Any two numbers of 63 bits.
        weight : float
            Any number.

        Returns
        -------
        numpy.ndarray, shape (size,)
            Records with the fields ``kind``, ``digest``, ``check`` and ``weight``, by rank.

        Raises
        ------
        RankError
            If another rank has failed or ended, or does something else.
        """
        mine = np.array([(KINDS.index(kind), digest, check, weight)], _HEADER)
        if self.size == 1:
            return mine
        self.failures.raise_known()
        headers = np.empty(self.size, _HEADER)
        self._pending = (mine, headers)  # MPI may write to them after an error
        self._wait(self.comm.Iallgather([mine, self.byte], [headers, self.byte]), kind)
        kinds = headers["kind"]
        if np.any(kinds != kinds[0]):
            doing = ", ".join(
                f"rank{'s' if len(found) > 1 else ''} {_listed(found)} in {KINDS[k]}"
                for k in np.unique(kinds)
                if len(found := np.flatnonzero(kinds == k))
            )
            error = errors.RankError(
                f"the ranks do different things: {doing}. Call the same functions of tape.distributed on "
                "every rank, in the same order; only what lies between may depend on is_root()"
            )
            raise self.failures.on_all(error)
        return headers

    def _wait(self, request: Any, kind: str) -> None:
        """Wait for a request, while other ranks may fail."""
        spins, start = 0, time.perf_counter()
        while not request.Test():
            spins += 1
            if spins % _SPINS:
                continue
            waited = time.perf_counter() - start
            self.failures.listen(kind, waited)
            time.sleep(0.0002 if waited > _SPINNING_TIME else 0)


def _limit(name: str, seconds: Any) -> float:
    """Return a time limit, checked."""
    try:
        limit = float(seconds)
    except (TypeError, ValueError):
        limit = 0.0
    if not limit > 0:
        raise errors.OptionError(f"{name} is {seconds!r}. It must be a positive number of seconds")
    return limit


_HEADER = np.dtype([("kind", np.int64), ("digest", np.int64), ("check", np.int64), ("weight", np.float64)])


def _listed(ranks: np.ndarray) -> str:
    shown = ", ".join(str(rank) for rank in ranks[:8])
    return f"{shown}, ... ({len(ranks)} of them)" if len(ranks) > 8 else shown


@functools.cache
def world() -> World:
    """Return the ranks of this run; the first call starts MPI, if a launcher has started this process."""
    found = [os.environ[name] for name in _SIZES if name in os.environ]
    expected = int(found[0]) if found and found[0].isdecimal() else None
    is_launched = expected != 1 and (expected or any(name in os.environ for name in _RANKS))
    if not is_launched and "mpi4py.MPI" not in sys.modules:
        return World()
    # Where a core does other work, too, waiting for a whole time slice makes an exchange take 20 ms, not 0.02
    os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    mpi = need("mpi4py.MPI", "several ranks", "mpi", "Or start the program without mpiexec")
    comm = mpi.COMM_WORLD
    if expected is not None and comm.Get_size() != expected:
        raise errors.RankError(
            f"{expected} ranks were launched, and mpi4py sees {comm.Get_size()}: each would run alone. The "
            "launcher belongs to another MPI than mpi4py; use the mpiexec of the same environment"
        )
    return World(comm)


def forget_launcher() -> None:
    """Make this process, which a rank has started, one on its own."""
    for name in (*_SIZES, *_RANKS):
        os.environ.pop(name, None)


def rank() -> int:
    """Return the number of this process among the ranks, from 0; 0 without MPI.

    Examples
    --------
    >>> import tape.distributed
    >>> tape.distributed.rank()
    0
    """
    return world().rank


def size() -> int:
    """Return the number of ranks; 1 without MPI.

    Examples
    --------
    >>> import tape.distributed
    >>> tape.distributed.size()
    1
    """
    return world().size


def is_root() -> bool:
    """Return whether this is rank 0, which prints, draws and saves.

    Examples
    --------
    >>> import tape.distributed
    >>> if tape.distributed.is_root():
    ...     print("once, however many ranks there are")
    once, however many ranks there are
    """
    return world().rank == 0


def barrier() -> None:
    """Wait until all ranks are here.

    Raises
    ------
    RankError
        If another rank has failed or ended, or does something else.

    Examples
    --------
    >>> import tape.distributed
    >>> tape.distributed.barrier()
    """
    world().enter("barrier")


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Let this rank wait for the others for so long only, wherever it does so within the block.

    A rank that waits for longer asks which of the others wait as well. It fails in place of those that do
    not answer, because they hang or are busy, with an error that names them, and ends the run.

    Parameters
    ----------
    seconds : float or None
        The limit: longer than the slowest step takes, compilation and saving included. None is no limit.

    Raises
    ------
    OptionError
        If it is not positive.
    RankError
        From the operation that waits, such as a step of `data_parallel`.

    Notes
    -----
    The variable ``TAPE_RANK_TIMEOUT`` in the environment gives a limit for the whole run, its end included.
    Only the beginning of an operation is limited: once all ranks are there, their numbers come at the speed
    of the network.

    Examples
    --------
    >>> import tape.distributed
    >>> with tape.distributed.time_limit(60.0):
    ...     tape.distributed.barrier()
    """
    limit = None if seconds is None else _limit("seconds", seconds)
    failures = world().failures
    before, failures.limit = failures.limit, limit
    try:
        yield
    finally:
        failures.limit = before
