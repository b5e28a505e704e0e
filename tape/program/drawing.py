"""`Drawing`: a compiled function that draws random numbers, as one whose arguments and results are states.

The program is a function of the states of the generators, and returns the states after the draws: nothing in
it is random. Each call reads the states, runs the program and writes the states back, while it holds the
locks of the generators. So the numbers are those of plain Python, in the same order, whatever path the
function takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

from tape import errors, tree
from tape.core import streams
from tape.core.bit_states import kind_of, set_state, state_of
from tape.core.dispatch import recorder
from tape.core.node import Handle
from tape.core.streams import Scope, Source, Undeclared
from tape.program.calls.generators import (
    STATES,
    Argument,
    Generators,
    Returned,
    argument,
    arguments_of,
    locked,
)
from tape.program.record.collections import Rebuilt

_MOST_SOURCES = 16
"""Number of generators that are closed over, from which on those of other calls are dropped."""

_MOST_ANEW = 64
"""Number of generators that one call may add: one that makes new ones adds others whenever it is recorded."""


class Drawing:
    """A function of arguments and states, compiled; and the generators that it closes over.

    Parameters
    ----------
    f : callable
        The function that draws.
    compiled : callable
        From a function to one that is compiled.
    """

    def __init__(self, f: Callable[..., Any], compiled: Callable[[Callable[..., Any]], Any]) -> None:
        self._f = f
        self._compiled = compiled
        self._lock = threading.Lock()
        self._now = threading.local()
        self._closed_over: list[Source] = []
        self.inner = compiled(self._function())

    def _declare(self, source: Source, anew: list[Source]) -> None:
        """Add a generator that the function closes over, after others that this very call has added."""
        with self._lock:
            if len(self._closed_over) >= max(_MOST_SOURCES, 2 * len(anew)):
                self._closed_over = list(anew)
                self.inner = self._compiled(self._function())
            self._closed_over = [*self._closed_over, source]

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of the function, and let the generators move on."""
        return self._with_states(args, kwargs, self._run, self._f)

    @property
    def programs(self) -> dict[Any, Any]:
        """All programs, each with the generators that it draws from, so that it can be called and saved."""
        while True:
            inner = self.inner
            programs = inner.programs
            with self._lock:
                closed_over = list(self._closed_over)  # never fewer than when a program was recorded
                if self.inner is inner:
                    break
        for program in programs.values():
            if program.generators is None:
                program.generators = _generators_of(program, closed_over)
        return programs

    def profile(self, args: tuple[Any, ...], repeats: int) -> Any:
        """Measure the program for these arguments; generators stay as they are."""

        def run(inner: Any, args: Any, kwargs: Any, sources: list[Source]) -> Any:
            return inner.profile_with(args, kwargs, repeats)

        return self._with_states(args, {}, run, None)

    def _with_states(self, args: Any, kwargs: Any, run: Callable[..., Any], otherwise: Any) -> Any:
        leaves = tree.leaves((args, kwargs))
        is_recorded = any(isinstance(leaf, Handle) for leaf in leaves)
        has_sources = any(isinstance(leaf, Source) for leaf in leaves)
        if otherwise is not None and (is_recorded or streams.is_watched()):
            return otherwise(*args, **kwargs)
        anew: list[Source] = []
        while True:
            with self._lock:
                inner, sources = self.inner, list(self._closed_over)
            count, rebuilt = len(sources), None
            given, keywords = args, kwargs
            if has_sources:
                rebuilt = Rebuilt((args, kwargs), partial(_replaced, sources, count))
                given, keywords = rebuilt.tree
            self._now.sources = sources
            try:
                with locked([source.bits for source in sources]):
                    states = tuple([state_of(source.bits) for source in sources])
                    out = run(inner, given, {**keywords, STATES: states}, sources)
                if rebuilt is not None:
                    rebuilt.carry_over(out)
                return out
            except Undeclared as missing:
                is_known = any(missing.source.bits is source.bits for source in sources)
                if is_known or len(anew) > _MOST_ANEW:
                    raise _unknown() from None
                self._declare(missing.source, anew)
                anew.append(missing.source)

    def _run(self, inner: Any, args: Any, kwargs: Any, sources: list[Source]) -> Any:
        out, states, *returned = inner(*args, **kwargs)
        for source, state in zip(sources, states, strict=True):
            set_state(source.bits, state)
        return returned[0].restored(out, dict(enumerate(sources))) if returned else out

    def _function(self) -> Callable[..., Any]:
        """Return the function of arguments and states."""
        f, now = self._f, self._now

        def run(*args: Any, **kwargs: Any) -> Any:
            states = kwargs.pop(STATES)
            sources = now.sources
            rebuilt = None
            if any(type(leaf) is Argument for leaf in tree.leaves((args, kwargs))):
                rebuilt = Rebuilt(
                    (args, kwargs), lambda leaf: sources[leaf.number] if type(leaf) is Argument else leaf
                )
                args, kwargs = rebuilt.tree
            with (streams.Once if recorder() is None else Scope)(sources, states) as scope:
                out = f(*args, **kwargs)
                if rebuilt is not None:
                    rebuilt.carry_over(out)
                out, returned = _without_generators(out, sources, scope)
            states = tuple(scope.states())
            return (out, states) if returned is None else (out, states, returned)

        return update_wrapper(run, f)


