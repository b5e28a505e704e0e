"""Windows over spatial axes: their positions, their number, and checks.

The arguments of convolutions and pooling, checked at the call and expanded to each axis. Arrays are ``(N, C,
*spatial)``. A window has ``size`` taps, ``dilation`` apart; the first window starts at ``-low``, the next
``stride`` further on, and none ends behind ``length + high``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tape.errors import DTypeError, OptionError, ShapeError, describe
from tape.ops.structure.shape import reshape

Counts = tuple[int, ...]
Paddings = tuple[tuple[int, int], ...]

_AXES = {1: "length", 2: "height, width", 3: "depth, height, width"}


# ---- operands --------------------------------------------------------------------------------------


def image_shape(name: str, x: Any, rank: int) -> Counts:
    """Return the shape of an operand with a batch axis, which the operand may lack."""
    shape = getattr(x, "shape", ())
    if len(shape) not in (rank + 1, rank + 2):
        axes = _AXES[rank]
        raise ShapeError(f"{name}: x has shape {list(shape)}. It must be (N, C, {axes}) or (C, {axes})")
    return shape if len(shape) == rank + 2 else (1, *shape)


def check_real(name: str, x: Any) -> None:
    """Check that the elements of an array can be compared."""
    if x.dtype.kind == "c":
        raise DTypeError(f"{name} of {x.dtype}: complex numbers have no order. Pool their absolute values")


def computed(kernel: Callable[..., np.ndarray], /, *arrays: np.ndarray, **at: Any) -> np.ndarray:
    """Return the result of a kernel on arrays in their common dtype; float16 is computed in float32."""
    dtype = np.result_type(*arrays)
    used = np.dtype(np.float32) if dtype == np.float16 else dtype
    return kernel(*[x.astype(used, copy=False) for x in arrays], **at).astype(dtype, copy=False)


def on_batches(function: Callable[[Any], Any], x: Any, rank: int) -> Any:
    """Return ``function(x)``; if x has no batch axis, it gets one, and the result loses it."""
    if x.ndim == rank + 2:
        return function(x)
    out = function(reshape(x, (1, *x.shape)))
    return reshape(out, out.shape[1:])


# ---- options ---------------------------------------------------------------------------------------


def whole(name: str, what: str, value: Any, least: int) -> int:
    """Return an int that is at least ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise OptionError(f"{name}: {what}={value!r}. It must be an int of at least {least}")
    return number


def number(name: str, what: str, value: Any) -> Any:
    """Return a number, which may be a Var; raise for anything else."""
    dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    if np.ndim(value) or dtype.kind not in "fiub":
        raise OptionError(f"{name}: {what}={describe(value)}. It must be a number")
    return value


def wholes(name: str, what: str, values: Any, least: int) -> Counts:
    """Return several ints, each at least ``least``."""
    if not isinstance(values, (Sequence, np.ndarray)):
        raise OptionError(f"{name}: {what}={values!r}. It must hold an int for each axis")
    return tuple([whole(name, what, value, least) for value in values])


def per_axis(name: str, what: str, value: Any, rank: int, least: int) -> Counts:
    """Return an int for each spatial axis, given one for all of them or one for each."""
    if isinstance(value, (tuple, list)):
        if len(value) != rank:
            raise OptionError(f"{name}: {what}={value!r}. It must be an int, or {rank} ints")
        return tuple([whole(name, what, part, least) for part in value])
    return (whole(name, what, value, least),) * rank


def paddings(name: str, value: Any, rank: int) -> Paddings:
    """Return a pair (low, high) for each spatial axis, given ints or pairs."""
    if not isinstance(value, (tuple, list)):
        size = whole(name, "padding", value, 0)
        return ((size, size),) * rank
    if len(value) != rank:
        raise OptionError(
            f"{name}: padding={value!r}. It must be an int, or {rank} ints or pairs (low, high)"
        )
    pairs = [per_axis(name, "padding", pair, 2, 0) for pair in value]
    return tuple([(low, high) for low, high in pairs])


# ---- windows ---------------------------------------------------------------------------------------


def extents(size: Sequence[int], dilation: Sequence[int]) -> Counts:
    """Return the number of elements that windows span."""
    return tuple([(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)])


@lru_cache
def window_counts(
    name: str, spatial: Counts, size: Counts, stride: Counts, padding: Paddings, dilation: Counts
) -> Counts:
    """Return the number of windows along each axis, at least one."""
    reach = extents(size, dilation)
    padded = [length + low + high for length, (low, high) in zip(spatial, padding, strict=True)]
    if not all(spatial):
        raise ShapeError(f"{name}: there is nothing in {list(spatial)} elements to lay a window over")
    if any(total < extent for total, extent in zip(padded, reach, strict=True)):
        spread = f", which dilation spreads over {list(reach)}," if any(d > 1 for d in dilation) else ""
        raise ShapeError(
            f"{name}: a kernel of size {list(size)}{spread} is larger than its padded input {padded}. "
            "Pad more, or use a smaller kernel"
        )
    return tuple(
        [(total - extent) // step + 1 for total, extent, step in zip(padded, reach, stride, strict=True)]
    )
