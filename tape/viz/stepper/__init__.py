"""The stepper: a tape as one HTML page, to walk through its passes step by step.

Puts the data, the style sheet and the scripts of this folder into the template. The page fetches nothing:
its content security policy forbids that, and runs no script but these.
"""

from __future__ import annotations

import base64
import hashlib
import html as markup
import json
import os
import re
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

from tape import errors
from tape.inspect.words import one_line
from tape.system.progress import progress_bar
from tape.viz.drawing import Drawing, checked_path, saved
from tape.viz.options import check_number, check_trace
from tape.viz.stepper.data import page_data
from tape.viz.style import css

if TYPE_CHECKING:
    from tape.core.trace import Trace
    from tape.core.var import Var

__all__ = ["Page", "html"]

_SCRIPTS = ("model.js", "arcs.js", "list.js", "source.js", "details.js", "player.js", "search.js", "main.js")
"""In the order in which they build on each other."""


class Page(Drawing):
    """An HTML page, which notebooks show in a frame; ``str()`` of it is the page as text."""

    def _repr_mimebundle_(self, **ignored: Any) -> dict[str, str]:
        # Without allow-same-origin the page is nobody's: it could not reach the notebook if it tried.
        frame = (
            '<iframe sandbox="allow-scripts" style="width:100%;height:720px;border:0" title="Stepper" '
            f'srcdoc="{markup.escape(str(self))}"></iframe>'
        )
        return {"text/html": frame}


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
    """Draw a tape as a page to walk through: forwards, backwards, and forwards again with tangents.

    The page shows the tape with its arcs, values, adjoints and tangents as they are computed, the source
    lines that recorded them (of traces made with ``sites=True``), and for each node its rules, in words and
    as formulas, and its value: numbers, statistics, a histogram, an image.

    Parameters
    ----------
    trace : Trace
        The trace; it is not changed.
    path : path, optional
        The file to save it to, which ends in .html and needs no network.
    root : Var, optional
        The root of the backward pass, of any shape. By default the root of the trace's last sweep, with
        its seed, or else the last node, if that is a float that depends on a param.
    tangents : mapping of Var to array_like, optional
        The tangents of leaves for the forward-mode pass, as for `Trace.jvp`. By default ones for every param;
        ``{}`` for no such pass.
    adjoints : bool
        Whether there is a backward pass.
    title : str, optional
        The title of the page; by default the name of the trace.
    limit : int
        The most nodes there may be.
    progress : bool
        Whether to show a progress bar (needs tqdm).

    Returns
    -------
    Page
        Notebooks show it; ``.data`` is the file, ``str()`` of it the text, ``.save(path)`` writes it.

    Raises
    ------
    OptionError
        If there are more nodes than ``limit``, an option is out of range, or the file cannot be written
        there.
    TraceMismatchError, SeedError, DTypeError
        If ``root`` or ``tangents`` do not fit the trace.

    Notes
    -----
    Colours are light or dark as the reader's system is. A page that shows this one in a frame may choose:
    ``frame.contentWindow.postMessage({theme: "dark"}, "*")``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.viz.stepper import html
    >>> tr = tape.Trace(name="hello", sites=True)
    >>> a, b = tr.param(2.0, name="a"), tr.param(3.0, name="b")
    >>> y = np.sin(a * b) + a
    >>> page = html(tr)  # html(tr, "hello.html") writes it
    >>> "https://" in str(page)
    False
    """
    checked = checked_path(path, ("html", "htm"))
    check_trace(trace)
    check_number("limit", limit, "a number of nodes", 0)
    if len(trace.nodes) > limit:
        raise errors.OptionError(
            f"{len(trace.nodes)} nodes are too many for a page that is still quick (limit={limit}). "
            "Record less, pass a larger limit, or print the trace"
        )
    heading = one_line(str(trace.name or "tape" if title is None else title), 80)
    with progress_bar(progress, "drawing", 3 * len(trace.nodes), "nodes") as bar:
        data = page_data(trace, root, tangents, adjoints, heading, bar)
    return saved(Page(_page(data, heading).encode(), "html"), checked)


def _page(data: dict[str, Any], title: str) -> str:
    styles = f"{css(':root', switch='data-theme')}\n{_file('stepper.css')}"
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


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _json(data: dict[str, Any]) -> str:
    """Return JSON that is safe inside HTML: only ASCII, and neither tags nor comments."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