def _without_generators(out: Any, sources: list[Source], scope: Scope) -> tuple[Any, Returned | None]:
    """Return a result with numbers in the place of generators, and where these were."""
    leaves, structure = tree.flatten(out)
    numbers: dict[int, int] = {}
    for at, leaf in enumerate(leaves):
        if isinstance(leaf, Source):
            check_returned(leaf, scope)
            if all(source.bits is not leaf.bits for source in sources):
                scope.miss(leaf)  # so that it is declared
            numbers[at] = [source.bits for source in sources].index(leaf.bits)
    if not numbers:
        return out, None
    return tree.unflatten(structure, [numbers.get(at, leaf) for at, leaf in enumerate(leaves)]), Returned(
        numbers
    )


def check_returned(leaf: Any, scope: Scope) -> None:
    """Raise if a leaf of a result is a generator that was made in a scope, whose state is only there."""
    if isinstance(leaf, Source) and leaf.home is scope:
        raise errors.UnsupportedError(
            "a compiled function returned a generator of random numbers that it made. Make it outside, and "
            "pass it: that one may be returned"
        )


def _generators_of(program: Any, closed_over: list[Source]) -> Generators:
    """Return the generators of a program: those that are closed over have the first numbers."""
    form = program.calling.arguments
    count = len(tree.unflatten(form.structure, range(tree.size(form.structure)))[1][STATES])
    given = {n: one for n, one in arguments_of(form.fixed).items() if not one.is_closed_over}
    own = [None if n in given else closed_over[n].bits for n in range(count)]
    kinds = [given[n].kind if n in given else kind_of(own[n]) for n in range(count)]
    return Generators(kinds, own, list(given))


def _replaced(sources: list[Source], count: int, leaf: Any) -> Any:
    """Return what stands for a generator; add it to the list of all if it is not there.

    ``count`` of them are closed over. Other leaves stand for themselves.
    """
    if not isinstance(leaf, Source):
        return leaf
    source, kind = leaf, kind_of(leaf.bits)
    for number, other in enumerate(sources):
        if other.bits is source.bits:
            return argument(number, kind, type(source), number < count)
    sources.append(source)
    return argument(len(sources) - 1, kind, type(source), False)


def _unknown() -> errors.UnsupportedError:
    return errors.UnsupportedError(
        "a compiled function draws from a generator that is another one each time, or was made inside of "
        "it from a bit generator. Pass the generator as an argument, or make it by "
        "tape.random.default_rng(seed)"
    )
