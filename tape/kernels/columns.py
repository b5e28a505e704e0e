"""What the kernels of convolution take and need: parameters, workspace, tasks.

Their code is in `tape.kernels.compiled.columns`. All three work on one geometry of three spatial axes, the
first of which have length one where there are fewer; `tape.kernels.convolution` has the same for plain
arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tape.kernels.kernel import BLAS_ARGUMENTS, GEOMETRY, Kernel, Needs, geometry, windows_of

ROWS_OF_A_TASK = 128  # of a matrix of columns that make a task, where there are enough
ROWS_WORTH_TURNING = 32  # of a task: the product is that of transposes then, for which windows are turned


def convolution_parameters(
    x: Sequence[int], w: Sequence[int], windows: Sequence[int], stride: Sequence[int],
    padding: Sequence[tuple[int, int]], dilation: Sequence[int], groups: int,
) -> tuple[int, ...]:  # fmt: skip
    """The parameters of the kernels "conv", "conv_input" and "conv_weight".

    Parameters
    ----------
    x, w : sequence of int
        Shapes, ``(N, C, *spatial)`` and ``(O, C / groups, *kernel)``, with one to three spatial axes.
    windows : sequence of int
        The spatial axes of the result.
    stride, padding, dilation, groups
        As for `tape.kernels.convolution.conv`.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from tape.kernels.columns import convolution_parameters
    >>> convolution_parameters((2, 4, 9), (6, 2, 3), (4,), (2,), ((0, 0),), (1,), 2)
    (2, 2, 2, 3, 1, 1, 9, 1, 1, 3, 1, 1, 4, 1, 1, 2, 0, 0, 0, 1, 1, 1)
    """
    return (
        x[0],
        groups,
        w[1],
        w[0] // groups,
        *geometry(x[2:], w[2:], windows, stride, padding, dilation),
    )


# ---- what they need -------------------------------------------------------------------------------------


def parts_of(rows: int) -> int:
    """Return how many tasks the rows of a matrix of columns make."""
    return max(min(rows, 2), min(rows // ROWS_OF_A_TASK, 16))


def _needs(parameters: tuple[int, ...]) -> tuple[int, int, int, int, int, int, int]:
    """Elements of x, w and y, images, tasks for w, elements of a matrix of columns, multiplications."""
    images, groups, channels, kernels, *rest = parameters
    spatial, kernel, windows = windows_of(rest)
    rows, count = channels * prod(kernel), prod(windows)
    if min(images, groups, channels, kernels) < 1 or max(rows, kernels, count) >= 1 << 31:
        raise ValueError("there are no elements, or too many for BLAS")
    columns = rows * count
    return (
        images * groups * channels * prod(spatial),
        groups * kernels * rows,
        images * groups * kernels * count,
        images,
        groups * parts_of(rows),
        columns,
        images * groups * columns * kernels,
    )


def _conv_needs(parameters: tuple[int, ...]) -> Needs:
    x, w, y, images, _, columns, products = _needs(parameters)
    return Needs((x, w), y, 2 * BLAS_ARGUMENTS + columns, images, products)


def _conv_input_needs(parameters: tuple[int, ...]) -> Needs:
    x, w, y, images, _, columns, products = _needs(parameters)
    return Needs((y, w), x, 2 * BLAS_ARGUMENTS + columns, images, products)


def _conv_weight_needs(parameters: tuple[int, ...]) -> Needs:
    x, w, y, images, tasks, columns, products = _needs(parameters)
    groups = parameters[1]
    turned, total = y // (images * groups), w // groups
    return Needs((x, y), w, 2 * BLAS_ARGUMENTS + columns + turned + total, tasks, products)


_NAMES = {"images": 1, "groups": 1, "channels": 1, "kernels": 1, **GEOMETRY}


KERNELS = {
    "conv": Kernel(_NAMES, _conv_needs, "gemm"),
    "conv_input": Kernel(_NAMES, _conv_input_needs, "gemm"),
    "conv_weight": Kernel(_NAMES, _conv_weight_needs, "gemm"),
}


"""Of x ``(N, C, *spatial)``, w ``(O, C / groups, *kernel)`` and y ``(N, O, *windows)``: "conv" makes y of x
and w, "conv_input" x of y and w, "conv_weight" w of x and y. Channels and kernels are those of a group."""
