"""Reverse sweeps over tapes that are alike, as programs.

A training loop records the same tape in every step: the same calls with the same parents, other numbers. Its
reverse sweep is then the same too, and runs as a `Program` over the recorded values, which checks natively
that these have the types and shapes they had. A tape that is not known, or that the program refuses, is swept
node by node. The program is made once sweeping node by node has taken about as long as making it does: at
worst, that costs twice what it could.

Nobody can tell which it was: programs of sweeps round as NumPy does, so that the same seed gives the same
numbers, whenever a program takes over. Where that cannot be had, the tape is swept node by node.

TAPE_SWEEP_PROGRAMS=0 in the environment turns them off; with "always", they are made at the second sweep.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Leaf, Node
from tape.core.rules import TransposedJvp
from tape.core.sweep import pull_back
from tape.core.table import INTERNAL
from tape.kernels.availability import Unavailable
from tape.program.native.code import is_ready
from tape.program.program import Program
from tape.program.record.recording import record
from tape.program.runtime.run import Flip, Rerun

__all__ = ["Known", "SweepProgram", "swept"]

_LONGEST = 4096
"""Nodes: longer tapes are not looked at, of which each step of the sweep is paid for by what it computes."""
_MOST = 256
"""Tapes that are remembered."""
_SECONDS, _SECONDS_A_NODE = 3e-3, 4e-4
"""The time that it takes to make a program, about, for a tape of so many nodes with its reverse sweep."""
_LARGEST = 1 << 24
"""Bytes that a program may keep for itself."""
_REFUSALS = 3
"""After so many in succession a program is given up."""

_SILENT = frozenset({"ignore", "warn"})
"""How NumPy may be told to treat overflows and divisions by zero, which a program does not look for."""

_FLOATS = (float, complex)


class SweepProgram(Program):
    """The reverse sweep over a tape; its arguments are the values of the nodes, constants and seeds."""

    def _rebound(self, workspace: Any, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
        """Refuse values of other types, and those that lie otherwise in memory: sums would round otherwise."""
        raise Rerun("input")


class Known:
    """Tapes of one structure.

    Attributes
    ----------
    seconds : float
        What sweeping them has taken.
    program : SweepProgram or None
        None before there is one, and after it has been given up.
    is_given_up : bool
        Whether there will be none.
    """

    __slots__ = ("is_given_up", "program", "reached", "refusals", "seconds", "turned")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.program: SweepProgram | None = None
        self.reached: list[bool] = []
        self.turned: list[int] = []
        self.refusals = 0
        self.is_given_up = False

    def run(self, program: SweepProgram, values: list[Any]) -> list[Any] | None:
        """Return the gradients, None for params that nothing flows to; None if the program refuses."""
        for k in self.turned:
            values[k] = values[k].T
        try:
            out = program.run(tuple(values))
        except (Rerun, Unavailable):
            out = None
        if out is None or isinstance(out, Flip):
            self.refusals += 1
            if self.refusals >= _REFUSALS:
                self.give_up()
            return None
        self.refusals = 0
        found = iter(out)
        return [next(found) if is_reached else None for is_reached in self.reached]

    def make(
        self,
        nodes: Sequence[Node],
        params: Sequence[int],
        seeds: Mapping[int, Any],
        values: list[Any],
        swept: Sequence[Any],
        seconds: float,
    ) -> None:
        """Make the program, and keep it if it is faster than sweeping, which has given these gradients.

        Parameters
        ----------
        nodes, params, seeds, values
            The tape, and what its sweep starts from; its values, as `run` takes them.
        swept : sequence
            The gradients that sweeping node by node has returned: a program must return the same.
        seconds : float
            What that took.
        """
        self.is_given_up = True  # unless all goes well
        if not all(node.op is None or _is_ours(node.op) for node in nodes) or not is_ready():
            return
        self.turned = [k for k, value in enumerate(values) if _is_turned(value)]
        turned = frozenset(self.turned)
        leaves = [value.T if k in turned else value for k, value in enumerate(values)]
        if not all(_is_in_order(leaf) for leaf in leaves):
            return

        def gradients(*leaves: Any) -> list[Any]:
            given_back = [np.transpose(leaf) if k in turned else leaf for k, leaf in enumerate(leaves)]
            copies, given = _rebuilt(nodes, given_back, seeds)
            adjoints = pull_back(copies, given, where="a known tape")
            found = [adjoints[id] if id < len(adjoints) else None for id in params]
            self.reached = [gradient is not None for gradient in found]
            return [gradient for gradient in found if gradient is not None]

        try:
            recorded = record(gradients, tuple(leaves), {}, "sweep")
            program = SweepProgram(recorded, name="sweep", as_numpy=True)
        except (errors.TapeError, TypeError, ValueError, ArithmeticError):  # of rules that do not trace
            return
        is_small = sum(program.plan.slots) <= _LARGEST
        if not is_small or recorded.caught is not None or any(program.known):
            return
        found = self.run(program, list(values))
        if found is None or not all(map(_are_same, found, swept)):
            return
        started = perf_counter()
        self.run(program, values)
        if perf_counter() - started < seconds:
            self.program, self.is_given_up = program, False

    def give_up(self) -> None:
        """Sweep by hand from now on."""
        self.program, self.is_given_up = None, True


_known: dict[Any, Known] = {}
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
    if _mode == "0" or not seeds or not _SILENT.issuperset(np.geterr().values()):
        return None
    structure = _structure(trace, seeds)
    if structure is None:
        return None
    key, values = structure
    known = _known.get(key)
    if known is None:
        known = _known.setdefault(key, Known())
        for oldest in list(_known)[:-_MOST]:
            _known.pop(oldest, None)
    program = known.program
    if program is not None:
        found = known.run(program, values)
        if found is not None:
            return found
    if known.is_given_up:
        return None
    is_worth_it = program is None and known.seconds > _price(trace)
    started = perf_counter()
    gradients = trace.sweep(seeds, consume=consume and not is_worth_it)
    seconds = perf_counter() - started
    known.seconds += seconds
    if is_worth_it:
        known.make(trace.nodes, trace._params, seeds, values, gradients, seconds)
    return gradients


def _is_in_order(value: Any) -> bool:
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous


def _is_turned(value: Any) -> bool:
    return not _is_in_order(value) and value.flags.f_contiguous


def _are_same(one: Any, other: Any) -> bool:
    """Return whether gradients are the same to the last bit, and lie in memory alike."""
    if one is None or other is None:
        return one is other
    if type(one) is not type(other) or one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not _is_in_order(other):
        return False
    real = one.real.dtype
    x, y = np.atleast_1d(one).view(real), np.atleast_1d(other).view(real)
    return bool((((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))).all())


def _is_ours(op: Any) -> bool:
    """Whether the rules of an operation are this library's, and call no code of the user's.

    Others may read what changes between sweeps, and may not want to run when the program is made.
    """
    if not op.explains_errors:  # as of `apply`, checkpoints and custom rules
        return False
    rules = op.jvp if isinstance(op.vjp, TransposedJvp) else op.vjp
    rules = rules if isinstance(rules, (list, tuple)) else [rules]
    return all(rule is None or _module(rule).partition(".")[0] == "tape" for rule in rules)


def _module(rule: Any) -> str:
    while isinstance(rule, partial):
        rule = rule.func
    return getattr(rule, "__module__", None) or ""


def _price(trace: Any) -> float:
    """Return the seconds that it takes to make a program, about."""
    return 0.0 if _mode == "always" else _SECONDS + _SECONDS_A_NODE * len(trace.nodes)


def _structure(trace: Any, seeds: Mapping[int, Any]) -> tuple[tuple[Any, ...], list[Any]] | None:
    """Return what makes a tape known again, and its values in order; None if it is not to be remembered."""
    count = max(seeds) + 1
    if count > _LONGEST:
        return None
    key: list[Any] = [*seeds, None, *trace._params]
    values: list[Any] = []
    for node in trace.nodes[:count]:
        inputs = node.inputs
        if not inputs and node.op is None:
            if not _note(node.value, key, values):
                return None
            continue
        parents = inputs[::2]
        key += (node.call, parents)
        if None in parents:
            for parent, operand in zip(parents, inputs[1::2], strict=True):
                if parent is None and not _note(operand, key, values):
                    return None
        values.append(node.value)
    for seed in seeds.values():
        if not _note(seed, key, values):
            return None
    return tuple(key), values


def _note(value: Any, key: list[Any], values: list[Any]) -> bool:
    """Note a leaf, constant or seed; False if it belongs to another trace, or to another library."""
    kind = type(value)
    if kind is np.ndarray:
        key += (value.shape, value.dtype)
        values.append(value)
    elif kind is int or kind is bool:
        key += (kind, value)
    elif kind in _FLOATS or issubclass(kind, np.generic):
        key.append(kind)
        values.append(value)
    else:
        return False
    return True


def _rebuilt(
    nodes: Sequence[Node], leaves: Sequence[Any], seeds: Mapping[int, Any]
) -> tuple[list[Node], dict[int, Any]]:
    """Return a tape with other values in the order of `_structure`, and its seeds."""
    left = iter(leaves)

    def other(value: Any) -> Any:
        return value if type(value) in (int, bool) else next(left)

    copies: list[Node] = []
    for node in nodes[: max(seeds) + 1]:
        if node.op is None:
            copies.append(Leaf(other(node.value), node.is_param, None))
            continue
        inputs: list[Any] = []
        for parent, operand in zip(node.parents, node.operands, strict=True):
            inputs += (parent, other(operand) if parent is None else copies[parent].value)
        copies.append(Node(next(left), node.call, tuple(inputs)))
    return copies, {id: other(seed) for id, seed in seeds.items()}


INTERNAL["swept"] = swept
