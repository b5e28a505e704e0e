"""Creation of arrays from numbers that may be Vars, where NumPy does not dispatch."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from tape import ops
from tape.core.node import Handle
from tape.errors import OptionError, ShapeError
from tape.numpy._conversion import array, asarray, check_device, numpy_like, or_numpy


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: str | None = None,
    like: Any = None,
) -> Any:
    """Return an array filled with a value, which may be a Var.

    Parameters
    ----------
    shape : int or sequence of int
        The shape of the result.
    fill_value : array_like or Var, or nested list of these
        The value; it broadcasts to the shape.
    dtype : dtype_like, optional
        By default that of the value.
    order, device
        The memory order and device of a plain array; see NumPy.
    like : array_like or Var, optional
        Has no effect if the value is a Var.

    Returns
    -------
    numpy.ndarray or Var
        A Var if the value is one.

    Raises
    ------
    ShapeError
        If the value is a Var and does not broadcast.
    OptionError
        If the value is a Var and ``device`` is not "cpu".

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> np.full(3, tr.param(2.0)).value
    array([2., 2., 2.])
    """
    if isinstance(fill_value, (Handle, list, tuple)):
        value = asarray(fill_value)
        if isinstance(value, Handle):
            check_device(device)
            return ops.full_like(value, value, dtype, shape=shape)
    return np.full(  # type: ignore[call-overload]
        shape, fill_value, dtype, order, device=device, like=numpy_like(like)
    )


def arange(*args: Any, **kwargs: Any) -> Any:
    """Return evenly spaced numbers: ``arange([start,] stop[, step], dtype=None, *, device=None, like=None)``.

    Parameters
    ----------
    *args, **kwargs
        ``start``, ``stop`` and ``step``, numbers or Vars: the first number, by default 0; the
        end, which is excluded; and the step, by default 1. ``dtype`` is by default the one that these and int
        promote to; ``device`` can only be "cpu", and ``like`` has no effect on Vars.

    Returns
    -------
    numpy.ndarray or Var
        A Var if ``start`` or ``step`` is one. The derivative is for a fixed number of elements; with
        respect to ``stop``, which determines only that number, it is zero.

    Raises
    ------
    ShapeError
        If there is a Var, and any argument has axes.
    OptionError
        If there is a Var, and the step is zero or ``device`` is not "cpu".

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tape.grad(lambda h: np.sum(np.arange(0.0, 1.0, h)))(0.25)
    np.float64(6.0)
    """
    numbers = (*args, *(kwargs.get(name) for name in ("start", "stop", "step")))
    if not any(isinstance(number, Handle) for number in numbers):
        return np.arange(*args, **kwargs | {"like": numpy_like(kwargs.get("like"))})
    if len(args) == 1 and "stop" not in kwargs:
        args = (0, *args)
    return _arange(*args, **kwargs)


def _arange(
    start: Any = 0,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: str | None = None,
    like: Any = None,
) -> Any:
    if stop is None:
        start, stop = 0, start
    check_device(device)
    for number in (start, stop, step):
        if np.ndim(number):
            raise ShapeError(f"arange: {number!r} has axes. Pass numbers")
    if step == 0:
        raise OptionError("arange: the step is zero. Pass a positive or negative number")
    if dtype is None:
        dtype = np.result_type(int, *(asarray(number).dtype for number in (start, stop, step)))
    count = max(0, int(ops.ceil((stop - start) / step)))
    # NumPy's arithmetic, so that elements are the same to the last bit.
    first, second = (ops.astype(number, dtype, copy=False) for number in (start, start + step))
    return first + np.arange(count, dtype=dtype) * (second - first)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """Return an array of the elements of an iterable, which may be Vars.

    Parameters
    ----------
    iter : iterable
        Numbers, or Vars without axes.
    dtype : dtype_like
        The dtype of the result.
    count : int
        The number of elements to take; by default all.
    like : array_like or Var, optional
        Has no effect if there is a Var.

    Returns
    -------
    numpy.ndarray or Var
        A Var if any element is one.

    Raises
    ------
    ShapeError
        If any element is a Var, and there are fewer than ``count`` or some have axes.

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> x = tr.param(3.0)
    >>> np.fromiter((x**k for k in range(3)), float).value
    array([1., 3., 9.])
    """
    items = list(iter if count < 0 else islice(iter, count))
    if not any(isinstance(item, Handle) for item in items):
        return np.fromiter(items, dtype, count, like=numpy_like(like))
    if len(items) < count:
        raise ShapeError(f"fromiter: {len(items)} elements, and count={count}. Both must agree")
    whole = array(items, dtype)
    if whole.ndim != 1:
        raise ShapeError(f"fromiter: elements of shape {list(whole.shape[1:])}. Use np.stack for these")
    return whole


@or_numpy(np.from_dlpack)
def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Any:
    """Return an array that shares the memory of another library's, or a Var unchanged.

    Parameters
    ----------
    x : object with ``__dlpack__``, or Var
        An array of any library; lists do not have ``__dlpack__``.
    device : "cpu", optional
        The only device.
    copy : bool, optional
        As for `array`.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    OptionError
        For a Var, if ``device`` is not "cpu".

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> x = tr.param([1.0, 2.0])
    >>> np.from_dlpack(x) is x
    True
    """
    return asarray(x, device=device, copy=copy)
