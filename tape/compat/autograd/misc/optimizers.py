"""Stochastic optimisers of nested containers, with autograd's arguments: `sgd`, `rmsprop`, `adam`.

They compute in NumPy calls and return new containers, so that whole trainings can be differentiated. Those
of `tape.optim` update arrays in place, and are faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors, tree

__all__ = ["adam", "rmsprop", "sgd"]

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any]
Step = Callable[[Any, Any, int], Any]


def _iterated(grad: Gradient, x0: Any, callback: Callback | None, num_iters: int, step: Step) -> Any:
    """Return the containers after some steps ``x = step(x, gradient, i)`` of vectors."""
    x, unflatten = tree.ravel(x0)
    if x.dtype.kind not in "fc":
        raise errors.DTypeError(
            f"the parameters are of {x.dtype}. Convert them to floats, as with np.asarray"
        )
    for i in range(num_iters):
        values = unflatten(x)
        gradient = grad(values, i)
        if tree.structure(gradient) != tree.structure(values):
            raise errors.ShapeError(
                f"the gradient is {tree.describe(tree.structure(gradient))}, and the parameters are "
                f"{tree.describe(tree.structure(values))}. Give both one structure"
            )
        if callback is not None:
            callback(values, i, gradient)
        g, _ = tree.ravel(gradient)
        if np.shape(g) != np.shape(x):
            raise errors.ShapeError(
                f"the gradient holds {np.size(g)} numbers, and the parameters {np.size(x)}. It must have "
                "their shapes"
            )
        x = step(x, g, i)
    return unflatten(x)


def sgd(
    grad: Gradient,
    x0: Any,
    callback: Callback | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Minimise by gradient descent with momentum.

    Parameters
    ----------
    grad : callable
        ``grad(x, i)``: the gradient in step i, in the structure of x.
    x0 : tree
        Nested containers of floats to start from.
    callback : callable, optional
        ``callback(x, i, gradient)``, before each step.
    num_iters : int
        The number of steps.
    step_size : float
        The length of a step, relative to the velocity.
    mass : float
        The velocity is ``mass * velocity - (1 - mass) * gradient``.

    Returns
    -------
    tree
        Like ``x0``.

    Raises
    ------
    DTypeError
        If ``x0`` holds integers.
    ShapeError
        If the gradient is not like ``x0``.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import grad
    >>> from tape.compat.autograd.misc.optimizers import sgd
    >>> loss = lambda params, step: np.sum((params["w"] - 3.0) ** 2)
    >>> sgd(grad(loss), {"w": np.zeros(2)})["w"].round(3)
    array([3., 3.])
    """
    velocity: Any = 0.0

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return x + step_size * velocity

    return _iterated(grad, x0, callback, num_iters, step)


def rmsprop(
    grad: Gradient,
    x0: Any,
    callback: Callback | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Minimise by steps relative to a running average of the squares of gradients, which starts at one.

    Parameters
    ----------
    grad, x0, callback, num_iters, step_size
        As for `sgd`.
    gamma : float
        The factor of the average from step to step.
    eps : float
        Added to the root of the average.

    Returns
    -------
    tree
        Like ``x0``.

    Raises
    ------
    DTypeError, ShapeError
        As `sgd`.

    Examples
    --------
    >>> from tape.compat.autograd.misc.optimizers import rmsprop
    >>> round(float(rmsprop(lambda x, i: 2 * (x - 3.0), 0.0, step_size=0.05)), 2)
    3.0
    """
    average: Any = 1.0

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal average
        average = average * gamma + g**2 * (1 - gamma)
        return x - step_size * g / (np.sqrt(average) + eps)

    return _iterated(grad, x0, callback, num_iters, step)


def adam(
    grad: Gradient,
    x0: Any,
    callback: Callback | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Minimise by Adam (Kingma and Ba, 2015): averages of gradients and of their squares, without their bias.

    Parameters
    ----------
    grad, x0, callback, num_iters, step_size
        As for `sgd`.
    b1, b2 : float
        The factors of the two averages from step to step.
    eps : float
        Added to the root of the average of squares.

    Returns
    -------
    tree
        Like ``x0``.

    Raises
    ------
    DTypeError, ShapeError
        As `sgd`.

    Examples
    --------
    >>> from tape.compat.autograd.misc.optimizers import adam
    >>> round(float(adam(lambda x, i: 2 * (x - 3.0), 0.0, num_iters=500, step_size=0.1)), 3)
    3.0
    """
    mean: Any = 0.0
    square: Any = 0.0

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal mean, square
        mean = (1 - b1) * g + b1 * mean
        square = (1 - b2) * g**2 + b2 * square
        unbiased, unbiased_square = mean / (1 - b1 ** (i + 1)), square / (1 - b2 ** (i + 1))
        return x - step_size * unbiased / (np.sqrt(unbiased_square) + eps)

    return _iterated(grad, x0, callback, num_iters, step)
