"""The colours of all pictures: a light and a dark palette, and the colours of curves.

A node's fill shows its state, its shape (drawn elsewhere) the kind of node.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

SANS = "Helvetica,Arial,sans-serif"
MONOSPACE = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'

STATES = ("active", "adjoint", "highlight", "inactive", "tangent")
"""The states of a node: for each there is a fill and, for outlines and arcs, a ``_line`` of the same hue."""


@dataclass(frozen=True)
class Palette:
    """Colours as ``#rrggbb``, by their role.

    Attributes
    ----------
    ground, ink, muted, line, cluster : str
        The background; text; secondary text; arcs and rules; the background of a name scope.
    active, active_line : str
        Nodes that have been evaluated and depend on a param (green), and their outlines.
    adjoint, adjoint_line : str
        Nodes that hold an adjoint (yellow).
    adjoint_ink : str
        Text that is an adjoint.
    highlight, highlight_line : str
        Highlights (red).
    inactive, inactive_line : str
        Nodes that depend on no param (grey).
    tangent, tangent_line : str
        Nodes that hold a tangent, in pictures of the forward mode (blue).

    Examples
    --------
    >>> from tape.viz.style import LIGHT
    >>> LIGHT.ground
    '#ffffff'
    """

    ground: str
    ink: str
    muted: str
    line: str
    cluster: str
    active: str
    active_line: str
    adjoint: str
    adjoint_line: str
    adjoint_ink: str
    highlight: str
    highlight_line: str
    inactive: str
    inactive_line: str
    tangent: str
    tangent_line: str


_COLOURS = {
    "ground": ("#ffffff", "#14181d"),
    "ink": ("#1d2329", "#e8ecf0"),
    "muted": ("#5b6570", "#9aa5b1"),
    "line": ("#a9b2bb", "#55606b"),
    "cluster": ("#f4f6f8", "#1c2229"),
    "active": ("#c3ecce", "#1e4d2e"),
    "active_line": ("#2f9e51", "#4cc274"),
    "adjoint": ("#ffe9a0", "#5e4708"),
    "adjoint_line": ("#c98a00", "#f0b429"),
    "adjoint_ink": ("#7a4b00", "#f7c95c"),
    "highlight": ("#ffb3ab", "#7a1f19"),
    "highlight_line": ("#d92d20", "#ff6f61"),
    "inactive": ("#e8ebee", "#2b323a"),
    "inactive_line": ("#8a949e", "#75808c"),
    "tangent": ("#bfdcff", "#173f6b"),
    "tangent_line": ("#2a78d6", "#62a8ff"),
}
LIGHT = Palette(**{role: light for role, (light, _) in _COLOURS.items()})
"""Colours on white."""
DARK = Palette(**{role: dark for role, (_, dark) in _COLOURS.items()})
"""Colours on near-black."""

CURVES = (LIGHT.tangent_line, "#ee7733", "#228833", "#aa3377", "#33bbee", "#997700", LIGHT.muted)
"""Colours of curves in one picture: blue, then Paul Tol's bright colours, which the colour-blind tell apart
(personal.sron.nl/~pault). Red is kept for errors."""


def css(selector: str, switch: str | None = None) -> str:
    """Return the palettes as CSS variables, light by default and dark where the reader's system is.

    Parameters
    ----------
    selector : str
        Which elements have them: a class of the picture's own, so that nothing else on a page changes.
    switch : str, optional
        An attribute of these elements, by which a reader may choose otherwise: ``light`` or ``dark``.

    Returns
    -------
    str
        ``--active``, ``--active-line``, ... for each field of `Palette`.

    Examples
    --------
    >>> from tape.viz.style import css
    >>> print(css(".picture")[:60])
    .picture{--ground:#ffffff;--ink:#1d2329;--muted:#5b6570;--li
    """
    light, dark = _variables(LIGHT), _variables(DARK)
    if switch is None:
        return f"{selector}{{{light}}}@media(prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
    return (
        f"{selector}{{{light}}}"
        f"@media(prefers-color-scheme:dark){{{selector}:not([{switch}=light]){{{dark}}}}}"
        f"{selector}[{switch}=dark]{{{dark}}}"
    )


def paint(attribute: str, colour: str) -> str:
    """Return a CSS declaration of a colour, twice: first for programs that know no CSS variables.

    Parameters
    ----------
    attribute : str
        What is painted, such as ``fill``.
    colour : str
        A field of `Palette`.

    Returns
    -------
    str

    Examples
    --------
    >>> from tape.viz.style import paint
    >>> paint("stroke", "active_line")
    'stroke:#2f9e51;stroke:var(--active-line)'
    """
    return f"{attribute}:{getattr(LIGHT, colour)};{attribute}:var({_variable(colour)})"


def _variable(colour: str) -> str:
    return f"--{colour.replace('_', '-')}"


def _variables(palette: Palette) -> str:
    return "".join(f"{_variable(name)}:{colour};" for name, colour in asdict(palette).items())
