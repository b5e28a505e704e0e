"""The pattern rule of loops: index sets go through the body in every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.transforms.loops.steps import Steps

_MOST = 100_000
"""Loops of more operations are taken for loops of any number of steps, in any order."""


def pattern(
    sets: Any, op: Any, operands: Any, is_moving: Any, attrs: dict[str, Any], out: Any
) -> tuple[Any, ...]:
    """Return the set numbers of all results; the rule of the operation."""
    steps: Steps = attrs["steps"]
    given = [x if moves else None for x, moves in zip(operands, is_moving, strict=True)]
    if steps.ends_by == "length" and steps.work * steps.length <= _MOST:
        found = _in_steps(sets, steps, operands, given)
    else:
        found = _in_any_steps(sets, steps, given, out)
    return tuple(
        None if numbers is None or result.dtype.kind not in "fc" else numbers
        for numbers, result in zip(found, out, strict=True)
    )


def _in_steps(sets: Any, steps: Steps, operands: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """Take the steps one by one."""
    constants, state, arrays = steps.split(given)
    known = [
        None if moving is not None or x.dtype.kind not in "biu" else sets.known(x, k)
        for k, (x, moving) in enumerate(zip(operands, given, strict=True))
    ]
    known_constants, known_state, known_arrays = steps.split(known)
    rows: list[list[Any]] = []
    used: set[int] = set()
    for k in reversed(range(steps.length)) if steps.is_backwards else range(steps.length):
        results, contents, read = sets.step(
            steps.body,
            [*constants, *state, *[None if x is None else x[k] for x in arrays]],
            [*known_constants, *known_state, *[None if x is None else x.element(k) for x in known_arrays]],
        )
        state, known_state = results[: steps.states], contents[: steps.states]
        rows.append(results[steps.states :])
        used |= read
    sets.contents([operands[k] for k in sorted(used)])
    if steps.is_backwards:
        rows.reverse()
    examples = steps.body.results()[steps.states :]
    return [
        *state,
        *[_stacked(list(column), x) for column, x in zip(zip(*rows, strict=True), examples, strict=True)],
    ]


def _stacked(column: Sequence[Any], example: Any) -> Any:
    if all(numbers is None for numbers in column):
        return None
    return np.stack([np.zeros(example.shape, np.int64) if numbers is None else numbers for numbers in column])


def _in_any_steps(sets: Any, steps: Steps, given: Sequence[Any], out: Any) -> list[Any]:
    """Take steps until no set becomes larger, each with all elements of the arrays."""
    constants, state, arrays = steps.split(given)
    elements = [None if x is None else sets.over(x, 0, False) for x in arrays]
    nothing = [None] * len(steps.body.inputs)
    while True:
        results, _, _ = sets.step(steps.body, [*constants, *state, *elements], nothing)
        merged = [_merged(sets, old, new) for old, new in zip(state, results[: steps.states], strict=True)]
        is_settled = all(
            np.array_equal(_sizes(sets, old), _sizes(sets, new))
            for old, new in zip(state, merged, strict=True)
        )
        state = merged
        if is_settled:
            break
    collected = [
        None if numbers is None else np.broadcast_to(numbers, result.shape)
        for numbers, result in zip(results[steps.states :], out[steps.states :], strict=True)
    ]
    return [*state, *collected]


def _merged(sets: Any, old: Any, new: Any) -> Any:
    if old is None or new is None:
        return new if old is None else old
    return sets.union(old, new)


def _sizes(sets: Any, numbers: Any) -> Any:
    return 0 if numbers is None else sets.sizes(numbers)
