"""Attention: averages of values, weighted by how well their keys match a query."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from tape.core.operands import as_operand, composed
from tape.errors import DTypeError, OptionError, ShapeError
from tape.ops.elementwise.selection import where
from tape.ops.nn.dropout import check_mask, dropout
from tape.ops.nn.geometry import whole
from tape.ops.nn.linear import linear
from tape.ops.nn.normalization import check_shape, checked_floats
from tape.ops.products.products import matmul
from tape.ops.reduction.softmax import softmax, softmax_shares
from tape.ops.structure.axes import swapaxes
from tape.ops.structure.repeating import repeat
from tape.ops.structure.shape import reshape

_LAST = (-1,)


@composed
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    dropout_mask: Any = None,
) -> Any:
    """``softmax(scale * query @ key.T + mask) @ value``, with stacks of all of them.

    Parameters
    ----------
    query : array_like or Var
        ``(..., L, E)``, floats.
    key : array_like or Var
        ``(..., S, E)``.
    value : array_like or Var
        ``(..., S, V)``. The axes in front of all three broadcast.
    attn_mask : array_like or Var, optional
        Array of a shape that broadcasts to ``(..., L, S)``: bools, True for keys that a query attends to, or
        floats, which are added before the softmax. A query that attends to no key gets zeros, and passes
        no gradient on.
    dropout_p : float
        The probability with which weights were dropped; see `dropout`. Of use with ``dropout_mask`` only.
    is_causal : bool
        Whether query i attends to the keys 0 to i only, besides what the mask says.
    scale : float, optional
        By default ``1 / sqrt(E)``.
    enable_gqa : bool
        Whether several heads of the query, axis -3, share one of key and value, which have fewer.
    dropout_mask : array_like or Var, optional
        Array of a shape that broadcasts to ``(..., L, S)``: which weights are kept.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., L, V)``.

    Raises
    ------
    ShapeError
        If shapes do not belong together; for a mask, both shapes are named.
    DTypeError
        If the operands are not real floats, or the mask is neither of bools nor of floats.
    OptionError
        If there is a ``dropout_p`` and no mask for it, or the heads of the query are no multiple of those of
        key and value.

    References
    ----------
    A. Vaswani et al., "Attention is all you need" (2017), section 3.2.1.

    Examples
    --------
    >>> import numpy as np, tape
    >>> value = np.array([[1.0], [3.0], [5.0]])
    >>> tape.nn.scaled_dot_product_attention(np.zeros((3, 2)), np.zeros((3, 2)), value, is_causal=True)
    array([[1.],
           [2.],
           [3.]])
    """
    name = "scaled_dot_product_attention"
    query, key, value = (checked_floats(name, x) for x in (query, key, value))
    if dropout_p and dropout_mask is None:
        raise OptionError(
            f"{name}: dropout_p={dropout_p} without a dropout_mask. Draw one with tape.nn.dropout_mask"
        )
    groups = _group_size(name, query, key, value) if enable_gqa else 1
    shape = _shape_of_scores(name, query, key, value, groups)
    if attn_mask is not None:
        attn_mask = as_operand(attn_mask)
        if np.result_type(attn_mask).kind not in "bf":
            raise DTypeError(f"{name}: the mask is {np.result_type(attn_mask)}. Use bools, or floats to add")
        check_mask(name, attn_mask, shape, "the scores")
    if dropout_mask is not None:
        check_mask(name, dropout_mask, shape, "the scores")
    if groups > 1:
        key, value = (repeat(x, groups, axis=-3) for x in (key, value))
    scaled = query * (1 / sqrt(query.shape[-1]) if scale is None else scale)  # smaller than the scores
    weights = _weights(matmul(scaled, swapaxes(key, -1, -2)), attn_mask, is_causal)
    if dropout_mask is not None:
        weights = dropout(weights, dropout_p, dropout_mask)
    return matmul(weights, value)


def _weights(scores: Any, mask: Any, is_causal: bool) -> Any:
    """Return the softmax over the keys that a query attends to; zeros where there are none."""
    if not scores.size:
        return scores
    if is_causal:
        scores = where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if mask is None:
        return softmax(scores, axis=-1)  # without a mask, there is a key for every query
    is_choice = np.result_type(mask).kind == "b"
    return softmax_shares(where(mask, scores, -np.inf) if is_choice else scores + mask, axis=_LAST)


def _group_size(name: str, query: Any, key: Any, value: Any) -> int:
    """Return how many heads of the query share one of key and value."""
    if min(query.ndim, key.ndim, value.ndim) < 3:
        raise ShapeError(f"{name}: enable_gqa needs at least three axes, the third last of which are heads")
    heads, shared = query.shape[-3], key.shape[-3]
    if value.shape[-3] != shared or not shared or heads % shared:
        raise OptionError(
            f"{name}: {heads} heads of the query cannot share {shared} of the key and {value.shape[-3]} of "
            "the value. These two must be equal, and divide that of the query"
        )
    return heads // shared


def _shape_of_scores(name: str, query: Any, key: Any, value: Any, groups: int) -> tuple[int, ...]:
    """Return the shape of the product of queries and keys; raise if that or the product with values fails."""
    shapes = [np.shape(x) for x in (query, key, value)]
    call = f"{name}: query {list(shapes[0])}, key {list(shapes[1])}, value {list(shapes[2])}"
    if min(map(len, shapes)) < 2:
        raise ShapeError(f"{call}. Each must have at least two axes: (..., length, width)")
    if shapes[0][-1] != shapes[1][-1] or not shapes[0][-1] or shapes[1][-2] != shapes[2][-2]:
        raise ShapeError(f"{call}. Query and key must have the same width, key and value the same length")
    fronts = [shapes[0][:-2], *((*s[:-3], s[-3] * groups) if groups > 1 else s[:-2] for s in shapes[1:])]
    try:
        np.broadcast_shapes(*fronts)
    except ValueError:
        raise ShapeError(f"{call}. The axes in front do not broadcast") from None
    return (*np.broadcast_shapes(*fronts[:2]), shapes[0][-2], shapes[1][-2])


def multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    out_proj_weight: Any,
    out_proj_bias: Any = None,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    dropout_mask: Any = None,
) -> Any:
    """Attention with several heads, each with its own linear maps of query, key and value.

    Parameters
    ----------
    query : array_like or Var
        ``(..., L, E)``: batches come first, as with ``batch_first=True`` in PyTorch.
    key, value : array_like or Var
        ``(..., S, E)``. What is one and the same object is mapped in one product.
    num_heads : int
        Number of heads; each gets ``E / num_heads`` elements.
    in_proj_weight : array_like or Var
        ``(3 * E, E)``: the weights for query, key and value.
    in_proj_bias : array_like or Var or None
        ``(3 * E,)``.
    out_proj_weight : array_like or Var
        ``(E, E)``.
    out_proj_bias : array_like or Var, optional
        ``(E,)``.
    attn_mask, dropout_p, is_causal, dropout_mask
        Same as for `scaled_dot_product_attention`, with heads in axis -3 of the scores. In a mask of bools
        True is for keys attended to, the opposite of PyTorch's ``MultiheadAttention``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., L, E)``.

    Raises
    ------
    ShapeError
        If shapes do not belong together.
    OptionError
        If the elements do not split into the heads; or as `scaled_dot_product_attention`.
    DTypeError
        Like `scaled_dot_product_attention`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> x, eye = np.array([[1.0, 2.0]]), np.eye(2)
    >>> tape.nn.multi_head_attention(x, x, x, 2, np.concatenate([eye, eye, eye]), None, eye)
    array([[1., 2.]])
    """
    name = "multi_head_attention"
    q, k, v = projected_heads(name, query, key, value, num_heads, in_proj_weight, in_proj_bias)
    width = q.shape[-1] * num_heads
    check_shape(name, "out_proj_weight", out_proj_weight, (width, width))
    check_shape(name, "out_proj_bias", out_proj_bias, (width,))
    out = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal, dropout_mask=dropout_mask)
    return linear(joined_heads(out), out_proj_weight, out_proj_bias)


def projected_heads(
    name: str, query: Any, key: Any, value: Any, num_heads: int, weight: Any, bias: Any
) -> list[Any]:
    """Return query, key and value after their linear maps, ``(..., heads, L, E / heads)``; check shapes."""
    shapes = [np.shape(x) for x in (query, key, value)]
    width = shapes[0][-1] if shapes[0] else 0
    if min(map(len, shapes)) < 2 or any(s[-1] != width for s in shapes) or shapes[1][:-1] != shapes[2][:-1]:
        raise ShapeError(
            f"{name}: query {list(shapes[0])}, key {list(shapes[1])}, value {list(shapes[2])}. They are "
            "(..., L, E), (..., S, E) and (..., S, E)"
        )
    if whole(name, "num_heads", num_heads, 1) and width % num_heads:
        raise OptionError(f"{name}: {width} elements do not split into {num_heads} heads")
    check_shape(name, "in_proj_weight", weight, (3 * width, width))
    check_shape(name, "in_proj_bias", bias, (3 * width,))
    mapped = _mapped((query, key, value), width, as_operand(weight), bias)
    return [swapaxes(reshape(x, (*x.shape[:-1], num_heads, width // num_heads)), -2, -3) for x in mapped]


def joined_heads(out: Any) -> Any:
    """Return ``(..., L, E)``, given the result of all heads, ``(..., heads, L, E / heads)``."""
    out = swapaxes(out, -2, -3)
    return reshape(out, (*out.shape[:-2], out.shape[-2] * out.shape[-1]))


def _mapped(operands: tuple[Any, Any, Any], width: int, weight: Any, bias: Any) -> list[Any]:
    """Return query, key and value after their linear maps, in one product where they are the same."""
    bias = None if bias is None else as_operand(bias)
    if operands[0] is operands[1] is operands[2]:
        together = linear(operands[0], weight, bias)
        return [together[..., k * width : (k + 1) * width] for k in range(3)]
    rows = [slice(k * width, (k + 1) * width) for k in range(3)]
    return [
        linear(x, weight[part], None if bias is None else bias[part])
        for x, part in zip(operands, rows, strict=True)
    ]
