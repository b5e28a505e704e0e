"""How operations pass on which inputs an element depends on: the rules behind sparse derivatives.

Each element of an operand stands for a set of inputs, by its number; 0 is the empty set. A rule is
``rule(sets, op, operands, is_moving, attrs, out)``. Where ``is_moving`` says so, an operand is an array of
set numbers; the others do not depend on the inputs, and are values. ``out`` is the plain result. A rule
returns the set numbers of the result, at least those that any values of the operands can lead to; content of
an operand that it reads, such as an index, comes from ``sets.content``. An operation without a rule lets all
elements of its result depend on all elements of its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape.core.node import plain

PatternRule = Callable[[Any, Any, Sequence[Any], Sequence[bool], dict[str, Any], Any], Any]


def moving(operands: Sequence[Any], is_moving: Sequence[bool]) -> list[np.ndarray]:
    """Return the operands that are set numbers."""
    return [x for x, moves in zip(operands, is_moving, strict=True) if moves]


def multilinear(rule: PatternRule) -> PatternRule:
    """Declare the rule of an operation that is linear in each operand, as products are."""
    MULTILINEAR.add(rule)
    return rule


MULTILINEAR: set[PatternRule] = set()
"""The rules of products: of such an operation an element is 0 where it is for any operand."""

POSITIONS: dict[PatternRule, int] = {}
"""The rules of operations that read or write at positions -> the first operand that holds some."""

MAKING_ZEROS: set[PatternRule] = set()
"""The rules of operations that add to zeros."""


def dense(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """The rule where every element may depend on everything."""
    everything = sets.over(np.concatenate([np.ravel(x) for x in moving(operands, is_moving)]), None, False)
    if isinstance(out, tuple):
        return tuple(np.full(np.shape(part), everything) if part.dtype.kind in "fc" else None for part in out)
    return np.full(np.shape(out), everything)


def elementwise(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """The rule of operations that work element by element, with broadcasting."""
    return np.broadcast_to(sets.union(*moving(operands, is_moving)), np.shape(out))


def linear(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """As `elementwise`, of sums and multiples of the operands: 0 where all of these are."""
    return elementwise(sets, op, operands, is_moving, attrs, out)


def scalings(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """As `elementwise`, of what is linear in its first operand: 0 where that one is."""
    return elementwise(sets, op, operands, is_moving, attrs, out)


def products(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """The rule of multiplication: nothing comes through where a constant is 0."""
    found = np.broadcast_to(sets.union(*moving(operands, is_moving)), np.shape(out))
    if not all(is_moving):
        (constant,) = (x for x, moves in zip(operands, is_moving, strict=True) if not moves)
        is_nonzero = sets.support(constant)
        if is_nonzero is not None:
            return np.where(is_nonzero, found, 0)
    return found


def choices(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """The rule of a choice between two values, by a condition that may be constant."""
    condition, *values = operands
    is_true = None if is_moving[0] else sets.support(condition)
    if is_true is None:
        return elementwise(sets, op, operands, is_moving, attrs, out)
    x, y = (x if inside else 0 for x, inside in zip(values, is_moving[1:], strict=True))
    return np.broadcast_to(np.where(is_true, x, y), np.shape(out))


def moves(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """The rule of operations that move, repeat or leave out elements: they do so with the sets."""
    pairs = zip(operands, is_moving, strict=True)
    return op.forward(*[x if inside else np.zeros(np.shape(x), np.int64) for x, inside in pairs], **attrs)


def sums(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """The rule of reductions along ``axis``, of the first operand."""
    return sets.over(operands[0], attrs["axis"], attrs["keepdims"])


def along_axis(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
    """The rule where all elements along ``axis`` may depend on each other."""
    found = sets.over(sets.union(*moving(operands, is_moving)), attrs["axis"], True)
    return np.broadcast_to(found, np.shape(out))


def running(*, backwards: bool) -> PatternRule:
    """Return the rule of what accumulates along ``axis``: all elements up to here, or from here on."""

    def rule(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
        is_back = attrs.get("backwards", backwards)
        x = np.moveaxis(
            np.broadcast_to(sets.union(*moving(operands, is_moving)), np.shape(out)), attrs["axis"], -1
        )
        length = x.shape[-1]
        sets.check_room(x.size * length / 2)
        kept = np.triu(np.ones((length, length), bool)) if is_back else np.tri(length, dtype=bool)
        return np.moveaxis(sets.over(np.where(kept, x[..., None, :], 0), -1, False), -1, attrs["axis"])

    return rule


def reads(axes_of: Callable[..., tuple[int, ...]]) -> PatternRule:
    """Return the rule of operations that read their first operand at the positions that the others hold.

    Parameters
    ----------
    axes_of : callable
        ``axes_of(x, *positions, **attrs)`` names the axes along which positions are: where these depend on
        the inputs, it may be any element there.
    """

    def rule(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
        x, *positions = operands
        known = sets.contents(positions)
        if known is None:
            axes = axes_of(x, *positions, **attrs)
            x = np.broadcast_to(sets.over(x, axes, True), x.shape)
            known = [plain(position) for position in positions]
        return op.forward(x, *known, **attrs)

    POSITIONS[rule] = 1
    return rule


def adds(positions_of: Callable[..., np.ndarray]) -> PatternRule:
    """Return the rule of operations that add their first operand to zeros of ``shape``.

    Parameters
    ----------
    positions_of : callable
        ``positions_of(numbers, *positions, **attrs)`` reads, of an array that numbers the elements of the
        result, those to which the elements of the operand are added.
    """

    def rule(sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any) -> Any:
        x, *positions = operands
        shape = np.shape(out)
        known = sets.contents(positions)
        if known is None:
            return np.full(shape, sets.over(x, None, False))
        numbers = np.arange(np.size(out)).reshape(shape)
        targets = positions_of(numbers, *known, **attrs)
        return sets.grouped(targets, np.broadcast_to(x, targets.shape), numbers.size).reshape(shape)

    MAKING_ZEROS.add(rule)
    POSITIONS[rule] = 1
    return rule
