"""The function under test: a function of floats, its derivatives as functions, and random directions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tape import errors, ops, tree
from tape.transforms._record import dtype_of, name_of
from tape.transforms.jvp import jvp
from tape.transforms.vjp import vjp

Arrays = list[Any]


class _Precision(NamedTuple):
    """The precision of checks for a dtype. Steps are powers of two, so that arguments change exactly."""

    step: float
    rtol: float
    shrinks: tuple[int, ...]  # for smaller steps, if the function is too curved for the first


_PRECISION = {  # keyed by the item size of the coarsest dtype
    2: _Precision(2.0**-2, 5e-2, (1, 2, 4)),
    4: _Precision(2.0**-3, 5e-4, (1, 8, 64)),
    8: _Precision(2.0**-7, 1e-8, (1, 8, 64, 512)),
}


class Subject:
    """A function from a list of float arrays to another, with the settings of its checks.

    Complex arguments and results are two such arrays each: all derivatives between real and imaginary parts
    are checked.
    """

    def __init__(
        self,
        check: str,
        f: Callable[..., Any],
        args: Sequence[Any],
        rtol: float | None,
        atol: float,
        step: float | None,
        seed: int,
    ) -> None:
        if not isinstance(args, (tuple, list)):
            raise errors.OptionError(
                f"{check}: args is {errors.describe(args)}. It must be a tuple of arguments, (x,) for a "
                "single one"
            )
        if step is not None and not 0 < step < np.inf:
            raise errors.OptionError(f"{check}: step is {step!r}. It must be a positive number")
        self.title = f"{check}({name_of(f)})"
        self.magnitude = 0.0  # includes the dtypes of the function that this is a derivative of
        self.rng = np.random.default_rng(seed)
        all_leaves, structure = tree.flatten(tuple(args))
        moving = [k for k, leaf in enumerate(all_leaves) if _kind(leaf) in "fc"]
        is_complex = [_kind(all_leaves[k]) == "c" for k in moving]
        names = tree.names(structure, "args")
        self.names = [name for k in moving for name in _part_names(names[k], all_leaves[k])]
        self.leaves = [part for k in moving for part in _real_parts(all_leaves[k])]
        outs, out_structure = tree.flatten(f(*args))
        out_names = tree.names(out_structure, "result")
        self.out_names = [part for pair in zip(out_names, outs, strict=True) for part in _part_names(*pair)]
        for kind, found in (("argument", self.names), ("result", self.out_names)):
            if not found:
                raise errors.DTypeError(f"{self.title}: no {kind} holds floats, so there is no derivative")

        def function(*moved: Any) -> Arrays:
            filled = list(all_leaves)
            parts = iter(moved)
            for k, is_pair in zip(moving, is_complex, strict=True):
                filled[k] = next(parts) + next(parts) * 1j if is_pair else next(parts)
            outs, _ = tree.flatten(f(*tree.unflatten(structure, filled)))
            return [part for out in outs for part in _real_parts(out)]

        self.function: Callable[..., Arrays] = function
        self.likes = [np.asarray(part) for out in outs for part in _real_parts(out)]
        coarsest = min((np.asarray(x).dtype for x in (*self.leaves, *self.likes)), key=lambda d: d.itemsize)
        self.epsilon = float(np.finfo(coarsest).eps)
        precision = _PRECISION[min(coarsest.itemsize, 8)]
        self.rtol, self.atol = precision.rtol if rtol is None else rtol, atol
        self.steps = [(step or precision.step) / shrink for shrink in precision.shrinks]

    @property
    def is_scalar(self) -> bool:
        """Whether the function returns a scalar."""
        return sum(like.size for like in self.likes) == 1

    def derived(self, path: Sequence[str]) -> Subject:
        """Return the derivative in these modes as a subject, along fixed random directions and cotangents."""
        subject = self
        for mode in path:
            subject = subject._derived(mode)
        return subject

    def _derived(self, mode: str) -> Subject:
        subject = copy.copy(self)
        subject.magnitude = max(self.magnitude, *(scale(out) for out in self.at(self.leaves, 0.0)))
        inner = self.function
        if mode == "fwd":
            tangents = self.directions()
            subject.function = lambda *xs: jvp(inner, xs, tangents)[1]
        else:
            weights = self.weights()
            subject.function = lambda *xs: list(vjp(inner, *xs)[1](weights))
            subject.out_names = [f"the gradient by {name}" for name in self.names]
            subject.likes = [np.asarray(leaf) for leaf in self.leaves]
        return subject

    def at(self, directions: Arrays, distance: float) -> Arrays:
        """Return the results of the function after a step along the directions, widened."""
        moved = [
            leaf + np.asarray(distance * d, np.asarray(leaf).dtype) if np.any(d) else leaf
            for leaf, d in zip(self.leaves, directions, strict=True)
        ]
        return [widened(out) for out in self.function(*moved)]

    # ---- where to move, and what to look at --------------------------------------------------------

    def directions(self) -> Arrays:
        """Return a random direction for every leaf."""
        return [self._representable(self.rng.uniform(-1, 1, np.shape(leaf)), leaf) for leaf in self.leaves]

    def unit(self, k: int, element: int) -> tuple[Arrays, float]:
        """Return a direction along one element, and its length: one, unless such steps would be rounded."""
        directions = [np.zeros(np.shape(leaf)) for leaf in self.leaves]
        lengths = self._representable(np.ones_like(directions[k]), self.leaves[k])
        directions[k].flat[element] = lengths.flat[element]
        return directions, float(lengths.flat[element])

    def weights(self) -> Arrays:
        """Return a random cotangent; 1 for a scalar result, so that reports show the gradient."""
        if self.is_scalar:
            return [np.ones_like(like)[()] for like in self.likes]
        return [self.rng.uniform(0.5, 1.5, like.shape).astype(like.dtype)[()] for like in self.likes]

    def _representable(self, direction: Any, leaf: Any) -> Any:
        """Round a direction, away from zero, such that even the smallest steps are exact."""
        grid = np.spacing(2 * (np.abs(np.asarray(leaf)) + 1)).astype(float) / self.steps[-1]
        return np.asarray(np.copysign(np.ceil(np.abs(direction) / grid) * grid, direction))


# ---- numbers -------------------------------------------------------------------------------------


def widened(array: Any) -> Any:
    """Convert to float64, or keep a wider dtype."""
    array = np.asarray(array)
    return array.astype(np.result_type(array, np.float64))


def largest(array: Any) -> float:
    """Return the largest absolute value; 0 for an empty array."""
    return float(np.max(np.abs(array), initial=0.0))


def scale(array: Any) -> float:
    """Return the largest finite absolute value."""
    return largest(np.where(np.isfinite(array), array, 0.0))


def _kind(leaf: Any) -> str:
    return dtype_of(leaf).kind


def _real_parts(leaf: Any) -> Arrays:
    """Return the float parts of a value: itself, two for a complex value, none for other dtypes."""
    kind = _kind(leaf)
    return [ops.real(leaf), ops.imag(leaf)] if kind == "c" else [leaf] if kind == "f" else []


def _part_names(name: str, leaf: Any) -> list[str]:
    """Return the names of the float parts."""
    kind = _kind(leaf)
    return [f"{name}.real", f"{name}.imag"] if kind == "c" else [name] if kind == "f" else []
