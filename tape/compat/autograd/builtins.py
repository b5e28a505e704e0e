"""`list`, `dict` and `tuple` of Vars, and what values are: Python's own types, as any of them holds Vars."""

from __future__ import annotations

import builtins as _builtins
from typing import Any

import numpy as np

from tape.core.node import Handle, plain
from tape.numpy import ndarray

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

dict, list, tuple = _builtins.dict, _builtins.list, _builtins.tuple


def isinstance(value: Any, kind: Any) -> bool:
    """Return whether a value, or what a Var stands for, is an instance of a type.

    Examples
    --------
    >>> import tape
    >>> from tape.compat.autograd.builtins import isinstance
    >>> isinstance(tape.Trace().param(1.0), float)
    True
    """
    return _builtins.isinstance(value, kind) or (
        _builtins.isinstance(value, Handle) and _builtins.isinstance(plain(value), kind)
    )


def type(value: Any) -> Any:
    """Return the type of a value; that of arrays is the ``ndarray`` of this package, for Vars too.

    Examples
    --------
    >>> import tape
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd.builtins import type
    >>> type(tape.Trace().param(np.ones(2))) is np.ndarray
    True
    """
    found = _builtins.type(plain(value))
    return ndarray if found is np.ndarray else found
