"""Checks of what a reverse sweep is given and gives: its root, and the params that it reaches.

Each function raises at the user's call and leaves the trace alone. `tape.core.cotangents` checks seeds,
`tape.core.leaves` leaves.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tape import errors
from tape.core.cotangents import check_cotangent
from tape.core.node import Handle, Leaf, Node, plain

if TYPE_CHECKING:
    from tape.core.recording import Recording


def check_root(trace: Recording, root: Any) -> None:
    """Check that ``root`` is a Var of ``trace``."""
    if not isinstance(root, Handle):
        raise errors.TraceMismatchError(
            f"the root is {errors.describe(root)}, not a Var: nothing recorded it. Compute it "
            f"from params of {trace!r}"
        )
    if root.trace_ref is not trace.ref:
        raise errors.TraceMismatchError(
            f"the root {root!r} is on {root.trace!r}, not on {trace!r}. Call the method of its own trace"
        )
    plain(root)  # which a stale view refuses


def start_of(trace: Recording, root: Any, seed: Any) -> tuple[int, Any]:
    """Return where a reverse sweep starts: the root's id and its checked seed, ones by default."""
    check_root(trace, root)
    value = root.node.value
    dtype = value.dtype
    if dtype.kind not in "fc":
        raise errors.DTypeError(
            f"{root!r} is of dtype {dtype}, which has no derivative. Differentiate a float"
        )
    if seed is not None:
        return root.id, check_cotangent(trace, seed, value, partial("the seed for {!r}".format, root))
    if dtype.kind == "c":
        raise errors.DTypeError(
            f"{root!r} is complex, and has no gradient by itself. Differentiate its real or imaginary "
            "part or its absolute value, or pass a seed: you get the derivative of sum(real(seed * root))"
        )
    return root.id, np.ones(value.shape, dtype) if value.ndim else dtype.type(1)


def fail_unreached(root: Any, params: Sequence[Any], gradients: Sequence[Any]) -> NoReturn:
    """Raise an error that names the params without a gradient."""
    names = [repr(p) for p, gradient in zip(params, gradients, strict=True) if gradient is None]
    raise errors.UnreachableParamError(
        f"{root!r} does not depend on {', '.join(names)}. Leave such params out, use them, "
        'or pass unreached="zero"'
    )


def check_replayed(nodes: Sequence[Node], replaced: Mapping[int, list[int]], roots: Iterable[int]) -> None:
    """Check that no root is computed from several values of a leaf, which was set.

    Parameters
    ----------
    nodes : sequence of Node
        A tape.
    replaced : mapping of int to list of int
        By leaf, how many nodes there were each time that it was set since the last replay.
    roots : iterable of int
        What is swept.

    Raises
    ------
    InPlaceError
        If one is.
    """
    roots = [*roots]
    for leaf, counts in replaced.items():
        read = [frozenset[int]()] * len(nodes)  # which values of the leaf each node depends on
        for id in range(leaf + 1, len(nodes)):
            for parent in nodes[id].inputs[::2]:
                if parent == leaf:
                    read[id] |= {bisect(counts, id)}
                elif parent is not None:
                    read[id] |= read[parent]
        if any(len(read[root]) > 1 for root in roots):
            name = f" {nodes[leaf].name!r}" if isinstance(nodes[leaf], Leaf) and nodes[leaf].name else ""
            raise errors.InPlaceError(
                f"a leaf{name}, {errors.describe(nodes[leaf].value)}, was set, and what is swept was "
                "computed from its old value and from its new one. Call replay() after set()"
            )
