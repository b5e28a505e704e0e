"""Riccati's equations, whose derivatives solve Lyapunov's equations of the closed loop.

The residual F of the continuous one is ``A^H X E + E^H X A - G inv(R) G^H + Q``, with ``G = E^H X B + S``;
that of the discrete one ``A^H X A - E^H X E - G inv(W) G^H + Q``, with ``G = A^H X B + S`` and
``W = R + B^H X B``. With the gain K, ``inv(R) G^H`` or ``inv(W) G^H``, and ``C = A - B K``, F changes by X as
``C^H dX E + E^H dX C`` or ``C^H dX C - E^H dX E``, which is set against the change of F by the matrices.
(Kenney and Hewer 1990.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape.core import batch_rules
from tape.core.op import Op
from tape.errors import OptionError, SingularMatrixError
from tape.inspect.costs import declare_cost
from tape.ops.linalg.equations import inv, solve
from tape.ops.linalg.packing import by_matrix, dagger
from tape.ops.linalg.sylvester import sylvester

__all__ = ["continuous_riccati", "discrete_riccati"]


def _solver(name: str) -> Any:
    def of_one(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, *, balanced: bool, given: str) -> Any:
        from scipy import linalg  # imported late: it takes as long as all the rest

        options = {key: x for key, x in (("e", e), ("s", s)) if key in given}
        balanced = balanced and "e" not in given  # of which SciPy 1.17 undoes one scaling of two
        try:
            return (getattr(linalg, name)(a, b, q, r, balanced=balanced, **options),)
        except np.linalg.LinAlgError as error:
            raise SingularMatrixError(
                f"{name}: {error}. Is the system one that can be stabilised, and seen, by these matrices?"
            ) from error
        except ValueError as error:
            raise OptionError(f"{name}: {error} See scipy.linalg.{name} for the matrices it takes") from error

    return of_one


def _forward(name: str) -> Any:
    of_stacks = by_matrix(_solver(name))

    def forward(*operands: Any, balanced: bool, given: str) -> Any:
        dtype = np.result_type(*operands, np.float32)
        wide = np.result_type(dtype, np.float64)
        stack = np.broadcast_shapes(*(x.shape[:-2] for x in operands))
        spread = [np.broadcast_to(x, (*stack, *x.shape[-2:])).astype(wide) for x in operands]
        return of_stacks(*spread, balanced=balanced, given=given)[0].astype(dtype)

    return forward


def _hermitian(x: Any) -> Any:
    return (x + dagger(x)) / 2


def _both(x: Any) -> Any:
    return x + dagger(x)


def _continuous_jvp(
    tangents: Any, x: Any, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool, given: str
) -> Any:
    da, db, dq, dr, de, ds = tangents
    k = solve(r, dagger(dagger(e) @ x @ b + s))
    parts: list[Any] = []
    by_gain: list[Any] = []
    if da is not None:
        parts.append(_both(dagger(da) @ x @ e))
    if de is not None:
        parts.append(_both(dagger(de) @ x @ a))
        by_gain.append(dagger(de) @ x @ b)
    if db is not None:
        by_gain.append(dagger(e) @ x @ db)
    change, inverse = _change(parts, by_gain, k, dq, dr, ds), inv(e)
    loop = (a - b @ k) @ inverse
    return _hermitian(-sylvester(dagger(loop), loop, dagger(inverse) @ change @ inverse))


def _discrete_jvp(
    tangents: Any, x: Any, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool, given: str
) -> Any:
    da, db, dq, dr, de, ds = tangents
    k = solve(r + dagger(b) @ x @ b, dagger(dagger(a) @ x @ b + s))
    parts: list[Any] = []
    by_gain: list[Any] = []
    if da is not None:
        parts.append(_both(dagger(da) @ x @ a))
        by_gain.append(dagger(da) @ x @ b)
    if de is not None:
        parts.append(-_both(dagger(de) @ x @ e))
    if db is not None:
        by_gain.append(dagger(a) @ x @ db)
        parts.append(dagger(k) @ _both(dagger(db) @ x @ b) @ k)
    change, inverse = _change(parts, by_gain, k, dq, dr, ds), inv(e)
    loop = (a - b @ k) @ inverse
    return _hermitian(_stein(loop, dagger(inverse) @ change @ inverse))


def _change(parts: list[Any], by_gain: list[Any], k: Any, dq: Any, dr: Any, ds: Any) -> Any:
    """Return how the equation changes: by what both equations have in common, and by the gain k."""
    if ds is not None:
        by_gain = [*by_gain, ds]
    parts = [*parts, *(-_both(change @ k) for change in by_gain)]
    if dr is not None:
        parts.append(dagger(k) @ _hermitian(dr) @ k)
    if dq is not None:
        parts.append(_hermitian(dq))
    return _total(parts)


def _total(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _stein(loop: Any, c: Any) -> Any:
    """Return the x with ``loop^H x loop - x + c = 0``, by Cayley's transform of a stable matrix."""
    eye = np.eye(loop.shape[-1], dtype=loop.dtype)
    inverse = inv(loop + eye)
    n = (loop - eye) @ inverse
    return sylvester(dagger(n), n, -2 * (dagger(inverse) @ c @ inverse))


continuous_riccati = Op(
    _forward("solve_continuous_are"),
    name="continuous_riccati",
    batch=batch_rules.elementwise,
    jvp=_continuous_jvp,
)
discrete_riccati = Op(
    _forward("solve_discrete_are"),
    name="discrete_riccati",
    batch=batch_rules.elementwise,
    jvp=_discrete_jvp,
)
declare_cost(lambda out, shapes, attrs: 200 * out[-1] ** 3, continuous_riccati, discrete_riccati)
