"""The matplotlib figure that the plots of training are drawn on.

The only file here that imports matplotlib at the top; `tape.viz.training` imports it when the first plot is
drawn.
"""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that notebooks show without pyplot, its windows and its global state.

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
