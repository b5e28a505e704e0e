"""Every exception the library raises, and the words they share.

Each error says what happened, where (the user's own line), and what to do next. All derive from
`TapeError` and from the built-in a NumPy user would expect to catch, so `except ValueError` keeps
working. This file knows nothing of traces or operations.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from os.path import dirname, join
from types import FrameType
from typing import Any

import numpy as np

__all__ = [
    "ConstantResultWarning",
    "ConvergenceError",
    "ConversionError",
    "DTypeError",
    "DerivativeError",
    "ExpressionError",
    "InPlaceError",
    "LostDerivativeWarning",
    "MissingAttributeError",
    "NonFiniteError",
    "NotCompiledWarning",
    "OptionError",
    "OutOfBoundsError",
    "PathLimitWarning",
    "ProgramError",
    "ProgramFileError",
    "SeedError",
    "ShapeError",
    "SingularMatrixError",
    "TapeError",
    "TraceDroppedError",
    "TraceMismatchError",
    "UnreachableParamError",
    "UnsupportedError",
]

_SITE = dirname(dirname(np.__file__))
_FOREIGN = (
    join(dirname(__file__), ""),
    *(join(_SITE, name, "") for name in ("numpy", "scipy", "optree")),
    # between the user's code and ours when a context manager is, or what copies or computes with anything
    *(
        join(dirname(os.__file__), f"{name}.py")
        for name in ("contextlib", "copy", "fractions", "functools", "pickle", "random", "statistics")
    ),
    "<frozen ",  # what starts `python -m tape`
)


class TapeError(Exception):
    """Base of every exception raised by tape.

    The message ends with the line of user code that led here, when there is one.
    """

    def __init__(self, message: str) -> None:
        place = user_place()
        super().__init__(f"{message} [at {place}]" if place else message)


class ShapeError(TapeError, ValueError):
    """Shapes, axes or sizes that do not fit the operation."""


class DTypeError(TapeError, TypeError):
    """A dtype the operation, or a derivative, is not defined for."""


class OutOfBoundsError(TapeError, IndexError):
    """An index that is out of range, or of a kind NumPy does not accept."""


class SeedError(TapeError, ValueError):
    """A seed (or tangent) that does not fit what it is meant for, or holds NaN."""


class TraceMismatchError(TapeError, ValueError):
    """Vars of two traces met where one trace was expected."""


class TraceDroppedError(TapeError, ReferenceError):
    """A Var was used after its trace had been freed."""


class UnreachableParamError(TapeError, ValueError):
    """A root does not depend on a param whose gradient was asked for."""


class UnsupportedError(TapeError, TypeError):
    """A NumPy function, or an option of one, that has no derivative rule here."""


class ConversionError(TapeError, TypeError):
    """A Var was about to become a plain array or number, losing its derivative."""


class InPlaceError(TapeError, TypeError):
    """An attempt to write into a recorded value, or into an array that is read-only."""


class MissingAttributeError(TapeError, AttributeError):
    """An attribute or method of ndarray that Var does not have."""


class ConvergenceError(TapeError, ArithmeticError):
    """An iteration or integration did not arrive."""


class NonFiniteError(TapeError, FloatingPointError):
    """A NaN or an infinity was made out of finite numbers, on a trace that checks."""


class SingularMatrixError(TapeError, np.linalg.LinAlgError):
    """A system of linear equations that has no unique solution."""


class OptionError(TapeError, ValueError):
    """A setting that is out of range or not among the choices."""


class DerivativeError(TapeError, AssertionError):
    """A derivative that differs from what it was checked against."""


class ExpressionError(TapeError, SyntaxError):
    """A text that is no expression: what is refused, the line it stands in, and where in it.

    Python shows the place as it does for its own syntax errors; `line` and `column` count from 1.
    """

    text: str
    end_offset: int

    def __init__(self, reason: str, text: str = "", line: int = 1, column: int = 1, width: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.filename = "<expression>"
        self.lineno = self.end_lineno = self.line = line
        self.offset = self.column = column
        self.end_offset = column + width
        self.text = text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.text, self.line, self.column, self.end_offset - self.column)

    def __str__(self) -> str:
        start = max(self.column - 60, 0)  # of a long line only what is around the place
        shown = "".join(c if c.isprintable() else " " for c in self.text[start : start + 100])
        carets = "^" * max(1, min(self.end_offset - self.column, len(shown) - (self.column - 1 - start)))
        indent = " " * (self.column - 1 - start)
        return f"{self.msg}\n  line {self.line}, column {self.column}\n    {shown}\n    {indent}{carets}"


class ProgramError(TapeError, ValueError):
    """A program that is not sound: an instruction does not fit its operands, or reaches beyond its memory."""


class ProgramFileError(ProgramError):
    """A file that holds no program, or a damaged one."""


class ConstantResultWarning(UserWarning):
    """A function returned something that does not depend on what it is differentiated by."""


class LostDerivativeWarning(UserWarning):
    """A number was taken out of a trace that is then differentiated: no derivative flows through it."""


class NotCompiledWarning(UserWarning):
    """Everything runs on plain NumPy, because compiled code cannot run here."""


class PathLimitWarning(UserWarning):
    """A compiled function branches in more ways than there may be programs: further ones run in Python."""


def is_foreign(filename: str) -> bool:
    """Whether a file is this package's or one of those it runs on, rather than the user's."""
    return filename.startswith(_FOREIGN)


def user_place() -> str:
    """The innermost ``file:line`` outside this package and NumPy, or an empty string."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_foreign(filename):
            return f"{filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def user_depth() -> int:
    """How many frames, counted from the caller, lie between it and the user's code."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_foreign(frame.f_code.co_filename):
        depth, frame = depth + 1, frame.f_back
    return depth


def describe(operand: Any) -> str:
    """One operand in a few characters: ``float32[3, 4]`` for arrays, the value for scalars."""
    if hasattr(operand, "dtype") and hasattr(operand, "shape"):
        return f"{operand.dtype}{list(operand.shape)}"
    text = repr(operand)
    return text if len(text) <= 40 else f"{text[:37]}..."


def describe_all(operands: Iterable[Any]) -> str:
    """Several operands, in order, separated by commas."""
    return ", ".join(describe(operand) for operand in operands)


def near(name: str, known: Iterable[str]) -> str:
    """What a message about an unknown name ends with: the known ones that are spelled nearly so.

    Examples
    --------
    >>> from tape.errors import near
    >>> f"there is no subcommand gard{near('gard', ['grad', 'plot'])}"
    'there is no subcommand gard. Did you mean grad?'
    >>> near("xyz", ["grad", "plot"])
    ''
    """
    found = get_close_matches(name.lower(), list(known), n=2, cutoff=0.6)
    return f". Did you mean {' or '.join(found)}?" if found else ""


def _advice(complaint: str) -> str:
    if any(word in complaint for word in ("broadcast", "shape", "match", "align")):
        return "Compare the shapes; reshape or expand_dims makes them line up"
    return "Check the values against what the operation takes"


def explain(op_name: str, operands: Iterable[Any], error: Exception) -> TapeError:
    """The tape error for what NumPy raised inside an operation.

    Parameters
    ----------
    op_name : str
        The operation that failed.
    operands : iterable
        What it was called with; shapes and dtypes go into the message.
    error : Exception
        What NumPy said.

    Returns
    -------
    TapeError
        Of the class that matches ``error``; raise it ``from error``.
    """
    what = f"{op_name}({describe_all(operands)}): {str(error).rstrip(' .')}"
    if isinstance(error, np.linalg.LinAlgError):
        return SingularMatrixError(f"{what}. Add a multiple of the identity, or look at its null space")
    if isinstance(error, ValueError):  # np.exceptions.AxisError is a ValueError and an IndexError
        return ShapeError(f"{what}. {_advice(str(error))}")
    if isinstance(error, IndexError):
        return OutOfBoundsError(f"{what}. Indices must be within the shape shown.")
    if isinstance(error, TypeError):
        return DTypeError(f"{what}. Check the arguments, or convert with astype or np.asarray.")
    return TapeError(f"{what}.")
