"""`while_loop`: a loop that data end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tape import ops, tree
from tape.core.dispatch import need_numbers, recorder
from tape.core.nesting import batch_below
from tape.core.node import plain
from tape.core.var import Var
from tape.interpreters.choosing import holds_for_some, of_some
from tape.ops.structure.layout import in_c_order
from tape.transforms._record import check_callable, name_of
from tape.transforms._returned import several_as_tuples
from tape.transforms.loops.body import Unrolled, record
from tape.transforms.loops.capacity import Full, Place, body_of, capacity_of, guard_step_counts, with_capacity
from tape.transforms.loops.carry import Carry, as_value, example_of, own
from tape.transforms.loops.drawing import in_condition, with_states
from tape.transforms.loops.steps import Steps


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """Run ``state = body_fun(state)`` as long as ``cond_fun(state)`` is true.

    On arrays and Vars this is a Python loop. In a compiled function it is one instruction, which runs as
    often as the data of each call decide, and so is its derivative.

    Parameters
    ----------
    cond_fun : callable
        From a state to a bool, a number or a Var of shape ().
    body_fun : callable
        Plain NumPy code, from a state to the next one. Arrays and Vars that the two functions close over are
        constants of the loop, and are differentiated like arguments.
    init : tree
        The first state: arrays and numbers. Each step keeps its structure, shapes and dtypes.

    Returns
    -------
    tree
        The first state for which ``cond_fun`` is false.

    Raises
    ------
    ShapeError, DTypeError
        If a step changes the structure, a shape or a dtype of the state.

    Notes
    -----
    In a batch (`vmap`) the loop goes on until it is done for all elements. Those that are done keep their
    state, and the functions do not see them.

    A program has a capacity of 64 steps, or 4, 16, ... times as many if that is needed when it is recorded,
    because the reverse sweep needs values of each. A call that takes more is recorded anew.

    Where one of the functions reads a number in Python, as ``and`` and ``if`` do, a compiled function records
    the loop step by step; write ``&`` for ``and``. Python numbers in a state become numbers of NumPy.

    Examples
    --------
    >>> import tape
    >>> halve = lambda x: tape.while_loop(lambda x: x > 1.0, lambda x: x / 2, x)
    >>> halve(10.0), tape.grad(halve)(10.0)
    (np.float64(0.625), np.float64(0.0625))
    """
    check_callable(cond_fun, "while_loop")
    check_callable(body_fun, "while_loop")
    return _run(cond_fun, lambda state: (body_fun(state), ()), init, name_of(body_fun))[0]


def while_collecting(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], tuple[Any, Any]], init: Any
) -> tuple[Any, Any]:
    """Run ``state, y = body_fun(state)`` as long as ``cond_fun(state)`` is true, and collect each y.

    Returns
    -------
    state : tree
        The first state for which ``cond_fun`` is false.
    ys : tree
        Stacked along a new first axis. In a compiled function it has elements for as many steps as there is
        room for: arbitrary ones where there was no step. None if there was no step otherwise.
    """
    return _run(cond_fun, body_fun, init, name_of(body_fun))


def _run(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], tuple[Any, Any]], init: Any, name: str
) -> tuple[Any, Any]:
    """Run a loop whose body may draw random numbers."""

    def run(step: Callable[[Any], Any], first: Any, given: Callable[[Any], Any]) -> tuple[Any, Any]:
        goes_on = in_condition(cond_fun)
        return _While(lambda state: goes_on(given(state)), step, first, name).run()

    return with_states(run, body_fun, init)


class _While:
    """One call of `while_loop`, or of `while_collecting`."""

    def __init__(
        self, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], tuple[Any, Any]], init: Any, name: str
    ) -> None:
        self.cond_fun = cond_fun
        self.body_fun = body_fun
        self.name = f"while_loop({name})"
        self.carry = Carry(init, "state", self.name)
        self._result: Any = None  # the structure of what is collected

    def run(self) -> tuple[Any, Any]:
        """Run the loop: as one operation in a compiled function, and otherwise step by step."""
        if (program := recorder()) is not None:
            try:
                state, collected = (list(map(in_c_order, leaves)) for leaves in with_capacity(self._as_one))
                return self.carry.restored(state), tree.unflatten(self._result, collected)
            except Unrolled as error:
                program.notes.append(f"{self.name}: {error}")
        state = list(map(own, self.carry.leaves))
        rows: list[list[Any]] = []
        while True:
            answer = self.cond_fun(self.carry.restored(state))
            if (batch := batch_below(answer)) is not None:
                answer = ops.not_equal(answer, 0)
            if not holds_for_some(answer):
                break
            before = list(map(own, state))
            if batch is None:
                state, row = self._step(before)
            else:
                after, row = of_some(answer, self._step, before)
                state = [ops.where(answer, new, old) for new, old in zip(after, state, strict=True)]
            rows.append(row)
        columns = [ops.stack(column) for column in zip(*rows, strict=True)]
        return self.carry.restored(state), tree.unflatten(self._result, columns) if rows else None

    def _step(self, state: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the leaves of the next state and of what is collected."""
        returned, y = self.body_fun(self.carry.restored(state))
        collected, self._result = tree.flatten(several_as_tuples(y))
        leaves = [in_c_order(as_value(leaf, "a result")) for leaf in collected]
        return self.carry.after(returned, state), leaves

    def _goes_on(self, state: Sequence[Any]) -> Any:
        """Return whether there is a next step, as a bool or a Var of one."""
        answer = self.cond_fun(self.carry.restored(state))
        if not isinstance(answer, Var) or answer.ndim:
            return np.bool_(bool(answer))
        answer = as_value(answer, "the condition")
        return answer if answer.dtype == bool else ops.not_equal(answer, 0)

    def _as_one(self, place: Place) -> tuple[list[Any], list[Any]]:
        """Record as one operation."""
        need_numbers()

        def step(values: Sequence[Any]) -> list[Any]:
            _, count, *state = values
            state, collected = self._step(state)
            return [self._goes_on(state), count + 1, *state, *collected]

        goes_on = self._goes_on(self.carry.leaves)
        first = [goes_on, np.int64(0), *self.carry.leaves]
        try:
            examples = list(map(example_of, first))
            body, captured, places = record(step, examples, len(first), self.name, 2, partial(body_of, place))
        except (Full, Unrolled):
            raise
        except Exception as error:
            if plain(goes_on):
                raise
            raise Unrolled(f"there was no step to record, and {error}") from error
        first += [np.int64(0)] * len(places)
        steps = Steps(body, capacity_of(place), len(captured), len(first), ends_by="flag")
        goes_on, count, *state = steps(*captured, *first)
        stop = len(self.carry)
        collected = stop + len(places)
        guard_step_counts([(place, count + goes_on), *zip(places, state[stop:collected], strict=True)])
        return state[:stop], state[collected:]
