"""`taylor`: all derivatives along a direction up to an order, by one forward sweep of power series."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.core.dispatch import lift
from tape.ops.structure.layout import in_c_order
from tape.transforms._expand import push_series
from tape.transforms._record import Recording


def taylor(f: Callable[[Any], Any], x: Any, direction: Any, order: int) -> Any:
    """Compute the derivatives of ``f(x + t * direction)`` by t, at t = 0, of order 0, 1, ..., ``order``.

    One sweep carries the Taylor coefficients of every node forwards, by a recurrence for each
    operation; that costs as much as ``order**2`` evaluations, where nested derivatives cost
    ``2**order``. An operation without a recurrence is expanded through its forward rule, which may cost
    as much as ``order**3``, and more where its rule contains further operations of this kind.

    The parameter t is real, also for complex numbers: ``f`` need not be holomorphic.

    Parameters
    ----------
    f : callable
        Plain NumPy code, from a tree to a tree.
    x : tree
        The point: floats or complex numbers, arrays of these, or a tree of them.
    direction : tree
        The direction, in the structure and shapes of ``x``.
    order : int
        The highest order, zero or positive.

    Returns
    -------
    tree
        A tree like the result of ``f``, every leaf with a new first axis of length ``order + 1``.

    Raises
    ------
    OptionError
        If ``order`` is negative, or its factorial too large for the dtype.
    ShapeError, DTypeError, SeedError
        As `tape.jvp`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.taylor(np.sin, 0.0, 1.0, order=5)
    array([ 0.,  1., -0., -1.,  0.,  1.])
    """
    try:
        order = operator.index(order)
    except TypeError:
        raise errors.OptionError(f"taylor: order is {order!r}. It must be an int, zero or positive") from None
    if order < 0:
        raise errors.OptionError(f"taylor: order is {order}. It must be zero or positive")
    recording = Recording("taylor", f, (x,))
    recording.check_dtypes()
    for out in recording.outs:
        _check_factorial(order, np.result_type(recording.plain(out)))
    directions = recording.tangents(direction, "direction")
    seeds = {
        param.id: [param.node.value, lift(moved), *[None] * (order - 1)][: order + 1]
        for param, moved in zip(recording.params, directions, strict=True)
    }
    roots = recording.roots
    count = max((root for root in roots if root is not None), default=-1) + 1
    recording.trace.held.settle()
    found = push_series(recording.trace.nodes, seeds, order, count, where=recording.trace)
    results = []
    for root, out in zip(roots, recording.outs, strict=True):
        series = None if root is None else found[root]
        value = recording.plain(out)
        coefficients = [value, *[None] * order] if series is None else series
        zeros = np.zeros(np.shape(value), np.result_type(value))
        parts = [zeros if c is None else c * factorial(k) if k > 1 else c for k, c in enumerate(coefficients)]
        results.append(in_c_order(ops.stack(parts)))
    return tree.unflatten(recording.out_structure, results)


def _check_factorial(order: int, dtype: Any) -> None:
    """Check that ``order!`` fits a dtype."""
    largest = float(np.finfo(dtype).max) if dtype.kind in "fc" else float("inf")
    if order > 170 or factorial(order) > largest:
        most = next(k for k in range(order, 0, -1) if k <= 170 and factorial(k) <= largest)
        raise errors.OptionError(
            f"taylor: {order}! overflows {dtype}, and so would derivatives of that order. Use an order of "
            f"at most {most}"
        )
