"""The history of a training: metrics of each step and of each epoch, as arrays, and their picture."""

from __future__ import annotations

import os
from array import array
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from tape import errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class History:
    """Metrics by name: of steps, and of epochs.

    Attributes
    ----------
    stopped : str
        Why the training ended before its last epoch; empty if it did not.

    Examples
    --------
    >>> from tape.train import fit
    >>> def halve(w, batch):
    ...     return w / 2, {"loss": w}
    >>> w, history = fit(halve, 1.0, [None] * 3, epochs=2)
    >>> history.steps["loss"]
    array([1.     , 0.5    , 0.25   , 0.125  , 0.0625 , 0.03125])
    >>> history.epochs["loss"].round(3)
    array([0.583, 0.073])
    """

    def __init__(self) -> None:
        self.stopped = ""
        self._steps = _Columns()
        self._epochs = _Columns()

    def __repr__(self) -> str:
        last = ", ".join(f"{name}={value:.6g}" for name, value in self.last.items())
        return (
            f"History({self._steps.rows} steps, {self._epochs.rows} epochs{', last ' if last else ''}{last})"
        )

    @property
    def steps(self) -> dict[str, np.ndarray]:
        """The metrics of each step: float64 [number of steps], NaN where a step had none of that name."""
        return self._steps.arrays()

    @property
    def epochs(self) -> dict[str, np.ndarray]:
        """For each epoch the means of the metrics of its steps, and those of ``validate``, as ``val_...``.

        float64 [number of epochs], and ``"step"``, the number of steps at the end of the epoch.
        """
        return self._epochs.arrays()

    @property
    def last(self) -> dict[str, float]:
        """The metrics of the last step and of the last validation."""
        validated = {name: row for name, row in self._epochs.last().items() if name.startswith("val_")}
        return self._steps.last() | validated

    def plot(
        self, path: str | os.PathLike[str] | None = None, metric: str = "loss", **options: Any
    ) -> Figure:
        """Draw a metric at each step, and its validation at each epoch.

        Parameters
        ----------
        path : path-like, optional
            The file to save it to: .png, .svg or .pdf.
        metric : str
            Its name.
        **options
            Of `tape.viz.curve`: ``smooth``, ``log``.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        OptionError
            If there is no such metric.
        UnsupportedError
            If matplotlib is not installed.

        Examples
        --------
        >>> from tape.train import fit
        >>> _, history = fit(lambda w, batch: (w / 2, {"loss": w}), 1.0, [None] * 5)
        >>> figure = history.plot()
        """
        steps, epochs = self.steps, self.epochs
        if metric not in steps:
            raise errors.OptionError(
                f"History.plot: there is no metric {metric!r} of steps, only {', '.join(steps) or 'none'}"
                f"{errors.near(metric, steps)}"
            )
        curves: dict[str, Any] = {metric: steps[metric]}
        validated = epochs.get(f"val_{metric}")
        if validated is not None:
            at = epochs["step"].astype(int).tolist()
            curves[f"val_{metric}"] = dict(zip(at, validated.tolist(), strict=True))
        # pictures are on a floor above: whoever never draws does not load them
        return import_module("tape.viz.curve").curve(curves, path, label=metric, **options)

    def state_dict(self) -> dict[str, Any]:
        """Return all as a dict of arrays and strings."""
        return {"steps": self.steps, "epochs": self.epochs, "stopped": self.stopped}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a result of `state_dict`."""
        self._steps, self._epochs = _Columns(state["steps"]), _Columns(state["epochs"])
        self.stopped = state["stopped"]

    def add_step(self, metrics: dict[str, float]) -> None:
        """Append the metrics of a step."""
        self._steps.add(metrics)

    def add_epoch(self, metrics: dict[str, float]) -> None:
        """Append the metrics of an epoch."""
        self._epochs.add(metrics)

    def means(self, first: int) -> dict[str, float]:
        """Return the mean of each metric over the steps from a number on; NaN if a step has none."""
        return {name: float(np.mean(values)) for name, values in self._steps.since(first).items()}


class _Columns:
    """Rows of numbers by name, held as one growing array for each name."""

    def __init__(self, columns: dict[str, np.ndarray] | None = None) -> None:
        self._columns = {name: array("d", column) for name, column in (columns or {}).items()}
        self.rows = max(map(len, self._columns.values()), default=0)

    def add(self, row: dict[str, float]) -> None:
        for name in row:
            if name not in self._columns:
                self._columns[name] = array("d", [np.nan] * self.rows)
        for name, column in self._columns.items():
            column.append(row.get(name, np.nan))
        self.rows += 1

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.array(column) for name, column in self._columns.items()}

    def since(self, first: int) -> dict[str, np.ndarray]:
        return {name: np.array(column[first:]) for name, column in self._columns.items() if self.rows > first}

    def last(self) -> dict[str, float]:
        return {name: column[-1] for name, column in self._columns.items() if self.rows}
