"""What goes on between steps: the `Run` that callbacks look at, their moments, and early stopping."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from tape import errors
from tape import tree as trees
from tape.train._history import History

MOMENTS = ("on_start", "on_step", "on_epoch", "on_end")
"""The methods of callbacks: once before the first step, after each step, after each epoch, and at last."""


class Run:
    """A training as callbacks see it.

    Attributes
    ----------
    state : tree
        The state after the last step. A callback may set it.
    step : int
        The number of steps done.
    epoch : int
        The number of epochs done before this one.
    batch : int
        The number of batches of this epoch that are done.
    metrics : dict of str to float
        Of the last step.
    epoch_metrics : dict of str to float
        Of the last epoch: the means over its steps and the validation, as in `History.epochs`.
    history : History
        The metrics of all steps and epochs.
    """

    def __init__(self, state: Any, history: History) -> None:
        self.state = state
        self.history = history
        self.step = self.epoch = self.batch = 0
        self.metrics: dict[str, float] = {}
        self.epoch_metrics: dict[str, float] = {}

    def stop(self, reason: str) -> None:
        """End the training after this moment; ``history.stopped`` is the reason."""
        self.history.stopped = reason


def checked_callbacks(callbacks: Any) -> list[Any]:
    """Return the callbacks as a list.

    Raises
    ------
    OptionError
        If one is neither a function nor an object with a method for a moment.
    """
    if callable(callbacks) or not isinstance(callbacks, Iterable):
        raise errors.OptionError("fit: callbacks must be a list of functions and objects")
    found = list(callbacks)
    for each in found:
        is_object = any(hasattr(each, name) for name in MOMENTS) and not isinstance(each, type)
        if not is_object and (isinstance(each, type) or not callable(each)):
            raise errors.OptionError(
                f"fit: {errors.describe(each)} is no callback. Pass a function of the run, which is called "
                "after "
                f"each epoch, or an object with some of the methods {', '.join(MOMENTS)}"
            )
    return found


class EarlyStopping:
    """Stops a training once a metric has not become better for some epochs.

    Parameters
    ----------
    metric : str
        A name in `History.epochs`, such as ``"val_loss"`` or ``"loss"``.
    patience : int
        How many epochs in a row may bring nothing better; at least 1.
    min_delta : float
        What is less better than this is not better.
    mode : {"min", "max"}
        Whether small or large values are good.

    Attributes
    ----------
    best : float
        The best value so far; NaN before the first.
    best_epoch : int
        Its epoch, from 0.
    best_state : tree
        A copy of the state then.

    Raises
    ------
    OptionError
        If an option is invalid, or an epoch has no such metric.

    Examples
    --------
    >>> from tape.train import EarlyStopping, fit
    >>> stopping = EarlyStopping(patience=2)
    >>> losses = iter([3.0, 2.0, 2.5, 2.6, 1.0])
    >>> w, history = fit(lambda w, batch: (w + 1, 0.0), 0, [None], epochs=5,
    ...                  validate=lambda w: next(losses), callbacks=[stopping])
    >>> w, stopping.best_state, history.stopped
    (4, 2, 'val_loss was best in epoch 1: 2')
    """

    def __init__(
        self,
        metric: str = "val_loss",
        patience: int = 5,
        min_delta: float = 0.0,
        mode: Literal["min", "max"] = "min",
    ) -> None:
        if isinstance(patience, bool) or not isinstance(patience, (int, np.integer)) or patience < 1:
            raise errors.OptionError(
                f"EarlyStopping: patience={errors.describe(patience)}. It must be a positive whole number"
            )
        if not (isinstance(min_delta, (int, float)) and 0 <= min_delta < math.inf):
            raise errors.OptionError(
                f"EarlyStopping: min_delta={errors.describe(min_delta)}. It must be zero or positive"
            )
        if mode not in ("min", "max"):
            raise errors.OptionError(
                f"EarlyStopping: mode={errors.describe(mode)}. It must be 'min' or 'max'"
            )
        self.metric, self.patience, self.min_delta, self.mode = metric, int(patience), min_delta, mode
        self.best, self.best_epoch, self.best_state = math.nan, -1, None
        self._waited = 0
        self._saved: Sequence[Any] = ()

    def __repr__(self) -> str:
        return f"EarlyStopping({self.metric!r}, patience={self.patience}, best={self.best:.6g})"

    def on_start(self, run: Run) -> None:
        """Begin anew, or take up what a checkpoint held."""
        if run.step == 0:
            self.best, self.best_epoch, self.best_state, self._waited = math.nan, -1, None, 0
        elif self._saved:
            self.best_state = trees.unflatten(trees.structure(run.state), self._saved)

    def on_epoch(self, run: Run) -> None:
        """Compare the epoch with the best one."""
        if self.metric not in run.epoch_metrics:
            raise errors.OptionError(
                f"EarlyStopping: an epoch has no metric {self.metric!r}, only {', '.join(run.epoch_metrics)}"
                f"{errors.near(self.metric, run.epoch_metrics)}"
            )
        value = run.epoch_metrics[self.metric]
        gain = self.best - value if self.mode == "min" else value - self.best
        if gain > self.min_delta or (math.isnan(self.best) and not math.isnan(value)):
            self.best, self.best_epoch, self._waited = value, run.epoch, 0
            self.best_state = trees.map(_copy, run.state)
            return
        self._waited += 1
        if self._waited >= self.patience:
            run.stop(f"{self.metric} was best in epoch {self.best_epoch}: {self.best:.6g}")

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint holds."""
        leaves = [] if self.best_epoch < 0 else trees.leaves(self.best_state)
        return {"best": self.best, "epoch": self.best_epoch, "waited": self._waited, "leaves": leaves}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a result of `state_dict`; the best state is put together at the start of the training."""
        self.best, self.best_epoch, self._waited = state["best"], state["epoch"], state["waited"]
        self._saved = state["leaves"]


def _copy(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else copy.deepcopy(leaf)
