"""Results of code whose derivative is not that of the code: rules say what it is.

A custom rule, or the implicit function theorem, belongs to an operation. Where a program runs the code of the
operation as rows for a whole batch, its results are computed without derivative, and an operation that
returns them as they are has the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tape import ops
from tape.core.op import Op
from tape.core.results import Results, unpack
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
        with Lanes(size) as lanes:  # all of the results, whether they depend on what is batched or not
            values = [
                x if inside else lanes.values(x)
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
    """Return the rules of an operation for batches of some operands: they run on all elements at once."""

    def of_elements(lanes: Lanes, operands: Sequence[Any]) -> list[Any]:
        pairs = zip(operands, is_batched, strict=True)
        return [lanes.batch(x) if inside else x for x, inside in pairs]

    def pulled(g: Any, out: Any, *operands: Any) -> list[Any]:
        with Lanes(size) as lanes:
            parts = vjp(_each(lanes.batch, g), _each(lanes.batch, out), *of_elements(lanes, operands))
            found = [_each(lanes.values, part) for part in parts]
        # What all elements share gets the sum over them.
        return [
            part if part is None or inside else ops.sum(part, axis=0)
            for part, inside in zip(found, is_batched, strict=True)
        ]

    def pushed(tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
        with Lanes(size) as lanes:
            moved = [
                None if t is None else lanes.batch(t) if inside else t
                for t, inside in zip(tangents, is_batched, strict=True)
            ]
            return _each(lanes.values, jvp(moved, _each(lanes.batch, out), *of_elements(lanes, operands)))

    return pulled, pushed


def _each(f: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to a value, or to several results; None stays None."""
    if type(value) is Results:
        return Results([_each(f, part) for part in value])
    return None if value is None else f(value)
