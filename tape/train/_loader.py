"""Batches of a data set, shuffled by a generator, with a position from which the same batches follow.

The rows come from `tape.train._columns`, the thread from `tape.train._prefetch`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from tape import errors
from tape.train._columns import rows_or_columns
from tape.train._encoding import restore_generator
from tape.train._prefetch import prefetched


class DataLoader:
    """Goes through a data set in batches; each loop over it is an epoch.

    Parameters
    ----------
    data : tree of numpy.ndarray, list, or data set
        An array, or a dict, tuple or dataclass of arrays with one row for each example; memory maps are
        read batch by batch. Or a list of rows, or any object with ``len(data)`` and ``data[i]``; a row is a
        tree of arrays, numbers and strings.
    batch_size : int
        The number of rows in a batch, positive.
    shuffle : numpy.random.Generator, optional
        Draws the order of each epoch. By default rows come in order.
    drop_last : bool
        Whether to leave out a last batch that is smaller. A compiled step makes a program for its size too.
    prefetch : int
        How many batches a thread makes ahead; 0 for none. The batches are the same.
    transform : callable, optional
        It takes a batch and a generator of its own, and returns the batch to use. The generator depends on
        ``shuffle``, the epoch and the position alone, so that it repeats after a resume.
    collate : callable, optional
        It takes a list of rows, and returns a batch; for lists and data sets. By default leaves are stacked.

    Raises
    ------
    OptionError
        If an option is invalid.
    ShapeError
        If arrays differ in length, or, during a loop, rows in structure or shape.
    DTypeError
        If a leaf is no array of numbers or strings, or, during a loop, rows differ in dtype.

    Notes
    -----
    Arrays of batches are contiguous, and new: writing to them changes no data.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.train import DataLoader
    >>> data = {"x": np.arange(10.0).reshape(5, 2), "y": np.arange(5)}
    >>> loader = DataLoader(data, 2, shuffle=np.random.default_rng(0))
    >>> len(loader)
    3
    >>> [batch["y"].tolist() for batch in loader]
    [[2, 4], [3, 0], [1]]

    In the middle of an epoch its position can be kept:

    >>> batches = iter(loader)
    >>> first, position = next(batches), loader.state_dict()
    >>> expected = [batch["y"].tolist() for batch in batches]
    >>> other = DataLoader(data, 2, shuffle=np.random.default_rng())
    >>> other.load_state_dict(position)
    >>> [batch["y"].tolist() for batch in other] == expected
    True
    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        *,
        shuffle: np.random.Generator | None = None,
        drop_last: bool = False,
        prefetch: int = 0,
        transform: Callable[[Any, np.random.Generator], Any] | None = None,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        if not (shuffle is None or isinstance(shuffle, np.random.Generator)):
            raise errors.OptionError(
                f"DataLoader: shuffle={errors.describe(shuffle)}. Pass a generator, such as "
                "np.random.default_rng(0), so that the order can be repeated"
            )
        self.batch_size = whole("DataLoader", "batch_size", batch_size, 1)
        self.shuffle = shuffle
        self.drop_last = bool(drop_last)
        self._ahead = whole("DataLoader", "prefetch", prefetch, 0)
        self._transform = transform
        self._data = rows_or_columns(data, collate, "DataLoader")
        if not len(self._data):
            raise errors.ShapeError("DataLoader: the data have no rows. Pass at least one")
        self.epoch = self.batch = 0
        self._start: np.random.Generator | None = None
        self._is_inside = self._is_resumed = False
        self._newest = 0

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        rows = len(self._data)
        return rows // self.batch_size if self.drop_last else -(-rows // self.batch_size)

    def __repr__(self) -> str:
        return f"DataLoader({len(self._data)} rows, batch_size={self.batch_size}, {len(self)} batches)"

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch, or go on with one whose position was loaded."""
        if not self._is_resumed:
            self.epoch += self._is_inside  # one that was left by break is over
            self.batch = 0
            self._start = deepcopy(self.shuffle)
            order, seed = self._drawn(self.shuffle)
        else:  # the generator itself may have been used by others since
            order, seed = self._drawn(deepcopy(self._start))
        self._is_inside, self._is_resumed = True, False
        self._newest += 1
        return self._batches(self._newest, order, seed)

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the data, as a small tree.

        Returns
        -------
        dict
            The number of the epoch, the number of batches of it that were handed out, and the state of the
            generator at its start and now; and what must be the same in the loader that it is loaded into.
        """
        return {
            "epoch": self.epoch,
            "batch": self.batch,
            "start": deepcopy(self._start) if self._is_inside else None,
            "now": deepcopy(self.shuffle),
            "inside": self._is_inside,
            **self._settings(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position; the next loop goes on with that epoch.

        Parameters
        ----------
        state : dict
            A result of `state_dict`, of a loader of the same number of rows and the same options.

        Raises
        ------
        CheckpointError
            If the number of rows, or an option, is another one.
        """
        for name, value in self._settings().items():
            if state.get(name) != value:
                raise errors.CheckpointError(
                    f"DataLoader: {name} is {value}, and was {state.get(name)} when the position was "
                    "saved. Make the "
                    "loader as before"
                )
        if self.shuffle is not None:
            restore_generator(self.shuffle, state["now"], "DataLoader: shuffle")
        self.epoch, self.batch, self._start = state["epoch"], state["batch"], deepcopy(state["start"])
        self._is_inside = self._is_resumed = state["inside"]
        self._newest += 1  # loops that still run no longer count

    def _settings(self) -> dict[str, Any]:
        return {
            "rows": len(self._data),
            "batch_size": self.batch_size,
            "drop_last": self.drop_last,
            "is shuffled": self.shuffle is not None,
        }

    def _drawn(self, rng: np.random.Generator | None) -> tuple[np.ndarray | None, int]:
        """Return the order of the rows of an epoch, and the seed of its transforms."""
        if rng is None:
            return None, 0
        order = rng.permutation(len(self._data))
        return order, 0 if self._transform is None else int(rng.integers(2**63))

    def _batches(self, number: int, order: np.ndarray | None, seed: int) -> Iterator[Any]:
        made: Generator[Any, None, None] = self._made(self.epoch, self.batch, order, seed)
        if self._ahead:
            made = prefetched(made, self._ahead, "prefetch of a DataLoader")
        try:
            for batch in made:
                if number == self._newest:  # of several loops at once, the last begun has the position
                    self.batch += 1
                yield batch
        finally:
            made.close()
        if number == self._newest:
            self.epoch, self.batch, self._is_inside = self.epoch + 1, 0, False

    def _made(
        self, epoch: int, first: int, order: np.ndarray | None, seed: int
    ) -> Generator[Any, None, None]:
        for k in range(first, len(self)):
            start, stop = k * self.batch_size, min((k + 1) * self.batch_size, len(self._data))
            try:
                batch = self._data.batch(slice(start, stop) if order is None else order[start:stop])
                if self._transform is not None:
                    batch = self._transform(batch, np.random.default_rng([seed, epoch, k]))
            except Exception as error:
                error.add_note(f"raised for batch {k} of epoch {epoch} of a tape.train.DataLoader")
                raise
            yield batch


def whole(function: str, name: str, number: Any, least: int) -> int:
    """Return a whole number that is an option.

    Raises
    ------
    OptionError
        If it is something else, or too small.
    """
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
        raise errors.OptionError(
            f"{function}: {name}={errors.describe(number)}. It must be a whole number from {least} on"
        )
    return int(number)
