"""`Inlined`: the code of a segment as rows of a program, in place of a callback.

While a program is recorded, the code runs on a tape of its own, a body like that of a loop. Its operations
become rows where the segment stands. Code that reads numbers in Python, or that Vars do not suit, has no such
body, and stays a callback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tape.core import batch_rules, pattern_rules
from tape.core.dispatch import Interceptor, resolve
from tape.core.interpreter import innermost_open
from tape.core.nesting import is_number, untraced
from tape.core.node import Handle, plain
from tape.core.op import Op
from tape.core.results import Results, unpack
from tape.core.table import INTERNAL
from tape.interpreters.batching import Lanes
from tape.transforms._by_rules import Rule, batched_rules, by_rules
from tape.transforms.loops.body import Body, Unrolled, record
from tape.transforms.loops.capacity import (
    Full,
    Place,
    body_of,
    capacities_for,
    given_capacities,
    guard_step_counts,
    with_capacity,
)
from tape.transforms.stop import stop_gradient


def _again(b: Any, x: Any, key: Any) -> Any:
    return b.again(x)


again = Op(
    lambda x, *, key: x,
    name="again",
    pattern=pattern_rules.elementwise,
    vjp=[lambda g, out, x, key: g],
    linear=True,
    batch=batch_rules.elementwise,
    lower=_again,
    doc="The same value, of which programs compute everything once more that they know of the first one.",
)


class Inlined:
    """The code of a segment, recorded once.

    Attributes
    ----------
    body : Body
        Its inputs are captured values, counts, and the Vars among the arguments. Its outputs are the numbers
        of steps of loops in it that data end, and the results.
    places : list
        Of these loops.
    captured : list of Var
        What the code closes over; plain arrays too, as leaves of the program.
    operands : list of Var
        The Vars among the arguments, and those captured, as they are in the interpreters around.
    first : tuple
        The results for these.
    """

    def __init__(
        self, body: Body, variables: Sequence[Any], captured: list[Any], places: list[Place]
    ) -> None:
        self.body = body
        self.captured = captured
        self.places = places
        self.operands = [*variables, *[resolve(var) for var in captured]]
        values = [untraced(operand) for operand in self.operands]
        is_same = not any(isinstance(value, Handle) for value in values) and all(
            plain(var) is x for var, x in zip(captured, values[len(variables) :], strict=True)
        )
        found = body.results() if is_same else body.computed(self.inputs(values))
        self.first = self.of_results(found)
        self._capacities = capacities_for(list(zip(places, found, strict=False)))

    def inputs(self, operands: Sequence[Any]) -> list[Any]:
        """Return the inputs of the body for the operands of the segment, of which captured ones are last."""
        count = len(operands) - len(self.captured)
        return [*operands[count:], *[np.int64(0)] * len(self.places), *operands[:count]]

    def forward(self, *operands: Any) -> Any:
        """Return the results for plain operands."""
        return self.of_results(self.body.computed(self.inputs(operands)))

    def batch(
        self, op: Op, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
    ) -> Any:
        """Return the results for a batch, differentiated as the code is; the rule of the operation."""
        with Lanes(size) as lanes:
            pairs = zip(operands, is_batched, strict=True)
            given = [lanes.batch(operand) if inside else operand for operand, inside in pairs]
            return self.of_results([lanes.values(result) for result in self.body.run(self.inputs(given))])

    def batch_by_rules(self, vjp: Rule, jvp: Rule, name: str) -> Callable[..., Any]:
        """Return the rule for batches of an operation that is not differentiated as the code is."""

        def batch(
            op: Op, operands: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
        ) -> Any:
            found = self.batch(op, stop_gradient(list(operands)), is_batched, attrs, size)
            rules = batched_rules(vjp, jvp, is_batched, size)
            results = unpack(by_rules(self.floats(found), operands, *rules, name))
            return self.of_results([*unpack(found)[: len(self.places)], *results])

        return batch

    def run_again(self, *operands: Any) -> Any:
        """Return the results as a Var, or several, for Vars: computed, and recorded, once more."""
        key = object()
        found = self.body.run(self.inputs([x if is_number(x) else again(x, key=key) for x in operands]))
        return self.of_results(found[len(self.places) :])

    def lower(self, b: Any, *operands: Any) -> Any:
        """Lower the operation."""
        return self.of_results(INTERNAL["lower_body"](b, self.body, self.inputs(operands)))

    @staticmethod
    def of_results(found: Sequence[Any]) -> Any:
        """Return results as those of an operation."""
        return found[0] if len(found) == 1 else Results(found)

    def floats(self, results: Any) -> Any:
        """Return the results, or their adjoints, without numbers of steps."""
        return self.of_results(results[len(self.places) :]) if self.places else results

    def guarded(self, results: Sequence[Any]) -> Sequence[Any]:
        """Guard the numbers of steps; return the other results."""
        count = len(self.places)
        if count:
            with given_capacities(self._capacities):
                guard_step_counts(list(zip(self.places, results[:count], strict=True)))
        return results[count:]


class _IntoBody(Interceptor):
    """An interpreter that records on a body what the code computes with Vars from outside alone."""

    sees_batches = True
    trace: Any = None

    def resolve(self, var: Any) -> Any:
        """Return the input of the body for a Var from outside, or a Python number, which stays there."""
        return var if is_number(var) else self.trace.own(var)

    def intercept(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Record the operation on the body, unless its operands are Python numbers alone."""
        if all(is_number(operand) or not isinstance(operand, (Handle, np.ndarray)) for operand in operands):
            with self.passed_by():
                return op.bind(operands, attrs)
        return op.bind([*map(self.trace.own, operands)], attrs)


def inlined(
    f: Callable[[list[Any]], Any], variables: Sequence[Any], program: Any, name: str
) -> Inlined | None:
    """Record the code of a segment, if that can be done.

    Parameters
    ----------
    f : callable
        From a list of Vars to the float results.
    variables : sequence of Var
        The Vars among the arguments.
    program : Recorder
        The program that is being recorded.
    name : str
        Of the segment, in messages.
    """
    roll_back = program.savepoint()
    region = _IntoBody()

    def unwritten(values: list[Any]) -> Any:
        region.trace = innermost_open()
        region.trace.refuses_text = True
        nodes = [value.node for value in values]
        results = f(values)
        if any(value.node is not node for value, node in zip(values, nodes, strict=True)):
            raise Unrolled(f"{name} writes into an array it was given")
        return results

    def attempt(place: Place) -> Inlined:
        @contextmanager
        def inside() -> Iterator[None]:
            with body_of(place), region:
                yield

        examples = [plain(variable) for variable in variables]
        body, captured, places = record(unwritten, examples, 0, name, 2, inside)
        return Inlined(body, variables, captured, places)

    try:
        return with_capacity(attempt)
    except Full:
        raise
    except Exception as error:  # whatever it is, the code raises it again if it is its own
        roll_back()
        why = error.why if isinstance(error, Unrolled) else error
        program.notes.append(f"{name} runs in Python: {why}")
        return None
