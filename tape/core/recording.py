"""Recording: how operations become nodes of a tape.

Nodes stand in execution order, so parents always come before children. This file must never know which
operations exist: a node carries its own rule. What is computed from a tape is in `tape.core.trace`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, overload

import numpy as np

from tape import errors
from tape.conversion.numbers import Taken
from tape.core import interpreter
from tape.core.interpreter import OPEN, Nested
from tape.core.leaves import leaf_value
from tape.core.node import Handle, Leaf, Node, snapshot
from tape.core.operands import as_operand, tell_places
from tape.core.param_trees import Params, Trees
from tape.core.table import INTERNAL
from tape.core.var import Var
from tape.inplace.aliases import note_view
from tape.inspect import watching
from tape.inspect.words import counted

if TYPE_CHECKING:
    from tape.core.op import Op

_new: Callable[[type], Any] = object.__new__  # half the time of a call that runs a Python __init__


class Recording(Nested):
    """The interpreter that computes an operation and appends a node for it to a list.

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
    taken : Taken or None
        The plain numbers that were taken out by ``float()`` and its like; None if there are none.
    trees : Trees or None
        The trees that `params` was called with; None if there are none.
    adjoints, root
        As of `tape.Trace`.
    """

    __slots__ = ("__weakref__", "_handles", "_has_other_leaves", "_params", "adjoints", "is_plain",
                 "is_strict", "name", "nodes", "ref", "root", "taken", "trees", "views", "watching")  # fmt: skip

    var_type: ClassVar[type[Var]] = Var

    def __init__(
        self, name: str | None = None, *, sites: bool = False, check: bool = False, strict: bool = False
    ) -> None:
        super().__init__()
        self.name = name
        self.is_strict = strict
        self.nodes: list[Node] = []
        self.ref: weakref.ref[Any] = weakref.ref(self)
        is_watched = sites or check or watching.OPEN
        self.watching = watching.watch_for(self.ref, sites, check) if is_watched else None
        self.is_plain = self.watching is None
        self.taken: Taken | None = None
        self.trees: Trees | None = None
        self.adjoints: list[Any] | None = None
        self.root: Var | None = None
        self.views: list[weakref.ref[Handle]] = []  # those noted: see `tape.inplace.aliases`
        self._params: list[int] = []  # ids: handles may be written to, and move on
        self._handles: list[Var] = []  # as `param` returned them
        self._has_other_leaves = False  # set, and not replayed yet

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
        if type(value) is not np.ndarray or value.dtype.kind not in "fc" or OPEN:
            value = self._leaf_value(value, is_param=True)
        param = self.push(Leaf(value, True, name))
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
        if type(value) is not np.ndarray or value.dtype.kind not in "fiubc" or OPEN:
            value = self._leaf_value(value, is_param=False)
        return self.push(Leaf(value, False, name))

    def _leaf_value(self, value: Any, is_param: bool) -> Any:
        value = leaf_value(self, interpreter.resolve(value), is_param)
        if type(value) is np.ndarray and self not in OPEN:
            value = interpreter.lift(value)
        if isinstance(value, Handle):
            self.nest_in(value.trace)
        return value

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
                    value = interpreter.lift(value)
                active.append(False)
            inputs += (id, value)
            is_nested = is_nested or isinstance(value, Handle)
        values = inputs[1::2]
        try:
            if is_nested:
                value = interpreter.innermost(values).process(op, values, attrs)
            else:
                value = op.compute(values, attrs)
        except errors.TapeError as error:
            tell_places(error, operands)
            raise
        node = _new(Node)
        node.value, node.call, node.inputs = value, op.call(attrs, tuple(active)), tuple(inputs)
        var = self.push(node)
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

    def append(
        self,
        value: Any,
        parents: Sequence[Var],
        vjp: Callable[[Any], Sequence[Any]] | None = None,
        name: str | None = None,
    ) -> Var:
        """Append a node by hand: a value that was computed elsewhere, with its derivative.

        Parameters
        ----------
        value : array_like of numbers or bools
            Any shape.
        parents : sequence of Var
            What it was computed from, on this trace.
        vjp : callable, optional
            ``vjp(adjoint)``: a contribution for each parent, of its shape, or None where nothing flows.
            Written in NumPy calls, it is itself differentiated. Without it, the node is a constant to
            derivatives.
        name : str, optional
            For messages, listings and pictures.

        Returns
        -------
        Var

        Raises
        ------
        TraceMismatchError
            If a parent is not a Var of this trace.
        DTypeError
            If ``value`` holds neither numbers nor bools.
        UnsupportedError
            In a `replay`, which cannot compute the value anew.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> x = tr.param(np.array([1.0, 2.0]))
        >>> y = tr.append(x.value**3, [x], lambda g: [g * 3 * x.value**2], name="cube")
        >>> tr.backward_param_grads(y)
        [array([ 3., 12.])]
        """
        return INTERNAL["append"](self, value, parents, vjp, name)

    def replace(self, nodes: list[Node], place: Mapping[int, int]) -> None:
        """Take other nodes, which compute the same: ``place`` says where each param is. Handles go stale."""
        self.nodes[:] = nodes
        self._params = [place[id] for id in self._params]

    def take(self, how: str, is_active: bool) -> None:
        """Note that the user's line has taken a plain number out of a node, active or not."""
        if self.taken is None:
            self.taken = Taken()
        self.taken.add(how, len(self.nodes), is_active)

    # ---- looking -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.nodes)

    def __bool__(self) -> bool:
        return True  # an empty tape is a tape all the same

    @overload
    def __getitem__(self, index: int) -> Var: ...
    @overload
    def __getitem__(self, index: slice) -> list[Var]: ...
    def __getitem__(self, index: int | slice) -> Var | list[Var]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self.nodes)))]
        try:
            id = range(len(self.nodes))[index]
        except IndexError:
            raise errors.OutOfBoundsError(
                f"node {index} of {self!r}: ids run from 0 to {len(self.nodes) - 1}"
            ) from None
        return self.var_type(self.ref, id, self.nodes[id])

    def __iter__(self) -> Iterator[Var]:
        return (self[i] for i in range(len(self.nodes)))

    @property
    def params(self) -> Params:
        """The params, a list in the order they were made; called with a model, it makes params of its arrays.

        See `tape.core.param_trees.Params`.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> model = tr.params({"w": np.array([1.0, 2.0]), "b": 3.0})
        >>> tr.params
        [Var(3.0, name="['b']", id=0), Var([1. 2.], name="['w']", id=1)]
        """
        pairs = zip(self._handles, self._params, strict=True)
        return Params(self, [handle if handle.id == id else self[id] for handle, id in pairs])

    def __repr__(self) -> str:
        name = self.name or f"{id(self):#x}"
        return f"<Trace {name}: {counted(len(self.nodes), 'node')}, {counted(len(self._params), 'param')}>"

    def __copy__(self, *ignored: object) -> NoReturn:
        raise errors.UnsupportedError(
            f"{self!r} cannot be copied or pickled: its Vars belong to it alone. Record again, or replay"
        )

    __deepcopy__ = __reduce_ex__ = __copy__
