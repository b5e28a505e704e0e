"""Distances of vectors, and the loss of triplets by a distance of one's own.

The derivative of a distance that is 0 is 0, like that of every norm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core.operands import composed
from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.bodies import number
from tape.ops.elementwise.elementary import relu
from tape.ops.elementwise.selection import minimum
from tape.ops.linalg.norms import norm
from tape.ops.nn.losses import Reduction, check_fits, check_reduction, in_single, numbers, reals, reduced
from tape.ops.structure.indexing import getitem


def _order(name: str, p: Any) -> float:
    p = number(f"{name}: p", p)
    if not p >= 0:
        raise OptionError(f"{name}: p={p} is negative. It is the order of a norm")
    return p


@composed
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The distance of vectors along the last axis.

    Parameters
    ----------
    x1, x2 : array_like or Var
        ``(..., D)``, of shapes that broadcast, real or complex.
    p : float
        The order of the norm.
    eps : float
        Added to every component of a difference, as in PyTorch.
    keepdim : bool
        Whether the axis stays, with length 1.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        ``(...)``, or ``(..., 1)``.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast, or there is no axis.
    OptionError
        If a setting is not a number, or ``p`` is negative.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.pairwise_distance(np.array([[3.0, 4.0]]), np.zeros(2), eps=0.0)
    array([5.])
    """
    name = "pairwise_distance"
    p, eps = _order(name, p), number(f"{name}: eps", eps)
    x1, x2 = numbers(x1, x2)
    try:
        shape = np.broadcast_shapes(x1.shape, x2.shape)
    except ValueError:
        raise ShapeError(f"{name}: shapes {list(x1.shape)} and {list(x2.shape)} do not broadcast") from None
    if not shape:
        raise ShapeError(f"{name} takes vectors along the last axis, not scalars")
    return in_single(lambda x, y: norm(x - y + eps, ord=p, axis=-1, keepdims=bool(keepdim)), x1, x2)


@composed
def pdist(x: Any, p: float = 2.0) -> Any:
    """The distances of all pairs of rows, the first row with all others first.

    Parameters
    ----------
    x : array_like or Var
        ``(N, D)``.
    p : float
        The order of the norm.

    Returns
    -------
    numpy.ndarray or Var
        ``(N * (N - 1) / 2,)``.

    Raises
    ------
    ShapeError
        If x has not two axes.
    OptionError
        If ``p`` is not a number, or negative.
    DTypeError
        If x is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.pdist(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    array([5.        , 1.        , 4.24264069])
    """
    p = _order("pdist", p)
    (x,) = reals("pdist", x)
    if len(x.shape) != 2:
        raise ShapeError(f"pdist: x has shape {list(x.shape)}. It must be (N, D)")
    first, second = np.triu_indices(x.shape[0], 1)
    return in_single(lambda x: norm(getitem(x, first) - getitem(x, second), ord=p, axis=-1), x)


@composed
def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: Reduction = "mean",
) -> Any:
    """`triplet_margin_loss` with a distance of one's own.

    Parameters
    ----------
    anchor, positive, negative : array_like or Var
        What the distance takes.
    distance_function : callable, optional
        ``f(x, y)``, `pairwise_distance` by default.
    margin : float
        By how much a negative should be further away than a positive.
    swap : bool
        Take the distance between the right and the wrong vector, where it is less than that from the anchor.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the triplets.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses of the shape of the distances for ``reduction="none"``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If there is no such reduction, or ``margin`` is not a number.

    Examples
    --------
    >>> import numpy as np, tape
    >>> near, far = np.array([0.0, 1.0]), np.array([3.0, 3.0])
    >>> float(tape.nn.triplet_margin_with_distance_loss(near, near, far, lambda x, y: np.abs(x - y), 2.5))
    0.25
    """
    name = "triplet_margin_with_distance_loss"
    check_reduction(name, reduction)
    margin = number(f"{name}: margin", margin)
    anchor, positive, negative = numbers(anchor, positive, negative)
    distance = pairwise_distance if distance_function is None else distance_function
    near, away = distance(anchor, positive), distance(anchor, negative)
    if swap:
        away = minimum(away, distance(positive, negative))
    check_fits(name, "one distance", near, np.shape(away))
    return reduced(relu(margin + near - away), reduction)
