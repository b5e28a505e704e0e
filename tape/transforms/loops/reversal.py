"""The reverse rule of loops: the body's reverse sweep, in a loop in the other direction.

What that needs of the values of the forward sweep is collected by a loop that extends the first one: a
program runs this one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import ops
from tape.core.batch_rules import elementwise
from tape.core.linear import part
from tape.core.node import Node
from tape.core.results import Results
from tape.core.trace import Trace
from tape.transforms._merge import reading_firsts
from tape.transforms.loops.body import BodyTrace, Unrolled, ancestors, extracted
from tape.transforms.loops.columns import Columns
from tape.transforms.loops.products import placed, products_of
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

_QUICK = {getattr(one, "op", None) for one in (ops.add, ops.subtract, ops.multiply, ops.negative)}
"""Operations that are computed again, if their operands are there, in less time than a result is read."""


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

    In the last steps nothing may flow yet to some of the state, as it does in steps before them. These steps
    are not part of the second loop: a zero adjoint beside an infinite derivative would make NaN.

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
            self._collected = [k for k in range(steps.states, len(results)) if has_adjoint[k]]

            def swept(states: list[int]) -> _Step:
                return _Step(steps, trace, inner, params, outputs, states, self._collected)

            each = _different(steps, swept, params, has_adjoint)
            if each is None:
                each = [swept(_reached(steps, inner, params, outputs, has_adjoint))]
                each[0].after = each[0].before
            some = each[: max(steps.length, 1)]  # those that there are
            self._constants = sorted({k for step in some for k in step.constants})
            self._arrays = sorted({k for step in some for k in step.arrays})
            of_rest = {k: each[-1].constants[k] for k in self._constants if k in each[-1].constants}
            factors = products_of(steps, trace, of_rest)
            totals = [trace.leaf(np.zeros_like(examples[k])) for k in self._constants]
            first = steps.constants + steps.states
            made = []
            for step in each:
                contributions = [
                    *[step.constants[k] + total if k in step.constants else total.again()
                      for k, total in zip(self._constants, totals, strict=True)],
                    *[or_zeros(step.states.get(k), results[k]) for k in step.after],
                    *[or_zeros(step.arrays.get(k), examples[first + k]) for k in self._arrays],
                ]  # fmt: skip
                made.append([trace.output(contribution) for contribution in contributions])
            repeated = [id for k, id in zip(self._constants, made[-1], strict=False) if k not in factors]
            collected = [id for terms in factors.values() for term in terms for id in term.factors]
            made[-1] = [*repeated, *made[-1][len(totals) :], *collected]
            originals = [trace.output(outside(inner, output)) for output in outputs]
        self.captured, captures = trace.captured, trace.captures
        nodes = reading_firsts(Columns(trace.nodes))
        ids = [leaf.id for leaf in leaves]
        adjoint_ids = {leaf.id for leaf in totals}.union(*[step.adjoint_ids for step in each])
        of_constants, of_states, of_arrays = steps.split(ids)
        kept = _kept(
            nodes,
            0 if steps.is_recomputed else count,
            ids,
            [id for outputs_of_step in made for id in outputs_of_step],
            adjoint_ids,
            {*of_states, *of_arrays},
        )
        residuals = [id for id in kept if id not in of_constants and id not in of_arrays]
        self._needed = [k for k, id in enumerate(of_constants) if id in kept]
        self._read = [k for k, id in enumerate(of_arrays) if id in kept]
        self.forward = Steps(
            extracted(nodes, [*captures, *ids], [*originals, *residuals]),
            steps.length,
            len(captures) + steps.constants,
            steps.states,
            steps.is_backwards,
            steps.is_recomputed,
            steps.ends_by,
        )
        fixed = [*captures, *[of_constants[k] for k in self._needed]]
        bodies = []
        for number, (step, ends) in enumerate(zip(each, made, strict=True)):
            is_rest = number == len(each) - 1
            summed = [
                leaf.id
                for k, leaf in zip(self._constants, totals, strict=True)
                if not (is_rest and k in factors)
            ]
            state = [*summed, *[step.adjoints[k].id for k in step.before]]
            stacked = [
                *[of_arrays[k] for k in self._read],
                *residuals,
                *[step.adjoints[k].id for k in self._collected],
            ]
            if is_rest:
                others = ends[: len(ends) - len(collected)]
                by_arrays = others[len(summed) + len(step.after) :]
                more, self._products = placed(factors, stacked, by_arrays)
                ends = [*others, *more]
            bodies.append(extracted(nodes, [*fixed, *state, *stacked], ends))
        self._last = [(body, step.before, step.after) for body, step in zip(bodies[:-1], each, strict=False)]
        self._states = each[-1].before
        self.backward = Steps(
            bodies[-1],
            max(steps.length - len(self._last), 0),
            len(fixed),
            len(totals) - len(factors) + len(self._states),
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
        fixed = [*self.captured, *[constants[k] for k in self._needed]]
        totals = [or_zeros(None, examples[k]) for k in self._constants]
        stacked = [
            *[arrays[k] for k in self._read],
            *collected[len(g) :],
            *[g[k] for k in self._collected],
        ]
        adjoints = {k: g[k] for k in range(steps.states)}
        ends: list[list[Any]] = []  # the contributions to elements of arrays, from the last step on
        for body, before, after in self._last[: steps.length]:
            at = len(ends) if steps.is_backwards else steps.length - 1 - len(ends)
            elements = [array[at] for array in stacked]
            found = body.run([*fixed, *totals, *[adjoints[k] for k in before], *elements])
            totals, found = found[: len(totals)], found[len(totals) :]
            adjoints = dict(zip(after, found, strict=False))
            ends.append(found[len(after) :])
        by_arrays: Sequence[Any] = []
        if len(ends) < steps.length or not ends:
            rest = slice(len(ends), None) if steps.is_backwards else slice(steps.length - len(ends))
            given = [array[rest] for array in stacked] if ends else stacked
            states = [or_zeros(adjoints.get(k), results[k]) for k in self._states]
            summed = [
                total for k, total in zip(self._constants, totals, strict=True) if k not in self._products
            ]
            found = list(self.backward(*fixed, *summed, *states, *given, *count))
            sums, found = iter(found[: len(summed)]), found[len(summed) :]
            adjoints = dict(zip(self._states, found, strict=False))
            by_arrays = found[len(self._states) :]
            for place, k in enumerate(self._constants):
                if k in self._products:
                    products = [term.product(given, by_arrays) for term in self._products[k]]
                    totals[place] = sum(products, totals[place]) if ends else sum(products[1:], products[0])
                else:
                    totals[place] = next(sums)
        contributions: list[Any] = [None] * len(operands)
        for k, total in zip(self._constants, totals, strict=True):
            contributions[k] = total
        for k, adjoint in adjoints.items():
            contributions[steps.constants + k] = adjoint
        for place, k in enumerate(self._arrays):
            parts = list(by_arrays[place : place + 1])
            if ends:
                rows = ops.stack([end[place] for end in (ends if steps.is_backwards else ends[::-1])])
                parts = [rows, *parts] if steps.is_backwards else [*parts, rows]
            joined = parts[0] if len(parts) == 1 else ops.concatenate(parts)
            contributions[steps.constants + steps.states + k] = joined
        return contributions


class _Step:
    """The reverse sweep over one step.

    Parameters
    ----------
    steps, trace, inner, params, outputs
        The loop, its body recorded on a trace, and a tape inside of it, see `differentiated`.
    before : list of int
        The states that have an adjoint after the step.
    collected : list of int
        The other results that have one.

    Attributes
    ----------
    after : list of int
        The states that have an adjoint before the step.
    adjoints : dict
        The leaf of each.
    constants, states, arrays : dict
        The contributions, where there are any.
    """

    def __init__(
        self,
        steps: Steps,
        trace: BodyTrace,
        inner: Trace,
        params: Sequence[Any],
        outputs: Sequence[Any],
        before: list[int],
        collected: Sequence[int],
    ) -> None:
        results = steps.body.results()
        self.before = before
        self.adjoints = {k: trace.leaf(np.zeros_like(results[k])) for k in [*before, *collected]}
        self.adjoint_ids = {leaf.id for leaf in self.adjoints.values()}
        seeds: dict[int, Any] = {}
        for k, adjoint in self.adjoints.items():
            if is_on(inner, outputs[k]):
                id = outputs[k].id
                seeds[id] = seeds[id] + adjoint if id in seeds else adjoint.again()
        found = iter(inner.pull_back(seeds)) if seeds else None
        gradients = [None if param is None or found is None else next(found) for param in params]
        self.constants, self.states, self.arrays = [
            {k: gradient for k, gradient in enumerate(part) if gradient is not None}
            for part in steps.split(gradients)
        ]
        self.after = sorted(self.states)


def _different(
    steps: Steps, swept: Callable[[list[int]], _Step], params: Sequence[Any], has_adjoint: Sequence[bool]
) -> list[_Step] | None:
    """Return the last steps, last one first, up to one that stands for all before it; None if none does."""
    if steps.ends_by != "length" or not steps.length or steps.is_recomputed:  # whose steps take memory
        return None
    _, of_states, _ = steps.split(params)
    each = [swept([k for k in range(steps.states) if has_adjoint[k] and of_states[k] is not None])]
    while each[-1].after != each[-1].before:
        if len(each) == MOST_DIFFERENT:
            return None
        each.append(swept(each[-1].after))
    return each


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
    backward sweep. Computed anew are views, of what they are views of, elementwise functions of what does not
    move from step to step, and sums, differences and products of values that are kept: that takes less time
    than to write and read them. A count of 0 stands for inputs alone.
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
    for id in sorted(kept):
        parents = {parent for parent in nodes[id].inputs[::2] if parent is not None}
        if nodes[id].call.op in _QUICK and parents <= kept:
            kept.remove(id)
    return sorted(kept)


def _behind(nodes: Sequence[Node], some: set[int]) -> bytearray:
    """Return which nodes are some of them, or depend on these."""
    behind = bytearray(len(nodes))
    for id, node in enumerate(nodes):
        behind[id] = id in some or any(behind[x] for x in node.inputs[::2] if x is not None)
    return behind
