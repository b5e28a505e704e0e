"""Programs that compute the same otherwise: sums in another order, products and results rounded otherwise,
zeros of the other sign.

What such a change makes of an eager result tells rounding, and signs that are not laid down, from mistakes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import tape
from tape.core.node import Handle
from tests.random_programs.programs import Program, Statement

__all__ = [
    "OTHERWISE",
    "rounded_otherwise",
    "summed_otherwise",
    "with_results_as_they_are",
    "with_zeros_turned",
]

ORDERS = {
    "backwards": lambda n: np.arange(n)[::-1],
    "even ones first": lambda n: np.argsort(np.arange(n) % 2, kind="stable"),
}
"""In which terms are added."""

PRODUCTS = ("matmul", "einsum", "dot", "vdot", "inner", "outer", "kron", "convolve", "correlate", "tensordot")
"""Functions of NumPy that may round a product and its sum at once: then no product overflows."""


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


class _Computing(_Replacing):
    """Products, as calls of a function that computes with other numbers, in batches one after the other."""

    def __init__(self, numbers: str) -> None:
        self.numbers = numbers

    def replaced(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> ast.expr | None:
        if name == "tape.vmap" and len(args) == 1 and not keywords:
            return ast.Call(ast.Name("one_by_one", ast.Load()), args, keywords)
        if name.removeprefix("np.") not in PRODUCTS:
            return None
        function = ast.parse(name, mode="eval").body
        return ast.Call(ast.Name(self.numbers, ast.Load()), [function, *args], keywords)


def summed_otherwise(program: Program) -> Iterator[Any]:
    """The code of a program that adds in another order, with more digits, or rounds each product."""
    for way in (*map(_Reordering, ORDERS), _Computing("extended"), _Computing("separate")):
        tree = ast.fix_missing_locations(way.visit(ast.parse(program.source)))
        yield compile(tree, f"<program {program.seed}, summed otherwise>", "exec")


def _extended(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a function of arrays, in long doubles where these are plain."""
    return _computed(lambda x: x.astype(np.result_type(x, np.longdouble)), function, *args, **kwargs)


def _separate(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a function of arrays, in Python's numbers, each product and each sum rounded."""
    return _computed(lambda x: x.astype(object), function, *args, **kwargs)


def _computed(convert: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a function of arrays that are converted, if these are plain."""
    out = function(*args, **kwargs)
    arrays = [x for x in args if isinstance(x, np.ndarray)]
    if any(isinstance(x, Handle) for x in args) or np.result_type(out, *arrays).kind not in "fc":
        return out
    converted = [convert(x) if any(x is y for y in arrays) else x for x in args]
    return np.asarray(function(*converted, **kwargs)).astype(out.dtype)[()]


def _one_by_one(f: Any) -> Any:
    """``tape.vmap`` of a function of one array, whose products are of plain arrays where that is plain."""

    def each(x: Any) -> Any:
        if not len(x):
            return tape.vmap(f)(x)
        return tape.tree.map(lambda *rows: np.stack(rows), *[f(row) for row in x])

    return each


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
    every = range(len(program.statements))
    for turned in [{k} for k in every] + [{*every}]:
        yield _with_results("turned", program, turned)


def rounded_otherwise(program: Program) -> Iterator[Any]:
    """The code of a program in which the result of each statement is moved by its rounding.

    Results are other arrays then, so that this tells nothing where a statement writes to what another one
    has made: `with_results_as_they_are` says whether it does. What solvers return is exact to some limit
    only, also at zero.
    """
    for salt in range(1, 9):
        yield _with_results("rounded", program, salt=salt)


def with_results_as_they_are(program: Program) -> Any:
    """The code of a program in which the result of each statement is copied."""
    return _with_results("rounded", program, salt=0)


_SOLVERS = re.compile(r"tape\.(root|fixed_point)\(")


def _with_results(change: str, program: Program, changed: Container[int] | None = None, **given: Any) -> Any:
    """The code of a program that changes the results of statements, of all of them if none are given."""
    parts: list[Statement] = []
    for k, one in enumerate(program.statements):
        parts.append(one)
        if changed is None or k in changed:
            options = {**given, "digits": 15} if _SOLVERS.search(one.text) and given else given
            arguments = "".join(f", {name}={value}" for name, value in options.items())
            text = f"{{{one.new}}} = {change}({{{one.new}}}{arguments})"
            parts.append(Statement(one.new, one.kind, text, False))
    source = replace(program, statements=tuple(parts)).source
    return compile(source, f"<program {program.seed}, {change}>", "exec")


def _turned(value: Any) -> Any:
    """A value whose zeros have the other sign."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(_turned, value))
    if isinstance(value, (np.ndarray, np.inexact, float)) and np.asarray(value).dtype.kind == "f":
        return np.where(np.equal(value, 0), np.negative(value), value) if np.ndim(value) else value or -value
    return value


def _rounded(value: Any, salt: int, digits: int | None = None) -> Any:
    """A value moved by some roundings, and to so many digits if given; a copy of it if ``salt`` is 0."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_rounded(part, salt, digits) for part in value)
    if (
        not isinstance(value, (np.ndarray, np.inexact, float, Handle))
        or np.result_type(value).kind not in "fc"
    ):
        return value
    info = np.finfo(np.result_type(value))
    signs = np.random.default_rng([salt, np.size(value)]).choice([-1.0, 1.0], np.shape(value))
    moved = value * (1 + salt * info.eps * signs).astype(info.dtype)[()]
    fixed = tape.stop_gradient(moved)
    return moved + (np.round(fixed, digits) - fixed) if digits and salt else moved


_FUNCTIONS = {"np.matmul": "product_of", "np.sum": "sum_of", "tape.nn.linear": "linear_of"}
OTHERWISE = {
    "product_of": _product_of,
    "sum_of": _sum_of,
    "linear_of": _linear,
    "extended": _extended,
    "separate": _separate,
    "one_by_one": _one_by_one,
    "turned": _turned,
    "rounded": _rounded,
}
"""The functions that such programs call, by name."""
