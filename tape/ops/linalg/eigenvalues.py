"""Eigenvalues and eigenvectors, of Hermitian matrices and of general ones.

With ``A V = V W`` and ``M = inv(V) dA V``, eigenvalues change by the diagonal of M, and eigenvectors by ``V
(M / (w_j - w_i))`` off the diagonal. On the diagonal the change is 0: ``v^H dv = 0`` for each vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core.op import Op
from tape.core.table import implements
from tape.errors import OptionError, SingularMatrixError
from tape.inspect.costs import declare_cost, per_matrix
from tape.inspect.samples import declare_samples
from tape.ops.elementwise.complex import conjugated
from tape.ops.linalg.equations import inverse
from tape.ops.linalg.packing import (
    Packed,
    dagger,
    gaps,
    half,
    mirrored,
    over,
    square,
    stacked,
    times_columns,
    transposed,
)
from tape.ops.named_results import EighResult, EigResult
from tape.ops.reduction.reductions import sum

declare_samples(
    "np.linalg.eig(g)[0].real",
    "np.linalg.eigh(h)[0]",
    "np.linalg.eigvals(g).real",
    "np.linalg.eigvalsh(h)",
)


def _shapes(a: Any, *_: Any, **attrs: Any) -> Any:
    n = a.shape[-1]
    return (n,), (n, n)


# ---- Hermitian matrices --------------------------------------------------------------------------

_NAMES = {"L": "lo", "U": "up"}  # of NumPy's functions
_eigh = Packed(
    "eigh",
    lambda a, *, uplo: np.linalg.eigh(a, uplo),
    _shapes,
    lower=lambda b, a, uplo: b.linalg(f"eigh_{_NAMES[uplo]}", a),
)
declare_cost(per_matrix(lambda m, n: 9 * n**3), _eigh.op)


def _to_triangle(pulled: Any, uplo: str) -> Any:
    """Return the adjoint of the triangle that was read, from that of the Hermitian matrix."""
    return half(pulled + dagger(pulled), lower=uplo == "L")


def pull_hermitian_values(g: Any, v: Any, uplo: str) -> Any:
    """Return the adjoint of the triangle from that of the eigenvalues, with vectors ``v``."""
    return _to_triangle(times_columns(conjugated(v), g) @ transposed(v), uplo)


def push_hermitian_values(t: Any, v: Any, uplo: str) -> Any:
    """Return the tangent of the eigenvalues, with vectors ``v``, from that of the triangle."""
    return sum(conjugated(v) * (mirrored(t, uplo == "L") @ v), axis=-2)


def pull_hermitian_vectors(g: Any, v: Any, w: Any, uplo: str) -> Any:
    """Return the adjoint of the triangle from that of the eigenvectors ``v``, of the values ``w``."""
    turn = over(transposed(v) @ g, gaps(w, g, by_column=True))
    return _to_triangle(conjugated(v) @ turn @ transposed(v), uplo)


def push_hermitian_vectors(t: Any, v: Any, w: Any, uplo: str) -> Any:
    """Return the tangent of the eigenvectors ``v``, of the values ``w``, from that of the triangle."""
    moved = mirrored(t, uplo == "L")
    return v @ over(dagger(v) @ moved @ v, gaps(w, moved, by_column=False))


def _h_vectors_vjp(g: Any, out: Any, a: Any, packed: Any, uplo: str) -> Any:
    return pull_hermitian_vectors(g, out, _h_values(a, packed, uplo=uplo), uplo)


def _h_vectors_jvp(t: Any, out: Any, a: Any, packed: Any, uplo: str) -> Any:
    return push_hermitian_vectors(t, out, _h_values(a, packed, uplo=uplo), uplo)


_h_values: Op = _eigh.part(
    0,
    "eigenvalues",
    convert=np.real,
    vjp=[lambda g, out, a, packed, uplo: pull_hermitian_values(g, _h_vectors(a, packed, uplo=uplo), uplo)],
    jvp=[lambda t, out, a, packed, uplo: push_hermitian_values(t, _h_vectors(a, packed, uplo=uplo), uplo)],
)
_h_vectors: Op = _eigh.part(1, "eigenvectors", vjp=[_h_vectors_vjp], jvp=[_h_vectors_jvp])


def _vectors_of(a: Any, uplo: str) -> Any:
    return _h_vectors(a, _eigh.op(a, uplo=uplo), uplo=uplo)


_eigvalsh = Op(
    lambda a, *, uplo: np.linalg.eigvalsh(a, uplo),
    name="eigvalsh",
    batch=stacked,
    lower=lambda b, a, uplo: b.linalg(f"eigvalsh_{_NAMES[uplo]}", a)[0],
    vjp=[lambda g, out, a, uplo: pull_hermitian_values(g, _vectors_of(a, uplo), uplo)],
    jvp=[lambda t, out, a, uplo: push_hermitian_values(t, _vectors_of(a, uplo), uplo)],
)
declare_cost(per_matrix(lambda m, n: 4 * n**3 / 3), _eigvalsh)


def _uplo(name: str, UPLO: str) -> str:
    if UPLO not in ("L", "U", "l", "u"):
        raise OptionError(f"{name}: UPLO={UPLO!r}. It must be 'L' or 'U'")
    return UPLO.upper()


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian (or real symmetric) matrices.

    Equal eigenvalues have a derivative, assigned in their order. Their eigenvectors have none: a sweep that
    needs it raises. Complex vectors are determined up to a factor of absolute value 1: results that depend on
    it are arbitrary, and so are their derivatives.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``. Only one triangle is looked at, and the gradient is zero in the other: symmetrize
        the argument, ``(a + a.T) / 2``, for a symmetric gradient.
    UPLO : {"L", "U"}
        The triangle that is read.

    Returns
    -------
    EighResult
        A named tuple: ``eigenvalues``, ``(..., n)``, in ascending order, and ``eigenvectors``,
        ``(..., n, n)``, in columns.

    Raises
    ------
    OptionError
        If ``UPLO`` is something else.
    ShapeError
        If the matrices are not square.
    SingularMatrixError
        In a sweep, if a derivative is needed that there is not.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> a = tr.param(np.diag([1.0, 2.0]))
    >>> w, v = np.linalg.eigh(a)
    >>> tr.backward_param_grads(w[1])
    [array([[0., 0.],
           [0., 1.]])]
    """
    a, uplo = square("eigh", a), _uplo("eigh", UPLO)
    packed = _eigh.op(a, uplo=uplo)
    return EighResult(_h_values(a, packed, uplo=uplo), _h_vectors(a, packed, uplo=uplo))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices, ascending. Parameters, errors and derivatives are those of `eigh`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.eigvalsh(np.diag([3.0, 1.0]))
    array([1., 3.])
    """
    return _eigvalsh(square("eigvalsh", a), uplo=_uplo("eigvalsh", UPLO))


# ---- other matrices ------------------------------------------------------------------------------


def _eig_like_forward(a: Any, w: Any) -> Any:
    """Return `numpy.linalg.eig` in the order of eigenvalues ``w``: LAPACK has another one without vectors."""
    values, vectors = np.linalg.eig(a)
    for i in np.ndindex(values.shape[:-1] if values.size else 0):
        distances = np.abs(values[i] - w[i][:, None])
        order = np.argmin(distances, axis=1)
        if len(set(order)) < len(order):  # equal ones
            from scipy.optimize import linear_sum_assignment  # imported late: seldom needed

            order = linear_sum_assignment(distances)[1]
        values[i], vectors[i] = values[i][order], vectors[i][:, order]
    return values, vectors


_eig = Packed("eig", np.linalg.eig, _shapes, data_dependent=True)  # real or complex
declare_cost(per_matrix(lambda m, n: 25 * n**3), _eig.op)
_eig_like = Packed("eig_like", _eig_like_forward, _shapes, data_dependent=True)


def _inverse_of_basis(v: Any) -> Any:
    inverted = np.linalg.inv(v)
    if np.any(np.abs(inverted) * np.finfo(v.dtype).eps * 8 * v.shape[-1] > 1):
        raise SingularMatrixError(
            "the matrix is defective: it has fewer eigenvectors than rows, and its eigenvalues have no "
            "derivative. Move it by a small perturbation"
        )
    return inverted


inverse_of_basis = inverse("inverse_of_basis", _inverse_of_basis)


def _pull_values(g: Any, v: Any) -> Any:
    return times_columns(transposed(inverse_of_basis(v)), g) @ transposed(v)


def _push_values(t: Any, v: Any) -> Any:
    return sum(transposed(inverse_of_basis(v)) * (t @ v), axis=-2)


def _vectors_vjp(g: Any, out: Any, a: Any, packed: Any) -> Any:
    free = g - conjugated(out) * sum(g * out, axis=-2, keepdims=True)
    turn = over(transposed(out) @ free, gaps(_values(a, packed), g, by_column=True))
    return transposed(inverse_of_basis(out)) @ turn @ transposed(out)


def _vectors_jvp(t: Any, out: Any, a: Any, packed: Any) -> Any:
    moved = out @ over(inverse_of_basis(out) @ (t @ out), gaps(_values(a, packed), t, by_column=False))
    return moved - out * sum(conjugated(out) * moved, axis=-2, keepdims=True)


def _as_real_part(a: Any, part: Any) -> Any:
    """Return real results as the real part of a complex array, with gaps in memory, as NumPy does."""
    return part.astype(complex).real if part.dtype == float else np.array(part, order="K")


_values: Op = _eig.part(
    0,
    "eigenvalues",
    layout=_as_real_part,
    vjp=[lambda g, out, a, packed: _pull_values(g, _vectors(a, packed))],
    jvp=[lambda t, out, a, packed: _push_values(t, _vectors(a, packed))],
)
_vectors: Op = _eig.part(1, "eigenvectors", layout=_as_real_part, vjp=[_vectors_vjp], jvp=[_vectors_jvp])

_eigvals = Op(
    np.linalg.eigvals,
    name="eigvals",
    batch=stacked,
    data_dependent=True,
    vjp=[lambda g, out, a: _pull_values(g, _vectors(a, _eig_like.op(a, out)))],
    jvp=[lambda t, out, a: _push_values(t, _vectors(a, _eig_like.op(a, out)))],
)
declare_cost(per_matrix(lambda m, n: 10 * n**3), _eigvals)


@implements(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices.

    For equal eigenvalues and for factors of vectors see `eigh`. A matrix without a basis of eigenvectors has
    no derivative: a sweep raises.

    Parameters
    ----------
    a : array_like or Var
        ``(..., n, n)``.

    Returns
    -------
    EigResult
        A named tuple: ``eigenvalues``, ``(..., n)``, and ``eigenvectors``, ``(..., n, n)``, in columns of
        length 1. Real matrices have real ones if all eigenvalues are real and NumPy is older than 2.5, else
        complex ones.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    SingularMatrixError
        In a sweep, if a derivative is needed that there is not.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.eig(np.array([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
    array([0.+1.j, 0.-1.j])
    """
    a = square("eig", a)
    packed = _eig.op(a)
    return EigResult(_values(a, packed), _vectors(a, packed))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """Eigenvalues of square matrices. Parameters, errors and derivatives are those of `eig`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.linalg.eigvals(np.diag([3.0, 1.0]))
    array([3., 1.])
    """
    return _eigvals(square("eigvals", a))
