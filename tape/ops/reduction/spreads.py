"""Variances and standard deviations.

For complex numbers the square of the distance to the mean is averaged, and the result is real.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.specialise import specialised
from tape.core.table import implements
from tape.errors import OptionError, ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.reduction.axes import Reduced, operand_and_axes
from tape.ops.reduction.options import checked_options, in_dtype, is_plain
from tape.ops.reduction.variances import std_along, std_where, var_along, var_where
from tape.ops.structure.shape import Axes, astype, broadcasts

__all__ = ["std", "var"]  # `spread` is shared with `tape.ops.reduction.nanreductions`

declare_samples("np.std, np.var(x, axis=1)")


def _checked_ddof(name: str, ddof: float, correction: float | None) -> float:
    if correction is None:
        return ddof
    if ddof:
        raise OptionError(f"{name}: ddof and correction are two names of one option. Give only one")
    return correction


def _mean_operands(name: str, a: Any, mean: Any) -> list[Any]:
    """Return a given mean as a list of one operand; an empty list if there is none."""
    if mean is None:
        return []
    mean = as_operand(mean)
    if not broadcasts(np.shape(mean), np.shape(a)):
        raise ShapeError(
            f"{name}: mean has shape {list(np.shape(mean))}, which does not broadcast to "
            f"{list(np.shape(a))}. Compute it with keepdims=True"
        )
    return [mean]


def spread(
    masked: Op,
    a: Any,
    axes: Reduced | None,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: float | None,
    plain: Op | None = None,
) -> Any:
    """Check the arguments of a variance or standard deviation and compute it.

    It is ``masked``, or ``plain`` where all elements count; real, but in ``dtype`` if that is complex.
    """
    name = masked.name
    ddof = _checked_ddof(name, ddof, correction)
    if plain is not None and mean is None and is_plain(where, dtype=dtype):
        return plain(a, axis=axes, ddof=ddof, keepdims=keepdims)
    where, dtype = checked_options(name, a, where, dtype=dtype)
    operands = (a, where, *_mean_operands(name, a, mean))
    out = in_dtype(masked, dtype)(*operands, axis=axes, dtype=dtype, ddof=ddof, keepdims=keepdims)
    return out if dtype is None or dtype.kind != "c" else astype(out, dtype)


@implements(np.var)
@specialised()
def var(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Variance over axes.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    axis : int or tuple of int, optional
        All axes by default.
    dtype : dtype_like, optional
        The dtype to compute in.
    ddof : float
        The sum of squares is divided by the number of elements less this.
    keepdims : bool
        Keep the reduced axes with length one.
    where : array_like of bool or Var
        Mask of the elements that count; broadcasts to ``a``. The others have no derivative, and where too few
        count for the result to be a number, none has.
    mean : array_like or Var, optional
        The center to measure distances from; broadcasts to ``a``. It is differentiated too. By default the
        mean over the axes.
    correction : float, optional
        Another name for ``ddof``.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Real, also of complex numbers.

    Raises
    ------
    ShapeError
        If there is no such axis, or one is named twice; if ``where`` or ``mean`` does not fit.
    DTypeError
        If ``where`` does not hold bools, or ``dtype`` is none.
    OptionError
        If there are both ``ddof`` and ``correction``.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.var([1.0, 3.0], ddof=1))
    2.0
    """
    a, axes = operand_and_axes("var", a, axis, allow_number=False)
    return spread(var_where, a, axes, dtype, ddof, keepdims, where, mean, correction, plain=var_along)


@implements(np.std)
@specialised()
def std(
    a: Any,
    axis: Axes = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Standard deviation over axes; the derivative is 0 where all elements are equal.

    Parameters, result and errors are those of `var`.

    Examples
    --------
    >>> import tape
    >>> float(tape.ops.std([1.0, 3.0]))
    1.0
    """
    a, axes = operand_and_axes("std", a, axis, allow_number=False)
    return spread(std_where, a, axes, dtype, ddof, keepdims, where, mean, correction, plain=std_along)
