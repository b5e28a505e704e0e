"""The rules of loops that run forwards: tangents, in the loop itself, and Taylor coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import ops
from tape.core.node import plain
from tape.core.op import Op
from tape.core.results import Results
from tape.transforms._expand import push_series
from tape.transforms.loops.body import Body, BodyTrace, Unrolled, ancestors, extracted
from tape.transforms.loops.steps import (
    MOST_DIFFERENT,
    Steps,
    differentiated,
    is_float,
    is_on,
    or_zeros,
    outside,
    recorded,
)


def push(tangents: Sequence[Any], out: Any, *operands: Any, steps: Steps) -> Results:
    """Return the tangents of all results, the rule of the operation; integers have none."""
    tangents = [t if is_float(x) else None for t, x in zip(tangents, operands, strict=True)]
    try:
        return _push_in_loop(tangents, operands, steps)
    except Unrolled:
        trace, params, results = recorded(operands, [t is not None for t in tangents], steps)
    pairs = zip(params, tangents, strict=True)
    seeds = {param.id: tangent for param, tangent in pairs if param is not None}
    roots = [result.id for result in results if is_on(trace, result)]
    moved = iter(trace.push_forward(seeds, roots))
    return Results([next(moved) if is_on(trace, result) else None for result in results])


def _push_in_loop(tangents: Sequence[Any], operands: Sequence[Any], steps: Steps) -> Results:
    """Run the loop with the tangents of its state as a further part of its state.

    In the first steps some of the state may not move yet. These are not part of the loop: a zero tangent
    beside an infinite derivative would make NaN.
    """
    results = steps.body.results()
    moving = [[t is not None for t in part] for part in steps.split(tangents)]
    each = _different(steps, moving)
    if each is None:
        in_motion = reached(steps, [t is not None for t in tangents], [is_float(x) for x in results])
        each = [_Step(steps, moving, sorted(in_motion))]
        each[0].after = each[0].before
    collected = sorted({k for step in each for k in step.moved if k >= steps.states})
    constants, state, arrays = steps.split(operands)
    of_constants, of_states, of_arrays = steps.split(tangents)
    fixed = [*constants, *[t for t in of_constants if t is not None]]
    stacked = [*arrays, *[t for t in of_arrays if t is not None]]
    rates = dict(enumerate(of_states))
    ends: list[Sequence[Any]] = []  # what the first steps collect
    for step in each[:-1][: steps.length]:
        at = steps.length - 1 - len(ends) if steps.is_backwards else len(ends)
        elements = [array[at] for array in stacked]
        body = step.body(collected)
        given = [*step.trace.captured, *fixed, *state, *[rates[k] for k in step.before], *elements]
        found = body.run(given)
        state, found = found[: steps.states], found[steps.states :]
        rates = dict(zip(step.after, found, strict=False))
        ends.append(found[len(step.after) :])
    by_steps: list[Any] = []
    if len(ends) < steps.length or not ends:
        last = each[-1]
        body, captured = last.body(collected), last.trace.captured
        doubled = Steps(
            body,
            max(steps.length - len(each) + 1, 0),
            len(captured) + len(fixed),
            steps.states + len(last.before),
            steps.is_backwards,
            steps.is_recomputed,
            steps.ends_by,
        )
        rest = slice(steps.length - len(ends)) if steps.is_backwards else slice(len(ends), None)
        moved = [or_zeros(rates.get(k), results[k]) for k in last.before]
        given = [array[rest] for array in stacked] if ends else stacked
        found = list(doubled(*captured, *fixed, *state, *moved, *given, *steps.count_in(operands)))
        rates = dict(zip(last.before, found[steps.states :], strict=False))
        by_steps = found[steps.states + len(last.before) :]
    pushed: list[Any] = [rates.get(k) for k in range(steps.states)] + [None] * (len(results) - steps.states)
    for place, k in enumerate(collected):
        parts = by_steps[place : place + 1]
        if ends:
            rows = ops.stack([end[place] for end in (ends[::-1] if steps.is_backwards else ends)])
            parts = [*parts, rows] if steps.is_backwards else [rows, *parts]
        pushed[k] = parts[0] if len(parts) == 1 else ops.concatenate(parts)
    return Results(pushed)


class _Step:
    """The forward sweep over one step.

    Parameters
    ----------
    steps : Steps
        The loop.
    moving : list of list of bool
        Which constants, states and arrays have a tangent; of the states that is ``before``.
    before : list of int
        The states that have a tangent before the step.

    Attributes
    ----------
    after : list of int
        Those that have one after it.
    moved : dict
        The tangents of the results, where there are any.
    """

    def __init__(self, steps: Steps, moving: list[list[bool]], before: list[int]) -> None:
        body = steps.body
        self.before, self._results = before, body.results()
        of_constants, of_states, of_arrays = moving
        in_motion = [k in before for k in range(len(of_states))]
        self._states = steps.states
        with BodyTrace("the tangents of a loop") as self.trace, np.errstate(all="ignore"):
            leaves, inner, params, outputs = differentiated(
                self.trace, body, [*of_constants, *in_motion, *of_arrays]
            )
            seeds = {p.id: self.trace.leaf(np.zeros_like(plain(p))) for p in params if p is not None}
            roots = {k: output.id for k, output in enumerate(outputs) if is_on(inner, output)}
            given = {id: leaf.again() for id, leaf in seeds.items()}
            found = inner.push_forward(given, list(roots.values())) if seeds else [None] * len(roots)
            self.moved = {k: tangent for k, tangent in zip(roots, found, strict=True) if tangent is not None}
            self._originals = [self.trace.output(outside(inner, x)) for x in outputs[: steps.states]]
        self.after = sorted(k for k in self.moved if k < steps.states and is_float(self._results[k]))
        ids = steps.split([leaf.id for leaf in leaves])
        own = steps.split([None if param is None else seeds[param.id].id for param in params])
        self._inputs = [id for pair in zip(ids, own, strict=True) for id in _both(*pair)]

    def body(self, collected: Sequence[int]) -> Body:
        """Return values and tangents of the next state, and the tangents that are collected, as a body."""
        with self.trace as trace:
            results = [*self.after, *collected]
            pushed = [trace.output(or_zeros(self.moved.get(k), self._results[k])) for k in results]
        return extracted(trace.nodes, [*trace.captures, *self._inputs], [*self._originals, *pushed])


def _different(steps: Steps, moving: list[list[bool]]) -> list[_Step] | None:
    """Return the first steps, up to one that stands for all after it; None if none does."""
    if steps.ends_by != "length" or not steps.length or steps.is_recomputed:  # whose steps take memory
        return None
    each = [_Step(steps, moving, [k for k, moves in enumerate(moving[1]) if moves])]
    while each[-1].after != each[-1].before:
        if len(each) == MOST_DIFFERENT:
            return None
        each.append(_Step(steps, moving, each[-1].after))
    return each


def expand(op: Op, out: Any, series: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """Expand step by step."""
    order = len(series[0]) - 1
    operands = [coefficients[0] for coefficients in series]
    moving = [any(part is not None for part in coefficients[1:]) for coefficients in series]
    trace, params, results = recorded(operands, moving, attrs["steps"])
    seeds = {p.id: list(s) for p, s in zip(params, series, strict=True) if p is not None}
    stop = 1 + max([result.id for result in results if is_on(trace, result)], default=-1)
    found = push_series(trace.nodes, seeds, order, stop, where=trace)
    columns = [
        (found[result.id] if is_on(trace, result) else None) or [None] * (order + 1) for result in results
    ]
    return [out, *[Results([column[k] for column in columns]) for k in range(1, order + 1)]]


def reached(steps: Steps, inputs: Sequence[bool], outputs: Sequence[bool]) -> set[int]:
    """Return the states that some inputs of the body are, or reach in some step through certain outputs."""
    body, first = steps.body, steps.constants
    moving = {id for id, moves in zip(body.inputs, inputs, strict=False) if moves}
    behind = [ancestors(body.nodes, [output], ()) for output in body.outputs[: steps.states]]
    found = {k for k in range(steps.states) if inputs[first + k]}
    while True:
        more = {k for k in range(steps.states) if k not in found and outputs[k] and behind[k] & moving}
        if not more:
            return found
        found |= more
        moving |= {body.inputs[first + k] for k in more}


def _both(values: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    return [*values, *[tangent for tangent in tangents if tangent is not None]]
