"""Greedy colourings of sparsity patterns, and the substitution that acyclic ones are read by.

Patterns are compressed rows: ``starts`` and ``members``. Graphs are symmetric ones without a diagonal. All
take vertices in a given order; -1 is no colour yet. What a colouring has to remember is in its arrays: it
begins as Python where machine code is not there yet, and that goes on. The algorithms are those of
Gebremedhin, Manne and Pothen, "What color is your Jacobian?" (SIAM Review 47, 2005), and of Gebremedhin,
Tarafdar, Manne and Pothen, "New acyclic and star coloring algorithms" (SIAM J. Sci. Comput. 29, 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape.kernels.eager import AVOIDED, COLOURING, is_avoided, is_loaded, machine_code
from tape.kernels.headers import is_plain

_AT_A_TIME = 256  # vertices that Python colours between looks for machine code

Kernel = Callable[..., Any]


def colour_columns(
    row_starts: np.ndarray, row_members: np.ndarray, column_starts: np.ndarray, column_members: np.ndarray,
    order: np.ndarray, colours: np.ndarray,
) -> None:  # fmt: skip
    """Colour columns so that no two of one colour have an element in the same row."""
    arrays = (row_starts, row_members, column_starts, column_members, order, colours)
    _colour(columns_coloured, *arrays, np.full((1, len(colours) + 1), -1))


def colour_stars(
    starts: np.ndarray, members: np.ndarray, edges: np.ndarray, order: np.ndarray, colours: np.ndarray
) -> None:
    """Colour vertices so that neighbours differ, and every path on four vertices has three colours.

    ``edges`` numbers the edge to each member, the same from both of its ends.
    """
    work = np.full((8, max(len(colours) + 1, len(members))), -1)
    _colour(stars_coloured, starts, members, edges, order, colours, work)


def colour_acyclically(
    starts: np.ndarray, members: np.ndarray, edges: np.ndarray, order: np.ndarray, colours: np.ndarray
) -> None:
    """Colour vertices so that neighbours differ, and every cycle has three colours."""
    work = np.full((6, max(len(colours) + 1, len(members))), -1)
    work[5] = np.arange(work.shape[1])
    _colour(acyclically_coloured, starts, members, edges, order, colours, work)


def order_substitution(
    tails: np.ndarray, heads: np.ndarray, left: np.ndarray, totals: np.ndarray, order: np.ndarray,
    is_tail: np.ndarray,
) -> None:  # fmt: skip
    """Order edges so that each is the last unknown one in one of the two sums that it is a term of.

    These are ``tails[edge]`` and ``heads[edge]``; a sum has ``left`` terms, and the numbers of their edges
    add up to ``totals``, so that the last one left is known. All edges are ordered if they form no cycles.
    """
    waiting = np.empty(len(left) + 2 * len(tails), np.int64)
    arrays = (tails, heads, left, totals, order, is_tail.view(np.int8), waiting)
    _run(substitution_ordered, *arrays, dtype=order.dtype)


def substitute(sums: np.ndarray, sources: np.ndarray, targets: np.ndarray, values: np.ndarray) -> None:
    """Read elements one after the other: each is what its sum holds, and is taken from its other sum."""
    _run(substituted, sums, sources, targets, values, dtype=sums.dtype)


def _colour(body: Kernel, *arrays: np.ndarray) -> None:
    """Colour all vertices, by machine code from when it is there."""
    *graph, order, colours, work = arrays
    for start in range(0, len(order), _AT_A_TIME):
        if _is_compiled(arrays):
            _run(body, *graph, order[start:], colours, work, dtype=order.dtype)
            return
        body(*graph, order[start : start + _AT_A_TIME], colours, work)


def _run(body: Kernel, *arrays: np.ndarray, dtype: np.dtype[Any]) -> None:
    """Run a body as machine code; as Python where there is none, yet or at all, or none for the dtype."""
    function = machine_code(body.__name__).get(dtype.char) if _is_compiled(arrays) else None
    (function or body)(*arrays)


def _is_compiled(arrays: Sequence[np.ndarray]) -> bool:
    return is_loaded(COLOURING) and not (AVOIDED and is_avoided()) and all(map(is_plain, arrays))


# ---- what is compiled ------------------------------------------------------------------------------


def columns_coloured(row_starts, row_members, column_starts, column_members, order, colours, work):  # type: ignore[no-untyped-def]
    """Colour columns so that no two of one colour have an element in the same row."""
    forbidden = work[0]
    for v in order:
        for a in range(column_starts[v], column_starts[v + 1]):
            row = column_members[a]
            for b in range(row_starts[row], row_starts[row + 1]):
                colour = colours[row_members[b]]
                if colour >= 0:
                    forbidden[colour] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour


def stars_coloured(starts, members, edges, order, colours, work):  # type: ignore[no-untyped-def]
    """Colour vertices so that neighbours differ, and every path on four vertices has three colours.

    ``edges`` numbers the edge to each member, the same from both of its ends. Edges of two colours form
    stars, of which ``hub`` is the middle.
    """
    forbidden, treated = work[0], work[1]
    first_for = work[2]  # by colour: the vertex that was looked at last,
    first_at = work[3]  # its first neighbour of this colour,
    first_edge = work[4]  # and the edge to it
    star = work[5]  # by edge
    hub = work[6]  # by star
    last_star = work[7]  # its number
    for v in order:
        for a in range(starts[v], starts[v + 1]):
            w = members[a]
            colour = colours[w]
            if colour < 0:
                continue
            forbidden[colour] = v
            if first_for[colour] == v:
                for u in (first_at[colour], w):
                    if treated[u] != v:
                        for b in range(starts[u], starts[u + 1]):
                            x = members[b]
                            if x != v and colours[x] >= 0:
                                forbidden[colours[x]] = v
                        treated[u] = v
            else:
                first_for[colour], first_at[colour], first_edge[colour] = v, w, edges[a]
                for b in range(starts[w], starts[w + 1]):
                    x = members[b]
                    if x != v and colours[x] >= 0 and hub[star[edges[b]]] == x:
                        forbidden[colours[x]] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
        for a in range(starts[v], starts[v + 1]):
            w = members[a]
            if colours[w] < 0:
                continue
            is_joined = False
            for b in range(starts[w], starts[w + 1]):
                x = members[b]
                if x != v and colours[x] == colour:
                    star[edges[a]] = star[edges[b]]
                    hub[star[edges[a]]] = w
                    is_joined = True
                    break
            if is_joined:
                continue
            if first_at[colours[w]] != w:
                star[edges[a]] = star[first_edge[colours[w]]]
                hub[star[edges[a]]] = v
            else:
                last_star[0] += 1
                star[edges[a]] = last_star[0]


def acyclically_coloured(starts, members, edges, order, colours, work):  # type: ignore[no-untyped-def]
    """Colour vertices so that neighbours differ, and every cycle has three colours.

    Edges of two colours form trees, kept as disjoint sets of edges.
    """
    forbidden, first_for, first_edge = work[0], work[1], work[2]
    visit_for = work[3]  # by tree: the vertex that looked at it last,
    visit_by = work[4]  # and by which neighbour
    trees = work[5]  # from each edge towards the root of its tree, which begins as its own
    for v in order:
        for a in range(starts[v], starts[v + 1]):
            if colours[members[a]] >= 0:
                forbidden[colours[members[a]]] = v
        for a in range(starts[v], starts[v + 1]):
            w = members[a]
            if colours[w] < 0:
                continue
            for b in range(starts[w], starts[w + 1]):
                x = members[b]
                if x == v or colours[x] < 0 or forbidden[colours[x]] == v:
                    continue
                tree = edges[b]
                while trees[tree] != tree:
                    trees[tree] = trees[trees[tree]]
                    tree = trees[tree]
                if visit_for[tree] != v:
                    visit_for[tree], visit_by[tree] = v, w
                elif visit_by[tree] != w:
                    forbidden[colours[x]] = v
        colour = 0
        while forbidden[colour] == v:
            colour += 1
        colours[v] = colour
        for a in range(starts[v], starts[v + 1]):
            w = members[a]
            if colours[w] < 0:
                continue
            if first_for[colours[w]] != v:
                first_for[colours[w]], first_edge[colours[w]] = v, edges[a]
            for b in range(starts[w] - 1, starts[w + 1]):  # first the edge to another one of the colour of w
                if b >= starts[w] and (members[b] == v or colours[members[b]] != colour):
                    continue
                one, other = edges[a], edges[b] if b >= starts[w] else first_edge[colours[w]]
                while trees[one] != one:
                    trees[one] = trees[trees[one]]
                    one = trees[one]
                while trees[other] != other:
                    trees[other] = trees[trees[other]]
                    other = trees[other]
                trees[one] = other


def substitution_ordered(tails, heads, left, totals, order, is_tail, waiting):  # type: ignore[no-untyped-def]
    """Order edges so that each is the last unknown one in one of the two sums that it is a term of.

    These are ``tails[edge]`` and ``heads[edge]``; a sum has ``left`` terms, and the numbers of their edges
    add up to ``totals``, so that the last one left is known. All edges are ordered if they form no cycles.
    """
    ready = 0
    for place in range(len(left)):
        if left[place] == 1:
            waiting[ready] = place
            ready += 1
    done, taken = 0, 0
    while taken < ready:
        place = waiting[taken]
        taken += 1
        if left[place] != 1:
            continue
        edge = totals[place]
        order[done] = edge
        is_tail[done] = tails[edge] == place
        done += 1
        for other in (tails[edge], heads[edge]):
            left[other] -= 1
            totals[other] -= edge
            if left[other] == 1:
                waiting[ready] = other
                ready += 1


def substituted(sums, sources, targets, values):  # type: ignore[no-untyped-def]
    """Read elements one after the other: each is what its sum holds, and is taken from its other sum."""
    for k in range(len(sources)):
        value = sums[sources[k]]
        values[k] = value
        sums[targets[k]] -= value
