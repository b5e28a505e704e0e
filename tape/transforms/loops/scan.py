"""`scan` and `fori_loop`: loops whose number of steps is known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tape import errors, ops, tree
from tape.core.interpreter import recorder
from tape.core.node import Handle, plain, snapshot
from tape.core.results import unpack
from tape.transforms._record import check_callable, name_of
from tape.transforms.loops.body import Unrolled, record
from tape.transforms.loops.steps import STEPS, Steps


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
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
        If the number of steps is not known, or negative.

    Notes
    -----
    Where ``f`` reads a number in Python, as ``if`` and ``float()`` do, or where the shape of a result depends
    on data, a compiled function records the loop step by step, as it does any Python loop.

    What ``f`` does beside returning values is not part of the loop: while it is recorded it runs as often as
    that takes. It may write to its carry and elements, which are its own. Python numbers in a carry become
    numbers of NumPy.

    In derivatives of a loop in a compiled function zeros stand where nothing flows: beside infinite values
    they make NaN.

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
    loop = _Loop(f, init, xs, length, reverse)
    return loop.run()


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
        return tree.map_leaves(lambda leaf: _as_value(leaf, "the state"), init)

    def step(state: Any, i: Any) -> tuple[Any, None]:
        return body(i, state), None

    step.__name__ = name_of(body)
    return scan(step, init, counters)[0]


class _Loop:
    """One call of `scan`."""

    def __init__(self, f: Callable[..., Any], init: Any, xs: Any, length: int | None, reverse: bool) -> None:
        self.f = f
        self.name = f"scan({name_of(f)})"
        leaves, self._state = tree.flatten(init)
        self.state = [_as_value(leaf, "the carry") for leaf in leaves]
        leaves, self._element = tree.flatten(xs)
        self.arrays = [_as_value(leaf, "xs") for leaf in leaves]
        self.length = self._counted(length)
        self.is_backwards = bool(reverse)
        self._result: Any = None  # the structure of what is collected

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
        if recorder() is not None:
            with suppress(Unrolled):
                results = self._as_one()
        if results is None:
            results = self._unrolled()
        count = len(self.state)
        state, collected = results[:count], results[count:]
        return tree.restore(self._state, state), tree.restore(self._result, collected)

    def step(self, values: Sequence[Any]) -> list[Any]:
        """Return the leaves of the next carry and of what is collected."""
        count = len(self.state)
        state = tree.restore(self._state, values[:count])
        returned = self.f(state, tree.restore(self._element, values[count:]))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise errors.ShapeError(
                f"{self.name}: the function returned {errors.describe(returned)}. It must return a pair: the "
                "next carry, and what is collected or None"
            )
        after, structure = tree.flatten(returned[0])
        if structure != self._state:
            raise errors.ShapeError(
                f"{self.name}: the next carry is a tree {tree.describe(structure)}, and the carry "
                f"{tree.describe(self._state)}. It must keep the structure"
            )
        after = [_as_value(leaf, "the next carry") for leaf in after]
        for k, (old, new) in enumerate(zip(values, after, strict=False)):
            if np.shape(old) != np.shape(new) or _dtype(old) != _dtype(new):
                raise (errors.ShapeError if np.shape(old) != np.shape(new) else errors.DTypeError)(
                    f"{self.name}: {tree.names(self._state, 'carry')[k]} is {errors.describe(old)}, and "
                    f"after a step {errors.describe(new)}. It must keep shape and dtype"
                )
        collected, self._result = tree.flatten(returned[1])
        return [*after, *[_as_value(leaf, "a result") for leaf in collected]]

    def _unrolled(self) -> list[Any]:
        """Record or compute step by step."""
        count = len(self.state)
        order = range(self.length)
        collected: list[list[Any]] = []
        state = self.state
        for k in reversed(order) if self.is_backwards else order:
            results = self.step([*map(_own, state), *[_own(array[k]) for array in self.arrays]])
            state = results[:count]
            collected.append(results[count:])
        if not self.length:  # to know what would be collected
            examples = [np.zeros(np.shape(x)[1:], _dtype(x), like=x)[()] for x in self.arrays]
            results = self.step([*map(_own, state), *examples])
            return [*state, *[np.zeros((0, *np.shape(x)), _dtype(x)) for x in results[count:]]]
        if self.is_backwards:
            collected.reverse()
        return [*state, *[ops.stack(column) for column in zip(*collected, strict=True)]]

    def _as_one(self) -> list[Any]:
        """Record as one operation."""
        count = len(self.state)
        if self.length:
            first = self.length - 1 if self.is_backwards else 0
            elements = [np.asarray(plain(array))[first][()] for array in self.arrays]
        else:
            elements = [np.zeros(np.shape(array)[1:], _dtype(array))[()] for array in self.arrays]
        examples = [*map(_plain, self.state), *elements]
        body, captured = record(self.step, examples, self.name, self.length)
        steps = Steps(body, self.length, len(captured), count, self.is_backwards)
        return list(unpack(STEPS(*captured, *self.state, *self.arrays, steps=steps)))


def _own(value: Any) -> Any:
    """Return a value that the body may write to, without changing the original."""
    return value.copy() if type(value) is np.ndarray else snapshot(value)


def _plain(value: Any) -> Any:
    return np.asarray(plain(value))[()]


def _dtype(value: Any) -> np.dtype[Any]:
    return value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype


def _as_value(leaf: Any, what: str) -> Any:
    """Return a leaf as an array, a number of NumPy, or a Var of one of these."""
    if isinstance(leaf, Handle):
        is_weak = not isinstance(plain(leaf), (np.ndarray, np.generic))
        return ops.reshape(leaf, ()) if is_weak else leaf
    value = np.asarray(leaf)
    if value.dtype.kind not in "biufc":
        raise errors.DTypeError(
            f"a leaf of {what} is {errors.describe(leaf)}. A loop carries arrays and numbers; the function "
            "may close over anything else"
        )
    return value if value.ndim else value[()]
