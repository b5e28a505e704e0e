"""The digest of an array for the detail panel: its first numbers, statistics, a histogram, a small image.

An array of any dtype, shape and size becomes a few hundred bytes that JSON can hold; non-finite numbers
become text.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from tape.viz.view import value_text

_EXACT = 2**53  # whole numbers that JavaScript can hold


@dataclass(frozen=True)
class Detail:
    """How much of an array is kept.

    Attributes
    ----------
    numbers : int
        The number of elements kept.
    bins : int
        The bins of the histogram; 0 for none.
    pixels : int
        Along each side of the image, at most; 0 for none.
    """

    numbers: int
    bins: int
    pixels: int


_LEVELS = ((300, Detail(64, 32, 32)), (2000, Detail(16, 16, 0)))


def detail_for(count: int) -> Detail:
    """Choose how much to keep of each of so many arrays, for a page of a few megabytes.

    Examples
    --------
    >>> from tape.viz.stepper.digest import detail_for
    >>> detail_for(10).pixels, detail_for(10**6).numbers
    (32, 0)
    """
    for most, detail in _LEVELS:
        if count <= most:
            return detail
    return Detail(0, 0, 0)


def shown(value: Any) -> float | str:
    """Return a value for the table: a number if JSON can hold it, else a short text.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.viz.stepper.digest import shown
    >>> shown(np.float32(0.1)), shown(np.inf), shown(np.array([1.0, 2.0]))
    (0.1, 'inf', '[1. 2.]')
    """
    array = np.asarray(value)
    if array.ndim:
        return value_text(array, 3)
    kind = array.dtype.kind
    if kind == "f" and np.isfinite(array):
        number = float(array) if array.dtype.itemsize == 8 else float(str(array[()]))
        return number if np.isfinite(number) else value_text(array, 6)
    if kind in "iu" and abs(int(array)) <= _EXACT:
        return int(array)
    return value_text(array, 6)


def digest(value: Any, detail: Detail) -> dict[str, Any]:
    """Reduce an array to a few hundred bytes.

    Parameters
    ----------
    value : array
        Of any dtype and shape.
    detail : Detail
        How much of it.

    Returns
    -------
    dict
        ``numbers`` (the first elements), ``size``, ``statistics`` (pairs of a label and a number, of what is
        finite), and, where there is something to show, ``histogram`` and ``image``. Of complex numbers the
        latter three are about absolute values.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.viz.stepper.digest import detail_for, digest
    >>> dict(digest(np.array([0.0, 1.0, np.nan]), detail_for(1))["statistics"])
    {'min': 0.0, 'max': 1.0, 'mean': 0.5, 'std': 0.5, 'zeros': 1, 'nan': 1}
    """
    array = np.asarray(value)
    first = array.flat[: detail.numbers]  # no copy, whatever the layout
    result: dict[str, Any] = {"size": array.size, "numbers": [_rounded(x) for x in first]}
    with np.errstate(all="ignore"):
        magnitudes = np.abs(array) if array.dtype.kind == "c" else array
        magnitudes = magnitudes.astype(np.float64)  # also of bools, and of float16, which overflows in sums
        finite = magnitudes[np.isfinite(magnitudes)]
        result["statistics"] = _statistics(array, finite)
        if detail.bins and (histogram := _histogram(finite, detail.bins)):
            result["histogram"] = histogram
        is_even = "histogram" not in result and finite.size == array.size  # and one colour says nothing
        if detail.pixels and array.ndim >= 2 and array.size and not is_even:
            result["image"] = _image(magnitudes, finite, detail.pixels)
    return result


def _rounded(x: Any) -> float | int | str:
    if x.dtype.kind == "f" and np.isfinite(x):
        return float(f"{float(x):.6g}")
    return shown(x)


def _statistics(array: np.ndarray, finite: np.ndarray) -> list[tuple[str, float | int | str]]:
    pairs: list[tuple[str, Any]] = []
    if finite.size:
        label = "abs " if array.dtype.kind == "c" else ""
        pairs += [
            (f"{label}{name}", _rounded(measure(finite)))
            for name, measure in (("min", np.min), ("max", np.max), ("mean", np.mean), ("std", np.std))
        ]
    sizes = np.abs(array) if array.dtype.kind == "c" else array
    counts = (
        ("zeros", array.size - int(np.count_nonzero(array))),
        ("nan", int(np.count_nonzero(np.isnan(sizes)))),
        ("inf", int(np.count_nonzero(sizes == np.inf))),
        ("-inf", int(np.count_nonzero(sizes == -np.inf))),
    )
    return pairs + [(name, count) for name, count in counts if count]


def _histogram(finite: np.ndarray, bins: int) -> dict[str, Any] | None:
    if not finite.size:
        return None
    low, high = finite.min(), finite.max()
    if not high > low or not np.isfinite(high - low):
        return None
    # np.histogram refuses numbers so close that not all edges between them differ.
    places = np.minimum((finite - low) / (high - low) * bins, bins - 1).astype(np.int64)
    counts = np.bincount(places, minlength=bins)
    return {"low": _rounded(low), "high": _rounded(high), "counts": counts.tolist()}


def _image(magnitudes: np.ndarray, finite: np.ndarray, pixels: int) -> dict[str, Any]:
    """Return the last two axes, at the first index of all others; of large ones every n-th element.

    Pixels are bytes: 0 to 254 from the least to the greatest finite element, 255 for what is not finite.
    """
    plane = magnitudes[(0,) * (magnitudes.ndim - 2)]
    strides = [max(1, -(-length // pixels)) for length in plane.shape]
    plane = plane[:: strides[0], :: strides[1]]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    scale = 254 / (high - low) if high > low and np.isfinite(high - low) else 0.0
    levels = np.where(np.isfinite(plane), np.rint((plane - low) * scale), 255).astype(np.uint8)
    return {
        "rows": plane.shape[0],
        "columns": plane.shape[1],
        "every": strides,
        "leading": magnitudes.ndim - 2,
        "low": _rounded(low) if finite.size else "",
        "high": _rounded(high) if finite.size else "",
        "pixels": base64.b64encode(levels.tobytes()).decode("ascii"),
    }
