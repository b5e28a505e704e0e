"""`Steps`: the static part of a loop that is one operation on a tape.

Operands are the constants of the loop, which are the same in every step, then its first state, then arrays
with an element for each step. Results are the last state, then arrays that collect what each step returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tape import ops
from tape.core.node import Handle
from tape.core.recording import param_again
from tape.core.results import Results, unpack
from tape.core.table import INTERNAL
from tape.core.trace import Trace
from tape.transforms.loops.body import Body, BodyTrace

if TYPE_CHECKING:
    from tape.transforms.loops.reversal import Reversal

Ending = Literal["length", "flag", "count"]

MOST_DIFFERENT = 4
"""Steps at either end of a loop whose derivatives are not like those of the others, beside one of these."""


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
        examples = self.body.results()[self.states :]
        columns = zip(*rows, strict=True) if rows else [()] * len(examples)
        return Results([*state, *map(self._stacked, columns, examples)])

    def _stacked(self, column: Sequence[Any], example: Any) -> Any:
        """Return what the steps have returned as one array, with zeros where there was no step."""
        if len(column) == self.length and column:
            return ops.stack(column)
        whole = np.zeros((self.length, *example.shape), example.dtype)  # of which the rest takes no memory
        if any(isinstance(x, Handle) for x in column):
            return ops.concatenate([ops.stack(column), whole[len(column) :]])
        for k, x in enumerate(column):
            whole[k] = x
        return whole

    def __call__(self, *operands: Any) -> Sequence[Any]:
        """Record the loop, or run it; return its results."""
        return unpack(INTERNAL["scan"](*operands, steps=self))

    @cached_property
    def work(self) -> int:
        """How many operations a step is, those of loops in it included."""
        inner = [node.attrs["steps"] for node in self.body.nodes if "steps" in node.attrs]
        return len(self.body) + sum([steps.length * steps.work for steps in inner])

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
        pairs = zip(leaves, is_moving, strict=True)
        params = [param_again(inner, leaf) if moves else None for leaf, moves in pairs]
        outputs = body.run([leaf if p is None else p.again() for leaf, p in zip(leaves, params, strict=True)])
    return leaves, inner, params, outputs


def recorded(operands: Sequence[Any], is_moving: Sequence[bool], steps: Steps) -> tuple[Trace, Any, Any]:
    """Record all steps on a trace, with a param for each operand that moves."""
    with Trace("a loop") as trace:
        pairs = zip(operands, is_moving, strict=True)
        params = [param_again(trace, x) if moves else None for x, moves in pairs]
        given = [x if p is None else p.again() for x, p in zip(operands, params, strict=True)]
        return trace, params, steps.run(given)


def is_on(trace: Trace, value: Any) -> bool:
    return isinstance(value, Handle) and value.trace_ref is trace.ref


def outside(trace: Trace, value: Any) -> Any:
    """Return a value without a trace that it may be on."""
    return value.node.value if is_on(trace, value) else value


def or_zeros(derivative: Any, like: Any) -> Any:
    return np.zeros_like(like)[()] if derivative is None else derivative
