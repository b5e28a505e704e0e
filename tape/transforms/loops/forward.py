"""The rules of loops that run forwards: tangents, in the loop itself, and Taylor coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.node import plain
from tape.core.op import Op
from tape.core.results import Results
from tape.transforms._expand import push_series
from tape.transforms.loops.body import BodyTrace, Unrolled, ancestors, extracted
from tape.transforms.loops.steps import Steps, differentiated, is_float, is_on, or_zeros, outside, recorded


def push(tangents: Sequence[Any], out: Any, *operands: Any, steps: Steps) -> Results:
    """Return the tangents of all results; the rule of the operation."""
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
    """Run the loop with the tangents of its state as a further part of its state."""
    body = steps.body
    examples, results = body.examples(), body.results()
    of_constants, of_states, of_arrays = steps.split(tangents)
    in_motion = reached(steps, [t is not None for t in tangents], [is_float(x) for x in results])
    of_states = [
        or_zeros(tangent, examples[steps.constants + k]) if k in in_motion else None
        for k, tangent in enumerate(of_states)
    ]
    moving = [tangent is not None for tangent in [*of_constants, *of_states, *of_arrays]]
    with BodyTrace("the tangents of a loop") as trace, np.errstate(all="ignore"):
        leaves, inner, params, outputs = differentiated(trace, body, moving)
        seeds = {param.id: trace.leaf(np.zeros_like(plain(param))) for param in params if param is not None}
        roots = {k: output.id for k, output in enumerate(outputs) if is_on(inner, output)}
        moved = dict(
            zip(
                roots,
                inner.push_forward({id: leaf.again() for id, leaf in seeds.items()}, list(roots.values())),
                strict=True,
            )
        )
        originals = [trace.output(outside(inner, output)) for output in outputs]
        pushed = [
            trace.output(or_zeros(moved.get(k), result))
            if k in in_motion or (k >= steps.states and moved.get(k) is not None)
            else None
            for k, result in enumerate(results)
        ]
    ids = [leaf.id for leaf in leaves]
    own = [None if param is None else seeds[param.id].id for param in params]
    inputs = [_both(a, b) for a, b in zip(steps.split(ids), steps.split(own), strict=True)]
    state = _both(originals[: steps.states], pushed[: steps.states])
    collected = _both(originals[steps.states :], pushed[steps.states :])
    doubled = Steps(
        extracted(trace.nodes, [*trace.captures, *inputs[0], *inputs[1], *inputs[2]], [*state, *collected]),
        steps.length,
        len(trace.captures) + len(inputs[0]),
        len(inputs[1]),
        steps.is_backwards,
        steps.is_recomputed,
        steps.ends_by,
    )
    values, derivatives = steps.split(operands), (of_constants, of_states, of_arrays)
    doubles = [x for a, b in zip(values, derivatives, strict=True) for x in _both(a, b)]
    found = doubled(*trace.captured, *doubles, *steps.count_in(operands))
    last, moved_collected = (
        found[steps.states : len(state)],
        found[len(state) + len(results) - steps.states :],
    )
    ours = iter([*last, *moved_collected])
    return Results([None if id is None else next(ours) for id in pushed])


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
