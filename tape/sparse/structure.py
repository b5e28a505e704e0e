"""`Structure`: the pattern of a derivative and its colouring, which hold for one path through a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tape import errors
from tape.core.node import Handle, plain
from tape.core.trace import Trace
from tape.sparse.colouring import Colouring, acyclic, by_columns, by_rows, symmetric
from tape.sparse.dependence import Dependence
from tape.transforms._record import Recording


@dataclass(frozen=True, eq=False)
class Structure:
    """Pattern and colouring of a sparse derivative.

    Attributes
    ----------
    pattern : scipy.sparse.csr_array of bool
        Where elements may differ from zero, for all arguments that take the same path through the function.
    colouring : Colouring
    mode : {"fwd", "rev"}
        Whether columns are swept together, or rows.
    kind : str
        What the colouring is of, in words.
    """

    pattern: csr_array
    colouring: Colouring
    mode: str
    kind: str

    @property
    def colours(self) -> int:
        """The number of sweeps."""
        return self.colouring.count

    @property
    def nonzeros(self) -> int:
        """The number of elements of the pattern."""
        return int(self.pattern.nnz)

    def __repr__(self) -> str:
        rows, columns = self.pattern.shape
        share = self.nonzeros / (rows * columns) if rows * columns else 0.0
        return (
            f"<Structure {rows} x {columns}: {self.nonzeros} nonzeros ({share:.2%}), "
            f"{self.colours} colours of {self.kind}>"
        )

    def matrix(self, values: np.ndarray) -> csr_array:
        """Return the derivative, of its values as the program computes them."""
        if self.colouring.substitution is not None:
            values = self.colouring.substitution.values(values)
        found = csr_array.__new__(csr_array)  # a copy, without the checks that SciPy's constructor makes
        vars(found).update(vars(self.pattern))
        found.indptr, found.indices = self.pattern.indptr.copy(), self.pattern.indices.copy()
        found.data = values
        return found


def found_pattern(recording: Recording, arguments: int) -> tuple[csr_array, Dependence, Any, Any]:
    """Find the pattern of the Jacobian of a recorded function.

    Returns
    -------
    scipy.sparse.csr_array
        Of bools; a row for each element of the result.
    Dependence
        With the content that the pattern depends on.
    tangents, moved : numpy.ndarray
        A random direction, and the product of the Jacobian with it.
    """
    sizes = [param.size for param in recording.params]
    dependence = Dependence(sum(sizes), arguments)
    rng = np.random.default_rng(0)
    directions = [
        np.asarray(rng.uniform(0.5, 1.5, param.shape), param.dtype)[()] for param in recording.params
    ]
    with Trace("the pattern of " + recording.name) as linear:
        params = [linear.param(direction) for direction in directions]
        starts = np.cumsum([0, *sizes])
        given = {
            param.id: dependence.singletons(int(start), param.shape)
            for param, start in zip(params, starts, strict=False)
        }
        moved = recording.push_forward([param.again() for param in params])
    roots = [part.id for part in moved if isinstance(part, Handle) and part.trace_ref is linear.ref]
    reached = iter(dependence.through(linear.nodes, given, roots, linear))
    rows = []
    for part in moved:
        is_moving = isinstance(part, Handle) and part.trace_ref is linear.ref
        numbers = next(reached) if is_moving else None
        rows.append(np.zeros(np.size(part), np.int64) if numbers is None else np.ravel(numbers))
    pattern = dependence.matrix(np.concatenate(rows) if rows else np.zeros(0, np.int64))
    flat = [np.ravel(plain(part)) for part in moved]
    direction = np.concatenate([np.ravel(part) for part in directions]) if directions else np.zeros(0)
    return pattern, dependence, direction, np.concatenate(flat) if flat else np.zeros(0)


def coloured(pattern: csr_array, mode: str, recovery: str | None) -> Structure:
    """Return the structure with the fewest colours.

    Parameters
    ----------
    pattern : scipy.sparse.csr_array
        Of bools, normal.
    mode : {"auto", "fwd", "rev"}
        Of patterns that are not symmetric; the default takes the mode with fewer colours.
    recovery : {"direct", "indirect"} or None
        Of symmetric patterns; None of others.
    """
    if recovery is not None:
        if recovery == "indirect":
            return Structure(pattern, acyclic(pattern), "fwd", "an acyclic colouring")
        return Structure(pattern, symmetric(pattern), "fwd", "a star colouring")
    if mode == "auto":
        return _fewer_colours(pattern)
    return _by_rows(pattern) if mode == "rev" else _by_columns(pattern)


def _by_columns(pattern: csr_array) -> Structure:
    return Structure(pattern, by_columns(pattern), "fwd", "columns")


def _by_rows(pattern: csr_array) -> Structure:
    return Structure(pattern, by_rows(pattern), "rev", "rows")


def _fewer_colours(pattern: csr_array) -> Structure:
    """Colour columns or rows, whichever takes fewer sweeps; not both where one cannot."""
    in_rows = np.diff(pattern.indptr).max(initial=0)  # so many colours columns take at least
    in_columns = np.bincount(pattern.indices).max(initial=0)
    if in_rows <= in_columns:
        found = _by_columns(pattern)
        other = None if found.colours <= in_columns else _by_rows(pattern)
    else:
        found = _by_rows(pattern)
        other = None if found.colours < in_rows else _by_columns(pattern)
    if other is None:
        return found
    return min(found, other, key=lambda structure: (structure.colours, structure.mode))


def checked_pattern(given: Any, shape: tuple[int, int], where: str) -> csr_array:
    """Return a pattern that the caller gives, as bools."""
    try:
        pattern = csr_array(given)
    except (ValueError, TypeError) as error:
        raise errors.ShapeError(f"{where}: pattern is {given!r}. Give a matrix: {error}") from error
    if pattern.shape != shape:
        raise errors.ShapeError(
            f"{where}: pattern has shape {pattern.shape}, and the derivative {shape}. Give a row for each "
            "element of the result, and a column for each element of the arguments"
        )
    return csr_array(pattern != 0)


def normal(pattern: csr_array, *, is_symmetric: bool) -> csr_array:
    """Return a pattern with sorted rows, read-only; with its transpose, if it is to be symmetric."""
    pattern = csr_array(pattern + pattern.T if is_symmetric else pattern, dtype=bool)
    pattern.sum_duplicates()
    for array in (pattern.data, pattern.indices, pattern.indptr):
        array.flags.writeable = False
    return pattern


def same(one: csr_array, other: csr_array) -> bool:
    """Return whether two normal patterns are equal."""
    return (
        one.shape == other.shape
        and np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
    )
