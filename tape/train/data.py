"""Small data sets that are at hand, and readers of files: arrays for `tape.train.DataLoader`.

Nothing is downloaded. Random data take a generator.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tape import errors
from tape.system.extras import need
from tape.train._columns import Columns
from tape.train._loader import whole

__all__ = ["digits", "encode_text", "read_csv", "read_images", "sine", "spiral", "split", "text"]


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return the handwritten digits of scikit-learn.

    Returns
    -------
    images : numpy.ndarray
        float64 [1797, 8, 8], from 0.0 to 1.0.
    labels : numpy.ndarray
        int64 [1797], from 0 to 9.

    Raises
    ------
    UnsupportedError
        If scikit-learn is not installed.

    Notes
    -----
    Alpaydin and Kaynak, "Optical recognition of handwritten digits", UCI (1998), CC BY 4.0.

    Examples
    --------
    >>> from tape.train import data
    >>> images, labels = data.digits()
    >>> images.shape, labels[:5]
    ((1797, 8, 8), array([0, 1, 2, 3, 4]))
    """
    found = need("sklearn.datasets", "the digits", "train").load_digits()
    return found.images / 16.0, found.target.astype(np.int64)


def spiral(rng: np.random.Generator, points: int = 100, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return points on the arms of a spiral, shuffled; no line separates the classes.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the noise and the order.
    points : int
        The number of points of each class.
    classes : int
        The number of arms.

    Returns
    -------
    x : numpy.ndarray
        float64 [points * classes, 2], inside of the unit circle.
    labels : numpy.ndarray
        int64 [points * classes].

    Notes
    -----
    As in Saito, "Deep learning from scratch 3" (DeZero), whose draws are others.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.train import data
    >>> x, labels = data.spiral(np.random.default_rng(0))
    >>> x.shape, np.bincount(labels)
    ((300, 2), array([100, 100, 100]))
    """
    points, classes = whole("spiral", "points", points, 1), whole("spiral", "classes", classes, 1)
    labels = np.repeat(np.arange(classes), points)
    radius = np.tile(np.arange(points) / points, classes)
    angle = 4.0 * labels + 4.0 * radius + 0.2 * rng.standard_normal(points * classes)
    order = rng.permutation(points * classes)
    return np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1)[order], labels[order]


def sine(rng: np.random.Generator, points: int = 100, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy values of one period of the sine.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws places and noise.
    points : int
        The number of points.
    noise : float
        The standard deviation of the noise.

    Returns
    -------
    x, y : numpy.ndarray
        float64 [points, 1]; x is from 0 to 1, y is ``sin(2 * pi * x)`` and noise.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.train import data
    >>> x, y = data.sine(np.random.default_rng(0), noise=0.0)
    >>> bool(np.all(y == np.sin(2 * np.pi * x)))
    True
    """
    x = rng.uniform(size=(whole("sine", "points", points, 1), 1))
    return x, np.sin(2 * np.pi * x) + noise * rng.standard_normal(x.shape)


def text() -> str:
    """Return an English text of some 600,000 characters: the topics of Python's ``help()``.

    Each version of Python has its own. They come with Python, under its license.

    Raises
    ------
    UnsupportedError
        If this Python was installed without them.

    Examples
    --------
    >>> from tape.train import data
    >>> len(data.text()) > 400_000
    True
    """
    try:
        topics = import_module("pydoc_data.topics").topics
    except ImportError as error:
        raise errors.UnsupportedError(
            "text needs pydoc_data.topics, which this Python was installed without. Read a text of your own"
        ) from error
    return "\n\n".join(topics[name] for name in sorted(topics))


def encode_text(characters: str) -> tuple[np.ndarray, str]:
    """Return a text as numbers of its characters.

    Returns
    -------
    codes : numpy.ndarray
        int64 [number of characters].
    alphabet : str
        The characters in use, sorted: ``alphabet[codes[i]]`` is character i.

    Examples
    --------
    >>> from tape.train import data
    >>> data.encode_text("banana")
    (array([1, 0, 2, 0, 2, 0]), 'abn')
    """
    points = np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), np.uint32)
    used, codes = np.unique(points, return_inverse=True)
    return codes.astype(np.int64), "".join(map(chr, used.tolist()))


