"""The cost of the reverse rule of each function, relative to the function itself.

The cheap gradient principle (Baur and Strassen 1983) allows a factor of four; a product of matrices takes
two. It counts arithmetic. These take longer here:

- Functions that return a view, or read a few elements, where the adjoint is an array of the whole size: views
  (ravel, reshape, transpose, flip, split, unstack, broadcast_to, real, ...), diagonal, trace, compress, take
  and take_along_axis of a few elements.
- Contractions of large arrays to small ones (products of a matrix and a vector, vdot, vecdot, tensordot over
  all axes: 5 to 9; extremes of a whole array: 5). They read an array once, which takes a fifth of
  the time of writing one to fresh memory.
- Small problems, dominated by Python: cross of 252 rows, atleast_1d and logspace of numbers,
  poly and polydiv (a chain of small operations), apply_along_axis (a recording for each row).
- Factorizations: cholesky (n**3 / 3 operations) has a rule of two triangular solves and a product (4 n**3);
  the rules of det and slogdet invert the matrix and compute its condition number (7, 5); that of
  solve_triangular builds a matrix from vectors (4.5).
- Special functions whose derivatives SciPy computes more slowly than themselves: digamma (zeta), j1 and yv
  (jv and yv of two orders), exprel, boxcox and their inverses (hyp1f1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_ROWS, _COLUMNS, _ELEMENTS = 252, 400, 100_000
_TABLES = frozenset(
    f"np.{name}"
    for name in (
        *("convolve", "correlate", "diag", "diagflat", "kron", "linalg.outer", "meshgrid", "outer"),
        *("poly", "polydiv", "polymul", "roots"),
    )
)
"""Functions of vectors whose time or result is quadratic in their length."""


@workload("rules", is_default=False)
def rules(seed: int) -> list[Case]:
    """Each function forwards, and its reverse rule, at 10**5 elements (square matrices of 252 x 252).

    Vectors have that length too, unless the function is quadratic in it.
    """
    from tape.support.samples import SAMPLES

    cases = (_case(name, sample) for name, sample in sorted(SAMPLES.items()))
    return [case for case in cases if case is not None]


def _case(name: str, sample: str) -> Case | None:
    """Return the case of a function; None if it has no derivative."""
    import tape
    from tape.support.probe import Subject

    subject = Subject(sample, _ROWS, _COLUMNS)
    if {"u", "v", "w", "c"}.issuperset(subject.names) and name not in _TABLES:
        subject.args = [np.resize(arg, _ELEMENTS) if np.ndim(arg) else arg for arg in subject.args]
        subject.data["n"] = np.resize(subject.data["n"], _ELEMENTS)

    def results(args: Any) -> list[Any]:
        return [out for out in subject.outs(args) if isinstance(out, tape.Var) and out.node.is_active]

    try:
        outs, pullback = tape.vjp(lambda *args: results(args), *subject.args)
    except tape.errors.TapeError:
        return None
    if not outs:
        return None
    seeds = [np.ones(out.shape, out.dtype) for out in outs]
    forward: dict[str, Callable[[], Call]] = {
        "forward": lambda: lambda: _arrays(subject.outs(subject.args)),
        "reverse": lambda: lambda: _arrays(pullback(seeds)),
    }
    reference = {key: make() for key, make in forward.items()}
    return Case(name, forward, reference=reference, baseline="forward", is_large=True)


def _arrays(results: Any) -> list[Any]:
    return [np.asarray(out) for out in results if np.asarray(out).dtype.kind in "fc"]
