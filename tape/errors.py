"""Every exception that the library raises, and the wording that messages share.

Each error says what happened, where (the line of user code), and what to do next. All derive from
`TapeError` and from the built-in a NumPy user would expect to catch, so `except ValueError` keeps
working. This file must never know traces or operations.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from os.path import dirname, join
from types import FrameType
from typing import Any

import numpy as np

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "ConstantResultWarning",
    "ConvergenceError",
    "ConversionError",
    "DTypeError",
    "DerivativeError",
    "ExpressionError",
    "FileWriteError",
    "InPlaceError",
    "ItemsError",
    "LostDerivativeWarning",
    "MissingAttributeError",
    "NonFiniteError",
    "NotCompiledWarning",
    "OptionError",
    "OutOfBoundsError",
    "PathLimitWarning",
    "ProgramError",
    "ProgramFileError",
    "RankError",
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
_INSTALLED = join(_SITE, "")
_FOREIGN = (
    join(dirname(__file__), ""),
    *(join(_SITE, name, "") for name in ("numpy", "scipy", "optree")),
    # lie between user code and ours, as context managers and copying do
    *(
        join(dirname(os.__file__), f"{name}.py")
        for name in ("contextlib", "copy", "fractions", "functools", "pickle", "random", "statistics")
    ),
    "<frozen ",  # starts `python -m tape`
    "<tape ",  # code that is made here
)


class TapeError(Exception):
    """Base of every exception that tape raises.

    The message ends with the function that was called, unless it is named before, and with the line of user
    code that led here, when there is one.
    """

    def __init__(self, message: str) -> None:
        called, place = _called(), user_place()
        if called and called not in message:
            message = f"{message} (in {called})"
        super().__init__(f"{message} [at {place}]" if place else message)


class ShapeError(TapeError, ValueError):
    """Raised when shapes, axes or sizes do not fit the operation."""


class DTypeError(TapeError, TypeError):
    """Raised when an operation, or a derivative, is not defined for a dtype."""


class OutOfBoundsError(TapeError, IndexError):
    """Raised when an index is out of range, or of a kind that NumPy does not accept."""


class SeedError(TapeError, ValueError):
    """Raised when a seed or tangent does not have the shape or dtype of its node, or holds NaN."""


class TraceMismatchError(TapeError, ValueError):
    """Raised when Vars of two traces meet where one trace is expected."""


class TraceDroppedError(TapeError, ReferenceError):
    """Raised when a Var is used after its trace has been freed."""


class UnreachableParamError(TapeError, ValueError):
    """Raised when a root does not depend on a param whose gradient is requested."""


class UnsupportedError(TapeError, TypeError):
    """Raised for a NumPy function, or an option of one, without a derivative rule."""


class ConversionError(TapeError, TypeError):
    """Raised when converting a Var to a plain array or number would lose its derivative."""


class InPlaceError(TapeError, TypeError):
    """Raised when a write to a recorded value, or to a read-only array, is attempted."""


class MissingAttributeError(TapeError, AttributeError):
    """Raised for an attribute or method of ndarray that Var does not have."""


class ConvergenceError(TapeError, ArithmeticError):
    """Raised when an iteration or integration does not converge."""


class NonFiniteError(TapeError, FloatingPointError):
    """Raised when finite numbers produce a NaN or an infinity, on a trace with ``check=True``."""


class SingularMatrixError(TapeError, np.linalg.LinAlgError):
    """Raised when a system of linear equations has no unique solution."""


class OptionError(TapeError, ValueError):
    """Raised when an option is out of range or not among the choices."""


class DerivativeError(TapeError, AssertionError):
    """Raised when a derivative differs from the one it is checked against."""


class ExpressionError(TapeError, SyntaxError):
    """Raised when a text is not a valid expression; it holds the reason, the line and the column.

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
        start = max(self.column - 60, 0)  # of a long line only the part around the place
        shown = "".join(c if c.isprintable() else " " for c in self.text[start : start + 100])
        carets = "^" * max(1, min(self.end_offset - self.column, len(shown) - (self.column - 1 - start)))
        indent = " " * (self.column - 1 - start)
        return f"{self.msg}\n  line {self.line}, column {self.column}\n    {shown}\n    {indent}{carets}"


class ProgramError(TapeError, ValueError):
    """Raised when a program is invalid: an instruction does not fit its operands or exceeds its memory."""


class ProgramFileError(ProgramError):
    """Raised when a file does not hold a program, or a damaged one."""


class RankError(TapeError, RuntimeError):
    """Raised on a rank when another one has failed, or does not do the same as this one."""


class ItemsError(TapeError, RuntimeError):
    """Raised by `tape.distributed.map` after all items, when the function has raised for some of them.

    Attributes
    ----------
    results : list
        The result of each item, in order; None for those that failed.
    failures : dict of int to Exception
        The error of each item that failed, by its position.
    """

    def __init__(
        self, message: str, results: Sequence[Any] = (), failures: Mapping[int, BaseException] | None = None
    ) -> None:
        super().__init__(message)
        self.results = list(results)
        self.failures = dict(failures or {})


class CheckpointError(TapeError, ValueError):
    """Raised when a file of arrays is damaged, or does not hold what it is loaded into."""


class FileWriteError(TapeError, OSError):
    """Raised when a file cannot be written, such as on a full disk; the file before it is untouched."""


class CheckpointWarning(UserWarning):
    """Warns that a damaged checkpoint was skipped, or was written by other versions."""


class ConstantResultWarning(UserWarning):
    """Warns that the result of a function does not depend on its differentiated arguments."""


