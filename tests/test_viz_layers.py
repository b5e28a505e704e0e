"""The layout in layers: what holds for every graph, and how a few of them look."""

import time
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tape import errors
from tape.viz.layers import layered


@st.composite
def graphs(draw, most=14):
    count = draw(st.integers(0, most))
    lengths = st.floats(1, 120)
    sizes = [(draw(lengths), draw(lengths)) for _ in range(count)]
    pairs = list(combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(pairs), max_size=2 * count)) if pairs else []
    return sizes, edges


def sides(layout, sizes, i):
    """Left, top, right and bottom of a box."""
    (x, y), (width, height) = layout.centres[i], sizes[i]
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


directions = st.sampled_from(["TB", "LR"])


@settings(deadline=None)
@given(graphs(), directions)
def test_children_are_further_along_than_their_parents(graph, direction):
    sizes, edges = graph
    layout = layered(sizes, edges, direction=direction, layer_gap=30)
    first, last = (1, 3) if direction == "TB" else (0, 2)
    for parent, child in edges:
        assert sides(layout, sizes, parent)[last] + 30 <= sides(layout, sizes, child)[first] + 1e-6


@settings(deadline=None)
@given(graphs(), directions)
def test_boxes_keep_their_distance(graph, direction):
    sizes, edges = graph
    layout = layered(sizes, edges, direction=direction, gap=20, layer_gap=30)
    for i, j in combinations(range(len(sizes)), 2):
        left, top, right, bottom = sides(layout, sizes, i)
        left_, top_, right_, bottom_ = sides(layout, sizes, j)
        assert max(left_ - right, left - right_, top_ - bottom, top - bottom_) >= 20 - 1e-6


@settings(deadline=None)
@given(graphs(), directions)
def test_edges_start_and_end_at_their_boxes_and_go_one_way(graph, direction):
    sizes, edges = graph
    layout = layered(sizes, edges, direction=direction)
    across, along = (0, 1) if direction == "TB" else (1, 0)
    assert set(layout.routes) == set(edges)
    for (parent, child), route in layout.routes.items():
        for end, i, side in ((route[0], parent, along + 2), (route[-1], child, along)):
            box = sides(layout, sizes, i)
            assert end[along] == pytest.approx(box[side])
            assert box[across] - 1e-6 <= end[across] <= box[across + 2] + 1e-6
        assert all(a[along] <= b[along] + 1e-6 for a, b in pairwise(route))


@settings(deadline=None)
@given(graphs(), directions)
def test_edges_pass_no_other_box(graph, direction):
    """Where a route goes straight through a layer, that is; its curves lie between layers."""
    sizes, edges = graph
    layout = layered(sizes, edges, direction=direction)
    across, along = (0, 1) if direction == "TB" else (1, 0)
    for edge, route in layout.routes.items():
        for i in set(range(len(sizes))) - set(edge):
            box = sides(layout, sizes, i)
            for a, b in pairwise(route):
                if a[across] == b[across] and b[along] > box[along] and a[along] < box[along + 2]:
                    assert not box[across] < a[across] < box[across + 2]


@settings(deadline=None)
@given(graphs(), directions)
def test_everything_lies_inside_and_is_the_same_each_time(graph, direction):
    sizes, edges = graph
    layout = layered(sizes, edges, direction=direction)
    assert layout == layered(sizes, list(reversed(edges)), direction=direction)
    points = [point for route in layout.routes.values() for point in route]
    for i in range(len(sizes)):
        left, top, right, bottom = sides(layout, sizes, i)
        points += [(left, top), (right, bottom)]
    for x, y in points:
        assert -1e-6 <= x <= layout.width + 1e-6
        assert -1e-6 <= y <= layout.height + 1e-6


@given(graphs(8))
def test_left_to_right_is_top_to_bottom_turned(graph):
    sizes, edges = graph
    turned = layered([(height, width) for width, height in sizes], edges, direction="LR")
    layout = layered(sizes, edges)
    assert turned.centres == [(y, x) for x, y in layout.centres]


def crossings(layout):
    """How many pairs of edges between two layers cross, for routes without waypoints."""
    ends = [(route[0][0], route[-1][0]) for route in layout.routes.values()]
    return sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(ends, 2))


def test_what_can_be_drawn_without_crossings_is():
    # A tree of four leaves whose recorded order interleaves them, with parents first.
    layout = layered([(10, 10)] * 7, [(0, 4), (2, 4), (1, 5), (3, 5), (4, 6), (5, 6)])
    assert crossings(layout) == 0


def test_a_chain_is_straight_whatever_joins_it():
    count = 60  # nodes of the chain; each takes in a leaf of its own, and all of them the first node
    edges = [(i, i + 1) for i in range(count - 1)] + [(0, i) for i in range(2, count)]
    edges = [(count + a, count + b) for a, b in edges] + [(i, count + i) for i in range(1, count)]
    layout = layered([(100, 40)] * 2 * count, edges)
    assert layout.width < 7 * 100
    assert layout.height == pytest.approx(count * 40 + (count - 1) * 40)


def test_a_leaf_stands_just_before_its_first_use():
    layout = layered([(10, 10)] * 4, [(0, 1), (1, 3), (2, 3)], layer_gap=10)
    assert layout.centres[2][1] == layout.centres[1][1] > layout.centres[0][1]


def test_two_hundred_nodes_take_no_time():
    edges = [(i - 1 - i % k, i) for k in (1, 2, 5, 17) for i in range(20, 200)] + [
        (0, i) for i in range(1, 200)
    ]
    start = time.process_time()
    layered([(120, 60)] * 200, edges)
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("edge", [(1, 0), (1, 1), (0, 2), (-1, 1)])
def test_children_come_after_their_parents(edge):
    with pytest.raises(errors.OptionError, match="parents come first"):
        layered([(1, 1), (1, 1)], [edge])


def test_unknown_direction():
    with pytest.raises(errors.OptionError, match="'TB' or 'LR', not 'RL'"):
        layered([], [], direction="RL")
