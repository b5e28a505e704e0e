"""One step of an optimizer: parameter and state change in place, in a single pass over memory.

The formulas are those of `tape.kernels.formulas`. Numba inlines one into a loop over the elements; where that
loop has no case (strides, float16, long doubles, another byte order) NumPy runs the same formula,
block by block, so that even there no array of the parameter's size is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tape.kernels import eager
from tape.kernels.codes import KERNEL_DTYPES
from tape.kernels.eager import AVOIDED, is_avoided, is_loaded, machine_code
from tape.kernels.formulas import FORMULAS


def working_dtype(dtype: np.dtype) -> np.dtype:
    """What a step computes in, and keeps its state in: float32 at least, in native byte order.

    In float16 the squares of small gradients, which Adam averages, would vanish.

    Parameters
    ----------
    dtype : numpy.dtype
        Of the parameter; a float.

    Returns
    -------
    numpy.dtype

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.update import working_dtype
    >>> working_dtype(np.dtype(np.float16))
    dtype('float32')
    """
    return np.result_type(dtype, np.float32)


def _blocks(gradient: np.ndarray, *written: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Flat pieces of all arrays, in the working dtype; what becomes of the written ones is copied back."""
    read_and_written: Any = ["readwrite", "aligned", "nbo"]
    pieces = np.nditer(
        (gradient, *written),
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[["readonly", "aligned", "nbo"], *[read_and_written] * len(written)],
        op_dtypes=[working_dtype(written[0].dtype)] * (1 + len(written)),
        casting="same_kind",
    )
    with pieces:
        yield from pieces


# ---- what optimizers call ----------------------------------------------------------------------------


def loop(formula: Callable[..., Any], param: np.ndarray, count: int) -> Any:
    """Return the compiled loop for a parameter, which `step` takes; None if NumPy must do.

    Parameters
    ----------
    formula : callable
        One of `tape.kernels.formulas`.
    param : numpy.ndarray
        Floats. One-dimensional contiguous float32 and float64 have a loop.
    count : int
        How many state arrays the formula takes, at most three.

    Returns
    -------
    dict or None

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels import formulas
    >>> from tape.kernels.update import loop
    >>> loop(formulas.descent, np.ones(2, np.float16), 0) is None
    True
    """
    if param.ndim != 1 or param.dtype not in KERNEL_DTYPES or not param.flags.carray:  # the caller flattens
        return None
    return machine_code(formula.__name__) if formula in FORMULAS else None


def step(
    formula: Callable[..., Any],
    compiled: Any,
    param: np.ndarray,
    gradient: np.ndarray,
    state: Sequence[np.ndarray],
    numbers: tuple[np.floating, ...],
) -> None:
    """Apply a formula to every element of a parameter and its state, in place.

    Parameters
    ----------
    formula : callable
        One of `tape.kernels.formulas`.
    compiled : dict or None
        What `loop` returned for the formula and the parameter.
    param : numpy.ndarray
        Floats of any layout.
    gradient : numpy.ndarray
        Of the shape of ``param``, not overlapping it; any layout, any float dtype.
    state : sequence of numpy.ndarray
        At most three, of the shape of ``param`` and its `working_dtype`, contiguous where it is.
    numbers : tuple of numpy.floating
        What the formula takes, in the `working_dtype` of ``param``.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels import formulas, update
    >>> param, velocity = np.ones(1), np.ones(1)
    >>> compiled = update.loop(formulas.momentum_descent, param, 1)
    >>> numbers = np.float64(0.5), np.float64(0.5), np.float64(0.0)
    >>> update.step(formulas.momentum_descent, compiled, param, np.ones(1), [velocity], numbers)
    >>> param, velocity
    (array([0.25]), array([1.5]))
    """
    is_ready = (
        compiled is not None and (compiled or is_loaded(eager.FORMULAS)) and not (AVOIDED and is_avoided())
    )
    if is_ready and gradient.dtype == param.dtype:
        flags = gradient.flags
        if flags.c_contiguous and flags.aligned:
            compiled[param.dtype.char](param, gradient, *state, np.array(numbers, param.dtype))
            return
    for g, p, *blocks in _blocks(gradient, param, *state):
        for block, result in zip((p, *blocks), formula(p, g, *blocks, numbers), strict=True):
            block[...] = result
