"""A scene as one animated SVG: CSS keyframes, no script; light or dark with the reader's system.

Where animations are turned off (``prefers-reduced-motion``) or not supported, the last frame is shown.
"""

from __future__ import annotations

from html import escape
from itertools import groupby
from zlib import crc32

from tape.viz.drawing import px
from tape.viz.graphviz import Point
from tape.viz.movie.shapes import LOOKS, Box, Curve, Head, Look, Scene, Shape, Span, Text
from tape.viz.style import MONOSPACE, SANS, css, paint

_FADE = 0.12  # seconds

_Timelines = dict[tuple[tuple[Span, ...], bool], str]  # by when something is seen, and whether it is text


def svg(scene: Scene, seconds: float, pause: float) -> str:
    """Return the animation: each frame takes ``seconds``, the last one ``pause`` more, then it repeats."""
    # Styles of an SVG that stands in a page hold for the whole page: each picture has names of its own.
    key = f"movie-{crc32(repr(scene).encode()):08x}"
    timelines: _Timelines = {}
    body = []
    for (seen, is_text), group in groupby(
        scene.shapes, key=lambda shape: (shape.seen, isinstance(shape, Text))
    ):
        drawn = "".join(_drawn(shape) for shape in group)
        if seen is None:
            body.append(drawn)
            continue
        name = timelines.setdefault((seen, is_text), f"{key}-{len(timelines)}")
        hidden = "" if seen[-1][1] == scene.frames else ' opacity="0"'
        body.append(f'<g class="{name}"{hidden}>{drawn}</g>')
    width, height, title = px(scene.width), px(scene.height), escape(scene.title)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{key}" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{title}">',
            f"<title>{title}</title>",
            f"<style>{_style(scene, timelines, f'.{key}', seconds, pause)}</style>",
            f'<rect class="ground" width="{width}" height="{height}" rx="10"/>',
            *body,
            "</svg>\n",
        ]
    )


# ---- the style sheet ---------------------------------------------------------------------------------


def _style(scene: Scene, timelines: _Timelines, of_ours: str, seconds: float, pause: float) -> str:
    """Return the style sheet, with all rules restricted to elements ``of_ours``."""
    used = {shape.look for shape in scene.shapes}
    rules = [
        css(of_ours),
        f"{of_ours}{{max-width:100%;height:auto}}",
        _rule(f"{of_ours} .ground", Look("ground")),
        *(_rule(f"{of_ours} .{name}", look) for name, look in LOOKS.items() if name in used),
        f"{of_ours} path{{stroke-linecap:round}}",
        f"{of_ours} .code{{font-family:{MONOSPACE}}}",
        f"{of_ours} .words{{font-family:{SANS}}}",
        f"{of_ours} .flow,{of_ours} .ebb{{stroke-dasharray:7 5;animation:tape-flow .6s linear infinite}}",
        f"{of_ours} .ebb{{animation-direction:reverse}}",
        f'{of_ours} [class$="-flash"]{{animation:tape-pulse {seconds:g}s ease-out infinite}}',
        "@keyframes tape-flow{to{stroke-dashoffset:-12}}",
        "@keyframes tape-pulse{40%{stroke-width:4}}",
    ]
    total = scene.frames * seconds + pause
    for (seen, is_text), name in timelines.items():
        # Boxes fade in and out; of two texts in one place only one is to be seen at any time.
        stops = _stops(seen, scene.frames, seconds, 0.0 if is_text else min(_FADE, seconds / 4))
        rules.append(
            f"@keyframes {name}{{"
            + "".join(f"{100 * at / total:.5g}%{{opacity:{opacity}}}" for at, opacity in stops)
            + f"to{{opacity:{stops[-1][1]}}}}}"
            f".{name}{{animation:{name} {total:g}s {'step-end' if is_text else 'linear'} infinite}}"
        )
    rules.append(f"@media(prefers-reduced-motion:reduce){{{of_ours} *{{animation:none!important}}}}")
    return "".join(rules)


def _rule(selector: str, look: Look) -> str:
    parts = [f"stroke-width:{look.width:g}"]
    for attribute, colour in (("fill", look.fill), ("stroke", look.line)):
        parts.append(paint(attribute, colour) if colour else f"{attribute}:none")
    return f"{selector}{{{';'.join(parts)}}}"


def _stops(seen: tuple[Span, ...], frames: int, seconds: float, fade: float) -> list[tuple[float, int]]:
    """Return the opacity over time, linear between these points, with a jump at the second of two."""
    stops = [(0.0, 1 if seen[0][0] == 0 else 0)]
    for first, last in seen:
        if first > 0:
            stops += [(first * seconds, 0), (first * seconds + fade, 1)]
        if last < frames:
            stops += [(last * seconds, 1), (last * seconds + fade, 0)]
    return stops


# ---- shapes ------------------------------------------------------------------------------------------


def _drawn(shape: Shape) -> str:
    match shape:
        case Box():
            place = f'x="{px(shape.x)}" y="{px(shape.y)}" rx="{px(shape.radius)}"'
            size = f'width="{px(shape.width)}" height="{px(shape.height)}"'
            note = f"<title>{escape(chr(10).join(shape.note))}</title>" if shape.note else ""
            return f'<rect class="{shape.look}" {place} {size}>{note}</rect>'
        case Curve():
            flow = ("", " flow", " ebb")[shape.flow]
            start, *others = (_point(point) for point in shape.points)
            path = f"M{start}C{' '.join(others)}"  # one C does for all curves of a chain
            return f'<path class="{shape.look}{flow}" d="{path}"/>'
        case Head():
            return f'<path class="{shape.look}" d="M{"L".join(_point(p) for p in shape.corners)}Z"/>'
        case Text():
            anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
            weight = ' font-weight="600"' if shape.is_bold else ""
            return (
                f'<text class="{shape.look} {"code" if shape.is_code else "words"}" x="{px(shape.x)}" '
                f'y="{px(shape.y)}" font-size="{shape.size:g}"{anchor}{weight}>{escape(shape.text)}</text>'
            )
    raise TypeError(shape)


def _point(point: Point) -> str:
    return f"{px(point[0])} {px(point[1])}"
