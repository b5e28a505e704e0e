"""Adding a contribution to an adjoint that is ours, in place."""

from __future__ import annotations

import numpy as np

from tape.kernels._jit import KERNEL_DTYPES, kernel

__all__ = ["accumulate"]

# Beyond this many elements memory bandwidth decides and NumPy's loop is as fast; below, the call
# overhead decides and numba's is half of NumPy's. `python -m benchmarks accumulate` shows both.
_SMALL = 1 << 16


@kernel
def _add(total, contribution):  # type: ignore[no-untyped-def]
    flat_total, flat = total.ravel(), contribution.ravel()
    for i in range(flat_total.size):
        flat_total[i] += flat[i]


def accumulate(total: np.ndarray, contribution: np.ndarray) -> None:
    """Do ``total += contribution`` for arrays of one shape.

    Parameters
    ----------
    total : numpy.ndarray
        Written to.
    contribution : numpy.ndarray
        Of the shape of ``total``, any layout.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.accumulate import accumulate
    >>> total = np.ones(3)
    >>> accumulate(total, np.arange(3.0))
    >>> total
    array([1., 2., 3.])
    """
    if (
        total.size < _SMALL
        and 0 < total.ndim <= 2  # numba compiles anew for every rank: stay with the frequent ones
        and total.flags.c_contiguous
        and contribution.flags.c_contiguous
        and contribution.dtype == total.dtype
        and total.dtype.char in KERNEL_DTYPES
    ):
        _add(total, contribution)
    else:
        np.add(total, contribution, out=total)
