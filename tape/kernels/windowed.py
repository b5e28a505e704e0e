"""What the kernels of pooling take and need; their code is in `tape.kernels.compiled.windowed`.

All work on one geometry of three spatial axes; a task is one plane: all spatial axes of one channel of one
image. `tape.kernels.pooling` has the same for plain arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tape.kernels.kernel import GEOMETRY, Kernel, Needs, geometry, windows_of


def pooling_parameters(
    x: Sequence[int], window: Sequence[int], windows: Sequence[int], stride: Sequence[int],
    padding: Sequence[tuple[int, int]], dilation: Sequence[int],
) -> tuple[int, ...]:  # fmt: skip
    """The parameters of the kernels of pooling.

    Parameters
    ----------
    x : sequence of int
        Shape; the last one to three axes, as many as a window has, are spatial.
    window, stride, padding, dilation
        As for `tape.kernels.pooling.max_pool`.
    windows : sequence of int
        The spatial axes of the result.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from tape.kernels.windowed import pooling_parameters
    >>> pooling_parameters((2, 3, 8), (2,), (4,), (2,), ((0, 0),), (1,))
    (6, 1, 1, 8, 1, 1, 2, 1, 1, 4, 1, 1, 2, 0, 0, 0, 1, 1, 1)
    """
    first = len(x) - len(window)
    return (prod(x[:first]), *geometry(x[first:], window, windows, stride, padding, dilation))


# ---- what they need -------------------------------------------------------------------------------------


def _needs(operands: str, out: str) -> Callable[[tuple[int, ...]], Needs]:
    """The rule for operands and a result that are of elements, x, or of windows, y."""

    def needs(parameters: tuple[int, ...]) -> Needs:
        planes, *rest = parameters
        if planes < 1:
            raise ValueError("there are no elements")
        spatial, kernel, windows = windows_of(rest)
        sizes = {"x": planes * prod(spatial), "y": planes * prod(windows)}
        # The windows' lengths are among it so that memory limits these, too, and how long a row takes.
        workspace = 2 * windows[-1] + sum(kernel)
        work = 4 * sizes["y"] * prod(kernel) * len(operands)  # load, compare, choose, store; no SIMD
        return Needs(tuple([sizes[letter] for letter in operands]), sizes[out], workspace, planes, work)

    return needs


_NAMES = {"planes": 1, **GEOMETRY}


KERNELS = {
    "max_pool": Kernel(_NAMES, _needs("x", "y")),
    "max_pool_vjp": Kernel(_NAMES, _needs("yxy", "x")),
    "max_pool_jvp": Kernel(_NAMES, _needs("xxy", "y")),
    "sum_pool": Kernel(_NAMES, _needs("x", "y")),
    "sum_pool_vjp": Kernel(_NAMES, _needs("y", "x")),
}


"""Operands x ``(..., *spatial)`` and y ``(..., *windows)``: x; g as y, x, y; t as x, x, y; x; g as y."""
