"""Convolution of plain arrays, and the two other products that are its derivatives.

Three functions, linear in both operands and closed under differentiation: the derivative of each by an
operand is one of the others. Windows become the columns of a matrix, and all of them a product by BLAS.
Arguments are what `tape.ops.nn.convolution` has checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tape.kernels.windows import output_lengths, taps

__all__ = ["conv", "conv_input", "conv_weight"]

Pairs = Sequence[tuple[int, int]]


def conv(
    x: np.ndarray, w: np.ndarray, stride: Sequence[int], padding: Pairs, dilation: Sequence[int], groups: int
) -> np.ndarray:
    """Correlate images with kernels.

    Parameters
    ----------
    x : numpy.ndarray
        ``(N, C, *spatial)``.
    w : numpy.ndarray
        ``(O, C / groups, *kernel)``.
    stride, dilation : sequence of int
        For each spatial axis.
    padding : sequence of (int, int)
        Zeros before the first element and behind the last, for each spatial axis.
    groups : int
        Parts of the channels that do not see each other.

    Returns
    -------
    numpy.ndarray
        ``(N, O, *windows)``, of the dtype that the operands have together.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.convolution import conv
    >>> conv(np.arange(5.0).reshape(1, 1, 5), np.ones((1, 1, 3)), (2,), ((0, 0),), (1,), 1)
    array([[[3., 9.]]])
    """
    kernel = w.shape[2:]
    outputs = output_lengths(x.shape[2:], kernel, stride, padding, dilation)
    columns = _columns(x, kernel, outputs, stride, padding, dilation, groups)
    rows = w.reshape(groups, len(w) // groups, prod(w.shape[1:]))
    return np.matmul(rows, columns).reshape(len(x), len(w), *outputs)


def conv_input(
    g: np.ndarray, w: np.ndarray, spatial: Sequence[int], stride: Sequence[int], padding: Pairs,
    dilation: Sequence[int], groups: int,
) -> np.ndarray:  # fmt: skip
    """The derivative of ``sum(g * conv(x, w))`` by x: a transposed convolution.

    Parameters
    ----------
    g : numpy.ndarray
        ``(N, O, *windows)``.
    w, stride, padding, dilation, groups
        As for `conv`.
    spatial : sequence of int
        Of x.

    Returns
    -------
    numpy.ndarray
        ``(N, C, *spatial)``.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.convolution import conv_input
    >>> conv_input(np.array([[[1.0, 10.0]]]), np.ones((1, 1, 3)), (5,), (2,), ((0, 0),), (1,), 1)
    array([[[ 1.,  1., 11., 10., 10.]]])
    """
    count, outputs, kernel = len(g), g.shape[2:], w.shape[2:]
    rows = w.reshape(groups, len(w) // groups, prod(w.shape[1:]))
    columns = np.matmul(rows.transpose(0, 2, 1), g.reshape(count, groups, rows.shape[1], prod(outputs)))
    columns = columns.reshape(count, groups * w.shape[1], *kernel, *outputs)
    x = np.zeros((count, groups * w.shape[1], *spatial), columns.dtype)
    for position, seen, windows in taps(spatial, kernel, outputs, stride, padding, dilation):
        x[(..., *seen)] += columns[(slice(None), slice(None), *position, *windows)]
    return x


def conv_weight(
    x: np.ndarray, g: np.ndarray, kernel: Sequence[int], stride: Sequence[int], padding: Pairs,
    dilation: Sequence[int], groups: int,
) -> np.ndarray:  # fmt: skip
    """The derivative of ``sum(g * conv(x, w))`` by w.

    Parameters
    ----------
    x, stride, padding, dilation, groups
        As for `conv`.
    g : numpy.ndarray
        ``(N, O, *windows)``.
    kernel : sequence of int
        The spatial axes of w.

    Returns
    -------
    numpy.ndarray
        ``(O, C / groups, *kernel)``.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.convolution import conv_weight
    >>> x, g = np.arange(5.0).reshape(1, 1, 5), np.array([[[1.0, 10.0]]])
    >>> conv_weight(x, g, (3,), (2,), ((0, 0),), (1,), 1)
    array([[[20., 31., 42.]]])
    """
    count, channels, outputs = len(x), g.shape[1], g.shape[2:]
    columns = _columns(x, kernel, outputs, stride, padding, dilation, groups)
    rows = g.reshape(count, groups, channels // groups, prod(outputs))
    products = np.matmul(rows, columns.transpose(0, 1, 3, 2))
    return products.sum(axis=0).reshape(channels, x.shape[1] // groups, *kernel)


def _columns(
    x: np.ndarray, kernel: Sequence[int], outputs: Sequence[int], stride: Sequence[int], padding: Pairs,
    dilation: Sequence[int], groups: int,
) -> np.ndarray:  # fmt: skip
    """What each window sees, as a column: ``(N, groups, C / groups * kernel, windows)``."""
    count, channels, *spatial = x.shape
    columns = np.zeros((count, channels, *kernel, *outputs), x.dtype)
    for position, seen, windows in taps(spatial, kernel, outputs, stride, padding, dilation):
        columns[(slice(None), slice(None), *position, *windows)] = x[(..., *seen)]
    return columns.reshape(count, groups, channels // groups * prod(kernel), prod(outputs))
