"""Interpreters, which process operations: their nesting, and the stack of those that are open.

A `Trace` records an operation, a batch runs its batch rule. `tape.core.dispatch` finds the one that processes
an operation, and has those that are asked before all others.

Each interpreter has a level, deeper than those of the interpreters around it. The stack belongs to the
context (`contextvars`), so that a task of asyncio which awaits inside of a ``with`` block leaves the other
tasks alone; and to the thread, also where a thread runs in the context of another one. Nothing here knows of
operations, traces or arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from itertools import count
from threading import get_ident
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tape import errors

if TYPE_CHECKING:
    from tape.core.op import Op

_levels = count(1024, 1024)  # between them is room for traces that are nested without being opened

OPEN: list[Any] = []
"""Interceptors and program recorders that are open on any thread; `opened` has all interpreters of this one.

While it is empty, nearly always, fast paths do not look for any.
"""


class Block:
    """A block of code in which an interpreter is open; None when it is over.

    It knows that itself: a generator may be ended in another context than it was begun in.

    Attributes
    ----------
    interpreter, thread
        What is open, and where.
    intercepted : int
        No interceptor that is open here, or in the blocks around, has a deeper level; -1 if there is none.
    """

    __slots__ = ("intercepted", "interpreter", "thread")

    def __init__(self, interpreter: Any, around: Block | None) -> None:
        self.interpreter = interpreter
        self.thread = get_ident()
        self.intercepted: int = -1 if around is None else around.intercepted
        if interpreter.is_interceptor:
            self.intercepted = max(self.intercepted, interpreter.level)


BLOCKS: ContextVar[tuple[Block, ...]] = ContextVar("open interpreters", default=())
"""The blocks that code of this context is in, the innermost last; some may be over, or of another thread."""


class Interpreter:
    """Something that processes operations.

    To add one that records, derive it from `tape.core.recording.Recording`, set ``is_plain`` to False and
    replace `process` (as `tape.program.record.recorder` does); one that gives operations another meaning for
    Vars of its own, from `Nested` (`tape.interpreters.batching`); one that processes operations on the Vars
    of others, from `tape.core.dispatch.Interceptor` (`tape.interpreters.capturing`). Vars find an interpreter
    by its weak reference, ``ref``; writing in place looks at ``views`` of those that record.

    Attributes
    ----------
    level : int
        Nesting depth: the deepest interpreter among the operands processes an operation.
    is_batch : bool
        Whether its Vars stand for several values each.
    is_program : bool
        Whether it records a program: nothing on it is differentiated.
    is_body : bool
        Whether it records the body of a loop, for all steps.
    is_interceptor : bool
        Whether it processes operations on Vars from outside while it is open.
    is_plain : bool
        Whether to process an operation is to compute it and to append a node, so that the recorders that
        `tape.core.record` generates may do it.
    is_deferring : bool
        Whether nodes may be recorded later than their operations are called.
    is_mapped : bool
        Whether its batches are the examples of `tape.vmap`, of which each draws random numbers of its own.
    needs_numbers : bool
        Whether code that runs inside may look at numbers: then a program that is being recorded around has to
        run the loops that it has left for later, see `tape.program.record.postponed`.
    watching : Watching or None
        What is told about each node.
    """

    __slots__ = ()

    level: int
    is_batch: ClassVar[bool] = False
    is_program: ClassVar[bool] = False
    is_body: ClassVar[bool] = False
    is_interceptor: ClassVar[bool] = False
    is_plain: bool = False
    is_deferring: ClassVar[bool] = False
    is_mapped: bool = False
    needs_numbers: ClassVar[bool] = True
    watching: Any = None

    def process(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Return the result of an operation, of which one operand at least belongs to this interpreter."""
        raise NotImplementedError

    def catch_up(self) -> None:
        """Record what has been deferred; called before another interpreter is opened inside."""

    def need_numbers(self) -> None:
        """End a recording that lacks numbers; called before one that may look at them is opened inside."""


class Nested(Interpreter):
    """An interpreter that is nested in those around it, and in those whose Vars are its leaves."""

    __slots__ = ("_is_enclosing", "block", "level")

    block: Block | None  # while it is open: the one it was opened for last

    def __init__(self) -> None:
        self.level = 0
        self.block = None
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
        try:
            if error is None:
                self.catch_up()
            elif isinstance(error, Exception):  # whose handler may look at Vars
                with suppress(Exception):
                    self.catch_up()
        finally:
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


# ---- the stack -------------------------------------------------------------------------------------


def innermost_open() -> Any | None:
    """Return the innermost interpreter that is open here."""
    interpreters = opened()
    return interpreters[-1] if interpreters else None


def opened() -> Sequence[Any]:
    """Return the interpreters that are open here, in this context and on this thread, the innermost last."""
    blocks = BLOCKS.get()
    if not blocks:
        return ()
    thread = get_ident()
    return [one for block in blocks if (one := block.interpreter) is not None and block.thread == thread]


def is_open(interpreter: Any) -> bool:
    """Whether an interpreter is open here."""
    return any(one is interpreter for one in opened())


def next_level() -> int:
    """Return the level of an interpreter about to be opened: deeper than every one there is, open or not."""
    return next(_levels)


def push(interpreter: Any) -> None:
    """Open an interpreter here."""
    blocks = BLOCKS.get()
    if (around := innermost_open()) is not None:
        around.catch_up()
    if OPEN and interpreter.needs_numbers:
        for one in opened():
            one.need_numbers()
    interpreter.block = block = Block(interpreter, blocks[-1] if blocks else None)
    BLOCKS.set((*blocks, block))


def pop(interpreter: Any) -> None:
    """Close an interpreter, also if another thread or task ends the generator that opened it."""
    blocks = BLOCKS.get()
    block = next((one for one in reversed(blocks) if one.interpreter is interpreter), None)
    if block is None:
        block = interpreter.block
    if block is not None:  # else it was never opened
        block.interpreter = interpreter.block = None
        BLOCKS.set(tuple(one for one in blocks if one.interpreter is not None))
