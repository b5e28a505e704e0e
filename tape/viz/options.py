"""Checks of the options of pictures, before any work is done."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle


def check_trace(trace: Any) -> None:
    """Check that the argument is a trace.

    Raises
    ------
    OptionError
        If it is something else.
    """
    if not hasattr(trace, "nodes"):
        it_has = ". Pass the .trace of a Var" if isinstance(trace, Handle) else ""
        raise errors.OptionError(f"expected a Trace, got {errors.describe(trace)}{it_has}")


def check_choice(name: str, given: Any, choices: Sequence[str]) -> None:
    """Check that an option is one of some words.

    Raises
    ------
    OptionError
        If it is not, naming all of them.

    Examples
    --------
    >>> from tape.viz.options import check_choice
    >>> check_choice("direction", "UP", ("TB", "LR"))
    Traceback (most recent call last):
    tape.errors.OptionError: direction must be 'TB' or 'LR', not 'UP'
    """
    if not isinstance(given, str) or given not in choices:
        *others, last = map(repr, choices)
        raise errors.OptionError(
            f"{name} must be {', '.join(others)} or {last}, not {errors.describe(given)}"
        )


def check_number(
    name: str, given: Any, what: str, least: float, most: float = inf, *, is_whole: bool = False
) -> None:
    """Check that an option is a number within limits.

    Parameters
    ----------
    name : str
        The name of the option.
    given : object
        Its value.
    what : str
        The values it can have, for the message.
    least, most : float
        The limits, inclusive.
    is_whole : bool
        Whether it must be an integer.

    Raises
    ------
    OptionError
        If it is anything else.

    Examples
    --------
    >>> from tape.viz.options import check_number
    >>> check_number("step", "a", "a number of pixels, from 0.5 to 1000", 0.5, 1000)
    Traceback (most recent call last):
    tape.errors.OptionError: step must be a number of pixels, from 0.5 to 1000, not 'a'
    """
    kinds = (int, np.integer) if is_whole else (int, float, np.integer, np.floating)
    if isinstance(given, bool) or not isinstance(given, kinds) or not least <= given <= most:
        raise errors.OptionError(f"{name} must be {what}, not {errors.describe(given)}")
