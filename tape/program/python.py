"""Calls of a function as plain Python that mean what calls of its program mean.

Arguments and results of a program are values: it writes to no array of its caller, of one array given twice
it has two, and what it returns shares memory with nothing else. So plain Python gets copies, and what it
returns is copied. What it does to lists, dicts and dataclasses among its arguments is done to those of the
caller: functions that do this have no program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors, tree
from tape.core.dispatch import recorder
from tape.core.node import Handle
from tape.program.layouts import overlap_themselves
from tape.program.record.collections import Rebuilt
from tape.program.record.recording import is_dynamic, native
from tape.program.specialise import copy_of
from tape.transforms._record import name_of

__all__ = ["Plain"]


class Plain:
    """A function that is called as plain Python.

    Parameters
    ----------
    f : callable

    Attributes
    ----------
    changes_arguments : bool
        Whether it has put something into a collection among its arguments. Then it gets those of the caller,
        and does with them what Python does; arrays among them included.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.program.python import Plain
    >>> def f(x, y):
    ...     x *= 2
    ...     return x, x[::2], y
    >>> x = np.ones(3)
    >>> Plain(f)((x, x), {})
    (array([2., 2., 2.]), array([2., 2.]), array([1., 1., 1.]))
    >>> x
    array([1., 1., 1.])
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = f
        self.changes_arguments = False

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result for copies of the arrays among these arguments.

        Within another trace, Vars are handed on. While another program is recorded, arrays are read-only:
        they are among its constants, which it follows.
        """
        if self.changes_arguments or not any(map(_may_hold, (*args, *kwargs.values()))):
            args = tuple(map(_apart_outside, args))
            return _owned(self._run(args, {name: _apart_outside(x) for name, x in kwargs.items()}))
        given, result = Rebuilt((args, kwargs), _apart), None
        try:
            result = self._run(*given.tree)
        finally:
            self.changes_arguments |= given.carry_over(result)
        return _owned(result)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return self._f(*args, **kwargs)
        except ValueError as error:
            if (program := recorder()) is not None and "read-only" in str(error):
                raise errors.InPlaceError(
                    f"{name_of(self._f)} runs as plain Python while {program.name} is recorded, and writes "
                    "to an array that does not depend on arguments of that. Write to a copy of it"
                ) from error
            raise


def _may_hold(argument: Any) -> bool:
    """Return whether an argument may be a collection."""
    return not isinstance(argument, (Handle, np.ndarray, np.generic, float, int, str, bool, type(None)))


def _owned(result: Any) -> Any:
    """Return a result whose arrays share memory with nothing else."""
    return tree.map(_own, result) if _may_hold(result) else _own(result)


def _apart_outside(argument: Any) -> Any:
    """Return an argument whose arrays are copies, but for those in collections."""
    if type(argument) is tuple:
        return tuple(map(_apart_outside, argument))
    return _apart(argument)


def _apart(leaf: Any) -> Any:
    """Return a leaf that the function may write to."""
    if isinstance(leaf, Handle):
        return leaf.again()
    if not isinstance(leaf, np.ndarray) or not is_dynamic(leaf):
        return leaf
    if recorder() is None:
        return _alike(native(leaf))
    view = leaf.view()
    view.flags.writeable = False
    return view


def _own(leaf: Any) -> Any:
    """Return a leaf of the result, sharing memory with nothing else; without axes as a number of NumPy."""
    if isinstance(leaf, Handle):
        return leaf.again()
    if recorder() is not None:
        return leaf
    is_number = type(leaf) is np.ndarray and not leaf.ndim and leaf.dtype.kind in "biufc"
    return leaf[()] if is_number else copy_of(leaf)


def _alike(array: np.ndarray) -> np.ndarray:
    """Return a copy whose elements lie in memory in the same order, with gaps where there are any.

    On these depends what views a function gets, and so what writing to them changes.
    """
    if array.flags.c_contiguous:
        return array.copy()
    is_broadcast = any(not along and n > 1 for along, n in zip(array.strides, array.shape, strict=True))
    if is_broadcast and not array.flags.writeable:
        return array
    if overlap_themselves([array]):
        low, high = np.lib.array_utils.byte_bounds(array)
        start = array.__array_interface__["data"][0] - low
        memory = np.empty(high - low, np.uint8)
        copied = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
    else:
        copied = _with_gaps(array)
    copied[...] = array
    return copied


def _with_gaps(array: np.ndarray) -> np.ndarray:
    """Return an empty array with axes of the same order and direction, and gaps between the same ones."""
    size, strides = array.itemsize, [array.itemsize] * array.ndim
    before = size  # the stride of the next axis if there is no gap
    for axis in sorted(range(array.ndim), key=lambda axis: abs(array.strides[axis])):
        n, stride = array.shape[axis], abs(array.strides[axis])
        if n > 1:
            strides[axis] = size + (array.itemsize if stride != before else 0)
            size, before = strides[axis] * n, stride * n
    ends = [
        (n - 1) * stride if along < 0 else 0
        for n, stride, along in zip(array.shape, strides, array.strides, strict=True)
    ]
    signed = [-stride if along < 0 else stride for stride, along in zip(strides, array.strides, strict=True)]
    return np.ndarray(array.shape, array.dtype, np.empty(size, np.uint8), sum(ends), signed)
