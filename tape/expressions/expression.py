"""`Expression`: the function that a text stands for.

Relies on `parse` for its steps, and on `functions` for what they do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tape import errors
from tape.core.failures import NUMPY_ERRORS
from tape.core.node import Handle
from tape.core.operands import as_operand
from tape.core.sites import NOW, Text
from tape.core.var import Var
from tape.expressions.functions import FUNCTIONS, own_function
from tape.expressions.parse import Step, parse
from tape.expressions.scan import refuse
from tape.expressions.symbolic import from_sympy, to_sympy


class Expression:
    """A function written as text, made by `expression`.

    It is called with its variables, by position in order of first appearance or by name, each a number, an
    array or a Var; arrays broadcast. Called with Python numbers alone it returns a Python number.

    Attributes
    ----------
    text : str
        The text.
    variables : tuple of str
        The arguments, in order of first appearance.
    functions : dict of str to callable
        The functions of the user's that the text can call.
    steps : tuple of tape.expressions.parse.Step
        Variables, numbers, and functions of earlier steps.
    assigned : dict of str to int
        The step of each name that the text assigns to.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.expressions import expression
    >>> f = expression("sin(a) + 0.2*sin(b*a)")
    >>> f.variables
    ('a', 'b')
    >>> round(f(0.3, b=5), 4)
    0.495
    >>> tape.grad(f, argnums=1)(np.float32(0.5), np.float32(0.0))
    np.float32(0.1)
    """

    def __init__(self, text: str, functions: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self.text = text
        self.functions = dict(functions or {})
        own = {name: own_function(name, call) for name, call in self.functions.items()}
        self._source = text.replace("\r\n", "\n").replace("\r", "\n")
        steps, self._result, self.assigned = parse(self._source, FUNCTIONS | own)
        self._names = {slot: name for name, slot in self.assigned.items()}
        self.steps = tuple(steps)
        self.variables = tuple(step.leaf for step in steps if isinstance(step.leaf, str))
        self.__name__ = self.__qualname__ = "expression"
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in self.variables])
        self._slots: list[Any] = [None] * len(steps)  # the values of constant steps
        self._arguments = tuple(slot for slot, step in enumerate(steps) if isinstance(step.leaf, str))
        self._calls: list[tuple[int, Callable[..., Any], Step]] = []
        self._own = _Own(self.functions)
        self._prepare()
        spans = [(place.line, place.column - 1, place.column - 1 + place.width) for *_, place in steps]
        self._site = Text(self._source, "expression", spans)

    def _prepare(self) -> None:
        """Compute constants, as Python numbers, which do not widen float32; list the other calls."""
        constant: set[int] = set()
        for slot, step in enumerate(self.steps):
            if isinstance(step.leaf, str):
                continue
            if step.function is None:
                self._slots[slot] = step.leaf
                constant.add(slot)
            elif step.function in self.functions:  # which may return something else each time
                self._calls.append((slot, partial(self._own, step.function), step))
            elif constant.issuperset(step.operands):
                self._slots[slot] = self._constant(step)
                constant.add(slot)
            else:
                self._calls.append((slot, FUNCTIONS[step.function].call, step))

    def _constant(self, step: Step) -> Any:
        try:
            with np.errstate(all="ignore"):
                value = self._run(FUNCTIONS[str(step.function)].call, step, self._slots)
                number = np.asarray(value).item()
        except NUMPY_ERRORS as error:
            complaint = str(error).partition(" [at ")[0]
            refuse(f"this cannot be computed: {complaint}", self._source, step.place)
        return float(number) if type(number) is int else number

    def __call__(self, /, *positions: Any, **values: Any) -> Any:
        slots = self._slots.copy()
        arguments = self._bind(positions, values)
        for slot, value in zip(self._arguments, arguments, strict=True):
            slots[slot] = value
        is_watched = any(isinstance(x, Handle) and x.trace.watching is not None for x in arguments)
        outer = NOW.part
        try:
            for slot, function, step in self._calls:
                if is_watched:
                    NOW.part = (self._site, 2 * slot)
                value = slots[slot] = self._run(function, step, slots)
                if slot in self._names and isinstance(value, Var) and value.node.op is not None:
                    value.name = self._names[slot]
        finally:
            NOW.part = outer
        return _as_python(slots[self._result], arguments)

    def _run(self, function: Callable[..., Any], step: Step, slots: list[Any]) -> Any:
        try:
            return function(*[slots[k] for k in step.operands])
        except Exception as error:
            if isinstance(error, errors.TapeError) or step.function in self.functions:
                line = self._source.split("\n")[step.place.line - 1]
                shown = line[step.place.column - 1 : step.place.column - 1 + step.place.width]
                place = f"line {step.place.line}, column {step.place.column}"
                error.add_note(f"in the expression, {place}: {shown}")
            raise

    def _bind(self, positions: tuple[Any, ...], values: dict[str, Any]) -> list[Any]:
        """Return the arguments in the order of the variables, integers as floats."""
        names = self.variables
        if len(positions) > len(names):
            what = f"{self!r} takes {len(names)} values, not {len(positions)}"
            raise errors.OptionError(f"{what}. Its variables: {_listed(names)}")
        given = dict(zip(names, positions, strict=False))
        for name in values:
            if name in given:
                raise errors.OptionError(f"{self!r} got {name} twice, by position and by name. Give it once")
            if name not in names:
                hint = errors.near(name, names) or f". Its variables: {_listed(names)}"
                raise errors.OptionError(f"{self!r} has no variable {name}{hint}")
        given |= values
        if missing := [name for name in names if name not in given]:
            advice = f"Give all of {_listed(names)}, by position or by name"
            raise errors.OptionError(f"{self!r} needs a value for {_listed(missing)}. {advice}")
        return [_operand(given[name]) for name in names]

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        functions = f", functions={{{', '.join(map(repr, self.functions))}}}" if self.functions else ""
        return f"expression({text!r}{functions})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self.text == other.text and self.functions == other.functions

    def __hash__(self) -> int:
        return hash((Expression, self.text, frozenset(self.functions)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression, (self.text, self.functions)

    def to_sympy(self) -> Any:
        """Convert to an expression of SymPy's: variables become symbols, the user's functions undefined ones.

        Returns
        -------
        sympy.Expr

        Raises
        ------
        UnsupportedError
            If SymPy has no counterpart for a function, such as those of matrices, or is not installed.

        Examples
        --------
        >>> import pytest; _ = pytest.importorskip("sympy")
        >>> from tape.expressions import expression
        >>> expression("log1p(x) / 2").to_sympy()
        log(x + 1)/2
        """
        return to_sympy(self.steps, self._result)

    @classmethod
    def from_sympy(cls, expr: Any) -> Expression:
        """Convert an expression of SymPy's to a function of its symbols.

        Parameters
        ----------
        expr : sympy.Expr
            Or a number. The names of its symbols must be names of variables.

        Returns
        -------
        Expression
            Call it by names: the order of variables is that of SymPy's terms.

        Raises
        ------
        UnsupportedError
            If a function or a name has no counterpart here, or SymPy is not installed.

        Examples
        --------
        >>> import pytest; sympy = pytest.importorskip("sympy")
        >>> from tape.expressions import Expression
        >>> x = sympy.Symbol("x")
        >>> Expression.from_sympy(sympy.diff(sympy.tan(x)))
        expression('tan(x)**2 + 1')
        """
        return cls(from_sympy(expr))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _operand(value: Any) -> Any:
    """Convert an argument to an operand; a plain integer becomes a float."""
    try:
        return float(value) if type(value) in (int, bool) else as_operand(value)
    except OverflowError as error:
        raise errors.DTypeError("a number is too large for a float. Divide it, or give inf") from error


def _as_python(value: Any, operands: Iterable[Any]) -> Any:
    """Return a number computed from Python numbers as one, which does not widen float32."""
    is_number = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    if is_number and all(type(operand) in (float, complex, bool) for operand in operands):
        return value.item()
    return value


class _Own:
    """Functions of the user's, called by name.

    They are attributes of a callable, because there `tape.compile` looks for the functions that code reaches.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.__dict__.update(functions)

    def __call__(self, name: str, /, *operands: Any) -> Any:
        value = self.__dict__[name](*operands)
        try:
            return _as_python(value if type(value) is bool else _operand(value), operands)
        except errors.TapeError as error:
            raise errors.DTypeError(
                f"{name} returned {errors.describe(value)}. A function of an expression returns a number or "
                "an array"
            ) from error


