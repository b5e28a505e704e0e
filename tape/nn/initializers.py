"""Initialisers: arrays of the random distributions that training starts from.

Each one is called with a generator, which it draws from and nothing else is random, and with a shape. Names
and distributions are those of PyTorch's ``torch.nn.init``, those of `lecun_normal` and `lecun_uniform` are
JAX's. The numbers are NumPy's.

Weights have the shape ``(out, in, *kernel)``; the *fan-in* of one is ``in`` times the elements of the kernel,
its *fan-out* ``out`` times these.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any, Literal

import numpy as np

from tape.errors import OptionError, ShapeError, near
from tape.nn._random import check_generator

__all__ = [
    "calculate_gain",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Shape = int | Sequence[int]
Mode = Literal["fan_in", "fan_out"]

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": sqrt(2), "selu": 0.75}


def calculate_gain(nonlinearity: str, slope: float = 0.01) -> float:
    """Return the factor by which weights in front of an activation function are larger.

    Parameters
    ----------
    nonlinearity : {"linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu"}
        The activation function.
    slope : float
        That of ``leaky_relu`` below zero.

    Returns
    -------
    float

    Raises
    ------
    OptionError
        If the function is not among these.

    Examples
    --------
    >>> from tape.nn import initializers
    >>> initializers.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        return sqrt(2 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        known = [*_GAINS, "leaky_relu"]
        raise OptionError(
            f"calculate_gain: nonlinearity={nonlinearity!r} is none of {', '.join(known)}"
            f"{near(str(nonlinearity), known)}"
        )
    return _GAINS[nonlinearity]


# ---- by their parameters -----------------------------------------------------------------------------


def zeros(rng: Any, shape: Shape, dtype: Any = np.float32) -> np.ndarray:
    """Return zeros; nothing is drawn.

    Examples
    --------
    >>> from tape.nn import initializers
    >>> initializers.zeros(None, 2)
    array([0., 0.], dtype=float32)
    """
    return np.zeros(shape, dtype)


def ones(rng: Any, shape: Shape, dtype: Any = np.float32) -> np.ndarray:
    """Return ones; nothing is drawn.

    Examples
    --------
    >>> from tape.nn import initializers
    >>> initializers.ones(None, 2)
    array([1., 1.], dtype=float32)
    """
    return np.ones(shape, dtype)


def uniform(rng: Any, shape: Shape, low: float = 0.0, high: float = 1.0, dtype: Any = np.float32) -> Any:
    """Draw from the uniform distribution between two bounds.

    Parameters
    ----------
    rng : numpy.random.Generator or tape.random.Generator
        The source of randomness.
    shape : int or sequence of int
        Shape of the result.
    low, high : float
        The bounds.
    dtype : dtype
        That of the result, floats.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    OptionError
        If ``rng`` is no generator.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> initializers.uniform(np.random.default_rng(0), 2, -1.0, 1.0)
    array([ 0.27392337, -0.46042657], dtype=float32)
    """
    check_generator("uniform", rng)
    return rng.uniform(low, high, shape).astype(dtype)


def normal(rng: Any, shape: Shape, mean: float = 0.0, std: float = 1.0, dtype: Any = np.float32) -> Any:
    """Draw from the normal distribution.

    Parameters
    ----------
    rng, shape, dtype
        As for `uniform`.
    mean, std : float
        Mean and standard deviation.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    OptionError
        If ``rng`` is no generator.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> initializers.normal(np.random.default_rng(0), 2, std=0.1)
    array([ 0.01257302, -0.01321049], dtype=float32)
    """
    check_generator("normal", rng)
    return rng.normal(mean, std, shape).astype(dtype)


def truncated_normal(
    rng: Any, shape: Shape, mean: float = 0.0, std: float = 1.0, low: float = -2.0, high: float = 2.0,
    dtype: Any = np.float32,
) -> Any:  # fmt: skip
    """Draw from the normal distribution between two bounds.

    Parameters
    ----------
    rng, shape, dtype
        As for `uniform`.
    mean, std : float
        Mean and standard deviation of the distribution before it is cut off.
    low, high : float
        The bounds, as values and not as multiples of the deviation.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    OptionError
        If ``rng`` is no generator, or the bounds are not in order.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> draws = initializers.truncated_normal(np.random.default_rng(0), 1000, low=-1.0, high=3.0)
    >>> bool(draws.min() >= -1), bool(draws.max() <= 3)
    (True, True)
    """
    from scipy.special import ndtr, ndtri  # here, since its import takes longer than that of all others

    check_generator("truncated_normal", rng)
    if not low < high or not std > 0:
        raise OptionError(f"truncated_normal: low={low}, high={high}, std={std}. Use low < high and std > 0")
    shares = rng.uniform(ndtr((low - mean) / std), ndtr((high - mean) / std), shape)
    return np.clip(mean + std * ndtri(shares), low, high).astype(dtype)


def orthogonal(rng: Any, shape: Shape, gain: float = 1.0, dtype: Any = np.float32) -> np.ndarray:
    """Draw a matrix with orthonormal rows or columns, whichever are fewer, from the uniform distribution.

    Parameters
    ----------
    rng, dtype
        As for `uniform`.
    shape : sequence of int
        Two axes or more; all but the first one count as columns.
    gain : float
        Factor of the result.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ShapeError
        If there are less than two axes.
    OptionError
        If ``rng`` is no generator.

    References
    ----------
    A. M. Saxe, J. L. McClelland and S. Ganguli, "Exact solutions to the nonlinear dynamics of learning in
    deep linear neural networks" (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> weight = initializers.orthogonal(np.random.default_rng(0), (2, 5))
    >>> np.allclose(weight @ weight.T, np.eye(2), atol=1e-6)
    True
    """
    check_generator("orthogonal", rng)
    columns, rows = _fans("orthogonal", shape)[0], shape[0]  # type: ignore[index]
    q, r = np.linalg.qr(rng.normal(size=(max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diagonal(r))  # without this, the distribution depends on the signs that LAPACK takes
    return (gain * (q if rows >= columns else q.T)).reshape(shape).astype(dtype)


# ---- by fans -----------------------------------------------------------------------------------------


def xavier_uniform(rng: Any, shape: Shape, gain: float = 1.0, dtype: Any = np.float32) -> Any:
    """Draw from the uniform distribution of variance ``gain**2 * 2 / (fan_in + fan_out)`` around zero.

    Parameters
    ----------
    rng, dtype
        As for `uniform`.
    shape : sequence of int
        ``(out, in, *kernel)``.
    gain : float
        A result of `calculate_gain`.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ShapeError
        If there are less than two axes.
    OptionError
        If ``rng`` is no generator.

    References
    ----------
    X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks"
    (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> initializers.xavier_uniform(np.random.default_rng(0), (1, 2))
    array([[ 0.38738614, -0.6511415 ]], dtype=float32)
    """
    fans = _fans("xavier_uniform", shape)
    bound = gain * sqrt(6 / sum(fans))
    return uniform(rng, shape, -bound, bound, dtype)


def xavier_normal(rng: Any, shape: Shape, gain: float = 1.0, dtype: Any = np.float32) -> Any:
    """Draw from the normal distribution of variance ``gain**2 * 2 / (fan_in + fan_out)``: `xavier_uniform`.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> initializers.xavier_normal(np.random.default_rng(0), (1, 2))
    array([[ 0.10265829, -0.10786317]], dtype=float32)
    """
    fans = _fans("xavier_normal", shape)
    return normal(rng, shape, 0.0, gain * sqrt(2 / sum(fans)), dtype)


def kaiming_uniform(
    rng: Any, shape: Shape, a: float = 0.0, mode: Mode = "fan_in", nonlinearity: str = "leaky_relu",
    dtype: Any = np.float32,
) -> Any:  # fmt: skip
    """Draw from the uniform distribution of variance ``gain**2 / fan`` around zero.

    Parameters
    ----------
    rng, dtype
        As for `uniform`.
    shape : sequence of int
        ``(out, in, *kernel)``.
    a : float
        The slope of ``leaky_relu`` below zero.
    mode : {"fan_in", "fan_out"}
        The fan: keep the variance in the forward or in the reverse sweep.
    nonlinearity : str
        The activation function that follows, which gives the gain: see `calculate_gain`.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ShapeError
        If there are less than two axes.
    OptionError
        If the mode or the activation function is not known, or ``rng`` is no generator.

    References
    ----------
    K. He et al., "Delving deep into rectifiers" (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> initializers.kaiming_uniform(np.random.default_rng(0), (1, 2))
    array([[ 0.4744492, -0.7974822]], dtype=float32)
    """
    bound = sqrt(3) * _kaiming_deviation("kaiming_uniform", shape, a, mode, nonlinearity)
    return uniform(rng, shape, -bound, bound, dtype)


def kaiming_normal(
    rng: Any, shape: Shape, a: float = 0.0, mode: Mode = "fan_in", nonlinearity: str = "leaky_relu",
    dtype: Any = np.float32,
) -> Any:  # fmt: skip
    """Draw from the normal distribution of variance ``gain**2 / fan``. Like `kaiming_uniform`.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> initializers.kaiming_normal(np.random.default_rng(0), (1, 2))
    array([[ 0.12573022, -0.13210486]], dtype=float32)
    """
    return normal(rng, shape, 0.0, _kaiming_deviation("kaiming_normal", shape, a, mode, nonlinearity), dtype)


def lecun_uniform(rng: Any, shape: Shape, dtype: Any = np.float32) -> Any:
    """Draw from the uniform distribution of variance ``1 / fan_in`` around zero. Like `xavier_uniform`.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> initializers.lecun_uniform(np.random.default_rng(0), (1, 3))
    array([[ 0.27392337, -0.46042657, -0.918053  ]], dtype=float32)
    """
    bound = sqrt(3 / _fans("lecun_uniform", shape)[0])
    return uniform(rng, shape, -bound, bound, dtype)


def lecun_normal(rng: Any, shape: Shape, dtype: Any = np.float32) -> Any:
    """Draw from the normal distribution, cut off at twice its deviation, of variance ``1 / fan_in``.

    Parameters
    ----------
    rng, shape, dtype
        As for `xavier_uniform`.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ShapeError, OptionError
        As `xavier_uniform`.

    References
    ----------
    Y. LeCun et al., "Efficient backprop" (1998).

    Examples
    --------
    >>> import numpy as np
    >>> from tape.nn import initializers
    >>> weight = initializers.lecun_normal(np.random.default_rng(0), (500, 16))
    >>> round(float(weight.std()), 2)
    0.25
    """
    std = 1 / sqrt(_fans("lecun_normal", shape)[0]) / _CUT_DEVIATION
    return truncated_normal(rng, shape, 0.0, std, -2 * std, 2 * std, dtype)


_CUT_DEVIATION = 0.87962566103423978
"""The standard deviation of the standard normal distribution between -2 and 2."""


def _fans(name: str, shape: Any) -> tuple[int, int]:
    """Return the fan-in and the fan-out of a weight."""
    if not isinstance(shape, (tuple, list)) or len(shape) < 2:
        raise ShapeError(f"{name}: shape {shape}. A weight has two axes or more: (out, in, *kernel)")
    if not all(shape):
        raise ShapeError(f"{name}: shape {list(shape)} has no elements, and no variance")
    size = prod(shape[2:])
    return shape[1] * size, shape[0] * size


def _kaiming_deviation(name: str, shape: Any, a: float, mode: str, nonlinearity: str) -> float:
    fans = dict(zip(("fan_in", "fan_out"), _fans(name, shape), strict=True))
    if mode not in fans:
        raise OptionError(f"{name}: mode={mode!r}. It is 'fan_in' or 'fan_out'")
    return calculate_gain(nonlinearity, a) / sqrt(fans[mode])
