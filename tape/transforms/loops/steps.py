"""The operation that a loop is on a tape: its body, run once for each step, with rules made of further loops.

Operands are the constants of the loop, which are the same in every step, then its first state, then arrays
with an element for each step. Results are the last state, then arrays that collect what each step returns.

The reverse rule runs the body's reverse sweep in a loop in the other direction. What that needs of the values
of the forward sweep is collected by a loop that extends the first one: a program runs this one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import numpy as np

from tape import errors, ops
from tape.core.batch_rules import elementwise
from tape.core.linear import part
from tape.core.node import Handle, Node, plain
from tape.core.op import Op
from tape.core.results import Results, unpack
from tape.core.table import INTERNAL
from tape.core.trace import Trace
from tape.interpreters.batching import Lanes
from tape.transforms._expand import push_series
from tape.transforms.loops.body import Body, BodyTrace, Unrolled, ancestors, extracted

Ending = Literal["length", "flag", "count"]


@dataclass(frozen=True, eq=False)
class Steps:
    """The static part of a loop.

    Attributes
    ----------
    body : Body
        Its inputs are constants, the state, and an element of each array; its outputs the next state, of the
        same types, and what is collected.
    length : int
        How many steps; or how many at most.
    constants, states : int
        How many inputs are constants, and how many belong to the state.
    is_backwards : bool
        Whether the last element comes first.
    is_recomputed : bool
        Whether the reverse rule computes the values of each step again, in place of collecting them.
    ends_by : {"length", "flag", "count"}
        What ends it. By a flag: the first state, a bool, is whether there is a next step, and the second one
        counts the steps. By a count: a last operand is the number of steps. Then what is collected has
        elements for `length` steps, and arbitrary values where there was no step. Backwards, the first step
        has element ``count - 1``.
    """

    body: Body
    length: int
    constants: int
    states: int
    is_backwards: bool = False
    is_recomputed: bool = False
    ends_by: Ending = "length"

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Return what belongs to constants, to the state and to arrays, of a list with one for each input."""
        first, last = self.constants, self.constants + self.states
        return list(values[:first]), list(values[first:last]), list(values[last : len(self.body.inputs)])

    def count_in(self, operands: Sequence[Any]) -> list[Any]:
        """Return the operand that is the number of steps, if there is one."""
        return list(operands[len(self.body.inputs) :])

    def run(self, operands: Sequence[Any], most: int | None = None) -> Results:
        """Return the results for arrays, numbers or Vars, step by step; or those of so many steps at most."""
        constants, state, arrays = self.split(operands)
        rows: list[list[Any]] = []
        order = range(int(operands[-1]) if self.ends_by == "count" else self.length)
        for k in islice(reversed(order) if self.is_backwards else order, most):
            if self.ends_by == "flag" and not state[0]:
                break
            results = self.body.run([*constants, *state, *[array[k] for array in arrays]])
            state = results[: self.states]
            rows.append(results[self.states :])
        if self.is_backwards:
            rows.reverse()
        missing = self.length - len(rows)
        if missing or not rows:
            rest = [np.zeros((missing, *x.shape), x.dtype) for x in self.body.results()[self.states :]]
            if not rows:
                return Results([*state, *rest])
            parts = [ops.stack(column) for column in zip(*rows, strict=True)]
            return Results([*state, *[ops.concatenate(both) for both in zip(parts, rest, strict=True)]])
        return Results([*state, *[ops.stack(column) for column in zip(*rows, strict=True)]])

    @cached_property
    def reversals(self) -> dict[tuple[bool, ...], Reversal]:
        """Its reverse rules so far, by which of the results have an adjoint."""
        return {}

    def extended(self) -> Steps:
        """Return the loop that collects all that its reverse rules need, too, if there is one."""
        for reversal in self.reversals.values():
            if not reversal.captured:
                return reversal.forward.extended()
        return self


def is_float(value: Any) -> bool:
    """Return whether a value has a derivative."""
    return value.dtype.kind in "fc"


