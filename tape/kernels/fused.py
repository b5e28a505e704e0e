"""Elementwise arithmetic in one pass: the body is written once and has two uses.

Numba compiles it for plain arrays. On anything else, Python's scalars or Vars, the body simply runs, or
whatever records it as one operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from tape.kernels._jit import KERNEL_DTYPES, in_order
from tape.kernels.availability import AVOIDED, is_avoided


def fused(
    body: Callable[[Any, Any], Any], otherwise: Callable[[Any, Any], Any] | None = None
) -> Callable[[Any, Any], Any]:
    """Compile elementwise arithmetic of two arguments.

    Parameters
    ----------
    body : callable
        Operators on two arguments. Literal numbers would widen float32 when compiled: use none but
        in comparisons. A module-level function, so that the compiled code can be kept on disk.

    otherwise : callable, optional
        What runs for other arguments; by default ``body`` itself.

    Returns
    -------
    callable
        The same function. For two C-ordered arrays of one shape, float32 or float64 both, it makes
        one pass without temporaries.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.fused import fused
    >>> def scale(x, y):
    ...     return x - x * y
    >>> fused(scale)(np.array([2.0]), np.array([0.25]))
    array([1.5])
    """
    compiled = in_order(body)
    otherwise = otherwise or body

    def call(x: Any, y: Any) -> Any:
        if (
            type(x) is np.ndarray
            and type(y) is np.ndarray
            and 0 < x.ndim <= 2  # numba compiles anew for every rank: stay with the frequent ones
            and x.shape == y.shape
            and x.dtype == y.dtype
            and x.dtype in KERNEL_DTYPES
            and x.flags.c_contiguous
            and y.flags.c_contiguous
            and not (AVOIDED and is_avoided())
        ):
            return compiled(x, y)
        return otherwise(x, y)

    return update_wrapper(call, body)