def split(data: Any, fraction: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return two parts of the rows of a tree of arrays, drawn at random.

    Parameters
    ----------
    data : tree of numpy.ndarray
        With one row for each example.
    fraction : float
        The part of the rows that goes to the second one, from 0 to 1.
    rng : numpy.random.Generator
        Draws the rows.

    Returns
    -------
    first, second : tree of numpy.ndarray
        New arrays, in the structure of ``data``.

    Raises
    ------
    OptionError
        If ``fraction`` is out of range.
    ShapeError
        If arrays differ in length.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.train import data
    >>> training, validation = data.split(np.arange(10), 0.2, np.random.default_rng(0))
    >>> len(training), len(validation)
    (8, 2)
    """
    if not (isinstance(fraction, (int, float)) and 0 <= fraction <= 1):
        raise errors.OptionError(f"split: fraction={errors.describe(fraction)}. It must be from 0 to 1")
    columns = Columns(data, "split")
    order = rng.permutation(len(columns))
    first = len(columns) - round(len(columns) * fraction)
    return columns.batch(order[:first]), columns.batch(order[first:])


def read_csv(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Read a CSV file with a line of names: one array for each column.

    Parameters
    ----------
    path : path-like
        The file, in UTF-8, with commas.
    columns : sequence of str, optional
        The names to read. By default all.

    Returns
    -------
    dict of str to numpy.ndarray
        int64 where all fields are whole numbers, float64 where all are numbers or empty (NaN), strings
        elsewhere, and where a whole number exceeds 64 bits.

    Raises
    ------
    ShapeError
        If there is no line of names, two have the same name, or a row has another number of fields.
    OptionError
        If there is no column of that name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tape.train import data
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("x,y,name\\n1,2.5,a\\n2,,b\\n")
    >>> data.read_csv(path)
    {'x': array([1, 2]), 'y': array([2.5, nan]), 'name': array(['a', 'b'], dtype='<U1')}
    """
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        names = next(rows, [])
        if not names or len(set(names)) < len(names):
            raise errors.ShapeError(f"{path}: the first line must name the columns, each by its own name")
        fields: list[list[str]] = [[] for _ in names]
        for row in rows:
            if not row:
                continue
            if len(row) != len(names):
                raise errors.ShapeError(
                    f"{path}: line {rows.line_num} has {len(row)} fields, and the first one {len(names)} "
                    "names"
                )
            for field, column in zip(row, fields, strict=True):
                column.append(field)
    found = dict(zip(names, fields, strict=True))
    for name in columns or ():
        if name not in found:
            raise errors.OptionError(f"{path}: there is no column {name!r}{errors.near(name, found)}")
    return {name: _column(found[name]) for name in (names if columns is None else columns)}


def _column(fields: list[str]) -> np.ndarray:
    """Return the fields in the first dtype that loses nothing; Python would read 1_0 as a number."""
    if any("_" in field for field in fields):
        return np.array(fields)
    try:
        return np.array([int(field) for field in fields], np.int64)
    except OverflowError:
        return np.array(fields)
    except ValueError:
        pass
    try:
        return np.array([float(field) if field.strip() else np.nan for field in fields])
    except ValueError:
        return np.array(fields)


def read_images(
    paths: Sequence[str | os.PathLike[str]], size: tuple[int, int] | None = None, gray: bool = False
) -> np.ndarray:
    """Read image files by Pillow.

    Parameters
    ----------
    paths : sequence of path-like
        At least one.
    size : pair of int, optional
        Height and width to scale to. By default all must have the size of the first one.
    gray : bool
        Whether to convert to one channel; otherwise there are three.

    Returns
    -------
    numpy.ndarray
        float32 [images, channels, height, width], from 0.0 to 1.0.

    Raises
    ------
    ShapeError
        If there are no paths, or sizes differ.
    UnsupportedError
        If Pillow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> from tape.train import data
    >>> path = tempfile.mkdtemp() + "/red.png"
    >>> Image.new("RGB", (3, 2), (255, 0, 0)).save(path)
    >>> data.read_images([path])[0, :, 0, 0]
    array([1., 0., 0.], dtype=float32)
    """
    library = need("PIL.Image", "images", "viz")
    if not len(paths):
        raise errors.ShapeError("read_images: there are no paths. Pass at least one")
    arrays: list[np.ndarray] = []
    for path in map(Path, paths):
        with library.open(path) as image:
            converted = image.convert("L" if gray else "RGB")
            if size is not None:
                converted = converted.resize((size[1], size[0]))
            array = np.asarray(converted, np.float32) / np.float32(255)
        if arrays and array.shape[:2] != arrays[0].shape[:2]:
            raise errors.ShapeError(
                f"{path} has {list(array.shape[:2])} pixels, and {paths[0]} {list(arrays[0].shape[:2])}. "
                "Pass "
                "size=(height, width) to scale them"
            )
        arrays.append(array)
    stacked = np.stack(arrays)
    return np.ascontiguousarray(stacked[:, None] if gray else stacked.transpose(0, 3, 1, 2))
