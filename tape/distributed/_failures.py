"""What becomes of all ranks when one of them fails: none waits for ever, and each knows why it ends.

A rank that fails tells all others, which raise `RankError` where they wait for it, save what they have, and
say when they are done; then the rank that failed ends the run. A rank that does not answer is busy, and is
ended with it after `PATIENCE` seconds. A rank that just ends tells its successor, so that at least one
notices where others wait for it. A rank that is killed says nothing: the launcher ends the others. A rank
that hangs says nothing either: with a time limit, one that has waited for it for so long asks all others
whether they wait as well, and fails in place of those that do not answer.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import traceback
from types import TracebackType
from typing import Any

from tape import errors

PATIENCE = 4.0
"""Seconds that a rank that failed waits for an answer of the others."""
_GRACE = 2.0
"""Seconds for an operation to be completed by messages of a rank that has ended."""
_LONGEST = 600.0
"""Seconds that the others may take to save what they have."""

_ANSWERING = 2.0
"""Seconds that a rank has for the answer that it waits as well."""

_FAILED, _SEEN, _DONE, _ENDED, _ASKED, _WAITING = range(1, 7)


class Failures:
    """What this rank knows of failures, its own and others'.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm or None
        The communicator of all ranks; None for a process on its own.

    Attributes
    ----------
    in_step : BaseException or None
        The error that has ended a step, on this rank or another: the state is as it was before the step.
    limit : float or None
        Seconds that this rank waits for the others; None if it waits for as long as they need.
    """

    def __init__(self, comm: Any) -> None:
        self.in_step: BaseException | None = None
        self.limit: float | None = None
        self._own: BaseException | None = None
        self._of_other: BaseException | None = None
        self._culprit = -1
        self._on_all: BaseException | None = None
        self._silent: set[int] = set()
        self._answers: dict[int, int] = {}
        self._predecessor_ended: float | None = None
        self._requests: list[Any] = []
        self._comm: Any = comm and comm.Dup()
        if comm is None:
            return
        self._rank, self._size = comm.Get_rank(), comm.Get_size()
        self._hook = sys.excepthook
        sys.excepthook = self._on_exception
        atexit.register(self._at_exit)

    def raise_known(self) -> None:
        """Raise RankError if a rank has failed before: nothing can be done together any more."""
        if self._of_other is not None:
            raise self._of_other
        if self._own is not None:
            raise errors.RankError(
                f"this rank has failed before ({_said(self._own)}), and the others have been told. Let the "
                "error end the program"
            )

    def fail(self, error: BaseException) -> None:
        """Tell all other ranks that this one has failed."""
        if self._comm is None or self._own is not None or error in (self._of_other, self._on_all):
            return
        self._own = error
        text = _said(error)
        self._requests += [
            self._comm.isend(text, rank, _FAILED) for rank in range(self._size) if rank != self._rank
        ]

    def on_all(self, error: errors.TapeError) -> errors.TapeError:
        """Return an error that all ranks are about to raise: unless it is caught, the root reports it."""
        self._on_all = error
        return error

    def listen(self, doing: str, waited: float = 0.0) -> None:
        """Raise RankError if another rank has failed, or will not come any more.

        Parameters
        ----------
        doing : str
            The operation for which this rank waits, for the message.
        waited : float
            For how many seconds it has waited.
        """
        if self._comm is None:
            return
        self._hear()
        self._note_end()
        if self._predecessor_ended is not None and time.monotonic() - self._predecessor_ended > _GRACE:
            error = errors.RankError(
                f"rank {(self._rank - 1) % self._size} has ended, while rank {self._rank} waits for it in "
                f"{doing}. Do the same number of steps on all ranks"
            )
            self.fail(error)
            raise error
        if self.limit is not None and waited > self.limit:
            self._give_up(doing, self.limit, {rank for rank in range(self._size) if rank != self._rank})

    def _hear(self) -> None:
        """Raise RankError if another rank has failed, and answer those that ask whether this one waits."""
        comm = self._comm
        if comm.iprobe(tag=_FAILED):
            status = sys.modules["mpi4py.MPI"].Status()
            text = comm.recv(tag=_FAILED, status=status)
            self._culprit = status.Get_source()
            self._requests.append(comm.isend(None, self._culprit, _SEEN))
            self._of_other = errors.RankError(f"rank {self._culprit} failed: {text}")
            raise self._of_other
        for source in self._received(_ASKED):
            self._requests.append(comm.isend(None, source, _WAITING))

    def _received(self, tag: int) -> list[int]:
        """Receive all messages of a kind, and return who has sent them."""
        status, sources = sys.modules["mpi4py.MPI"].Status(), []
        while self._comm.iprobe(tag=tag, status=status):
            sources.append(status.Get_source())
            self._comm.recv(source=sources[-1], tag=tag)
        return sources

    def _give_up(self, doing: str, limit: float, others: set[int]) -> None:
        """Raise RankError if some ranks do not wait as this one does: they hang, or are too slow."""
        silent = set(others)
        self._received(_WAITING)  # answers to earlier questions
        self._requests += [self._comm.isend(None, rank, _ASKED) for rank in silent]
        start = time.monotonic()
        while silent and time.monotonic() - start < _ANSWERING:
            self._hear()
            silent -= set(self._received(_WAITING))
            time.sleep(0.001)
        if silent:  # otherwise what they wait for is on its way
            which = f"rank{'s' if len(silent) > 1 else ''} {', '.join(map(str, sorted(silent)[:8]))}"
            error = errors.RankError(
                f"{which} did not come to {doing} within {limit:g} seconds, for which rank {self._rank} has "
                "waited. Find out where it hangs, or give more time by tape.distributed.time_limit"
            )
            self._silent = silent
            self.fail(error)
            raise error

    def _note_end(self) -> None:
        predecessor = (self._rank - 1) % self._size
        if self._predecessor_ended is None and self._comm.iprobe(predecessor, _ENDED):
            self._comm.recv(source=predecessor, tag=_ENDED)
            self._predecessor_ended = time.monotonic()

    # ---- the end of the program ------------------------------------------------------------------

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, place: TracebackType | None
    ) -> None:
        """Print the error of this rank; for that of another one, a line will do."""
        if error is self._on_all and self._rank:
            self._of_other, self._culprit = self._on_all, 0
            return
        if error is self._of_other:
            print(f"rank {self._rank} of {self._size} stops: {error}", file=sys.stderr, flush=True)
            return
        print(f"rank {self._rank} of {self._size} failed:", file=sys.stderr)
        self._hook(kind, error, place)
        sys.stderr.flush()
        if error is self._on_all:
            self._own = error
        else:
            self.fail(error)

    def _at_exit(self) -> None:
        """End together: all well, or all together by the rank that failed."""
        if self._own is None and self._of_other is None:
            try:
                self._wait_for_predecessor()
            except errors.RankError as error:
                print(f"rank {self._rank} of {self._size} stops: {error}", file=sys.stderr, flush=True)
        if self._own is not None:
            self._collect()
            self._abort()
        if self._of_other is not None:
            self._requests.append(self._comm.isend(None, self._culprit, _DONE))
            self._abort(after=_LONGEST)

    def _collect(self) -> None:
        """Wait until all other ranks are done, or have not answered for too long."""
        start = time.monotonic()
        others = {rank for rank in range(self._size) if rank != self._rank} - self._silent
        status = sys.modules["mpi4py.MPI"].Status()
        while True:
            while self._comm.iprobe(status=status):
                source, tag = status.Get_source(), status.Get_tag()
                self._comm.recv(source=source, tag=tag)
                if tag in (_ASKED, _WAITING):
                    continue
                # One that has failed itself does not wait for this one
                self._answers[source] = max(self._answers.get(source, 0), _DONE if tag == _FAILED else tag)
            waited = time.monotonic() - start
            busy = [rank for rank in others if self._answers.get(rank, 0) < _DONE]
            known = [rank for rank in busy if self._answers.get(rank) == _SEEN]
            if not busy or (waited > PATIENCE and not known) or waited > _LONGEST:
                return
            time.sleep(0.005)

    def _wait_for_predecessor(self) -> None:
        """Wait for the end of another rank, so that one that fails until then is heard."""
        self._requests.append(self._comm.isend(None, (self._rank + 1) % self._size, _ENDED))
        start = time.monotonic()
        while self._predecessor_ended is None:
            self._hear()
            self._note_end()
            if self.limit is not None and time.monotonic() - start > self.limit:
                self._give_up("the end", self.limit, {(self._rank - 1) % self._size})
            time.sleep(0.001)

    def _abort(self, after: float = 0.0) -> None:
        """End all ranks, unless another one does so first."""
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(after)
        sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(1)
        os._exit(1)


def _said(error: BaseException) -> str:
    """Return the last lines of a traceback: the class of an error and its message."""
    return "".join(traceback.format_exception_only(error)).strip()
