"""Reductions of some of the elements: those that ``where=`` selects, or those that are not NaN.

Also reductions that start from a given number (``initial=``) or accumulate in another dtype. Elements that
are left out have derivative 0 at every order: rules replace them by zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tape.core import series
from tape.core.batch_rules import inner_axes, lift
from tape.core.linear import broadcast_to, sum_to
from tape.core.op import Op
from tape.inspect.costs import declare_cost, passes
from tape.kernels.choices import extremes_share
from tape.ops.elementwise.selection import isnan, logical_and, logical_not, where
from tape.ops.reduction.axes import Reduced, keep_axes
from tape.ops.reduction.primitives import (
    count_nonzero_along,
    partials_of_product,
    prod_along,
    share_of_ties,
    sum_along,
)
from tape.ops.structure.shape import astype, repeated
from tape.ops.structure.writing import lower_stored


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    x, condition, *others = operands
    if any(is_batched[2:]):
        return NotImplemented
    x = repeated(x, is_batched[0], size)
    ndim = np.ndim(x) - 1
    condition = lift(condition, is_batched[1], ndim)
    return op(x, condition, *others, **{**attrs, "axis": inner_axes(attrs["axis"], ndim)})


_LOWERED = frozenset(map(np.dtype, ("f8", "f4", "c16", "c8", "i8", "i4", "?")))


def masked_reduction(
    name: str,
    forward: Callable[..., Any],
    partials: Callable[..., Sequence[Any]],
    lower: Callable[..., Any],
    *,
    skips_nan: bool = False,
    taylor: Any = None,
    adjoint: Callable[..., Any] | None = None,
) -> Op:
    """Return a reduction of the elements that count.

    Parameters
    ----------
    name : str
        The name of the operation.
    forward : callable
        ``forward(x, where, *others, axis, keepdims, **attrs)``.
    partials : callable
        Called like ``forward``, with the result in front: what the result changes by with each element
        of ``x``, and with each of the others, having all axes of ``x``. It finds zeros in ``x`` where
        ``where`` is False, which has the shape of ``x``.
    lower : callable
        Called likewise, with a builder in front of Values.
    skips_nan : bool
        Whether NaN counts as little as what ``where`` leaves out.
    taylor : callable, optional
        Same as for `Op`.
    adjoint : callable, optional
        ``adjoint(g, x, out)``, all with the axes of ``x``: a shorter way where all elements count but NaN,
        and there are no others; it may return None.
    """

    def counted(x: Any, condition: Any) -> Any:
        if skips_nan:
            condition = logical_and(logical_not(isnan(x)), condition)
        return broadcast_to(condition, shape=x.shape)

    def vjp(
        g: Any,
        out: Any,
        x: Any,
        condition: Any,
        *others: Any,
        axis: Reduced | None,
        keepdims: bool,
        **attrs: Any,
    ) -> list[Any]:
        if adjoint is not None and not others:  # and so no condition: an extreme needs initial= then
            passed = adjoint(keep_axes(g, x, axis, keepdims), x, keep_axes(out, x, axis, keepdims))
            if passed is not None:
                return [passed, None]
        counts = counted(x, condition)
        by_x, *by_others = partials(
            out, where(counts, x, 0), counts, *others, axis=axis, keepdims=keepdims, **attrs
        )
        g = keep_axes(g, x, axis, keepdims)
        pulled = [
            sum_to(g * slope, shape=np.shape(other)) for slope, other in zip(by_others, others, strict=True)
        ]
        return [where(counts, g * by_x, 0), None, *pulled]

    def push(
        k: int,
        t: Any,
        out: Any,
        x: Any,
        condition: Any,
        *others: Any,
        axis: Reduced | None,
        keepdims: bool,
        **attrs: Any,
    ) -> Any:
        counts = counted(x, condition)
        slopes = partials(out, where(counts, x, 0), counts, *others, axis=axis, keepdims=keepdims, **attrs)
        moved = slopes[k] * (t if k else where(counts, t, 0))
        return sum_along(moved, axis=axis, keepdims=keepdims)

    def lowered(b: Any, x: Any, condition: Any, *others: Any, **attrs: Any) -> Any:
        if b.value(x).dtype not in _LOWERED:
            b.refuse("masked reductions of other dtypes accumulate otherwise")
        x, condition = b.value(x), b.value(condition, bool)
        if skips_nan:
            is_number = b.elementwise("logical_not", b.elementwise("isnan", x))
            condition = b.elementwise("logical_and", is_number, condition)
        return lower(b, x, b.broadcast(condition, x.shape), *others, **attrs)

    return Op(
        forward,
        name=name,
        vjp=vjp,
        jvp=[partial(push, 0), None, partial(push, 1)],
        taylor=taylor,
        batch=_batch,
        lower=lowered,
    )


def share_of_counted(counts: Any, dtype: Any, axis: Reduced | None, less: float = 0) -> Any:
    """Return one over the number of elements that count in each reduction, minus ``less``; 0 for too few.

    The result is NaN there. A derivative of NaN would reach elements that do not count in forward mode alone.
    """
    left = count_nonzero_along(counts, axis=axis, keepdims=True) - less
    return astype(where(left > 0, 1 / where(left > 0, left, 1), 0), dtype)


# ---- sums, products and means ------------------------------------------------------------------------


def _folded(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda x, where, initial, *, axis, keepdims, dtype=None: ufunc.reduce(
        x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
    )


def _slopes_of_sum(out: Any, x: Any, counts: Any, initial: Any, **attrs: Any) -> tuple[Any, Any]:
    return astype(counts, out.dtype), np.ones((1,) * x.ndim, out.dtype)


def _slopes_of_product(
    out: Any, x: Any, counts: Any, initial: Any, axis: Reduced | None, **attrs: Any
) -> tuple[Any, Any]:
    factors = astype(where(counts, x, 1), out.dtype)
    return initial * partials_of_product(factors, axis), prod_along(factors, axis=axis, keepdims=True)


def _first(b: Any, initial: Any, dtype: np.dtype[Any]) -> Any:
    """Return the number that a reduction starts from: Python's floats must fit into an array of integers."""
    is_number = type(initial) is float or getattr(initial, "is_weak", False)
    if is_number and dtype.kind in "iu" and b.value(initial).dtype.kind == "f":
        return lower_stored(b, initial, dtype=dtype)
    return b.value(initial, dtype)


