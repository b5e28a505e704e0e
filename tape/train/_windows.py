"""Windows that follow each other along long sequences, for backpropagation through time in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tape import errors
from tape import tree as trees
from tape.train._columns import Columns
from tape.train._loader import whole


class Windows:
    """Cuts sequences into streams side by side, and goes through them window by window.

    Each stream goes on from one window to the next: the last state of a recurrent model is the first one for
    the next window (truncated backpropagation through time).

    Parameters
    ----------
    data : tree of numpy.ndarray
        Sequences along their first axis, of the same length; for next-symbol prediction
        ``{"x": text[:-1], "y": text[1:]}``.
    length : int
        The number of rows of a window, positive.
    streams : int
        How many parts of the sequence are side by side, positive. Rows at the end that fill no window of all
        streams are left out.

    Yields
    ------
    window : tree of numpy.ndarray
        [length, streams, ...], contiguous and new.
    carry : float
        0.0 for the first window of an epoch, then 1.0: multiply the state of the model by it.

    Raises
    ------
    ShapeError
        If lengths differ, or there is not one window.
    OptionError
        If an option is invalid.

    Notes
    -----
    Williams and Peng, "An efficient gradient-based algorithm for on-line training of recurrent network
    trajectories" (1990).

    Examples
    --------
    >>> import numpy as np
    >>> from tape.train import Windows
    >>> for window, carry in Windows(np.arange(9), length=2, streams=2):
    ...     print(window.T.tolist(), carry)
    [[0, 1], [4, 5]] 0.0
    [[2, 3], [6, 7]] 1.0
    """

    def __init__(self, data: Any, length: int, streams: int = 1) -> None:
        self.length = whole("Windows", "length", length, 1)
        self.streams = whole("Windows", "streams", streams, 1)
        self._rows = len(Columns(data, "Windows"))
        self._data = trees.map(np.asarray, data)
        if not len(self):
            raise errors.ShapeError(
                f"Windows: {self._rows} rows are less than one window of {self.length} in {self.streams} "
                "streams. Take "
                "shorter windows, or fewer streams"
            )
        self.batch = 0
        self._is_resumed = False
        self._newest = 0

    def __len__(self) -> int:
        """Return the number of windows."""
        return self._rows // self.streams // self.length

    def __repr__(self) -> str:
        return (
            f"Windows({self._rows} rows, length={self.length}, streams={self.streams}, {len(self)} windows)"
        )

    def __iter__(self) -> Iterator[tuple[Any, float]]:
        """Begin at the first window, or at a position that was loaded."""
        if not self._is_resumed:
            self.batch = 0
        self._is_resumed = False
        self._newest += 1
        return self._windows(self._newest, self.batch)

    def _windows(self, number: int, first: int) -> Iterator[tuple[Any, float]]:
        stride = self._rows // self.streams
        for k in range(first, len(self)):
            rows = slice(k * self.length, (k + 1) * self.length)
            window = trees.map(lambda array, rows=rows: self._cut(array, stride, rows), self._data)
            if number == self._newest:
                self.batch = k + 1
            yield window, float(k > 0)
        if number == self._newest:
            self.batch = 0

    def _cut(self, array: np.ndarray, stride: int, rows: slice) -> np.ndarray:
        starts = range(0, self.streams * stride, stride)
        return np.stack([array[start + rows.start : start + rows.stop] for start in starts], axis=1)

    def state_dict(self) -> dict[str, int]:
        """Return the position: the number of windows that were handed out, and what must be the same."""
        return {"batch": self.batch, "rows": self._rows, "length": self.length, "streams": self.streams}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go to a position, at which the next loop begins.

        Raises
        ------
        CheckpointError
            If the number of rows, or an option, is another one.
        """
        here = self.state_dict()
        for name in ("rows", "length", "streams"):
            if state.get(name) != here[name]:
                raise errors.CheckpointError(
                    f"Windows: {name} is {here[name]}, and was {state.get(name)} when the position was "
                    "saved. Cut the "
                    "data as before"
                )
        self.batch, self._is_resumed = state["batch"], True
        self._newest += 1
