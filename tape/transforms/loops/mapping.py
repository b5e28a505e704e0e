"""`map`: a function of each element of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tape.core.results import Results, is_several, unpack
from tape.core.table import INTERNAL
from tape.interpreters.batching import check_kinds
from tape.transforms._record import check_callable, name_of
from tape.transforms.loops.scan import looped


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """Return ``f`` of each element along the first axis, stacked.

    Parameters
    ----------
    f : callable
        Plain NumPy code; see `scan`.
    xs : tree
        Arrays of one length along their first axis.

    Returns
    -------
    tree
        The results, with a new first axis.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.map(lambda row: row / np.sum(row), np.array([[1.0, 3.0], [1.0, 1.0]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    check_callable(f, "map")
    return _mapped(f, xs, f"map({name_of(f)})")


def _mapped(f: Callable[[Any], Any], xs: Any, name: str) -> Any:
    """Return `map` of a function, which messages call by a name."""

    def step(carry: tuple[()], x: Any) -> tuple[tuple[()], Any]:
        return carry, f(x)

    return looped(step, (), xs, name=name)[1]


def _each(name: str, f: Callable[[Sequence[Any]], Any], values: Sequence[Any]) -> Any:
    """Return what an operation returns for each element of some arrays, stacked."""
    returned: list[Sequence[Any]] = []  # for each element, or for one that stands for all

    def one(elements: Sequence[Any]) -> Any:
        out = f(elements)
        returned.append(list(unpack(out)))
        return returned[-1] if is_several(out) else out

    found = _mapped(one, list(values), name)
    for column in zip(*returned, strict=True):
        check_kinds(name, column)
    return Results(found) if type(found) is list else found


INTERNAL["each"] = _each
