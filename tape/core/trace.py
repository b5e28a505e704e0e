"""The tape: `Trace` records nodes in a flat list and sweeps over it, backwards, forwards and again.

A sweep is a loop over that list, never a sort and never a recursion (`tape.core.sweep`, `tape.core.forward`).
How nodes get there is in `tape.core.recording`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tape import errors
from tape.core import checks
from tape.core.forward import push_forward, recompute
from tape.core.interpreter import OPEN
from tape.core.node import Handle, snapshot
from tape.core.recording import Recording
from tape.core.sweep import pull_back, unshared
from tape.core.table import INTERNAL
from tape.core.var import Var
from tape.inplace.aliases import settle
from tape.inspect.shown import Shown

if TYPE_CHECKING:
    from tape.program.replay import TraceProgram


class Trace(Recording, Shown):
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

    __slots__ = ("_adjoints", "_root")

    _adjoints: list[Any] | None  # neither is there before the first `backward`
    _root: Var | None

    @property
    def adjoints(self) -> list[Any] | None:
        """What the last `backward` has found, for listings and pictures, until the next one or a `replay`."""
        return getattr(self, "_adjoints", None)

    @property
    def root(self) -> Var | None:
        """What that was the sweep of."""
        return getattr(self, "_root", None)

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
        self._adjoints, self._root = list(adjoints), root.again()
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

    def param_grads(
        self, root: Any, seed: Any = None, *, unreached: Literal["raise", "zero"] = "raise"
    ) -> Any:
        """Reverse sweep: the gradients of the params, in the structure of the model that they are from.

        Parameters
        ----------
        root, seed, unreached
            As for `backward_param_grads`.

        Returns
        -------
        tree
            The model that `params` was called with, with gradients in place of its arrays. That of an array
            which is in several places is the sum, and is in each of them, one and the same. Integers and
            bools, which are no params, have zeros of their dtype. After several calls of `params` a tuple of
            such trees, in their order. Params made one by one, by `param`, are not among them.

        Raises
        ------
        OptionError
            If `params` was not called with a model.
        UnreachableParamError, TraceMismatchError, SeedError, DTypeError
            As `backward_param_grads`.

        Warns
        -----
        LostDerivativeWarning
            As `backward`.

        Examples
        --------
        >>> import numpy as np, tape
        >>> tr = tape.Trace()
        >>> model = tr.params({"w": np.array([1.0, 2.0]), "b": 3.0})
        >>> tr.param_grads(np.sum(model["w"] ** 2) + model["b"])
        {'w': array([2., 4.]), 'b': array(1.)}
        """
        if self.trees is None:
            raise errors.OptionError(
                "param_grads returns gradients in the structure of a model, and there is none. Make params "
                "of it, model = trace.params(model), or call backward_param_grads"
            )
        return self.trees.filled(self.backward_param_grads(root, seed, unreached=unreached))

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
        settle(self)  # what shares memory with the old value
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
        self._adjoints = self._root = None

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


def _zeros_like(value: Any) -> np.ndarray:
    return np.zeros(value.shape, value.dtype)
