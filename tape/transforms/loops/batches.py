"""The rule of loops for batches: all elements step together, in one loop.

Where elements take different numbers of steps, the loop goes on until the last one is done. The others keep
their state; in place of them the body runs on one that goes on, see `tape.interpreters.choosing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tape import ops
from tape.core.op import Op
from tape.core.results import Results, unpack
from tape.interpreters.batching import Lanes
from tape.transforms.loops.body import BodyTrace, Unrolled, extracted
from tape.transforms.loops.forward import reached
from tape.transforms.loops.steps import Steps


def batch(
    op: Op, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
) -> Results:
    """Return batches of all results; the rule of the operation."""
    try:
        return _Batched(attrs["steps"], is_batched, size).run(operands)
    except Unrolled:
        found = [
            unpack(
                op.bind([x[i] if each else x for x, each in zip(operands, is_batched, strict=True)], attrs)
            )
            for i in range(size)
        ]
        return Results([ops.stack(column) for column in zip(*found, strict=True)])


class _Batched:
    """A loop, with batches as those parts of its state that differ within the batch."""

    def __init__(self, steps: Steps, is_batched: Sequence[bool], size: int) -> None:
        self.steps = steps
        self.size = size
        differing = reached(steps, is_batched, [True] * steps.states)
        self.has_flags = steps.ends_by == "flag" and 0 in differing
        self.has_counts = any(steps.count_in(is_batched))
        self.stops_apart = self.has_flags or self.has_counts
        if self.stops_apart:
            differing = set(range(steps.states))
        constants, _, arrays = steps.split(is_batched)
        self.is_state_batched = [k in differing for k in range(steps.states)]
        self.is_input_batched = [*constants, *self.is_state_batched, *arrays]

    def run(self, operands: Sequence[Any]) -> Results:
        """Return batches of all results."""
        constants, states, arrays = self.steps.split(operands)
        of_arrays = self.steps.split(self.is_input_batched)[2]
        arrays = [ops.moveaxis(x, 0, 1) if each else x for x, each in zip(arrays, of_arrays, strict=True)]
        states = [
            ops.broadcast_to(x, (self.size, *np.shape(x))) if each and np.ndim(x) == np.ndim(like) else x
            for x, each, like in zip(states, self.is_state_batched, self._examples_of_states(), strict=True)
        ]
        count = self.steps.count_in(operands)
        if self.has_flags:
            states = [ops.any(states[0]), np.int64(0), *states]
        elif self.has_counts:
            constants = [*constants, *count]
            first = ops.max(*count, initial=0)
            states = [first - 1 if self.steps.is_backwards else ops.zeros_like(first), *states]
            count = [first]
        body, captured, is_differing = self._body(constants, states, len(arrays))
        steps = replace(self.steps, body=body, constants=len(captured) + len(constants), states=len(states))
        found = list(steps(*captured, *constants, *states, *arrays, *count))
        found = found[len(states) - self.steps.states :]
        return Results(
            [self._in_front(k, *pair) for k, pair in enumerate(zip(found, is_differing, strict=True))]
        )

    def _examples_of_states(self) -> list[Any]:
        return self.steps.split(self.steps.body.examples())[1]

    def _in_front(self, k: int, result: Any, differs: bool) -> Any:
        """Return a result with the axis of the batch in front."""
        if not differs:
            return ops.broadcast_to(result, (self.size, *np.shape(result)))
        return result if k < self.steps.states else ops.moveaxis(result, 0, 1)

    def _body(
        self, constants: Sequence[Any], states: Sequence[Any], arrays: int
    ) -> tuple[Any, list[Any], list[bool]]:
        """Return the body for a batch, what it closes over, and which results differ within the batch."""
        steps, size = self.steps, self.size
        with BodyTrace("a batch of loops") as trace, np.errstate(all="ignore"):
            leaves = [
                trace.leaf(np.array(np.broadcast_to(example, (size, *example.shape))) if each else example)
                for example, each in zip(steps.body.examples(), self.is_input_batched, strict=True)
            ]
            own = [leaf.again() for leaf in leaves]
            extra: list[Any] = []
            after: list[Any] = []
            is_active: Any = None
            if self.has_flags:
                extra = [trace.leaf(np.bool_(True)), trace.leaf(np.int64(0))]
                is_active = own[steps.constants]
            elif self.has_counts:
                extra = [trace.leaf(np.int64(0))]
                leaves.insert(steps.constants, trace.leaf(np.ones(size, np.int64)))
                is_active = ops.less(extra[0].again(), leaves[steps.constants].again())
            results, is_differing = self._step(own, is_active)
            if self.has_flags:
                after = [ops.any(results[0]), extra[1].again() + 1]
            elif self.has_counts:
                after = [extra[0].again() + (-1 if steps.is_backwards else 1)]
            outputs = [trace.output(result) for result in [*after, *results]]
        first = len(constants)
        ids = [leaf.id for leaf in leaves]
        inputs = [*ids[:first], *[leaf.id for leaf in extra], *ids[first:]]
        return extracted(trace.nodes, [*trace.captures, *inputs], outputs), trace.captured, is_differing

    def _step(self, inputs: Sequence[Any], is_active: Any) -> tuple[list[Any], list[bool]]:
        """Run the body for all elements, or for those that go on: return its results, and which differ."""
        steps, size = self.steps, self.size
        given = list(inputs)
        if is_active is not None and size:
            places = ops.where(is_active, np.arange(size), ops.argmax(is_active))
            given = [
                ops.take(x, places, axis=0) if each else x
                for x, each in zip(inputs, self.is_input_batched, strict=True)
            ]
        with Lanes(size) as lanes:
            results = steps.body.run(
                [lanes.batch(x) if each else x for x, each in zip(given, self.is_input_batched, strict=True)]
            )
        is_differing = [*self.is_state_batched, *map(lanes.owns, results[steps.states :])]
        results = [
            lanes.values(result) if each else result
            for result, each in zip(results, is_differing, strict=True)
        ]
        if is_active is not None:
            before = steps.split(inputs)[1]
            for k, old in enumerate(before):
                condition = ops.reshape(is_active, (size, *(1,) * (np.ndim(old) - 1)))
                results[k] = ops.where(condition, results[k], old)
        return results, is_differing
