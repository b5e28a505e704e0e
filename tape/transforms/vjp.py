"""`vjp`: the value of a function, and its reverse sweep as a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tape.transforms._derived import WithTape
from tape.transforms._record import Recording, copied


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Record a function once, for any number of products with its transposed Jacobian.

    Complex numbers are not conjugated: ``pullback(g)`` returns the gradient, in the sense of `tape.grad`, of
    ``real(sum(g * out))``. So for a holomorphic function it is ``g`` times the derivative, and the gradient
    of the imaginary part is ``pullback(-1j)``.

    Parameters
    ----------
    f : callable
        Plain NumPy code; arguments and result are trees.
    *primals : tree
        Its arguments, all of them differentiated: floats or complex numbers, arrays of these, or trees of
        them.
    has_aux : bool
        Whether ``f`` returns a pair: the result to differentiate, and auxiliary data of any kind.

    Returns
    -------
    out : tree
        The result of ``f``.
    pullback : callable
        ``pullback(cotangent)`` takes a cotangent in the structure and shapes of ``out``, and returns a
        tuple with the gradient with respect to each of the primals.
    aux : Any
        The auxiliary data, with ``has_aux`` only.

    Raises
    ------
    DTypeError
        If a primal holds integers, or ``f`` returns integers computed from the primals.
    ShapeError, SeedError
        By ``pullback``, if the cotangent does not fit.

    Warns
    -----
    ConstantResultWarning
        If the result of ``f`` does not depend on the arguments; its derivative is zero.

    Examples
    --------
    >>> import numpy as np, tape
    >>> out, pullback = tape.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
    >>> out
    array([3., 6.])
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 3., 30.]), np.float64(21.0))
    >>> tape.vjp(lambda z: z * z, 1 + 2j)[1](1.0)
    (np.complex128(2+4j),)
    """
    primals = copied(primals)
    recording = Recording("vjp", f, primals, argnums=tuple(range(len(primals))), has_aux=has_aux)
    recording.check_dtypes()

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        return recording.restore_args(recording.pull_back(recording.cotangents(cotangent)))

    back = WithTape(pullback, f"pullback({recording.name})")
    return (recording.value, back, recording.aux) if has_aux else (recording.value, back)
