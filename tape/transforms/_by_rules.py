"""Results of code whose derivative is not that of the code: rules say what it is.

A custom rule, or the implicit function theorem, belongs to an operation. Where a program runs the code of the
operation as rows for a whole batch, its results are computed without derivative, and an operation that
returns them as they are has the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from tape import ops
from tape.core.dispatch import recorder
from tape.core.op import Op
from tape.core.results import Results, unpack
from tape.errors import ConversionError
from tape.interpreters.batching import Lanes

Rule = Callable[..., Any]


def by_rules(results: Any, operands: Sequence[Any], vjp: Rule, jvp: Rule, name: str) -> Any:
    """Return results as they are, with the derivative by operands that rules give.

    Parameters
    ----------
    results : array or Results
        What the operation returns for these operands, constant to every derivative.
    operands : sequence
        Its operands.
    vjp, jvp : callable
        Its rules: ``vjp(g, out, *operands)`` and ``jvp(tangents, out, *operands)``.
    name : str
        Of the operation.
    """
    found = unpack(results)
    count = len(found)

    def own(given: Sequence[Any]) -> Any:
        return given[0] if count == 1 else Results(given[:count])

    def batch(
        op: Op, given: Sequence[Any], is_batched: Sequence[bool], attrs: dict[str, Any], size: int
    ) -> Any:
        values = [  # all of the results, whether they depend on what is batched or not
            x if inside else ops.broadcast_to(x, (size, *np.shape(x)))
            for x, inside in zip(given[:count], is_batched[:count], strict=True)
        ]
        rules = batched_rules(vjp, jvp, is_batched[count:], size)
        return by_rules(own(values), given[count:], *rules, name)

    op = Op(
        lambda *given: own(given),
        vjp=lambda g, out, *given: [*[None] * count, *vjp(g, out, *given[count:])],
        jvp=lambda tangents, out, *given: jvp(tangents[count:], out, *given[count:]),
        batch=batch,
        lower=lambda b, *given: own([b.value(x) for x in given[:count]]),
        name=name,
        explains_errors=False,
    )
    return op(*found, *operands)


def batched_rules(vjp: Rule, jvp: Rule, is_batched: Sequence[bool], size: int) -> tuple[Rule, Rule]:
    """Return the rules of an operation for batches of some of its operands.

    They run on all elements at once; a rule that reads numbers in Python runs for each.
    """

    def run(rule: Rule, which: Sequence[bool], *given: Any) -> list[Any]:
        """Return what a rule makes of arguments of which some are batches: batches, or None."""
        program: Any = recorder()
        roll_back = None if program is None else program.savepoint()
        pairs = [*zip(given, which, strict=True)]
        try:
            with Lanes(size) as lanes:
                found = rule(*[_each(lanes.batch, x) if inside else x for x, inside in pairs])
                return [_each(lanes.values, part) for part in found]
        except ConversionError:
            if not size:
                raise
            if roll_back is not None:
                roll_back()
        rows = [rule(*[_each(itemgetter(k), x) if inside else x for x, inside in pairs]) for k in range(size)]
        return [None if column[0] is None else _stacked(column) for column in zip(*rows, strict=True)]

    def pulled(g: Any, out: Any, *operands: Any) -> list[Any]:
        found = run(vjp, [True, True, *is_batched], g, out, *operands)
        # What all elements share gets the sum over them.
        return [
            part if part is None or inside else ops.sum(part, axis=0)
            for part, inside in zip(found, is_batched, strict=True)
        ]

    def pushed(tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
        count = len(tangents)

        def rule(out: Any, *given: Any) -> list[Any]:
            return [jvp(list(given[:count]), out, *given[count:])]

        return run(rule, [True, *is_batched, *is_batched], out, *tangents, *operands)[0]

    return pulled, pushed


def _stacked(column: Sequence[Any]) -> Any:
    """Return what a rule has returned for each element along a new first axis."""
    if type(column[0]) is not Results:
        return ops.stack(column)
    return Results([None if parts[0] is None else ops.stack(parts) for parts in zip(*column, strict=True)])


def _each(f: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to a value, or to several results; None stays None."""
    if type(value) is Results:
        return Results([_each(f, part) for part in value])
    return None if value is None else f(value)
