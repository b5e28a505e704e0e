"""Programs that round as NumPy does, to the last bit: what of a tape they compute themselves.

Arithmetic on single elements rounds one way only. Sums and products depend on the order of their additions,
and so on how operands lie in memory; so does which of two zeros is the largest element. They are computed by
NumPy's own loops, where a program has the operands as NumPy had them. Everything else is left to NumPy, in
callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Node

_ELEMENTWISE = """
    absolute add conjugate copysign divide equal fabs greater greater_equal isfinite isinf isnan less
    less_equal logical_and logical_not logical_or logical_xor maximum minimum multiply negative not_equal
    positive reciprocal sign signbit sqrt square subtract where cast astype count_nonzero
    minus_twice relu_partial sigmoid_bend sigmoid_partial tanh_partial
    concatenate stack getitem scatter cumsum backwards_cumsum add_along_axis
"""
_VIEWS = frozenset(["broadcast_to", "expand_dims", "reshape", "squeeze", "swapaxes", "transpose"])
_EXACT = frozenset([*_ELEMENTWISE.split(), *_VIEWS])
"""Operations that round one way only, or not at all."""
_FUNCTIONS = ("arctan", "cos", "exp", "expm1", "log", "log1p", "sin", "tan", "tanh")
"""Ufuncs whose loops round alike for all arrays in C order; single numbers a program computes itself."""


def is_exact(node: Node) -> bool:
    """Return whether a program computes a node to the last bit as NumPy does.

    Parameters
    ----------
    node : Node
        Recorded, with operands that a program has in the layout in which they were recorded.
    """
    assert node.op is not None
    name = node.op.name
    return name in _EXACT or (name in _CONDITIONS and _CONDITIONS[name](node))


def is_view(node: Node) -> bool:
    """Return whether the result of a node shares memory with its operand, in a program as in NumPy."""
    assert node.op is not None
    return node.op.name in _VIEWS or (node.op.name == "getitem" and len(node.inputs) == 2)


def require_order(node: Node) -> None:
    """Raise UnsupportedError if a program, which computes in C order, has a result in another than NumPy.

    Or if it is a power, which Python's operator rounds otherwise than `numpy.power`.
    """
    assert node.op is not None
    if not is_in_order(node.value):
        raise errors.UnsupportedError(f"the result of {node.op!r} is not in C order")
    if node.op.name == "power":
        raise errors.UnsupportedError("a power may be one of Python's operator")


def require_sums_in_order(node: Node, nodes: Sequence[Node]) -> None:
    """Raise UnsupportedError if a node of a sweep adds what the sweep would add one element after the other.

    It does so with values that were read by an array, several of them perhaps from one element.
    """
    assert node.op is not None
    if node.op.name == "add":
        for parent in node.parents:
            made = None if parent is None else nodes[parent]
            if (
                made is not None
                and made.op is not None
                and made.op.name == "scatter"
                and len(made.inputs) > 2
            ):
                raise errors.UnsupportedError("several values may be added to one element, in another order")


def is_in_order(x: Any) -> bool:
    """Return whether a value is a number, or an array in C order without gaps."""
    return not isinstance(x, np.ndarray) or x.flags.c_contiguous


def _is_matrix(x: Any) -> bool:
    """Return whether BLAS reads an operand as it is: a matrix or its transpose, or a stack of matrices."""
    if x.ndim == 2:
        return x.flags.c_contiguous or x.flags.f_contiguous
    return x.ndim == 3 and (x.flags.c_contiguous or x.swapaxes(1, 2).flags.c_contiguous)


# ---- operations that are exact on some operands ---------------------------------------------------------


def _reads_in_order(node: Node) -> bool:
    """Return whether the operand is in C order: also which of two zeros is the largest depends on that."""
    (x,) = node.operands
    return is_in_order(x)


def _reads_floats_in_order(node: Node) -> bool:
    return _reads_in_order(node) and node.operands[0].dtype.kind == "f"


def _reads_several_in_order(node: Node) -> bool:
    return _reads_in_order(node) and np.size(node.operands[0]) > 1


def _is_outer(node: Node) -> bool:
    """Return whether an einsum of two arrays of floats adds nothing up, and reads no diagonal."""
    inputs, _, result = node.attrs["subscripts"].partition("->")
    terms = inputs.split(",")
    return (
        len(terms) == 2
        and node.value.dtype.kind == "f"
        and all(len(set(term)) == len(term) and set(term) <= set(result) for term in terms)
    )


_CONDITIONS: dict[str, Callable[[Node], bool]] = {
    **dict.fromkeys(("max", "min", "sum", "sum_to"), _reads_in_order),
    **dict.fromkeys(_FUNCTIONS, _reads_several_in_order),
    "argsort": lambda node: bool(node.attrs["kind"] == "stable"),
    "einsum": _is_outer,
    "matmul": lambda node: all(map(_is_matrix, node.operands)),
    "mean": _reads_floats_in_order,
    "shares": lambda node: _reads_several_in_order(node) and _reads_floats_in_order(node),
}
