"""The type of arrays, for ``isinstance`` in user code."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.node import Handle


class _ArrayType(type):
    """The metaclass of `ndarray`, which defines its instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is ndarray:
            return isinstance(instance, (np.ndarray, Handle))
        return super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls is ndarray:
            return issubclass(subclass, (np.ndarray, Handle))
        return super().__subclasscheck__(subclass)


class ndarray(np.ndarray, metaclass=_ArrayType):
    """`numpy.ndarray`, with Vars as instances too.

    User code calls ``isinstance(x, np.ndarray)`` to distinguish arrays from lists and numbers; every Var,
    with axes or without, counts as an array. Calling it creates a `numpy.ndarray`.

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> isinstance(tape.Trace().param(1.0), np.ndarray), isinstance(np.zeros(2), np.ndarray)
    (True, True)
    >>> type(np.ndarray(2)).__module__
    'numpy'
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Create a plain array, or one of a subclass; arguments as for `numpy.ndarray`."""
        return np.ndarray.__new__(np.ndarray if cls is ndarray else cls, *args, **kwargs)
