"""What the site has beside the pages in ``docs/``: pictures, the sources of examples, tables of names.

- Files of other folders that pages link to (examples, their Markdown pages, ``CONTRIBUTING.md`` and so on)
  become pages, and links to them are turned.
- The pictures and the stepper of "The tape explained", and the pictures of the quicker examples, are drawn.
- ``<!-- gallery -->`` becomes the pictures, ``<!-- names of MODULE -->`` a table of the public names that
  the page does not describe itself.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import linecache
import os
import posixpath
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {
    "examples/functions.md": "functions.md",
    "examples/scipy.md": "scipy-names.md",
    "examples/rop.md": "rop.md",
    "README.md": "index.md",
}
"""Where a file of another folder is found on the site."""
PROJECT = {"CONTRIBUTING.md": "Contributing", "CHANGELOG.md": "Changes", "SECURITY.md": "Security"}
DRAWN = (
    "digits", "rosenbrock", "tanh_derivatives", "gaussian_process", "path_smoothing", "orbit", "taylor_sin",
    "kalman", "heat_source", "newton", "diamond", "gaussian", "spiral", "matrix_factorisation",
)  # fmt: skip
"""Examples that take few seconds."""
SHARED = ROOT / "examples" / "_common.py"
"""What examples import from next to them."""


def on_config(config: Any) -> Any:
    """Add pages of other folders to the navigation."""
    for section in config.nav:
        if "Examples" in section:
            pages = [*_examples(), SHARED]
            section["Examples"] += [{path.stem: f"examples/{path.stem}.md"} for path in pages]
        if "Inside" in section:
            section["Inside"] += [{PROJECT[name]: _page_of(name)} for name in PROJECT if _page_of(name)]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add pages of other folders, and pictures."""

    def add(place: str, content: str | bytes) -> None:
        files.append(File.generated(config, place, content=content))

    for source in [*PAGES, *PROJECT]:
        place = _page_of(source)
        if place and place != "index.md":
            add(place, _turned(_text(source), source, place))
    pictures = _pictures()
    for path in [*_examples(), SHARED]:
        add(f"examples/{path.stem}.md", _example_page(path, f"{path.stem}.png" in pictures))
    for name, content in pictures.items():
        add(f"pictures/{name}", content)
    return files


def on_page_markdown(markdown: str, page: Any, **ignored: Any) -> str:
    """Turn links to files of other folders, list names, and colour sessions of Python."""
    place = page.file.src_uri
    if place.startswith(("examples/", "reference/")):
        page.meta["search"] = {"boost": 0.3}  # guides come first: names are found anyway
    if page.file.generated_by is None:
        markdown = _turned(markdown, f"docs/{place}", place)
    described = set(re.findall(r"^::: (\S+)$", markdown, re.MULTILINE))
    markdown = re.sub(
        r"^<!-- names of (\S+) -->$", lambda m: names_table(m[1], described), markdown, flags=re.MULTILINE
    )
    markdown = markdown.replace("<!-- gallery -->", _gallery())
    return re.sub(r"^(\s*)```python\n(\s*>>> )", r"\1```pycon\n\2", markdown, flags=re.MULTILINE)


def names_table(module: str, described: set[str]) -> str:
    """Return a table of the public names of a module that are not among those described elsewhere."""
    found = import_module(module)
    rows = []
    for name in public_names(found):
        if f"{module}.{name}" in described or name.startswith("__"):
            continue
        value = getattr(found, name)
        rows.append(f"| `{name}` | {_owner(value)} | {_summary(value)} |")
    return "\n".join(["| name | by | |", "|---|---|---|", *rows])


def public_names(module: ModuleType) -> list[str]:
    """Return the public names of a module: those it declares, or those of its own that need no underscore."""
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return sorted(set(declared))
    return sorted(name for name in dir(module) if not name.startswith("_"))


# ---- links -----------------------------------------------------------------------------------------------


def _page_of(source: str) -> str | None:
    """Return the place on the site of a file of the repository, None if it has none."""
    if source in PAGES:
        return PAGES[source]
    if source in PROJECT and (ROOT / source).exists():
        return source.lower()
    path = Path(source)
    if path.parent == Path("examples") and ROOT / path in _examples():
        return f"examples/{path.stem}.md"
    return None


def _turned(markdown: str, source: str, place: str) -> str:
    """Return a text whose relative links, right in the repository, are right on the site."""

    def turn(match: re.Match[str]) -> str:
        text, target, heading = match.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path.startswith("docs/"):
            page: str | None = path.removeprefix("docs/")
        else:
            page = _page_of(path)
        if page == "index.md" and heading == "#where-things-are":
            page, heading = "where-things-are.md", ""
        if page is None:
            return text
        return f"[{text}]({posixpath.relpath(page, posixpath.dirname(place) or '.')}{heading or ''})"

    return re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)", turn, markdown)


