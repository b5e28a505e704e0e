"""Arguments of the functions of images: floats, modes of extension, and calls that are left to SciPy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tape import errors
from tape.core.nesting import batch_below
from tape.core.node import Handle
from tape.core.operands import composed
from tape.scipy._operands import Array, has_vars, operand

Function = TypeVar("Function", bound=Callable[..., Any])

PADDING = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge",
    "constant": "constant", "grid-constant": "constant", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip
"""The modes of `scipy.ndimage`, as those of `numpy.pad`."""


def of_floats(function: Function) -> Function:
    """Decorate a function of an image of floats: others, and those with ``output=``, are left to SciPy."""
    names, differentiable = list(inspect.signature(function).parameters), composed(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names, args, strict=False)) | kwargs
        image = given.get("input")
        is_float = isinstance(image, Handle) or operand(image).dtype.kind in "fc"
        if given.get("output") is None and is_float:
            return differentiable(*args, **kwargs)
        if not has_vars(list(args), kwargs):
            from scipy import ndimage

            return getattr(ndimage, function.__name__)(*args, **kwargs)
        raise errors.UnsupportedError(
            f"ndimage.{function.__name__}: with Vars the image must hold floats, and there is no output=. "
            "Convert it by astype(float), and use the result"
        )

    return call  # type: ignore[return-value]


def is_batched(x: Any) -> bool:
    """Return whether a number stands for several, one for each element of a batch."""
    return isinstance(x, Handle) and batch_below(x) is not None


def is_whole(number: Any) -> bool:
    """Return whether something is a number without a fraction."""
    return np.ndim(number) == 0 and not isinstance(number, (str, type(None))) and number == number // 1


def image(x: Any, what: str) -> Array:
    """Return an image as an array or Var of floats with an axis at least."""
    x = operand(x)
    if x.dtype.kind not in "fc" or not x.ndim:
        raise errors.DTypeError(
            f"ndimage.{what}: the image is {errors.describe(x)}. It must be an array of floats"
        )
    return x


def checked_mode(mode: Any, what: str) -> str:
    """Return a mode of extension."""
    if mode not in PADDING:
        raise errors.OptionError(f"ndimage.{what}: mode is {mode!r}. Take one of {', '.join(PADDING)}")
    return mode


def for_each(value: Any, count: int, name: str, what: str) -> list[Any]:
    """Return one value for each axis: a list as it is, or the same for all."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return [value] * count
    if len(value) != count:
        raise errors.ShapeError(f"ndimage.{what}: {name} has {len(value)} elements for {count} axes")
    return list(value)


def chosen_axes(axes: Any, ndim: int, what: str) -> list[int]:
    """Return axes, counted from the first one, each once."""
    found = list(range(ndim)) if axes is None else np.atleast_1d(axes).tolist()
    is_there = all(isinstance(axis, int) and -ndim <= axis < ndim for axis in found)
    if not is_there or len({axis % ndim for axis in found}) < len(found):
        raise errors.ShapeError(f"ndimage.{what}: axes are {axes!r} for an image of {ndim} axes")
    return [axis % ndim for axis in found]
