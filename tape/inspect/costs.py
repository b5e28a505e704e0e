"""Costs: estimates of the floating-point operations of a node, from shapes.

An operation declares its cost beside its rules, in the file of its family. One without a declared cost
takes one floating-point operation for each element of its result. Only shapes and static arguments are read,
never values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2, prod
from typing import Any

import numpy as np

from tape.core.node import Node, plain

Shape = tuple[int, ...]
Rule = Callable[[Shape, Sequence[Shape], Mapping[str, Any]], float]
"""``rule(out, shapes, attrs)``: the shapes of the result and of the operands, and the static arguments."""

_RULES: dict[Callable[..., Any], Rule] = {}
"""Declared costs, by forward function: that is the same for an operation without its derivative rules."""


def declare_cost(rule: Rule, *operations: Any) -> None:
    """Declare the cost of operations.

    Parameters
    ----------
    rule : callable
        ``rule(out, shapes, attrs)``: the number of floating-point operations, given the shape of the result,
        those of the operands, and the static arguments.
    *operations : Op or callable
        Operations, or functions that have one as their attribute ``op``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.inspect.costs import declare_cost, flops, passes
    >>> cube = tape.Op(lambda x: x * x * x, name="cube", vjp=[lambda g, out, x: 3 * g * x * x])
    >>> declare_cost(passes(2), cube)
    >>> tr = tape.Trace()
    >>> flops(cube(tr.param(np.ones(5))).node)
    10
    """
    for operation in operations:
        _RULES[getattr(operation, "op", operation).forward] = rule


def flops(node: Node) -> int:
    """Return the floating-point operations of one node, forwards.

    Parameters
    ----------
    node : Node
        A node of any trace.

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
    rule = _rule_of(op.forward)
    if rule is None:
        return prod(out)
    return int(rule(out, [np.shape(plain(operand)) for operand in node.inputs[1::2]], node.call.attrs))


def _rule_of(forward: Callable[..., Any]) -> Rule | None:
    try:
        return _RULES.get(forward)
    except TypeError:  # a user's callable that cannot be hashed
        return None


# ---- rules that several families share -----------------------------------------------------------------


def free(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    """The cost of operations that only move elements, or unpack a result: 0."""
    return 0


def passes(count: float, results: float = 0) -> Rule:
    """Return the rule: ``count`` for each element of the first operand, ``results`` for each result."""
    return lambda out, shapes, attrs: count * prod(shapes[0]) + results * prod(out)


def per_row(count: float, per_row: float) -> Rule:
    """Return the rule: ``count`` for each element, ``per_row`` for each row along the attribute ``axis``."""

    def rule(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
        size, axes = prod(shapes[0]), attrs.get("axis")
        axes = range(len(shapes[0])) if axes is None else axes if isinstance(axes, tuple) else (axes,)
        length = prod([shapes[0][axis] for axis in axes])
        return count * size + per_row * (size // length if length else 0)

    return rule


def sorting(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    """The cost of sorting along an axis: n log2 n."""
    axis = attrs.get("axis", -1)
    length = shapes[0][axis] if isinstance(axis, int) and shapes[0] else prod(shapes[0])
    return prod(shapes[0]) * log2(max(length, 1))


def searching(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    """The cost of a binary search in the longest operand, for each element of the result."""
    return prod(out) * log2(max(2, *map(prod, shapes)))


def matrix_products(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
    """The cost of products that sum over the last axis of the first operand: 2 m n k."""
    return 2 * prod(out) * (shapes[0][-1] if shapes[0] else 1)


def per_matrix(count: Callable[[int, int], float]) -> Rule:
    """Return the rule: ``count(long, short)`` by the sides of each matrix in the first operand."""

    def rule(out: Shape, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> float:
        *batch, n, m = 1, 1, *shapes[0]  # a vector counts as a matrix
        return prod(batch) * count(max(n, m), min(n, m))

    return rule
