"""`r_` and `c_`: arrays, numbers and ranges, joined by indexing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import ops
from tape.conversion.numbers import tried
from tape.errors import ConversionError, UnsupportedError
from tape.numpy._conversion import asarray


class _Joiner:
    """NumPy's `r_` or `c_`, which also join Vars.

    Parameters
    ----------
    numpy : object
        NumPy's own object, for items without Vars.
    axis, ndmin, place : int
        The axis to join along, the smallest number of axes, and the position of the original axes among
        new ones of length one, which NumPy calls ``trans1d``.
    """

    def __init__(self, numpy: Any, axis: int, ndmin: int, place: int) -> None:
        self._numpy = numpy
        self._defaults = axis, ndmin, place
        self.__doc__ = numpy.__doc__

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        try:
            return tried(self._numpy.__getitem__, key)
        except ConversionError:
            return self._recorded(key if isinstance(key, tuple) else (key,))

    def _recorded(self, items: tuple[Any, ...]) -> Any:
        axis, ndmin, place = self._defaults
        if isinstance(items[0], str):
            if items[0] in ("r", "c"):
                raise UnsupportedError(f"r_[{items[0]!r}, ...] returns a matrix. Leave out {items[0]!r}")
            axis, ndmin, place = [*map(int, items[0].split(",")), ndmin, place][:3]
            items = items[1:]
        parts = [np.r_[item] if isinstance(item, slice) else item for item in items]
        # Python numbers do not widen the dtype of the others.
        is_number = [type(part) in (bool, int, float, complex) for part in parts]
        parts = [part if weak else asarray(part) for part, weak in zip(parts, is_number, strict=True)]
        dtype = np.result_type(*parts)
        placed = [_placed(asarray(part, dtype), ndmin, place) for part in parts]
        return ops.concatenate(placed, axis)


def _placed(x: Any, ndmin: int, place: int) -> Any:
    """Return an array with new axes, ``place`` of them (from the end, if negative) before the old ones."""
    new = ndmin - x.ndim
    if new <= 0:
        return x
    before = place + new + 1 if place < 0 else place
    return ops.reshape(x, (1,) * before + x.shape + (1,) * (new - before))


r_ = _Joiner(np.r_, axis=0, ndmin=1, place=-1)
c_ = _Joiner(np.c_, axis=-1, ndmin=2, place=0)
