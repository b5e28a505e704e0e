"""Limiting values: to an interval, and to finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors
from tape.core import batch_rules, series
from tape.core.node import Handle, snapshot
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import implements
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.arithmetic import widening
from tape.ops.elementwise.selection import isfinite, maximum, minimum, where

__all__ = ["clip", "nan_to_num"]

declare_samples(
    "np.clip(x, 0.4, 0.7)",
    "np.nan_to_num(x)",
)


_NUMBERS = frozenset({float, int})


@implements(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Limit values to an interval: ``minimum(maximum(a, a_min), a_max)``.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    a_min, a_max : array_like or Var, optional
        Bounds that broadcast with ``a``; None for no bound. They are differentiated too.
    min, max : array_like or Var, optional
        Other names for ``a_min`` and ``a_max``.

    Returns
    -------
    numpy.ndarray or Var
        Array of the broadcast shape. At a bound the derivative is shared, as `maximum` does.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    OptionError
        If a bound is given by both of its names.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([-2.0, 0.5, 3.0]))
    >>> tr.backward_param_grads(tape.ops.clip(x, 0.0, 1.0))
    [array([0., 1., 0.])]
    """
    if (a_min is not None or a_max is not None) and (min is not None or max is not None):
        raise errors.OptionError("clip: bounds are given by two names. Use a_min and a_max, or min and max")
    lower, upper = (a_min if min is None else min), (a_max if max is None else max)
    a = widening(a)
    if type(lower) is int and _is_beyond(a, lower, -1):
        lower = None
    if type(upper) is int and _is_beyond(a, upper, 1):
        upper = None
    bounds = [as_operand(bound) for bound in (lower, upper) if bound is not None]
    if not bounds:
        return snapshot(a)
    are_numbers = _NUMBERS.issuperset(map(type, bounds))
    if not are_numbers:
        try:  # before the first of two operations is recorded
            np.broadcast_shapes(*(np.shape(operand) for operand in (a, *bounds)))
        except ValueError as error:
            raise errors.explain("clip", [a, *bounds], error) from error
    if type(lower) is float and upper is not None:  # a number of the common dtype
        dtype: Any = getattr(a, "dtype", None)
        is_kept = are_numbers and dtype is not None and dtype.kind == "f"
        lower = (dtype if is_kept else np.result_type(np.result_type(a), *bounds)).type(lower)
    if lower is not None:
        a = maximum(a, lower)
    if upper is not None:
        a = minimum(a, upper)
    return a


def _is_beyond(a: Any, bound: int, side: int) -> bool:
    """Return whether an int is a bound, below or above, of all numbers of the dtype of an array."""
    dtype: Any = getattr(a, "dtype", None)
    if dtype is None or dtype.kind not in "iu":
        return False
    return bound <= np.iinfo(dtype).min if side < 0 else bound >= np.iinfo(dtype).max


def _finite_only(d: Any, out: Any, x: Any, **replacements: Any) -> Any:
    if x.dtype.kind != "c":
        return where(isfinite(x), d, 0)
    kept = [where(isfinite(part(x)), part(d), 0) for part in (np.real, np.imag)]  # each independently
    return kept[0] + 1j * kept[1]


def _lower_nan_to_num(b: Any, x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    x = b.value(x)
    if x.dtype.kind == "c":  # each part by itself
        return b.complexes(_lower_nan_to_num(b, b.reals(x), nan, posinf, neginf))
    if x.dtype.kind != "f":
        return x
    limits = np.finfo(x.dtype)
    high, low = (
        (float(limits.max) if posinf is None else posinf),
        (float(limits.min) if neginf is None else neginf),
    )
    bounded = b.where(b.elementwise("equal", x, np.inf), high, x)
    bounded = b.where(b.elementwise("equal", x, -np.inf), low, bounded)
    return b.where(b.elementwise("isnan", x), nan, bounded)


_nan_to_num = Op(
    lambda x, **replacements: np.nan_to_num(x, **replacements),
    name="nan_to_num",
    vjp=[_finite_only],
    jvp=[_finite_only],
    taylor=series.linear,
    batch=batch_rules.elementwise,
    lower=_lower_nan_to_num,
)


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Replace NaN and infinities by numbers.

    Parameters
    ----------
    x : array_like or Var
        Any shape. The parts of complex numbers are looked at one by one.
    copy : bool
        True: a recorded value cannot be written to.
    nan, posinf, neginf : float or array_like, optional
        Replacements of NaN (0), and of the infinities (the largest finite numbers).

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Array of the shape and dtype of ``x``. The derivative is 0 where a number stands in.

    Raises
    ------
    InPlaceError
        If ``copy`` is False.
    UnsupportedError
        If a number to stand in is a Var.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([np.nan, 2.0]))
    >>> tr.backward_param_grads(tape.ops.nan_to_num(x))
    [array([0., 1.])]
    """
    if not copy:
        raise errors.InPlaceError("nan_to_num(..., copy=False) would write into a value. Omit copy")
    if any(isinstance(number, Handle) for number in (nan, posinf, neginf)):
        raise errors.UnsupportedError(
            "nan_to_num takes plain numbers as replacements. For Vars, use np.where(np.isnan(x), v, x)"
        )
    return _nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
