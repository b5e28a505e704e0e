"""`checkpoint_loop`: a Python loop as one node, reversed with a few snapshots of its state."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import errors, tree
from tape.core.closures import Bound, rerun
from tape.core.dispatch import resolve
from tape.core.node import Handle, snapshot
from tape.core.streams import without_draws
from tape.core.trace import Trace
from tape.interpreters.capturing import Substitution, protected
from tape.system.progress import progress_bar
from tape.transforms._record import check_callable, copied, name_of
from tape.transforms._returned import several_as_tuples
from tape.transforms._revolve import split
from tape.transforms._segment import Segment, as_scalar, is_differentiated, is_float
from tape.transforms.loops.counted import rows_of

Body = Callable[[Any, int], Any]


def checkpoint_loop(body: Body, state: Any, steps: int, snapshots: int, *, progress: bool = False) -> Any:
    """Run ``state = body(state, step)`` for ``step`` = 0, 1, ..., as one node of the tape.

    A loop that is recorded as usual keeps the values of every step. This one keeps ``snapshots`` states and
    runs as few steps as possible again for derivatives: binomial checkpointing, after
    Griewank and Walther, "Algorithm 799: revolve" (ACM TOMS 26, 2000). With s snapshots and r
    repetitions of each step at most, ``binomial(s + r, s)`` steps can be reversed: 10,000 steps with 20
    snapshots and 4 repetitions. Forward mode needs no snapshots and runs every step once more. Second
    derivatives are correct, but save no memory: the reverse sweep is recorded in full.

    In a compiled function this is a loop of the program if ``body`` does not read numbers in Python; it keeps
    as many states as the square root of ``steps``.

    Parameters
    ----------
    body : callable
        Plain NumPy code, from a state and the number of the step to the next state. It must compute the same
        when it is called again, and not write to its arguments. Vars that it closes over are
        differentiated like the state.
    state : tree
        The first state. Its floats are differentiated; other leaves, such as counters, are carried along.
    steps : int
        The number of steps, zero or more.
    snapshots : int
        The number of states to hold in memory at a time, the first one included, besides the current one:
        at least one.
    progress : bool
        Show a progress bar for the loop and for each sweep over it; needs tqdm.

    Returns
    -------
    tree
        The last state.

    Raises
    ------
    ShapeError
        If ``body`` changes the structure of the state, or a shape in it.
    DTypeError
        If ``body`` changes a dtype in the state.
    InPlaceError
        If ``body`` writes to an array that it was given.
    OptionError
        If ``steps`` or ``snapshots`` is out of range, or tqdm is missing.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def swing(start, steps=1000):
    ...     def body(state, step):
    ...         angle, speed = state
    ...         speed = speed - 0.01 * np.sin(angle)
    ...         return angle + 0.01 * speed, speed
    ...     return tape.checkpoint_loop(body, (start, 0.0), steps, snapshots=10)[0]
    >>> round(float(tape.grad(swing)(1.0)), 6)
    -0.949255
    """
    check_callable(body, "checkpoint_loop")
    body = without_draws(Bound(body), "checkpoint_loop")
    steps, snapshots = _counted("steps", steps, 0), _counted("snapshots", snapshots, 1)
    if not progress and (found := rows_of(body, state, steps)) is not None:
        return found
    loop = _Loop(body, state, steps, snapshots, progress)
    return loop.segment.as_node(loop.vjp, loop.jvp)


class _Loop:
    """One run of a loop, and its two rules."""

    def __init__(self, body: Body, state: Any, steps: int, snapshots: int, progress: bool) -> None:
        self._body = body
        self.progress = progress
        self.steps = steps
        self.snapshots = snapshots
        self.name = f"checkpoint_loop({name_of(body)})"
        self.kept: dict[int, Any] = {}  # snapshots of the last plain run, by step
        self.segment = Segment(self._run, (tree.map(as_scalar, state),), {}, self.name, is_inlined=False)

    def body(self, state: Any, step: int) -> Any:
        """Return the next state."""
        return several_as_tuples(self._body(state, step))

    def _run(self, state: Any) -> Any:
        """Run all steps, and keep the snapshots that a reverse sweep needs first."""
        is_plain = not any(isinstance(leaf, Handle) for leaf in tree.flatten(state)[0])
        places = self._first_snapshots() if is_plain else set()
        kept = {}
        with progress_bar(self.progress, self.name, self.steps, "steps") as bar:
            for step in range(self.steps):
                if step in places:
                    kept[step] = copied(state)  # the body may return one buffer again and again
                after = self.body(tree.map(protected, state), step)
                _check_alike(state, after, f"{name_of(self._body)}, in step {step},")
                state = after
                bar.update()
        if is_plain:
            self.kept = kept
        return state

    def _first_snapshots(self) -> set[int]:
        places, start, states = set(), 0, self.snapshots
        while states > 1 and self.steps - start > 1:
            start += split(self.steps - start, states)
            states -= 1
            places.add(start)
        return places | {self.steps - 1}  # the first state, which is at hand

    # ---- rules -----------------------------------------------------------------------------------

    def vjp(self, g: Any, out: Any, *operands: Any) -> list[Any]:
        """Return the contributions to the Vars of the state, then to the captured ones."""
        state, captured = self._start([resolve(operand) for operand in operands])
        is_plain = not any(isinstance(operand, Handle) for operand in operands)
        kept: dict[int, Any] = {}
        if is_plain:
            kept, self.kept = self.kept, {}  # to be freed one by one
        reversal = _Reversal(self, captured, kept)
        reversal.adjoints = self.segment.packing.unpack(g)
        with progress_bar(self.progress, f"{self.name}, backwards", self.steps, "steps") as reversal.bar:
            reversal.reverse(0, self.steps, state, self.snapshots)
        by_leaf = dict(zip(self.segment.packing.floats, reversal.adjoints, strict=True))
        return [by_leaf.get(place) for place in self.segment.places] + reversal.gradients

    def jvp(self, tangents: Sequence[Any], out: Any, *operands: Any) -> Any:
        """Return the tangent of the last state, pushed forward step by step."""
        state, captured = self._start([resolve(operand) for operand in operands])
        packing = self.segment.packing
        by_leaf = dict(zip(self.segment.places, tangents, strict=False))
        moving = [by_leaf.get(place) for place in packing.floats]
        by_captured = tangents[len(self.segment.places) :]
        for step in range(self.steps):
            trace, params, held, after = self._recorded(state, step, captured)
            pairs = zip(params + held, [*moving, *by_captured], strict=True)
            seeds = {p.id: t for p, t in pairs if p is not None and t is not None}
            parts = packing.parts_of(after, self.name)
            roots = [part.id if _is_on(trace, part) else None for part in parts]
            moved = iter(trace.push_forward(seeds, [root for root in roots if root is not None]))
            moving = [None if root is None else next(moved) for root in roots]
            state = _without(trace, after)
        if all(tangent is None for tangent in moving):
            return None
        zeros = (
            np.zeros(shape, dtype)[()] for shape, dtype in zip(packing.shapes, packing.dtypes, strict=True)
        )
        return packing.pack([z if t is None else t for z, t in zip(zeros, moving, strict=True)])

    def _start(self, operands: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """Return the first state, and the values of the captured Vars."""
        count = len(self.segment.places)
        (state,), _ = self.segment.arguments(operands[:count])
        return state, operands[count:]

    def _recorded(self, state: Any, step: int, captured: Sequence[Any]) -> tuple[Trace, Any, Any, Any]:
        """Record one step; return the trace, params for the state and the captured Vars, and the result."""
        leaves, structure = tree.flatten(state)
        with Trace(self.name, strict=True) as trace:
            params = []
            for i in self.segment.packing.floats:
                params.append(trace.param(leaves[i]))
                leaves[i] = snapshot(params[-1])
            held = [trace.param(value) if is_differentiated(value) else None for value in captured]
            values = [v if p is None else snapshot(p) for v, p in zip(captured, held, strict=True)]
            after = self._with(values, self.body, tree.unflatten(structure, leaves), step)
        return trace, params, held, after

    def _with(self, captured: Sequence[Any], call: Callable[..., Any], *args: Any) -> Any:
        """Call a function with other values for the captured Vars."""
        if not captured:
            return rerun(call, *args)
        with Substitution(self.segment.captured, [protected(value) for value in captured]) as region:
            return tree.map(region.resolve, rerun(call, *args))


class _Reversal:
    """A reverse sweep over the steps of a loop, last step first."""

    def __init__(self, loop: _Loop, captured: Sequence[Any], kept: dict[int, Any]) -> None:
        self.loop = loop
        self.captured = captured
        self.kept = kept
        self.adjoints: list[Any] = []  # of the floats in the state
        self.gradients: list[Any] = [None] * len(captured)
        self.bar: Any = None

    def reverse(self, first: int, last: int, state: Any, states: int) -> None:
        """Reverse steps ``last - 1`` to ``first``, from the state at ``first``, holding ``states`` in all."""
        while last - first > 1:
            middle = last - 1 if states == 1 else first + split(last - first, states)
            after = self.kept.pop(middle, None)
            if after is None:
                after = self._advanced(state, first, middle)
            if states == 1:
                self._reverse_step(after, middle)
            else:
                self.reverse(middle, last, after, states - 1)  # no deeper than there are snapshots
            del after
            last = middle
        if last > first:
            self._reverse_step(state, first)

    def _advanced(self, state: Any, first: int, last: int) -> Any:
        def advance(state: Any) -> Any:
            for step in range(first, last):
                state = self.loop.body(tree.map(protected, state), step)
            return copied(state)

        return self.loop._with(self.captured, advance, state)

    def _reverse_step(self, state: Any, step: int) -> None:
        trace, _, held, after = self.loop._recorded(state, step, self.captured)
        seeds: dict[int, Any] = {}
        parts = self.loop.segment.packing.parts_of(after, self.loop.name)
        for part, adjoint in zip(parts, self.adjoints, strict=True):
            if adjoint is not None and _is_on(trace, part):
                seeds[part.id] = seeds[part.id] + adjoint if part.id in seeds else adjoint
        self.bar.update()
        found = trace.pull_back(seeds)
        count = len(self.adjoints)
        self.adjoints = found[:count]
        rest = iter(found[count:])
        for k, param in enumerate(held):
            gradient = None if param is None else next(rest)
            if gradient is not None:
                so_far = self.gradients[k]
                self.gradients[k] = gradient if so_far is None else so_far + gradient


def _is_on(trace: Trace, part: Any) -> bool:
    return isinstance(part, Handle) and part.trace_ref is trace.ref


def _without(trace: Trace, state: Any) -> Any:
    """Return a state without the Vars of a trace."""
    return tree.map(lambda leaf: snapshot(leaf.node.value) if _is_on(trace, leaf) else leaf, state)


def _counted(name: str, value: Any, least: int) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if count < least:
        raise errors.OptionError(f"{name} is {value!r}. It must be an int, {least} or more")
    return count


def _check_alike(before: Any, after: Any, who: str) -> None:
    """Check that a step keeps the structure, shapes and dtypes of the state."""
    leaves, structure = tree.flatten(before)
    others, other_structure = tree.flatten(after)
    if structure != other_structure:
        raise errors.ShapeError(
            f"{who} returned a state {tree.describe(other_structure)} for {tree.describe(structure)}. It "
            "must keep the structure"
        )
    for k, (leaf, other) in enumerate(zip(leaves, others, strict=True)):
        wrong: tuple[type[errors.TapeError], str] | None = None
        if not is_float(leaf):
            wrong = (errors.DTypeError, "Start with a float") if is_float(other) else None
        elif np.shape(leaf) != np.shape(other):
            wrong = errors.ShapeError, "It must keep the shapes"
        elif np.result_type(leaf) != np.result_type(other):
            wrong = errors.DTypeError, "Convert it with astype, or start with that dtype"
        if wrong is not None:
            error, advice = wrong
            raise error(
                f"{who} returned {errors.describe(other)} for {tree.names(structure, 'state')[k]}, which is "
                f"{errors.describe(leaf)}. {advice}"
            )
