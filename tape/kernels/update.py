"""One step of an optimizer: parameter and state change in place, in a single pass over memory.

Each formula is written once, for numbers. Numba inlines it into a loop over the elements; where that
loop has no case (strides, float16, long doubles, another byte order) NumPy runs the same formula,
block by block, so that even there no array of the parameter's size is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.extending import register_jitable

from tape.kernels._jit import KERNEL_DTYPES, kernel
from tape.kernels.availability import AVOIDED, is_avoided


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


# ---- the formulas, for numbers and for arrays alike ------------------------------------------------


@register_jitable
def _descended(p, g, rate, decay):  # type: ignore[no-untyped-def]
    return p - rate * (g + decay * p)


@register_jitable
def _descended_with_momentum(p, g, v, rate, momentum, decay, is_nesterov):  # type: ignore[no-untyped-def]
    g = g + decay * p
    v = momentum * v + g
    return p - rate * (g + momentum * v if is_nesterov else v), v


@register_jitable
def _adam_moved(p, g, mean, square, rate, beta1, gain1, beta2, gain2, eps, decay):  # type: ignore[no-untyped-def]
    g = g + decay * p
    mean = beta1 * mean + gain1 * g
    square = beta2 * square + gain2 * (g * g)
    # np.divide, because numba's / stops at every element to look for a zero
    return p - rate * np.divide(mean, np.sqrt(square) + eps), mean, square


# ---- the loops ---------------------------------------------------------------------------------------


@kernel
def _descend(param, gradient, rate, decay):  # type: ignore[no-untyped-def]
    number = param.dtype.type  # of the array's own precision: float32 arithmetic stays float32
    rate_, decay_ = number(rate), number(decay)
    for i in range(param.size):
        param[i] = _descended(param[i], gradient[i], rate_, decay_)


@kernel
def _descend_with_momentum(param, gradient, velocity, rate, momentum, decay, is_nesterov):  # type: ignore[no-untyped-def]
    number = param.dtype.type
    rate_, momentum_, decay_ = number(rate), number(momentum), number(decay)
    for i in range(param.size):
        param[i], velocity[i] = _descended_with_momentum(
            param[i], gradient[i], velocity[i], rate_, momentum_, decay_, is_nesterov
        )


@kernel
def _adam(param, gradient, mean, square, rate, beta1, beta2, eps, decay):  # type: ignore[no-untyped-def]
    number = param.dtype.type
    rate_, eps_, decay_ = number(rate), number(eps), number(decay)
    beta1_, gain1_ = number(beta1), number(1 - beta1)  # in float32, 1 - 0.999 is off by 1e-5
    beta2_, gain2_ = number(beta2), number(1 - beta2)
    for i in range(param.size):
        param[i], mean[i], square[i] = _adam_moved(
            param[i], gradient[i], mean[i], square[i], rate_, beta1_, gain1_, beta2_, gain2_, eps_, decay_
        )


def _suits_kernel(param: np.ndarray, gradient: np.ndarray) -> bool:
    return (
        param.ndim == 1  # numba compiles anew for every rank: the caller flattens
        and param.dtype in KERNEL_DTYPES
        and param.flags.carray
        and gradient.flags.c_contiguous
        and gradient.flags.aligned
        and not (AVOIDED and is_avoided())
    )


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


def descend(param: np.ndarray, gradient: np.ndarray, rate: float, decay: float) -> None:
    """Do ``param -= rate * (gradient + decay * param)``.

    Parameters
    ----------
    param : numpy.ndarray
        Floats. One-dimensional contiguous float32 and float64 take the kernel, the rest NumPy.
    gradient : numpy.ndarray
        Of the shape and dtype of ``param``, not overlapping it; any layout.
    rate, decay : float
        Learning rate and weight decay.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.update import descend
    >>> param = np.ones(2)
    >>> descend(param, np.array([1.0, 2.0]), 0.25, 0.0)
    >>> param
    array([0.75, 0.5 ])
    """
    if _suits_kernel(param, gradient):
        _descend(param, gradient, rate, decay)
        return
    for g, p in _blocks(gradient, param):
        p[...] = _descended(p, g, rate, decay)


def descend_with_momentum(
    param: np.ndarray,
    gradient: np.ndarray,
    velocity: np.ndarray,
    rate: float,
    momentum: float,
    decay: float,
    is_nesterov: bool,
) -> None:
    """`descend` along a velocity that gathers the gradients.

    Parameters
    ----------
    param, gradient, rate, decay
        As for `descend`.
    velocity : numpy.ndarray
        Of the shape of ``param`` and of its `working_dtype`; becomes
        ``momentum * velocity + gradient + decay * param``.
    momentum : float
        How much of the velocity lasts.
    is_nesterov : bool
        Step along the velocity of one step ahead.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.update import descend_with_momentum
    >>> param, velocity = np.ones(1), np.ones(1)
    >>> descend_with_momentum(param, np.ones(1), velocity, 0.5, 0.5, 0.0, False)
    >>> param, velocity
    (array([0.25]), array([1.5]))
    """
    if _suits_kernel(param, gradient):
        _descend_with_momentum(param, gradient, velocity, rate, momentum, decay, is_nesterov)
        return
    for g, p, v in _blocks(gradient, param, velocity):
        p[...], v[...] = _descended_with_momentum(p, g, v, rate, momentum, decay, is_nesterov)


def adam(
    param: np.ndarray,
    gradient: np.ndarray,
    mean: np.ndarray,
    square: np.ndarray,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
) -> None:
    """Do ``param -= rate * mean / (sqrt(square) + eps)`` after renewing both averages.

    Parameters
    ----------
    param, gradient, decay
        As for `descend`.
    mean, square : numpy.ndarray
        Of the shape of ``param`` and of its `working_dtype`: the running averages of the gradient and
        of its square.
    rate, eps : float
        Scaled by the caller to make up for averages that start at zero.
    beta1, beta2 : float
        How much of each average lasts; the gradient of this step makes up the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.update import adam
    >>> param, mean, square = np.ones(1), np.zeros(1), np.zeros(1)
    >>> adam(param, np.array([4.0]), mean, square, 0.5, 0.5, 0.75, 0.0, 0.0)
    >>> param, mean, square
    (array([0.5]), array([2.]), array([4.]))
    """
    if _suits_kernel(param, gradient):
        _adam(param, gradient, mean, square, rate, beta1, beta2, eps, decay)
        return
    gain1, gain2 = 1 - beta1, 1 - beta2
    for g, p, m, s in _blocks(gradient, param, mean, square):
        p[...], m[...], s[...] = _adam_moved(p, g, m, s, rate, beta1, gain1, beta2, gain2, eps, decay)
