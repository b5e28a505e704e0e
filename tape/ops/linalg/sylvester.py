"""Sylvester's equation, and roots, logarithms and signs of matrices, whose derivatives solve it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.op import Op
from tape.errors import SingularMatrixError, UnsupportedError
from tape.inspect.costs import declare_cost, per_matrix
from tape.ops.linalg.packing import stacked, transposed
from tape.ops.structure.joining import concatenate

__all__ = ["logm", "signm", "sqrtm", "sylvester"]


def _sylvester_forward(a: Any, b: Any, q: Any) -> Any:
    dtype = np.result_type(a, b, q, np.float32)
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    a, b, q = (np.broadcast_to(x, (*stack, *x.shape[-2:])).astype(dtype) for x in (a, b, q))
    out = np.empty(q.shape, dtype)
    for i in np.ndindex(stack):
        if out[i].size:
            out[i] = _solved(a[i], b[i], q[i])
    return out


def _solved(a: Any, b: Any, q: Any) -> Any:
    """Solve by Schur forms (Bartels and Stewart 1972), as SciPy does, which does not look for failures."""
    from scipy import linalg  # imported late: it takes as long as all the rest

    kind = "complex" if a.dtype.kind == "c" else "real"
    left, u = linalg.schur(a, output=kind, check_finite=False)
    right, v = linalg.schur(b.conj().T, output=kind, check_finite=False)
    ours, theirs = np.linalg.eigvals(left), np.conj(np.linalg.eigvals(right))
    gaps = np.abs(ours[:, None] + theirs)
    rounding = 8 * max(q.shape) * np.finfo(a.dtype).eps * max(np.max(np.abs(ours)), np.max(np.abs(theirs)))
    (trsyl,) = linalg.get_lapack_funcs(("trsyl",), (left, right))
    x, scale, info = trsyl(left, right, u.conj().T @ q @ v, tranb="C")
    if info or np.min(gaps) <= rounding:
        raise SingularMatrixError(
            "Sylvester's equation has no unique solution: an eigenvalue of a is minus one of b. "
            "Move them apart"
        )
    return u @ (x / scale) @ v.conj().T


def _turned(a: Any, b: Any, g: Any) -> Any:
    return sylvester(transposed(a), transposed(b), g)


sylvester: Op = Op(
    _sylvester_forward,
    name="sylvester",
    batch=batch_rules.elementwise,
    vjp=[
        lambda g, out, a, b, q: -(_turned(a, b, g) @ transposed(out)),
        lambda g, out, a, b, q: -(transposed(out) @ _turned(a, b, g)),
        lambda g, out, a, b, q: _turned(a, b, g),
    ],
    jvp=[
        lambda t, out, a, b, q: -sylvester(a, b, t @ out),
        lambda t, out, a, b, q: -sylvester(a, b, out @ t),
        lambda t, out, a, b, q: sylvester(a, b, t),
    ],
)
"""The x with ``a @ x + x @ b = q``."""
declare_cost(lambda out, shapes, attrs: 20 * prod(out) * (out[-1] + out[-2]), sylvester)


@contextmanager
def _generator_kept() -> Iterator[None]:
    """Leave NumPy's own generator as it was: SciPy estimates norms of powers by random vectors."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _of_each(name: str, a: Any) -> Any:
    from scipy import linalg

    function = getattr(linalg, name)
    out = np.empty(a.shape, np.result_type(a, np.float32))
    a = np.asarray(a, np.result_type(a, np.float64))  # in single precision SciPy warns of its own rounding
    with np.errstate(all="ignore"), _generator_kept():
        for i in np.ndindex(a.shape[:-2]):
            found = function(a[i]) if a[i].size else a[i]
            if np.iscomplexobj(found) and out.dtype.kind != "c":
                raise UnsupportedError(
                    f"{name}: the result is complex, as a real matrix has no real one if an eigenvalue is "
                    "negative. Make the matrix complex"
                )
            out[i] = found
    return out


sqrtm: Op = Op(
    lambda a: _of_each("sqrtm", a),
    name="sqrtm",
    batch=stacked,
    vjp=[lambda g, out, a: sylvester(transposed(out), transposed(out), g)],
    jvp=[lambda t, out, a: sylvester(out, out, t)],
)
"""The principal root; a derivative along t solves ``out @ x + x @ out = t``."""


def _log_along(a: Any, e: Any) -> Any:
    """Return the derivative along e: a block of the logarithm of ``[[a, e], [0, a]]`` (Higham 2008, 3.6)."""
    n = a.shape[-1]
    above = concatenate([a, e], axis=-1)
    below = concatenate([np.zeros(a.shape, a.dtype), a], axis=-1)
    return logm(concatenate([above, below], axis=-2))[..., :n, n:]


logm: Op = Op(
    lambda a: _of_each("logm", a),
    name="logm",
    batch=stacked,
    vjp=[lambda g, out, a: _log_along(transposed(a), g)],
    jvp=[lambda t, out, a: _log_along(a, t)],
)
"""The principal logarithm."""
declare_cost(per_matrix(lambda m, n: 25 * n**3), sqrtm, logm)


def _sign_vjp(g: Any, out: Any, a: Any) -> Any:
    size, turned = transposed(out @ a), transposed(out)
    pulled = sylvester(size, size, g)
    return pulled - turned @ pulled @ turned


def _sign_jvp(t: Any, out: Any, a: Any) -> Any:
    size = out @ a
    return sylvester(size, size, t - out @ t @ out)


signm: Op = Op(lambda a: _of_each("signm", a), name="signm", batch=stacked, vjp=[_sign_vjp], jvp=[_sign_jvp])
"""The sign; with ``n = out @ a`` a derivative along t solves ``n @ x + x @ n = t - out @ t @ out``.

(Higham 2008, theorem 5.3.)
"""
declare_cost(per_matrix(lambda m, n: 60 * n**3), signm)
