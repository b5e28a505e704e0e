"""`scan` and `fori_loop`: loops whose number of steps is known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from math import isqrt
from typing import Any, Literal

import numpy as np

from tape import errors, ops, tree
from tape.core.closures import Bound
from tape.core.dispatch import recorder
from tape.core.node import plain
from tape.core.streams import Aside
from tape.ops.structure.layout import in_c_order
from tape.transforms._record import check_callable, name_of
from tape.transforms._returned import several_as_tuples
from tape.transforms.checkpoint import checkpoint
from tape.transforms.loops.body import Body, Unrolled, record
from tape.transforms.loops.capacity import Place, body_of, guard_step_counts, with_capacity
from tape.transforms.loops.carry import Carry, as_value, dtype_of, example_of, own
from tape.transforms.loops.drawing import with_states
from tape.transforms.loops.steps import Steps


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    *,
    checkpoint: Literal["sqrt"] | int | None = None,
) -> tuple[Any, Any]:
    """Run ``carry, y = f(carry, x)`` for each x along the first axis, and collect what it returns.

    On arrays and Vars this is a Python loop. In a compiled function it is one instruction, whatever its
    length, and so is its derivative: ``f`` is recorded once, and runs without Python in every step.

    Parameters
    ----------
    f : callable
        Plain NumPy code, from a carry and an element of ``xs`` to the next carry, and a tree of arrays and
        numbers or None. Arrays and Vars that it closes over are constants of the loop, and are differentiated
        like arguments.
    init : tree
        The first carry: arrays and numbers. Each step keeps its structure, shapes and dtypes.
    xs : tree, optional
        Arrays of one length along their first axis, which may be zero. None if ``f`` needs no elements.
    length : int, optional
        The number of steps; needed where there is no ``xs``.
    reverse : bool
        Whether the last element comes first. What is collected stands where its element stands.
    checkpoint : int or "sqrt", optional
        Keep so many carries for the reverse sweep, which runs the steps between two of them again: memory for
        this number of carries, and for one stretch of steps. ``"sqrt"`` keeps the square root of the number
        of steps. By default everything that the derivative needs is kept, which takes least time.

    Returns
    -------
    carry : tree
        The last carry.
    ys : tree
        What ``f`` returned as its second result, stacked along a new first axis.

    Raises
    ------
    ShapeError, DTypeError
        If a step changes the structure, a shape or a dtype of the carry, or if lengths differ.
    OptionError
        If the number of steps is not known, or negative, or ``checkpoint`` is anything else.

    Notes
    -----
    Where ``f`` reads a number in Python, as ``if`` and ``float()`` do, or where the shape of a result depends
    on data, a compiled function records the loop step by step, as it does any Python loop.

    What ``f`` does beside returning values is not part of the loop: while it is recorded it runs as often as
    that takes. It may write to its carry and elements, which are its own. Python numbers in a carry become
    numbers of NumPy.

    In second derivatives of a loop in a compiled function, and in those with ``checkpoint=``, zeros stand
    where nothing flows: beside infinite values they make NaN.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def mean_so_far(carry, x):
    ...     total, count = carry[0] + x, carry[1] + 1.0
    ...     return (total, count), total / count
    >>> (total, count), means = tape.scan(mean_so_far, (0.0, 0.0), np.array([1.0, 2.0, 6.0]))
    >>> means
    array([1. , 1.5, 3. ])
    >>> @tape.compile
    ... @tape.grad
    ... def slope(rate):
    ...     return tape.scan(lambda c, _: (c - rate * np.sin(c), None), 1.0, length=1000)[0]
    >>> print(f"{slope(0.001):.6f}")
    -386.532361
    """
    check_callable(f, "scan")
    return looped(f, init, xs, length, reverse, checkpoint=checkpoint, name=f"scan({name_of(f)})")


def looped(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    *,
    name: str,
    checkpoint: Literal["sqrt"] | int | None = None,
) -> tuple[Any, Any]:
    """Run what `scan` runs, under the name of another loop in messages."""
    if checkpoint is not None:
        f = Bound(f)

    def run(f: Callable[..., Any], init: Any, _: Any) -> tuple[Any, Any]:
        loop = Scan(f, init, xs, length, reverse, name)
        return loop.run() if checkpoint is None else loop.in_stretches(_stretches(checkpoint, loop.length))

    return with_states(run, f, init)


def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """Run ``state = body(i, state)`` for i from ``lower`` to ``upper``, not included.

    Parameters
    ----------
    lower, upper : int
        The range of the counter.
    body : callable
        As ``f`` of `scan`; the counter is an integer of NumPy.
    init : tree
        The first state. Each step keeps its structure, shapes and dtypes.

    Returns
    -------
    tree
        The last state.

    Raises
    ------
    ShapeError, DTypeError
        If a step changes the structure, a shape or a dtype of the state.

    Examples
    --------
    >>> import tape
    >>> tape.fori_loop(1, 5, lambda i, product: product * i, 1.0)
    np.float64(24.0)
    """
    check_callable(body, "fori_loop")
    counters = np.arange(operator.index(lower), operator.index(upper))
    if not len(counters):
        return tree.map(lambda leaf: own(as_value(leaf, "the state")), init)

    def step(state: Any, i: Any) -> tuple[Any, None]:
        return body(i, state), None

    return looped(step, init, counters, name=f"fori_loop({name_of(body)})")[0]


def _stretches(checkpoint: Any, length: int) -> int:
    """Return how many stretches a loop is divided in."""
    if checkpoint == "sqrt":
        return max(1, isqrt(length))
    if isinstance(checkpoint, bool) or not isinstance(checkpoint, int) or checkpoint < 1:
        raise errors.OptionError(f"checkpoint is {checkpoint!r}. It is 'sqrt', an int, 1 or more, or None")
    return max(1, min(checkpoint, length))


class Scan:
    """One call of `scan`."""

    def __init__(
        self,
        f: Callable[..., Any],
        init: Any,
        xs: Any,
        length: int | None,
        reverse: bool,
        name: str,
        is_recomputed: bool = False,
    ) -> None:
        self.f = f
        self.is_recomputed = is_recomputed
        self.name = name
        self.carry = Carry(init, "carry", self.name)
        leaves, self._element = tree.flatten(xs)
        self.arrays = [as_value(leaf, "xs") for leaf in leaves]
        self.length = self._counted(length)
        self.is_backwards = bool(reverse)
        self._result: Any = None  # the structure of what is collected, from the first step on

    def _counted(self, length: int | None) -> int:
        lengths = set()
        for array in self.arrays:
            if not np.ndim(array):
                raise errors.ShapeError(f"{self.name}: xs holds a number, which has no elements to loop over")
            lengths.add(np.shape(array)[0])
        if length is not None:
            lengths.add(operator.index(length))
        if len(lengths) > 1:
            raise errors.ShapeError(f"{self.name}: arrays in xs, and length, differ: {sorted(lengths)}")
        if not lengths or min(lengths) < 0:
            raise errors.OptionError(
                f"{self.name}: length is {length}, without xs. Give an int, 0 or more, or arrays as xs"
            )
        return lengths.pop()

    def run(self) -> tuple[Any, Any]:
        """Run the loop: as one operation in a compiled function, and otherwise step by step."""
        results = None
        if (program := recorder()) is not None:
            try:
                results = with_capacity(self._as_one)
            except Unrolled as error:
                program.notes.append(f"{self.name}: {error}")
        if results is None:
            results = self._unrolled()
        results, count = list(map(in_c_order, results)), len(self.carry)
        return self.carry.restored(results[:count]), tree.unflatten(self._result, results[count:])

    def in_stretches(self, count: int) -> tuple[Any, Any]:
        """Run the loop in stretches, whose steps are computed again for derivatives."""
        if not self.length:
            return self.run()
        size = self.length // count
        rest = self.length - size * count

        def stretch(carry: Any, elements: Any) -> tuple[Any, Any]:
            return looped(self.f, carry, elements, size, self.is_backwards, name=self.name)

        def part(start: int, stop: int) -> Any:
            return tree.unflatten(self._element, [array[start:stop] for array in self.arrays])

        def once(carry: Any) -> tuple[Any, Any]:  # the steps that are left over come first
            first = self.length - rest if self.is_backwards else 0
            elements = part(first, first + rest)
            return looped(self.f, carry, elements, rest, self.is_backwards, name=self.name)

        state = self.carry.restored(self.carry.leaves)
        collected = []
        if rest:
            state, ys = checkpoint(once)(state) if recorder() is None else once(state)
            collected.append(ys)
        start = 0 if self.is_backwards else rest
        arrays = [array[start : start + size * count] for array in self.arrays]
        arrays = [ops.reshape(array, (count, size, *np.shape(array)[1:])) for array in arrays]
        elements = tree.unflatten(self._element, arrays)
        state, ys = Scan(stretch, state, elements, count, self.is_backwards, self.name, True).run()
        collected.append(tree.map(lambda y: ops.reshape(y, (count * size, *np.shape(y)[2:])), ys))
        if self.is_backwards:
            collected.reverse()
        leaves = [tree.flatten(ys)[0] for ys in collected]
        joined = [ops.concatenate(column) if rest else column[0] for column in zip(*leaves, strict=True)]
        return state, tree.unflatten(tree.flatten(ys)[1], joined)

    def step(self, values: Sequence[Any]) -> list[Any]:
        """Return the leaves of the next carry and of what is collected."""
        count = len(self.carry)
        state = self.carry.restored(values[:count])
        f = checkpoint(self.f) if self.is_recomputed and recorder() is None else self.f
        returned = f(state, tree.unflatten(self._element, values[count:]))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise errors.ShapeError(
                f"{self.name}: the function returned {errors.describe(returned)}. It must return a pair: the "
                "next carry, and what is collected or None"
            )
        after = self.carry.after(returned[0], values)
        collected, result = tree.flatten(several_as_tuples(returned[1]))
        if self._result is None:
            self._result = result
        elif result != self._result:
            raise errors.ShapeError(
                f"{self.name}: a step returns {tree.describe(result)} to be collected, and one before it "
                f"returned {tree.describe(self._result)}. All steps must return the same structure"
            )
        results = [as_value(leaf, "a result") for leaf in collected]
        return [*after, *[in_c_order(leaf) if recorder() is not None else own(leaf) for leaf in results]]

    def _unrolled(self) -> list[Any]:
        """Record or compute step by step."""
        count = len(self.carry)
        order = range(self.length)
        collected: list[list[Any]] = []
        state = self.carry.leaves
        for k in reversed(order) if self.is_backwards else order:
            results = self.step([*map(own, state), *[own(array[k]) for array in self.arrays]])
            state = results[:count]
            collected.append(results[count:])
        if not self.length:  # to know what would be collected
            examples = [np.zeros(np.shape(x)[1:], dtype_of(x), like=x)[()] for x in self.arrays]
            with Aside():
                results = self.step([*map(own, state), *examples])
            return [*map(own, state), *[np.zeros((0, *np.shape(x)), dtype_of(x)) for x in results[count:]]]
        if self.is_backwards:
            collected.reverse()
        return [*state, *[ops.stack(column) for column in zip(*collected, strict=True)]]

    def recorded(self) -> Body | None:
        """Return the body, recorded once; None if loops in it end by data.

        Raises
        ------
        Unrolled
            If it cannot be recorded once.
        """
        body, _, places = with_capacity(self._recorded)
        return None if places else body

    def _recorded(self, place: Place) -> tuple[Body, list[Any], list[Any]]:
        if self.length:
            first = self.length - 1 if self.is_backwards else 0
            elements = [example_of(plain(array)[first]) for array in self.arrays]
        else:
            elements = [np.zeros(np.shape(array)[1:], dtype_of(array))[()] for array in self.arrays]
        examples = [*map(example_of, self.carry.leaves), *elements]
        inside = partial(body_of, place)
        return record(self.step, examples, len(self.carry), self.name, self.length, inside)

    def _as_one(self, place: Place) -> list[Any]:
        """Record as one operation."""
        count = len(self.carry)
        body, captured, places = self._recorded(place)
        state = [*self.carry.leaves, *[np.int64(0)] * len(places)]
        steps = Steps(body, self.length, len(captured), len(state), self.is_backwards, self.is_recomputed)
        results = list(steps(*captured, *state, *self.arrays))
        stop = count + len(places)
        guard_step_counts(list(zip(places, results[count:stop], strict=True)))
        return [*results[:count], *results[stop:]]
