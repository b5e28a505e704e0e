"""The stepper: a tape as one HTML page, to walk through its passes step by step.

Puts the data, the style sheet and the scripts of this folder into the template. The page fetches nothing: its
own policy forbids that, and runs no script but these.
"""

from __future__ import annotations

import base64
import hashlib
import html as markup
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from tape import errors
from tape.progress import progress_bar
from tape.viz.stepper.data import page_data
from tape.viz.style import DARK, LIGHT
from tape.viz.view import cut

if TYPE_CHECKING:
    from tape.trace import Trace
    from tape.var import Var

__all__ = ["Page", "html"]

_SCRIPTS = ("model.js", "arcs.js", "list.js", "source.js", "details.js", "player.js", "search.js", "main.js")
"""In the order in which they build on each other."""


@dataclass(frozen=True, repr=False)
class Page:
    """An HTML page that notebooks show in a frame.

    Attributes
    ----------
    data : str
        The whole page.
    """

    data: str

    def _repr_html_(self) -> str:
        # Without allow-same-origin the page is nobody's: it could not reach the notebook if it tried.
        return (
            '<iframe sandbox="allow-scripts" style="width:100%;height:720px;border:0" title="Stepper" '
            f'srcdoc="{markup.escape(self.data)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Page: {len(self.data.encode()) / 1e6:.1f} MB of HTML>"


def html(
    trace: Trace,
    path: str | os.PathLike[str] | None = None,
    *,
    root: Var | None = None,
    tangents: Mapping[Var, Any] | None = None,
    adjoints: bool = True,
    title: str | None = None,
    limit: int = 100_000,
    progress: bool = False,
) -> Page:
    """A page to walk through a tape: forwards, backwards, and forwards again with tangents.

    The tape with its arcs, the values, adjoints and tangents as they come about, the source lines that
    recorded them (of traces made with ``sites=True``), and for each node its rules, in words and as
    formulas, and what it holds: numbers, statistics, a histogram, an image.

    Parameters
    ----------
    trace : Trace
        Stays as it is.
    path : path, optional
        Where to write the page: one file, which fetches nothing.
    root : Var, optional
        What the backward pass starts from, of any shape. By default the root of the trace's last sweep, with
        its seed, or else the last node, if that is a float that depends on a param.
    tangents : mapping of Var to array_like, optional
        What the forward-mode pass starts from: as for `Trace.jvp`. Ones for every param by default; ``{}``
        for no such pass.
    adjoints : bool
        Whether there is a backward pass.
    title : str, optional
        The name of the trace by default.
    limit : int
        How many nodes there may be at most.
    progress : bool
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    Page
        Shows itself in notebooks; the text is its ``data``.

    Raises
    ------
    OptionError
        If there are more nodes than ``limit``, or the folder of ``path`` does not exist.
    TraceMismatchError, SeedError, DTypeError
        If ``root`` or ``tangents`` do not fit the trace.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.viz.stepper import html
    >>> tr = tape.Trace(name="hello", sites=True)
    >>> a, b = tr.param(2.0, name="a"), tr.param(3.0, name="b")
    >>> y = np.sin(a * b) + a
    >>> page = html(tr)  # html(tr, "hello.html") writes it
    >>> "https://" in page.data
    False
    """
    if len(trace.nodes) > limit:
        raise errors.OptionError(
            f"{len(trace.nodes)} nodes are too many for a page that is still quick (limit={limit}). "
            "Record less, pass a larger limit, or print the trace"
        )
    if path is not None and not os.path.isdir(folder := os.path.dirname(os.path.abspath(path))):
        raise errors.OptionError(f"there is no folder {folder!r} to write a page to. Make it first")
    heading = cut(title if title is not None else trace.name or "tape", 80)
    with progress_bar(progress, "drawing", 3 * len(trace.nodes), "nodes") as bar:
        data = page_data(trace, root, tangents, adjoints, heading, bar)
    page = Page(_page(data, heading))
    if path is not None:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(page.data)
    return page


def _page(data: dict[str, Any], title: str) -> str:
    styles = f"{_colours()}\n{_file('stepper.css')}"
    parts = "\n".join(_file(f"scripts/{name}") for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{parts}\n}})();\n'
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(styles)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    filled = {
        "policy": policy,
        "title": markup.escape(title),
        "styles": styles,
        "data": _json(data),
        "script": script,
    }
    # All at once: what is put in is never looked at again, whatever it holds.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], _file("template.html"))


def _colours() -> str:
    """The palettes as CSS variables: as the reader's system is, or as the button of the page says."""
    light, dark = (
        "".join(f"--{name.replace('_', '-')}:{colour};" for name, colour in asdict(palette).items())
        for palette in (LIGHT, DARK)
    )
    return (
        f":root{{{light}color-scheme:light}}"
        f"@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}color-scheme:dark}}}}"
        f":root[data-theme=dark]{{{dark}color-scheme:dark}}"
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _json(data: dict[str, Any]) -> str:
    """JSON that no HTML parser mistakes for anything: only ASCII, and neither tags nor comments."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
