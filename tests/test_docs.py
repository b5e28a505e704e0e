"""The site of the documentation: its navigation holds every page, its reference every public name."""

import importlib
import inspect
import re
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
