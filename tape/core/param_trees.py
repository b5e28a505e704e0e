"""Trees of params: a model as a whole becomes params of a trace, and its gradients a model again.

This file must never know how a sweep finds the gradients.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tape import tree
from tape.core.node import Handle

if TYPE_CHECKING:
    from tape.core.listed import Listed
    from tape.core.var import Var


class Params(list["Var"]):
    """The params of a trace, in the order they were made; a call makes params of all arrays of a model.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape import nn
    >>> layer = nn.Linear(3, 2, rng=np.random.default_rng(0))
    >>> tr = tape.Trace()
    >>> model = tr.params(layer)
    >>> y = np.sum(model(np.ones(3)))
    >>> [param.node.name for param in tr.params]
    ['weight', 'bias']
    >>> tr.param_grads(y).bias
    array([1., 1.], dtype=float32)
    """

    __slots__ = ("_trace",)

    def __init__(self, trace: Listed, params: Iterable[Var]) -> None:
        super().__init__(params)
        self._trace = trace

    def __call__(self, model: Any) -> Any:
        """Return a model with a param in place of each array of floats.

        Parameters
        ----------
        model : tree
            Floats, complex numbers and arrays of them become params, named by their way through the tree. An
            array, the same object, that is in several places, of this model or of one before, is one param.
            All other leaves stay as they are.

        Returns
        -------
        tree
            Of the structure of ``model``. `Trace.param_grads` returns the gradients in this structure.

        Raises
        ------
        TraceMismatchError
            If the model holds Vars of this trace.
        """
        trace = self._trace
        if trace.trees is None:
            trace.trees = Trees()
        shared, known = trace.trees.shared, trace.params
        leaves, structure = tree.flatten(model)
        places: list[int | None] = []
        handles = list(leaves)
        for k, (leaf, name) in enumerate(zip(leaves, tree.names(structure, ""), strict=True)):
            if id(leaf) in shared:
                place = shared[id(leaf)][1]
            elif is_float(leaf):
                place = len(known)
                known.append(trace.param(leaf, name.lstrip(".") or None))
                if isinstance(leaf, (np.ndarray, Handle)):
                    shared[id(leaf)] = (leaf, place)
            else:
                places.append(None)
                continue
            places.append(place)
            handles[k] = known[place]
        trace.trees.calls.append(_Call(structure, leaves, places))
        return tree.unflatten(structure, handles)


class _Call(NamedTuple):
    structure: Any
    leaves: list[Any]
    places: list[int | None]  # of each leaf among the params


class Trees:
    """The trees that were made params of one trace.

    Attributes
    ----------
    calls : list
        One for each call, in order.
    shared : dict
        By the identity of an array, the array, which is kept so that no other one takes this identity, and
        its place among the params.
    """

    __slots__ = ("calls", "shared")

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.shared: dict[int, tuple[Any, int]] = {}

    def filled(self, gradients: Sequence[Any]) -> Any:
        """Return gradients of all params in the structure of the tree; a tuple if there are several trees."""
        trees = tuple([_filled(call, gradients) for call in self.calls])
        return trees[0] if len(trees) == 1 else trees


def _filled(call: _Call, gradients: Sequence[Any]) -> Any:
    pairs = zip(call.leaves, call.places, strict=True)
    return tree.unflatten(
        call.structure,
        [_without_derivative(leaf) if place is None else gradients[place] for leaf, place in pairs],
    )


def is_float(leaf: Any) -> bool:
    """Return whether this leaf is a number, an array or a Var of floats or complex numbers."""
    dtype = getattr(leaf, "dtype", None)
    return dtype.kind in "fc" if isinstance(dtype, np.dtype) else isinstance(leaf, (float, complex))


def _without_derivative(leaf: Any) -> Any:
    """Return what stands for the gradient by a leaf that is no param: zero, or what is no number itself."""
    if isinstance(leaf, (bool, int, np.ndarray, np.generic)) and np.asarray(leaf).dtype.kind in "iub":
        return np.zeros_like(leaf)[()]
    return leaf
