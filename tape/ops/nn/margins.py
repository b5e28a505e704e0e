"""Similarity of vectors, and losses that require a margin between similar and dissimilar ones.

Where a loss ends at 0 its derivative is 0 there, like that of relu.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.linear import broadcast_to
from tape.core.operands import composed
from tape.errors import OptionError, ShapeError
from tape.ops.elementwise.bodies import number
from tape.ops.elementwise.elementary import relu, softplus, sqrt
from tape.ops.elementwise.selection import maximum, minimum, where
from tape.ops.linalg.norms import norm
from tape.ops.nn.losses import (
    Reduction,
    check_reduction,
    in_single,
    like_shaped,
    numbers_like_shaped,
    reals,
    reduced,
)
from tape.ops.number_axes import axis_of
from tape.ops.reduction.primitives import sum_along
from tape.ops.structure.positions import checked_axis
from tape.ops.structure.shape import reshape


@composed
def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors.

    Parameters
    ----------
    x1, x2 : array_like or Var
        Arrays of shapes that broadcast.
    axis : int
        The axis of the vectors, in the shape they broadcast to.
    eps : float
        The least length: shorter vectors are divided by this one.

    Returns
    -------
    numpy.ndarray, numpy.generic or Var
        Without ``axis``. For a vector of zeros 0.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast, or there is no such axis.
    OptionError
        If ``eps`` is not a number.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.cosine_similarity(np.eye(2), np.array([[3.0, 4.0]]))
    array([0.6, 0.8])
    """
    eps = number("cosine_similarity: eps", eps)
    x1, x2 = reals("cosine_similarity", x1, x2)
    try:
        shape = np.broadcast_shapes(x1.shape, x2.shape)
    except ValueError:
        raise ShapeError(
            f"cosine_similarity: shapes {list(x1.shape)} and {list(x2.shape)} do not broadcast"
        ) from None
    if not shape and axis_of(x1, axis) is None:  # scalars, as vectors of one element
        shape, x1, x2 = (1,), reshape(x1, (1,)), reshape(x2, (1,))
    place = checked_axis("cosine_similarity", shape, axis) - len(shape)
    x1, x2 = (_along(x, shape, place) for x in (x1, x2))

    def cosine(x1: Any, x2: Any) -> Any:
        lengths = [maximum(norm(x, axis=place), eps) for x in (x1, x2)]
        return sum_along(x1 * x2, axis=(place,), keepdims=False) / (lengths[0] * lengths[1])

    return in_single(cosine, x1, x2)


