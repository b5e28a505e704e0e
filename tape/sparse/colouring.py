"""Colourings: which columns of a derivative are swept together, and where its elements are found then.

A sweep along the sum of all columns of one colour gives a row of *compressed* values, one for each row of the
derivative. Elements are read there: directly, or, for an acyclic colouring of a symmetric matrix, by
substitution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, triu

from tape.kernels import colouring as kernels

_HUB = 10_000
"""Vertices with more neighbours get a colour of their own: colouring takes the square of the number."""


@dataclass(frozen=True)
class Substitution:
    """How elements follow from sums of elements, one after the other.

    Attributes
    ----------
    sources, targets : numpy.ndarray
        For each element the compressed value that holds it alone when it is its turn, and the one that it is
        taken from.
    elements : numpy.ndarray
        For each element of the derivative, in order, the number of its turn; diagonal elements come last.
    diagonal : numpy.ndarray
        Where diagonal elements are read directly.
    """

    sources: np.ndarray
    targets: np.ndarray
    diagonal: np.ndarray
    elements: np.ndarray

    def values(self, compressed: np.ndarray) -> np.ndarray:
        """Return the elements of the derivative."""
        diagonal = compressed[self.diagonal]
        found = np.empty(len(self.sources), compressed.dtype)
        kernels.substitute(compressed, self.sources, self.targets, found)
        return np.concatenate([found, diagonal])[self.elements]


@dataclass(frozen=True)
class Colouring:
    """A colouring of the columns of a pattern, or of its rows.

    Attributes
    ----------
    colours : numpy.ndarray
        Of each column (row), from 0; -1 where it holds no element.
    count : int
        How many there are: the number of sweeps.
    places : numpy.ndarray or None
        For each element of the pattern, in order, its place among the compressed values.
    substitution : Substitution or None
        In place of these, for an acyclic colouring.
    """

    colours: np.ndarray
    count: int
    places: np.ndarray | None
    substitution: Substitution | None = None

    def seeds(self, start: int, stop: int, dtype: Any) -> np.ndarray:
        """Return the directions of the sweeps: a row for each colour from ``start`` to ``stop``."""
        return (np.arange(start, stop)[:, None] == self.colours).astype(dtype)


def by_columns(pattern: csr_array) -> Colouring:
    """Colour columns so that no two of one colour share a row."""
    columns = pattern.tocsc()
    of_rows, of_columns = ((as_int64(x.indptr), as_int64(x.indices)) for x in (pattern, columns))
    degrees = np.diff(columns.indptr)
    colours = _fewest(
        degrees, lambda order, found: kernels.colour_columns(*of_rows, *of_columns, order, found)
    )
    rows, members = _positions(pattern)
    return Colouring(colours, _count(colours), colours[members] * pattern.shape[0] + rows)


def by_rows(pattern: csr_array) -> Colouring:
    """Colour rows so that no two of one colour share a column."""
    turned = by_columns(csr_array(pattern.T))
    rows, members = _positions(pattern)
    return Colouring(turned.colours, turned.count, turned.colours[rows] * pattern.shape[1] + members)


def symmetric(pattern: csr_array) -> Colouring:
    """Colour the columns of a symmetric pattern so that each element, or its mirror image, stands alone."""
    size = pattern.shape[0]
    colours = _of_graph(pattern, kernels.colour_stars)
    rows, members = _positions(pattern)
    row, column = np.minimum(rows, members), np.maximum(rows, members)
    count = _count(colours)
    crowd = np.bincount(colours[members] * size + rows, minlength=count * size)
    here, there = colours[column] * size + row, colours[row] * size + column
    return Colouring(colours, count, np.where(crowd[here] == 1, here, there))


def acyclic(pattern: csr_array) -> Colouring:
    """Colour the columns of a symmetric pattern so that its elements follow by substitution."""
    size = pattern.shape[0]
    colours = _of_graph(pattern, kernels.colour_acyclically)
    upper = csr_array(triu(pattern, 1))
    tails, heads = _positions(upper)
    edges = len(tails)
    at_tail, at_head = colours[heads] * size + tails, colours[tails] * size + heads
    incident = np.concatenate([at_tail, at_head])
    sums = _count(colours) * size
    left = np.bincount(incident, minlength=sums)
    totals = np.zeros(sums, np.int64)
    np.add.at(totals, incident, np.tile(np.arange(edges), 2))
    order, is_tail = np.empty(edges, np.int64), np.empty(edges, bool)
    kernels.order_substitution(at_tail, at_head, left, totals, order, is_tail)
    turn = np.empty(edges, np.int64)
    turn[order] = np.arange(edges)
    rows, members = _positions(pattern)
    on_diagonal = rows == members
    number = csr_array((np.arange(1, edges + 1), upper.indices, upper.indptr), pattern.shape)
    number = csr_array(number + number.T)
    number.sort_indices()
    elements = np.empty(len(rows), np.int64)
    elements[~on_diagonal] = turn[number.data - 1]
    diagonal = rows[on_diagonal]
    elements[on_diagonal] = edges + np.arange(len(diagonal))
    sources = np.where(is_tail, at_tail[order], at_head[order])
    targets = np.where(is_tail, at_head[order], at_tail[order])
    substitution = Substitution(sources, targets, colours[diagonal] * size + diagonal, elements)
    return Colouring(colours, _count(colours), None, substitution)


# ---- helpers ---------------------------------------------------------------------------------------


def as_int64(array: np.ndarray) -> np.ndarray:
    """Return an array of indices as kernels take it."""
    return np.ascontiguousarray(array, np.int64)


def _positions(pattern: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of each element, in order."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return rows, as_int64(pattern.indices)


def _count(colours: np.ndarray) -> int:
    return int(colours.max(initial=-1)) + 1


def _fewest(degrees: np.ndarray, colour: Callable[[np.ndarray, np.ndarray], None]) -> np.ndarray:
    """Colour all vertices that have neighbours, in two orders, and return the colours of the better one."""
    candidates: Iterable[np.ndarray] = (np.arange(len(degrees)), np.argsort(-degrees, kind="stable"))
    best = None
    for order in candidates:
        found = np.full(len(degrees), -1)
        colour(as_int64(order[degrees[order] > 0]), found)
        if best is None or _count(found) < _count(best):
            best = found
    assert best is not None
    return best


def _of_graph(pattern: csr_array, kernel: Any) -> np.ndarray:
    """Return the colours of the vertices of a graph: a symmetric pattern without its diagonal."""
    rows, members = _positions(pattern)
    degrees = np.bincount(rows[rows != members], minlength=pattern.shape[0])
    is_hub = degrees > _HUB
    kept = (rows != members) & ~is_hub[rows] & ~is_hub[members]
    rows, members = rows[kept], members[kept]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=pattern.shape[0]))])
    key = np.minimum(rows, members) * pattern.shape[0] + np.maximum(rows, members)
    edges = np.unique(key, return_inverse=True)[1]
    present = np.diff(pattern.indptr) * ~is_hub
    colours = _fewest(present, lambda order, found: kernel(starts, members, as_int64(edges), order, found))
    colours[is_hub] = _count(colours) + np.arange(np.count_nonzero(is_hub))
    return colours
