"""Values, names and sizes in a few characters, on one line."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from tape import errors
from tape.node import Handle, plain

__all__ = ["byte_size", "columns_of", "cut", "digest", "number", "one_line", "short"]

_IN_FULL = 8
"""Arrays of up to so many elements are written out."""
_PRINTING: dict[str, Any] = {
    "precision": 4,
    "threshold": 1000,
    "edgeitems": 3,
    "linewidth": 1000,
    "suppress": False,
    "nanstr": "nan",
    "infstr": "inf",
    "formatter": None,
    "sign": "-",
    "floatmode": "maxprec",
}


# ---- values ----------------------------------------------------------------------------------------


def short(value: Any, width: int = 40) -> str:
    """A value on one line: scalars and small arrays in full, larger ones by dtype and shape.

    Parameters
    ----------
    value : object
        Anything: an array, a number, a static argument.
    width : int
        What is longer is cut.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from tape.listing import short
    >>> short(np.float32(0.1)), short(np.eye(2)), short(np.ones((20, 3)))
    ('0.1', '[[1. 0.] [0. 1.]]', 'float64[20, 3]')
    """
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, np.ndarray) and value.size > _IN_FULL:
        return errors.describe(value)
    return cut(one_line(getattr(value, "__name__", None) or str(value)), width)


def digest(value: Any, width: int = 32) -> str:
    """What numbers a value holds, on one line.

    Parameters
    ----------
    value : array, number or Var
        Of any shape and numeric dtype.
    width : int
        The most characters; what does not fit is left out, the rarest news last.

    Returns
    -------
    str
        Scalars with up to eight digits, small arrays in full with up to four. Of larger ones how many
        elements are NaN or infinite, and the smallest, largest and mean of the others (of complex numbers,
        of their absolute values). A Var of another trace is marked as one. NumPy's print options change
        nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.listing import digest
    >>> digest(np.array([1.0, 2.5])), digest(np.linspace(-1, 4, 100)), digest(0.1 + 0.2)
    ('[1. 2.5]', '-1 .. 4, mean 1.5', '0.3')
    >>> digest(np.append(np.zeros(100), np.nan))
    '1 nan, all 0'
    """
    if isinstance(value, Handle):
        return f"Var({digest(plain(value), max(width - 5, 1))})"
    if isinstance(value, np.ndarray):
        if not value.ndim:
            value = value[()]
        elif not value.size:
            return "empty"
        else:
            text = _written_out(value) if value.size <= _IN_FULL else ""
            return text if 0 < len(text) <= width else cut(_fitting(_statistics(value), width), width)
    return cut(number(value) if isinstance(value, (int, float, complex, np.number)) else str(value), width)


def number(value: Any, digits: int = 8) -> str:
    """A number with so many significant digits, less where less will do.

    Examples
    --------
    >>> from tape.listing import number
    >>> number(123.0), number(2 / 3, 3), number(1e-20), number(3 - 4j)
    ('123.0', '0.667', '1e-20', '3.0-4.0j')
    """
    if isinstance(value, (bool, int, np.integer)):
        return str(value)
    if isinstance(value, (complex, np.complexfloating)):
        imaginary = number(value.imag, digits)
        return f"{number(value.real, digits)}{'' if imaginary[0] == '-' else '+'}{imaginary}j"
    size = abs(np.longdouble(value))
    if size and np.isfinite(size) and not 1e-4 <= size < 10.0**digits:
        return np.format_float_scientific(value, precision=digits - 1, trim="-", exp_digits=2)
    return np.format_float_positional(value, precision=digits, fractional=False, trim="0")


def _written_out(array: np.ndarray) -> str:
    with np.printoptions(**_PRINTING):
        return " ".join(np.array2string(array).split()).replace("[ ", "[").replace(" ]", "]")


def _statistics(array: np.ndarray) -> list[str]:
    """What to know about many numbers, the most important first."""
    kind = array.dtype.kind
    if kind == "b":
        return [f"{np.count_nonzero(array)} of {array.size} true"]
    if kind not in "iufc":
        return [errors.describe(array)]
    with np.errstate(all="ignore"):
        sizes = np.abs(array) if kind == "c" else array
        low, high = sizes.min(), sizes.max()  # NaN if there is one: no mask unless it is needed
        parts = []
        if kind in "fc" and not (np.isfinite(low) and np.isfinite(high)):
            for what, is_so in (
                ("nan", np.isnan(sizes)),
                ("inf", sizes == np.inf),
                ("-inf", sizes == -np.inf),
            ):
                if count := np.count_nonzero(is_so):
                    parts.append(f"{count} {what}")
            sizes = sizes[np.isfinite(sizes)]
            if not sizes.size:
                return parts
            low, high = sizes.min(), sizes.max()
        label = "abs " if kind == "c" else ""
        if low == high:
            return [*parts, f"{label}all {_brief(low)}"]
        mean = sizes.mean(dtype=np.result_type(sizes.dtype, np.float64))
        if not np.isfinite(mean):  # the sum is too large, the mean is not
            mean = np.sum(sizes / sizes.size)
    return [*parts, f"{label}{_brief(low)} .. {_brief(high)}", f"mean {_brief(mean)}"]


def _brief(value: Any) -> str:
    return number(value, 4).removesuffix(".0")


def _fitting(parts: list[str], width: int) -> str:
    """As many parts as there is room for."""
    text = parts[0]
    for part in parts[1:]:
        if len(text) + 2 + len(part) > width:
            break
        text = f"{text}, {part}"
    return text


# ---- text ------------------------------------------------------------------------------------------


def one_line(text: str) -> str:
    """Text that cannot break a line or upset a terminal: ``?`` stands for control characters."""
    text = " ".join(text.split())
    if text.isascii() and text.isprintable():
        return text
    kinds = [(char, unicodedata.category(char)) for char in text]
    return "".join(["?" if kind in ("Cc", "Cs", "Cn") else char for char, kind in kinds if kind != "Cf"])


def columns_of(text: str) -> int:
    """How many columns of a terminal a text fills: East Asian characters take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def cut(text: str, width: int) -> str:
    """The text, or its start and three dots where it fills more columns than that."""
    if columns_of(text) <= width:
        return text
    if width <= 3:
        return "..."[:width]
    room, kept = width - 3, []
    for char in text:
        room -= columns_of(char)
        if room < 0:
            break
        kept.append(char)
    return f"{''.join(kept)}..."


def byte_size(count: int) -> str:
    """Bytes in a few characters.

    Examples
    --------
    >>> from tape.listing import byte_size
    >>> byte_size(512), byte_size(3_000_000)
    ('512 B', '3.0 MB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