def _along(x: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Return an operand that has all of an axis, counted from the end; other axes may broadcast later."""
    own = x.shape
    has_all = len(own) >= -axis and own[axis] == shape[axis]
    return x if has_all else broadcast_to(x, shape=shape)


_COSINE_EPS = 1e-12  # added to squares, as in PyTorch's C++


@composed
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: Reduction = "mean"
) -> Any:
    """``1 - cos`` of vectors that belong together; of others the excess of the cosine over a margin.

    Parameters
    ----------
    input1, input2 : array_like or Var
        ``(N, D)`` or ``(D,)``.
    target : array_like or Var
        ``(N,)`` or ``()``: 1 for vectors that belong together, -1 for others.
    margin : float
        The largest cosine that costs others nothing.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the pairs.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses of the shape of ``target`` for ``reduction="none"``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    OptionError
        If there is no such reduction, or ``margin`` is not a number.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x, y = np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> np.round(tape.nn.cosine_embedding_loss(x, y, np.array([1, 1]), reduction="none"), 6)
    array([0., 1.])
    """
    name = "cosine_embedding_loss"
    margin = number(f"{name}: margin", margin)
    input1, input2 = like_shaped(name, reduction, input1, input2)
    (target,) = reals(name, target)
    shape = input1.shape
    if len(shape) not in (1, 2) or target.shape != shape[:-1]:
        raise ShapeError(
            f"{name}: inputs {list(shape)} and a target {list(target.shape)}. Vectors must be (N, D) with a "
            "target (N), or (D) with one ()"
        )

    def dot(x: Any, y: Any) -> Any:
        return sum_along(x * y, axis=(-1,), keepdims=False)

    squares = (dot(input1, input1) + _COSINE_EPS) * (dot(input2, input2) + _COSINE_EPS)
    cosine = dot(input1, input2) / sqrt(squares)
    return reduced(where(target == 1, 1 - cosine, relu(cosine - margin)), reduction)


@composed
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: Reduction = "mean") -> Any:
    """The distance of elements that belong together; of others how far it is below a margin.

    Parameters
    ----------
    input : array_like or Var
        Distances, of any shape.
    target : array_like or Var
        Array of that shape: 1 for pairs that belong together, -1 for others.
    margin : float
        The distance that others should have at least.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the elements.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or for ``reduction="none"`` an array of the shape of ``input``.

    Raises
    ------
    ShapeError
        If the shapes differ.
    OptionError
        If there is no such reduction, or ``margin`` is not a number.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.hinge_embedding_loss(np.array([0.25, 0.25]), np.array([1, -1]), reduction="none")
    array([0.25, 0.75])
    """
    margin = number("hinge_embedding_loss: margin", margin)
    input, target = like_shaped("hinge_embedding_loss", reduction, input, target)
    return reduced(where(target == 1, input, relu(margin - input)), reduction)


@composed
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: Reduction = "mean"
) -> Any:
    """``relu(margin - target * (input1 - input2))``: the loss of ranking one of two higher.

    Parameters
    ----------
    input1, input2 : array_like or Var
        Ranks, of one shape.
    target : array_like or Var
        Array of that shape: 1 where the first is to be higher, -1 where the second is.
    margin : float
        The shift.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the elements.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or for ``reduction="none"`` an array of the shape of the operands.

    Raises
    ------
    ShapeError
        If the shapes differ.
    OptionError
        If there is no such reduction, or ``margin`` is not a number.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> import numpy as np, tape
    >>> high, low = np.array([2.0, 1.0]), np.array([1.0, 2.0])
    >>> tape.nn.margin_ranking_loss(high, low, np.array([1, 1]), reduction="none")
    array([0., 1.])
    """
    name = "margin_ranking_loss"
    margin = number(f"{name}: margin", margin)
    input1, input2 = like_shaped(name, reduction, input1, input2)
    input1, target = like_shaped(name, reduction, input1, target)
    return reduced(relu(margin - target * (input1 - input2)), reduction)


@composed
def soft_margin_loss(input: Any, target: Any, reduction: Reduction = "mean") -> Any:
    """``log(1 + exp(-target * input))``, for targets 1 and -1, without overflow. Otherwise like `mse_loss`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.soft_margin_loss(np.array([-1000.0, 1000.0]), np.array([1, 1]), "none")
    array([1000.,    0.])
    """
    input, target = like_shaped("soft_margin_loss", reduction, input, target)
    return reduced(softplus(-(target * input)), reduction)


@composed
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: Reduction = "mean",
) -> Any:
    """The shortfall of a margin by which a negative should be further away than a positive.

    Parameters
    ----------
    anchor, positive, negative : array_like or Var
        ``(..., D)``, of one shape, real or complex.
    margin : float
        The margin by which it should be further away.
    p : float
        The order of the norm that is the distance.
    eps : float
        Added to every component of a difference, as in PyTorch.
    swap : bool
        Take the distance between the right and the wrong vector, where it is less than that from the anchor.
    reduction : {"mean", "sum", "none"}
        How to reduce the losses of the triplets.

    Returns
    -------
    numpy.generic, numpy.ndarray or Var
        A scalar, or losses ``(...)`` for ``reduction="none"``.

    Raises
    ------
    ShapeError
        If the shapes differ, or there is no axis.
    OptionError
        If there is no such reduction, a setting is not a number or ``p`` is not positive.

    Examples
    --------
    >>> import numpy as np, tape
    >>> anchor, near, far = np.zeros((1, 2)), np.zeros((1, 2)), np.array([[0.3, 0.4]])
    >>> round(float(tape.nn.triplet_margin_loss(anchor, near, far)), 5)
    0.5
    """
    name = "triplet_margin_loss"
    check_reduction(name, reduction)
    margin, p, eps = (
        number(f"{name}: {what}", given) for what, given in (("margin", margin), ("p", p), ("eps", eps))
    )
    if not p > 0:
        raise OptionError(f"{name}: p={p} must be positive: it is the order of a norm")
    anchor, positive = numbers_like_shaped(name, reduction, anchor, positive)
    anchor, negative = numbers_like_shaped(name, reduction, anchor, negative)
    if not anchor.ndim:
        raise ShapeError(f"{name} takes vectors along the last axis, not scalars")

    def distance(x: Any, y: Any) -> Any:
        return in_single(lambda x, y: norm(x - y + eps, ord=p, axis=-1), x, y)

    away = distance(anchor, negative)
    if swap:
        away = minimum(away, distance(positive, negative))
    return reduced(relu(margin + distance(anchor, positive) - away), reduction)
