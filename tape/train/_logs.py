"""Callbacks that write metrics to files: CSV, JSON lines, and TensorBoard's by tensorboardX.

After a resume they go on where the checkpoint was: what was written after it is written again, once.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tape import errors
from tape.system.extras import need
from tape.train._callbacks import Run
from tape.train._loader import whole
from tape.train._npz import write_whole


class CSVLog:
    """Writes one row for each epoch: its number, the number of steps, means of metrics, validation.

    Parameters
    ----------
    path : path-like
        The file. It is replaced, or continued if the training is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tape.train import CSVLog, fit
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = fit(lambda w, batch: (w / 2, w), 1.0, [None] * 2, epochs=2, callbacks=[CSVLog(path)])
    >>> print(path.read_text().strip())
    epoch,step,loss
    0,2,0.75
    1,4,0.1875
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def on_start(self, run: Run) -> None:
        """Write the rows of the epochs before, which are none in a new training."""
        self._write(run, run.epoch)

    def on_epoch(self, run: Run) -> None:
        """Write all rows: a new metric is a new column."""
        self._write(run, run.epoch + 1)

    def _write(self, run: Run, count: int) -> None:
        columns = run.history.epochs
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if columns:
            writer.writerow(["epoch", *columns])
        for k in range(count):
            row = [column[k].item() for column in columns.values()]
            writer.writerow([k, *("" if math.isnan(x) else f"{x:.17g}" for x in row)])
        write_whole(self.path, lambda file: file.write(text.getvalue().encode()))


class JSONLinesLog:
    """Writes a JSON object for steps, and one for each epoch, a line each.

    Parameters
    ----------
    path : path-like
        The file. It is replaced, or continued if the training is.
    every : int
        Of so many steps one is written.

    Raises
    ------
    OptionError
        If ``every`` is not a positive whole number.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tape.train import JSONLinesLog, fit
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = fit(lambda w, batch: (w / 2, w), 1.0, [None] * 2, callbacks=[JSONLinesLog(path)])
    >>> print(path.read_text().strip())
    {"step": 1, "loss": 1.0}
    {"step": 2, "loss": 0.5}
    {"step": 2, "epoch": 0, "epoch loss": 0.75}
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 1) -> None:
        self.path = Path(path)
        self.every = whole("JSONLinesLog", "every", every, 1)

    def on_start(self, run: Run) -> None:
        """Drop lines that steps from here on write again; the last one may be half, after a kill."""
        kept: list[str] = []
        if run.step and self.path.exists():
            for line in self.path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    break
                if row["step"] > run.step or row.get("epoch", -1) >= run.epoch:
                    break
                kept.append(line)
        write_whole(self.path, lambda file: file.write("".join(f"{line}\n" for line in kept).encode()))

    def on_step(self, run: Run) -> None:
        """Write the metrics of the step."""
        if run.step % self.every == 0:
            self._append({"step": run.step} | run.metrics)

    def on_epoch(self, run: Run) -> None:
        """Write the metrics of the epoch."""
        row = {(k if k.startswith("val_") else f"epoch {k}"): v for k, v in _epoch_metrics(run)}
        self._append({"step": run.step, "epoch": run.epoch} | row)

    def _append(self, row: dict[str, Any]) -> None:
        finite = {name: x if math.isfinite(x) else str(x) for name, x in row.items()}  # JSON has no NaN
        try:
            with open(self.path, "a") as file:
                file.write(json.dumps(finite) + "\n")
        except OSError as error:
            raise errors.FileWriteError(
                f"{self.path}: {error.strerror}. Free some space, and run again"
            ) from error


class TensorBoardLog:
    """Writes metrics of steps and of epochs for TensorBoard, by the package tensorboardX.

    Parameters
    ----------
    folder : path-like
        The folder of this training: ``tensorboard --logdir`` of the one above compares trainings.
    every : int
        Of so many steps one is written.

    Raises
    ------
    OptionError
        If ``every`` is not a positive whole number.
    UnsupportedError
        If tensorboardX is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str], every: int = 1) -> None:
        self.every = whole("TensorBoardLog", "every", every, 1)
        self.folder = Path(folder)
        self._library = need("tensorboardX", "logs for TensorBoard", "train")
        self._writer: Any = None

    def on_start(self, run: Run) -> None:
        """Open a file; what was written of steps from here on is hidden."""
        purged = {"purge_step": run.step + 1} if run.step else {}
        self._writer = self._library.SummaryWriter(str(self.folder), **purged)

    def on_step(self, run: Run) -> None:
        """Write the metrics of the step."""
        if run.step % self.every == 0:
            self._add(run.metrics.items(), "step", run)

    def on_epoch(self, run: Run) -> None:
        """Write the metrics of the epoch."""
        self._add(_epoch_metrics(run), "epoch", run)

    def on_end(self, run: Run) -> None:
        """Close the file."""
        self._writer.close()

    def _add(self, metrics: Iterable[tuple[str, float]], group: str, run: Run) -> None:
        for name, value in metrics:
            self._writer.add_scalar(f"{group}/{name}", value, run.step)


def _epoch_metrics(run: Run) -> list[tuple[str, float]]:
    return [(name, value) for name, value in run.epoch_metrics.items() if name != "step"]
