"""Conversion between trees and vectors: the layout of leaves, the unknowns of a solver, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tape import errors, ops, tree
from tape.conversion.foreign import complaint
from tape.core.node import plain
from tape.scipy._operands import has_vars, operand

Shape = tuple[int, ...]


class Sides(NamedTuple):
    """The arguments of `scipy.optimize.Bounds`, as a tree."""

    low: Any
    high: Any
    keep_feasible: Any


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
        x0 = tree.map(plain, x0)
        leaves, structure = tree.flatten(x0)
        for leaf, leaf_name in zip(leaves, tree.names(structure, name), strict=True):
            if np.asarray(leaf).dtype.kind != "f" or complaint(leaf) is not None:
                raise errors.DTypeError(
                    f"{where}: {leaf_name} is {errors.describe(leaf)}. Unknowns must be floats: convert it, "
                    "e.g. np.asarray(value, dtype=float), or pass it as one of the further arguments"
                )
        super().__init__(x0)
        if not self.size:
            raise errors.ShapeError(f"{where}: {name} holds no numbers. Pass at least one unknown")
        self.start = np.concatenate([np.ravel(leaf).astype(np.float64) for leaf in leaves])

    def sides(self, given: Any) -> tuple[Any, Any]:
        """Return the lower and upper bounds of all elements, arrays or Vars."""
        if given is None:
            return np.full(self.size, -np.inf), np.full(self.size, np.inf)
        if isinstance(given, Sides):
            shape = (self.size,)
            low, high = given.low, given.high
            return self._bound(low, -np.inf, shape, "bounds"), self._bound(high, np.inf, shape, "bounds")
        try:
            pairs = [given] if self.structure is tree.LEAF else self.structure.flatten_up_to(given)
        except (ValueError, TypeError) as error:
            raise errors.ShapeError(
                f"{self.where}: bounds do not fit {self.name}, {tree.describe(self.structure)}. Give a tree "
                f"like it, with a pair (low, high) or None at every leaf: {error}"
            ) from error
        names = tree.names(self.structure, "bounds")
        by_leaf = map(self._sides, pairs, self.shapes, names)
        low, high = map(ops.concatenate, zip(*by_leaf, strict=True))
        return low, high

    def bounds(self, given: Any) -> Any:
        """Return plain bounds of all elements in the form SciPy expects."""
        from scipy import optimize

        if given is None:
            return None
        keep = given.keep_feasible if isinstance(given, Sides) else False
        return optimize.Bounds(*self.sides(given), keep)

    def element_name(self, k: int) -> str:
        """Return a name for element number k, for messages."""
        leaf = next(i for i, stop in enumerate(self.stops[1:]) if k < stop)
        name = tree.names(self.structure, self.name)[leaf]
        index = np.unravel_index(k - self.stops[leaf], self.shapes[leaf])
        return f"{name}[{', '.join(map(str, index))}]" if index else name

    def with_trees(self, found: Any) -> Any:
        """Return the result of a solver with trees for the solution and the gradient."""
        for name in ("x", "jac", "grad"):
            vector = found.get(name)
            if isinstance(vector, np.ndarray) and vector.shape == (self.size,):
                found[name] = self.restore(vector)
        return found

    def _sides(self, given: Any, shape: Shape, name: str) -> list[Any]:
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

    def _bound(self, side: Any, free: float, shape: Shape, name: str) -> Any:
        """Return one side of a pair for every element; ``free`` replaces None."""
        try:
            if has_vars(side):
                if isinstance(side, (list, tuple)):
                    side = operand([free if one is None else one for one in side])
                values = ops.astype(side, np.float64)
                if values.size != math.prod(shape):
                    values = ops.broadcast_to(values, shape)
                return ops.ravel(values)
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


def as_tree(bounds: Any) -> Any:
    """Return bounds as a tree, whose leaves may be Vars."""
    from scipy import optimize

    if isinstance(bounds, optimize.Bounds):
        parts = (bounds.lb, bounds.ub, bounds.keep_feasible)
        # SciPy has broadcast them, and NumPy warns of what may be written to such an array.
        return Sides(*(part.copy() if isinstance(part, np.ndarray) else part for part in parts))
    return bounds


def as_two_sides(bounds: Any, x0: Any) -> Any:
    """Return bounds as a tree, where a pair is one of all lower and all upper bounds, as in SciPy.

    If ``x0`` is anything else than an array or a list of numbers, bounds are a tree of pairs.
    """
    leaves, structure = tree.flatten(x0)
    is_list = (
        type(x0) in (list, tuple) and len(leaves) == len(x0) and all(np.ndim(leaf) == 0 for leaf in leaves)
    )
    if (structure is tree.LEAF or is_list) and isinstance(bounds, (tuple, list)) and len(bounds) == 2:
        low, high = bounds
        return Sides(low, high, False)
    return as_tree(bounds)


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
