"""Roots of polynomials, and polynomials of given roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core import series
from tape.core.op import Op
from tape.core.operands import composed
from tape.core.table import implements
from tape.errors import ShapeError
from tape.inspect.samples import declare_samples
from tape.ops.linalg.eigenvalues import eigvals
from tape.ops.polynomials.polynomials import coefficients, of_numbers, trimmed
from tape.ops.products.signal import convolve
from tape.ops.structure.indexing import getitem
from tape.ops.structure.joining import concatenate
from tape.ops.structure.layout import copy
from tape.ops.structure.shape import astype, ravel, reshape

__all__ = ["poly", "roots"]

declare_samples(
    "np.poly(u)",
    "np.roots(v)",
)


# ---- polynomials of given roots --------------------------------------------------------------------


def _of_conjugates_forward(p: Any, zeros: Any) -> Any:
    is_real = np.array_equal(np.sort(zeros), np.sort(zeros.conj()))
    return p.real.copy() if is_real else p


_of_conjugates = Op(
    _of_conjugates_forward,
    name="of_conjugates",
    vjp=[lambda g, out, p, zeros: g, None],
    jvp=[lambda t, out, p, zeros: t, None],
    taylor=series.linear,
    doc="Real coefficients, if complex roots come in conjugate pairs.",
)


@implements(np.poly)
@composed
def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with given roots.

    Parameters
    ----------
    seq_of_zeros : array_like or Var, or a list of Vars
        ``(n,)``: the roots; or a matrix ``(n, n)``, for its characteristic polynomial.

    Returns
    -------
    numpy.ndarray or Var
        ``(n + 1,)``; real if the roots are, or come in conjugate pairs.

    Raises
    ------
    ShapeError
        If it is neither a vector nor a square matrix.

    Examples
    --------
    >>> import tape
    >>> tape.ops.poly([1.0, 2.0])
    array([ 1., -3.,  2.])
    """
    zeros = of_numbers(seq_of_zeros)
    zeros = zeros if np.ndim(zeros) else ravel(zeros)
    shape = np.shape(zeros)
    if len(shape) == 2 and shape[0] == shape[-1] != 0:
        zeros = eigvals(zeros)
    elif len(shape) != 1:
        raise ShapeError(f"poly of shape {list(shape)}. It must be a vector of roots, or a square matrix")
    elif (dtype := np.dtype(np.mintypecode(zeros.dtype.char))) != zeros.dtype:
        zeros = astype(zeros, dtype)
    if not len(zeros):
        return 1.0
    one = np.ones(1, zeros.dtype)
    out = one
    for k in range(len(zeros)):
        out = convolve(out, concatenate([one, -getitem(zeros, slice(k, k + 1))]))
    return _of_conjugates(out, zeros) if out.dtype.kind == "c" else out


# ---- roots of a polynomial -------------------------------------------------------------------------


_real_if_all_are = Op(
    lambda w: w if np.any(w.imag) else w.real.copy(),
    name="real_if_all_are",
    vjp=[lambda g, out, w: g],
    jvp=[lambda t, out, w: t if out.dtype.kind == "c" else t.real],
    taylor=series.linear,
    doc="Real numbers, if no imaginary part differs from zero.",
)


@implements(np.roots)
@composed
def roots(p: Any) -> Any:
    """The roots of a polynomial.

    Parameters
    ----------
    p : array_like or Var
        Coefficients, that of the highest power first.

    Returns
    -------
    numpy.ndarray or Var
        Real if all of them are.

    Raises
    ------
    ShapeError
        If ``p`` is not a vector.
    SingularMatrixError
        If a root is repeated: in the sweep, as it has no derivative.

    Examples
    --------
    >>> import tape
    >>> tape.ops.roots([1.0, -3.0, 2.0])
    array([2., 1.])
    """
    p = coefficients("roots", p)
    turn = slice(None, None, -1)
    turned = trimmed(getitem(p, turn), tolerance=0.0, least=0)
    if not len(turned):
        return np.array([])
    trailing = len(p) - len(turned)
    p = trimmed(getitem(turned, turn), tolerance=0.0, least=0)
    if p.dtype.kind not in "fc":
        p = astype(p, float)
    if len(p) == 1:
        return np.zeros(trailing)
    row = reshape(-getitem(p, slice(1, None)) / getitem(p, 0), (1, -1))
    companion = concatenate([row, np.eye(len(p) - 2, len(p) - 1, dtype=p.dtype)])
    found = eigvals(companion)
    if companion.dtype.kind == "f":  # NumPy 2.5 makes them complex, whatever they are
        found = _real_if_all_are(found)
    return concatenate([found, np.zeros(trailing, found.dtype)]) if trailing else copy(found, "C")
