"""Generators of a program that draws random numbers: what stands for each, and whose states a call moves.

Such a program is a function of arguments and of the states of generators, and returns the states after the
draws; see `tape.program.drawing`. Here the generators of a call are numbered, and their states put among the
arguments, for programs that are called by themselves: those of `Compiled.programs`, and those from files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from tape import errors, tree
from tape.core.bit_states import kind_of, set_state, state_of
from tape.core.streams import Source

STATES = "states of generators"
"""The keyword argument of the states: no identifier, so that it is no one else's."""


class Argument:
    """What stands for a generator among the arguments: all of one type share a program.

    Attributes
    ----------
    number : int
        Which of the generators it is: the same one twice has the same number.
    kind : str
        The type of its bit generator.
    type : type
        Its own type; `Source` in programs from files, which take all.
    is_closed_over : bool
        Whether the function also closes over it.
    """

    def __init__(self, number: int, kind: str, type: type, is_closed_over: bool) -> None:
        self.number = number
        self.kind = kind
        self.type = type
        self.is_closed_over = is_closed_over

    def __repr__(self) -> str:
        name = "Generator" if self.type is Source else self.type.__name__
        return f"{name}({self.kind})"


argument: Callable[..., Argument] = cache(Argument)
"""The one `Argument` of its kind: they are compared by identity."""


@contextmanager
def _several_locked(bits: Sequence[Any]) -> Iterator[None]:
    """Hold the locks of several bit generators, taken in one order by all threads."""
    with ExitStack() as stack:
        for one in sorted(bits, key=id):
            stack.enter_context(one.lock)
        yield


def locked(bits: Sequence[Any]) -> Any:
    """Return a context that holds the locks of bit generators."""
    return bits[0].lock if len(bits) == 1 else _several_locked(bits)


class Returned:
    """Which leaves of a result are generators, by position, and which generator each of them is."""

    def __init__(self, numbers: dict[int, int]) -> None:
        self.numbers = numbers

    def restored(self, out: Any, sources: Mapping[int, Source]) -> Any:
        """Return a result with the generators, which have moved on, in their places."""
        leaves, structure = tree.flatten(out)
        for at, number in self.numbers.items():
            if number not in sources:
                raise errors.UnsupportedError(
                    "the program returns a generator that its function closes over. Call the compiled "
                    "function instead, or pass the generator as an argument"
                )
            leaves[at] = sources[number]
        return tree.unflatten(structure, leaves)


class Generators:
    """The generators that a program draws from.

    Parameters
    ----------
    kinds : sequence of str
        The type of the bit generator of each.
    own : sequence
        Bit generators that the program has itself, None for those that are arguments.
    arguments : sequence of int
        Numbers of those that are arguments, in the order in which they come first.
    is_any_type : bool
        Whether arguments are compared by the types of their bit generators alone.
    """

    def __init__(
        self, kinds: Sequence[str], own: Sequence[Any], arguments: Sequence[int], *, is_any_type: bool = False
    ) -> None:
        self.kinds = tuple(kinds)
        self.own = tuple(own)
        self._arguments = tuple(arguments)
        self._is_any_type = is_any_type

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], run: Callable[..., Any]) -> Any:
        """Run a program on the states of its generators, and let these move on.

        Parameters
        ----------
        name : str
            Of the function, for messages.
        args, kwargs : tuple, dict
            With generators among their leaves.
        run : callable
            ``run(args, kwargs)``, which returns the result, the states after it, and a `Returned` if there is
            a generator in the result.
        """
        leaves, structure = tree.flatten((args, kwargs))
        bits, remaining = list(self.own), list(self._arguments)
        sources: dict[int, Source] = {}
        numbers = {id(one): number for number, one in enumerate(bits) if one is not None}
        for k, leaf in enumerate(leaves):
            if not isinstance(leaf, Source):
                continue
            if id(leaf.bits) not in numbers:
                if not remaining:
                    raise self._refusal(name)
                numbers[id(leaf.bits)] = remaining.pop(0)
                bits[numbers[id(leaf.bits)]] = leaf.bits
            sources[numbers[id(leaf.bits)]] = leaf
            number, kind = numbers[id(leaf.bits)], Source if self._is_any_type else type(leaf)
            leaves[k] = argument(number, kind_of(leaf.bits), kind, self.own[number] is not None)
        if remaining:
            raise self._refusal(name)
        args, kwargs = tree.unflatten(structure, leaves)
        with locked(bits):
            states = tuple([state_of(one) for one in bits])
            returned: list[Returned]
            out, after, *returned = run(args, {**kwargs, STATES: states})
            for one, state in zip(bits, after, strict=True):
                set_state(one, state)
        return returned[0].restored(out, sources) if returned else out

    def states(self) -> list[Any]:
        """Return the state of each generator that the program has itself, as it is now; None for others."""
        found: list[Any] = []
        for one in self.own:
            if one is None:
                found.append(None)
                continue
            with one.lock:
                found.append(state_of(one))
        return found

    def _refusal(self, name: str) -> errors.OptionError:
        return errors.OptionError(
            f"{name}: the program was recorded with {len(self._arguments)} different generators of "
            "tape.random among its arguments, and was given another number. Pass as many, in the same places"
        )


def arguments_of(fixed: dict[int, Any]) -> dict[int, Argument]:
    """Return the generators among static leaves by their numbers, in the order in which they come first."""
    found: dict[int, Argument] = {}
    for k in sorted(fixed):
        if isinstance(fixed[k], Argument):
            found.setdefault(fixed[k].number, fixed[k])
    return found
