"""Brute-force checks of colourings, and patterns to colour."""

from itertools import combinations, product

import numpy as np


def random_pattern(rng, rows, columns, share):
    return rng.uniform(size=(rows, columns)) < share


def random_symmetric_pattern(rng, size, share):
    pattern = random_pattern(rng, size, size, share)
    return pattern | pattern.T


def separates_columns(pattern, colours):
    """Return whether no two columns of one colour have an element in the same row."""
    pairs = combinations(np.flatnonzero(pattern.any(0)), 2)
    return all(colours[i] != colours[j] or not np.any(pattern[:, i] & pattern[:, j]) for i, j in pairs)


def _neighbours(pattern):
    graph = pattern & ~np.eye(len(pattern), dtype=bool)
    return [np.flatnonzero(row) for row in graph]


def is_proper(pattern, colours):
    return all(colours[v] != colours[w] for v, near in enumerate(_neighbours(pattern)) for w in near)


def is_star(pattern, colours):
    """Return whether it is proper, and no path on four vertices has two colours."""
    near = _neighbours(pattern)
    edges = [(v, w) for v, others in enumerate(near) for w in others]
    for v, w in edges:
        for x, y in product(near[v], near[w]):  # x - v - w - y
            if len({x, v, w, y}) == 4 and colours[x] == colours[w] and colours[v] == colours[y]:
                return False
    return is_proper(pattern, colours)


def is_acyclic(pattern, colours):
    """Return whether it is proper, and no cycle has two colours: each two colours make a forest."""
    graph = pattern & ~np.eye(len(pattern), dtype=bool)
    for a, b in combinations(range(max(colours, default=-1) + 1), 2):
        inside = np.flatnonzero((colours == a) | (colours == b))
        part = graph[np.ix_(inside, inside)].copy()
        while True:  # leaves are taken away, until a cycle is left, or nothing
            leaves = part.sum(0) == 1
            if not leaves.any():
                break
            part[leaves] = False
            part[:, leaves] = False
        if part.any():
            return False
    return is_proper(pattern, colours)
