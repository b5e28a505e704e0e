"""From statements to steps: a walk over Python's syntax tree that compiles arithmetic and refuses the rest.

The result is a straight line over numbered slots, as a tape is: a variable, a number, or a function of
earlier slots fills the next slot. Relies on `scan` for the text that may reach Python's parser, and on
`functions` for what names mean.
"""

from __future__ import annotations

import ast
import cmath
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from tape.errors import ExpressionError, near
from tape.expressions.functions import CONSTANTS, FUNCTIONS, Function
from tape.expressions.scan import Place, Statement, refuse, statements

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "power",
    ast.MatMult: "matmul",
    ast.BitAnd: "logical_and",
    ast.BitOr: "logical_or",
}
_LOGICAL = {ast.BitAnd: "&", ast.BitOr: "|"}
_UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "negative",
    ast.UAdd: "positive",
    ast.Not: "logical_not",
    ast.Invert: "logical_not",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}


_LARGEST_INTEGER = 100  # more digits, or higher orders, make no sense and may take for ever


class Step(NamedTuple):
    """The content of one slot: a variable, a number, or a function of earlier slots."""

    function: str | None
    operands: tuple[int, ...]
    leaf: str | float | complex | None  # of a variable its name, of a number its value
    place: Place


class Parsed(NamedTuple):
    """An expression as a straight line.

    Attributes
    ----------
    steps : list of Step
        Each after its operands; step ``k`` fills slot ``k``.
    result : int
        The slot of the value.
    assigned : dict of str to int
        The slot of each name that the text assigns to.
    """

    steps: list[Step]
    result: int
    assigned: dict[str, int]


def parse(text: str, functions: Mapping[str, Function] = FUNCTIONS) -> Parsed:
    """Compile an expression to steps.

    Parameters
    ----------
    text : str
        Lines end with ``\\n``.
    functions : mapping of str to Function
        What it can call.

    Returns
    -------
    Parsed

    Raises
    ------
    ExpressionError
        Where the text is no expression.

    Examples
    --------
    >>> from tape.expressions.parse import parse
    >>> parsed = parse("y = sin(x); x * y")
    >>> for step in parsed.steps:
    ...     print(step.function or step.leaf, step.operands)
    x ()
    sin (0,)
    multiply (0, 1)
    >>> parsed.assigned
    {'y': 1}
    """
    lines = statements(text)
    for line in lines[:-1]:
        if line.target is None:
            reason = "nothing uses this value: give it a name, y = ...; the last line is the result"
            refuse(reason, text, line.place)
    writer = _Writer(text, functions)
    for line in lines:
        result = writer.run(line)
    return Parsed(writer.steps, result, writer.assigned)


