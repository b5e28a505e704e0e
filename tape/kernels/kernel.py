"""What a kernel of programs is: compiled code, and what it needs, worked out from its parameters.

A kernel is added to programs by an entry in `tape.kernels.registry`; a ``lower`` rule then makes it an
instruction with `tape.program.ir.builder.Builder.kernel`. What it must hold to, so that it can be verified:

- It reads as many elements of its operands, and writes as many of its result and its workspace, as `Needs`
  says, whatever stands in them. It writes all elements of the result, and raises nothing.
- Its work is a number of tasks, done in any order and by any threads; each has a workspace of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tape.kernels.codes import FLOAT32, FLOAT64


class Needs(NamedTuple):
    """What a kernel needs.

    Attributes
    ----------
    operands : tuple of int
        Elements of each; at most three operands.
    out : int
        Elements of the result.
    workspace : int
        Elements of memory of its own, for each thread.
    tasks : int
        Parts of the work.
    work : int
        About how many multiplications, comparisons or the like it is, in all.
    """

    operands: tuple[int, ...]
    out: int
    workspace: int
    tasks: int
    work: int


@dataclass(frozen=True)
class Kernel:
    """An entry of the registry.

    The function of the same name in ``KERNELS`` of the module in `tape.kernels.compiled` is made by
    `tape.kernels.compiled._jit.inner`, of the arguments ``(blas, dtype, parameters, start, stop, x, y, z,
    workspace, out)``, all int64: the address of a function of BLAS, or of a routine of NumPy's; the code of
    the dtype of operands and result in `tape.kernels.codes.DTYPE_CODES`; the address of the parameters, int64
    each; tasks ``start`` to ``stop``, of which there may be none; the addresses of operands, workspace and
    result, C-contiguous. It returns 1, or 0 if there is no result, such as for an index out of range: the
    operations are then run in Python, which says what is wrong.

    Attributes
    ----------
    parameters : dict of str to int
        Names, and how many numbers each of them is.
    needs : callable
        From the parameters, any ints below 2**31 in absolute value, to `Needs`. It raises ValueError for
        what the function cannot do.
    blas : str
        The function of BLAS, without its first letter; empty for none.
    indices : tuple of int
        Which operands are int64.
    sorting : str
        NumPy's routine, one of `tape.program.native.routines.ROUTINES`; empty for none.
    dtypes : tuple of int
        The dtypes that it takes, by their codes.
    finds : bool
        Whether the result is int64, whatever the dtype of the operands.
    failure : str
        What is wrong with a matrix for which there is no result; empty for kernels of something else.
    """

    parameters: dict[str, int]
    needs: Callable[[tuple[int, ...]], Needs]
    blas: str = ""
    indices: tuple[int, ...] = ()
    sorting: str = ""
    dtypes: tuple[int, ...] = (FLOAT64, FLOAT32)
    finds: bool = False
    failure: str = ""


BLAS_ARGUMENTS = 16
"""Numbers of 8 bytes at the start of a workspace that BLAS reads its arguments from."""

PARTIAL = 64
"""Terms of a partial sum of tiles, which then joins the others."""


# ---- windows --------------------------------------------------------------------------------------------

AXES = 3
"""Spatial axes that kernels with windows have."""
GEOMETRY = dict.fromkeys(("spatial", "kernel", "windows", "stride", "padding", "dilation"), AXES)
"""Their parameters; padding is that before the first element."""


def geometry(
    spatial: Sequence[int], kernel: Sequence[int], windows: Sequence[int], stride: Sequence[int],
    padding: Sequence[tuple[int, int]], dilation: Sequence[int],
) -> tuple[int, ...]:  # fmt: skip
    """Parameters of `GEOMETRY`: with axes of length one before those there are.

    Parameters
    ----------
    spatial, kernel, windows : sequence of int
        Lengths along one to three axes: of what windows see, of a window, and how many windows there are.
    stride, dilation : sequence of int
        From window to window, and from element to element of one.
    padding : sequence of (int, int)
        Before the first element; what lies behind the last follows from the number of windows.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from tape.kernels.kernel import geometry
    >>> geometry((9,), (3,), (4,), (2,), ((0, 0),), (1,))
    (1, 1, 9, 1, 1, 3, 1, 1, 4, 1, 1, 2, 0, 0, 0, 1, 1, 1)
    """
    numbers: list[int] = []
    low = [before for before, _ in padding]
    for of_each, neutral in (
        (spatial, 1), (kernel, 1), (windows, 1), (stride, 1), (low, 0), (dilation, 1),
    ):  # fmt: skip
        numbers += [*[neutral] * (AXES - len(spatial)), *of_each]
    return tuple(numbers)


def windows_of(parameters: Sequence[int]) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """The lengths ``spatial, kernel, windows`` of parameters of `GEOMETRY`.

    Raises
    ------
    ValueError
        If a length, stride or dilation is not positive.

    Examples
    --------
    >>> from tape.kernels.kernel import windows_of
    >>> windows_of((1, 1, 9, 1, 1, 3, 1, 1, 4, 1, 1, 2, 0, 0, 0, 1, 1, 1))
    ((1, 1, 9), (1, 1, 3), (1, 1, 4))
    """
    parts = [parameters[k * AXES : (k + 1) * AXES] for k in range(len(GEOMETRY))]
    spatial, kernel, windows, stride, _, dilation = parts
    if min(*spatial, *kernel, *windows, *stride, *dilation) < 1:
        raise ValueError("a length, stride or dilation is not positive")
    return spatial, kernel, windows
