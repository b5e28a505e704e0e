"""The tape: `Node`, `Trace` (recording, the two sweeps, replay) and the bare `Handle` to a node.

A trace is a flat list of nodes in execution order, so parents always come before children: a sweep
is a loop over that list, never a sort and never a recursion. This file relies on the accumulation
kernel alone. It must never know which operations exist: a node carries its own rule, and values are
only ever added together.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, overload

import numpy as np

from tape import errors
from tape.kernels.accumulate import accumulate
from tape.listing import listing

if TYPE_CHECKING:
    from tape.op import Op
    from tape.var import Var

__all__ = ["Handle", "Node", "Trace"]

Pull = Callable[["Node", Any], Sequence[Any]]


class _Nesting(threading.local):
    """How many traces are open in ``with`` blocks, in each thread."""

    depth = 0


_nesting = _Nesting()


class Node:
    """One entry of a tape.

    Attributes
    ----------
    value : numpy.ndarray, numpy.generic or Var
        The result of the operation; a Var of the enclosing trace when traces are nested.
    op : Op or None
        The operation that made it; None for a leaf.
    parents : tuple of int or None
        The id of the node each operand came from; None for an operand that is a constant.
    operands : tuple
        The values of the operands.
    attrs : dict
        The static arguments of the operation (axis, shape, ...).
    pull : callable or None
        What `vjp` calls, shared by all nodes alike. None for leaves and wherever no param is behind.
    is_param : bool
        Whether this is a leaf to differentiate by.
    name : str or None
        The name the user gave.
    """

    # The environment of the vjp closure is the node itself. A closure object for each node would
    # double the memory of a scalar tape, and the time the garbage collector spends on it.
    __slots__ = ("attrs", "op", "operands", "parents", "pull", "value")

    is_param = False
    name: str | None = None

    def __init__(
        self,
        value: Any,
        op: Op | None,
        parents: tuple[int | None, ...],
        operands: tuple[Any, ...],
        attrs: dict[str, Any],
        pull: Pull | None,
    ) -> None:
        self.value = value
        self.op = op
        self.parents = parents
        self.operands = operands
        self.attrs = attrs
        self.pull = pull

    @property
    def vjp(self) -> Callable[[Any], Sequence[Any]] | None:
        """The closure ``vjp(adjoint)``: one contribution an operand, None where nothing flows.

        None for leaves and for nodes that depend on no param.
        """
        return None if self.pull is None else MethodType(self.pull, self)

    @property
    def is_active(self) -> bool:
        """Whether this is a param or depends on one, and so may receive an adjoint."""
        return self.pull is not None or self.is_param


class Leaf(Node):
    """An entry that no operation made: a param or an input."""

    __slots__ = ("is_param", "name")

    def __init__(self, value: Any, is_param: bool, name: str | None) -> None:
        self.value = value
        self.op = None
        self.parents = self.operands = ()
        self.attrs = {}
        self.pull = None
        self.is_param = is_param
        self.name = name


class Handle:
    """What the user holds: a trace and a node of it.

    The trace is held weakly: dropping the trace frees the whole tape at once, whatever handles are
    left. `tape.Var` adds everything that makes a handle behave like an array.
    """

    __slots__ = ("id", "node", "trace_ref")

    def __init__(self, trace_ref: weakref.ref[Trace], id: int, node: Node) -> None:
        self.trace_ref = trace_ref
        self.id = id
        self.node = node

    @property
    def trace(self) -> Trace:
        """The trace this belongs to.

        Raises
        ------
        TraceDroppedError
            If the trace is gone.
        """
        trace = self.trace_ref()
        if trace is None:
            raise errors.TraceDroppedError(
                f"{self!r} was used after its trace was dropped. Keep a reference to the Trace as "
                "long as its Vars take part in computations; .value still reads the number"
            )
        return trace


class Trace:
    """A tape: records operations while Python runs, then sweeps over them.

    Parameters
    ----------
    name : str, optional
        Shown in messages and listings.

    Attributes
    ----------
    nodes : list of Node
        In execution order.
    level : int
        Nesting depth. An operation records on the deepest trace among its operands, the others are
        constants to it. A trace is nested in another one by making leaves from its Vars, or by
        opening it in a ``with`` block inside the other's.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> w = tr.param(np.array([1.0, 2.0]), name="w")
    >>> y = (w * w).sum()
    >>> tr.backward_param_grads(y)
    [array([2., 4.])]
    """

    __slots__ = ("__weakref__", "_param_ids", "level", "name", "nodes", "ref")

    handle: ClassVar[type[Handle]] = Handle  # `tape.var` puts Var here; this floor stays below it

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.level = _nesting.depth
        self.ref = weakref.ref(self)
        self._param_ids: list[int] = []

    def __enter__(self) -> Trace:
        self.level = max(self.level, _nesting.depth)
        _nesting.depth += 1
        return self

    def __exit__(self, *exception: object) -> None:
        _nesting.depth -= 1

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
            If ``value`` is not of a float dtype.

        Examples
        --------
        >>> import tape
        >>> tape.Trace().param(3.0, name="a")
        Var(3.0, name='a', id=0)
        """
        if type(value) is not np.ndarray or value.dtype.kind != "f":
            value = self._leaf_value(value, is_param=True)
        self._param_ids.append(len(self.nodes))
        return self.push(Leaf(value, True, name))

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
        if type(value) is not np.ndarray or value.dtype.kind not in "fiub":
            value = self._leaf_value(value, is_param=False)
        return self.push(Leaf(value, False, name))

    def push(self, node: Node) -> Var:
        """Append a node whose parents are on the tape already, and return its handle."""
        nodes = self.nodes
        id = len(nodes)
        nodes.append(node)
        return self.handle(self.ref, id, node)  # type: ignore[return-value]

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
        return self.handle(self.ref, id, self.nodes[id])  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Var]:
        return (self[i] for i in range(len(self.nodes)))

    @property
    def params(self) -> list[Var]:
        """The params, in the order they were made."""
        return [self[i] for i in self._param_ids]

    def __repr__(self) -> str:
        name = self.name or f"{id(self):#x}"
        return f"<Trace {name}: {len(self.nodes)} nodes, {len(self._param_ids)} params>"

    def __str__(self) -> str:
        return listing(self)

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

        Examples
        --------
        >>> import tape
        >>> tr = tape.Trace()
        >>> a, b = tr.param(3.0), tr.param(4.0)
        >>> [float(adjoint) for adjoint in tr.backward(a * b)]
        [4.0, 3.0, 1.0]
        """
        adjoints = self._sweep(*self._start(root, seed), keep_all=True)
        return adjoints + [None] * (len(self.nodes) - len(adjoints))

    def backward_param_grads(
        self, root: Var, seed: Any = None, *, unreached: Literal["raise", "zero"] = "raise"
    ) -> list[Any]:
        """Reverse sweep: the gradients of the params.

        Parameters
        ----------
        root : Var
            What is differentiated; any shape (the gradient is that of ``sum(root * seed)``).
        seed : array_like, optional
            The root's adjoint, of the root's shape. Ones by default.
        unreached : {"raise", "zero"}
            What to do about a param that ``root`` does not depend on.

        Returns
        -------
        list of numpy.ndarray
            In the order the params were made, each of its param's shape and dtype, writable, and
            sharing memory with nothing else. Vars of the enclosing trace when traces are nested.

        Raises
        ------
        UnreachableParamError
            Naming the params the root does not depend on, unless ``unreached="zero"``.
        TraceMismatchError, SeedError, DTypeError
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
            raise errors.TapeError(f"unreached is 'raise' or 'zero', not {unreached!r}")
        root_id, seed = self._start(root, seed)
        adjoints = self._sweep(root_id, seed, keep_all=False)
        gradients = []
        taken = {id(seed)}
        for i in self._param_ids:
            gradient = adjoints[i] if i <= root_id else None
            if gradient is None:
                if unreached == "raise":
                    self._fail_unreached(root, adjoints)
                gradient = _zeros_like(self.nodes[i].value)
            elif type(gradient) is not np.ndarray:
                if not isinstance(gradient, Handle):
                    gradient = np.asarray(gradient)
            elif gradient.base is not None or id(gradient) in taken:  # not ours alone
                gradient = gradient.copy()
            taken.add(id(gradient))
            gradients.append(gradient)
        return gradients

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

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> x = tr.param(np.array([1.0, 2.0]))
        >>> tr.jvp(x * x, {x: [1.0, 0.5]})
        array([2., 2.])
        """
        self._check_root(root)
        root_id = root.id
        flow: list[Any] = [None] * (root_id + 1)
        for leaf, tangent in tangents.items():
            self._check_leaf(leaf, "a key of tangents")
            checked = self._check_cotangent(tangent, leaf.node.value, f"the tangent of {leaf!r}")
            if leaf.id <= root_id:
                flow[leaf.id] = checked
        for i, node in enumerate(self.nodes[: root_id + 1]):
            if node.op is None:
                continue
            incoming = [None if parent is None else flow[parent] for parent in node.parents]
            if any(tangent is not None for tangent in incoming):
                flow[i] = node.op.push_forward(node, incoming)
        tangent = flow[root_id]
        if tangent is None:
            return _zeros_like(root.node.value)
        # A tangent that reaches the root as it is, e.g. through 1 * x, must not be the caller's array.
        return tangent if isinstance(tangent, Handle) else np.array(tangent)

    # ---- replaying ---------------------------------------------------------------------------

    def set(self, leaf: Var, value: Any) -> None:
        """Give a leaf another value; `replay` then recomputes everything that follows from it.

        Parameters
        ----------
        leaf : Var
            A param or input of this trace.
        value : array_like
            Held by reference. Another shape is fine if the recorded operations accept it.

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
        self._check_leaf(leaf, "the first argument of set")
        leaf.node.value = self._leaf_value(value, leaf.node.is_param)

    def replay(self) -> None:
        """Recompute every value, in order, from the current leaves.

        The recorded operations run again, not the Python code that recorded them: a branch that
        was taken then is taken now. On an error nothing has changed.

        Raises
        ------
        TapeError
            Whatever an operation raises for the new values.
        """
        values: list[Any] = []
        operands: list[tuple[Any, ...]] = []
        for node in self.nodes:
            operands.append(
                tuple(
                    operand if parent is None else values[parent]
                    for parent, operand in zip(node.parents, node.operands, strict=True)
                )
            )
            values.append(node.value if node.op is None else node.op(*operands[-1], **node.attrs))
        for node, value, renewed in zip(self.nodes, values, operands, strict=True):
            node.value, node.operands = value, renewed

    # ---- helpers -----------------------------------------------------------------------------

    def _sweep(self, root_id: int, seed: Any, *, keep_all: bool) -> list[Any]:
        """The reverse sweep. Without ``keep_all``, adjoints are freed as soon as they are used up.

        The first contribution to an adjoint may alias anything. The second makes an array of our
        own, and from then on contributions are added in place.
        """
        nodes = self.nodes
        adjoints: list[Any] = [None] * (root_id + 1)
        is_ours = bytearray(root_id + 1)
        adjoints[root_id] = seed
        for i in range(root_id, -1, -1):
            adjoint = adjoints[i]
            if adjoint is None:
                continue
            node = nodes[i]
            pull = node.pull
            if pull is None:
                continue
            for parent, contribution in zip(node.parents, pull(node, adjoint)):  # noqa: B905  hot
                if contribution is None:
                    continue
                so_far = adjoints[parent]
                if so_far is None:
                    adjoints[parent] = contribution
                elif is_ours[parent] and type(contribution) is np.ndarray:
                    accumulate(so_far, contribution)
                else:
                    total = so_far + contribution
                    adjoints[parent] = total
                    is_ours[parent] = type(total) is np.ndarray
            if not keep_all:
                adjoints[i] = None
        return adjoints

    def _start(self, root: Var, seed: Any) -> tuple[int, Any]:
        """The root's id and its checked seed."""
        self._check_root(root)
        value = root.node.value
        dtype = value.dtype
        if dtype.kind != "f":
            raise errors.DTypeError(
                f"{root!r} is of dtype {dtype}, which has no derivative. Differentiate a float"
            )
        if seed is not None:
            return root.id, self._check_cotangent(seed, value, f"the seed for {root!r}")
        return root.id, np.ones(value.shape, dtype) if value.ndim else dtype.type(1)

    def _check_root(self, root: Var) -> None:
        if not isinstance(root, Handle):
            raise errors.TraceMismatchError(
                f"the root is {errors.describe(root)}, not a Var: nothing recorded it. Compute it "
                f"from params of {self!r}"
            )
        if root.trace_ref is not self.ref:
            raise errors.TraceMismatchError(
                f"the root {root!r} is on {root.trace!r}, not on {self!r}. Call the method of its own trace"
            )

    def _fail_unreached(self, root: Var, adjoints: list[Any]) -> NoReturn:
        names = [repr(self[i]) for i in self._param_ids if i >= len(adjoints) or adjoints[i] is None]
        raise errors.UnreachableParamError(
            f"{root!r} does not depend on {', '.join(names)}. Leave such params out, use them, "
            'or pass unreached="zero"'
        )

    def _check_leaf(self, leaf: Var, what: str) -> None:
        if not isinstance(leaf, Handle) or leaf.trace is not self or leaf.node.op is not None:
            raise errors.TraceMismatchError(
                f"{what} is {leaf!r}, which is no leaf of {self!r}. Leaves come from param and input"
            )

    def _check_cotangent(self, given: Any, value: Any, what: str) -> Any:
        """A seed or tangent for ``value``, checked, of its shape and dtype."""
        if isinstance(given, Handle):
            if given.trace is self:
                raise errors.TraceMismatchError(f"{what} is on the trace it is swept over. Pass its .value")
            array = given
        else:
            array = np.asarray(given)
            if array.dtype.kind not in "biuf":
                raise errors.SeedError(f"{what} is {array.dtype}, which does not convert to {value.dtype}")
        if array.shape != value.shape:
            raise errors.SeedError(
                f"{what} has shape {list(array.shape)}; it needs {list(value.shape)}, without broadcasting"
            )
        if isinstance(given, Handle):
            return array
        if np.isnan(array).any():
            raise errors.SeedError(f"{what} holds NaN, which would spread over every gradient")
        array = array.astype(value.dtype, copy=False)
        return array if array.ndim else array[()]

    def _leaf_value(self, value: Any, is_param: bool) -> Any:
        """A leaf's value: an ndarray by reference, a NumPy scalar, or a Var of an enclosing trace."""
        kind = "param" if is_param else "input"
        if isinstance(value, Handle):
            outer = value.trace
            if outer is self:
                raise errors.TraceMismatchError(
                    f"{value!r} is on {self!r} already, and a {kind} is a new leaf. Use the Var as it is"
                )
            self.level = max(self.level, outer.level + 1)
        elif isinstance(value, np.ma.MaskedArray):
            raise errors.DTypeError(f"a {kind} cannot be a masked array. Fill it, and multiply by the mask")
        elif type(value) is not np.ndarray:
            try:
                value = np.asarray(value)
            except ValueError as error:  # ragged lists
                raise errors.ShapeError(f"a {kind} must be array-like: {error}") from error
            value = value if value.ndim else value[()]
        allowed = "f" if is_param else "biuf"
        if getattr(value, "dtype", np.dtype(object)).kind not in allowed:
            wanted = "a float dtype" if is_param else "numbers or bools"
            raise errors.DTypeError(
                f"a {kind} needs {wanted}, not {errors.describe(value)}. "
                "Convert it, e.g. np.asarray(value, dtype=float)"
            )
        return value


def _zeros_like(value: Any) -> np.ndarray:
    return np.zeros(value.shape, value.dtype)

