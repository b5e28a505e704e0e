"""The formulas of optimizers: one step of one element, each written once.

``formula(p, g, *state, numbers) -> (p, *state)``, where ``numbers`` are the settings of this step in the
precision of the element. Compiled into a loop over arrays (`tape.kernels.compiled.eager`); the pure
rules of `tape.optim` call the same function on whole arrays and Vars. No formula has a literal: it would
widen float32 when compiled.

``rate`` is the learning rate with every factor that is the same for all elements; ``gain`` beside ``beta``
is ``1 - beta``, which in float32 must not be computed from a rounded beta; ``decay`` adds the gradient of
``decay / 2 * p**2``; ``kept`` is what decoupled decay leaves of the parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# ---- descent -----------------------------------------------------------------------------------------


def _decayed(g, decay, p):  # type: ignore[no-untyped-def]
    """Return the gradient with that of weight decay, if any: an infinite parameter must not make it NaN."""
    return g if decay == 0 else g + decay * p


def descent(p, g, numbers):  # type: ignore[no-untyped-def]
    """Return ``p - rate * g``, with weight decay."""
    rate, decay = numbers
    return (p - rate * _decayed(g, decay, p),)


def momentum_descent(p, g, velocity, numbers):  # type: ignore[no-untyped-def]
    """Descend along a velocity."""
    rate, momentum, decay = numbers
    velocity = momentum * velocity + _decayed(g, decay, p)
    return p - rate * velocity, velocity


def nesterov_descent(p, g, velocity, numbers):  # type: ignore[no-untyped-def]
    """Descend along the velocity of one step ahead."""
    rate, momentum, decay = numbers
    g = _decayed(g, decay, p)
    velocity = momentum * velocity + g
    return p - rate * (g + momentum * velocity), velocity


def lion(p, g, mean, numbers):  # type: ignore[no-untyped-def]
    """Step by the sign of one average, and keep another."""
    rate, beta1, gain1, beta2, gain2, kept = numbers
    return kept * p - rate * np.sign(beta1 * mean + gain1 * g), beta2 * mean + gain2 * g


# ---- Adam and its kin --------------------------------------------------------------------------------


def _averages(g, mean, square, beta1, gain1, beta2, gain2):  # type: ignore[no-untyped-def]
    return beta1 * mean + gain1 * g, beta2 * square + gain2 * (g * g)


def _scaled(mean, square, eps):  # type: ignore[no-untyped-def]
    # np.divide, because numba's / stops at every element to look for a zero
    return np.divide(mean, np.sqrt(square) + eps)


def adam(p, g, mean, square, numbers):  # type: ignore[no-untyped-def]
    """Adam; both corrections of the bias are part of rate and eps."""
    rate, beta1, gain1, beta2, gain2, eps, decay = numbers
    mean, square = _averages(_decayed(g, decay, p), mean, square, beta1, gain1, beta2, gain2)
    return p - rate * _scaled(mean, square, eps), mean, square


def adamw(p, g, mean, square, numbers):  # type: ignore[no-untyped-def]
    """Adam with decoupled weight decay."""
    rate, beta1, gain1, beta2, gain2, eps, kept = numbers
    mean, square = _averages(g, mean, square, beta1, gain1, beta2, gain2)
    return kept * p - rate * _scaled(mean, square, eps), mean, square


def amsgrad(p, g, mean, square, largest, numbers):  # type: ignore[no-untyped-def]
    """Adam with the largest average of squares so far."""
    rate, beta1, gain1, beta2, gain2, eps, decay = numbers
    mean, square = _averages(_decayed(g, decay, p), mean, square, beta1, gain1, beta2, gain2)
    largest = np.maximum(largest, square)
    return p - rate * _scaled(mean, largest, eps), mean, square, largest


def amsgradw(p, g, mean, square, largest, numbers):  # type: ignore[no-untyped-def]
    """`amsgrad` with decoupled weight decay."""
    rate, beta1, gain1, beta2, gain2, eps, kept = numbers
    mean, square = _averages(g, mean, square, beta1, gain1, beta2, gain2)
    largest = np.maximum(largest, square)
    return kept * p - rate * _scaled(mean, largest, eps), mean, square, largest


def adamax(p, g, mean, norm, numbers):  # type: ignore[no-untyped-def]
    """Adam with the maximum norm in place of the squares."""
    rate, beta1, gain1, beta2, eps, decay = numbers
    g = _decayed(g, decay, p)
    mean = beta1 * mean + gain1 * g
    norm = np.maximum(beta2 * norm, np.abs(g) + eps)
    return p - rate * np.divide(mean, norm), mean, norm


def nadam(p, g, mean, square, numbers):  # type: ignore[no-untyped-def]
    """Adam with Nesterov's momentum: a step along the gradient and one along its average."""
    rate, ahead, beta1, gain1, beta2, gain2, eps, decay, kept = numbers
    g = _decayed(g, decay, p)
    mean, square = _averages(g, mean, square, beta1, gain1, beta2, gain2)
    return kept * p - np.divide(rate * g + ahead * mean, np.sqrt(square) + eps), mean, square


