"""`Keeper`: the last good state of a run, saved on root now and then, and where a rank fails."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from tape import errors
from tape.distributed._world import world


class Keeper:
    """Save the state of a run on root every so many steps, and once more when a step fails.

    The state is the same on all ranks, so that a run can go on from it on any number of ranks.

    Parameters
    ----------
    save : callable
        ``save(step, state)``, called on root only. It should write to another file and rename that, as the
        run may be ended at any time.
    every : int
        Steps from one call to the next.

    Raises
    ------
    OptionError
        If ``every`` is not positive.

    Notes
    -----
    When a function of `data_parallel` raises on any rank, or ranks disagree, no rank has a result of that
    step, and the state is as it was after the one before: root saves it, and the other ranks wait. So change
    the state only between the result of a step and the call of the keeper. A rank that is killed, or raises
    elsewhere while the others compute, leaves no time for that: the last state of every so many steps is
    what remains.

    Examples
    --------
    >>> import numpy as np, tape, tape.distributed
    >>> saved = {}
    >>> step = tape.distributed.data_parallel(tape.grad(lambda w, x: np.mean((w - x) ** 2)))
    >>> w = np.array(0.0)
    >>> with tape.distributed.Keeper(lambda number, state: saved.update({number: state}), every=2) as keep:
    ...     for number in range(1, 5):
    ...         w = w - 0.5 * step(w, np.array([1.0, 3.0]))
    ...         keep(number, w)
    >>> saved
    {2: np.float64(2.0), 4: np.float64(2.0)}
    """

    def __init__(self, save: Callable[[int, Any], object], every: int) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise errors.OptionError(f"every is {every!r}. It is a number of steps, 1 or more")
        self._save, self._every = save, every
        self._latest: tuple[int, Any] | None = None
        self._is_saved = False

    def __enter__(self) -> Keeper:
        return self

    def __call__(self, step: int, state: Any) -> None:
        """Note the state after a step, and save it if it is time."""
        self._latest, self._is_saved = (step, state), False
        if step % self._every == 0:
            self._write()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        if error is not None and error is world().failures.in_step and not self._is_saved:
            self._write()

    def _write(self) -> None:
        if self._latest is not None and world().rank == 0:
            self._save(*self._latest)
        self._is_saved = True
