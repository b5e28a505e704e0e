"""Short one-line text for values, names and sizes."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from tape import errors
from tape.core.dispatch import need_numbers
from tape.core.node import Handle, plain

_IN_FULL = 8
"""The largest number of elements of an array that is written in full."""
_DIGITS = 4
"""The default digits of elements and of statistics."""
_WHOLE = 6
"""The most digits before the point without an exponent."""
_PRINTING: dict[str, Any] = {
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
    """Return a value on one line: scalars and small arrays in full, larger ones by dtype and shape.

    Parameters
    ----------
    value : object
        An array, a number, a static argument or any other object.
    width : int
        The largest width; longer text is cut.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from tape.inspect.words import short
    >>> short(np.float32(0.1)), short(np.eye(2)), short(np.ones((20, 3)))
    ('0.1', '[[1. 0.] [0. 1.]]', 'float64[20, 3]')
    """
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, np.ndarray) and value.size > _IN_FULL:
        return errors.describe(value)
    return one_line(getattr(value, "__name__", None) or str(value), width)


def digest(value: Any, width: int = 32, precision: int | None = None, *, mean: bool = True) -> str:
    """Return the numbers in a value on one line.

    Parameters
    ----------
    value : array, number or Var
        A value of any shape and numeric dtype.
    width : int
        The largest width; parts that do not fit are left out, the least important first.
    precision : int, optional
        Significant digits; with it, whole numbers have no point, to save room in pictures. By
        default scalars have up to eight, elements and statistics up to four.
    mean : bool
        Whether to include the mean, if there is room.

    Returns
    -------
    str
        Scalars and small arrays are written in full. For larger ones, the number of NaN and infinite
        elements, and the smallest, largest and mean of the others (for complex numbers, of their absolute
        values). A Var of another trace is marked as one. NumPy's print options have no effect.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.inspect.words import digest
    >>> digest(np.array([1.0, 2.5])), digest(np.linspace(-1, 4, 100)), digest(0.1 + 0.2)
    ('[1. 2.5]', '-1 .. 4, mean 1.5', '0.3')
    >>> digest(np.append(np.zeros(100), np.nan)), digest(1234.0, precision=3)
    ('1 nan, all 0', '1234')
    """
    if isinstance(value, Handle):
        need_numbers()
        return f"Var({digest(plain(value), max(width - 5, 1), precision, mean=mean)})"
    if isinstance(value, np.ndarray) and value.ndim:
        digits = precision or _DIGITS
        text = _written_out(value, digits) if 0 < value.size <= _IN_FULL else ""
        if 0 < len(text) <= width:
            return text
        return cut(_fitting(_statistics(value, digits, mean), width), width)
    if isinstance(value, np.ndarray):
        value = value[()]
    if not isinstance(value, (int, float, complex, np.number)):
        return cut(str(value), width)
    return cut(number(value) if precision is None else brief(value, precision), width)


def number(value: Any, digits: int = 8) -> str:
    """Format a number with at most the given significant digits, and all digits before the point.

    Examples
    --------
    >>> from tape.inspect.words import number
    >>> number(123.0), number(2 / 3, 3), number(1e-20), number(3 - 4j), number(12345.6, 3)
    ('123.0', '0.667', '1e-20', '3.0-4.0j', '12346.0')
    """
    if isinstance(value, (bool, int, np.integer)):
        return str(value)
    if isinstance(value, (complex, np.complexfloating)):
        return _joined(number(value.real, digits), number(value.imag, digits))
    size = abs(np.longdouble(value))
    if size and np.isfinite(size):
        if not 1e-4 <= size < 10.0 ** max(digits, _WHOLE):
            return np.format_float_scientific(value, precision=digits - 1, trim="-", exp_digits=2)
        if size >= 10.0**digits:
            return np.format_float_positional(np.rint(value), trim="0")
    return np.format_float_positional(value, precision=digits, fractional=False, trim="0")


def brief(value: Any, digits: int = _DIGITS) -> str:
    """Format a number as `number` does, whole ones without a point.

    Examples
    --------
    >>> from tape.inspect.words import brief
    >>> brief(123.0), brief(2 / 3), brief(3 - 4j)
    ('123', '0.6667', '3-4j')
    """
    if isinstance(value, (complex, np.complexfloating)):
        return _joined(brief(value.real, digits), brief(value.imag, digits))
    return number(value, digits).removesuffix(".0")


def _joined(real: str, imaginary: str) -> str:
    return f"{real}{'' if imaginary[0] == '-' else '+'}{imaginary}j"


def _written_out(array: np.ndarray, digits: int) -> str:
    with np.printoptions(**_PRINTING, precision=digits):
        return " ".join(np.array2string(array).split()).replace("[ ", "[").replace(" ]", "]")


def _statistics(array: np.ndarray, digits: int, has_mean: bool) -> list[str]:
    """Return statistics of many numbers, the most important first."""
    if not array.size:
        return ["empty"]
    kind = array.dtype.kind
    if kind == "b":
        return [f"{np.count_nonzero(array)} of {array.size} true"]
    if kind not in "iufc":
        return [errors.describe(array)]
    with np.errstate(all="ignore"):
        sizes = np.abs(array) if kind == "c" else array
        low, high = sizes.min(), sizes.max()  # NaN if there is one: a mask is made only if needed
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
            return [*parts, f"{label}all {brief(low, digits)}"]
        parts.append(f"{label}{brief(low, digits)} .. {brief(high, digits)}")
        if not has_mean:
            return parts
        mean = sizes.mean(dtype=np.result_type(sizes.dtype, np.float64))
        if not np.isfinite(mean):  # the sum overflows, the mean does not
            mean = np.sum(sizes / sizes.size)
    return [*parts, f"mean {brief(mean, digits)}"]


def _fitting(parts: list[str], width: int) -> str:
    """Join as many parts as there is room for."""
    text = parts[0]
    for part in parts[1:]:
        if len(text) + 2 + len(part) > width:
            break
        text = f"{text}, {part}"
    return text


# ---- text ------------------------------------------------------------------------------------------


def one_line(text: str, width: int | None = None) -> str:
    """Return text on one line that is safe for terminals and XML: ``?`` replaces control characters.

    Parameters
    ----------
    text : str
        Any text.
    width : int, optional
        The most columns of a terminal; longer text is cut.

    Examples
    --------
    >>> from tape.inspect.words import one_line
    >>> one_line("two\\nlines, the second one long", 14)
    'two lines, ...'
    """
    text = " ".join(text.split())
    if not (text.isascii() and text.isprintable()):
        kinds = [(char, unicodedata.category(char)) for char in text]
        text = "".join(["?" if kind in ("Cc", "Cs", "Cn") else char for char, kind in kinds if kind != "Cf"])
    return text if width is None else cut(text, width)


def columns_of(text: str) -> int:
    """Return the columns of a terminal that a text fills: East Asian characters take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def cut(text: str, width: int) -> str:
    """Return the text, or its start and three dots if it fills more columns than given."""
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
    """Format a number of bytes.

    Examples
    --------
    >>> from tape.inspect.words import byte_size
    >>> byte_size(512), byte_size(3_000_000)
    ('512 B', '3.0 MB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def duration(seconds: float) -> str:
    """Format a time in a fitting unit.

    Examples
    --------
    >>> from tape.inspect.words import duration
    >>> duration(3e-9), duration(0.0125)
    ('3 ns', '12.5 ms')
    """
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * factor < 1000:
            return f"{seconds * factor:.{0 if unit == 'ns' else 1}f} {unit}"
    return f"{seconds:.2f} s"


def counted(count: int, what: str) -> str:
    """Return a number of things, in the plural if there is not just one.

    Examples
    --------
    >>> from tape.inspect.words import counted
    >>> counted(1, "node"), counted(0, "node")
    ('1 node', '0 nodes')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