def _text(source: str) -> str:
    return (ROOT / source).read_text(encoding="utf-8")


# ---- names -----------------------------------------------------------------------------------------------


def _owner(value: Any) -> str:
    kind = value if inspect.isclass(value) or inspect.isfunction(value) else type(value)
    owner = (getattr(value, "__module__", None) or getattr(kind, "__module__", "") or "").partition(".")[0]
    if isinstance(value, ModuleType):
        owner = value.__name__.partition(".")[0]
    return {"tape": "tape", "numpy": "NumPy", "scipy": "SciPy"}.get(owner, "Python")


def _summary(value: Any) -> str:
    """Return the first sentence of a docstring, without the signature that some begin with."""
    if isinstance(value, str | int | float | tuple | dict | None):
        return ""
    for line in (inspect.getdoc(value) or "").split("\n\n"):
        sentence = " ".join(line.split())
        if sentence and not re.match(r"^[\w.]+\(.*\)( ->.*)?$", sentence):
            return sentence.replace("|", "\\|").replace("<", "&lt;")[:160]
    return ""


# ---- examples --------------------------------------------------------------------------------------------


@cache
def _examples() -> list[Path]:
    return sorted(path for path in (ROOT / "examples").glob("*.py") if not path.name.startswith("_"))


def _example_page(path: Path, is_drawn: bool) -> str:
    title, text, code = _described(path)
    text = re.sub(r"(?m)^    (.*)$", r"`\1`  ", text)
    picture = f"![The picture that {path.name} draws](../pictures/{path.stem}.png)" if is_drawn else ""
    listing = f'```python title="examples/{path.name}"\n{code}```'
    is_sharing = re.search(r"^from _common import", code, re.MULTILINE)
    shared = f"`_common` is [a file next to it]({SHARED.stem}.md)." if is_sharing else ""
    return "\n\n".join([f"# {path.stem}", title, text, picture, listing, shared]) + "\n"


def _gallery() -> str:
    return "\n".join(['<div class="gallery" markdown>', "", *map(_figure, DRAWN), "</div>"])


def _figure(name: str) -> str:
    title, _, _ = _described(ROOT / "examples" / f"{name}.py")
    return f"[![{name}](pictures/{name}.png)](examples/{name}.md)\n[{name}](examples/{name}.md): {title}\n"


def _described(path: Path) -> tuple[str, str, str]:
    """Return the first sentence of an example's docstring, the rest of it, and the code after it."""
    source = path.read_text(encoding="utf-8")
    module = ast.parse(source)
    title, _, text = (ast.get_docstring(module) or "").partition("\n\n")
    code = "".join(source.splitlines(keepends=True)[module.body[0].end_lineno :])
    return title.replace("*", "\\*"), text, code.lstrip("\n")


# ---- pictures --------------------------------------------------------------------------------------------


@cache
def _pictures() -> dict[str, str | bytes]:
    """Return files by name; once in a process, since ``mkdocs serve`` builds again and again."""
    with ThreadPoolExecutor(2) as pool:
        drawn = list(pool.map(_run, DRAWN))
    return {**_tape_pictures(), **{name: content for found in drawn for name, content in found.items()}}


def _run(name: str) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--output", f"{folder}/{name}.png"],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"examples/{name}.py has failed:\n{done.stderr}")
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def _tape_pictures() -> dict[str, str | bytes]:
    import numpy as np

    import tape
    from tape import viz

    recorded = _first_session("docs/the-tape.md", "loss.py")
    trace, loss, slope = recorded["tr"], recorded["loss"], recorded["slope"]
    trace.backward(loss)
    twice = tape.Trace(name="diamond")
    a = twice.param(1.2, name="a")
    product = np.sin(a) * a**2
    twice.backward(product)
    return {
        "stepper.html": str(viz.html(trace, root=loss, tangents={slope: 1.0})),
        "arc.svg": str(viz.arc(trace)),
        "passes.svg": str(viz.animate(twice)),
    }


def _first_session(page: str, filename: str) -> dict[str, Any]:
    """Return the variables that the first session of a page makes; its lines are known under a file name."""
    session = _text(page).partition("```python\n")[2].partition("```")[0]
    examples = doctest.DocTestParser().get_examples(session)
    code = "".join(example.source for example in examples if not example.want)
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
    variables: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, filename, "exec"), variables)
    return variables
