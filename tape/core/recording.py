"""Recording: how operations become nodes of a tape.

Nodes stand in execution order, so parents always come before children. This file must never know which
operations exist: a node carries its own rule. What is computed from a tape is in `tape.core.trace`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tape import errors
from tape.conversion.numbers import Taken
from tape.core import dispatch
from tape.core.held import Held, may_read
from tape.core.interpreter import OPEN, Nested
from tape.core.leaves import admit
from tape.core.nesting import is_number
from tape.core.node import Handle, Leaf, Node, snapshot
from tape.core.operands import as_operand, tell_places
from tape.core.param_trees import Trees
from tape.core.static_arguments import call_as_is
from tape.core.var import Var
from tape.inplace.aliases import note_view
from tape.inspect import watching

if TYPE_CHECKING:
    from tape.core.op import Op

_new: Callable[[type], Any] = object.__new__  # half the time of a call that runs a Python __init__


class Recording(Nested):
    """The base of `Trace` that records: it computes an operation and appends a node for it to a list.

    Parameters
    ----------
    name, sites, check, strict
        As for `tape.Trace`.

    Attributes
    ----------
    nodes : list of Node
        In execution order.
    ref : weakref.ref
        To this.
    watching : Watching or None
        Who is called for each node.
    held : Held
        The plain arrays that its nodes were computed with.
    taken : Taken or None
        The plain numbers that were taken out by ``float()`` and its like; None if there are none.
    trees : Trees or None
        The trees that `params` was called with; None if there are none.
    adjoints, root
        As of `tape.Trace`.
    """

    __slots__ = ("__weakref__", "_handles", "_params", "_replaced", "adjoints", "held", "is_plain",
                 "is_strict", "name", "nodes", "period", "ref", "root", "taken", "trees", "views",
                 "watching")  # fmt: skip

    needs_numbers = False
    var_type: ClassVar[type[Var]] = Var
    period: Any  # of one that defers nodes: see `tape.transforms.loops.deferring`

    def __init__(
        self, name: str | None = None, *, sites: bool = False, check: bool = False, strict: bool = False
    ) -> None:
        super().__init__()
        self.name = name
        self.is_strict = strict
        self.nodes: list[Node] = []
        self.ref: weakref.ref[Any] = weakref.ref(self)
        is_watched = sites or check or watching.BLOCKS
        if is_watched:
            dispatch.need_numbers(from_now_on=True)
        self.watching = watching.watch_for(self.ref, sites, check) if is_watched else None
        self.is_plain = self.watching is None
        self.held = Held()
        self.taken: Taken | None = None
        self.trees: Trees | None = None
        self.adjoints: list[Any] | None = None
        self.root: Var | None = None
        self.views: list[weakref.ref[Handle]] = []  # those noted: see `tape.inplace.aliases`
        self._params: list[int] = []  # ids: handles may be written to, and move on
        self._handles: list[Var] = []  # as `param` returned them
        self._replaced: dict[int, list[int]] = {}  # leaves set and not replayed: how many nodes there were

    # ---- leaves --------------------------------------------------------------------------------

    def param(self, value: Any, name: str | None = None) -> Var:
        """Add a leaf to differentiate by.

        Parameters
        ----------
        value : array_like of floats, or Var of an enclosing trace
            Any shape; arrays are held by reference, not copied.
        name : str, optional
            For messages, listings and pictures.

        Returns
        -------
        Var

        Raises
        ------
        DTypeError
            If ``value`` is not of a float or complex dtype.

        Examples
        --------
        >>> import tape
        >>> tape.Trace().param(3.0, name="a")
        Var(3.0, name='a', id=0)
        """
        is_plain = type(value) is np.ndarray and value.dtype.kind in "fc" and value.dtype.isnative
        if not is_plain or OPEN:
            value = admit(self, value, is_param=True)
        return self._param(value, name)

    def _param(self, value: Any, name: str | None) -> Var:
        param = self.push(Leaf(value, True, name))
        if type(value) is np.ndarray:
            self.held.hold_leaf(param.node)
        self._params.append(param.id)
        self._handles.append(param)
        return param

    def input(self, value: Any, name: str | None = None) -> Var:
        """Add a leaf that is data: it gets no adjoint and can be replaced by `set`.

        Parameters
        ----------
        value : array_like of numbers or bools, or Var of an enclosing trace
            Any shape; arrays are held by reference, not copied.
        name : str, optional
            For messages, listings and pictures.

        Returns
        -------
        Var

        Raises
        ------
        DTypeError
            If ``value`` holds neither numbers nor bools.

        Examples
        --------
        >>> import tape
        >>> tape.Trace().input([1, 2, 3])
        Var([1 2 3], id=0)
        """
        is_plain = type(value) is np.ndarray and value.dtype.kind in "fiubc" and value.dtype.isnative
        if not is_plain or OPEN:
            value = admit(self, value, is_param=False)
        leaf = self.push(Leaf(value, False, name))
        if type(value) is np.ndarray:
            self.held.hold_leaf(leaf.node)
        return leaf

    # ---- operations ------------------------------------------------------------------------------

    def process(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Record an operation: compute it, and append a node; nothing changes if that fails."""
        ref = self.ref
        inputs: list[Any] = []
        active = []
        is_nested = False
        for operand in operands:
            if isinstance(operand, Handle) and operand.trace_ref is ref:
                parent = operand.node
                id, value = operand.id, parent.value
                active.append(parent.call.pull is not None or parent.is_param)
            else:
                id, value = None, snapshot(as_operand(operand))
                if OPEN and type(value) is np.ndarray:
                    value = dispatch.lift(value, self.level)
                active.append(False)
            inputs += (id, value)
            is_nested = is_nested or isinstance(value, Handle)
        values = inputs[1::2]
        try:
            if is_nested:
                value = dispatch.innermost(values).process(op, values, attrs)
            else:
                value = op.compute(values, attrs)
        except errors.TapeError as error:
            tell_places(error, operands)
            raise
        is_fixed = not attrs or not op.is_users
        node = _new(Node)
        node.call = op.call(attrs, tuple(active)) if is_fixed else call_as_is(op, attrs, tuple(active))
        node.value, node.inputs = value, tuple(inputs)
        var = self.push(node)
        if node.call.pull is not None:
            for k, operand in enumerate(values):
                if inputs[2 * k] is None and type(operand) is np.ndarray and may_read(op, k, operand):
                    self.held.hold(operand, node)
        if op.view is not None and inputs[0] is not None:
            note_view(self, var, operands[0])
        return var

    def push(self, node: Node) -> Var:
        """Append a node whose parents are on the tape already, and return its handle."""
        nodes = self.nodes
        id = len(nodes)
        if self.watching is not None:
            self.watching.recorded(node, id)
        var = _new(self.var_type)
        var.trace_ref, var.node, var.share = self.ref, node, None
        var.id = id
        nodes.append(node)
        return var

    def take(self, how: str, is_active: bool) -> None:
        """Note that the user's line has taken a plain number out of a node, active or not."""
        if self.taken is None:
            self.taken = Taken()
        self.taken.add(how, len(self.nodes), is_active)


def param_again(trace: Recording, value: Any) -> Var:
    """Add a param for an operand of code that runs again: a Python number widens no dtypes again."""
    if not is_number(value):
        return trace.param(value)
    trace.nest_in(value.trace)
    return trace._param(value.again(), None)
