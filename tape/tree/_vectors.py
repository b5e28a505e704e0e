"""Trees as vectors: the layout of leaves, and `ravel`, which goes both ways and is differentiable."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from tape import errors
from tape.conversion.foreign import complaint
from tape.core.dispatch import lift
from tape.core.node import Handle
from tape.tree._nested import flatten, names, unflatten


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return all numbers of a tree in a vector, and the function from such vectors to trees.

    Both ways are differentiable.

    Parameters
    ----------
    tree : tree
        Its leaves are arrays, numbers and Vars, of any shapes.

    Returns
    -------
    vector : array or Var, shape (n,)
        The elements of all leaves, in the order of `leaves`, in the dtype that they have in common. An array
        of its own; a Var if there is one among the leaves.
    unravel : callable
        It takes a vector of shape (n,), an array or a Var, and returns a tree like ``tree``: with the same
        shapes, arrays and scalars, and dtypes.

    Raises
    ------
    DTypeError
        If a leaf holds no numbers, or integers that the dtype of the vector rounds, as those beyond 2**53
        beside floats. ``unravel`` raises it where a leaf was of integers and gets other numbers, or a Var of
        floats; and where a leaf was real and gets complex numbers.
    ShapeError
        By ``unravel``, if the vector has another shape.

    Examples
    --------
    >>> import numpy as np, tape
    >>> vector, unravel = tape.tree.ravel({"w": np.ones((2, 2), np.float32), "b": 3.0})
    >>> vector
    array([3., 1., 1., 1., 1.])
    >>> unravel(10 * vector)
    {'w': array([[10., 10.],
           [10., 10.]], dtype=float32), 'b': np.float64(30.0)}
    >>> tape.grad(lambda v: unravel(v)["b"] ** 2)(vector)
    array([6., 0., 0., 0., 0.])
    """
    layout = Layout(tree)
    found = flatten(tree)[0]
    if not found:
        return np.zeros(0), layout.unravel
    dtype = np.result_type(*layout.dtypes)
    parts = []
    for i, leaf in enumerate(found):
        layout.check(i, leaf, dtype)
        part: Any = leaf if isinstance(leaf, Handle) else lift(np.asarray(leaf))
        parts.append(part.reshape(-1).astype(dtype))
    return np.concatenate(parts), layout.unravel


class Layout:
    """The layout of the leaves of a tree in a vector: their places, shapes and dtypes.

    Parameters
    ----------
    tree : tree
        Of arrays, numbers and Vars.
    """

    def __init__(self, tree: Any) -> None:
        leaves, self.structure = flatten(tree)
        self.shapes = [np.shape(leaf) for leaf in leaves]
        self.dtypes = [leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype for leaf in leaves]
        self.stops = np.cumsum([0, *[math.prod(shape) for shape in self.shapes]]).tolist()
        self.size: int = self.stops[-1]
        kept = zip(leaves, self.shapes, strict=True)
        self.is_array = [isinstance(leaf, np.ndarray) or shape != () for leaf, shape in kept]

    def parts(self, vector: Any) -> list[Any]:
        """Return the elements of each leaf."""
        return [vector[start:stop] for start, stop in pairwise(self.stops)]

    def check(self, i: int, leaf: Any, dtype: np.dtype[Any]) -> None:
        """Check that leaf number ``i`` keeps its numbers in the dtype of a vector."""
        own = self.dtypes[i]
        if own.kind not in "biufc" or complaint(leaf) is not None:
            raise errors.DTypeError(
                f"tree.ravel: {self._name(i)} is {errors.describe(leaf)}, and a vector holds numbers. Take "
                "it out of the tree, or convert it with np.asarray"
            )
        if own.kind in "iu" and dtype.kind in "fc" and not isinstance(leaf, Handle):
            with np.errstate(invalid="ignore"):
                back = _real(np.asarray(leaf, dtype)).astype(own)
            if np.any(back != leaf):
                raise errors.DTypeError(
                    f"tree.ravel: {self._name(i)} holds integers that {dtype} rounds. Take it out of the tree"
                )

    def unravel(self, vector: Any) -> Any:
        """Return the tree with these numbers: what `ravel` returns as its second result."""
        if not isinstance(vector, Handle):
            vector = np.asarray(vector)
        if np.shape(vector) != (self.size,):
            raise errors.ShapeError(
                f"unravel: a vector of shape {list(np.shape(vector))}, for a tree of {self.size} numbers. "
                f"Pass one of shape [{self.size}]"
            )
        leaves = []
        for i, (part, shape) in enumerate(zip(self.parts(vector), self.shapes, strict=True)):
            leaf = self._as_before(i, part).reshape(shape)
            leaves.append(leaf if self.is_array[i] or isinstance(leaf, Handle) else leaf[()])
        return unflatten(self.structure, leaves)

    def _as_before(self, i: int, part: Any) -> Any:
        """Return the elements of a leaf in its dtype."""
        dtype, kind = self.dtypes[i], part.dtype
        if np.can_cast(kind, dtype, "same_kind" if dtype.kind in "fc" else "safe"):
            return part.astype(dtype)
        if isinstance(part, Handle):
            raise errors.DTypeError(
                f"unravel: {self._name(i)} is of {dtype}, which may not hold the numbers of a Var of "
                f"{kind}, nor their derivatives. Make it {kind} before tree.ravel, or take it "
                "out of the tree"
            )
        with np.errstate(invalid="ignore"):
            converted = _real(part).astype(dtype)
        if np.any(converted != part):
            raise errors.DTypeError(
                f"unravel: {self._name(i)} is of {dtype}, which cannot hold the numbers given for it, "
                f"{errors.describe(part)}. Make it {kind} before tree.ravel"
            )
        return converted

    def _name(self, i: int) -> str:
        return names(self.structure, "tree")[i]


def _real(part: np.ndarray) -> np.ndarray:
    return part.real if part.dtype.kind == "c" else part
