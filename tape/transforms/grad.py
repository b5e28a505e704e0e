"""`grad`, `value_and_grad` and `elementwise_grad`: one reverse sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.transforms._derived import derived
from tape.transforms._record import SCALARS, Argnums, Recording

__all__ = [
    "elementwise_grad",
    "grad",
    "gradient_of",
    "value_and_grad",
]


@derived
def grad(f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of ``f``, which returns a real scalar.

    For a complex argument ``x + i y`` the gradient is ``df/dx - i df/dy``, as in JAX and autograd: along a
    direction v the function changes by ``real(sum(gradient * v))``, and steepest descent is
    ``-conj(gradient)``.

    Parameters
    ----------
    f : callable
        Plain NumPy code. Differentiated arguments are floats or complex numbers, arrays of these, or trees of
        them.
    argnums : int or tuple of int
        The positional arguments to differentiate with respect to.
    has_aux : bool
        Whether ``f`` returns a pair: the scalar, and auxiliary data of any kind.

    Returns
    -------
    callable
        A function with the arguments of ``f``. It returns the gradient, in the structure, shapes and dtypes
        of the argument (a tuple if ``argnums`` is one), or the pair of gradient and auxiliary data.

    Raises
    ------
    ShapeError
        When called, if ``f`` does not return a scalar.
    DTypeError
        When called, if a differentiated argument holds integers, or ``f`` returns an integer or a complex
        number: of the latter take the real or imaginary part, or use `tape.vjp` or `tape.jacobian`.
    OutOfBoundsError
        When called, if ``argnums`` exceeds the number of arguments.

    Warns
    -----
    ConstantResultWarning
        If the result of ``f`` does not depend on the arguments; its derivative is zero.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> float(tape.grad(tape.grad(np.tanh))(1.0))
    -0.6397000084492...
    >>> tape.grad(lambda p, x: p["a"] * x + p["b"])({"a": 2.0, "b": 1.0}, 3.0)
    {'a': np.float64(3.0), 'b': np.float64(1.0)}
    >>> tape.grad(lambda z: np.real(z * np.conj(z)))(3 + 4j)
    np.complex128(6-8j)
    """
    return gradient_of(f, argnums, has_aux=has_aux)


def gradient_of(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, transform: str = "grad"
) -> Callable[..., Any]:
    """Return `grad` of a function for another transform, which messages name."""

    def gradient(*args: Any, **kwargs: Any) -> Any:
        recording = Recording(transform, f, args, kwargs, argnums, has_aux=has_aux)
        gradients = _swept(recording)
        return (gradients, recording.aux) if has_aux else gradients

    return gradient


@derived
def value_and_grad(
    f: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the value of ``f``, a real scalar, and its gradient.

    Parameters
    ----------
    f, argnums, has_aux
        As for `grad`.

    Returns
    -------
    callable
        A function with the arguments of ``f``. It returns ``(value, gradient)``; with ``has_aux``,
        ``((value, aux), gradient)``.

    Raises
    ------
    ShapeError, DTypeError, OutOfBoundsError
        As `grad`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> value, gradient = tape.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """

    def both(*args: Any, **kwargs: Any) -> Any:
        recording = Recording("value_and_grad", f, args, kwargs, argnums, has_aux=has_aux)
        gradients = _swept(recording)
        return ((recording.value, recording.aux) if has_aux else recording.value), gradients

    return both


@derived
def elementwise_grad(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the derivative of an elementwise function, for all elements at once.

    For any other function that is the gradient of the sum of its results.

    Parameters
    ----------
    f : callable
        As for `grad`, but it may return arrays.
    argnums : int or tuple of int
        The positional arguments to differentiate with respect to.

    Returns
    -------
    callable
        A function with the arguments of ``f``. It returns the derivative as `grad` does.

    Raises
    ------
    DTypeError, OutOfBoundsError
        As `grad`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.elementwise_grad(lambda x: x**3)(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """

    def derivative(*args: Any, **kwargs: Any) -> Any:
        recording = Recording("elementwise_grad", f, args, kwargs, argnums)
        recording.check_dtypes()
        recording.check_real()
        return _swept_from_ones(recording)

    return derivative


def _swept(recording: Recording) -> Any:
    """Return the gradients of one scalar."""
    recording.scalar()
    return _swept_from_ones(recording)


def _swept_from_ones(recording: Recording) -> Any:
    """Return the gradients of the sum of all results; the sweep frees the tape."""
    ones = [_ones_like(recording.plain(out)) for out in recording.outs]
    return recording.restore_args(recording.pull_back(ones, consume=True))


def _ones_like(value: Any) -> Any:
    kind = type(value)
    return kind(1) if kind in SCALARS else np.ones(np.shape(value), np.result_type(value))[()]
