"""The site of the documentation, built: it has no warnings, and a search finds what it should.

In the full tier alone: MkDocs takes a minute, and what a page links to is checked in `tests.test_docs`.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


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
