"""Dispatch: which interpreter processes an operation.

It is the innermost one among those of its operands (`innermost`); an `Interceptor`, open in a ``with`` block,
is asked first about operations on Vars from outside of the block. Without one the operation just computes.
`tape.core.op.bind` asks; recorders (`tape.core.record`) repeat its test for the common case, and fall back
to it. Nothing here knows of operations, traces or arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from threading import get_ident
from typing import TYPE_CHECKING, Any

from tape import errors
from tape.core.interpreter import BLOCKS, OPEN, Interpreter, next_level, pop, push
from tape.core.node import Handle

if TYPE_CHECKING:
    from tape.core.op import Op


class Interceptor(Interpreter):
    """An interpreter that is open in a block, and processes operations on Vars from outside of it."""

    block: Any = None  # while it is open: the one it was opened for last
    is_interceptor = True
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

    @contextmanager
    def passed_by(self) -> Iterator[None]:
        """Let operations in a block pass by it, to the interpreters around."""
        was_busy, self.is_busy = self.is_busy, True
        try:
            yield
        finally:
            self.is_busy = was_busy

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


def in_bodies(operands: Sequence[Any]) -> Sequence[Any]:
    """Map Vars from outside of bodies of loops that are recorded here to inputs of these bodies.

    An operation on Vars from outside would otherwise be one for all steps, and its rule be applied to the sum
    of their adjoints.
    """
    traces = [x.trace_ref() for x in operands if isinstance(x, Handle)]
    deepest = max([trace.level for trace in traces if trace is not None], default=inf)
    thread = get_ident()
    for block in BLOCKS.get():
        body = block.interpreter
        if body is not None and body.is_body and block.thread == thread and body.level > deepest:
            operands = [body.own(x) if isinstance(x, Handle) else x for x in operands]
            deepest = body.level
    return operands


def interceptor(level: int, *, of_batches: bool = False) -> Interceptor | None:
    """Return the innermost interceptor open here that is deeper than a level, and not busy.

    With ``of_batches`` it is one that sees batches.
    """
    blocks = BLOCKS.get()
    if not blocks or blocks[-1].intercepted <= level:  # nearly always
        return None
    thread = get_ident()
    for block in reversed(blocks):
        interpreter = block.interpreter
        if interpreter is None or block.thread != thread:
            continue
        if interpreter.level <= level:
            return None
        if interpreter.is_interceptor and not interpreter.is_busy:
            if of_batches and not interpreter.sees_batches:
                continue
            return interpreter
    return None


def is_intercepted() -> bool:
    """Whether an interceptor or a program recorder is open in this very context."""
    thread = get_ident()
    return any(block.interpreter in OPEN and block.thread == thread for block in BLOCKS.get())


def resolve(leaf: Any) -> Any:
    """Map a Var to its value inside the innermost interceptor; other leaves are returned as they are."""
    if OPEN and isinstance(leaf, Handle):
        trace = leaf.trace_ref()
        over = interceptor(-1 if trace is None else trace.level)
        return leaf if over is None else over.resolve(leaf)
    return leaf


def lift(value: Any, below: float = inf) -> Any:
    """Return a plain value as a Var of the program that is being recorded here, if one is.

    What is computed with it is then recorded as well: nothing derived from an array that the function closes
    over is frozen. Of programs nested in each other it is the innermost one below a level.
    """
    if OPEN and not isinstance(value, Handle):
        program = recorder(below)
        if program is not None:
            return program.constant(value)
    return value


def need_numbers(from_now_on: bool = False) -> None:
    """End the recording of a program here if it has left loops for later: it is recorded with them.

    Where numbers are needed from now on, it leaves none.
    """
    if OPEN and (program := recorder()) is not None:
        program.need_numbers()
        program.postpones = program.postpones and not from_now_on


def recorder(below: float = inf) -> Any | None:
    """Return the program recorder that records the plain arrays of the code here, if there is one.

    Of several it is the innermost one, or the innermost one below a level.
    """
    thread = get_ident()
    for block in reversed(BLOCKS.get()):
        interpreter = block.interpreter
        if interpreter is None or block.thread != thread:
            continue
        if interpreter.is_interceptor:
            if interpreter.computes_plainly:
                return None
        elif interpreter.level < below and interpreter in OPEN:
            return None if interpreter.is_computing else interpreter
    return None
