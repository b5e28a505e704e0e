"""Conversion of complex trees to lists of real arrays, for equations that need not be holomorphic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tape import ops
from tape.transforms._record import name_of
from tape.transforms._segment import Packing


class RealParts:
    """Conversion between trees of one structure and lists of their real and imaginary parts.

    Parameters
    ----------
    like : Packing
        The packing of a tree that holds floats and complex numbers only.
    """

    def __init__(self, like: Packing) -> None:
        self.like = like
        self._is_complex = [dtype.kind == "c" for dtype in like.dtypes]

    def split(self, value: Any, name: str) -> list[Any]:
        """Return the parts of a tree."""
        parts: list[Any] = []
        for leaf, is_complex in zip(self.like.parts_of(value, name), self._is_complex, strict=True):
            parts += [ops.real(leaf), ops.imag(leaf)] if is_complex else [leaf]
        return parts

    def join(self, parts: Sequence[Any]) -> Any:
        """Return the tree with these parts; they may all have further axes."""
        remaining = iter(parts)
        return self.like.restore_parts(
            [
                next(remaining) + next(remaining) * 1j if is_complex else next(remaining)
                for is_complex in self._is_complex
            ]
        )

    def inside(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Convert a function from trees to trees into one from parts to parts."""

        def of_parts(parts: Sequence[Any], *args: Any) -> list[Any]:
            return self.split(f(self.join(parts), *args), name_of(f))

        of_parts.__name__ = name_of(f)
        return of_parts

    def solver(self, solve: Callable[..., Any]) -> Callable[..., Any]:
        """Convert a solver ``solve(g, x0)`` of trees into one of parts."""

        def solve_parts(g: Callable[..., Any], start: Sequence[Any]) -> list[Any]:
            solution = solve(lambda x: self.join(g(self.split(x, "the solver"))), self.join(start))
            return self.split(solution, "the solver")

        return solve_parts
