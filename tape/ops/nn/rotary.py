"""Rotary position embedding: pairs of elements turned by angles that grow with their position."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.operands import composed
from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.elementary import cos, sin
from tape.ops.nn.geometry import number
from tape.ops.nn.normalization import checked_floats
from tape.ops.structure.joining import concatenate, stack
from tape.ops.structure.shape import expand_dims, reshape
from tape.ops.structure.writing import strong


@composed
def rotary_embedding(x: Any, positions: Any = None, base: float = 10_000.0, interleaved: bool = False) -> Any:
    """Turn pairs of elements of queries or keys by ``position * base**(-2 * pair / E)``.

    The product of a query and a key that were turned depends on their positions by the difference alone.

    Parameters
    ----------
    x : array_like or Var
        ``(..., L, E)``, floats, where E is even.
    positions : array_like or Var, optional
        Numbers of a shape that broadcasts to ``(..., L)``; by default 0 to L - 1.
    base : float
        Positive: the slowest pair turns by about one radian in so many positions.
    interleaved : bool
        Whether a pair is two neighbours. Otherwise it is an element of the first half, and that of the second
        half with the same place there.

    Returns
    -------
    numpy.ndarray or Var
        Array of the shape and dtype of ``x``.

    Raises
    ------
    ShapeError
        If ``x`` has less than two axes or E is odd, or positions do not broadcast.
    DTypeError
        If ``x`` does not hold real floats.
    OptionError
        If ``base`` is not positive.

    References
    ----------
    J. Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021), section 3.2.2.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> tape.nn.rotary_embedding(x).round(3)  # turned by 0 and by 1 radian
    array([[1.   , 0.   ],
           [0.54 , 0.841]])
    >>> tape.nn.rotary_embedding(x, positions=[0, np.pi / 2]).round(3)
    array([[1., 0.],
           [0., 1.]])
    """
    x = checked_floats("rotary_embedding", x)
    shape = np.shape(x)
    if len(shape) < 2 or shape[-1] % 2:
        raise ShapeError(
            f"rotary_embedding: x has shape {list(shape)}. It must be (..., L, E), with an even number E"
        )
    if not number("rotary_embedding", "base", base) > 0:
        raise OptionError(f"rotary_embedding: base={base}. It must be positive")
    pairs = shape[-1] // 2
    positions = np.arange(shape[-2]) if positions is None else strong(positions)
    try:
        fits = np.broadcast_shapes(np.shape(positions), shape[:-1]) == shape[:-1]
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"rotary_embedding: positions have shape {list(np.shape(positions))}, which does not broadcast "
            f"to {list(shape[:-1])}, that of x without its last axis"
        )
    # Angles of whole positions are float64: of a position of 10**5 float32 keeps but two digits of the turn
    turns = float(base) ** (np.arange(pairs) / -max(pairs, 1))
    if positions.dtype.kind == "f":
        turns = turns.astype(positions.dtype)
    angles = expand_dims(positions, -1) * turns
    cosine, sine = cos(angles).astype(x.dtype), sin(angles).astype(x.dtype)
    if interleaved:
        first, second = x[..., ::2], x[..., 1::2]
    else:
        first, second = x[..., :pairs], x[..., pairs:]
    turned = first * cosine - second * sine, second * cosine + first * sine
    return reshape(stack(turned, axis=-1), shape) if interleaved else concatenate(turned, axis=-1)