class _Writer:
    """The steps so far, and the slot of every name."""

    def __init__(self, text: str, functions: Mapping[str, Function] = FUNCTIONS) -> None:
        self.text = text
        self.functions = functions
        self.lines = text.split("\n")
        self.steps: list[Step] = []
        self.variables: dict[str, int] = {}
        self.assigned: dict[str, int] = {}
        self.called: set[str] = functions.keys() - FUNCTIONS.keys()  # what can be no variable
        self.statement = Statement(None, "", Place(1, 1, 1), Place(1, 1, 1))

    def run(self, statement: Statement) -> int:
        """Append the steps of one statement, and return the slot of its value."""
        self.statement = statement
        try:
            # In parentheses Python's parser takes line breaks; those in the source match.
            tree = ast.parse(f"({statement.source})", mode="eval").body
            slot = self.value(tree)
        except ExpressionError:
            raise
        except SyntaxError as error:
            self.refuse_syntax(error)
        except (RecursionError, MemoryError):
            reason = "nested too deep for Python's parser: give parts a name on a line of their own"
            refuse(reason, self.text, statement.place)
        if statement.target is not None:
            self.assign(statement.target, slot)
        return slot

    def value(self, node: ast.expr) -> int:
        """Append the steps of one node of the tree, and return the slot of its value."""
        match node:
            case ast.BinOp():
                return self.binary(node)
            case ast.Call():
                return self.call(node)
            case ast.Name():
                return self.name(node)
            case ast.Constant():
                return self.number(node)
            case ast.UnaryOp(op=op, operand=operand):
                slot = self.value(operand)
                if isinstance(op, ast.Invert):
                    self.check_boolean(slot, node, "~", "not")
                return self.step(_UNARY[type(op)], (slot,), node)
            case ast.BoolOp(op=joint, values=values):
                name = "logical_and" if isinstance(joint, ast.And) else "logical_or"
                slot = self.value(values[0])
                for part in values[1:]:
                    slot = self.step(name, (slot, self.value(part)), node)
                return slot
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                chosen, condition, other = self.value(body), self.value(test), self.value(orelse)
                return self.step("where", (condition, chosen, other), node)
            case _:
                return self.refuse(f"{type(node).__name__} has no place in an expression", node)

    def binary(self, node: ast.BinOp) -> int:
        """Append a chain of operators; long sums nest to the left, and are walked without recursion."""
        chain = [node]
        while isinstance(left := chain[-1].left, ast.BinOp):
            chain.append(left)
        slot = self.value(chain[-1].left)
        for part in reversed(chain):
            other = self.value(part.right)
            if (symbol := _LOGICAL.get(type(part.op))) is not None:
                for operand in (slot, other):
                    self.check_boolean(operand, part, symbol, "and" if symbol == "&" else "or")
            if type(part.op) not in _BINARY:
                self.refuse(f"{type(part.op).__name__} has no place in an expression", part)
            slot = self.step(_BINARY[type(part.op)], (slot, other), part)
        return slot

    def compare(self, node: ast.Compare) -> int:
        """Append comparisons: ``a < b < c`` is ``a < b and b < c``."""
        slot, left = None, self.value(node.left)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            if type(op) not in _COMPARISONS:
                self.refuse(f"{type(op).__name__} has no place in an expression", node)
            right = self.value(comparator)
            link = self.step(_COMPARISONS[type(op)], (left, right), node)
            slot = link if slot is None else self.step("logical_and", (slot, link), node)
            left = right
        return left if slot is None else slot

    def call(self, node: ast.Call) -> int:
        if not isinstance(node.func, ast.Name):
            self.refuse("only functions can be called", node)
        name = node.func.id
        function = self.functions.get(name)
        if name in CONSTANTS or name in self.variables or name in self.assigned:
            kind = "constant" if name in CONSTANTS else "variable"
            advice = "choose another name for it" if function else f"write {name}*(...) for a product"
            self.refuse(f"{name} is a {kind} here, and cannot be called: {advice}", node.func)
        if function is None:
            hint = near(name, self.functions) or f". If it is a variable, write {name}*(...)"
            self.refuse(f"there is no function {name}{hint}", node.func)
        self.called.add(name)
        count = len(node.args)
        if not function.least <= count <= function.most:
            self.refuse(f"{name} takes {_arguments(function)}, not {count}", node)
        operands = [self.value(argument) for argument in node.args]
        for position in function.integers:
            if position < count:
                self.make_integer(name, operands[position], node.args[position])
        return self.step(name, tuple(operands), node)

    def make_integer(self, name: str, slot: int, node: ast.expr) -> None:
        """Replace the float in a slot by an int, for arguments that must be literals."""
        limit = _LARGEST_INTEGER
        if not isinstance(node, ast.Constant) or not isinstance(node.value, int) or node.value > limit:
            self.refuse(f"this argument of {name} must be a literal integer, up to {limit}", node)
        self.steps[slot] = self.steps[slot]._replace(leaf=node.value)

    def name(self, node: ast.Name) -> int:
        name = node.id
        if name in self.assigned:
            return self.assigned[name]
        if name in self.variables:
            return self.variables[name]
        if name in CONSTANTS:
            return self.leaf(CONSTANTS[name], node)
        if name in self.called:
            self.refuse(f"{name} is a function here, and cannot be a variable: choose another name", node)
        slot = self.variables[name] = self.leaf(name, node)
        return slot

    def number(self, node: ast.Constant) -> int:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, (int, float, complex)):
            self.refuse("only numbers can be literals", node)
        try:
            number = value if isinstance(value, complex) else float(value)
        except OverflowError:
            number = cmath.inf
        if not cmath.isfinite(number):
            self.refuse("this number is too large for a float: write inf for infinity", node)
        return self.leaf(number, node)

    def assign(self, name: str, slot: int) -> None:
        place = self.statement.target_place
        if name in CONSTANTS:
            refuse(f"{name} is a constant: choose another name", self.text, place)
        if name in self.called:
            refuse(f"{name} is a function here: choose another name", self.text, place)
        if name in self.variables:
            at = self.steps[self.variables[name]].place
            reason = f"{name} is used in line {at.line} before it is given a value"
            refuse(f"{reason}: swap them, or choose another name", self.text, place)
        self.assigned[name] = slot

    def check_boolean(self, slot: int, node: ast.expr, symbol: str, word: str) -> None:
        """Refuse operands of ``&``, ``|`` and ``~`` that are numbers: these bind tighter than comparisons."""
        function = self.steps[slot].function
        if function is None or not self.functions[function].is_boolean:
            example = "~(a > 0)" if symbol == "~" else f"(a > 0) {symbol} (b > 0)"
            self.refuse(f"{symbol} is for comparisons in parentheses, {example}: write {word}", node)

    def leaf(self, leaf: str | float | complex, node: ast.expr) -> int:
        self.steps.append(Step(None, (), leaf, self.place(node)))
        return len(self.steps) - 1

    def step(self, function: str, operands: tuple[int, ...], node: ast.expr) -> int:
        self.steps.append(Step(function, operands, None, self.place(node)))
        return len(self.steps) - 1

    def place(self, node: ast.expr) -> Place:
        """Return the place of a node in the text; of several lines, that in the first."""
        line, column = self.in_text(node.lineno, node.col_offset)
        if node.end_lineno == node.lineno and node.end_col_offset is not None:
            return Place(line, column, node.end_col_offset - node.col_offset)
        return Place(line, column, max(1, len(self.lines[line - 1]) - column + 1))

    def in_text(self, lineno: int, offset: int) -> tuple[int, int]:
        """Convert a line and offset in the parenthesized source to a line, and a column counted from 1."""
        first = self.statement.place
        return first.line + lineno - 1, offset + (first.column - 1 if lineno == 1 else 1)

    def refuse_syntax(self, error: SyntaxError) -> NoReturn:
        """Raise for what only Python's parser finds, such as an if without else."""
        line, column = self.in_text(error.lineno or 1, (error.offset or 1) - 1)
        line = min(line, len(self.lines))
        column = min(max(column, 1), max(len(self.lines[line - 1]), 1))
        refuse(f"Python cannot read this: {error.msg.split(';')[0]}", self.text, Place(line, column, 1))

    def refuse(self, reason: str, node: ast.expr) -> NoReturn:
        refuse(reason, self.text, self.place(node))


def _arguments(function: Function) -> str:
    if function.least != function.most:
        return f"{function.least} to {function.most} arguments"
    return "1 argument" if function.least == 1 else f"{function.least} arguments"
