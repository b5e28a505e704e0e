"""Programs that compute the same otherwise: sums in another order, zeros of the other sign.

What such a change makes of an eager result tells rounding, and signs that are not laid down, from mistakes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.random_programs.programs import Program, Statement

__all__ = ["ORDERS", "OTHERWISE", "reordered", "with_zeros_turned"]

ORDERS = {
    "backwards": lambda n: np.arange(n)[::-1],
    "even ones first": lambda n: np.argsort(np.arange(n) % 2, kind="stable"),
}
"""In which terms are added."""


class _Reordering(ast.NodeTransformer):
    """Sums and products of matrices, as calls of the functions below."""

    def __init__(self, order: str) -> None:
        self.order = order

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return self._called("product_of", [node.left, node.right], [])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = _FUNCTIONS.get(ast.unparse(node.func))
        return node if function is None else self._called(function, node.args, node.keywords)

    def _called(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr:
        return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(self.order), *args], keywords)


def reordered(program: Program, order: str) -> Any:
    """The code of a program that adds in another order."""
    tree = ast.fix_missing_locations(_Reordering(order).visit(ast.parse(program.source)))
    return compile(tree, f"<program {program.seed}, {order}>", "exec")


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


_FUNCTIONS = {"np.sum": "sum_of", "tape.nn.linear": "linear_of"}
OTHERWISE = {"product_of": _product_of, "sum_of": _sum_of, "linear_of": _linear, "turned": _turned}
"""The functions that such programs call, by name."""
