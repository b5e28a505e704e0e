"""The mutants of a source: one small change each, that a reader could have made by mistake.

A change is a splice of the text, so that a mutant is its own diff and lines keep their numbers. What is left
alone, since no test is meant to see it: docstrings, type hints, messages of errors and warnings, `assert`s,
``__all__`` and ``__slots__``, imports, caches and what only type checkers read.
"""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from dataclasses import dataclass

__all__ = ["Mutant", "mutants_of"]

_NEGATED: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_BOUNDARY: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: r"is", ast.IsNot: r"is\s+not", ast.In: r"in", ast.NotIn: r"not\s+in",
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "//"), ast.Pow: ("**", "*"), ast.MatMult: ("@", "*"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}  # fmt: skip
_MESSAGES = frozenset({"warn", "print", "refuse", "Flaw", "add_note", "cast", "TypeVar", "ParamSpec"})
"""Functions whose arguments are words for people or for type checkers."""
_HARMLESS_KEYWORDS = frozenset({"strict", "flush", "slots", "frozen", "maxsize", "name", "doc"})
"""What changes no result: checks of zip, what makes things fast, and names of operations in listings."""
_COMMUTATIVE = frozenset(
    {"max", "min", "maximum", "minimum", "logical_and", "logical_or", "promote_types", "result_type"}
)
_NAMES_AND_TYPES = frozenset({"isinstance", "hasattr", "getattr"})
_CACHES = frozenset({"cache", "lru_cache", "dataclass", "overload", "cached_property", "property", "wraps"})
_FOR_TOOLS = frozenset({"__all__", "__slots__", "__version__", "__match_args__"})


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes
    ----------
    path : str
        The file, relative to the root of the repository.
    start, end : int
        Which bytes of it are replaced.
    text : str
        By what; it has as many line ends.
    kind : str
        Of change.
    line, last_line : int
        Of what is changed, from 1.
    statement : tuple of int
        The first and the last line of the statement around it (of a compound one: of its head).
    """

    path: str
    start: int
    end: int
    text: str
    kind: str
    line: int
    last_line: int
    statement: tuple[int, int]

    def applied(self, source: str) -> str:
        """The source with this change."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()

    def compiles(self, source: str) -> bool:
        """Whether the change makes sense to Python, without a warning."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                compile(self.applied(source), self.path, "exec")
        except SyntaxError:  # which a SyntaxWarning becomes
            return False
        return True

    def diff(self, source: str) -> str:
        """The change, as `git apply` takes it."""
        return "".join(
            difflib.unified_diff(
                source.splitlines(True),
                self.applied(source).splitlines(True),
                f"a/{self.path}",
                f"b/{self.path}",
                n=1,
            )
        )


def mutants_of(path: str, source: str) -> list[Mutant]:
    """All mutants of a source, in its order.

    Parameters
    ----------
    path : str
        What the mutants say that it is called.
    source : str
        Python.

    Returns
    -------
    list of Mutant
    """
    finder = _Finder(path, source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda mutant: (mutant.start, mutant.end, mutant.text))


def _name(node: ast.AST) -> str:
    """The last part of a name; empty of anything else."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Finder(ast.NodeVisitor):
    """Walks over a source and collects its mutants."""

    def __init__(self, path: str, source: str) -> None:
        self.found: list[Mutant] = []
        self._path = path
        self._data = source.encode()
        self._lines = [0]
        for line in self._data.splitlines(True):
            self._lines.append(self._lines[-1] + len(line))
        self._statement = (1, 1)
        self._depth = 0

    # ---- where things are ------------------------------------------------------------------------

    def _start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self._data[self._start(node) : self._end(node)].decode()

    def _add(self, kind: str, start: int, end: int, text: str) -> None:
        """Note a mutant; lines that its text lacks are added to it, in front of a closing bracket if any."""
        before = self._data[start:end].decode()
        lacking = before.count("\n") - text.count("\n")
        if lacking > 0:
            text = f"{text[:-1]}{chr(10) * lacking})" if text.endswith(")") else text + "\n" * lacking
        line = self._data.count(b"\n", 0, start) + 1
        self.found.append(
            Mutant(self._path, start, end, text, kind, line, line + before.count("\n"), self._statement)
        )

    def _replace(self, kind: str, node: ast.expr | ast.stmt, text: str) -> None:
        self._add(kind, self._start(node), self._end(node), text)

    def _between(self, kind: str, left: ast.expr, right: ast.expr, pattern: str, text: str) -> None:
        """Replace what stands between two operands; comments there are passed over."""
        start, end = self._end(left), self._start(right)
        for match in re.finditer(rf"#[^\n]*|({pattern})", self._data[start:end].decode()):
            if match.group(1):
                self._add(kind, start + match.start(), start + match.end(), text)
                return

    # ---- what is left alone ----------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        """Dispatch; statements are noted on the way."""
        if not isinstance(node, ast.stmt):
            super().visit(node)
            return
        outer = self._statement
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno
        assert last is not None
        self._statement = (node.lineno, max(last, node.lineno))
        super().visit(node)
        self._statement = outer

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            if _name(decorator) not in _CACHES:
                self.visit(decorator)
        if any(_name(decorator) == "overload" for decorator in node.decorator_list):
            return
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._depth += 1
        for statement in node.body:
            self.visit(statement)
        self._depth -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Of a declaration only the value."""
        if node.value is not None and _name(node.target) not in _FOR_TOOLS:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Not of tables for tools, nor of aliases of types."""
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        alias = self._depth == 0 and (
            isinstance(node.value, ast.Subscript)
            or (isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr))
        )
        if not names & _FOR_TOOLS and not alias:
            self.generic_visit(node)

    def _nothing(self, node: ast.AST) -> None:
        """Imports, assertions for the type checker, text with values in it."""

    visit_Import = visit_ImportFrom = visit_Assert = visit_JoinedStr = visit_Global = _nothing
    visit_Nonlocal = visit_Delete = _nothing

    # ---- statements ------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> None:
        """Always, and never."""
        if _name(node.test) == "TYPE_CHECKING" or "__name__" in self._text(node.test):
            return
        self._condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """Never: always would not end."""
        self._condition(node.test, always=False)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Always, and never."""
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Conditions that are always met."""
        for test in node.ifs:
            self._replace("condition", test, "(True)")
        self.generic_visit(node)

    def _condition(self, test: ast.expr, *, always: bool = True) -> None:
        if isinstance(test, ast.Constant):
            return
        if always:
            self._replace("condition", test, "(True)")
        self._replace("condition", test, "(False)")

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call that is not made; docstrings and ellipses are none."""
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call):
            self._replace("statement", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Another operator, and none."""
        old, new = _ARITHMETIC[type(node.op)]
        self._between("arithmetic", node.target, node.value, re.escape(old) + "=", new + "=")
        self._replace("statement", node, "pass")
        self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        """Nothing is returned."""
        if node.value is None:
            self._replace("statement", node, "pass")
        elif not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._replace("return", node.value, "(None)")
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Nothing is raised; what is said is left alone."""
        self._replace("statement", node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        """The loop goes on."""
        self._replace("statement", node, "pass")

    visit_Continue = visit_Break

    # ---- expressions -----------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        """The opposite, and with or without the boundary."""
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
            for table in (_NEGATED, _BOUNDARY):
                if type(op) in table:
                    self._between("comparison", left, right, _COMPARISONS[type(op)], table[type(op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """The other connective, and without each operand."""
        old, new, neutral = ("and", "or", "True") if isinstance(node.op, ast.And) else ("or", "and", "False")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between("connective", left, right, rf"\b{old}\b", new)
        for value in node.values:
            self._replace("operand", value, f"({neutral})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Without it."""
        start = self._start(node)
        prefix = re.match(r"not\s+|-\s*|~\s*|not(?=\()", self._data[start : self._end(node)].decode())
        if prefix:
            self._add("unary", start, start + prefix.end(), "")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Another operator, and the left operand alone."""
        operands = (node.left, node.right)
        if not any(map(self._is_text, operands)):
            old, new = _ARITHMETIC[type(node.op)]
            self._between("arithmetic", *operands, re.escape(old), new)
            self._replace("operand", node, f"({self._text(node.left)})")
        self.generic_visit(node)

    @staticmethod
    def _is_text(node: ast.expr) -> bool:
        return isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        )

    def _is_message(self, node: ast.expr) -> bool:
        return self._is_text(node) and " " in self._text(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """The next number, the other bool, a string without its last character."""
        value = node.value
        if isinstance(value, bool):
            self._replace("constant", node, f"({not value})")
        elif isinstance(value, int | float):
            self._replace("constant", node, f"({value + 1!r})")
        elif isinstance(value, str) and value and " " not in value:
            self._replace("constant", node, f"({value[:-1]!r})")

    def visit_Call(self, node: ast.Call) -> None:
        """Without the function, without a keyword argument, with the first two arguments swapped."""
        name = _name(node.func)
        if name in _MESSAGES:
            return
        args = node.args
        if not any(isinstance(arg, ast.Starred | ast.GeneratorExp) or self._is_message(arg) for arg in args):
            if len(args) == 1 and not node.keywords:
                self._replace("call", node, f"({self._text(args[0])})")
            if len(args) >= 2 and name not in _COMMUTATIVE | _NAMES_AND_TYPES:
                self._swap(args[0], args[1])
        for keyword in node.keywords:
            if keyword.arg not in _HARMLESS_KEYWORDS:
                if keyword.arg is not None:
                    self._drop(node, keyword)
                self.visit(keyword.value)
        for part in (node.func, *args):
            self.visit(part)

    def _swap(self, first: ast.expr, second: ast.expr) -> None:
        """One argument in the place of another; those in brackets of their own stay."""
        between = self._data[self._end(first) : self._start(second)].decode()
        if self._text(first) != self._text(second) and set(between) <= set(", \n"):
            text = f"{self._text(second)}{between}{self._text(first)}"
            self._add("arguments", self._start(first), self._end(second), text)

    def _drop(self, call: ast.Call, keyword: ast.keyword) -> None:
        """A call without a keyword argument, and without the comma behind it."""
        start, end = self._start(keyword), self._end(keyword)
        behind = re.match(r"\s*, *", self._data[end : self._end(call)].decode())
        self._add("keyword", start, end + (behind.end() if behind else 0), "")
