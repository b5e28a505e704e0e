"""Layouts by Graphviz: what pictures rely on, for every graph."""

import shutil
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tape import errors
from tape.viz.graphviz import layout, render

pytestmark = pytest.mark.skipif(
    shutil.which("dot") is None, reason="Graphviz is not installed: apt install graphviz"
)


_ROUNDING = 2.0  # pixels: Graphviz ends edges at whole numbers


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 14))
    lengths = st.floats(20, 120)
    sizes = [(draw(lengths), draw(lengths)) for _ in range(count)]
    pairs = list(combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(pairs), max_size=2 * count, unique=True)) if pairs else []
    return sizes, edges


def sides(found, sizes, i):
    """Left, top, right and bottom of a box."""
    (x, y), (width, height) = found.centres[i], sizes[i]
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


@settings(max_examples=25)
@given(graphs(), st.sampled_from(["TB", "LR"]))
def test_layout_keeps_gaps_and_direction_and_connects_boxes(graph, direction):
    sizes, edges = graph
    found = layout(sizes, edges, direction=direction, gap=24, layer_gap=30, advice="")
    boxes = [sides(found, sizes, i) for i in range(len(sizes))]
    axis = 1 if direction == "TB" else 0
    first, last = (1, 3) if direction == "TB" else (0, 2)
    assert found.curves.keys() == set(edges)
    for parent, child in edges:
        assert boxes[parent][last] + 29.5 <= boxes[child][first]
        curve = found.curves[parent, child]
        assert len(curve) % 3 == 1
        assert curve[0][axis] == pytest.approx(boxes[parent][last], abs=_ROUNDING)
        assert curve[-1][axis] == pytest.approx(boxes[child][first], abs=_ROUNDING)
    for (left, top, right, bottom), (other_left, other_top, other_right, other_bottom) in combinations(
        boxes, 2
    ):
        assert right < other_left or other_right < left or bottom < other_top or other_bottom < top
    for left, top, right, bottom in boxes:
        assert left >= -0.5
        assert top >= -0.5
        assert right <= found.width + 0.5
        assert bottom <= found.height + 0.5


def test_layout_is_the_same_for_the_same_graph():
    sizes, edges = [(50.0, 20.0)] * 6, [(0, 2), (1, 2), (2, 4), (3, 4), (0, 5)]
    assert layout(sizes, edges, advice="") == layout(sizes, edges, advice="")


def test_failures_of_graphviz_end_with_the_advice():
    with pytest.raises(errors.UnsupportedError, match=r"Graphviz failed: .*, or walk"):
        render("digraph {", "plain", advice="walk")
