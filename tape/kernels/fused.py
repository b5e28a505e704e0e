"""Elementwise arithmetic in one pass: each body is written once and has two uses.

It is compiled for plain arrays (`tape.kernels.compiled.eager`). On anything else, Python's scalars or Vars,
it simply runs, or whatever records it as one operation. The bodies are rules of the most frequent
activations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from tape.kernels.codes import KERNEL_DTYPES
from tape.kernels.eager import AVOIDED, is_avoided, machine_code
from tape.kernels.headers import is_plain

Body = Callable[[Any, Any], Any]


def fused(body: Body, otherwise: Body | None = None) -> Body:
    """Return elementwise arithmetic of two arguments, which makes one pass over plain arrays.

    Parameters
    ----------
    body : callable
        One of `BODIES`; another function is not compiled.
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
    >>> from tape.kernels.fused import fused, minus_twice
    >>> fused(minus_twice)(np.array([2.0]), np.array([0.25]))
    array([-1.])
    """
    otherwise = otherwise or body
    compiled = machine_code(body.__name__)

    def call(x: Any, y: Any) -> Any:
        if (
            type(x) is np.ndarray
            and type(y) is np.ndarray
            and x.ndim > 0
            and x.shape == y.shape
            and x.dtype == y.dtype
            and x.dtype in KERNEL_DTYPES
            and is_plain(x)
            and is_plain(y)
            and not (AVOIDED and is_avoided())
            and compiled
        ):
            out = np.empty(x.shape, x.dtype)
            compiled[x.dtype.char](x, y, out)
            return out
        return otherwise(x, y)

    return update_wrapper(call, body)


# Literal numbers would widen float32 when compiled: there are none but in comparisons.


def minus_twice(x: Any, y: Any) -> Any:
    """Return minus twice a product."""
    return -(x * y + x * y)


def tanh_partial(d: Any, out: Any) -> Any:
    """Return the derivative of tanh, times ``d``."""
    return d - d * out * out


def sigmoid_partial(d: Any, out: Any) -> Any:
    """Return the derivative of the logistic function, times ``d``."""
    return d * (out - out * out)


def sigmoid_bend(x: Any, out: Any) -> Any:
    """Return what its second derivative has beside the first, times ``x``."""
    return x - x * out - x * out


def relu_partial(d: Any, out: Any) -> Any:
    """Return the derivative of relu, times ``d``."""
    return d * (out > 0)


BODIES: tuple[Body, ...] = (minus_twice, tanh_partial, sigmoid_partial, sigmoid_bend, relu_partial)
"""Those that are compiled."""
