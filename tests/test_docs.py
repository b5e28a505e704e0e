"""The site of the documentation: its navigation holds every page, its reference every public name."""

import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
REFERENCE = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
MODULES = [
    "tape", "tape.compat.autograd", "tape.compat.autograd.builtins", "tape.compat.autograd.extend",
    "tape.compat.autograd.misc", "tape.compat.autograd.misc.fixed_points",
    "tape.compat.autograd.misc.flatten", "tape.compat.autograd.misc.optimizers",
    "tape.compat.autograd.scipy.integrate", "tape.compat.autograd.scipy.signal",
    "tape.compat.autograd.scipy.special", "tape.compat.autograd.scipy.stats",
    "tape.compat.autograd.test_util", "tape.config", "tape.distributed", "tape.errors",
    "tape.expressions", "tape.interop", "tape.nn", "tape.nn.initializers", "tape.numpy", "tape.numpy.fft",
    "tape.numpy.linalg", "tape.numpy.random", "tape.optim", "tape.optim.schedules", "tape.program",
    "tape.random", "tape.scipy", "tape.scipy.integrate", "tape.scipy.interpolate", "tape.scipy.linalg",
    "tape.scipy.ndimage", "tape.scipy.optimize", "tape.scipy.signal", "tape.scipy.sparse",
    "tape.scipy.sparse.linalg", "tape.scipy.spatial.distance", "tape.scipy.special", "tape.scipy.stats",
    "tape.sparse", "tape.testing", "tape.train", "tape.train.data", "tape.tree", "tape.viz",
]  # fmt: skip


def test_the_navigation_holds_every_page():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    assert set(PAGES) <= set(re.findall(r"[\w/-]+\.md", navigation))


@pytest.mark.parametrize("module", MODULES)
def test_the_reference_has_every_public_name(module):
    """Each name has an entry of its own, or is in the table that the site makes of the others."""
    if f"<!-- names of {module} -->" in REFERENCE:
        return
    found = importlib.import_module(module)
    entries = {entry.rpartition(".")[::2] for entry in re.findall(r"^::: (\S+)$", REFERENCE, re.MULTILINE)}
    for name in found.__all__:
        value = getattr(found, name)
        places = [place for place, entry in entries if entry == name]
        assert any(getattr(importlib.import_module(place), name) is value for place in places) or (
            inspect.ismodule(value) and f"{module}.{name}" in REFERENCE
        ), name


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page):
    """Files of the project that a page of the site links to; what they say of headings, MkDocs checks."""
    text = re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", (DOCS / page).read_text(), flags=re.DOTALL))
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
        if not target.startswith("pictures/"):
            assert ((DOCS / page).parent / target).exists(), target


# ---- the site, built -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def search_index(tmp_path_factory):
    """The sections of the site, by their location."""
    for name in ("mkdocs", "material", "mkdocstrings", "lunr"):
        pytest.importorskip(name, reason=f"the site needs {name}: pip install '.[docs]'")
    site = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(site)],
        cwd=ROOT, check=True,
    )  # fmt: skip
    sections = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    return {section["location"]: section for section in sections}


@pytest.fixture(scope="module")
def search(search_index):
    """A search as the site does it: titles, whole pages and sections with all the words count more."""
    from lunr import lunr

    documents = [
        ({**section, "text": re.sub(r"<[^>]+>", "", section["text"])}, {"boost": section.get("boost", 1)})
        for section in search_index.values()
    ]
    index = lunr("location", [{"field_name": "title", "boost": 1000}, "text"], documents)

    def places(query):
        hits = index.search(query)
        words = max(len(hit["match_data"].metadata) for hit in hits)
        score = {
            hit["ref"]: hit["score"]
            * (1 + (("#" not in hit["ref"]) + (len(hit["match_data"].metadata) == words)) ** 2)
            for hit in hits
        }
        return sorted(score, key=score.get, reverse=True)

    return places


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("differentiate in place", "numpy-code.html"),
        ("program calls back into Python", "programs.html#callbacks-why"),
        ("callback explain", "programs.html"),
        ("train with Trace", "layers.html#how-to-train-with-a-trace"),
        ("add an operation", "own-functions.html"),
        ("add op", "own-functions.html"),
        ("NaN gradient", "debugging.html"),
        ("sparse Hessian", "sparse.html"),
        ("EarlyStopping", "reference/train.html#tape.train.EarlyStopping"),
    ],
)
def test_a_search_finds_its_page_among_the_first(search, query, page):
    first = search(query)[:5]
    assert any(place.startswith(page) for place in first), first


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("reference/trace.html#tape.tanh", "hyperbolic tangent"),
        ("reference/transforms.html#tape.grad", "computes the gradient"),
        ("reference/viz.html#tape.viz.animate", "frame"),
    ],
)
def test_entries_are_those_of_functions(search_index, entry, words):
    """Not of the calls that make them, nor of the modules that have their names."""
    assert words in search_index[entry]["text"].lower()
