"""Linear and bilinear layers, with weights in PyTorch's order: outputs are the first axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.operands import as_operand
from tape.errors import ShapeError
from tape.ops.nn.normalization import check_shape
from tape.ops.products.products import matmul
from tape.ops.structure.axes import transpose
from tape.ops.structure.shape import expand_dims, reshape


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """``x @ weight.T + bias``.

    Parameters
    ----------
    x : array_like or Var
        ``(..., in)``.
    weight : array_like or Var
        ``(out, in)``.
    bias : array_like or Var, optional
        ``(out,)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., out)``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.linear(np.ones(3), np.eye(2, 3), bias=np.array([10.0, 20.0]))
    array([11., 21.])
    """
    x, weight = as_operand(x), as_operand(weight)
    if np.ndim(weight) != 2 or np.shape(x)[-1:] != np.shape(weight)[1:]:
        raise ShapeError(
            f"linear: x {list(np.shape(x))} and weight {list(np.shape(weight))}. The weight must be (out, "
            "in), and the last axis of x has length in"
        )
    check_shape("linear", "bias", bias, np.shape(weight)[:1])
    out = matmul(x, weight.T)
    return out if bias is None else out + as_operand(bias)


def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Any:
    """``x1 @ weight[o] @ x2 + bias[o]`` for each o.

    Parameters
    ----------
    x1, x2 : array_like or Var
        ``(..., in1)`` and ``(..., in2)``, alike in the other axes.
    weight : array_like or Var
        ``(out, in1, in2)``.
    bias : array_like or Var, optional
        ``(out,)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., out)``.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.bilinear(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.eye(2)[None])
    array([11.])
    """
    x1, x2, weight = as_operand(x1), as_operand(x2), as_operand(weight)
    first, second, shape = np.shape(x1), np.shape(x2), np.shape(weight)
    if len(shape) != 3 or first[:-1] != second[:-1] or (first[-1:] + second[-1:]) != shape[1:]:
        raise ShapeError(
            f"bilinear: x1 {list(first)}, x2 {list(second)} and weight {list(shape)}. The weight must be "
            "(out, in1, in2), the others end with in1 and in2 and are equal before"
        )
    check_shape("bilinear", "bias", bias, shape[:1])
    matrix = reshape(transpose(weight, (1, 0, 2)), (shape[1], shape[0] * shape[2]))
    forms = reshape(matmul(x1, matrix), (*first[:-1], shape[0], shape[2]))
    products = matmul(forms, expand_dims(x2, -1))
    out = reshape(products, products.shape[:-1])
    return out if bias is None else out + as_operand(bias)
