"""The tape: `Trace` records nodes in a flat list and sweeps over it, backwards, forwards and again.

Nodes stand in execution order, so parents always come before children: a sweep is a loop over that
list, never a sort and never a recursion (`tape.core.sweep`, `tape.core.forward`). This file must never know
which operations exist: a node carries its own rule.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, overload

import numpy as np

from tape import errors
from tape.conversion.numbers import Taken
from tape.core import checks, interpreter
from tape.core.forward import push_forward, recompute
from tape.core.interpreter import OPEN, Interpreter
from tape.core.node import Handle, Leaf, Node, snapshot
from tape.core.operands import as_operand, tell_places
from tape.core.sweep import pull_back, unshared
from tape.core.table import INTERNAL
from tape.core.var import Var
from tape.inplace.aliases import share
from tape.inspect import watching
from tape.inspect.listing import Shown

if TYPE_CHECKING:
    from tape.core.op import Op
    from tape.program.replay import TraceProgram

_new: Callable[[type], Any] = object.__new__  # half the time of a call that runs a Python __init__


class Trace(Interpreter, Shown):
    """A tape: records operations while Python runs, then sweeps over them.

    Parameters
    ----------
    name : str, optional
        Shown in messages and listings.
    sites : bool
        Whether each node keeps the place in the user's code that recorded it, as `Node.site`.
    check : bool
        Whether the first NaN or infinity that is made out of finite numbers, forwards or backwards, raises
        `NonFiniteError`, which says what made it, out of what, where, and what usually cures it.
    strict : bool
        Whether ``float(v)`` and its like raise `ConversionError` for a Var that depends on a param, as they
        do inside of transforms. Otherwise a sweep warns where that lost a derivative.

    Attributes
    ----------
    nodes : list of Node
        In execution order.
    level : int
        Nesting depth. An operation records on the deepest trace among its operands, the others are
        constants to it. A trace is nested in another one by making leaves from its Vars. One that is
        opened in a ``with`` block is deeper than all that are not, and than those opened around it.
    adjoints : list or None
        What the last `backward` has found, for listings and pictures: kept until the next one or a `replay`.
    root : Var or None
        What that was the sweep of.
    taken : Taken or None
        The plain numbers that were taken out by ``float()`` and its like; None if there are none.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> w = tr.param(np.array([1.0, 2.0]), name="w")
    >>> y = (w * w).sum()
    >>> tr.backward_param_grads(y)
    [array([2., 4.])]
    """

    __slots__ = ("__weakref__", "_handles", "_has_other_leaves", "_is_enclosing", "_params", "adjoints",
                 "is_plain", "is_strict", "level", "name", "nodes", "ref", "root", "stack", "taken",
                 "watching")  # fmt: skip

    var_type: ClassVar[type[Var]] = Var

    stack: list[Any]  # while it is open: the scopes of the thread that opened it

    def __init__(
        self, name: str | None = None, *, sites: bool = False, check: bool = False, strict: bool = False
    ) -> None:
        self.name = name
        self.is_strict = strict
        self.taken: Taken | None = None
        self.nodes: list[Node] = []
        self.ref = weakref.ref(self)
        is_watched = sites or check or watching.OPEN
        self.watching = watching.watch_for(self.ref, sites, check) if is_watched else None
        self.is_plain = self.watching is None
        self.level = 0
        self._is_enclosing = False
        self._has_other_leaves = False  # set, and not replayed yet
        around = interpreter.innermost_open()
        if around is not None:
            self._nest_in(around, around.level + 1)
        self._params: list[int] = []  # ids: handles may be written to, and move on
        self._handles: list[Var] = []  # as `param` returned them
        self.adjoints: list[Any] | None = None
        self.root: Var | None = None

    def __enter__(self) -> Trace:
        if interpreter.is_open(self):
            raise errors.TraceMismatchError(f"{self!r} is open already. Open another Trace inside it")
        around = interpreter.innermost_open()
        if around is None and not self._is_enclosing:
            self.level = interpreter.next_level()
        elif around is not None and (self.level <= around.level or not self._is_enclosing):
            self._nest_in(around, interpreter.next_level())
        interpreter.push(self)
        return self

    def __exit__(self, *exception: object) -> None:
        interpreter.pop(self)

    def __copy__(self, *ignored: object) -> NoReturn:
        raise errors.UnsupportedError(
            f"{self!r} cannot be copied or pickled: its Vars belong to it alone. Record again, or replay"
        )

    __deepcopy__ = __reduce_ex__ = __copy__

    # ---- recording ---------------------------------------------------------------------------

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

    def push(self, node: Node) -> Var:
        """Append a node whose parents are on the tape already, and return its handle."""
        nodes = self.nodes
        id = len(nodes)
        if self.watching is not None:
            self.watching.recorded(node, id)
        var = _new(self.var_type)
        var.trace_ref = self.ref
        var.id = id
        var.node = node
        var.share = None
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
        for parent in parents:
            checks.check_root(self, parent)
        op = INTERNAL["by_hand"](vjp, name)
        value = checks.leaf_value(self, value, is_param=False)
        inputs = [part for parent in parents for part in (parent.id, parent.node.value)]
        call = op.call({}, tuple([parent.node.is_active for parent in parents]))
        var = self.push(Node(value, call, tuple(inputs)))
        var.name = name
        return var

    def process(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Record an operation: compute it, and append a node; nothing changes if that fails."""
        ref = self.ref
        inputs: list[Any] = []
        active = []
        is_nested = False
        for operand in operands:
            if isinstance(operand, Handle) and operand.trace_ref is ref:
                parent = operand.node
                value = parent.value
                inputs += (operand.id, value)
                active.append(parent.call.pull is not None or parent.is_param)
            else:
                value = snapshot(as_operand(operand))
                if OPEN and type(value) is np.ndarray:
                    value = interpreter.lift(value)
                inputs += (None, value)
                active.append(False)
            is_nested = is_nested or isinstance(value, Handle)
        values = inputs[1::2]
        try:
            value = op(*values, **attrs) if is_nested else op.compute(values, attrs)
        except errors.TapeError as error:
            tell_places(error, operands)
            raise
        node = _new(Node)
        node.value = value
        node.call = op.call(attrs, tuple(active))
        node.inputs = tuple(inputs)
        var = self.push(node)
        if op.view is not None and inputs[0] is not None:
            share(var, operands[0])
        return var

    def take(self, how: str, is_active: bool) -> None:
        """Note that the user's line has taken a plain number out of a node, active or not."""
        if self.taken is None:
            self.taken = Taken()
        self.taken.add(how, len(self.nodes), is_active)

    # ---- looking -----------------------------------------------------------------------------

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
    def params(self) -> list[Var]:
        """The params, in the order they were made."""
        pairs = zip(self._handles, self._params, strict=True)
        return [handle if handle.id == id else self[id] for handle, id in pairs]

    def __repr__(self) -> str:
        name = self.name or f"{id(self):#x}"
        return f"<Trace {name}: {len(self.nodes)} nodes, {len(self._params)} params>"

    # ---- sweeping ----------------------------------------------------------------------------

    def backward(self, root: Var, seed: Any = None) -> list[Any]:
        """Reverse sweep: the adjoint of every node.

        Parameters
        ----------
        root : Var
            What is differentiated; any shape.
        seed : array_like, optional
            The root's own adjoint, of the root's shape. Ones by default.

        Returns
        -------
        list
            One entry a node, of the node's shape and dtype; None where nothing flows. Entries may
            share memory with each other and with the seed: treat them as read-only.

        Raises
        ------
        TraceMismatchError
            If ``root`` is not a Var of this trace.
        SeedError
            If the seed has the wrong shape or dtype, or holds NaN.
        DTypeError
            If the root is of an integer or bool dtype.

        Warns
        -----
        LostDerivativeWarning
            If plain numbers were taken out of the trace before the root was computed.

        Examples
        --------
        >>> import tape
        >>> tr = tape.Trace()
        >>> a, b = tr.param(3.0), tr.param(4.0)
        >>> [float(adjoint) for adjoint in tr.backward(a * b)]
        [4.0, 3.0, 1.0]
        """
        root_id, seed = checks.start_of(self, root, seed)
        if self.taken is not None:
            self.taken.warn("backward", root_id)
        adjoints = pull_back(self.nodes, {root_id: seed}, where=self, keep_all=True)
        adjoints += [None] * (len(self.nodes) - len(adjoints))
        self.adjoints, self.root = list(adjoints), root.again()
        return adjoints

    def backward_param_grads(
        self, root: Any, seed: Any = None, *, unreached: Literal["raise", "zero"] = "raise"
    ) -> list[Any]:
        """Reverse sweep: the gradients of the params.

        Parameters
        ----------
        root : Var
            What is differentiated; any shape (the gradient is that of ``sum(root * seed)``). With
            ``unreached="zero"`` also a plain number or array, which depends on nothing.
        seed : array_like, optional
            The root's adjoint, of the root's shape. Ones by default.
        unreached : {"raise", "zero"}
            What to do about a param that ``root`` does not depend on.

        Returns
        -------
        list of numpy.ndarray
            In the order the params were made, each of its param's shape and dtype, writable, and
            sharing memory with nothing else. Those that depend on an enclosing trace are its Vars.

        Raises
        ------
        UnreachableParamError
            Naming the params the root does not depend on, unless ``unreached="zero"``.
        TraceMismatchError, SeedError, DTypeError
            As `backward`.

        Warns
        -----
        LostDerivativeWarning
            As `backward`.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> x = tr.param(np.array([0.0, 1.0]))
        >>> tr.backward_param_grads(np.exp(x), seed=[1.0, 0.0])
        [array([1., 0.])]
        """
        if unreached not in ("raise", "zero"):
            raise errors.OptionError(f"unreached is 'raise' or 'zero', not {unreached!r}")
        if unreached == "zero" and not isinstance(root, Handle):
            return [_zeros_like(self.nodes[id].value) for id in self._params]  # a constant reaches none
        root_id, seed = checks.start_of(self, root, seed)
        if self.taken is not None:
            self.taken.warn("backward_param_grads", root_id)
        gradients = self.pull_back({root_id: seed})
        for k, gradient in enumerate(gradients):
            if type(gradient) is np.ndarray or isinstance(gradient, Handle):
                continue
            if gradient is None:
                if unreached == "raise":
                    checks.fail_unreached(root, self.params, gradients)
                gradient = _zeros_like(self.nodes[self._params[k]].value)
            gradients[k] = np.asarray(gradient)
        return gradients

    def pull_back(self, seeds: Mapping[int, Any], *, consume: bool = False) -> list[Any]:
        """Reverse sweep from any number of roots at once, for transforms: nothing is checked.

        Parameters
        ----------
        seeds : mapping of int to array
            The adjoint of each root, by node id, of the node's shape and dtype.
        consume : bool
            Whether the tape may be used up: nodes are freed as the sweep goes.

        Returns
        -------
        list
            The gradient of each param, in order: an array that shares memory with nothing, a NumPy
            scalar, a Var of an enclosing trace, or None where nothing flows.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> x = tr.param(3.0)
        >>> y, z = 2 * x, x * x
        >>> [float(gradient) for gradient in tr.pull_back({y.id: np.float64(1), z.id: np.float64(10)})]
        [62.0]
        """
        if self.is_plain and not OPEN and not self._has_other_leaves:
            known = INTERNAL["swept"](self, seeds, consume=consume)
            if known is not None:
                return known
        return self.sweep(seeds, consume=consume)

    def sweep(self, seeds: Mapping[int, Any], *, consume: bool = False) -> list[Any]:
        """Do what `pull_back` does, node by node."""
        adjoints = pull_back(self.nodes, seeds, where=self, consume=consume)
        return unshared([adjoints[id] if id < len(adjoints) else None for id in self._params], seeds)

    def jvp(self, root: Var, tangents: Mapping[Var, Any]) -> Any:
        """Forward sweep: the derivative of ``root`` along the given tangents of leaves.

        Parameters
        ----------
        root : Var
            What is differentiated; any shape.
        tangents : mapping of Var to array_like
            A tangent, of the leaf's shape, for each leaf that moves; the others stand still.

        Returns
        -------
        numpy.ndarray
            Of the root's shape and dtype. A Var of the enclosing trace when traces are nested.

        Raises
        ------
        TraceMismatchError
            If ``root`` or a key is not a Var of this trace, or a key is not a leaf.
        SeedError
            If a tangent has the wrong shape or dtype, or holds NaN.

        Warns
        -----
        LostDerivativeWarning
            As `backward`, also of numbers that depend on inputs alone if one of these moves.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> x = tr.param(np.array([1.0, 2.0]))
        >>> tr.jvp(x * x, {x: [1.0, 0.5]})
        array([2., 2.])
        """
        checks.check_root(self, root)
        seeds = checks.checked_tangents(self, tangents)
        if self.taken is not None:
            self.taken.warn("jvp", root.id, inactive=any(not self.nodes[id].is_param for id in seeds))
        (tangent,) = self.push_forward(seeds, [root.id])
        if tangent is None:
            return _zeros_like(root.node.value)
        # A tangent that reaches the root as it is, e.g. through 1 * x, must not be the caller's array.
        return snapshot(tangent) if isinstance(tangent, Handle) else np.array(tangent)

    def push_forward(self, seeds: Mapping[int, Any], roots: Sequence[int]) -> list[Any]:
        """Forward sweep to any number of roots at once, for transforms: nothing is checked.

        Parameters
        ----------
        seeds : mapping of int to array
            The tangent of each leaf that moves, by node id, of the node's shape and dtype.
        roots : sequence of int
            Node ids.

        Returns
        -------
        list
            The tangent of each root, which may be a seed; None where nothing flows.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> x = tr.param(3.0)
        >>> y, z = 2 * x, x * x
        >>> [float(tangent) for tangent in tr.push_forward({x.id: np.float64(10)}, [y.id, z.id])]
        [20.0, 60.0]
        """
        return push_forward(self.nodes, seeds, roots, where=self)

    # ---- replaying ---------------------------------------------------------------------------

    def set(self, leaf: Var, value: Any) -> None:
        """Give a leaf another value; `replay` then recomputes everything that follows from it.

        Parameters
        ----------
        leaf : Var
            A param or input of this trace.
        value : array_like
            Held by reference, of a dtype of the same kind. Another shape is fine if the recorded
            operations accept it; what the Python code made of the old one (slices, axes counted from
            the front, branches) stays.

        Raises
        ------
        TraceMismatchError
            If ``leaf`` is not a leaf of this trace.
        DTypeError
            As `param` and `input`.

        Examples
        --------
        >>> import tape
        >>> tr = tape.Trace()
        >>> x = tr.input(2.0)
        >>> y = x * x
        >>> tr.set(x, 3.0)
        >>> tr.replay()
        >>> float(y)
        9.0
        """
        checks.check_leaf(self, leaf, "the first argument of set")
        value = self._leaf_value(value, leaf.node.is_param)
        checks.check_replacement(leaf, value)
        leaf.node.value = value
        self._has_other_leaves = True

    def replay(self) -> None:
        """Recompute every value, in order, from the current leaves.

        The recorded operations run again, not the Python code that recorded them: a branch that
        was taken then is taken now. On an error nothing has changed.

        Raises
        ------
        TapeError
            Whatever an operation raises for the new values.

        Warns
        -----
        LostDerivativeWarning
            If more was recorded after plain numbers had been taken out of the trace: these stay as they were.
        """
        if self.taken is not None:
            self.taken.warn("replay", len(self.nodes) - 1, inactive=True)
        recompute(self.nodes, where=self)
        self._has_other_leaves = False
        self.adjoints = self.root = None

    def compile(self, root: Var) -> TraceProgram:
        """Compile the tape up to a root, with its reverse sweep, to a program that runs without Python.

        Parameters
        ----------
        root : Var
            What is differentiated; any shape.

        Returns
        -------
        TraceProgram
            ``run()`` gives the value of the root and the gradients of the params for the present leaves.

        Raises
        ------
        UnreachableParamError, TraceMismatchError, DTypeError
            As `backward_param_grads`.
        UnsupportedError
            If a leaf is a Var of an enclosing trace.

        Warns
        -----
        LostDerivativeWarning
            If plain numbers were taken out of the trace before the root was computed.
        """
        return INTERNAL["compile"](self, root)

    # ---- helpers -----------------------------------------------------------------------------

    def _leaf_value(self, value: Any, is_param: bool) -> Any:
        value = checks.leaf_value(self, interpreter.resolve(value), is_param)
        if type(value) is np.ndarray and self not in OPEN:
            value = interpreter.lift(value)
        if isinstance(value, Handle):
            if self.level <= value.trace.level:
                self._nest_in(value.trace, value.trace.level + 1)
            else:
                value.trace._is_enclosing = True
        return value

    def _nest_in(self, outer: Any, level: int) -> None:
        """Make this trace deeper than another scope, unless others have been nested in it as it is."""
        if self._is_enclosing:
            raise errors.TraceMismatchError(
                f"{self!r} cannot be nested in {outer!r}: other traces are nested in it at its present "
                "depth. Open a trace, or make its leaves, before nesting others in it"
            )
        self.level = level
        if isinstance(outer, Trace):
            outer._is_enclosing = True


def _zeros_like(value: Any) -> np.ndarray:
    return np.zeros(value.shape, value.dtype)
