"""Random numbers in loops of a program: the states of generators become a part of what is carried."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from operator import itemgetter
from typing import Any

from tape import errors
from tape.core import streams
from tape.core.dispatch import recorder
from tape.core.interpreter import opened
from tape.core.nesting import traced
from tape.core.streams import Scope, Source, alone, refusing
from tape.transforms.loops.body import BodyTrace

Step = Callable[..., Any]
"""From a carry, and perhaps an element, to the next carry and what is collected."""


def with_states(
    run: Callable[[Step, Any, Callable[[Any], Any]], tuple[Any, Any]], step: Step, init: Any
) -> tuple[Any, Any]:
    """Return ``run(step, init, given)``, the last carry and what is collected, of a step that may draw.

    Parameters
    ----------
    run : callable
        Runs a loop, given its step, the first carry, and a function from a carry to that of the given step.
        In a program it runs once more for each generator that the step draws from.
    step : callable
        Its first argument is the carry.
    init : tree
        The first carry.

    Returns
    -------
    carry, ys : tree
    """
    outer = streams.innermost()
    if outer is None or recorder() is None:
        return run(step, init, _itself)
    if streams.mapped(outer):
        return run(_unrolled(step, outer), init, _itself)

    def attempt(sources: list[Source]) -> tuple[Any, Any]:
        if not sources:
            return run(alone(step), init, _itself)

        def carrying(carry: Any, *element: Any) -> Any:
            inner, states = carry
            with Scope(sources, states) as scope:
                returned = step(inner, *element)
                if not isinstance(returned, tuple) or len(returned) != 2:
                    return returned  # which is an error
                return (returned[0], tuple(scope.states())), returned[1]

        states = tuple([outer.state(source) for source in sources])
        (carry, states), ys = run(update_wrapper(carrying, step), (init, states), itemgetter(0))
        outer.set(sources, [traced(state) for state in states])  # they outlive the traces of derivatives
        return carry, ys

    return streams.declared(attempt)


def _itself(carry: Any) -> Any:
    return carry


def in_condition(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a condition that may not draw in a program."""
    if streams.innermost() is None or recorder() is None:
        return f
    message = (
        "the condition of a while_loop drew random numbers, and has no state to return. Draw in the body, "
        "and pass what the condition needs in the state"
    )
    return refusing(f, lambda: errors.UnsupportedError(message))


def _unrolled(step: Step, outer: Scope) -> Step:
    """Return a step that is recorded each time if it draws: for each example of a batch."""

    def run(*args: Any) -> Any:
        bodies = [one for one in opened()[outer.depth :] if isinstance(one, BodyTrace)]
        if not bodies:
            return step(*args)
        why = "random numbers for each example of a batch"
        return refusing(step, lambda: bodies[-1].refuse(why))(*args)

    return update_wrapper(run, step)