def expression(text: str, functions: Mapping[str, Callable[..., Any]] | None = None) -> Expression:
    """Make a function from text, such as ``"sin(a) + 0.2*sin(5*a)"``.

    The text is read by Python's parser and never run by it: it becomes a list of operations, and can do
    nothing else. Errors show their place in the text. It may hold

    - numbers, which are floats, complex with ``j``; ``pi e tau euler_gamma inf nan``;
    - variables: any other name of ASCII letters, digits and ``_`` that begins with a letter;
    - ``+ - * / // % **`` and ``@``, the product of matrices;
    - ``== != < <= > >=``, also ``a < b < c``, element by element; ``and``, ``or`` and ``not`` of them, which
      return truth values of arrays too, and ``& | ~`` of comparisons in parentheses;
    - ``x if c else y``, which computes both and chooses element by element, as ``where(c, x, y)``;
    - calls of every elementwise function of `tape.ops`, `tape.ops.special` and `tape.ops.nn`, by name;
      ``max`` and ``min`` of an array or of several values; ``sum mean prod var std norm dot any all
      logsumexp`` over whole arrays; ``transpose trace det inv solve matmul``;
    - calls of your own ``functions``;
    - several lines, or statements separated by ``;``, each ``name = ...`` but the last, whose value is the
      result; lines go on in parentheses; comments after ``#``.

    Parameters
    ----------
    text : str
        At most 100,000 characters and 1,000 operators a statement, nested at most 100 deep. The cost of a
        call is bounded by the number of operations times the size of the broadcast arrays, or of the products
        of matrices, and by the cost of ``functions``.
    functions : mapping of str to callable, optional
        Functions that the text may call by these names, with one or more arguments by position: floats,
        arrays or Vars. They return a number or an array, and are written in NumPy calls or are operations of
        `tape`, so that they differentiate and compile like all else.

    Returns
    -------
    Expression
        A function of the variables in order of first appearance; names are keywords.

    Raises
    ------
    ExpressionError
        If the text is no expression; a SyntaxError with line and column.
    OptionError
        If a function has a name that is taken or cannot be written, is not callable, or takes no positional
        argument.
    DTypeError
        If ``text`` is not a str. When called: if an argument is no number or array, or a function returns
        something else.

    Notes
    -----
    Numbers follow IEEE arithmetic as NumPy does: ``1/0`` is inf, ``(-8)**(1/3)`` is nan.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.expressions import expression
    >>> f = expression("sin(a) + 0.2*sin(5*a)")
    >>> round(tape.grad(f)(0.3), 4)
    np.float64(1.0261)
    >>> smooth = expression('''
    ...     r = norm(x - center)
    ...     r**2 / 2 if r < 1 else r - 1/2
    ... ''')
    >>> float(smooth(np.array([3.0, 4.0]), center=0))
    4.5
    >>> bump = expression("a * gauss(x - 1)", functions={"gauss": lambda x: np.exp(-(x**2))})
    >>> round(tape.grad(bump, argnums=1)(2.0, 1.5), 4)
    np.float64(-1.5576)
    >>> expression("sni(a)")
    Traceback (most recent call last):
    tape.errors.ExpressionError: there is no function sni. Did you mean sin?
    """
    if not isinstance(text, str):
        raise errors.DTypeError(
            f"expression takes text, not {errors.describe(text)}. Write expression('x + 1')"
        )
    if not isinstance(functions, Mapping | None):
        raise errors.OptionError(
            f"functions maps names to functions, as in {{'f': f}}; it is {errors.describe(functions)}"
        )
    return Expression(text, functions)
