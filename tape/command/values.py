"""Values from the command line: ``a=0.3``, ``a=pi/2``, ``a=[1,2,3]``, ``a=@data.npy``.

Numbers, and expressions of `tape.expression` without variables; nothing here reaches Python's `eval`.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from tape import errors
from tape.expressions import expression
from tape.expressions.functions import CONSTANTS

_ASSIGNMENT = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)(.*)", re.DOTALL)
_MOST_DIMENSIONS = 32


def expression_text(text: str) -> str:
    """Return the text of an expression argument: standard input for ``-``, a file for ``@FILE``."""
    try:
        if text.strip() == "-":
            if sys.stdin is None:  # as after `<&-`
                raise errors.OptionError("standard input is closed. Write the expression, or @FILE")
            return sys.stdin.read().strip()
        if text.startswith("@"):
            return Path(text[1:]).read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise errors.OptionError(f"the expression is not text in UTF-8: {error}") from None
    return text.strip()


def is_assignment(text: str) -> bool:
    """Whether a text has the form ``name=value``.

    Examples
    --------
    >>> from tape.command.values import is_assignment
    >>> is_assignment("a=1"), is_assignment("a == 1")
    (True, False)
    """
    return _ASSIGNMENT.fullmatch(text) is not None


def assignments(texts: Iterable[str]) -> dict[str, str]:
    """Parse ``name=value`` arguments into names and texts.

    Parameters
    ----------
    texts : iterable of str
        In any order.

    Returns
    -------
    dict of str to str

    Raises
    ------
    OptionError
        If one is not an assignment, or a name has two values.

    Examples
    --------
    >>> from tape.command.values import assignments
    >>> assignments(["a=0.3", "x=-pi:pi"])
    {'a': '0.3', 'x': '-pi:pi'}
    """
    found: dict[str, str] = {}
    for text in texts:
        match = _ASSIGNMENT.fullmatch(text)
        if match is None:
            raise errors.OptionError(
                f"{text!r} is not name=value. Quote an expression with spaces: tape grad 'a * b' a=1 b=2"
            )
        name, given = match.groups()
        if name in found:
            raise errors.OptionError(f"{name} has two values, {found[name]} and {given}. Give it one")
        found[name] = given.strip()
    return found


def check_names(given: Iterable[str], variables: Sequence[str], what: str) -> None:
    """Check that names are variables of the expression.

    Raises
    ------
    OptionError
        Naming the first that is not, and those there are.
    """
    for name in given:
        if name in CONSTANTS:
            raise errors.OptionError(
                f"{what} names {name}, which is the constant {CONSTANTS[name]!r} in expressions. Call the "
                "variable something else"
            )
        if name not in variables:
            there_are = f"Its variables are {', '.join(variables)}" if variables else "It has no variables"
            hint = errors.near(name, variables) or f". {there_are}"
            raise errors.OptionError(f"{what} names {name}, which the expression does not use{hint}")


def pieces(text: str, separator: str = ",") -> list[str]:
    """Split a text at separators outside of brackets.

    Examples
    --------
    >>> from tape.command.values import pieces
    >>> pieces("a=[1,2], b=atan2(1, 2)")
    ['a=[1,2]', 'b=atan2(1, 2)']
    """
    found, depth, start = [], 0, 0
    for i, character in enumerate(text):
        if character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == separator and depth == 0:
            found.append(text[start:i].strip())
            start = i + 1
    found.append(text[start:].strip())
    return found


def parsed_number(text: str, name: str) -> Any:
    """Parse one number: a literal, or an expression without variables.

    Parameters
    ----------
    text : str
        Such as ``"1e-3"`` or ``"2*pi"``.
    name : str
        The name of the variable, for messages.

    Returns
    -------
    float, or a NumPy scalar or array if the expression makes that

    Raises
    ------
    OptionError
        If it is neither.
    ExpressionError
        If it is an expression with a mistake.

    Examples
    --------
    >>> from tape.command.values import parsed_number
    >>> parsed_number("1e-3", "a")
    0.001
    """
    try:
        return float(text)
    except ValueError:
        pass
    if not text:
        raise errors.OptionError(f"{name}= has no value. Write {name}=0.3, or {name}=[1,2,3] for an array")
    if len(pieces(text)) > 1:
        raise errors.OptionError(f"{name}={text} is more than one number. Write {name}=[{text}] for an array")
    f = expression(text)
    if f.variables:
        raise errors.OptionError(
            f"{name}={text} has a variable, {f.variables[0]}. Values are numbers, as 0.3 or 2*pi, lists of "
            "them, as [1,2,3], or @FILE"
        )
    return f()


def value(text: str, name: str) -> Any:
    """Parse the value of an assignment: a number, a nested list, or the contents of a file.

    Parameters
    ----------
    text : str
        The text right of the equals sign.
    name : str
        The name left of it, for messages.

    Returns
    -------
    numpy.ndarray or numpy.generic
        Of a float or complex dtype; integers become float64.

    Raises
    ------
    OptionError
        If it is anything else, or does not hold numbers.
    ExpressionError
        If it is an expression with a mistake.

    Examples
    --------
    >>> from tape.command.values import value
    >>> value("[[1, 2], [3, 4]]", "a")
    array([[1., 2.],
           [3., 4.]])
    """
    found = _loaded(text[1:], name) if text.startswith("@") else _listed(text, name, 0)
    try:
        array = np.asarray(found)
    except ValueError:
        raise errors.OptionError(
            f"{name}={text}: the rows differ in length. Give each as many numbers"
        ) from None
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if array.dtype.kind not in "fc":
        raise errors.OptionError(f"{name}={text} holds {array.dtype}. It must hold numbers")
    return array[()]


def _listed(text: str, name: str, depth: int) -> Any:
    """Parse a number, or a nested list."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return parsed_number(text, name)
    if depth == _MOST_DIMENSIONS:
        raise errors.OptionError(f"{name} has more than {_MOST_DIMENSIONS} nested lists. Use fewer")
    inside = text[1:-1].strip()
    return [_listed(piece, name, depth + 1) for piece in pieces(inside)] if inside else []


def _loaded(path: str, name: str) -> np.ndarray:
    """Load the array in a ``.npy`` file, or the table of numbers in any other."""
    try:
        if path.endswith(".npy"):
            with open(path, "rb") as file:
                return np.load(file, allow_pickle=False)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # that there is nothing in it
            return np.loadtxt(path, delimiter="," if path.endswith(".csv") else None)
    except (ValueError, EOFError, BadZipFile, UserWarning) as error:
        raise errors.OptionError(
            f"{name}=@{path} cannot be read: {error}. Save it with numpy.save or numpy.savetxt"
        ) from None
