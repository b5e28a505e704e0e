"""Convolution of plain arrays, and the two other products that are its derivatives.

Three functions, linear in both operands and closed under differentiation: the derivative of each by an
operand is one of the others. Windows become the columns of a matrix, and all of them a product by BLAS.
Arguments are those that `tape.ops.nn.convolution` has checked. These take every dtype and work without
compiled code; programs use `tape.kernels.columns`, for floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from tape.kernels.windows import output_lengths, taps

Pairs = Sequence[tuple[int, int]]

_NEAR = 1 << 17
"""Elements of columns that fit into a near cache: fresh memory for all takes longer than the product."""


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
    rows = w.reshape(groups, len(w) // groups, prod(w.shape[1:]))
    y = np.empty((len(x), groups, rows.shape[1], prod(outputs)), np.result_type(x, w))
    for block, columns in _columns(x, kernel, outputs, stride, padding, dilation, groups):
        np.matmul(rows, columns, out=y[block])
    return y.reshape(len(x), len(w), *outputs)


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
    adjoint = g.reshape(count, groups, rows.shape[1], prod(outputs))
    channels = groups * w.shape[1]
    x = np.zeros((count, channels, *spatial), np.result_type(g, w))
    found = list(taps(spatial, kernel, outputs, stride, padding, dilation))
    size, blocks = _blocks(count, channels * prod(kernel) * prod(outputs))
    columns = np.empty((size, groups, rows.shape[2], prod(outputs)), x.dtype)
    for block in blocks:
        some = np.matmul(rows.transpose(0, 2, 1), adjoint[block], out=columns[: len(adjoint[block])])
        some = some.reshape(len(some), channels, *kernel, *outputs)
        for position, seen, windows in found:
            x[(block, ..., *seen)] += some[(slice(None), slice(None), *position, *windows)]
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
    rows = g.reshape(count, groups, channels // groups, prod(outputs))
    width = x.shape[1] // groups * prod(kernel)
    w = np.zeros((groups, channels // groups, width), np.result_type(x, g))
    for block, columns in _columns(x, kernel, outputs, stride, padding, dilation, groups):
        w += np.matmul(rows[block], columns.transpose(0, 1, 3, 2)).sum(axis=0)
    return w.reshape(channels, x.shape[1] // groups, *kernel)


def _columns(
    x: np.ndarray, kernel: Sequence[int], outputs: Sequence[int], stride: Sequence[int], padding: Pairs,
    dilation: Sequence[int], groups: int,
) -> Iterator[tuple[slice, np.ndarray]]:  # fmt: skip
    """Some images after the other, and what their windows see, as columns of matrices.

    These are ``(images, groups, C / groups * kernel, windows)``, in memory that the next ones are written to.
    """
    count, channels, *spatial = x.shape
    size, blocks = _blocks(count, channels * prod(kernel) * prod(outputs))
    columns = np.zeros((size, channels, *kernel, *outputs), x.dtype)  # and zeros they stay, in the padding
    found = list(taps(spatial, kernel, outputs, stride, padding, dilation))
    for block in blocks:
        some = columns[: len(x[block])]
        for position, seen, windows in found:
            some[(slice(None), slice(None), *position, *windows)] = x[(block, ..., *seen)]
        yield block, some.reshape(len(some), groups, channels // groups * prod(kernel), prod(outputs))


def _blocks(count: int, elements: int) -> tuple[int, list[slice]]:
    """How many images to look at together, of so many elements of columns each, and which."""
    size = max(1, min(count, _NEAR // max(elements, 1)))
    return size, [slice(start, start + size) for start in range(0, count, size)]
