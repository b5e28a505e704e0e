"""Dropout by a given mask, so that randomness is an argument like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core.operands import as_operand, composed
from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.selection import where
from tape.ops.nn.geometry import number
from tape.ops.structure.shape import as_shape, broadcasts


def checked_probability(name: str, p: Any) -> float:
    if np.ndim(p) or isinstance(p, (bool, np.bool_)):
        raise OptionError(f"{name}: p is {errors.describe(p)}, not a probability. The mask comes after it")
    if not 0 <= number(name, "p", p) <= 1:
        raise OptionError(f"{name}: p={p}. It must be within 0 and 1")
    return float(p)


def check_mask(name: str, mask: Any, shape: tuple[int, ...], of: str = "x") -> None:
    """Raise unless a mask broadcasts to this shape, that of ``of``."""
    if not broadcasts(np.shape(mask), shape):
        raise ShapeError(
            f"{name}: a mask of shape {list(np.shape(mask))} does not broadcast to "
            f"{list(shape)}, that of {of}"
        )


def checked_mask(name: str, x: Any, mask: Any) -> tuple[Any, Any]:
    """Return the operand, and where the mask keeps it, as bools."""
    if mask is None:
        raise OptionError(
            f"{name} has no mask. Draw one by a generator of tape.random, mask = tape.nn.dropout_mask(rng, "
            f"x.shape, p), and call {name}(x, p, mask)"
        )
    x, mask = as_operand(x), as_operand(mask)
    if not np.ndim(mask) and np.result_type(mask).kind in "fc":
        raise OptionError(
            f"{name}: the mask is {errors.describe(mask)}. Call {name}(x, p, mask), in this order"
        )
    check_mask(name, mask, np.shape(x))
    return x, mask if np.result_type(mask).kind == "b" else mask != 0


@composed
def dropout(x: Any, p: float = 0.5, mask: Any = None) -> Any:
    """``x / (1 - p)`` where the mask holds, and 0 elsewhere.

    Parameters
    ----------
    x : array_like or Var
        Any shape.
    p : float
        The probability with which elements were dropped: see `dropout_mask`. If 1, all is zero.
    mask : array_like or Var
        Bools, or numbers that are zero where ``x`` is dropped, of a shape that broadcasts to that of ``x``.
        It must be given: nothing random is drawn here.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape of ``x``. Dropped elements have no influence at all, even if infinite.

    Raises
    ------
    ShapeError
        If the mask does not fit.
    OptionError
        If ``p`` is no probability, there is no mask, or it is a single float.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.dropout(np.array([1.0, 2.0, 3.0]), 0.5, np.array([True, False, True]))
    array([2., 0., 6.])
    """
    p = checked_probability("dropout", p)
    x, is_kept = checked_mask("dropout", x, mask)
    return where(is_kept, x * (1 / (1 - p) if p < 1 else 0.0), 0)


def dropout_mask(rng: Any, shape: int | Sequence[int], p: float = 0.5) -> Any:
    """Draw a mask for `dropout`, with each element False with probability ``p``.

    By a generator of `tape.random`, a compiled function draws a new mask in each call. By one of NumPy, draw
    it outside of compiled functions and pass it, or they keep the one they were recorded with.

    Parameters
    ----------
    rng : numpy.random.Generator or tape.random.Generator
        The source of randomness.
    shape : int or sequence of int
        Shape of the mask. Axes of length one drop whole channels.
    p : float
        The probability that an element is dropped.

    Returns
    -------
    numpy.ndarray or Var
        Array of bools; a Var in a compiled function.

    Raises
    ------
    OptionError
        If ``p`` is no probability.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.dropout_mask(np.random.default_rng(0), (2, 3), p=0.25)
    array([[ True,  True,  True],
           [ True,  True, False]])
    """
    p = checked_probability("dropout_mask", p)
    if not hasattr(rng, "random"):
        raise OptionError(f"dropout_mask: rng={rng!r}. It must be a generator of NumPy or of tape.random")
    lengths = as_shape(shape)
    if any(length < 0 for length in lengths):
        raise ShapeError(f"dropout_mask: shape={shape!r}. Lengths must not be negative")
    return rng.random(lengths, dtype=np.float32) >= np.float32(p)
