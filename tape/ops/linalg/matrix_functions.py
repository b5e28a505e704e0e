"""Matrix functions of square matrices: powers and the exponential."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.operands import composed
from tape.core.table import implements
from tape.errors import OptionError
from tape.inspect.costs import declare_cost, free, per_matrix
from tape.inspect.samples import declare_samples
from tape.ops.linalg.equations import inv
from tape.ops.linalg.packing import square, stacked, transposed
from tape.ops.structure.joining import concatenate

declare_samples(
    "np.linalg.matrix_power(s, 3)",
    "tape.ops.linalg.expm(s)",
)

_zeroth_power = Op(
    lambda a: np.linalg.matrix_power(a, 0),
    name="matrix_power",
    batch=stacked,
    lower=lambda b, a: b.broadcast(b.value(np.eye(a.shape[-1], dtype=a.dtype)), a.shape),
)
declare_cost(free, _zeroth_power)


@implements(np.linalg.matrix_power)
@composed
def matrix_power(a: Any, n: int) -> Any:
    """Raise square matrices to an integer power, by repeated squaring.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.
    n : int
        Negative ones are powers of the inverse; the zeroth power is the identity.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``.

    Raises
    ------
    OptionError
        If ``n`` is not an integer.
    ShapeError
        If the matrices are not square.
    SingularMatrixError
        If ``n`` is negative and a matrix is singular.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.matrix_power(np.array([[1.0, 1.0], [0.0, 1.0]]), 5)
    array([[1., 5.],
           [0., 1.]])
    """
    a = square("matrix_power", a)
    try:
        n = operator.index(n)
    except TypeError:
        raise OptionError(f"matrix_power: the power is {n!r}. It must be an integer") from None
    if n == 0:
        return _zeroth_power(a)
    if n < 0:
        a, n = inv(a), -n
    if n == 3:  # NumPy multiplies in this order
        return a @ a @ a
    result, power = None, a
    while True:
        n, is_odd = divmod(n, 2)
        if is_odd:
            result = power if result is None else result @ power
        if not n:
            return result
        power = power @ power


# ---- the exponential -----------------------------------------------------------------------------


_LARGEST = 1e20
"""Elements up to this have powers up to the tenth; exponentials overflow, or vanish, long before."""


def _expm_forward(a: Any) -> Any:
    from scipy.linalg import expm  # imported late: it takes as long as all the rest

    return expm(a)


def _along(a: Any, e: Any) -> Any:
    """Return the derivative along ``e``: a block of the exponential of ``[[a, e], [0, a]]`` (Van Loan 1978).

    Plain matrices take a third of that (Al-Mohy and Higham 2009), unless they are not finite, which SciPy
    refuses, or their powers overflow, of which it returns zeros.
    """
    is_plain = type(a) is type(e) is np.ndarray and a.ndim == 2 and a.size
    if is_plain and np.abs(a).max() < _LARGEST and np.isfinite(e).all():
        from scipy.linalg import expm_frechet

        return expm_frechet(a, e, compute_expm=False)
    n = a.shape[-1]
    above = concatenate([a, e], axis=-1)
    below = concatenate([np.zeros(a.shape, a.dtype), a], axis=-1)
    return _expm(concatenate([above, below], axis=-2))[..., :n, n:]


_expm: Op = Op(
    _expm_forward,
    name="expm",
    batch=stacked,
    lower=lambda b, a: b.expm(a),
    vjp=[lambda g, out, a: _along(transposed(a), g)],
    jvp=[lambda t, out, a: _along(a, t)],
)
declare_cost(per_matrix(lambda m, n: 16 * n**3), _expm)


def expm(a: Any) -> Any:
    """The exponential of square matrices.

    SciPy's function of this name does not accept Vars: call it as ``tape.ops.linalg.expm``.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.

    Returns
    -------
    numpy.ndarray or Var
        ``(..., n, n)``.

    Raises
    ------
    ShapeError
        If the matrices are not square.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    return _expm(square("expm", a))
