"""Interpreters: who processes an operation, and the stack of those that are open on a thread.

An operation with Vars among its operands is processed by the innermost `Interpreter` (`innermost`): a `Trace`
records it, a batch runs its batch rule, and an `Interceptor`, open in a ``with`` block, is asked first about
operations on Vars from outside of the block. Without one the operation just computes. `tape.core.op.bind` is
the one place that asks.

Each interpreter has a level, deeper than those of the interpreters around it. Nothing here knows of
operations, traces or arrays.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tape import errors
from tape.core.node import Handle

if TYPE_CHECKING:
    from tape.core.op import Op

_levels = count(1024, 1024)  # between them is room for traces that are nested without being opened

OPEN: list[Any] = []
"""Interceptors and program recorders open on any thread. While it is empty, nearly always, nobody looks."""


class _Stack(threading.local):
    def __init__(self) -> None:
        self.interpreters: list[Any] = []


_stack = _Stack()


class Interpreter:
    """Something that processes operations.

    Attributes
    ----------
    level : int
        Nesting depth: the deepest interpreter among the operands processes an operation.
    is_batch : bool
        Whether its Vars stand for several values each.
    is_program : bool
        Whether it records a program: nothing on it is differentiated.
    is_plain : bool
        Whether to process an operation is to compute it and to append a node, so that the recorders that
        `tape.core.record` generates may do it.
    is_mapped : bool
        Whether its batches are the examples of `tape.vmap`, of which each draws random numbers of its own.
    """

    __slots__ = ()

    level: int
    is_batch: ClassVar[bool] = False
    is_program: ClassVar[bool] = False
    is_plain: bool = False
    is_mapped: bool = False

    def process(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Return the result of an operation, of which one operand at least belongs to this interpreter."""
        raise NotImplementedError


class Nested(Interpreter):
    """An interpreter that is nested in those around it, and in those whose Vars are its leaves."""

    __slots__ = ("_is_enclosing", "level", "stack")

    stack: list[Any]  # while it is open: that of the thread that opened it

    def __init__(self) -> None:
        self.level = 0
        self._is_enclosing = False
        around = innermost_open()
        if around is not None:
            self._nest_in(around, around.level + 1)

    def __enter__(self) -> Self:
        if is_open(self):
            raise errors.TraceMismatchError(f"{self!r} is open already. Open another Trace inside it")
        around = innermost_open()
        if around is None and not self._is_enclosing:
            self.level = next_level()
        elif around is not None and (self.level <= around.level or not self._is_enclosing):
            self._nest_in(around, next_level())
        push(self)
        return self

    def __exit__(self, kind: object = None, error: object = None, *_: object) -> None:
        pop(self)
        errors.raise_hidden(error)

    def nest_in(self, outer: Any) -> None:
        """Make this deeper than an interpreter that has Vars among its leaves."""
        if self.level <= outer.level:
            self._nest_in(outer, outer.level + 1)
        else:
            outer._is_enclosing = True

    def _nest_in(self, outer: Any, level: int) -> None:
        """Make this deeper than another one, unless others have been nested in it as it is."""
        if self._is_enclosing:
            raise errors.TraceMismatchError(
                f"{self!r} cannot be nested in {outer!r}: other traces are nested in it at its present "
                "depth. Open a trace, or make its leaves, before nesting others in it"
            )
        self.level = level
        if isinstance(outer, Nested):
            outer._is_enclosing = True