class LostDerivativeWarning(UserWarning):
    """Warns that a sweep cannot see a number that was taken out of its trace."""


class NotCompiledWarning(UserWarning):
    """Warns that compiled code cannot run here, so that everything runs on plain NumPy."""


class PathLimitWarning(UserWarning):
    """Warns that a compiled function needs many programs, or more than it may have."""


def is_foreign(filename: str) -> bool:
    """Return whether a file belongs to this package or its dependencies, and not to the user."""
    return filename.startswith(_FOREIGN)


def is_installed(filename: str) -> bool:
    """Return whether a file is where packages are installed."""
    return filename.startswith(_INSTALLED)


def user_place() -> str:
    """Return the innermost ``file:line`` outside of this package and of installed ones.

    If there is none, that of the innermost one but NumPy and SciPy, or an empty string.
    """
    frame: FrameType | None = sys._getframe(1)
    installed = ""
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_foreign(filename):
            place = f"{filename}:{frame.f_lineno}"
            if not filename.startswith(_INSTALLED):
                return place
            installed = installed or place
        frame = frame.f_back
    return installed


_FUNCTIONS = ("tape.ops.", "tape.nn.", "tape.scipy.", "tape.numpy.")
"""Where functions are that users call to compute, and what these call in turn."""
_HELD_AS = ("func", "ufunc", "function", "op")
"""Names of the local variables that hold the function in what calls it: in NumPy's protocols and wrappers."""


def _called() -> str:
    """Return the name of the function that user code has called to compute; empty if it is another one."""
    frame: FrameType | None = sys._getframe(2)
    name = ""
    while frame is not None and is_foreign(frame.f_code.co_filename):
        module: str = frame.f_globals.get("__name__", "")
        if module.startswith((*_FUNCTIONS, "tape.core.")):
            name = _public_name(frame) or name
        elif module.startswith("tape.") and not module.startswith("tape.conversion."):
            name = ""
        frame = frame.f_back
    return name


def _public_name(frame: FrameType) -> str:
    """Return the name of the function that a frame runs, or of the class it makes; empty if it has none."""
    owner, _, name = frame.f_code.co_qualname.rpartition(".")
    if "<locals>" in owner or frame.f_globals["__name__"].startswith("tape.core."):
        held = next((frame.f_locals[key] for key in _HELD_AS if key in frame.f_locals), None)
        name = getattr(held, "__name__", "") or getattr(held, "name", "")
    elif name.startswith("__"):
        name = type(frame.f_locals.get("self")).__name__ if owner else ""
    return name if isinstance(name, str) and name.isidentifier() and not name.startswith("_") else ""


_PUT_BY_C = ("setting an array element with a sequence", "returned a result with an exception set")


def raise_hidden(error: object) -> None:
    """Raise the error behind one that C code has put in its place; return if there is none.

    NumPy raises ValueError where a Var cannot be written to an array, and the interpreter SystemError where a
    function in C did not see that its callback failed; both say nothing of the reason.
    """
    if not isinstance(error, (ValueError, SystemError)) or not isinstance(error.__cause__, TapeError):
        return
    if any(text in str(error) for text in _PUT_BY_C):
        raise error.__cause__.with_traceback(error.__traceback__) from None


def user_depth() -> int:
    """Return the number of frames between the caller and user code."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_foreign(frame.f_code.co_filename):
        depth, frame = depth + 1, frame.f_back
    return depth


def warn(message: str, category: type[Warning]) -> None:
    """Warn the user, of the innermost line of user code, which the message ends with."""
    warnings.warn(f"{message} [at {user_place()}]", category, stacklevel=user_depth())


def describe(operand: Any) -> str:
    """Describe an operand in a few characters: ``float32[3, 4]`` for arrays, the value for scalars."""
    try:
        return f"{operand.dtype}{list(operand.shape)}"
    except Exception:  # what it raises for a name that it does not have, which may be anything
        is_long = type(operand) is int and operand.bit_length() >= 4096  # too long for decimal digits
        text = hex(operand) if is_long else repr(operand)
    return text if len(text) <= 40 else f"{text[:37]}..."


def describe_all(operands: Iterable[Any]) -> str:
    """Describe several operands, in order, separated by commas."""
    return ", ".join(describe(operand) for operand in operands)


def near(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for a message about an unknown name: known names with a similar spelling.

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
    return "Check the values that the operation accepts"


def explain(op_name: str, operands: Iterable[Any], error: Exception) -> TapeError:
    """Convert an error that NumPy raised inside an operation to an error of tape.

    Parameters
    ----------
    op_name : str
        The operation that failed.
    operands : iterable
        Its operands; the message shows their shapes and dtypes.
    error : Exception
        The error of NumPy.

    Returns
    -------
    TapeError
        An error of the class that matches ``error``; raise it ``from error``.
    """
    what = f"{op_name}({describe_all(operands)}): {str(error).rstrip(' .')}"
    if isinstance(error, np.linalg.LinAlgError):
        return SingularMatrixError(f"{what}. Add a multiple of the identity, or check its null space")
    if isinstance(error, ValueError):  # np.exceptions.AxisError is a ValueError and an IndexError
        return ShapeError(f"{what}. {_advice(str(error))}")
    if isinstance(error, IndexError):
        return OutOfBoundsError(f"{what}. Indices must be within the shape shown.")
    if isinstance(error, TypeError):
        return DTypeError(f"{what}. Check the arguments, or convert with astype or np.asarray.")
    return TapeError(f"{what}.")