def _lower_folded(kind: str, ufunc: str, neutral: int) -> Callable[..., Any]:
    def lower(
        b: Any, x: Any, counts: Any, initial: Any, axis: Reduced | None, keepdims: bool, dtype: Any
    ) -> Any:
        x = b.cast(x, dtype or (x.dtype if x.dtype.kind in "fc" else np.int64))
        folded = b.fold(kind, b.where(counts, x, b.literal(neutral, x.dtype)), axis, keepdims)
        return b.elementwise(ufunc, folded, _first(b, initial, x.dtype))

    return lower


def lower_masked_mean(
    b: Any, x: Any, counts: Any, axis: Reduced | None, keepdims: bool, dtype: Any = None
) -> Any:
    x = b.cast(x, dtype or (x.dtype if x.dtype.kind in "fc" else np.float64))
    total = b.fold("sum", b.where(counts, x, b.literal(0, x.dtype)), axis, keepdims)
    return total / b.cast(b.fold("sum", b.cast(counts, np.int64), axis, keepdims), x.dtype)


def _means(function: Callable[..., Any], *, skips_nan: bool) -> Op:
    return masked_reduction(
        function.__name__,
        lambda x, where, *, axis, keepdims, dtype: function(x, axis, dtype, keepdims=keepdims, where=where),
        lambda out, x, counts, axis, keepdims, dtype: (share_of_counted(counts, out.dtype, axis),),
        lower_masked_mean,
        skips_nan=skips_nan,
        taylor=series.linear,
    )


sum_where = masked_reduction(
    "sum", _folded(np.add), _slopes_of_sum, _lower_folded("sum", "add", 0), taylor=series.linear
)
prod_where = masked_reduction(
    "prod", _folded(np.multiply), _slopes_of_product, _lower_folded("prod", "multiply", 1)
)
mean_where = _means(np.mean, skips_nan=False)
nanmean_where = _means(np.nanmean, skips_nan=True)
declare_cost(passes(1, 1), mean_where, nanmean_where)


# ---- extremes ----------------------------------------------------------------------------------------


def _slopes_of_extreme(
    out: Any, x: Any, counts: Any, *initial: Any, axis: Reduced | None, keepdims: bool
) -> list[Any]:
    """Return the derivatives by the elements and the initial value: equal ones share it."""
    extreme = keep_axes(out, x, axis, keepdims)
    are_extreme = [logical_and(x == extreme, counts), *(astype(one, x.dtype) == extreme for one in initial)]
    share = share_of_ties(are_extreme[0], are_extreme[1] if initial else 0, x.dtype, axis)
    return [where(is_extreme, share, 0) for is_extreme in are_extreme]


def _extremes(name: str, function: Callable[..., Any], ufunc: str, *, skips_nan: bool) -> Op:
    """Return the largest or smallest, with or without an initial value among the candidates."""
    fold = ufunc[:3]
    worst = -np.inf if fold == "max" else np.inf

    def forward(x: Any, where: Any, *initial: Any, axis: Reduced | None, keepdims: bool) -> Any:
        options = {"initial": initial[0]} if initial else {}
        # NumPy takes any array for a mask, which needs an initial value.
        chosen = where if where is True or np.ndim(where) else bool(where)
        return function(x, axis=axis, keepdims=keepdims, where=chosen, **options)

    def lower(b: Any, x: Any, counts: Any, *initial: Any, axis: Reduced | None, keepdims: bool) -> Any:
        if x.dtype.kind == "c":
            b.refuse("complex numbers are compared by their real parts first")
        first = _first(b, initial[0], x.dtype) if initial else b.value(np.nan, x.dtype)
        if initial and not skips_nan:
            return b.elementwise(ufunc, b.fold(fold, b.where(counts, x, first), axis, keepdims), first)
        found = b.fold(fold, b.where(counts, x, b.literal(worst, x.dtype)), axis, keepdims)
        found = b.where(b.fold("any", counts, axis, keepdims), found, first)
        return b.elementwise("f" + fold, found, first) if initial else found

    return masked_reduction(
        name,
        forward,
        _slopes_of_extreme,
        lower,
        skips_nan=skips_nan,
        taylor=series.linear,
        adjoint=extremes_share,  # NaN equals nothing
    )


max_where = _extremes("max", np.max, "maximum", skips_nan=False)
min_where = _extremes("min", np.min, "minimum", skips_nan=False)
nanmax_where = _extremes("nanmax", np.nanmax, "maximum", skips_nan=True)
nanmin_where = _extremes("nanmin", np.nanmin, "minimum", skips_nan=True)
declare_cost(passes(1), sum_where, prod_where, max_where, min_where, nanmax_where, nanmin_where)
