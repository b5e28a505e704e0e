"""A drawing of a directed acyclic graph in layers: where boxes stand and which way edges take.

The method of Sugiyama, with the edges of one parent sharing their way: layers by longest paths, order by
barycentres, coordinates by least squares. Plain ids and numbers, nothing of tapes; no outside program.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from tape import errors
from tape.viz.options import check_choice

__all__ = ["Layout", "Point", "layered"]

Point = tuple[float, float]
_Adjacency = list[list[int]]

_ORDER_SWEEPS = 12
_PLACE_SWEEPS = 16
_PORT_GAP = 16.0  # between the ends of edges at one box
_PORT_REACH = 24.0  # how far from the middle of a box edges end
_LINE_GAP = 14.0  # what an edge that passes by keeps free


@dataclass(frozen=True)
class Layout:
    """Where everything is, in the units of the sizes, from the top left corner.

    Attributes
    ----------
    centres : list of (x, y)
        The middle of each box.
    routes : dict of (parent, child) to list of (x, y)
        The points each edge passes, from the border of its parent's box to that of its child's. Between two
        of them it may be drawn as a curve that leaves and arrives in the direction of the flow.
    width, height : float
        The extent of everything.
    """

    centres: list[Point]
    routes: dict[tuple[int, int], list[Point]]
    width: float
    height: float


def layered(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    *,
    direction: Literal["TB", "LR"] = "TB",
    gap: float = 24.0,
    layer_gap: float = 40.0,
) -> Layout:
    """Lay out a graph so that all edges point one way.

    Parameters
    ----------
    sizes : sequence of (width, height)
        Of the boxes 0, 1, ....
    edges : sequence of (parent, child)
        Parents come before their children; edges given twice are drawn once.
    direction : {"TB", "LR"}
        From top to bottom, or from left to right.
    gap, layer_gap : float
        The space between boxes of one layer, and between layers.

    Returns
    -------
    Layout
        The same for the same graph.

    Raises
    ------
    OptionError
        If a child comes before its parent, or the direction is another one.

    Notes
    -----
    Layers and the weights of edges are those of Gansner, Koutsofios, North and Vo, "A technique for drawing
    directed graphs" (1993). Coordinates minimise the squared lengths of edges across the flow, layer by
    layer: with the order given, that is an isotonic regression.

    Examples
    --------
    >>> from tape.viz.layers import layered
    >>> layout = layered([(20, 10), (20, 10), (20, 10)], [(0, 2), (1, 2)], gap=10, layer_gap=30)
    >>> layout.centres
    [(10.0, 5.0), (40.0, 5.0), (25.0, 45.0)]
    >>> layout.routes[0, 2]
    [(10.0, 10.0), (18.0, 40.0)]
    """
    check_choice("direction", direction, ("TB", "LR"))
    for parent, child in edges:
        if not 0 <= parent < child < len(sizes):
            raise errors.OptionError(
                f"there can be no edge from {parent} to {child} among {len(sizes)} boxes: parents come first"
            )
    across, along = (0, 1) if direction == "TB" else (1, 0)
    graph = _Graph(len(sizes), sorted(set(edges)))
    widths = [float(size[across]) for size in sizes] + [_LINE_GAP] * (len(graph.layer) - len(sizes))
    layers = _ordered(graph)
    middles = _placed(graph, layers, widths, gap)
    thickness = [max((sizes[i][along] for i in layer if i < len(sizes)), default=0.0) for layer in layers]
    tops = [0.0]
    for thick in thickness:
        tops.append(tops[-1] + thick + layer_gap)
    routes = _routes(graph, sizes, middles, tops, thickness, across)
    every_x = [x for route in routes.values() for x, _ in route]
    left = min((middles[i] - widths[i] / 2 for i in range(len(sizes))), default=0.0)
    right = max((middles[i] + widths[i] / 2 for i in range(len(sizes))), default=0.0)
    left, right = min([left, *every_x]), max([right, *every_x])

    def placed(x: float, y: float) -> Point:
        return (x - left, y) if direction == "TB" else (y, x - left)

    centres = [
        placed(middles[i], tops[graph.layer[i]] + thickness[graph.layer[i]] / 2) for i in range(len(sizes))
    ]
    width, height = placed(right, max(tops[-1] - layer_gap, 0.0))
    return Layout(
        centres, {edge: [placed(*point) for point in route] for edge, route in routes.items()}, width, height
    )


class _Graph:
    """The graph with waypoints: where an edge passes a layer, there is one for it and its siblings.

    Attributes
    ----------
    layer : list of int
        Of each node: first the given ones, then waypoints.
    above, below : list of list of int
        The neighbours of each node in the layers before and after.
    ways : dict of (parent, child) to list of int
        The nodes each edge visits, its ends included.
    """

    def __init__(self, count: int, edges: list[tuple[int, int]]) -> None:
        self.count = count
        self.layer = _layers(count, edges)
        self.above: _Adjacency = [[] for _ in range(count)]
        self.below: _Adjacency = [[] for _ in range(count)]
        self.ways: dict[tuple[int, int], list[int]] = {}
        trunks: dict[int, list[int]] = {i: [i] for i in range(count)}  # waypoints of a parent, layer by layer
        for parent, child in edges:
            trunk = trunks[parent]
            span = self.layer[child] - self.layer[parent]
            while len(trunk) < span:
                self.layer.append(self.layer[parent] + len(trunk))
                self.above.append([trunk[-1]])
                self.below.append([])
                self.below[trunk[-1]].append(len(self.layer) - 1)
                trunk.append(len(self.layer) - 1)
            last = trunk[span - 1]
            self.below[last].append(child)
            self.above[child].append(last)
            self.ways[parent, child] = [*trunk[:span], child]

    def weight(self, a: int, b: int) -> float:
        """How much it matters that an edge is straight: most for the long ones, least for one from a leaf.

        Else a chain that takes in a leaf at each step, or passes a long edge, goes down in a slant.
        """
        waypoints = (a >= self.count) + (b >= self.count)
        if waypoints:
            return (2.0, 100.0)[waypoints - 1]
        return 1.0 if self.above[min(a, b)] else 0.01


def _layers(count: int, edges: list[tuple[int, int]]) -> list[int]:
    """The longest path to each node; nodes without parents stand just before their first child."""
    layer = [0] * count
    for parent, child in sorted(edges, key=lambda edge: edge[1]):
        layer[child] = max(layer[child], layer[parent] + 1)
    has_parents = {child for _, child in edges}
    first_use: dict[int, int] = {}
    for parent, child in edges:
        first_use[parent] = min(first_use.get(parent, layer[child]), layer[child])
    return [layer[i] if i in has_parents or i not in first_use else first_use[i] - 1 for i in range(count)]


# ---- the order within layers -------------------------------------------------------------------------


def _ordered(graph: _Graph) -> list[list[int]]:
    """The nodes of each layer, in an order with few crossings."""
    layers: list[list[int]] = [[] for _ in range(max(graph.layer, default=-1) + 1)]
    for node in _depth_first(graph):
        layers[graph.layer[node]].append(node)
    best, fewest = layers, _crossings(graph, layers)
    for sweep in range(_ORDER_SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        neighbours = graph.above if downwards else graph.below
        layers = list(layers)
        rank: dict[int, int] = {}
        for k in range(len(layers)) if downwards else range(len(layers) - 1, -1, -1):
            layers[k] = _by_barycentre(layers[k], neighbours, rank)
            rank.update((node, i) for i, node in enumerate(layers[k]))
        count = _crossings(graph, layers)
        if count < fewest:
            best, fewest = layers, count
    return best


def _depth_first(graph: _Graph) -> list[int]:
    """All nodes, each followed by what hangs on it: subtrees start out side by side."""
    seen = bytearray(len(graph.layer))
    found = []
    for start in range(graph.count):
        stack = [start]
        while stack:
            node = stack.pop()
            if seen[node]:
                continue
            seen[node] = 1
            found.append(node)
            stack.extend(reversed(graph.below[node]))
    return found


def _by_barycentre(layer: list[int], neighbours: _Adjacency, rank: dict[int, int]) -> list[int]:
    """A layer by the mean place of its neighbours; nodes without any stay where they are."""
    means = {i: sum(rank[j] for j in neighbours[i]) / len(neighbours[i]) for i in layer if neighbours[i]}
    in_order = iter(sorted(means, key=means.__getitem__))
    return [next(in_order) if i in means else i for i in layer]


def _crossings(graph: _Graph, layers: list[list[int]]) -> int:
    """How many pairs of edges cross between neighbouring layers."""
    total = 0
    for layer, following in pairwise(layers):
        rank = {node: i for i, node in enumerate(following)}
        passed: list[int] = []  # where the edges so far end, in order
        for node in layer:
            ends = sorted(rank[child] for child in graph.below[node])
            for end in ends:
                total += len(passed) - bisect_right(passed, end)
            for end in ends:
                insort(passed, end)
    return total


# ---- coordinates -------------------------------------------------------------------------------------


def _placed(graph: _Graph, layers: list[list[int]], widths: list[float], gap: float) -> list[float]:
    """Where each node stands across the flow."""
    middles = [0.0] * len(graph.layer)
    for layer in layers:
        edge = 0.0
        for node in layer:
            middles[node] = edge + widths[node] / 2
            edge += widths[node] + gap
    both = [[*above, *below] for above, below in zip(graph.above, graph.below, strict=True)]
    passes: list[tuple[_Adjacency, bool]] = [(graph.above, True), (graph.below, False)] * (_PLACE_SWEEPS // 2)
    for neighbours, downwards in [*passes, (both, True), (both, False)]:
        for layer in layers if downwards else reversed(layers):
            wishes, weights = [], []
            for node in layer:
                near = [(graph.weight(node, other), middles[other]) for other in neighbours[node]]
                weight = sum(w for w, _ in near)
                wishes.append(sum(w * x for w, x in near) / weight if near else middles[node])
                weights.append(weight if near else 0.01)
            for node, x in zip(layer, _apart(wishes, weights, _distances(layer, widths, gap)), strict=True):
                middles[node] = x
    return middles


def _distances(layer: list[int], widths: list[float], gap: float) -> list[float]:
    """How far apart neighbours in a layer stand at least."""
    return [(widths[a] + widths[b]) / 2 + gap for a, b in pairwise(layer)]


def _apart(wishes: list[float], weights: list[float], distances: list[float]) -> list[float]:
    """The places nearest to the wishes, in the weighted squares, that keep the order and the distances.

    Without the distances these places are the isotonic regression, by pooling adjacent violators.
    """
    offsets = list(accumulate(distances, initial=0.0))
    pools: list[tuple[float, float, int]] = []  # the mean wish, the weight, how many
    for wish, weight, offset in zip(wishes, weights, offsets, strict=True):
        mean, count = wish - offset, 1
        while pools and pools[-1][0] >= mean:
            before, heavy, many = pools.pop()
            mean = (before * heavy + mean * weight) / (heavy + weight)
            weight, count = heavy + weight, many + count
        pools.append((mean, weight, count))
    flat = [mean for mean, _, count in pools for _ in range(count)]
    return [x + offset for x, offset in zip(flat, offsets, strict=True)]


# ---- edges -------------------------------------------------------------------------------------------


def _routes(
    graph: _Graph,
    sizes: Sequence[tuple[float, float]],
    middles: list[float],
    tops: list[float],
    thickness: list[float],
    across: int,
) -> dict[tuple[int, int], list[Point]]:
    """The points of each edge: out of the middle of a box, through layers, into a port of another box."""

    def borders(node: int) -> Point:
        layer = graph.layer[node]
        middle, half = tops[layer] + thickness[layer] / 2, sizes[node][1 - across] / 2
        return middle - half, middle + half

    port = _ports(graph, [size[across] for size in sizes], middles)
    routes = {}
    for (parent, child), way in graph.ways.items():
        last = way[-2]
        above, below = graph.layer[parent], graph.layer[child]
        points = [
            (middles[parent], borders(parent)[1]),
            (middles[parent], tops[above] + thickness[above]),
        ]
        for node in way[1:-1]:
            top = tops[graph.layer[node]]
            points += [(middles[node], top), (middles[node], top + thickness[graph.layer[node]])]
        x = port(last, child)
        points += [(x, tops[below]), (x, borders(child)[0])]
        routes[parent, child] = [point for k, point in enumerate(points) if not k or point != points[k - 1]]
    return routes


def _ports(graph: _Graph, widths: list[float], middles: list[float]) -> Callable[[int, int], float]:
    """Where on the side of a box the edge from a neighbour arrives: straight ahead, or near the middle."""
    places: dict[int, dict[int, float]] = {}
    for child in range(graph.count):
        if not graph.above[child]:
            continue
        middle, reach = middles[child], min(_PORT_REACH, 0.35 * widths[child])
        arriving = sorted(graph.above[child], key=middles.__getitem__)
        step = min(_PORT_GAP, 2 * reach / max(len(arriving) - 1, 1))
        wishes = [min(max(middles[node], middle - reach), middle + reach) for node in arriving]
        ports = _apart(wishes, [1.0] * len(wishes), [step] * (len(wishes) - 1))
        # Where they made room for each other, some may have left the box.
        last = len(ports) - 1
        places[child] = {
            node: min(max(port, middle - reach + k * step), middle + reach - (last - k) * step)
            for k, (node, port) in enumerate(zip(arriving, ports, strict=True))
        }
    return lambda node, child: places[child][node]
