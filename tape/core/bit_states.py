"""The state of a bit generator of NumPy as an array of integers, and a draw as a function of such a state.

A draw from a state changes nothing but its results: it returns the numbers and the state after them. So it
can be repeated, recorded and run in a program like any other operation. Nothing here knows of tapes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from tape import errors

_WORDS = 2
"""Words of 64 bits for each int of a state: those of PCG64 have 128 bits."""

_FAST = frozenset({"PCG64", "PCG64DXSM"})
"""Kinds of the default generator, whose states are four ints: they have a shorter way, of the same result."""

KINDS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
"""The types of NumPy's bit generators."""

_NAMES = {getattr(np.random, kind): kind for kind in KINDS}

_LAST = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1}
"""The largest value of parts of a state: NumPy reads a buffer at these positions without a check."""


def kind_of(bit_generator: Any) -> str:
    """Return the name of the type of a bit generator.

    Raises
    ------
    UnsupportedError
        If it is none of NumPy's: its state is not known.
    """
    kind = type(bit_generator)
    name = _NAMES.get(kind)
    if name is not None:
        return name
    raise errors.UnsupportedError(
        f"the state of a bit generator of {kind} is not known to tape, which has to repeat draws here. Use "
        f"one of numpy.random: {', '.join(KINDS)}"
    )


def state_of(bit_generator: Any) -> np.ndarray:
    """Return the state of a bit generator, as an array int64[n].

    Examples
    --------
    >>> import numpy as np
    >>> from tape.core.bit_states import kind_of, set_state, state_of
    >>> one, other = np.random.PCG64(0), np.random.PCG64(1)
    >>> set_state(other, state_of(one))
    >>> one.state == other.state, state_of(one).shape, kind_of(one)
    (True, (8,), 'PCG64')
    """
    kind, state = kind_of(bit_generator), bit_generator.state
    if kind in _FAST:
        one = state["state"]
        numbers = (one["state"], one["inc"], state["has_uint32"], state["uinteger"])
        return np.frombuffer(b"".join([number.to_bytes(16, "little") for number in numbers]), np.int64)
    parts = []
    for value in _leaves(state):
        if isinstance(value, np.ndarray):
            parts.append(value.astype(np.uint64))
        else:
            parts.append(np.frombuffer(int(value).to_bytes(8 * _WORDS, "little"), np.uint64))
    return np.concatenate(parts).view(np.int64)


@cache
def state_size(kind: str) -> int:
    """Return the length of the state of a bit generator, by the name of its type."""
    return int(state_of(getattr(np.random, kind)(0)).size)


def set_state(bit_generator: Any, state: np.ndarray) -> None:
    """Set the state of a bit generator to what `state_of` returned of one of the same type.

    Raises
    ------
    OptionError
        If it is no state of such a bit generator.
    """
    kind = kind_of(bit_generator)
    try:
        bit_generator.state = _checked(_numbers_of(kind, state))
    except (OverflowError, TypeError, ValueError):
        raise errors.OptionError(
            f"{errors.describe(state)} is no state of a {kind}. Pass a state that a generator had"
        ) from None


def _checked(state: Any) -> Any:
    """Return a state; raise if a position is out of range, or if it is one that stands still.

    NumPy's loops that reject numbers never end for a generator that repeats one: a PCG64 of an even
    increment, which none has, may do so, and the Mersenne twister of nothing but zeros.
    """
    for key, value in state.items():
        if isinstance(value, dict):
            _checked(value)
        elif (
            (key in _LAST and not 0 <= value <= _LAST[key])
            or (key == "inc" and value % 2 == 0)
            or (key == "key" and len(value) == _LAST["pos"] and not np.any(value[1:]))
        ):
            raise ValueError
    return state


def _numbers_of(kind: str, state: np.ndarray) -> dict[str, Any]:
    """Return a state as NumPy has it."""
    if np.shape(state) != (state_size(kind),) or state.dtype != np.int64:
        raise ValueError
    if kind in _FAST:
        content = state.tobytes()
        bits, step, has_half, half = [
            int.from_bytes(content[at : at + 16], "little") for at in range(0, 64, 16)
        ]
        return {
            "bit_generator": kind,
            "state": {"state": bits, "inc": step},
            "has_uint32": has_half,
            "uinteger": half,
        }
    words, start = np.ascontiguousarray(state).view(np.uint64), 0

    def taken(like: Any) -> Any:
        nonlocal start
        if isinstance(like, dict):
            return {key: taken(value) for key, value in like.items()}
        if isinstance(like, str):
            return like
        size = like.size if isinstance(like, np.ndarray) else _WORDS
        part = words[start : start + size]
        start += size
        return (
            part.astype(like.dtype)
            if isinstance(like, np.ndarray)
            else int.from_bytes(part.tobytes(), "little")
        )

    return taken(_scratch(kind)[1])


def drawn(state: np.ndarray, kind: str, draw: Callable[[np.random.Generator], Any]) -> tuple[np.ndarray, Any]:
    """Draw from a generator in some state; return the state after the draw, and what was drawn.

    Parameters
    ----------
    state : numpy.ndarray
        As `state_of` returns it; not written to.
    kind : str
        The name of the type of the bit generator.
    draw : callable
        From a `numpy.random.Generator` to anything.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.core.bit_states import drawn, state_of
    >>> state = state_of(np.random.PCG64(0))
    >>> after, numbers = drawn(state, "PCG64", lambda rng: rng.integers(10, size=4))
    >>> numbers, drawn(state, "PCG64", lambda rng: rng.integers(10, size=4))[1]
    (array([8, 6, 5, 2]), array([8, 6, 5, 2]))
    """
    generator, _ = _scratch(kind)
    set_state(generator.bit_generator, state)
    out = draw(generator)
    return state_of(generator.bit_generator), out


class _Scratch(threading.local):
    """A generator of each type for each thread, and the form of its state: to make one takes long."""

    def __init__(self) -> None:
        self.generators: dict[str, tuple[np.random.Generator, Any]] = {}


_known = _Scratch()


def _scratch(kind: str) -> tuple[np.random.Generator, Any]:
    found = _known.generators.get(kind)
    if found is None:
        bit_generator = getattr(np.random, kind)(0)
        found = _known.generators[kind] = (np.random.Generator(bit_generator), bit_generator.state)
    return found


def _leaves(state: Any) -> Iterator[Any]:
    if isinstance(state, dict):
        for value in state.values():
            yield from _leaves(value)
    elif not isinstance(state, str):
        yield state
