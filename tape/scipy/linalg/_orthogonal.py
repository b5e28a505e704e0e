"""More of QR: from the right, products with Q, and factors of changed matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as original

from tape.core.op import Op
from tape.errors import OptionError, ShapeError, UnsupportedError
from tape.ops import linalg as ops
from tape.ops.linalg.decompositions import qr_as_found
from tape.ops.linalg.packing import dagger
from tape.scipy._operands import is_recorded, whole
from tape.scipy.linalg._arrays import matrix, operand, or_scipy

__all__ = ["qr_delete", "qr_insert", "qr_multiply", "qr_update", "rq"]


def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """Return R and Q with ``a = R @ Q``: an upper triangle, and orthonormal rows.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``; its last k rows, k the lesser of m and n, independent where derivatives are needed.
    overwrite_a, lwork, check_finite
        Without effect.
    mode : {"full", "r", "economic"}
        A whole basis; R alone; or only as many rows as are needed.

    Returns
    -------
    tuple of numpy.ndarray or Var, or the first of them
        ``(..., m, n)`` and ``(..., n, n)``; of mode "economic" ``(..., m, k)`` and ``(..., k, n)``.

    Raises
    ------
    OptionError
        If there is no such mode.
    SingularMatrixError
        In a sweep, if the last rows are dependent.

    Examples
    --------
    >>> import numpy as np, tape
    >>> r, q = tape.scipy.linalg.rq(np.array([[3.0, 4.0]]), mode="economic")
    >>> abs(r)
    array([[5.]])
    """
    if mode not in ("full", "r", "economic"):
        raise OptionError(f"rq: mode={mode!r}. It must be 'full', 'r' or 'economic'")
    a = matrix("rq", a)
    # Turned round, the conjugate transpose of a triangle is one of the same kind.
    q, r = ops.qr(_turned_round(dagger(a)), "reduced" if mode == "economic" else "complete")
    r, q = _turned_round(dagger(r)), _turned_round(dagger(q))
    return r if mode == "r" else (r, q)


def _turned_round(x: Any) -> Any:
    return x[..., ::-1, ::-1]


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """Return the product of a matrix with the Q of ``a = Q @ R``, and R.

    Parameters
    ----------
    a : array_like or Var
        ``(..., m, n)``; let k be the lesser of both.
    c : array_like or Var
        A vector, or a matrix: on the left of Q it has m columns, on the right k rows.
    mode : {"left", "right"}
        The side of Q: the product is ``Q @ c``, or ``c @ Q``.
    pivoting : bool
        Of plain arrays alone.
    conjugate : bool
        Take the conjugate of Q.
    overwrite_a, overwrite_c : bool
        With ``overwrite_c`` and mode "left" Q is a whole basis, and c has m rows, as in SciPy.

    Returns
    -------
    product, R : numpy.ndarray or Var
        R is ``(..., k, n)``.

    Raises
    ------
    OptionError
        If there is no such mode.
    ShapeError
        If the shapes do not fit.
    SingularMatrixError
        In a sweep, if the first columns of ``a`` are dependent.
    UnsupportedError
        With ``pivoting``, if there is a Var.

    Examples
    --------
    >>> import numpy as np, tape
    >>> product, r = tape.scipy.linalg.qr_multiply(np.array([[3.0], [4.0]]), np.array([1.0, 2.0]))
    >>> abs(product), abs(r)
    (array([2.2]), array([[5.]]))
    """
    if mode not in ("left", "right"):
        raise OptionError(f"qr_multiply: mode={mode!r}. It must be 'left' or 'right'")
    if pivoting:
        if is_recorded(a, c):
            raise UnsupportedError(
                "qr_multiply: pivoting=True has no derivative rule. Order the columns first"
            )
        return tuple(original.qr_multiply(a, c, mode, True, conjugate))
    a, c = matrix("qr_multiply", a), operand(c)
    m, n = a.shape[-2:]
    is_whole = bool(overwrite_c) and mode == "left" and m > n
    q, r = ops.qr(a, "complete" if is_whole else "reduced")
    r = r[..., : min(m, n), :]
    q = np.conj(q) if conjugate else q
    inner = q.shape[-1] if mode == "left" else m
    axis = -2 if mode == "left" and np.ndim(c) > 1 else -1
    if np.ndim(c) < 1 or c.shape[axis] != inner:
        raise ShapeError(
            f"qr_multiply: c of shape {list(np.shape(c))} beside a factor of shape {list(q.shape)}. It must "
            f"have {inner} elements along that axis"
        )
    if np.ndim(c) == 1:
        return ((q @ c[:, None])[..., 0] if mode == "left" else (c[None] @ q)[..., 0, :]), r
    return (q @ c if mode == "left" else c @ q), r


# ---- factors of changed matrices ---------------------------------------------------------------------


def _flattened(*factors: Any) -> Any:
    return np.concatenate([np.ravel(x) for x in factors])


_inserted = Op(
    lambda q, r, u, *, k, which, rcond: _flattened(
        *original.qr_insert(q, r, u, k, which, rcond, check_finite=False)
    ),
    name="qr_insert",
    data_dependent=False,
)
_deleted = Op(
    lambda q, r, *, k, p, which: _flattened(*original.qr_delete(q, r, k, p, which, check_finite=False)),
    name="qr_delete",
    data_dependent=False,
)
_updated = Op(
    lambda q, r, u, v: _flattened(*original.qr_update(q, r, u, v, check_finite=False)),
    name="qr_update",
    data_dependent=False,
)


def _factors(name: str, Q: Any, R: Any) -> tuple[Any, Any]:
    Q, R = matrix(name, Q), matrix(name, R)
    if np.ndim(Q) != 2 or np.ndim(R) != 2 or Q.shape[1] != R.shape[0]:
        raise ShapeError(f"{name}: factors of shape {list(Q.shape)} and {list(R.shape)}. Give one matrix's")
    return Q, R


def _of_changed(changed: Any, found: Any, is_basis: bool) -> tuple[Any, Any]:
    """Return the factors of a matrix as SciPy finds them, with the rules of `qr`.

    Their derivatives are those of the factors of the matrix, by way of the product of the given ones.
    """
    return qr_as_found(changed, found, "complete" if is_basis else "reduced")


def _place(name: str, k: int, size: int, last: int) -> int:
    k = whole(k, f"{name}: k")
    if not -size <= k <= last:
        raise OptionError(f"{name}: k={k} is not within {-size} and {last}")
    return k + size if k < 0 else k


@or_scipy
def qr_insert(
    Q: Any,
    R: Any,
    u: Any,
    k: int,
    which: str = "row",
    rcond: float | None = None,
    overwrite_qru: bool = False,
    check_finite: bool = True,
) -> tuple[Any, Any]:
    """Return the factors of ``Q @ R`` with rows or columns inserted.

    Parameters
    ----------
    Q, R : array_like or Var
        ``(m, m)`` and ``(m, n)``, or ``(m, n)`` and ``(n, n)``; plain arrays may be stacks.
    u : array_like or Var
        ``(n,)`` or ``(p, n)``: rows; or ``(m,)`` or ``(m, p)``: columns.
    k : int
        What row or column they are inserted before.
    which : {"row", "col"}
        Whether they are rows or columns.
    rcond : float, optional
        Of columns: how near to dependent they may be.
    overwrite_qru, check_finite : bool
        Without effect on Vars.

    Returns
    -------
    Q1, R1 : numpy.ndarray or Var
        Derivatives are those of `qr` of the changed matrix, with SciPy's signs.

    Raises
    ------
    OptionError
        If there is no such ``which``, or ``k`` is outside of the matrix.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> q, r = tape.scipy.linalg.qr(np.array([[3.0], [0.0]]))
    >>> abs(tape.scipy.linalg.qr_insert(q, r, np.array([4.0]), 1)[1]).round(12)
    array([[5.],
           [0.],
           [0.]])
    """
    Q, R = _factors("qr_insert", Q, R)
    u = operand(u)
    if which not in ("row", "col"):
        raise OptionError(f"qr_insert: which={which!r}. It must be 'row' or 'col'")
    axis = 0 if which == "row" else 1
    whole = Q @ R
    parts = np.expand_dims(u, axis) if np.ndim(u) == 1 else u
    if np.ndim(parts) != 2 or parts.shape[1 - axis] != whole.shape[1 - axis]:
        raise ShapeError(
            f"qr_insert: u of shape {list(np.shape(u))} does not fit a matrix of shape {list(whole.shape)}"
        )
    k = _place("qr_insert", k, whole.shape[axis], whole.shape[axis])
    before, after = (whole[:k], whole[k:]) if axis == 0 else (whole[:, :k], whole[:, k:])
    changed = np.concatenate([before, parts, after], axis=axis)
    found = _inserted(Q, R, u, k=k, which=which, rcond=rcond)
    return _of_changed(changed, found, Q.shape[0] == Q.shape[1])


@or_scipy
def qr_delete(
    Q: Any,
    R: Any,
    k: int,
    p: int = 1,
    which: str = "row",
    overwrite_qr: bool = False,
    check_finite: bool = True,
) -> tuple[Any, Any]:
    """Return the factors of ``Q @ R`` without some rows or columns.

    Parameters
    ----------
    Q, R : array_like or Var
        As for `qr_insert`.
    k, p : int
        The first row or column to omit, and how many.
    which : {"row", "col"}
        Whether they are rows or columns.
    overwrite_qr, check_finite : bool
        Without effect on Vars.

    Returns
    -------
    Q1, R1 : numpy.ndarray or Var
        Derivatives are those of `qr` of the changed matrix, with SciPy's signs.

    Raises
    ------
    OptionError
        If there is no such ``which``, or what is to be omitted is not there.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> q, r = tape.scipy.linalg.qr(np.array([[3.0], [4.0], [12.0]]))
    >>> abs(tape.scipy.linalg.qr_delete(q, r, 2)[1]).round(12)
    array([[5.],
           [0.]])
    """
    Q, R = _factors("qr_delete", Q, R)
    if which not in ("row", "col"):
        raise OptionError(f"qr_delete: which={which!r}. It must be 'row' or 'col'")
    axis = 0 if which == "row" else 1
    whole = Q @ R
    size = whole.shape[axis]
    k = _place("qr_delete", k, size, size - 1)
    if not 0 < p <= size - k:
        raise OptionError(f"qr_delete: p={p} from k={k} of {size}. Omit what is there")
    kept = np.delete(np.arange(size), np.arange(k, k + p))
    changed = whole[kept] if axis == 0 else whole[:, kept]
    return _of_changed(changed, _deleted(Q, R, k=k, p=p, which=which), Q.shape[0] == Q.shape[1])


@or_scipy
def qr_update(
    Q: Any, R: Any, u: Any, v: Any, overwrite_qruv: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    """Return the factors of ``Q @ R + u @ v.conj().T``.

    Parameters
    ----------
    Q, R : array_like or Var
        As for `qr_insert`.
    u, v : array_like or Var
        ``(m,)`` and ``(n,)``, or ``(m, p)`` and ``(n, p)``.
    overwrite_qruv, check_finite : bool
        Without effect on Vars.

    Returns
    -------
    Q1, R1 : numpy.ndarray or Var
        Derivatives are those of `qr` of the changed matrix, with SciPy's signs.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np, tape
    >>> q, r = tape.scipy.linalg.qr(np.array([[3.0], [0.0]]))
    >>> abs(tape.scipy.linalg.qr_update(q, r, np.array([0.0, 4.0]), np.array([1.0]))[1]).round(12)
    array([[5.],
           [0.]])
    """
    Q, R = _factors("qr_update", Q, R)
    u, v = operand(u), operand(v)
    columns, rows = (x[:, None] if np.ndim(x) == 1 else x for x in (u, v))
    if (
        np.ndim(u) != np.ndim(v)
        or columns.shape != (Q.shape[0], rows.shape[1])
        or rows.shape[0] != R.shape[1]
    ):
        raise ShapeError(
            f"qr_update: u of shape {list(np.shape(u))} and v of shape {list(np.shape(v))} do not fit a "
            f"matrix of shape {[Q.shape[0], R.shape[1]]}"
        )
    changed = Q @ R + columns @ dagger(rows)
    return _of_changed(changed, _updated(Q, R, u, v), Q.shape[0] == Q.shape[1])
