"""A scene as an animated GIF, painted and saved by Pillow, which is imported when it is needed.

Frames are painted twice as large as they are shown, which makes edges smooth. The palette is chosen here:
with Pillow's own, files are more than twice as large, or white is not white.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from tape import errors
from tape.system.extras import need
from tape.viz.graphviz import Point
from tape.viz.movie.shapes import LOOKS, Box, Curve, Head, Scene, Shape, Text
from tape.viz.style import LIGHT

if TYPE_CHECKING:
    from PIL import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

_ZOOM = 2
_COLOURS = 128  # enough for a dozen of flat ones and the shades between them
_LARGEST = 4e8  # pixels in all frames together: more take minutes, and memory by the gigabyte


def gif(scene: Scene, seconds: float, pause: float) -> bytes:
    """Return the animation: each frame takes ``seconds``, the last one ``pause`` more, then it repeats.

    Raises
    ------
    UnsupportedError
        If Pillow or matplotlib is not installed.
    OptionError
        If it would be too large.
    """
    for module in ("PIL", "matplotlib"):  # which has the fonts
        need(module, "GIFs", "viz", "Or save as .svg, which needs nothing")
    if scene.frames * scene.width * scene.height > _LARGEST:
        raise errors.OptionError(
            f"{scene.frames} frames of {scene.width:.0f} x {scene.height:.0f} pixels are too many for a GIF. "
            "Save as .svg, or draw less: pass a root, ids=range(100, 200), or layout='arc'"
        )
    images = _frames(scene)
    first = next(images)
    file = io.BytesIO()
    times = [round(1000 * seconds)] * (scene.frames - 1) + [round(1000 * (seconds + pause))]
    first.save(file, "GIF", save_all=True, append_images=images, duration=times, loop=0, disposal=1)
    return file.getvalue()


def _frames(scene: Scene) -> Iterator[Image.Image]:
    """Yield all frames, in the colours of one palette."""
    from PIL import Image, ImageDraw

    size = (round(scene.width) * _ZOOM, round(scene.height) * _ZOOM)
    ground = Image.new("RGB", size, LIGHT.ground)
    still = list(takewhile(lambda shape: shape.seen is None, scene.shapes))
    painter = ImageDraw.Draw(ground)
    for shape in still:
        _paint(painter, shape)
    moving = scene.shapes[len(still) :]

    def painted(k: int) -> Image.Image:
        image = ground.copy()
        painter = ImageDraw.Draw(image)
        for shape in moving:
            if shape.seen is None or any(first <= k < last for first, last in shape.seen):
                _paint(painter, shape)
        return image.reduce(_ZOOM)

    palette = _palette([painted(k) for k in range(0, scene.frames, max(1, scene.frames // 12))])
    for k in range(scene.frames):
        yield painted(k).quantize(palette=palette, dither=Image.Dither.NONE)


def _palette(samples: list[Image.Image]) -> Image.Image:
    """Return the most frequent colours of some frames: flat ones stay exact, shades become similar ones."""
    from PIL import Image

    counts: Counter[Any] = Counter()
    for sample in samples:
        for count, colour in sample.getcolors(1 << 16) or ():
            counts[colour] += count
    chosen: list[tuple[int, int, int]] = []
    for colour, _ in counts.most_common():
        # Pillow takes colours that differ by less for the same, and might pick the rarer one.
        if all(max(abs(a - b) for a, b in zip(colour, other, strict=True)) >= 8 for other in chosen):
            chosen.append(colour)
            if len(chosen) == _COLOURS:
                break
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in chosen for part in colour])
    return palette


def _paint(painter: ImageDraw, shape: Shape) -> None:
    look = LOOKS[shape.look]
    fill = getattr(LIGHT, look.fill) if look.fill else None
    line = getattr(LIGHT, look.line) if look.line else None
    width = round(look.width * _ZOOM)
    match shape:
        case Box():
            corners = (shape.x, shape.y, shape.x + shape.width, shape.y + shape.height)
            painter.rounded_rectangle(
                [c * _ZOOM for c in corners], min(shape.radius, shape.height / 2) * _ZOOM, fill, line, width
            )
        case Curve():
            painter.line([(x * _ZOOM, y * _ZOOM) for x, y in _sampled(shape.points)], line, width, "curve")
        case Head():
            painter.polygon([(x * _ZOOM, y * _ZOOM) for x, y in shape.corners], fill)
        case Text():
            _write(painter, shape, fill)


def _sampled(points: tuple[Point, ...], count: int = 16) -> Iterator[Point]:
    """Yield points on a chain of Bezier curves."""
    yield points[0]
    for k in range(0, len(points) - 1, 3):
        p, q, r, s = points[k : k + 4]
        if p[0] == s[0] == q[0] or p[1] == s[1] == q[1]:  # straight
            yield s
            continue
        for i in range(1, count + 1):
            t = i / count
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            yield (
                a * p[0] + b * q[0] + c * r[0] + d * s[0],
                a * p[1] + b * q[1] + c * r[1] + d * s[1],
            )


def _write(painter: ImageDraw, text: Text, fill: Any) -> None:
    """Write a line of text, smaller if it is wider than its room."""
    written = text.text.replace("-", "\N{MINUS SIGN}")
    name = ("DejaVuSansMono" if text.is_code else "DejaVuSans") + ("-Bold" if text.is_bold else "")
    font = _font(name, text.size)
    wide = font.getlength(written)
    if wide > text.room * _ZOOM:
        font = _font(name, text.size * text.room * _ZOOM / wide)
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[text.anchor]
    painter.text((text.x * _ZOOM, text.y * _ZOOM), written, fill, font, anchor)


@cache
def _font(name: str, size: float) -> FreeTypeFont:
    """Return a font of matplotlib's: they have most alphabets, and the widths that the layout counts with."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/{name}.ttf", size * _ZOOM)
