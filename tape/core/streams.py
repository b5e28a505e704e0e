"""Which state the random numbers of some code are drawn from.

Code that runs once draws from its generator. Code that a program repeats, or that derivatives run again,
draws from a state that is a value like any other: a `Scope`, opened around the code, holds the present state
of each generator that the code draws from, and passes it from draw to draw. Scopes nest, one stack for each
thread. `tape.random` draws; transforms and programs open scopes. Which numbers are drawn is not known here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Protocol, Self

import numpy as np

from tape import errors
from tape.core import dispatch, interpreter
from tape.core.bit_states import kind_of, set_state, state_of
from tape.core.node import Handle


class Draw(Protocol):
    """A draw: which numbers, and how many."""

    def plain(self, generator: np.random.Generator) -> Any:
        """Draw from a generator."""

    def from_state(self, state: Any, kind: str) -> tuple[Any, Any]:
        """Return the state after the draw, and what was drawn, given the kind of the bit generator."""


class Source:
    """Something that draws from a bit generator: the base of `tape.random.Generator`.

    Attributes
    ----------
    bits : numpy.random.BitGenerator
        The bit generator. Two sources of one bit generator share its state.
    plain : numpy.random.Generator
        NumPy's generator of it.
    home : Scope or None
        The innermost scope when it was made with a bit generator of its own; none if that may be older.
    """

    bits: Any
    plain: np.random.Generator
    home: Scope | None = None


class Undeclared(BaseException):
    """Raised where code in a scope draws from a source that the scope has no state of.

    Those who opened the scope catch it, and run the code again in a scope that has. As code may not catch it,
    it is no `Exception`.
    """

    def __init__(self, source: Source) -> None:
        super().__init__("a generator was drawn from in code that a program repeats")
        self.source = source


class _Stack(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Scope] = []


_stack = _Stack()


def innermost() -> Scope | None:
    """Return the innermost scope of this thread."""
    return _stack.scopes[-1] if _stack.scopes else None


def is_plain() -> bool:
    """Return whether nothing that a draw would have to know of is open on this thread."""
    return not _stack.scopes and not interpreter.opened()


def mapped(scope: Scope | None) -> list[Any]:
    """Return the interpreters of `tape.vmap` that are open inside of a scope, the outermost first."""
    return [one for one in _inside(scope) if one.is_mapped]


def _inside(scope: Scope | None) -> Sequence[Any]:
    """Return the interpreters that were opened inside of a scope, the outermost first."""
    return interpreter.opened()[0 if scope is None else scope.depth :]


def draw(source: Source, what: Draw) -> Any:
    """Draw, as the innermost scope has it; without a scope, from the source itself.

    Raises
    ------
    UnsupportedError
        Where numbers would be the same in each call of a program, or others when derivatives run code again.
    """
    scope = innermost()
    if any(one.is_program for one in _inside(scope)):
        raise errors.UnsupportedError(
            "random numbers were drawn in a function that is recorded, and would be the same in every "
            "call. Use tape.compile, which draws anew in each call, or draw them outside, and pass them"
        )
    return what.plain(source.plain) if scope is None else scope.draw(source, what)


class Scope:
    """Code that draws from given states, and from no other.

    Parameters
    ----------
    sources : sequence of Source
        What the code may draw from.
    states : sequence
        The state of each: arrays, or Vars of a program that is being recorded.

    Attributes
    ----------
    depth : int
        How many interpreters were open when it was opened.

    Examples
    --------
    >>> import tape
    >>> from tape.core.bit_states import state_of
    >>> from tape.core.streams import Scope
    >>> rng = tape.random.default_rng(0)
    >>> with Scope([rng], [state_of(rng.bits)]) as scope:
    ...     inside = rng.random()
    >>> print(inside, rng.random(), scope.states()[0].shape)
    0.6369616873214543 0.6369616873214543 (8,)
    """

    def __init__(self, sources: Sequence[Source] = (), states: Sequence[Any] = ()) -> None:
        self.depth = 0
        self._sources = list(sources)
        self._states = {id(source.bits): state for source, state in zip(sources, states, strict=True)}
        self._kept: list[Source] = []  # so that ids of their bit generators stay theirs

    def __enter__(self) -> Self:
        self.depth = len(interpreter.opened())
        _stack.scopes.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _stack.scopes.remove(self)

    def states(self) -> list[Any]:
        """Return the present state of each source."""
        return [self._states[id(source.bits)] for source in self._sources]

    def state(self, source: Source) -> Any:
        """Return the present state of a source."""
        key = id(source.bits)
        if key not in self._states:
            if source.home is not self:
                self.miss(source)
            if any(one.is_mapped for one in interpreter.opened()[: self.depth]):
                raise errors.UnsupportedError(
                    "a generator was made in code that a program repeats for each example of tape.vmap, and "
                    "would draw the same numbers for all. Make it outside of that code"
                )
            self._states[key] = state_of(source.bits)
            self._kept.append(source)
        return self._states[key]

    def draw(self, source: Source, what: Draw) -> Any:
        """Draw from a source; return what was drawn."""
        state = self.state(source)
        if isinstance(state, Handle) and dispatch.recorder() is None:
            raise errors.UnsupportedError(
                "random numbers were drawn in code that a program calls back, as the forward function of "
                "an operation of your own is: they would be the same in every call. Draw them before, and "
                "pass them"
            )
        self._states[id(source.bits)], out = what.from_state(state, kind_of(source.bits))
        return out

    def set(self, sources: Sequence[Source], states: Sequence[Any]) -> None:
        """Set the states of sources, after code inside has drawn from them in a scope of its own."""
        for source, state in zip(sources, states, strict=True):
            self.state(source)
            self._states[id(source.bits)] = state

    def miss(self, source: Source) -> None:
        """Raise, as there is no state of this source."""
        raise Undeclared(source)

    def _around(self) -> Scope | None:
        scopes = _stack.scopes
        at = scopes.index(self)
        return scopes[at - 1] if at else None


class Refusal(Scope):
    """Code that may not draw at all, as it runs an unknown number of times.

    Parameters
    ----------
    error : callable
        Makes what a draw raises.
    """

    def __init__(self, error: Callable[[], Exception]) -> None:
        super().__init__()
        self._error = error

    def miss(self, source: Source) -> None:
        """Raise the error."""
        raise self._error()


class Once(Scope):
    """Code that runs once, as plain Python: sources of which there is no state are drawn from themselves."""

    def state(self, source: Source) -> Any:
        """Return the present state of a source."""
        return super().state(source) if self._has(source) else state_of(source.bits)

    def draw(self, source: Source, what: Draw) -> Any:
        """Draw from a source; return what was drawn."""
        return super().draw(source, what) if self._has(source) else what.plain(source.plain)

    def set(self, sources: Sequence[Source], states: Sequence[Any]) -> None:
        """Set the states of sources."""
        for source, state in zip(sources, states, strict=True):
            if self._has(source):
                super().set([source], [state])
            else:
                set_state(source.bits, state)

    def _has(self, source: Source) -> bool:
        return id(source.bits) in self._states or source.home is self


class Aside(Scope):
    """Code that runs to see what it returns: its draws do not count."""

    def state(self, source: Source) -> Any:
        """Return the present state of a source, of which this scope has a copy."""
        key = id(source.bits)
        if key not in self._states:
            around = self._around()
            is_here = source.home is self or around is None
            self._states[key] = state_of(source.bits) if is_here else around.state(source)  # type: ignore[union-attr]
            self._kept.append(source)
        return self._states[key]


class Noting(Scope):
    """Code that will run again: it draws as the code around it does, and the first states are noted.

    Parameters
    ----------
    name : str
        Of the code, for messages.

    Attributes
    ----------
    noted : list of tuple
        Each source that was drawn from, and its state before the first draw.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.noted: dict[int, tuple[Source, Any]] = {}

    def state(self, source: Source) -> Any:
        """Return the present state of a source, in the scope around this one."""
        around = self._around()
        if source.home is self or around is None:
            return state_of(source.bits)
        return around.state(source)

    def draw(self, source: Source, what: Draw) -> Any:
        """Draw from a source in the scope around this one."""
        around = self._around()
        if any(one.is_program for one in interpreter.opened()):
            raise errors.UnsupportedError(
                f"{self.name} draws random numbers in a compiled function, where it cannot. Draw them "
                "outside of it, and pass them as arguments"
            )
        if mapped(around) != mapped(self):
            raise errors.UnsupportedError(
                f"{self.name} draws random numbers for each example of tape.vmap, and is run again for "
                "derivatives, when the examples are not known. Draw them outside of it, or let it call "
                "tape.vmap"
            )
        if source.home is not self:
            self.noted.setdefault(id(source.bits), (source, self.state(source)))
            if around is not None:
                return around.draw(source, what)
        return what.plain(source.plain)

    def again(self) -> Again:
        """Return the scope of another run, which draws the same numbers."""
        return (
            Again(self.name, *zip(*self.noted.values(), strict=True))
            if self.noted
            else Again(self.name, (), ())
        )


