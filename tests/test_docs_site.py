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
def site(tmp_path_factory):
    """The folder that the site was built in."""
    for name in ("mkdocs", "material", "mkdocstrings", "lunr"):
        pytest.importorskip(name, reason=f"the site needs {name}: pip install '.[docs]'")
    site = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(site)],
        cwd=ROOT, check=True,
    )  # fmt: skip
    return site


@pytest.fixture(scope="module")
def search_file(site):
    return json.loads((site / "search" / "search_index.json").read_text())


@pytest.fixture(scope="module")
def search_index(search_file):
    """The sections of the site, by their location."""
    return {section["location"]: section for section in search_file["docs"]}


@pytest.fixture(scope="module")
def search(search_file):
    """A search as the site does it: titles, whole pages and sections with all the words count more."""
    from lunr import lunr

    def words_of(text):
        return " ".join(filter(None, re.split(search_file["config"]["separator"], text)))

    documents = [
        (
            {
                "location": section["location"],
                "title": words_of(section["title"]),
                "text": words_of(re.sub(r"<[^>]+>", "", section["text"])),
            },
            {"boost": section.get("boost", 1)},
        )
        for section in search_file["docs"]
    ]
    index = lunr("location", [{"field_name": "title", "boost": 1000}, "text"], documents)

    def places(query):
        hits = index.search(words_of(query))
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
        ("train with a Trace", "training.html#train-with-a-trace"),
        ("fit callback", "training.html#callbacks-of-fit"),
        ("callbacks", "training.html#callbacks-of-fit"),
        ("gradient clipping", "layers.html#gradient-clipping"),
        ("custom gradient", "own-functions.html"),
        ("install", "start.html#install"),
        ("random seed", "numpy-code.html#a-random-seed"),
        ("hessian vector product", "gradients.html#hessian-vector-products"),
        ("GPU", "limits.html"),
        ("TPU", "limits.html"),
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


def test_the_stepper_shows_the_lines_of_its_page(site):
    page = (site / "pictures" / "stepper.html").read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1])
    (file,) = data["sources"]["files"]
    assert file["name"] == "loss.py"
    text = (ROOT / "docs" / "the-tape.md").read_text()
    assert all(f">>> {line}\n" in text for _, line in file["lines"])
    assert "loss = np.sum((prediction - y) ** 2)" in dict(file["lines"]).values()


def test_pages_of_examples_show_the_docstring_once(site):
    page = (site / "examples" / "kalman.html").read_text()
    assert page.count("whose two variances are fitted by its likelihood.") == 1
    assert 'href="_common.html"' in page
    assert "def figure_of" in re.sub(r"<[^>]+>", "", (site / "examples" / "_common.html").read_text())