def differentiated(
    trace: BodyTrace, body: Body, is_moving: Sequence[bool]
) -> tuple[list[Any], Trace, list[Any], list[Any]]:
    """Run a body once more on a tape of bodies, with a param for each input that moves.

    Returns
    -------
    list of Var
        The inputs, as leaves of the trace.
    Trace
        The tape inside of it.
    list of Var or None
        The param of each input.
    list
        The outputs.
    """
    leaves = [trace.leaf(example) for example in body.examples()]
    with Trace(trace.name) as inner:
        params = [inner.param(leaf) if moves else None for leaf, moves in zip(leaves, is_moving, strict=True)]
        outputs = body.run([leaf if p is None else p.again() for leaf, p in zip(leaves, params, strict=True)])
    return leaves, inner, params, outputs


def _is_on(trace: Trace, value: Any) -> bool:
    return isinstance(value, Handle) and value.trace_ref is trace.ref


class Reversal:
    """The two loops of a reverse rule.

    Parameters
    ----------
    steps : Steps
        The loop.
    has_adjoint : tuple of bool
        Which of its results have an adjoint.

    Attributes
    ----------
    forward : Steps
        The loop, collecting further values.
    backward : Steps
        The loop that runs in the other direction. Its state are sums of the contributions to constants, and
        the adjoint of the state; it collects the contributions to the elements of arrays.
    captured : list
        Constants of both loops that the rules of the body's operations have made.
    """

    def __init__(self, steps: Steps, has_adjoint: tuple[bool, ...]) -> None:
        self.steps = steps
        body = steps.body
        examples, results = body.examples(), body.results()
        with BodyTrace("the derivative of a loop") as trace, np.errstate(all="ignore"):
            leaves, inner, params, outputs = differentiated(trace, body, [is_float(x) for x in examples])
            count = len(trace.nodes)
            self._states = _reached(steps, inner, params, outputs, has_adjoint)
            self._collected = [k for k in range(steps.states, len(results)) if has_adjoint[k]]
            adjoints = {k: trace.leaf(np.zeros_like(results[k])) for k in [*self._states, *self._collected]}
            seeds: dict[int, Any] = {}
            for k, adjoint in adjoints.items():
                if _is_on(inner, outputs[k]):
                    id = outputs[k].id
                    seeds[id] = seeds[id] + adjoint if id in seeds else adjoint.again()
            found = iter(inner.pull_back(seeds))
            of_constants, of_states, of_arrays = steps.split(
                [None if param is None else next(found) for param in params]
            )
            self._constants = [k for k, gradient in enumerate(of_constants) if gradient is not None]
            self._arrays = [k for k, gradient in enumerate(of_arrays) if gradient is not None]
            totals = [trace.leaf(np.zeros_like(examples[k])) for k in self._constants]
            contributions = [
                *[total + of_constants[k] for k, total in zip(self._constants, totals, strict=True)],
                *[_or_zeros(of_states[k], results[k]) for k in self._states],
                *[of_arrays[k] for k in self._arrays],
            ]
            made = [trace.output(contribution) for contribution in contributions]
            originals = [trace.output(_outside(inner, output)) for output in outputs]
        self.captured, captures = trace.captured, trace.captures
        ids = [leaf.id for leaf in leaves]
        adjoint_ids = {leaf.id for leaf in [*adjoints.values(), *totals]}
        of_constants, of_states, of_arrays = steps.split(ids)
        kept = _kept(
            trace.nodes,
            0 if steps.is_recomputed else count,
            ids,
            made,
            adjoint_ids,
            {*of_states, *of_arrays},
        )
        residuals = [id for id in kept if id not in of_constants and id not in of_arrays]
        self._needed = [k for k, id in enumerate(of_constants) if id in kept]
        self._read = [k for k, id in enumerate(of_arrays) if id in kept]
        self.forward = Steps(
            extracted(trace.nodes, [*captures, *ids], [*originals, *residuals]),
            steps.length,
            len(captures) + steps.constants,
            steps.states,
            steps.is_backwards,
            steps.is_recomputed,
            steps.ends_by,
        )
        fixed = [*captures, *[of_constants[k] for k in self._needed]]
        state = [leaf.id for leaf in [*totals, *[adjoints[k] for k in self._states]]]
        stacked = [
            *[of_arrays[k] for k in self._read],
            *residuals,
            *[adjoints[k].id for k in self._collected],
        ]
        self.backward = Steps(
            extracted(trace.nodes, [*fixed, *state, *stacked], made),
            steps.length,
            len(fixed),
            len(state),
            not steps.is_backwards,
            ends_by="length" if steps.ends_by == "length" else "count",
        )

    def pulled(self, g: Results, operands: Sequence[Any]) -> list[Any]:
        """Return a contribution to each operand."""
        steps = self.steps
        constants, _, arrays = steps.split(operands)
        examples, results = steps.body.examples(), steps.body.results()
        collected = unpack(STEPS(*self.captured, *operands, steps=self.forward))
        count = collected[1:2] if steps.ends_by == "flag" else steps.count_in(operands)
        found = unpack(
            STEPS(
                *self.captured,
                *[constants[k] for k in self._needed],
                *[_or_zeros(None, examples[k]) for k in self._constants],
                *[_or_zeros(g[k], results[k]) for k in self._states],
                *[arrays[k] for k in self._read],
                *collected[len(g) :],
                *[g[k] for k in self._collected],
                *count,
                steps=self.backward,
            )
        )
        contributions: list[Any] = [None] * len(operands)
        first, last = steps.constants, steps.constants + steps.states
        places = [*self._constants, *[first + k for k in self._states], *[last + k for k in self._arrays]]
        for place, contribution in zip(places, found, strict=True):
            contributions[place] = contribution
        return contributions


