"""The matplotlib figure that the training pictures are drawn on.

The only file here that imports matplotlib when it is imported; `tape.viz.training` does so when the
first picture is asked for.
"""

from __future__ import annotations

import io

from matplotlib.figure import Figure

__all__ = ["Picture"]


class Picture(Figure):
    """A figure that notebooks show, though pyplot, with its windows and global state, was never imported.

    Examples
    --------
    >>> from tape.viz.picture import Picture
    >>> Picture()._repr_png_()[:4]
    b'\\x89PNG'
    """

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png")
        return image.getvalue()
