"""The nodes of a tape that a picture shows, with their states and texts.

Every picture draws a `View`, made by `look`, which reads a trace and never changes it. Texts are plain, on
one line and printable: escaping them is left to the formats.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tape import errors
from tape.core.checks import check_root
from tape.core.node import Handle, Node, plain
from tape.inspect.listing import call_text
from tape.inspect.words import digest, one_line
from tape.viz.options import check_number, check_trace
from tape.viz.passes import ancestors, backward_steps

if TYPE_CHECKING:
    from tape.core.trace import Trace


@dataclass(frozen=True)
class View:
    """The part of a tape that is drawn, and the texts of each node.

    Attributes
    ----------
    nodes : sequence of Node
        The whole tape.
    ids : sequence of int
        Which nodes are drawn, in order.
    adjoints : sequence
        One entry for each of the first nodes of the tape; None where nothing flows.
    root : int or None
        What is differentiated.
    highlighted : frozenset of int
        Which nodes stand out.
    precision : int
        Significant digits of numbers.
    """

    nodes: Sequence[Node]
    ids: Sequence[int]
    adjoints: Sequence[Any]
    root: int | None
    highlighted: frozenset[int]
    precision: int

    @cached_property
    def drawn(self) -> frozenset[int]:
        """The nodes drawn, as a set."""
        return frozenset(self.ids)

    def kind(self, i: int) -> str:
        """Return ``"param"``, ``"input"`` or ``"op"``."""
        node = self.nodes[i]
        if node.op is not None:
            return "op"
        return "param" if node.is_param else "input"

    def state(self, i: int) -> str:
        """Return what decides the colour: one of `tape.viz.style.STATES`."""
        if i in self.highlighted:
            return "highlight"
        if self.has_adjoint(i):
            return "adjoint"
        return "active" if self.nodes[i].is_active else "inactive"

    def has_adjoint(self, i: int) -> bool:
        """Whether a node has an adjoint."""
        return i < len(self.adjoints) and self.adjoints[i] is not None

    def name(self, i: int) -> str:
        """Return the name the user gave; empty without one."""
        return one_line(self.nodes[i].name or "", 32)

    def op_name(self, i: int) -> str:
        """Return the name of the operation; ``param`` or ``input`` for leaves."""
        op = self.nodes[i].op
        return self.kind(i) if op is None else one_line(op.name, 32)

    def arguments(self, i: int, width: int = 40) -> str:
        """Return operands and static arguments as in a call, ``(%0, 2, axis=0)``; empty for leaves."""
        return one_line(call_text(self.nodes[i], self.precision).arguments, width)

    def type(self, i: int) -> str:
        """Return the dtype and shape; empty for a float64 number."""
        value = plain(self.nodes[i].value)
        text = one_line(errors.describe(value), 40)
        return "" if text == "float64[]" else text

    def value(self, i: int) -> str:
        """Return the value, in short."""
        return value_text(self.nodes[i].value, self.precision)

    def adjoint(self, i: int) -> str:
        """Return the adjoint, in short; empty without one."""
        return value_text(self.adjoints[i], self.precision) if self.has_adjoint(i) else ""

    def scope(self, i: int) -> tuple[str, ...]:
        """Return the name scopes a node was recorded in, outermost first."""
        site = self.nodes[i].site
        return () if site is None else site.scope

    def tooltip(self, i: int) -> list[str]:
        """Return everything there is to say about a node, in lines."""
        node = self.nodes[i]
        name = f"{self.name(i)} = " if node.name else ""
        lines = [f"%{i}  {name}{call_text(node, self.precision)}", errors.describe(plain(node.value))]
        lines.append(f"value {digest(plain(node.value), 80, self.precision)}")
        if self.has_adjoint(i):
            lines.append(f"adjoint {digest(plain(self.adjoints[i]), 80, self.precision)}")
        elif not node.is_active:
            lines.append("depends on no param")
        if self.scope(i):
            lines.append(f"in {' / '.join(self.scope(i))}")
        if node.site is not None:
            lines += [str(node.site), node.site.text]
        return [one_line(line, 200) for line in lines if line]


def look(
    trace: Trace,
    root: Any = None,
    *,
    adjoints: bool = True,
    highlight: Any = (),
    ids: range | None = None,
    precision: int = 4,
    limit: int,
    otherwise: str,
) -> View:
    """Choose the nodes of a trace to draw.

    Parameters
    ----------
    trace : Trace
        The trace; it is not changed.
    root : Var, optional
        Draw only what this depends on.
    adjoints : bool
        Whether to show adjoints: those of the trace's last sweep; if it was not from ``root``, of one from
        there.
    highlight : Var, int, or iterable of these
        Nodes to highlight.
    ids : range, optional
        Draw only these nodes.
    precision : int
        Significant digits, 1 to 17.
    limit : int
        The most nodes there may be.
    otherwise : str
        What else to do where there are more, for the message.

    Returns
    -------
    View

    Raises
    ------
    OptionError
        If ``trace`` is not a Trace, has more nodes than ``limit``, or an option is out of range.
    TraceMismatchError
        If ``root`` or what is highlighted is not on this trace.
    OutOfBoundsError
        If an id is not on the tape.
    """
    check_trace(trace)
    check_number("precision", precision, "a number of digits from 1 to 17", 1, 17, is_whole=True)
    check_number("limit", limit, "a number of nodes", 0)
    drawn: Sequence[int] = range(len(trace.nodes))
    if root is not None:
        drawn = [i for i, is_needed in enumerate(ancestors(trace, root)) if is_needed]
    if ids is not None:
        drawn = _within(trace, drawn, ids)
    if len(drawn) > limit:
        raise errors.OptionError(
            f"{len(drawn)} nodes are too many for this picture (limit={limit}). Pass a root, a range as in "
            f"ids=range(100, 200), or a larger limit; {otherwise}"
        )
    shown = _adjoints(trace, root) if adjoints else []
    root_id = root.id if root is not None else trace.root.id if trace.root is not None else None
    highlighted = node_ids(trace, highlight, frozenset(drawn))
    return View(trace.nodes, drawn, shown, root_id, highlighted, precision)


def value_text(value: Any, precision: int) -> str:
    """Format a value in little room, without the mean; of a nested trace the innermost value.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.viz.view import value_text
    >>> value_text(18648.0, 4), value_text(1 / 3, 2), value_text(np.eye(2), 4)
    ('18648', '0.33', '[[1. 0.] [0. 1.]]')
    """
    return digest(plain(value), 24 + 2 * precision, precision, mean=False)


def node_ids(trace: Trace, given: Any, drawn: frozenset[int]) -> frozenset[int]:
    """Return the ids of one or several Vars or ids."""
    several = given if isinstance(given, Iterable) and not isinstance(given, Handle) else [given]
    return frozenset(node_id(trace, one, drawn) for one in several)


def node_id(trace: Trace, given: Any, drawn: frozenset[int]) -> int:
    """Return the id of a Var or id, which must be among the nodes drawn."""
    if isinstance(given, Handle):
        check_root(trace, given)
        id = given.id
    else:
        try:
            id = range(len(trace.nodes))[operator.index(given)]
        except TypeError:
            raise errors.OptionError(f"nodes must be Vars or ids, not {errors.describe(given)}") from None
        except IndexError:
            raise errors.OutOfBoundsError(
                f"there is no node {given} on {trace!r}: ids run from 0 to {len(trace.nodes) - 1}"
            ) from None
    if id not in drawn:
        raise errors.OptionError(
            f"node %{id} is not in the picture: it is outside of ids, or the root does not depend on it. "
            "Leave it out, or draw more of the tape"
        )
    return id


def _within(trace: Trace, drawn: Iterable[int], ids: Any) -> list[int]:
    if not isinstance(ids, range):
        raise errors.OptionError(f"ids must be a range of node ids, as in range(100, 200), not {ids!r}")
    if not all(0 <= end < len(trace.nodes) for end in (*ids[:1], *ids[-1:])):
        raise errors.OutOfBoundsError(
            f"ids={ids} reaches beyond {trace!r}: ids run from 0 to {len(trace.nodes) - 1}"
        )
    return [i for i in drawn if i in ids]


def _adjoints(trace: Trace, root: Any) -> Sequence[Any]:
    """Return the adjoints of the last sweep, or of one from ``root`` that leaves the trace as it is."""
    swept = trace.adjoints
    if swept is not None and (root is None or (trace.root is not None and trace.root.id == root.id)):
        return swept
    if root is None or not root.node.is_active or root.dtype.kind != "f":
        return []
    adjoints: list[Any] = [None] * (root.id + 1)
    for step in backward_steps(trace, root):
        for write in step.writes:
            adjoints[write.id] = write.total
    return adjoints