def _reached(
    steps: Steps, inner: Trace, params: Sequence[Any], outputs: Sequence[Any], has_adjoint: Sequence[bool]
) -> list[int]:
    """Return the states that have an adjoint in some step; to all others nothing flows."""
    found = {k for k, is_there in enumerate(has_adjoint) if is_there}
    of_states = params[steps.constants :][: steps.states]
    while True:
        roots = [outputs[k].id for k in found if _is_on(inner, outputs[k])]
        behind = ancestors(inner.nodes, roots, ())
        more = {k for k, param in enumerate(of_states) if param is not None and param.id in behind}
        if more <= found:
            return sorted(k for k in found if k < steps.states and of_states[k] is not None)
        found |= more


def _spread(steps: Steps, inputs: Sequence[bool], outputs: Sequence[bool]) -> set[int]:
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


def _or_zeros(derivative: Any, like: Any) -> Any:
    return np.zeros_like(like)[()] if derivative is None else derivative


def _outside(trace: Trace, value: Any) -> Any:
    """Return a value without a trace that it may be on."""
    return value.node.value if _is_on(trace, value) else value


def _kept(
    nodes: Sequence[Node],
    count: int,
    inputs: Sequence[int],
    results: Sequence[int],
    adjoints: set[int],
    moving: set[int],
) -> list[int]:
    """Return the inputs, and the values of the forward sweep, that the backward sweep reads.

    These are values among the first ``count`` nodes, and of loops inside that have been extended for the
    backward sweep. Computed anew are views, of what they are views of, and elementwise functions of what does
    not move from step to step. A count of 0 stands for inputs alone.
    """
    depends = _behind(nodes, adjoints)
    moves = _behind(nodes, moving)
    kept: set[int] = set()
    seen: set[int] = set()
    waiting = list(results)
    while waiting:
        id = waiting.pop()
        if id in seen:
            continue
        seen.add(id)
        op = nodes[id].call.op
        is_computed = op is not None and op.view is None and id < count
        if op is not None and op.batch is elementwise and not moves[id]:
            is_computed = False
        if is_computed or (count and op is part and not depends[id]):
            kept.add(id)
        elif op is None:
            kept.update([id] if id in inputs else [])
        else:
            waiting += [parent for parent in nodes[id].inputs[::2] if parent is not None]
    return sorted(kept)


