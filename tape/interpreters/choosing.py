"""Code that only some elements of a batch may run: in place of the others it sees one of these.

A branch of a `tape.cond`, or a step of a loop that some elements have left, runs once for the whole batch.
Elements that must not run it are replaced by one that does; so it never meets a number that it would not meet
without a batch, and neither errors nor infinite derivatives come from it. Their results are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.core.dispatch import Interceptor
from tape.core.nesting import batch_below
from tape.core.node import Handle, Node
from tape.core.op import Op
from tape.interpreters.batching import Lanes


class Chosen(Interceptor):
    """An interpreter in which each element of a batch from outside is another one of that batch.

    Parameters
    ----------
    lanes : Lanes
        The batch.
    is_active : numpy.ndarray or Var
        Which elements stay; of shape ``(size,)``, and true for one of them at least.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.interpreters.batching import Lanes
    >>> from tape.interpreters.choosing import Chosen
    >>> with Lanes(3) as lanes:
    ...     x = lanes.batch(np.array([-1.0, 4.0, 9.0]))
    ...     with Chosen(lanes, np.array([False, True, True])):
    ...         root = np.sqrt(x)
    >>> lanes.values(root)
    array([2., 2., 3.])
    """

    sees_batches = True

    def __init__(self, lanes: Lanes, is_active: Any) -> None:
        self._lanes = lanes
        self._places = ops.where(is_active, np.arange(lanes.size), ops.argmax(is_active))
        self._seen: dict[int, tuple[Any, Any]] = {}  # by node: kept alive, so that its id stays its own
        self._lengths: dict[Any, int] = {}  # of traces around, when they were first met

    def __enter__(self) -> Chosen:
        self._lanes.around.append(self)
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._lanes.around.remove(self)

    def note(self, node: Node) -> None:
        """Note that the node of a batch was made inside."""
        self._seen[id(node)] = (node, None)

    def resolve(self, var: Any) -> Any:
        """Map a Var from outside to the chosen elements."""
        if not _holds(var, self._lanes) or self.is_inside(var):
            return var
        known = self._seen.get(id(var.node))
        if known is None:
            with self.passed_by():
                moved = element_at(var, self._places, self._lanes)
            known = self._seen[id(var.node)] = (var.node, moved)
        return known[1]

    def inside(self, leaf: Any) -> Any:
        """Map any leaf from outside to its value inside."""
        return self.resolve(leaf) if isinstance(leaf, Handle) else leaf

    def is_inside(self, var: Any) -> bool:
        """Whether a Var was made inside."""
        if var.is_batch:
            known = self._seen.get(id(var.node))
            return known is not None and known[1] is None
        trace = var.trace
        if trace.level > self.level:
            return True
        length = self._lengths.setdefault(trace.ref, len(trace.nodes))
        return var.id >= length

    def intercept(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Apply the operation to the chosen elements."""
        return op.bind([*map(self.resolve, operands)], attrs)

    def check_write(self, var: Any) -> None:
        """Refuse writes to what comes from outside."""
        if self.resolve(var) is not var:
            raise errors.InPlaceError(
                f"{var!r} comes from outside of a branch, or a step of a loop, that only some elements of a "
                "batch run. Pass it in as an operand, and return it"
            )


def holds_for_some(condition: Any) -> bool:
    """Return whether a condition holds, of a batch whether for one element at least."""
    while (batch := batch_below(condition)) is not None:
        condition = ops.any(batch.node.value)
    return bool(condition)


def of_some(condition: Any, f: Callable[..., Any], *args: Any) -> Any:
    """Return ``f(*args)`` for those elements of a batch for which a condition holds.

    Parameters
    ----------
    condition : Batch or Var
        A bool for each element, of which one holds at least. There may be several batches, one in the other.
    f : callable
        From trees to a tree.
    *args : tree
        Its arguments.

    Returns
    -------
    tree
        Its result; of other elements it holds anything.
    """
    batch = batch_below(condition)
    assert batch is not None
    lanes, is_active = batch.trace, batch.node.value
    if batch_below(is_active) is not None:
        return of_some(ops.any(is_active), partial(_of_some, lanes, f), is_active, *args)
    if np.all(is_active):
        return f(*args)
    return _of_some(lanes, f, is_active, *args)


def _of_some(lanes: Lanes, f: Callable[..., Any], is_active: Any, *args: Any) -> Any:
    with Chosen(lanes, is_active) as region:
        given = [tree.map(region.inside, arg) for arg in args]
        return tree.map(region.inside, f(*given))


# ---- the operation -----------------------------------------------------------------------------------


def _holds(value: Any, lanes: Lanes) -> bool:
    """Return whether a value is a batch of these, or has one below."""
    batch = batch_below(value)
    while batch is not None and batch.trace_ref is not lanes.ref:
        batch = batch_below(batch.node.value)
    return batch is not None


def element_at(x: Any, places: Any, lanes: Lanes) -> Any:
    """Return, in place of each element of a batch, the one at a given place; what is none, as it is."""
    return _element_at(x, places, lanes=lanes) if _holds(x, lanes) else x


def sum_at(g: Any, places: Any, lanes: Lanes) -> Any:
    """Return, for each place, the sum of the elements that belong there: the transpose of `element_at`."""
    whole = g if _holds(g, lanes) else g * lanes.batch(np.ones(lanes.size, np.result_type(g)))
    return _sum_at(whole, places, lanes=lanes)


def _batch_of_elements(
    op: Any, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
) -> Any:
    """Take elements of this very batch; of another one, as of seeds, if that is below."""
    x, places = operands
    return op(x, places, **attrs) if _holds(x, attrs["lanes"]) else ops.take(x, places, axis=0)


def _batch_of_sums(
    op: Any, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
) -> Any:
    g, places = operands
    return op(g, places, **attrs) if _holds(g, attrs["lanes"]) else ops.add_at(np.zeros_like(g), g, places)


_element_at: Op = Op(
    lambda x, places, lanes: x,  # a batch, whose rule does it
    vjp=lambda g, out, x, places, lanes: [sum_at(g, places, lanes), None],
    jvp=lambda tangents, out, x, places, lanes: element_at(tangents[0], places, lanes),
    batch=_batch_of_elements,
    name="element_at",
)
_sum_at: Op = Op(
    lambda g, places, lanes: g,
    vjp=lambda g, out, x, places, lanes: [element_at(g, places, lanes), None],
    jvp=lambda tangents, out, x, places, lanes: sum_at(tangents[0], places, lanes),
    batch=_batch_of_sums,
    name="sum_at",
)