# ---- scaled by gradients so far ----------------------------------------------------------------------


def rmsprop(p, g, square, numbers):  # type: ignore[no-untyped-def]
    """Divide by the root of the average square."""
    rate, alpha, gain, eps, _, decay = numbers
    g = _decayed(g, decay, p)
    square = alpha * square + gain * (g * g)
    return p - rate * _scaled(g, square, eps), square


def rmsprop_momentum(p, g, square, velocity, numbers):  # type: ignore[no-untyped-def]
    """`rmsprop` along a velocity."""
    rate, alpha, gain, eps, momentum, decay = numbers
    g = _decayed(g, decay, p)
    square = alpha * square + gain * (g * g)
    velocity = momentum * velocity + _scaled(g, square, eps)
    return p - rate * velocity, square, velocity


def rmsprop_centered(p, g, square, mean, numbers):  # type: ignore[no-untyped-def]
    """Divide by the standard deviation."""
    rate, alpha, gain, eps, _, decay = numbers
    g = _decayed(g, decay, p)
    square = alpha * square + gain * (g * g)
    mean = alpha * mean + gain * g
    return p - rate * _scaled(g, square - mean * mean, eps), square, mean


def rmsprop_centered_momentum(p, g, square, mean, velocity, numbers):  # type: ignore[no-untyped-def]
    """`rmsprop_centered` along a velocity."""
    rate, alpha, gain, eps, momentum, decay = numbers
    g = _decayed(g, decay, p)
    square = alpha * square + gain * (g * g)
    mean = alpha * mean + gain * g
    velocity = momentum * velocity + _scaled(g, square - mean * mean, eps)
    return p - rate * velocity, square, mean, velocity


def adagrad(p, g, total, numbers):  # type: ignore[no-untyped-def]
    """Divide by the root of the sum of squares."""
    rate, eps, decay = numbers
    g = _decayed(g, decay, p)
    total = total + g * g
    return p - rate * _scaled(g, total, eps), total


def adadelta(p, g, square, delta, numbers):  # type: ignore[no-untyped-def]
    """Scale by the root mean squares of steps and gradients."""
    rate, rho, gain, eps, decay = numbers
    g = _decayed(g, decay, p)
    square = rho * square + gain * (g * g)
    move = np.divide(np.sqrt(delta + eps), np.sqrt(square + eps)) * g
    return p - rate * move, square, rho * delta + gain * (move * move)


FORMULAS: dict[Callable[..., Any], tuple[int, int]] = {
    descent: (0, 2), momentum_descent: (1, 3), nesterov_descent: (1, 3), lion: (1, 6),
    adam: (2, 7), adamw: (2, 7), amsgrad: (3, 7), amsgradw: (3, 7), adamax: (2, 6), nadam: (2, 9),
    rmsprop: (1, 6), rmsprop_momentum: (2, 6), rmsprop_centered: (2, 6), rmsprop_centered_momentum: (3, 6),
    adagrad: (1, 3), adadelta: (2, 5),
}  # fmt: skip
"""How many arrays of state each formula takes, and how many numbers."""
