"""Conversion between trees and vectors: the layout of leaves, the unknowns of a solver, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors, tree
from tape.conversion.foreign import complaint
from tape.core.node import Handle

Shape = tuple[int, ...]
Vector = Any  # float64, shape (n,), or a Var of this type


class Layout(tree.Layout):
    """The layout of the leaves of a tree in a vector of a solver."""

    def unpack(self, vector: Vector) -> Any:
        """Return the tree whose leaves are parts of the vector."""
        if self.structure is tree.LEAF and len(self.shapes[0]) == 1:
            return vector
        leaves = [part.reshape(shape) for part, shape in zip(self.parts(vector), self.shapes, strict=True)]
        return tree.unflatten(self.structure, leaves)

    def restore(self, vector: np.ndarray) -> Any:
        """Return the tree with arrays, scalars and float dtypes as in the original."""
        leaves = []
        for part, shape, dtype, is_array in zip(
            self.parts(vector), self.shapes, self.dtypes, self.is_array, strict=True
        ):
            leaf = part.reshape(shape).astype(dtype if part.dtype.kind == "f" else part.dtype)
            leaves.append(leaf if is_array else leaf[()])
        return tree.unflatten(self.structure, leaves)


class Unknowns(Layout):
    """The unknowns of a solver: a tree of floats, and the vector to start from.

    Messages name the solver by ``where`` and its argument by ``name``.
    """

    def __init__(self, x0: Any, where: str, name: str = "x0") -> None:
        self.where, self.name = where, name
        leaves, structure = tree.flatten(x0)
        for leaf, leaf_name in zip(leaves, tree.names(structure, name), strict=True):
            if isinstance(leaf, Handle):
                raise errors.ConversionError(
                    f"{where}: {leaf_name} is {leaf!r}. Solutions cannot be differentiated; start from its "
                    ".value"
                )
            if np.asarray(leaf).dtype.kind != "f" or complaint(leaf) is not None:
                raise errors.DTypeError(
                    f"{where}: {leaf_name} is {errors.describe(leaf)}. Unknowns must be floats: convert it, "
                    "e.g. np.asarray(value, dtype=float), or pass it as one of the further arguments"
                )
        super().__init__(x0)
        if not self.size:
            raise errors.ShapeError(f"{where}: {name} holds no numbers. Pass at least one unknown")
        self.start = np.concatenate([np.ravel(leaf).astype(np.float64) for leaf in leaves])

    def refuse_vars(self, given: Any, name: str) -> None:
        """Check that a plain argument of a solver holds no Var."""
        leaves, structure = tree.flatten(given)
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, Handle):
                raise errors.ConversionError(
                    f"{self.where}: {tree.names(structure, name)[i]} is {leaf!r}, and solutions of "
                    "tape.scipy cannot be differentiated. Use tape.root on the gradient, or pass its .value"
                )

    def bounds(self, given: Any) -> Any:
        """Return the bounds of all elements in the form SciPy expects."""
        from scipy import optimize

        if given is None:
            return None
        self.refuse_vars(given, "bounds")
        if isinstance(given, optimize.Bounds):
            sides = self._sides((given.lb, given.ub), (self.size,), "bounds")
            return optimize.Bounds(*sides, given.keep_feasible)
        try:
            pairs = [given] if self.structure is tree.LEAF else self.structure.flatten_up_to(given)
        except (ValueError, TypeError) as error:
            raise errors.ShapeError(
                f"{self.where}: bounds do not fit {self.name}, {tree.describe(self.structure)}. Give a tree "
                f"like it, with a pair (low, high) or None at every leaf: {error}"
            ) from error
        names = tree.names(self.structure, "bounds")
        by_leaf = map(self._sides, pairs, self.shapes, names)
        return optimize.Bounds(*map(np.concatenate, zip(*by_leaf, strict=True)))

    def with_trees(self, found: Any) -> Any:
        """Return the result of a solver with trees for the solution and the gradient."""
        for name in ("x", "jac", "grad"):
            vector = found.get(name)
            if isinstance(vector, np.ndarray) and vector.shape == (self.size,):
                found[name] = self.restore(vector)
        return found

    def _sides(self, given: Any, shape: Shape, name: str) -> list[np.ndarray]:
        """Return the lower and the upper bounds of a leaf."""
        if given is None:
            given = (None, None)
        elif isinstance(given, Sequence) and len(given) == math.prod(shape) and all(map(_is_pair, given)):
            given = tuple(zip(*given, strict=True))
        if not _is_pair(given):
            raise errors.ShapeError(
                f"{self.where}: {name} is {errors.describe(given)}, for {shape or 'a number'}. Give a pair "
                "(low, high), or a list of pairs, one for each element"
            )
        defaults = (-np.inf, np.inf)
        return [self._bound(side, free, shape, name) for side, free in zip(given, defaults, strict=True)]

    def _bound(self, side: Any, free: float, shape: Shape, name: str) -> np.ndarray:
        """Return one side of a pair for every element; ``free`` replaces None."""
        try:
            given = np.asarray(side, object)
            values = np.array([free if value is None else value for value in given.flat], float)
            if values.size == math.prod(shape):
                return values
            return np.broadcast_to(values.reshape(given.shape), shape).ravel()
        except (ValueError, TypeError) as error:
            raise errors.ShapeError(
                f"{self.where}: {name} holds {errors.describe(side)}, which does not broadcast to {shape}: "
                f"{error}"
            ) from error


def blocks(rows: Layout, columns: Layout, matrix: np.ndarray) -> Any:
    """Convert a matrix to a tree of trees."""
    result = []
    for part, shape in zip(rows.parts(matrix), rows.shapes, strict=True):
        by_leaf = zip(columns.parts(part.T), columns.shapes, columns.dtypes, columns.is_array, strict=True)
        leaves = []
        for block, inner, dtype, is_array in by_leaf:
            leaf = block.T.reshape((*shape, *inner)).astype(dtype)
            leaves.append(leaf if is_array else leaf[()])  # as `tape.jacobian` returns it
        result.append(tree.unflatten(columns.structure, leaves))
    return tree.unflatten(rows.structure, result)


def _is_pair(given: Any) -> bool:
    return isinstance(given, (tuple, list)) and len(given) == 2
