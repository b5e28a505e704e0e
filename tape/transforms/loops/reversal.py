"""The reverse rule of loops: the body's reverse sweep, in a loop in the other direction.

What that needs of the values of the forward sweep is collected by a loop that extends the first one: a
program runs this one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.batch_rules import elementwise
from tape.core.linear import part
from tape.core.node import Node
from tape.core.results import Results
from tape.core.trace import Trace
from tape.transforms.loops.body import BodyTrace, Unrolled, ancestors, extracted
from tape.transforms.loops.steps import Steps, differentiated, is_float, is_on, or_zeros, outside, recorded


def pull(g: Results, out: Any, *operands: Any, steps: Steps) -> list[Any]:
    """Return the contribution to each operand; the rule of the operation."""
    key = tuple([adjoint is not None for adjoint in g])
    try:
        if key not in steps.reversals:
            steps.reversals[key] = Reversal(steps, key)
    except Unrolled:
        return _pull_unrolled(g, operands, steps)
    return steps.reversals[key].pulled(g, operands)


def _pull_unrolled(g: Results, operands: Sequence[Any], steps: Steps) -> list[Any]:
    """Sweep backwards step by step: a rule of the body reads numbers."""
    trace, params, results = recorded(operands, [is_float(x) for x in operands], steps)
    seeds: dict[int, Any] = {}
    for result, adjoint in zip(results, g, strict=True):
        if adjoint is not None and is_on(trace, result):
            seeds[result.id] = seeds[result.id] + adjoint if result.id in seeds else adjoint
    found = iter(trace.pull_back(seeds))
    return [None if param is None else next(found) for param in params]


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
                if is_on(inner, outputs[k]):
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
                *[or_zeros(of_states[k], results[k]) for k in self._states],
                *[of_arrays[k] for k in self._arrays],
            ]
            made = [trace.output(contribution) for contribution in contributions]
            originals = [trace.output(outside(inner, output)) for output in outputs]
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
        collected = self.forward(*self.captured, *operands)
        count = collected[1:2] if steps.ends_by == "flag" else steps.count_in(operands)
        found = self.backward(
            *self.captured,
            *[constants[k] for k in self._needed],
            *[or_zeros(None, examples[k]) for k in self._constants],
            *[or_zeros(g[k], results[k]) for k in self._states],
            *[arrays[k] for k in self._read],
            *collected[len(g) :],
            *[g[k] for k in self._collected],
            *count,
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
        roots = [outputs[k].id for k in found if is_on(inner, outputs[k])]
        behind = ancestors(inner.nodes, roots, ())
        more = {k for k, param in enumerate(of_states) if param is not None and param.id in behind}
        if more <= found:
            return sorted(k for k in found if k < steps.states and of_states[k] is not None)
        found |= more


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
