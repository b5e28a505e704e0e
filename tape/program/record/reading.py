"""`Number`: a number that int arguments which are data decide, and what it is to read it.

Where Python reads such an int itself, `IntRead` ends the recording. What it reads of a comparison, a
remainder or a quotient is a guard. After the recording it is a number like any other.
"""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from tape import ops
from tape.core.dispatch import resolve
from tape.core.interpreter import OPEN
from tape.core.weak import exact

LIMIT = 2**31
"""Ints from this magnitude on are static. Products of two smaller ones fit in 64 bits without a guard."""

_MOST_GUARDS = 64
"""Number of guards from which on a function is taken to search for the int, or to count up to it."""


class IntRead(BaseException):
    """Raised where Python reads an int that was to be data: no function is to take it for its own error.

    Parameters
    ----------
    leaves : frozenset of int
        The positions of the ints among the leaves of the arguments.
    """

    def __init__(self, leaves: frozenset[int]) -> None:
        super().__init__(leaves)
        self.leaves = leaves


class Number:
    """A number that is computed from int arguments alone, as Python code sees it: `Proxy` computes with it.

    Parameters
    ----------
    var : Traced
        What stands for it on the tape.
    leaves : frozenset of int
        Which leaves of the arguments it is computed from.
    bound : int
        Of an int: no call has one of a larger magnitude.
    is_whole : bool
        Whether other arguments make another number, as far as one can tell.
    """

    __slots__ = ("bound", "is_whole", "leaves", "var")

    def __init__(self, var: Any, leaves: frozenset[int], bound: int = 0, is_whole: bool = True) -> None:
        self.var = var
        self.leaves = leaves
        self.bound = bound
        self.is_whole = is_whole

    @property
    def number(self) -> Any:
        """The number in this call, for those who do not make the program depend on it."""
        return exact(self.var.node.value)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # which isinstance asks
        return type(self.number)

    # ---- reading -----------------------------------------------------------------------------------

    def is_recorded(self) -> bool:
        """Return whether operations on this are recorded; afterwards it is a plain number."""
        recorder = self.var.trace_ref()
        if recorder is None or recorder not in OPEN:
            return False
        if recorder.is_computing or resolve(self.var) is not self.var:
            refuse(self)  # in a function that is no part of the tape
        return True

    def read(self) -> Any:
        """Return the number, which becomes a guard, or ends the recording."""
        if not self.is_recorded():
            return self.number
        if self.is_whole or not isinstance(self.number, int):
            refuse(self)
        holds(True, self)
        return self.var.trace.read(self.var, "int")

    def __bool__(self) -> bool:
        return holds(self.var != 0, self) if self.is_recorded() else bool(self.number)

    def __index__(self) -> int:
        return operator.index(self.read())

    def __int__(self) -> int:
        return int(self.read())

    def __float__(self) -> float:
        return float(self.read())

    def __complex__(self) -> complex:
        return complex(self.read())

    def __hash__(self) -> int:
        return hash(self.read())

    def __str__(self) -> str:
        return str(self.read())

    def __repr__(self) -> str:
        return repr(self.read())

    def __format__(self, spec: str) -> str:
        return format(self.read(), spec)

    def __round__(self, *digits: Any) -> Any:
        return round(self.read(), *digits)

    def __trunc__(self) -> int:
        return self.read().__trunc__()

    def __floor__(self) -> int:
        return self.read().__floor__()

    def __ceil__(self) -> int:
        return self.read().__ceil__()

    def __invert__(self) -> Any:
        return ~self.read()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.read() if hasattr(type(self.number), name) else self.number, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.read(), dtype)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.read().__reduce_ex__(protocol)

    def __copy__(self) -> Number:
        return self

    def __deepcopy__(self, memo: Any) -> Number:
        return self


# ---- operands: such numbers and plain ones -----------------------------------------------------------


def operand_of(x: Any) -> Any:
    """Return an operand of an operation that is recorded."""
    return x.var if isinstance(x, Number) else x


def number_of(x: Any) -> Any:
    """Return a number as it is in this call."""
    return x.number if isinstance(x, Number) else x


def as_float(x: Any) -> Any:
    """Return an operand as a float of 64 bits."""
    return ops.astype(x.var, np.float64) if isinstance(x, Number) else float(x)


def bound_of(x: Any) -> int:
    """Return the largest magnitude of an int; 0 for a float."""
    return 0 if isinstance(x, float) else x.bound if isinstance(x, Number) else abs(x)


def leaves_of(operands: tuple[Any, ...]) -> frozenset[int]:
    """Return the leaves that operands are computed from."""
    return frozenset().union(*(x.leaves for x in operands if isinstance(x, Number)))


def holds(condition: Any, *about: Any) -> bool:
    """Return whether a condition holds, which becomes a guard."""
    recorder = next(x for x in about if isinstance(x, Number)).var.trace
    recorder.ints_guarded |= leaves_of(about)
    recorder.int_guards += 1
    if recorder.int_guards > _MOST_GUARDS:
        refuse(*about)
    return bool(condition)


def need(condition: Any, *about: Any) -> None:
    """Read the numbers if a condition does not hold, which is a guard."""
    if not holds(condition, *about):
        refuse(*about)


def refuse(*about: Any) -> NoReturn:
    """End the recording: these ints are static."""
    leaves = leaves_of(about)
    next(x for x in about if isinstance(x, Number)).var.trace.ints_read |= leaves
    raise IntRead(leaves)