class Interceptor(Interpreter):
    """An interpreter that is open in a block, and processes operations on Vars from outside of it."""

    stack: list[Any]  # of the thread that opened it
    is_busy = False
    computes_plainly = False  # whether no program records the plain arrays of the code inside
    is_constant = False  # whether results have no derivative
    sees_batches = False  # whether it is asked about operations on batches from outside, too

    def __enter__(self) -> Any:
        self.level = next_level()
        push(self)
        OPEN.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        OPEN.remove(self)
        pop(self)

    def process(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Return the result of an operation on Vars from outside.

        An interceptor is asked once: operations inside of the operation, for instance on the values of
        outer traces, pass by it.
        """
        self.is_busy = True
        try:
            return self.intercept(op, operands, attrs)
        finally:
            self.is_busy = False

    def intercept(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Return what the code inside gets in place of ``op(*operands, **attrs)``."""
        raise NotImplementedError

    def resolve(self, var: Any) -> Any:
        """Map a Var from outside to its value inside."""
        return var

    def check_write(self, var: Any) -> None:
        """Check that the code inside may write to a Var.

        Raises
        ------
        InPlaceError
            If it may not.
        """


# ---- which one -------------------------------------------------------------------------------------


def innermost(operands: Sequence[Any]) -> Any:
    """Return the interpreter that processes an operation, given operands of which one is a Var.

    Raises
    ------
    TraceMismatchError
        If operands belong to two interpreters of one level.
    TraceDroppedError
        If the trace of an operand is gone.
    """
    if OPEN and (over := _innermost_while_open(operands)) is not None:
        return over
    owner: Any = None
    gone: Any = None
    for operand in operands:
        if not isinstance(operand, Handle) or (owner is not None and operand.trace_ref is owner.ref):
            continue
        trace = operand.trace_ref()
        if trace is None:
            if OPEN and interceptor(-1):
                gone = operand  # a busy interceptor further out has another Var in its place
                continue
            trace = operand.trace  # raises
        if owner is None or trace.level > owner.level:
            owner = trace
        elif trace.level == owner.level:
            raise errors.TraceMismatchError(
                f"Vars of two unrelated traces met: {owner!r} and {trace!r}, both at level {owner.level}. "
                "Use one trace; or nest them, opening the inner one with `with tape.Trace() as inner:` "
                "inside the other's, or making its params from the other's Vars"
            )
    return gone.trace if owner is None else owner


def _innermost_while_open(operands: Sequence[Any]) -> Any:
    """Return an interceptor that comes before the owners of these operands, or else the deepest of these.

    None if there is neither: if the trace of an operand is gone, or two are of one level.
    """
    found: Any = None
    level, is_batched, is_clear = -1, False, True  # the level of a trace which is gone: one may replace it
    for operand in operands:
        if isinstance(operand, Handle) and (found is None or operand.trace_ref is not found.ref):
            trace = operand.trace_ref()
            if trace is None or trace.level == level:
                is_clear = False
                continue
            is_batched = is_batched or trace.is_batch
            if trace.level > level:
                found, level = trace, trace.level
    over = interceptor(level, of_batches=is_batched)
    return over if over is not None or not is_clear else found


def interceptor(level: int, *, of_batches: bool = False) -> Interceptor | None:
    """Return the innermost interceptor of this thread that is deeper than a level, and not busy.

    With ``of_batches`` it is one that sees batches.
    """
    for interpreter in reversed(_stack.interpreters):
        if interpreter.level <= level:
            return None
        if isinstance(interpreter, Interceptor) and not interpreter.is_busy:
            if of_batches and not interpreter.sees_batches:
                continue
            return interpreter
    return None


def is_intercepted() -> bool:
    """Whether an interceptor or a program recorder is open on this very thread."""
    return any(interpreter in OPEN for interpreter in _stack.interpreters)


def resolve(leaf: Any) -> Any:
    """Map a Var to its value inside the innermost interceptor; other leaves are returned as they are."""
    if OPEN and isinstance(leaf, Handle):
        trace = leaf.trace_ref()
        over = interceptor(-1 if trace is None else trace.level)
        return leaf if over is None else over.resolve(leaf)
    return leaf


def lift(value: Any) -> Any:
    """Return a plain value as a Var of the program that is being recorded on this thread, if one is.

    What is computed with it is then recorded as well: nothing derived from an array that the function closes
    over is frozen.
    """
    if OPEN and not isinstance(value, Handle):
        program = recorder()
        if program is not None:
            return program.constant(value)
    return value


def recorder() -> Any | None:
    """Return the program recorder that records the plain arrays of this thread, if there is one."""
    for interpreter in reversed(_stack.interpreters):
        if isinstance(interpreter, Interceptor):
            if interpreter.computes_plainly:
                return None
        elif interpreter in OPEN:
            return None if interpreter.is_computing else interpreter
    return None


# ---- the stack -------------------------------------------------------------------------------------


def innermost_open() -> Any | None:
    """Return the innermost interpreter that is open on this thread."""
    return _stack.interpreters[-1] if _stack.interpreters else None


def opened() -> list[Any]:
    """Return the interpreters that are open on this thread, the innermost last."""
    return _stack.interpreters


def is_open(interpreter: Any) -> bool:
    """Whether an interpreter is open on this thread."""
    return any(opened is interpreter for opened in _stack.interpreters)


def next_level() -> int:
    """Return the level of an interpreter about to be opened: deeper than every one there is, open or not."""
    return next(_levels)


def push(interpreter: Any) -> None:
    """Open an interpreter on this thread."""
    interpreter.stack = _stack.interpreters
    interpreter.stack.append(interpreter)


def pop(interpreter: Any) -> None:
    """Close an interpreter, wherever it is: another thread may end the generator that had opened it."""
    interpreters = _stack.interpreters
    for i in reversed(range(len(interpreters))):
        if interpreters[i] is interpreter:
            del interpreters[i]
            return
    with suppress(AttributeError, ValueError):  # it was never opened, or is closed already
        interpreter.stack.remove(interpreter)  # in one step, as that thread goes on meanwhile
