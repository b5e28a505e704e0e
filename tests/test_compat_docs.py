"""The pages in docs/: names of tape that they mention exist, and links lead somewhere."""

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import tape

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("coming-from-*.md"))
ALIASES = {"np": np, "scipy": scipy}


def named(name: str) -> Any:
    """Return what a dotted name stands for: attributes, or modules that an import finds."""
    parts = name.split(".")
    found: Any = tape if parts[0] == "tape" else ALIASES[parts[0]]
    for k, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(".".join(parts[:k]))
    return found


def test_there_is_a_page_for_each_library():
    assert [page.stem for page in PAGES] == [
        f"coming-from-{name}" for name in ("autograd", "casadi", "jax", "matlab", "pytorch")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_that_a_page_mentions_exist(page):
    code = re.findall(r"`([^`\n]+)`", page.read_text())
    names = {name for text in code for name in re.findall(r"(?<![\w.])(?:tape|np)(?:\.[a-zA-Z]\w*)+", text)}
    assert len(names) > 15
    for name in sorted(names):
        assert named(name) is not None


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page):
    text = re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    for target, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
        file = page.parent / target if target else page
        assert file.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in slugs, heading


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_have_two_columns(page):
    rows = [line for line in page.read_text().splitlines() if line.startswith("|")]
    assert len(rows) > 20
    for row in rows:
        assert re.sub(r"`[^`]*`", "", row).count("|") == 3, row
