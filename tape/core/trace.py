"""The tape: `Trace` records nodes in a flat list and sweeps over it, backwards, forwards and again.

A sweep is a loop over that list, never a sort and never a recursion. Here are those backwards, by the loop in
`tape.core.sweep`; those forwards are in `tape.core.forward`. How nodes get there is in `tape.core.recording`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from tape import errors
from tape.core import checks
from tape.core.forward import ForwardSweeps
from tape.core.interpreter import OPEN
from tape.core.node import Handle
from tape.core.sweep import reverse_sweep, unshared
from tape.core.table import INTERNAL
from tape.core.var import Var
from tape.inspect.shown import Shown

if TYPE_CHECKING:
    from tape.program.replay import TraceProgram


class Trace(ForwardSweeps, Shown):
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
        What the last `backward` has found, for listings and pictures, until the next one or a `replay`.
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

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise `UnsupportedError`: the trace of a Var hides the method ``trace`` that arrays have."""
        raise errors.UnsupportedError(
            "v.trace is the Trace of a Var, not the sum along the diagonal. Call np.trace(v)"
        )

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
        self.held.settle(self.nodes, [root_id])
        if self._replaced:
            checks.check_replayed(self.nodes, self._replaced, [root_id])
        adjoints = reverse_sweep(self.nodes, {root_id: seed}, where=self, keep_all=True)
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

        A tape that has come before is swept by a program.

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
        self.held.settle(() if OPEN else self.nodes, seeds)
        if self._replaced:
            checks.check_replayed(self.nodes, self._replaced, seeds)
        elif self.is_plain and not OPEN:
            known = INTERNAL["swept"](self, seeds, consume=consume)
            if known is not None:
                return known
        return self.pull_back_by_nodes(seeds, consume=consume)

    def pull_back_by_nodes(self, seeds: Mapping[int, Any], *, consume: bool = False) -> list[Any]:
        """Do what `pull_back` does, node by node, and never by a program of `tape.program.sweeps`."""
        self.held.settle()
        adjoints = reverse_sweep(self.nodes, seeds, where=self, consume=consume)
        return unshared([adjoints[id] if id < len(adjoints) else None for id in self._params], seeds)

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
