"""A finished drawing of a tape: bytes of SVG or PNG that notebooks show and that can be saved.

Knows nothing of what is drawn. (Figures of training are matplotlib's, and have methods of their own.)
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tape import errors

__all__ = ["FORMATS", "Drawing", "format_of", "px"]

FORMATS = ("svg", "png")


@dataclass(frozen=True)
class Drawing:
    """A picture, as the bytes of a file; the last value of a notebook cell is shown there.

    Attributes
    ----------
    data : bytes
        The file: SVG in UTF-8, or PNG.
    format : {"svg", "png"}
        Which of the two.

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
            If the extension is another one, or there is no such folder.

        Examples
        --------
        >>> import os, tempfile
        >>> from tape.viz.drawing import Drawing
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Drawing(b"<svg/>", "svg").save(os.path.join(folder, "drawing.svg"))
        """
        format_of(path, self.format)
        Path(path).write_bytes(self.data)

    def __str__(self) -> str:
        return self.data.decode() if self.format == "svg" else repr(self)

    def __repr__(self) -> str:
        return f"<Drawing {self.format}: {len(self.data)} bytes>"

    def _repr_svg_(self) -> str | None:
        return self.data.decode() if self.format == "svg" else None

    def _repr_png_(self) -> bytes | None:
        return self.data if self.format == "png" else None


def format_of(path: str | os.PathLike[str] | None, format: str | None) -> str:
    """The format asked for: by name, by a file's extension, SVG by default; checked before work is done.

    Raises
    ------
    OptionError
        If there is no such format, the two disagree, or the file cannot be written where it shall be.
    """
    if format is not None and format not in FORMATS:
        raise errors.OptionError(f"format is 'svg' or 'png', not {format!r}")
    if path is None:
        return format or "svg"
    path = Path(path)
    extension = path.suffix.lower().removeprefix(".")
    if extension not in ((format,) if format else FORMATS):
        wanted = f".{format}" if format else " or ".join(f".{name}" for name in FORMATS)
        raise errors.OptionError(f"{str(path)!r} does not end in {wanted}. Name the file after what is in it")
    if not path.parent.is_dir():
        raise errors.OptionError(f"there is no folder {str(path.parent)!r}. Make it first, or save elsewhere")
    return extension


def px(length: float) -> str:
    """A length in pixels as SVG has it, to a tenth.

    Examples
    --------
    >>> from tape.viz.drawing import px
    >>> px(3.0), px(1 / 3)
    ('3', '0.3')
    """
    return f"{length:.1f}".removesuffix(".0")
