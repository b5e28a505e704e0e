"""Reverse sweeps over tapes that are alike, as programs.

A training loop records the same tape in every step: the same calls with the same parents, other numbers. Its
reverse sweep is then the same too, and runs as a `Program` over the recorded values, which checks natively
that these have the types and shapes they had. A tape that is not known, or that the program refuses, is swept
node by node. The program is made once sweeping node by node has taken about as long as making it does: at
worst, that costs twice what it could.

Nobody can tell which it was: programs of sweeps round as NumPy does, so that the same seed gives the same
numbers, whenever a program takes over. Where that cannot be had, the tape is swept node by node; also where
numbers overflow or are divided by zero, of which NumPy warns.

TAPE_SWEEP_PROGRAMS=0 in the environment turns them off; with "always", they are made at the second sweep.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Leaf, Node
from tape.core.rules import TransposedJvp
from tape.core.sweep import reverse_sweep
from tape.core.table import INTERNAL
from tape.kernels.availability import Unavailable
from tape.kernels.loading import NotReady, is_ready, without_waiting
from tape.program.ir.rounding import is_in_order
from tape.program.program import Program
from tape.program.record.recording import record
from tape.program.runtime.run import Flip, Rerun
from tape.system import float_flags

_LONGEST = 4096
"""Nodes: longer tapes are not looked at, of which each step of the sweep is paid for by what it computes."""
_MOST, _MOST_KINDS = 256, 16
"""Tapes that are remembered, and kinds of values of each."""
_SECONDS, _SECONDS_A_NODE = 3e-3, 1.2e-4
"""The time that it takes to make a program, about, for a tape of so many nodes with its reverse sweep."""
_LATER = 1.0
"""Seconds of sweeping until machine code is looked for again, where there was none."""
_LARGEST, _LARGEST_IN_ALL = 1 << 24, 1 << 28
"""Bytes that a program may keep for itself, and all of them together."""
_REFUSALS = 3
"""After so many in succession a program is given up."""
_TRIALS = 8
"""So often a program may be slower than the sweep was: the first run is, and the machine may be busy."""
_MISSES, _GLANCE = 64, 16
"""After so many tapes in succession that were not known, one of so many is looked at."""

_BRANCHING = frozenset({"arctan2", "expm", "prod", "softmax_cross_entropy_mean", "softmax_cross_entropy_sum"})
"""Operations whose rules compute plain arrays in another way than they record."""
_OTHERS = "tape.ops.special."
"""Rules of functions that take long themselves, and treat numbers of Python in their own way."""

_FLOATS = frozenset({float, complex})
_STATIC = frozenset({int, bool})


class Arguments:
    """How the values of a tape are handed to the program of its sweep.

    Parameters
    ----------
    values : sequence
        Those of the nodes, then constants, then seeds, of the sweep that the program is made for.

    Attributes
    ----------
    fixed : dict of int to int or bool
        Values that are the same in every sweep, by position.
    leaves : list of int
        Where the others are.
    turned : list of int
        Leaves that lie in memory as the transpose of an array in C order, which is handed over.
    unread : dict of int to numpy.ndarray
        Leaves in other orders, with what is handed over instead: the program may not read their elements.
    """

    __slots__ = ("fixed", "leaves", "turned", "unread")

    def __init__(self, values: Sequence[Any]) -> None:
        self.fixed = {k: value for k, value in enumerate(values) if type(value) in _STATIC}
        self.leaves = [k for k in range(len(values)) if k not in self.fixed]
        given = [values[k] for k in self.leaves]
        others = [k for k, leaf in enumerate(given) if not is_in_order(leaf)]
        self.turned = [k for k in others if given[k].flags.f_contiguous]
        self.unread = {k: np.ascontiguousarray(given[k]) for k in others if k not in self.turned}

    def of(self, values: Sequence[Any]) -> list[Any] | None:
        """Return the leaves among values; None if these are not of the kind that the program takes."""
        for k, number in self.fixed.items():
            if type(values[k]) is not type(number) or values[k] != number:
                return None
        leaves = [values[k] for k in self.leaves]
        for k in self.turned:
            leaves[k] = leaves[k].T
        for k, instead in self.unread.items():
            if _kind(leaves[k]) != _kind(instead):
                return None
            leaves[k] = instead
        return leaves

    def values(self, leaves: Sequence[Any]) -> Iterator[Any]:
        """Yield the values of which these are the leaves: the opposite of `of`."""
        given = enumerate(leaves)
        for at in range(len(self.fixed) + len(leaves)):
            if at in self.fixed:
                yield self.fixed[at]
            else:
                k, leaf = next(given)
                yield np.transpose(leaf) if k in self.turned else leaf


class SweepProgram(Program):
    """The reverse sweep over a tape; its arguments are the values of the nodes, constants and seeds.

    Parameters
    ----------
    nodes, params, seeds
        The tape, and what its sweep starts from.
    values : sequence
        Those of the nodes, then constants, then seeds.

    Raises
    ------
    UnsupportedError
        If a program cannot round as this sweep does. What a rule cannot be recorded for raises, too.
    """

    def __init__(
        self, nodes: Sequence[Node], params: Sequence[int], seeds: Mapping[int, Any], values: Sequence[Any]
    ) -> None:
        self.arguments = Arguments(values)

        def gradients(*leaves: Any) -> list[Any]:
            copies, given = _rebuilt(nodes, self.arguments.values(leaves), seeds)
            adjoints = reverse_sweep(copies, given, where="a known tape")
            found = [adjoints[id] if id < len(adjoints) else None for id in params]
            self.reached = [gradient is not None for gradient in found]
            return [gradient for gradient in found if gradient is not None]

        leaves = self.arguments.of(values)
        assert leaves is not None
        recorded = record(gradients, tuple(leaves), {}, "sweep")
        super().__init__(recorded, name="sweep", as_numpy=True)
        if recorded.caught is not None or any(self.known):
            raise errors.UnsupportedError("the sweep depends on more than the values of its tape")
        if any(self.ir.inputs[k] is not None for k in self.arguments.unread):
            raise errors.UnsupportedError("elements are read in another order than that of memory")

    def gradients(self, values: Sequence[Any]) -> list[Any] | None:
        """Return the gradients, None for params that nothing flows to; None if the program refuses."""
        leaves = self.arguments.of(values)
        if leaves is None:
            return None
        float_flags.clear()
        try:
            out = self.run(tuple(leaves))
        except (Rerun, Unavailable):
            return None
        if isinstance(out, Flip) or (float_flags.are_raised() and _treatment() != "ignore"):
            return None  # sweeping node by node, NumPy warns
        found = iter(out)
        return [next(found) if is_reached else None for is_reached in self.reached]

    def _rebound(self, workspace: Any, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
        """Refuse values of other types, and those that lie otherwise in memory: sums might differ."""
        raise Rerun("input")


class Known:
    """Tapes of one structure, whose values are of the same kinds.

    Attributes
    ----------
    seconds : float
        What sweeping them has taken.
    program : SweepProgram or None
        None before there is one, and after it has been given up.
    is_given_up : bool
        Whether there will be none.
    refusals : int
        How often in succession the program has refused values of these kinds.
    """

    __slots__ = ("is_given_up", "program", "refusals", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.program: SweepProgram | None = None
        self.is_given_up = False
        self.refusals = 0

    def gradients(self, values: Sequence[Any]) -> list[Any] | None:
        """Return the gradients; None if there is no program, or if it refuses, as it may a few times."""
        program = self.program
        if program is None:
            return None
        found = program.gradients(values)
        if found is not None:
            self.refusals = 0
            return found
        self.refusals += 1
        if self.refusals >= _REFUSALS:
            self.program, self.is_given_up = None, True
        return None

    def make(
        self,
        nodes: Sequence[Node],
        params: Sequence[int],
        seeds: Mapping[int, Any],
        values: Sequence[Any],
        swept: Sequence[Any],
        seconds: float,
    ) -> None:
        """Make the program, and keep it if it returns what sweeping has returned, and is faster.

        Parameters
        ----------
        nodes, params, seeds, values
            As for `SweepProgram`.
        swept : sequence
            The gradients of sweeping node by node.
        seconds : float
            What that took.
        """
        self.is_given_up = True  # unless all goes well
        if not all(node.op is None or _is_known(node.op) for node in nodes):
            return
        if not is_ready():  # it may be later
            self.is_given_up, self.seconds = False, -_LATER
            return
        with np.errstate(all="ignore"):  # the sweep itself has warned
            try:
                with without_waiting():
                    program = SweepProgram(nodes, params, seeds, values)
            except NotReady:
                self.is_given_up, self.seconds = False, -_LATER
                return
            except (errors.TapeError, TypeError, ValueError, ArithmeticError):  # of rules that do not trace
                return
            size = sum(program.plan.slots)
            if size > _LARGEST or size + sum(_sizes()) > _LARGEST_IN_ALL:
                return
            found = program.gradients(values)
            if found is None or not all(map(_are_same, found, swept)):
                return
            for _ in range(_TRIALS):
                started = perf_counter()
                program.gradients(values)
                if perf_counter() - started < seconds:
                    self.program, self.is_given_up = program, False
                    return


class Structure:
    """What tapes that are alike have in common, and what is known of them.

    Attributes
    ----------
    constants : list of (int, int)
        Operands that are not on the tape: the node, and the position among its inputs.
    kinds : dict
        By the kinds of all values: those of the nodes, then constants, then seeds.
    latest : Known
        That of the sweep before.
    failures : int
        How many sweeps in succession were of kinds that have been given up.
    """

    __slots__ = ("constants", "failures", "kinds", "latest")

    def __init__(self, parents: Sequence[tuple[int | None, ...]]) -> None:
        self.constants = [
            (k, 2 * j + 1) for k, ids in enumerate(parents) for j, id in enumerate(ids) if id is None
        ]
        self.kinds: dict[Any, Known] = {}
        self.latest = Known()
        self.failures = 0

    def of_kinds(self, values: Sequence[Any]) -> Known | None:
        """Return what is known of tapes with values of such kinds; None if they are not to be remembered."""
        kinds = tuple([_kind(value) for value in values])
        if None in kinds:
            return None
        known = self.kinds.get(kinds)
        if known is None:
            known = self.kinds.setdefault(kinds, Known())
            _forget(self.kinds, _MOST_KINDS)
        self.latest = known
        return known


_known: dict[Any, Structure] = {}
_missed = [0]
"""How many tapes in succession were not known."""
_mode = os.environ.get("TAPE_SWEEP_PROGRAMS", "1")


def swept(trace: Any, seeds: Mapping[int, Any], *, consume: bool = False) -> list[Any] | None:
    """Return the gradients of the params of a trace; None if it is to be swept node by node.

    Parameters
    ----------
    trace : Trace
        Not nested in another one.
    seeds : mapping of int to array
        The adjoint of each root, by node id.
    consume : bool
        Whether the tape may be used up.
    """
    count = max(seeds, default=-1) + 1
    if _mode == "0" or not 0 < count <= _LONGEST or _treatment() == "raise":
        return None
    if _missed[0] >= _MISSES:
        _missed[0] += 1
        if _missed[0] % _GLANCE:
            return None
    nodes = trace.nodes if count == len(trace.nodes) else trace.nodes[:count]
    parents = tuple([node.inputs[::2] for node in nodes])
    key = (tuple([node.call for node in nodes]), parents, tuple(trace._params), tuple(seeds))
    structure = _known.get(key)
    if structure is None:
        structure = _known.setdefault(key, Structure(parents))
        _forget(_known, _MOST)
        _missed[0] += 1
    else:
        _missed[0] = 0
        if structure.failures >= _MISSES:
            return None
    values = [node.value for node in nodes]
    if structure.constants:
        values += [nodes[k].inputs[j] for k, j in structure.constants]
    values += seeds.values()
    latest = structure.latest
    program = latest.program
    if program is not None and (found := program.gradients(values)) is not None:
        latest.refusals = 0
        return found
    known = structure.of_kinds(values)
    if known is None or known.is_given_up:
        structure.failures += 1
        return None
    structure.failures = 0
    if (found := known.gradients(values)) is not None:
        return found
    is_worth_it = known.program is None and not known.is_given_up and known.seconds > _price(count)
    started = perf_counter()
    gradients = trace.pull_back_by_nodes(seeds, consume=consume and not is_worth_it)
    seconds = perf_counter() - started
    known.seconds += seconds
    if is_worth_it:
        known.make(nodes, trace._params, seeds, values, gradients, seconds)
    return gradients


def _treatment() -> str:
    """Return what NumPy is to do where numbers overflow or are divided by zero: ignore it, warn, or raise."""
    global _settings
    current, settings = None if _variable is None else _variable.get(), _settings  # of any thread
    if current is None or settings[0] is not current:
        chosen = set(np.geterr().values())
        treatment = "ignore" if chosen == {"ignore"} else "warn" if chosen <= {"ignore", "warn"} else "raise"
        settings = _settings = (current, treatment)
    return settings[1]


_variable = getattr(import_module("numpy._core.umath"), "_extobj_contextvar", None)
"""Where NumPy keeps its settings: `numpy.geterr` takes longer than a short sweep."""
_settings: tuple[Any, str] = (None, "warn")


def _sizes() -> Iterator[int]:
    """Yield the bytes that each program keeps for itself."""
    for structure in list(_known.values()):
        for known in list(structure.kinds.values()):
            if (program := known.program) is not None:
                yield sum(program.plan.slots)


def _forget(entries: dict[Any, Any], most: int) -> None:
    """Drop the oldest entries above a number of them."""
    for oldest in list(entries)[:-most]:
        entries.pop(oldest, None)


def _are_same(one: Any, other: Any) -> bool:
    """Return whether gradients are the same to the last bit, and lie in memory alike."""
    if one is None or other is None:
        return one is other
    if type(one) is not type(other) or one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not is_in_order(other):
        return False
    real = one.real.dtype
    x, y = np.atleast_1d(one).view(real), np.atleast_1d(other).view(real)
    return bool((((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))).all())


def _is_known(op: Any) -> bool:
    """Whether the rules of an operation compute what they record, and call no code of the user's.

    That may read what changes between sweeps, and may not want to run when the program is made.
    """
    if not op.explains_errors or op.name in _BRANCHING:  # `apply`, checkpoints and custom rules explain none
        return False
    rules = op.jvp if isinstance(op.vjp, TransposedJvp) else op.vjp
    rules = rules if isinstance(rules, (list, tuple)) else [rules]
    modules = [_module(rule) for rule in rules if rule is not None]
    return all(name.startswith("tape.") and not name.startswith(_OTHERS) for name in modules)


def _module(rule: Any) -> str:
    while isinstance(rule, partial):
        rule = rule.func
    return getattr(rule, "__module__", None) or ""


def _price(count: int) -> float:
    """Return the seconds that it takes to make a program for so many nodes, about."""
    return 0.0 if _mode == "always" else _SECONDS + _SECONDS_A_NODE * count


def _kind(value: Any) -> Any:
    """Return the kind of a value; None if it belongs to another trace, or to another library."""
    kind = type(value)
    if kind is np.ndarray:
        return value.shape, value.dtype
    if kind in _STATIC:
        return kind, value
    return kind if kind in _FLOATS or issubclass(kind, np.generic) else None


def _rebuilt(
    nodes: Sequence[Node], values: Iterator[Any], seeds: Mapping[int, Any]
) -> tuple[list[Node], dict[int, Any]]:
    """Return a tape with other values, those of the nodes, then constants, then seeds; and its seeds."""
    others = list(islice(values, len(nodes)))
    copies: list[Node] = []
    for node, value in zip(nodes, others, strict=True):
        if node.op is None:
            copies.append(Leaf(value, node.is_param, None))
            continue
        inputs: list[Any] = []
        for parent in node.parents:
            inputs += (parent, next(values) if parent is None else others[parent])
        copies.append(Node(value, node.call, tuple(inputs)))
    return copies, {id: next(values) for id in seeds}


INTERNAL["swept"] = swept