def _behind(nodes: Sequence[Node], some: set[int]) -> bytearray:
    """Return which nodes are some of them, or depend on these."""
    behind = bytearray(len(nodes))
    for id, node in enumerate(nodes):
        behind[id] = id in some or any(behind[x] for x in node.inputs[::2] if x is not None)
    return behind


# ---- the operation and its rules -----------------------------------------------------------------------


def _forward(*operands: Any, steps: Steps) -> Results:
    return INTERNAL["run_steps"](steps, operands)


def _pull(g: Results, out: Any, *operands: Any, steps: Steps) -> list[Any]:
    key = tuple([adjoint is not None for adjoint in g])
    try:
        if key not in steps.reversals:
            steps.reversals[key] = Reversal(steps, key)
    except Unrolled:
        return _pull_unrolled(g, operands, steps)
    return steps.reversals[key].pulled(g, operands)


def _pull_unrolled(g: Results, operands: Sequence[Any], steps: Steps) -> list[Any]:
    """Sweep backwards step by step: a rule of the body reads numbers."""
    trace, params, results = _recorded(operands, [is_float(x) for x in operands], steps)
    seeds: dict[int, Any] = {}
    for result, adjoint in zip(results, g, strict=True):
        if adjoint is not None and _is_on(trace, result):
            seeds[result.id] = seeds[result.id] + adjoint if result.id in seeds else adjoint
    found = iter(trace.pull_back(seeds))
    return [None if param is None else next(found) for param in params]


def _recorded(operands: Sequence[Any], is_moving: Sequence[bool], steps: Steps) -> tuple[Trace, Any, Any]:
    """Record all steps on a trace, with a param for each operand that moves."""
    with Trace("a loop") as trace:
        params = [trace.param(x) if moves else None for x, moves in zip(operands, is_moving, strict=True)]
        given = [x if p is None else p.again() for x, p in zip(operands, params, strict=True)]
        return trace, params, steps.run(given)


def _push(tangents: Sequence[Any], out: Any, *operands: Any, steps: Steps) -> Results:
    try:
        return _push_in_loop(tangents, operands, steps)
    except Unrolled:
        trace, params, results = _recorded(operands, [t is not None for t in tangents], steps)
    pairs = zip(params, tangents, strict=True)
    seeds = {param.id: tangent for param, tangent in pairs if param is not None}
    roots = [result.id for result in results if _is_on(trace, result)]
    moved = iter(trace.push_forward(seeds, roots))
    return Results([next(moved) if _is_on(trace, result) else None for result in results])


