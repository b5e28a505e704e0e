"""Programs that compute the same otherwise: sums in another order or of more digits, zeros of the other sign.

What such a change makes of an eager result tells rounding, and signs that are not laid down, from mistakes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tape.core.node import Handle
from tests.random_programs.programs import Program, Statement

__all__ = ["OTHERWISE", "summed_otherwise", "with_zeros_turned"]

ORDERS = {
    "backwards": lambda n: np.arange(n)[::-1],
    "even ones first": lambda n: np.argsort(np.arange(n) % 2, kind="stable"),
}
"""In which terms are added."""

PRODUCTS = ("matmul", "einsum", "dot", "vdot", "inner", "outer", "kron", "convolve", "correlate", "tensordot")
"""Functions of NumPy that may be rounded once for a product and a sum, so that no product overflows."""


class _Replacing(ast.NodeTransformer):
    """Calls of functions, and products of matrices as such calls, replaced by others."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return self.replaced("np.matmul", [node.left, node.right], []) or node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return self.replaced(ast.unparse(node.func), node.args, node.keywords) or node

    def replaced(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr | None:
        """What stands in for a call; None if it stays."""
        raise NotImplementedError


class _Reordering(_Replacing):
    """Sums and products, as calls of functions that add in another order."""

    def __init__(self, order: str) -> None:
        self.order = order

    def replaced(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr | None:
        if name not in _FUNCTIONS:
            return None
        return ast.Call(ast.Name(_FUNCTIONS[name], ast.Load()), [ast.Constant(self.order), *args], keywords)


class _Extending(_Replacing):
    """Products, as calls of a function that computes with more digits and a larger range."""

    def replaced(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr | None:
        if name.removeprefix("np.") not in PRODUCTS:
            return None
        function = ast.parse(name, mode="eval").body
        return ast.Call(ast.Name("extended", ast.Load()), [function, *args], keywords)


def summed_otherwise(program: Program) -> Iterator[Any]:
    """The code of a program that adds in another order, or with more digits."""
    for way in (*map(_Reordering, ORDERS), _Extending()):
        tree = ast.fix_missing_locations(way.visit(ast.parse(program.source)))
        yield compile(tree, f"<program {program.seed}, summed otherwise>", "exec")


def _extended(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a function of arrays, in long doubles where these are plain."""
    out = function(*args, **kwargs)
    arrays = [x for x in args if isinstance(x, np.ndarray)]
    if any(isinstance(x, Handle) for x in args) or np.result_type(out, *arrays).kind not in "fc":
        return out
    wide = [x.astype(np.result_type(x, np.longdouble)) if any(x is y for y in arrays) else x for x in args]
    return np.asarray(function(*wide, **kwargs)).astype(out.dtype)[()]


def _product_of(order: str, a: Any, b: Any) -> Any:
    """``a @ b``."""
    if not np.ndim(a) or not np.ndim(b):
        return a @ b
    taken = ORDERS[order](np.shape(a)[-1])
    return a[..., taken] @ (b[taken] if np.ndim(b) == 1 else b[..., taken, :])


def _linear(order: str, x: Any, weight: Any, bias: Any) -> Any:
    """``tape.nn.linear``."""
    return _product_of(order, x, np.transpose(weight)) + bias


def _sum_of(order: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.sum``, by the first axis in another order."""
    is_array = np.ndim(x) > 0 and not isinstance(x, (list, tuple)) and not kwargs.keys() & {"where", "out"}
    return np.sum(x[ORDERS[order](len(x))] if is_array else x, *args, **kwargs)


def with_zeros_turned(program: Program) -> Iterator[Any]:
    """The code of a program in which zeros of one statement, and of all of them, have the other sign."""
    statements = program.statements
    for turned in [{k} for k in range(len(statements))] + [{*range(len(statements))}]:
        parts = []
        for k, one in enumerate(statements):
            parts += [one, Statement(one.new, one.kind, _TURN.format(one.new), False)][: 1 + (k in turned)]
        source = replace(program, statements=tuple(parts)).source
        yield compile(source, f"<program {program.seed}, zeros turned>", "exec")


_TURN = "{{{0}}} = turned({{{0}}})"


def _turned(value: Any) -> Any:
    """A value whose zeros have the other sign."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(_turned, value))
    if isinstance(value, (np.ndarray, np.inexact, float)) and np.asarray(value).dtype.kind == "f":
        return np.where(np.equal(value, 0), np.negative(value), value) if np.ndim(value) else value or -value
    return value


_FUNCTIONS = {"np.matmul": "product_of", "np.sum": "sum_of", "tape.nn.linear": "linear_of"}
OTHERWISE = {
    "product_of": _product_of,
    "sum_of": _sum_of,
    "linear_of": _linear,
    "extended": _extended,
    "turned": _turned,
}
"""The functions that such programs call, by name."""
