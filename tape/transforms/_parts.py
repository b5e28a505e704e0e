"""Trees with complex numbers as lists of real ones: for solvers, whose equations need not be holomorphic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tape import ops
from tape.transforms._record import name_of
from tape.transforms._segment import Packing

__all__ = ["RealParts"]


class RealParts:
    """The real parts, and imaginary parts where there are such, of trees alike.

    Parameters
    ----------
    like : Packing
        Of a tree that holds floats and complex numbers only.
    """

    def __init__(self, like: Packing) -> None:
        self.like = like
        self._is_complex = [dtype.kind == "c" for dtype in like.dtypes]

    def split(self, value: Any, name: str) -> list[Any]:
        """The parts of a tree."""
        parts: list[Any] = []
        for leaf, is_complex in zip(self.like.parts_of(value, name), self._is_complex, strict=True):
            parts += [ops.real(leaf), ops.imag(leaf)] if is_complex else [leaf]
        return parts

    def join(self, parts: Sequence[Any]) -> Any:
        """The tree that has these parts; they may all have further axes."""
        remaining = iter(parts)
        return self.like.restore_parts(
            [
                next(remaining) + next(remaining) * 1j if is_complex else next(remaining)
                for is_complex in self._is_complex
            ]
        )

    def inside(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """A function of a tree, returning one, as a function of parts, returning parts."""

        def of_parts(parts: Sequence[Any], *args: Any) -> list[Any]:
            return self.split(f(self.join(parts), *args), name_of(f))

        of_parts.__name__ = name_of(f)
        return of_parts

    def solver(self, solve: Callable[..., Any]) -> Callable[..., Any]:
        """A solver ``solve(g, x0)`` for trees, as one for parts."""

        def solve_parts(g: Callable[..., Any], start: Sequence[Any]) -> list[Any]:
            solution = solve(lambda x: self.join(g(self.split(x, "the solver"))), self.join(start))
            return self.split(solution, "the solver")

        return solve_parts