def _push_in_loop(tangents: Sequence[Any], operands: Sequence[Any], steps: Steps) -> Results:
    """Run the loop with the tangents of its state as a further part of its state."""
    body = steps.body
    examples, results = body.examples(), body.results()
    of_constants, of_states, of_arrays = steps.split(tangents)
    in_motion = _spread(steps, [t is not None for t in tangents], [is_float(x) for x in results])
    of_states = [
        _or_zeros(tangent, examples[steps.constants + k]) if k in in_motion else None
        for k, tangent in enumerate(of_states)
    ]
    moving = [tangent is not None for tangent in [*of_constants, *of_states, *of_arrays]]
    with BodyTrace("the tangents of a loop") as trace, np.errstate(all="ignore"):
        leaves, inner, params, outputs = differentiated(trace, body, moving)
        seeds = {param.id: trace.leaf(np.zeros_like(plain(param))) for param in params if param is not None}
        roots = {k: output.id for k, output in enumerate(outputs) if _is_on(inner, output)}
        moved = dict(
            zip(
                roots,
                inner.push_forward({id: leaf.again() for id, leaf in seeds.items()}, list(roots.values())),
                strict=True,
            )
        )
        originals = [trace.output(_outside(inner, output)) for output in outputs]
        pushed = [
            trace.output(_or_zeros(moved.get(k), result))
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
    found = unpack(STEPS(*trace.captured, *doubles, *steps.count_in(operands), steps=doubled))
    last, moved_collected = (
        found[steps.states : len(state)],
        found[len(state) + len(results) - steps.states :],
    )
    ours = iter([*last, *moved_collected])
    return Results([None if id is None else next(ours) for id in pushed])


def _expand(op: Op, out: Any, series: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """Expand step by step."""
    order = len(series[0]) - 1
    operands = [coefficients[0] for coefficients in series]
    moving = [any(part is not None for part in coefficients[1:]) for coefficients in series]
    trace, params, results = _recorded(operands, moving, attrs["steps"])
    seeds = {p.id: list(s) for p, s in zip(params, series, strict=True) if p is not None}
    stop = 1 + max([result.id for result in results if _is_on(trace, result)], default=-1)
    found = push_series(trace.nodes, seeds, order, stop, where=trace)
    columns = [
        (found[result.id] if _is_on(trace, result) else None) or [None] * (order + 1) for result in results
    ]
    return [out, *[Results([column[k] for column in columns]) for k in range(1, order + 1)]]


def _both(values: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    return [*values, *[tangent for tangent in tangents if tangent is not None]]


def _batch(
    op: Op, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
) -> Results:
    try:
        return _batch_in_loop(operands, is_batched, attrs["steps"], size)
    except Unrolled:
        found = [
            unpack(op(*[x[i] if each else x for x, each in zip(operands, is_batched, strict=True)], **attrs))
            for i in range(size)
        ]
        return Results([ops.stack(column) for column in zip(*found, strict=True)])


def _batch_in_loop(operands: Sequence[Any], is_batched: Sequence[bool], steps: Steps, size: int) -> Results:
    """Run the loop once, with batches as those states that differ within the batch."""
    constants, states, arrays = steps.split(operands)
    batched_constants, batched_states, batched_arrays = steps.split(is_batched)
    spread = _spread(steps, is_batched, [True] * steps.states)
    if any(steps.count_in(is_batched)) or (steps.ends_by == "flag" and 0 in spread):
        raise errors.UnsupportedError(
            "a while_loop in a compiled function takes another number of steps for each element of a batch. "
            "Call the function for one element after the other"
        )
    states = [
        ops.broadcast_to(x, (size, *np.shape(x))) if k in spread and not inside else x
        for k, (x, inside) in enumerate(zip(states, batched_states, strict=True))
    ]
    arrays = [
        ops.moveaxis(x, 0, 1) if inside else x for x, inside in zip(arrays, batched_arrays, strict=True)
    ]
    inside = [*batched_constants, *[k in spread for k in range(steps.states)], *batched_arrays]
    with BodyTrace("a batch of loops") as trace, np.errstate(all="ignore"):
        leaves = [
            trace.leaf(np.broadcast_to(example, (size, *example.shape)) if each else example)
            for example, each in zip(steps.body.examples(), inside, strict=True)
        ]
        with Lanes(size) as lanes:
            results = steps.body.run(
                [lanes.batch(leaf) if each else leaf for leaf, each in zip(leaves, inside, strict=True)]
            )
            is_spread = [k in spread for k in range(steps.states)]
            is_spread += [isinstance(x, Handle) and x.trace_ref is lanes.ref for x in results[steps.states :]]
            outputs = [
                trace.output(lanes.values(result) if each else result)
                for result, each in zip(results, is_spread, strict=True)
            ]
    body = extracted(trace.nodes, [*trace.captures, *[leaf.id for leaf in leaves]], outputs)
    constants = [*trace.captured, *constants]
    batch = replace(steps, body=body, constants=len(constants))
    found = unpack(STEPS(*constants, *states, *arrays, *steps.count_in(operands), steps=batch))
    return Results(
        [
            ops.broadcast_to(x, (size, *np.shape(x)))
            if not each
            else x
            if k < steps.states
            else ops.moveaxis(x, 0, 1)
            for k, (x, each) in enumerate(zip(found, is_spread, strict=True))
        ]
    )


STEPS = Op(
    _forward,
    name="scan",
    vjp=_pull,
    jvp=_push,
    taylor=_expand,
    batch=_batch,
    lower=lambda b, *operands, steps: INTERNAL["lower_steps"](b, operands, steps),
    explains_errors=False,
    doc="Run the body of a loop once for each step.",
)
