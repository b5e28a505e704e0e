"""Programs that round as NumPy does, to the last bit: what of a tape they compute themselves.

Arithmetic on single elements rounds one way only. Sums and products depend on the order of their additions,
and so on how operands lie in memory: they are computed by NumPy's own loops, where a program has the operands
as NumPy had them. Everything else is left to NumPy, in callbacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Node

__all__ = ["is_exact", "require_order"]

_ELEMENTWISE = """
    absolute add conjugate copysign divide equal fabs greater greater_equal isfinite isinf isnan less less_equal
    logical_and logical_not logical_or logical_xor maximum minimum multiply negative not_equal positive
    reciprocal sign signbit sqrt square subtract tanh_partial where cast astype count_nonzero
    concatenate stack getitem scatter
"""
_VIEWS = frozenset("broadcast_to expand_dims reshape squeeze swapaxes transpose".split())
_EXACT = frozenset([*_ELEMENTWISE.split(), *_VIEWS])
"""Operations that round one way only, or not at all."""
_SUMS = frozenset({"sum", "sum_to"})


def is_exact(node: Node) -> bool:
    """Return whether a program computes a node to the last bit as NumPy does.

    Parameters
    ----------
    node : Node
        Recorded, with operands that a program has in the layout in which they were recorded.
    """
    assert node.op is not None
    name = node.op.name
    if name in _EXACT:
        return True
    if name in _SUMS:
        (x,) = node.operands
        return _is_in_order(x)
    if name == "matmul":
        return all(map(_is_matrix, node.operands))
    return False


def require_order(node: Node, parents: Sequence[Node]) -> None:
    """Raise UnsupportedError if a program has numbers in another order than NumPy, or adds them so.

    A program has results in C order, and views of them with the strides that NumPy's have. A sweep adds values
    that were read by an array to an adjoint one after the other, where several are of one element.
    """
    assert node.op is not None
    if node.op.name == "add" and any(
        parent.op is not None and parent.op.name == "scatter" and len(parent.inputs) > 2 for parent in parents
    ):
        raise errors.UnsupportedError("several values may be added to one element, in another order")
    if not _is_in_order(node.value) and node.op.name not in _VIEWS and node.op.name != "getitem":
        raise errors.UnsupportedError(f"the result of {node.op!r} is not in C order")


def _is_in_order(x: Any) -> bool:
    return not isinstance(x, np.ndarray) or x.flags.c_contiguous


def _is_matrix(x: Any) -> bool:
    """Return whether BLAS reads an operand as it is: a matrix or its transpose, or a stack of matrices."""
    if x.ndim == 2:
        return x.flags.c_contiguous or x.flags.f_contiguous
    return x.ndim == 3 and (x.flags.c_contiguous or x.swapaxes(1, 2).flags.c_contiguous)