class Again(Scope):
    """Code that runs again, and draws what it drew before."""

    def __init__(self, name: str, sources: Sequence[Source], states: Sequence[Any]) -> None:
        super().__init__(sources, states)
        self.name = name

    def miss(self, source: Source) -> None:
        """Raise, as it did not draw from this source before."""
        raise errors.UnsupportedError(
            f"{self.name} was run again for a derivative, and drew from another generator of random numbers "
            "than before. Pass the generator, and let it draw from the same one each time"
        )


def is_watched() -> bool:
    """Return whether code that runs now is recorded for a program, or draws from states of a scope."""
    return bool(_stack.scopes) or any(one.is_program or one.is_mapped for one in interpreter.opened())


def repeatable(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that draws the same numbers whenever it runs as it did at first.

    Parameters
    ----------
    f : callable
        Any function.
    name : str
        Its name, for messages.
    """
    first: Noting | None = None

    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal first
        with Noting(name) if first is None else first.again() as scope:
            out = f(*args, **kwargs)
        if first is None and isinstance(scope, Noting):
            first = scope
        return out

    return update_wrapper(run, f)


def alone(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function in a scope of its own, that knows no generators."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with Scope():
            return f(*args, **kwargs)

    return update_wrapper(run, f)


class _Drawn(BaseException):
    """Raised where code draws that is run to see whether it does; no `Exception`, as it may not catch it."""


class _Barrier(Scope):
    """Code that may not draw, not even from generators of its own."""

    def state(self, source: Source) -> Any:
        """Raise."""
        raise _Drawn


def without_or_else(
    run: Callable[[Callable[..., Any]], Any], f: Callable[..., Any], otherwise: Callable[[], Any]
) -> Any:
    """Return ``run(g)``, where g is a function that does not draw; if it does, ``otherwise()``."""
    is_known = False

    def g(*args: Any, **kwargs: Any) -> Any:
        try:
            with _Barrier():
                return f(*args, **kwargs)
        except _Drawn:
            if not is_known:
                raise
            raise errors.UnsupportedError(
                "a function was run again for a derivative and drew random numbers, which it did not do "
                "before. Let it draw each time, or never"
            ) from None

    try:
        found = run(update_wrapper(g, f))
    except _Drawn:
        return otherwise()
    is_known = True
    return found


def refusing(f: Callable[..., Any], error: Callable[[], Exception]) -> Callable[..., Any]:
    """Return a function that may not draw."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with Refusal(error):
            return f(*args, **kwargs)

    return update_wrapper(run, f)


def without_draws(f: Callable[..., Any], caller: str) -> Callable[..., Any]:
    """Return a function that may not draw, since a transform calls it as often as it needs to."""
    message = (
        f"a function drew random numbers that {caller} calls again and again, with others each time. Draw "
        "them before, and pass them as arguments or close over them"
    )
    return refusing(f, lambda: errors.UnsupportedError(message))


def declared(run: Callable[[list[Source]], Any]) -> Any:
    """Return ``run(sources)``, with all sources that it draws from.

    Parameters
    ----------
    run : callable
        It is called without sources first, and again whenever it raises `Undeclared`, with one more.
    """
    sources: list[Source] = []
    while True:
        try:
            return run(sources)
        except Undeclared as missing:
            if any(source.bits is missing.source.bits for source in sources):
                raise
            sources = [*sources, missing.source]
