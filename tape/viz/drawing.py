"""`Drawing`: a finished picture, as the bytes of a file; and the check of the path it is saved to.

Knows nothing of what is drawn. (Plots of training are figures of matplotlib, with methods of their own.)
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tape import errors
from tape.core.node import Handle

_TEXTS = {"svg": "image/svg+xml", "html": "text/html"}
_IMAGES = {"png": "image/png", "gif": "image/gif"}


@dataclass(frozen=True, repr=False)
class Drawing:
    """A picture as the bytes of a file; notebooks show it as the last value of a cell.

    Attributes
    ----------
    data : bytes
        The file: text in UTF-8, or an image.
    format : str
        Which it is: ``"svg"``, ``"png"``, ``"gif"``, ``"html"``.

    Examples
    --------
    >>> from tape.viz.drawing import Drawing
    >>> drawing = Drawing(b"<svg/>", "svg")
    >>> drawing, str(drawing)
    (<Drawing svg: 6 bytes>, '<svg/>')
    """

    data: bytes
    format: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file.

        Parameters
        ----------
        path : path
            Ends in the format's extension.

        Raises
        ------
        OptionError
            If the extension is another one, there is no such folder, or it is a folder itself.

        Examples
        --------
        >>> import os, tempfile
        >>> from tape.viz.drawing import Drawing
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Drawing(b"<svg/>", "svg").save(os.path.join(folder, "drawing.svg"))
        """
        checked = checked_path(path, (self.format,))
        if checked is None:
            raise errors.OptionError(f"there is no path to save to. Name a file, as 'tape.{self.format}'")
        checked.write_bytes(self.data)

    def __str__(self) -> str:
        return self.data.decode() if self.format in _TEXTS else repr(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.format}: {len(self.data)} bytes>"

    def _repr_mimebundle_(self, **ignored: Any) -> dict[str, str]:
        """Return the picture for notebooks: images as base64."""
        if self.format in _TEXTS:
            return {_TEXTS[self.format]: str(self)}
        return {_IMAGES[self.format]: b64encode(self.data).decode("ascii")}


_Drawing = TypeVar("_Drawing", bound=Drawing)


def checked_path(path: Any, extensions: Sequence[str] = ()) -> Path | None:
    """Check the path of a picture, before any work is done.

    Parameters
    ----------
    path : path or None
        As it was given; None for nowhere.
    extensions : sequence of str
        Which the name may end in, without their points; none for any.

    Returns
    -------
    pathlib.Path or None

    Raises
    ------
    OptionError
        If it is no path, ends otherwise, is a folder, or lies in one that is not there.

    Examples
    --------
    >>> from tape.viz.drawing import checked_path
    >>> checked_path("tape.pdf", ("svg", "png"))
    Traceback (most recent call last):
    tape.errors.OptionError: 'tape.pdf' does not end in .svg or .png. Give the file one of these extensions
    """
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        hint = ". To say what is differentiated, pass root=y" if isinstance(path, Handle) else ""
        raise errors.OptionError(
            f"a path must be a str such as 'tape.svg', not {errors.describe(path)}{hint}"
        )
    path = Path(os.fsdecode(path))
    if extensions and path.suffix.lower().removeprefix(".") not in extensions:
        *others, last = [f".{extension}" for extension in extensions]
        wanted = f"{', '.join(others)} or {last}" if others else last
        raise errors.OptionError(
            f"{str(path)!r} does not end in {wanted}. Give the file one of these extensions"
        )
    if path.is_dir():
        raise errors.OptionError(f"{str(path)!r} is a folder. Name a file in it")
    if not path.parent.is_dir():
        raise errors.OptionError(f"there is no folder {str(path.parent)!r}. Make it first, or save elsewhere")
    return path


def saved(drawing: _Drawing, path: Path | None) -> _Drawing:
    """Return a drawing, saved if there is a path."""
    if path is not None:
        drawing.save(path)
    return drawing


def px(length: float) -> str:
    """Format a length in pixels for SVG, to a tenth.

    Examples
    --------
    >>> from tape.viz.drawing import px
    >>> px(3.0), px(1 / 3)
    ('3', '0.3')
    """
    return f"{length:.1f}".removesuffix(".0")
