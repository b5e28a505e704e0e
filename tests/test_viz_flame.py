"""`tape.viz.flame`: bars as wide as their time."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

import tape
from tape.viz.flame import flame

SVG = "{http://www.w3.org/2000/svg}"


def _loss(w):
    with tape.name_scope("first <&> layer"):
        h = np.tanh(w * 2.0)
    return np.sum(h)


def _bars(drawing):
    found = {}
    for group in ET.fromstring(str(drawing)).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        found.setdefault(float(rect.get("y")), []).append(
            (float(rect.get("x")), float(rect.get("width")), group.find(f"{SVG}title").text)
        )
    return found


def test_bars_lie_side_by_side_within_those_above() -> None:
    rows = _bars(flame(tape.profile(_loss, np.ones(1000))))
    levels = [sorted(rows[y]) for y in sorted(rows)]
    for above, level in pairwise(levels):
        for (x, width, _), (following, _, _) in pairwise(level):
            assert x + width <= following + 0.15
        for x, width, _ in level:
            assert any(left - 0.15 <= x and x + width <= left + wide + 1.2 for left, wide, _ in above)


def test_it_is_split_by_pass_scope_function_line_and_operation() -> None:
    profile = tape.profile(_loss, np.ones(100_000))
    rows = _bars(flame(profile))
    titles = [title for level in rows.values() for _, _, title in level]
    for wanted in (
        "_loss: ",
        "forward: ",
        "backward: ",
        "first <&> layer: ",
        "_loss (test_viz_flame.py): ",
        "tanh: ",
    ):
        assert any(title.startswith(wanted) for title in titles), wanted
    assert any("h = np.tanh(w * 2.0)" in title for title in titles)
    whole = next(title for title in titles if title.startswith("_loss: "))
    assert re.search(r"100\.0%", whole)


def test_a_run_of_nothing_is_one_bar(tmp_path) -> None:
    path = tmp_path / "flame.svg"
    drawing = flame(tape.profile(lambda: 1), path)
    assert path.read_text() == str(drawing)
    ET.fromstring(str(drawing))


def test_names_that_xml_cannot_hold_are_shown_without_them() -> None:
    def f(x):
        with tape.name_scope("a\x00\x1b"):
            return np.sin(x)

    f.__name__ = "f\x00" + "x" * 500
    text = str(flame(tape.profile(f, 1.0)))
    assert len(ET.fromstring(text).get("aria-label")) <= 120
    assert "a??" in text


def test_the_profile_of_a_program_is_no_flame() -> None:
    found = tape.profile(tape.compile(_loss), np.ones(3))
    with pytest.raises(tape.errors.OptionError, match="not compiled"):
        flame(found)
