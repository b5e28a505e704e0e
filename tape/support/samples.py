"""The arguments and data that the names in sample calls stand for.

Operations declare their samples in the files of their families, by `tape.inspect.samples`; those of functions
without an operation are here, and those of ufuncs that are called as most of them are.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np

import tape.ops.late  # noqa: F401  # it declares samples, too
from tape.core.table import OPERATIONS
from tape.inspect.samples import SAMPLES, declare_samples
from tape.ops import special
from tape.ops.elementwise.scipy_ufuncs import DECLARED


def arguments(rows: int = 3, columns: int = 4) -> dict[str, Any]:
    """Return the differentiated arguments by name: matrices, vectors, square matrices and a number."""
    rng = np.random.default_rng(5)
    square = rng.uniform(-1, 1, (rows, rows)) / rows
    x = 0.3137 + 0.6 / (rows * columns) * rng.permutation(rows * columns).reshape(rows, columns)
    return {
        "x": x,  # between 0.3 and 0.92, none alike, none at a round number
        "y": x[::-1, ::-1] + 0.02,
        "u": rng.uniform(0.2, 0.8, rows),
        "v": rng.uniform(0.2, 0.8, columns),
        "w": rng.uniform(0.2, 0.8, rows),
        "s": square + np.eye(rows),
        "g": square + np.diag(np.arange(1.0, rows + 1)),  # with real eigenvalues, far apart
        "h": square + square.T + np.diag(np.arange(2.0, rows + 2)),  # symmetric, positive definite
        "c": np.float64(0.6),
    }


def data(rows: int = 3, columns: int = 4) -> dict[str, Any]:
    """Return the other names in samples, with what they stand for."""
    rng = np.random.default_rng(6)
    return {
        "np": np,
        "io": io,
        "mask": rng.uniform(size=(rows, columns)) < 0.7,
        "chosen": np.array([0, 2, 2]),
        "columns": rng.integers(0, columns, (rows, 2)),
        "n": rng.integers(1, 4, rows),
    }


# Answered from values and shapes, without an operation.
declare_samples(
    "np.allclose, np.array_equal, np.array_equiv, np.common_type, np.may_share_memory, np.result_type(x, y)",
    "np.array2string, np.array_repr, np.array_str, np.iscomplexobj, np.isrealobj, np.ndim, np.shape(x)",
    "np.can_cast(x.dtype, np.float32)",
    "np.diag_indices_from, np.tril_indices_from, np.triu_indices_from(s)",
    'np.einsum_path("ij,j", x, v)',
    "np.min_scalar_type(c)",
    "np.save, np.savez, np.savez_compressed(io.BytesIO(), x)",
    "np.savetxt(io.StringIO(), x)",
    "np.shares_memory(x, y)",
    "np.size(x)",
)


def _ufunc_samples() -> Iterator[str]:
    """Yield a call of each ufunc without a sample of its own: with numbers where it has no derivative."""
    declared = {getattr(np, name.removeprefix("np."), None) for name in SAMPLES}
    for ufunc in OPERATIONS:
        if isinstance(ufunc, np.ufunc) and ufunc not in declared and ufunc in vars(np).values():
            yield f"np.{ufunc.__name__}({', '.join('xv'[: ufunc.nin])})"
    for name, function in DECLARED.items():
        if name in special.__all__ and not {f"scipy.special.{name}", f"tape.ops.special.{name}"} & {*SAMPLES}:
            numbers, arrays = cycle(("1.5", "2.5")), cycle("xv")
            arguments = [next(arrays if rule else numbers) for rule in function.op.vjp or [True]]
            yield f"scipy.special.{name}({', '.join(arguments)})"


declare_samples(*_ufunc_samples())
