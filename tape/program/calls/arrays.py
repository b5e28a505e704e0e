"""Arrays that a function closes over: whether it writes to them, and what plain NumPy has made of them.

A program reads such an array in each call, and writes to none. What plain NumPy computes of it, as
``np.sin(k)`` or ``k[0]``, is a constant: it holds as long as the array holds what it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from tape.core.held import sample
from tape.program.calls.binding import Binding

__all__ = ["Arrays", "is_all_new", "is_telling", "place_of", "sampled"]

_SMALL = 2**16
"""Number of bytes up to which all elements are compared in each call."""
_SAMPLED = 32
"""Number of elements of larger arrays that are."""
_LARGE = 2**20
"""Number of bytes from which sums of rows and columns are compared in place of all bytes."""


class Arrays:
    """The arrays that a function reads by names, with what they hold now.

    Parameters
    ----------
    bindings : sequence of Binding
        Of arrays.

    Attributes
    ----------
    contents : dict of int to Binding
        By the id of an array, a binding that holds as long as it, or a sample of its elements, is what it is.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.calls.arrays import Arrays
    >>> from tape.program.calls.names import Bindings
    >>> work = np.zeros(3)
    >>> arrays = Arrays(Bindings(lambda x: np.add(x, 1, out=work), []).arrays)
    >>> arrays.changed(), arrays.contents[id(work)].holds()
    (None, True)
    >>> _ = np.add(work, 1, out=work)
    >>> arrays.changed().key, arrays.contents[id(work)].holds()
    ('work', False)
    """

    def __init__(self, bindings: Sequence[Binding]) -> None:
        each = {id(binding.value): binding for binding in bindings if _has_numbers(binding.value)}
        self._held = [(binding, _digest(binding.value)) for binding in each.values()]
        samples = {number: sampled(binding.value) for number, binding in each.items()}
        self.contents = {
            number: Binding("content", sample, each[number].key, sample.tobytes())
            for number, sample in samples.items()
        }

    def changed(self) -> Binding | None:
        """Return a name of an array that holds something else now, if there is one."""
        return next((binding for binding, held in self._held if _digest(binding.value) != held), None)


def place_of(content: Binding) -> tuple[Any, ...]:
    """Return a key for the array of a binding of `Arrays.contents`: its name, and where its elements lie.

    Without the name it might be that of an array that is gone, and whose memory another one has now.
    """
    sample = content.owner
    return content.key, sample.ctypes.data, sample.shape, sample.strides, sample.dtype


def is_all_new(content: Binding) -> bool:
    """Return whether what a binding of `Arrays.contents` compares holds other numbers everywhere now.

    They are none that plain NumPy often makes the same results of: with other signs or in another order, as
    sums and norms do, shifted, as differences do, or scaled, as what is normalised does.
    """
    dtype = content.owner.dtype
    before, now = (np.frombuffer(held, dtype) for held in (content.value, content.current()))
    if dtype.kind in "iufc":
        with np.errstate(all="ignore"):
            if now.size > 1 and (_are_one(now - before) or _are_one(now / before)):
                return False
            before, now = np.abs(before), np.abs(now)
        if np.isin(now, before).mean() > 0.5:
            return False
    bits = (np.void, now.itemsize)  # so that a NaN is what it was
    return bool(np.all(before.view(bits) != now.view(bits)))


def _are_one(numbers: np.ndarray) -> bool:
    """Return whether some numbers are the same but for rounding."""
    return bool(np.abs(numbers - numbers[0]).max() <= 1e-6 * np.abs(numbers[0]))


def is_telling(result: Any) -> bool:
    """Return whether a result of plain NumPy would hardly be the same by chance for other arrays.

    Masks, indices and what is 0 or 1 may be.
    """
    return np.result_type(result).kind in "fc" and not np.isin(np.abs(result), (0, 1)).all()


def _has_numbers(array: np.ndarray) -> bool:
    return array.size > 0 and not (array.dtype.hasobject or array.dtype.kind == "T")


def sampled(array: np.ndarray) -> np.ndarray:
    """Return a view of all elements of a small array, of some elements of a large one."""
    return array if array.nbytes <= _SMALL else sample(array, _SAMPLED)


def _digest(array: np.ndarray) -> int:
    """Return a number that another content would change."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if flat.size < _LARGE:
        return crc32(flat.data)
    words = flat[: flat.size // 8192 * 8192].view(np.uint64).reshape(-1, 1024)
    rest = crc32(flat[words.nbytes :].data)
    return crc32(np.add.reduce(words, 1).data, crc32(np.add.reduce(words, 0).data, rest))
