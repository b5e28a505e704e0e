"""Estimates of the floating-point operations of a node, from shapes.

One table by the name of the operation; operations that are not in it count one for each element of the
result. Only shapes and static arguments are read, never values. This file must never know traces, nor more
of an operation than its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2, prod
from typing import Any

import numpy as np

from tape.core.node import Node, plain

__all__ = ["flops"]

Shape = tuple[int, ...]
Rule = Callable[[Shape, Sequence[Shape], Mapping[str, Any]], float]
"""``rule(out, shapes, attrs)``: of the result, of the operands, and the static arguments."""


def flops(node: Node) -> int:
    """Return the floating-point operations of one node, forwards.

    Parameters
    ----------
    node : Node
        Of any trace.

    Returns
    -------
    int
        0 for leaves, and for operations that only move elements. For all others an estimate by the
        textbook count, with complex numbers counted as if they were real:

        - Elementwise operations take one for each element of the result, for a sum as for an exponential, a
          Bessel function or a fused GELU.
        - Products of matrices take 2 m n k, an einsum the same for each operand after the first, from
          left to right, and half of that where nothing is summed; convolutions two for each element of
          the result and of the kernel behind it.
        - Reductions take one for each element of the operand, a few if they need several passes (``var``
          four, ``softmax`` five); sorting n log2 n, a Fourier transform 5 n log2 n.
        - Factorizations take the counts of Golub and Van Loan, Matrix Computations (4th edition):
          n^3/3 for Cholesky, 2 n^3/3 for LU, 4 m n^2 - 4 n^3/3 for QR with Q, 9 n^3 for a symmetric
          eigendecomposition, 25 n^3 for a general one, 6 m n^2 + 20 n^3 for a thin singular value
          decomposition. Work that depends on the values (iterations, pivots) is not counted.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.inspect.costs import flops
    >>> tr = tape.Trace()
    >>> y = np.tanh(tr.param(np.ones((4, 3))) @ np.ones((3, 2))).sum()
    >>> [(node.op.name, flops(node)) for node in tr.nodes[1:]]
    [('matmul', 48), ('tanh', 8), ('sum', 8)]
    """
    op = node.call.op
    if op is None:
        return 0
    out = np.shape(plain(node.value))
    rule = _RULES.get(op.name)
    if rule is None:
        return prod(out)
    shapes = [np.shape(plain(operand)) for operand in node.inputs[1::2]]
    try:
        return int(rule(out, shapes, node.call.attrs))
    except (IndexError, KeyError, TypeError, ValueError):  # a user's operation with the name of another one
        return prod(out)


# ---- rules -------------------------------------------------------------------------------------------


def _passes(count: float, results: float = 0) -> Rule:
    """Return a rule that counts operations per element of the first operand and of the result."""
    return lambda out, shapes, attrs: count * prod(shapes[0]) + results * prod(out)


def _rows(count: float, per_row: float) -> Rule:
    """Return a rule that counts operations per element, and per row along the reduced axes."""

    def rule(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
        size, axes = prod(shapes[0]), attrs.get("axis")
        axes = range(len(shapes[0])) if axes is None else axes if isinstance(axes, tuple) else (axes,)
        length = prod([shapes[0][axis] for axis in axes])
        return count * size + per_row * (size // length if length else 0)

    return rule


def _sorting(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    axis = attrs.get("axis", -1)
    length = shapes[0][axis] if isinstance(axis, int) and shapes[0] else prod(shapes[0])
    return prod(shapes[0]) * log2(max(length, 1))


def _searching(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    """Count a binary search in the longest of the operands, for each element of the result."""
    return prod(out) * log2(max(2, *map(prod, shapes)))


def _product(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    return 2 * prod(out) * (shapes[0][-1] if shapes[0] else 1)


def _einsum(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    """Count products from left to right, each summed over the indices that no later operand has."""
    inputs, result = attrs["subscripts"].split("->")
    terms = inputs.split(",")
    lengths: dict[str, int] = {}
    for labels, shape in zip(terms, shapes, strict=True):
        for label, length in zip(labels, shape, strict=True):
            lengths[label] = max(length, lengths.get(label, 1)) if length else 0
    if len(terms) == 1:
        return prod(shapes[0]) if set(terms[0]) - set(result) else 0
    total, left = 0, set(terms[0])
    for k, labels in enumerate(terms[1:], start=1):
        left |= set(labels)
        kept = left & set(result).union(*terms[k + 1 :])
        total += (2 if left - kept else 1) * prod([lengths[label] for label in left])
        left = kept
    return total


def _convolution(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    """Count two for each pair of an element of the result and one of the kernel behind it."""
    return 2 * prod(out) * prod(shapes[1][1:])


def _convolution_by_weight(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    return 2 * prod(shapes[1]) * prod(out[1:])


def _pooling(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    return prod(out) * prod(attrs["window"])


def _pooling_by_input(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    return prod(shapes[0]) * prod(attrs["window"])


def _fourier(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    longer = max(out, shapes[0], key=prod)
    return 5 * prod(longer) * log2(max(longer[attrs["axis"]], 1))


def _matrices(count: Callable[[int, int], float]) -> Rule:
    """Return a rule that adds up ``count(long, short)`` over the matrices in the first operand."""

    def rule(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
        *batch, rows, columns = 1, 1, *shapes[0]  # a vector counts as a matrix
        return prod(batch) * count(max(rows, columns), min(rows, columns))

    return rule


def _solving(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    return 2 * prod(shapes[0]) * shapes[0][-1] // 3 + 2 * prod(out) * shapes[0][-1]


def _solving_by_substitution(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    return prod(out) * shapes[0][-1]


def _nothing(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    return 0


_MOVES = (
    "reshape", "transpose", "swapaxes", "expand_dims", "squeeze", "roll", "copy", "broadcast_to", "real",
    "imag", "of_parts", "fftshift", "ifftshift", "getitem", "take", "take_along_axis", "put_along_axis",
    "set_at", "concatenate", "stack", "diagonal", "embedded_diagonal", "resized", "pick", "place", "rows",
    "one_hot", "embedding", "unfold", "choose", "gathered", "beside", "stop_gradient", "matrix_power", "cond",
)  # fmt: skip
_UNPACKING = (
    "eigenvalues", "eigenvectors", "left_singular_vectors", "right_singular_vectors", "singular_values",
    "q of qr", "r of qr", "sign of slogdet", "logabsdet", "residuals", "rank",
)  # fmt: skip
"""Parts of the result of a factorization, which the node before has computed."""
_REDUCTIONS = (
    "sum", "prod", "max", "min", "all", "any", "argmax", "argmin", "count_nonzero", "sum_to", "fold",
    "nansum", "nanprod", "nanmax", "nanmin", "nanargmax", "nanargmin", "bincount", "histogram",
    "add_reduceat", "logaddexp_reduce", "scatter", "add_along_axis", "flatnonzero", "nonzero", "argwhere",
    "backwards_cumsum",
)  # fmt: skip
_SORTS = (
    "argsort", "argpartition", "lexsort", "unique", "intersect1d", "isin", "median", "quantile",
    "percentile", "nanmedian", "nanquantile", "nanpercentile",
)  # fmt: skip

_RULES: dict[str, Rule] = {
    **dict.fromkeys((*_MOVES, *_UNPACKING), _nothing),
    **dict.fromkeys(_REDUCTIONS, _passes(1)),
    **dict.fromkeys(_SORTS, _sorting),
    **dict.fromkeys(("searchsorted", "digitize", "interp", "interval"), _searching),
    "mean": _passes(1, 1),
    "nanmean": _passes(1, 1),
    "var": _passes(4, 2),
    "nanvar": _passes(4, 2),
    "std": _passes(4, 3),
    "nanstd": _passes(4, 3),
    "norm": _passes(2, 1),
    "softmax": _rows(5, 3),
    "log_softmax": _rows(5, 1),
    "logsumexp": _passes(4, 2),
    "standardized": _rows(5, 5),
    "rms_normalized": _rows(3, 3),
    **dict.fromkeys(
        ("softmax_cross_entropy_mean", "softmax_cross_entropy_sum", "softmax_cross_entropy_none"),
        _passes(4, 1),
    ),
    "add_at": lambda out, shapes, attrs: prod(shapes[1]),
    "matmul": _product,
    "dot": _product,
    "vecdot": _product,
    "einsum": _einsum,
    "cross": _passes(3),
    "convolve": lambda out, shapes, attrs: 2 * prod(shapes[0]) * prod(shapes[1]),
    "correlate": lambda out, shapes, attrs: 2 * prod(shapes[0]) * prod(shapes[1]),
    "polyval": lambda out, shapes, attrs: 2 * prod(out) * prod(shapes[0]),
    "conv": _convolution,
    "conv_input": lambda out, shapes, attrs: 2 * prod(shapes[0]) * prod(shapes[1][1:]),
    "conv_weight": _convolution_by_weight,
    "max_pool": _pooling,
    "sum_pool": _pooling,
    "max_pool_jvp": _pooling,
    "max_pool_vjp": _pooling_by_input,
    "sum_pool_vjp": _pooling_by_input,
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft"), _fourier),
    "solve": _solving,
    "solve_triangular": _solving_by_substitution,
    "inv": _matrices(lambda m, n: 8 * n**3 / 3),
    "cholesky": _matrices(lambda m, n: n**3 / 3),
    **dict.fromkeys(("det", "slogdet"), _matrices(lambda m, n: 2 * n**3 / 3)),
    "qr": _matrices(lambda m, n: 4 * m * n**2 - 4 * n**3 / 3),
    "eigh": _matrices(lambda m, n: 9 * n**3),
    "eigvalsh": _matrices(lambda m, n: 4 * n**3 / 3),
    "eig": _matrices(lambda m, n: 25 * n**3),
    "eigvals": _matrices(lambda m, n: 10 * n**3),
    **dict.fromkeys(("svdvals", "matrix_rank"), _matrices(lambda m, n: 2 * m * n**2 + 2 * n**3)),
    **dict.fromkeys(("svd", "lstsq", "pinv"), _matrices(lambda m, n: 6 * m * n**2 + 20 * n**3)),
    "expm": _matrices(lambda m, n: 16 * n**3),
}
