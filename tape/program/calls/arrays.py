"""Whether a function writes to arrays that it closes over: a program, which reads them, would not."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from tape.program.calls.names import Binding

__all__ = ["Arrays"]

_LARGE = 2**20
"""Number of bytes from which sums of rows and columns are compared in place of all bytes."""


class Arrays:
    """The arrays that a function reads by names, with what they hold now.

    Parameters
    ----------
    bindings : sequence of Binding
        Of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.calls.arrays import Arrays
    >>> from tape.program.calls.names import Bindings
    >>> work = np.zeros(3)
    >>> arrays = Arrays(Bindings(lambda x: np.add(x, 1, out=work), []).arrays)
    >>> arrays.changed()
    >>> _ = np.add(work, 1, out=work)
    >>> arrays.changed().key
    'work'
    """

    def __init__(self, bindings: Sequence[Binding]) -> None:
        each = {id(binding.value): binding for binding in bindings if not _is_opaque(binding.value)}
        self._held = [(binding, _digest(binding.value)) for binding in each.values()]

    def changed(self) -> Binding | None:
        """Return a name of an array that holds something else now, if there is one."""
        return next((binding for binding, held in self._held if _digest(binding.value) != held), None)


def _digest(array: np.ndarray) -> int:
    """Return a number that another content would change."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if flat.size < _LARGE:
        return crc32(flat.data)
    words = flat[: flat.size // 8192 * 8192].view(np.uint64).reshape(-1, 1024)
    rest = crc32(flat[words.nbytes :].data)
    return crc32(np.add.reduce(words, 1).data, crc32(np.add.reduce(words, 0).data, rest))


def _is_opaque(array: np.ndarray) -> bool:
    """Return whether the memory of an array holds references, to objects or strings."""
    return array.dtype.hasobject or array.dtype.kind == "T"
