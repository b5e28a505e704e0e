"""The loop of a training: a step for each batch, and between them validation, callbacks and checkpoints.

The state is any tree and the step any function; what lasts longer than a call is in `Run` and its history.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from tape import errors
from tape import tree as trees
from tape.optim import Accumulated
from tape.program.growth import repeatable
from tape.program.native.warming import warm_up
from tape.system.progress import progress_bar
from tape.train._callbacks import MOMENTS, Run, checked_callbacks
from tape.train._captured import forgotten
from tape.train._checkpoints import Checkpoints
from tape.train._encoding import Stateful
from tape.train._history import History
from tape.train._metrics import check_finite, check_names, numbers_of, rows_of

_INTERRUPTED = "interrupted"


def fit(
    step: Callable[[Any, Any], tuple[Any, Any]],
    state: Any,
    batches: Iterable[Any] | Callable[[int], Iterable[Any]],
    *,
    epochs: int = 1,
    validate: Callable[[Any], Any] | None = None,
    callbacks: Sequence[Any] = (),
    checkpoints: Checkpoints | None = None,
    also: Any = None,
    nonfinite: Literal["raise", "continue"] = "raise",
    progress: bool = False,
) -> tuple[Any, History]:
    """Call ``state, metrics = step(state, batch)`` for all batches of all epochs.

    Ctrl-C ends the training after the step that runs, as its last epoch would: callbacks end, a checkpoint is
    saved, state and history are returned. A second one is a `KeyboardInterrupt` at once.

    Parameters
    ----------
    step : callable
        It takes the state and a batch, and returns the next state and its metrics: a dict of numbers, or one
        number, the loss.
    state : tree
        The parameters, and all else that steps change: moments, counters, generators.
    batches : iterable, or callable
        The batches of an epoch, such as a `DataLoader`, or a function from the number of the epoch to them.
    epochs : int
        How many times all batches are gone through; positive.
    validate : callable, optional
        It takes the state at the end of each epoch, and returns metrics, which are called ``val_...``. See
        `evaluate`.
    callbacks : sequence
        Functions and objects. A function takes the `Run` after each epoch, with its validation. An object has
        methods for some of the moments ``on_start``, ``on_step``, ``on_epoch`` and ``on_end``.
    checkpoints : Checkpoints, optional
        The folder of this training. If there is a checkpoint in it, the training goes on from there: the same
        call again, after a kill, gives what one call would have given. That includes the position in the
        batches, if they are a `DataLoader` or `Windows`; of others as many are skipped as had been used.
    also : tree, optional
        What else checkpoints hold, and is restored in place: generators and optimizers that the step uses.
    nonfinite : {"raise", "continue"}
        What happens when a metric is NaN or infinite.
    progress : bool
        Whether to show a progress bar, by tqdm.

    Returns
    -------
    state : tree
    history : History

    Raises
    ------
    NonFiniteError
        If a metric is NaN or infinite; the state of that step is in no checkpoint.
    OptionError
        If an option is invalid, or there are no batches.
    DTypeError
        If the step does not return a state and metrics.
    CheckpointError
        If the folder holds another training.

    Warns
    -----
    CheckpointWarning
        If the step uses a generator, or an object with ``state_dict``, that no checkpoint would hold.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.train import fit
    >>> xs = np.linspace(-1.0, 1.0, 20)
    >>> def loss(w, batch):
    ...     return np.mean((w[0] + w[1] * batch - (3 * batch - 1)) ** 2)
    >>> @tape.compile
    ... def step(w, batch):
    ...     value, gradient = tape.value_and_grad(loss)(w, batch)
    ...     return w - 0.3 * gradient, {"loss": value}
    >>> w, history = fit(step, np.zeros(2), [xs[:10], xs[10:]], epochs=60)
    >>> w.round(3), history.epochs["loss"].shape
    (array([-1.,  3.]), (60,))
    """
    if isinstance(epochs, bool) or not isinstance(epochs, (int, np.integer)) or epochs < 1:
        raise errors.OptionError(f"fit: epochs={errors.describe(epochs)}. It must be a positive whole number")
    if nonfinite not in ("raise", "continue"):
        raise errors.OptionError(
            f"fit: nonfinite={errors.describe(nonfinite)}. It must be 'raise' or 'continue'"
        )
    if not (isinstance(batches, Iterable) or callable(batches)):
        raise errors.OptionError(
            f"fit: batches is {errors.describe(batches)}. Pass an iterable, such as a tape.train.DataLoader"
        )
    if checkpoints is not None and not isinstance(checkpoints, Checkpoints):
        raise errors.OptionError(
            f"fit: checkpoints={errors.describe(checkpoints)}. Pass tape.train.Checkpoints(folder), or None"
        )
    run = Run(state, History())
    loop = _Loop(run, step, batches, int(epochs), validate, checked_callbacks(callbacks))
    loop.also, loop.checkpoints, loop.may_be_nonfinite = also, checkpoints, nonfinite == "continue"
    loop.is_shown = progress
    if checkpoints is not None:  # a run that is resumed repeats to the last bit, and so with the same code
        warm_up(progress)
    loop.restore()
    with (
        repeatable() if checkpoints is not None else contextlib.nullcontext(),
        _interrupts() as is_interrupted,
        progress_bar(progress, "training", loop.steps_left(), "steps") as bar,
    ):
        loop.run_all(is_interrupted, bar)
    return run.state, run.history


class _Loop:
    """One call of `fit`: where it is, and what it does between steps."""

    also: Any
    checkpoints: Checkpoints | None
    may_be_nonfinite: bool
    is_shown: bool

    def __init__(
        self,
        run: Run,
        step: Callable[[Any, Any], tuple[Any, Any]],
        batches: Any,
        epochs: int,
        validate: Callable[[Any], Any] | None,
        callbacks: Sequence[Any],
    ) -> None:
        self._run, self._step, self._batches = run, step, batches
        self._epochs, self._validate, self._callbacks = epochs, validate, callbacks
        self._epoch_began = 0  # the number of steps by then
        self._rows = 0
        self._began = time.monotonic()

    # ---- checkpoints ---------------------------------------------------------------------------

    def _kept(self) -> dict[str, Any]:
        stateful = [each for each in (self._batches, *self._callbacks) if isinstance(each, Stateful)]
        run = self._run
        place = {"epoch": run.epoch, "batch": run.batch, "epoch began": self._epoch_began}
        parts = [_Part(each) for each in (run.history, *stateful)]
        return {"state": run.state, "also": self.also, "parts": parts, "place": place}

    def restore(self) -> None:
        """Go on from the newest checkpoint, if there is one."""
        if self.checkpoints is None:
            return
        self._warn_of_forgotten()
        restored = self.checkpoints.restore(self._kept())
        if restored is None:
            return
        run = self._run
        run.step, kept = restored
        run.state, place = kept["state"], kept["place"]
        run.epoch, run.batch, self._epoch_began = place["epoch"], place["batch"], place["epoch began"]
        run.metrics = run.history.last
        if run.history.stopped == _INTERRUPTED:
            run.history.stopped = ""

    def _warn_of_forgotten(self) -> None:
        leaves = trees.flatten((self._run.state, self.also))[0]
        held = [self._batches, *getattr(self._batches, "__dict__", {}).values(), *self._callbacks]
        held += [leaf.optimizer for leaf in leaves if isinstance(leaf, Accumulated)]
        if names := forgotten(self._step, [*leaves, *held]):
            errors.warn(
                f"fit: the step uses {', '.join(names)}, whose state is in no checkpoint: a resumed "
                "training would "
                f"differ. Pass also=({', '.join(names)},)",
                errors.CheckpointWarning,
            )

    def _save(self) -> None:
        if self.checkpoints is not None:
            self.checkpoints.save(self._run.step, self._kept())

    def steps_left(self) -> int | None:
        """Return the number of steps until the end, if the batches can be counted."""
        try:
            return (self._epochs - self._run.epoch) * len(self._batches) - self._run.batch
        except TypeError:
            return None

    # ---- the loop ------------------------------------------------------------------------------

    def run_all(self, is_interrupted: Callable[[], bool], bar: Any) -> None:
        """Run the epochs that are left."""
        run = self._run
        self._call("on_start")
        try:
            while not self._is_over():
                with contextlib.closing(self._batches_left()) as batches:
                    for batch in batches:
                        self._advance(batch, bar)
                        if is_interrupted():
                            run.stop(_INTERRUPTED)
                        if self._is_over():
                            break
                        every = None if self.checkpoints is None else self.checkpoints.every
                        if every is not None and run.step % every == 0:
                            self._save()
                    else:
                        self._end_epoch()
                        if is_interrupted():
                            run.stop(_INTERRUPTED)
            self._save()
        finally:
            self._call("on_end")

    def _is_over(self) -> bool:
        return self._run.epoch >= self._epochs or bool(self._run.history.stopped)

    def _batches_left(self) -> Generator[Any, None, None]:
        """Yield the batches of this epoch that have not been used."""
        run, source = self._run, self._batches
        if isinstance(source, Stateful):  # has its own position
            iterator, skipped = iter(source), 0  # type: ignore[call-overload]
        else:
            iterator = iter(source if isinstance(source, Iterable) else source(run.epoch))
            skipped = run.batch
        for k in range(skipped):
            try:
                next(iterator)
            except StopIteration:
                raise errors.CheckpointError(
                    f"fit: epoch {run.epoch} has {k} batches, and {skipped} were used before the "
                    "checkpoint. Pass "
                    "the same batches as before"
                ) from None
        try:
            yield from iterator
        finally:
            if hasattr(iterator, "close"):
                iterator.close()
        if run.batch == 0:
            raise errors.OptionError(
                f"fit: there are no batches in epoch {run.epoch}. Pass a list, a DataLoader, or a function "
                "from "
                "the number of the epoch to an iterator: an iterator can be gone through only once"
            )

    def _advance(self, batch: Any, bar: Any) -> None:
        run = self._run
        place = f"in step {run.step} (epoch {run.epoch}, batch {run.batch})"
        try:
            result = self._step(run.state, batch)
        except Exception as error:
            error.add_note(f"raised {place} of tape.train.fit")
            raise
        if not isinstance(result, tuple) or len(result) != 2:
            raise errors.DTypeError(
                f"fit: the step returned {errors.describe(result)}. It must return a pair: the state, metrics"
            )
        metrics = numbers_of(result[1], "the step's metrics")
        check_names(metrics)
        if not self.may_be_nonfinite:
            check_finite(metrics, place, run.metrics)
        run.state, run.metrics = result[0], metrics
        run.history.add_step(metrics)
        run.step += 1
        run.batch += 1
        self._call("on_step")
        if self.is_shown:
            self._show(batch, bar)

    def _show(self, batch: Any, bar: Any) -> None:
        self._rows += rows_of(batch)
        rate = self._rows / max(time.monotonic() - self._began, 1e-9)
        shown = {**self._run.history.last, "samples/s": rate}
        bar.set_postfix_str(", ".join(f"{name}={value:.4g}" for name, value in shown.items()), refresh=False)
        bar.update()

    def _end_epoch(self) -> None:
        run = self._run
        row = {"step": float(run.step)} | run.history.means(self._epoch_began)
        if self._validate is not None:
            found = numbers_of(self._validate(run.state), "the metrics of validate")
            found = {f"val_{name}": value for name, value in found.items()}
            if not self.may_be_nonfinite:
                check_finite(found, f"after step {run.step} (epoch {run.epoch})", run.history.last)
            row |= found
        run.history.add_epoch(row)
        run.epoch_metrics = row
        self._call("on_epoch")
        run.epoch, run.batch, self._epoch_began = run.epoch + 1, 0, run.step
        if self.checkpoints is not None and self.checkpoints.every is None:
            self._save()

    def _call(self, moment: str) -> None:
        for callback in self._callbacks:
            if any(hasattr(callback, name) for name in MOMENTS):
                getattr(callback, moment, _ignore)(self._run)
            elif moment == "on_epoch":
                callback(self._run)


def _ignore(run: Run) -> None:
    """Do nothing at a moment that an object has no method for."""


class _Part:
    """An object whose state is kept, whether or not it is also a tree."""

    def __init__(self, part: Stateful) -> None:
        self._part = part

    def state_dict(self) -> Any:
        return self._part.state_dict()

    def load_state_dict(self, state: Any) -> None:
        self._part.load_state_dict(state)


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Take the first Ctrl-C as a wish, the second one as always.

    Only in the main thread, which alone may, and if nobody else handles Ctrl-C.
    """
    wishes: list[int] = []

    def handle(number: int, frame: Any) -> None:
        if wishes:
            raise KeyboardInterrupt
        wishes.append(number)
        print("\nends after this step; Ctrl-C again ends at once", file=sys.stderr)

    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if is_ours:
        signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: bool(wishes)
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
