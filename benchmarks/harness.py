"""Measuring contenders side by side: make, check, calibrate, interleave, summarise.

A `Case` is one computation with several contenders. Machines drift (clock rates, other jobs), so
contenders take turns in blocks of a few milliseconds, in an order that rotates, and are compared
round by round: a slowdown of a whole round affects all of them, and the ratio stays. This file knows arrays
and clocks. It must never know a framework, a workload, or how results are printed.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Literal

import numpy as np

__all__ = [
    "BASELINE",
    "Case",
    "CaseResult",
    "Contender",
    "MismatchError",
    "NotAvailableError",
    "Ratio",
    "Timing",
    "measure",
    "prepare",
]

BASELINE = "tape"
_REFERENCE = "numpy"
_FEWEST_ROUNDS = 5  # run even when the time is used up: quartiles of less say nothing
_MOST_CALLS = 1 << 20  # in one block

Call = Callable[[], Sequence[Any]]
Clock = Callable[[], float]


class MismatchError(Exception):
    """A contender's result is not the reference's: its time would mean nothing."""


class NotAvailableError(Exception):
    """A contender needs a module that is not there."""


@dataclass(frozen=True)
class Case:
    """One computation and the contenders that compute it.

    Attributes
    ----------
    label : str
        Distinguishes it from the other cases of its workload.
    contenders : mapping of str to callable
        ``contenders[name]()`` imports its modules, sets up its data and returns the call to measure,
        which returns a flat list of results: arrays, or anything `numpy.asarray` takes. It raises
        `NotAvailableError` if a module is missing.
    reference : callable, or mapping of str to callable, optional
        The correct results; a mapping from contender to results where contenders compute different
        things. By default those of the contender ``"numpy"``.
    tolerance : float, optional
        Allowed error relative to the largest element; by default 1,000 roundings of the dtype.
    unit, units
        Times are reported per unit; one call does that many.
    memory : {"call", "unit", "none"}
        Whether peak memory is reported per call, per unit, or not at all.
    baseline : str
        The contender whose time the others are divided by.
    figures : mapping of str to mapping
        Whole numbers to show beside the times, by column and contender: callables that are called once.
    is_large : bool
        Whether it takes seconds rather than milliseconds. The tests leave it out.
    overhead : mapping of str to str
        For a contender, the one that does everything but the computation: its time is subtracted in each
        round. It is one of the contenders, with a reference of its own.
    table : str
        The title of the table of which this case is one row, its contenders side by side; by default each
        contender has a row.
    """

    label: str
    contenders: Mapping[str, Callable[[], Call]]
    reference: Call | Mapping[str, Call] | None = None
    tolerance: float | None = None
    unit: str = "call"
    units: int = 1
    memory: Literal["call", "unit", "none"] = "call"
    baseline: str = BASELINE
    figures: Mapping[str, Mapping[str, Callable[[], int]]] = field(default_factory=dict)
    is_large: bool = False
    overhead: Mapping[str, str] = field(default_factory=dict)
    table: str = ""


@dataclass(frozen=True)
class Contender:
    """A contender that is ready: set up, called once, and its result checked."""

    name: str
    call: Call
    first_seconds: float


@dataclass(frozen=True)
class Ratio:
    """Time relative to the baseline's in the same round: the median over rounds, and the quartiles."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Timing:
    """The measurements of one contender. ``seconds`` is per unit, the other figures are per call.

    Its overhead has been subtracted from ``seconds`` and ``ratio``.
    """

    name: str
    seconds: float
    ratio: Ratio | None
    first_seconds: float
    peak_bytes: int | None
    calls_per_block: int
    figures: dict[str, int] = field(default_factory=dict)
    """By column, those this contender has."""


@dataclass(frozen=True)
class CaseResult:
    """The measurements of one case."""

    case: Case
    rounds: int
    timings: list[Timing]
    missing: dict[str, str] = field(default_factory=dict)
    """Contenders that are not available, with the reason."""


def measure(
    case: Case,
    *,
    rounds: int,
    seconds: float,
    only: Collection[str] | None = None,
    memory_of: Collection[str] = (),
    clock: Clock = time.perf_counter,
    on_round: Callable[[], object] = lambda: None,
) -> CaseResult:
    """Measure the contenders of a case.

    Parameters
    ----------
    case : Case
        Its contenders are made here, in their order.
    rounds : int
        How often each contender gets its turn, at most. When the time is used up fewer are run, but
        at least five.
    seconds : float
        Time to spend on the rounds. Set-up, first calls and the memory pass come on top.
    only : collection of str, optional
        The contenders to measure, with what is subtracted from them; all by default. The reference is
        computed all the same.
    memory_of : collection of str
        The contenders whose memory `tracemalloc` sees.
    clock : callable
        Seconds since any origin.
    on_round : callable
        Called after each round.

    Returns
    -------
    CaseResult

    Raises
    ------
    MismatchError
        If a contender's first result is not the reference's.
    """
    if only is not None:
        only = {*only, *(empty for name, empty in case.overhead.items() if name in only)}
    contenders, missing = prepare(case, only=only, clock=clock)
    if not contenders:
        return CaseResult(case, 0, [], missing)
    with _quiet_heap():
        block = seconds / (rounds * len(contenders))
        calls = [_calls_per_block(contender.call, block, clock) for contender in contenders]
        gross = _interleave(contenders, calls, rounds, seconds, clock, on_round)
    times = {name: _without(gross.get(case.overhead.get(name, "")), spent) for name, spent in gross.items()}
    baseline = times.get(case.baseline)
    timings = [
        Timing(
            name=contender.name,
            seconds=float(np.median(times[contender.name])) / case.units,
            ratio=None if baseline is None else _ratio(times[contender.name], baseline),
            first_seconds=contender.first_seconds,
            peak_bytes=(
                _peak_memory(contender.call)
                if case.memory != "none" and contender.name in memory_of
                else None
            ),
            calls_per_block=count,
            figures={
                column: figure[contender.name]()
                for column, figure in case.figures.items()
                if contender.name in figure
            },
        )
        for contender, count in zip(contenders, calls, strict=True)
    ]
    return CaseResult(case, len(times[contenders[0].name]), timings, missing)


def prepare(
    case: Case, *, only: Collection[str] | None = None, clock: Clock = time.perf_counter
) -> tuple[list[Contender], dict[str, str]]:
    """Set up the contenders, time the first call of each, and compare its result with the reference.

    Returns
    -------
    contenders : list of Contender
    missing : dict of str to str
        Those that are not available, with the reason.

    Raises
    ------
    MismatchError
        If a result is not the reference's.
    """
    reference = case.reference
    if reference is None and _REFERENCE in case.contenders:
        # A fresh one, so that contenders which update their data in place all start from the same values.
        reference = case.contenders[_REFERENCE]()
    right: dict[Call, list[np.ndarray]] = {}
    contenders = []
    missing = {}
    for name in sorted(
        case.contenders, key=lambda name: name != case.baseline
    ):  # the others keep their order
        if only is not None and name not in only:
            continue
        try:
            call = case.contenders[name]()
            start = clock()
            result = call()
            first_seconds = clock() - start
        except NotAvailableError as error:
            missing[name] = str(error)
            continue
        except Exception as error:
            error.add_note(f"raised by the contender {_title(name, case)}")
            raise
        expected = reference[name] if isinstance(reference, Mapping) else reference
        if expected is not None:
            if expected not in right:
                right[expected] = _arrays(expected())
            _check(_title(name, case), _arrays(result), right[expected], case.tolerance)
        contenders.append(Contender(name, call, first_seconds))
    return contenders, missing


# ---- checking --------------------------------------------------------------------------------------


def _title(name: str, case: Case) -> str:
    return f"{name}, case {case.label}" if case.label else name


def _arrays(result: Sequence[Any]) -> list[np.ndarray]:
    """Copies, since a contender may go on writing to what it returned."""
    return [np.array(np.asarray(part)) for part in result]


def _check(who: str, result: list[np.ndarray], expected: list[np.ndarray], tolerance: float | None) -> None:
    if len(result) != len(expected):
        raise MismatchError(f"{who}: {len(result)} results where {len(expected)} were expected")
    for i, (got, want) in enumerate(zip(result, expected, strict=True)):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise MismatchError(
                f"{who}: result {i} is {got.dtype}{list(got.shape)}, "
                f"the reference {want.dtype}{list(want.shape)}"
            )
        relative = 1000 * float(np.finfo(want.dtype).eps) if tolerance is None else tolerance
        allowed = relative * float(np.max(np.abs(want), initial=0))
        error = float(np.max(np.abs(got - want), initial=0))
        if not error <= allowed:  # a NaN is a mismatch too
            raise MismatchError(
                f"{who}: result {i} differs from the reference by {error:.3g}, {allowed:.3g} is allowed"
            )


# ---- timing ----------------------------------------------------------------------------------------


@contextmanager
def _quiet_heap() -> Iterator[None]:
    """Hide all present objects from the garbage collector.

    The collector stays on, as it is for users, but a contender that makes many objects does not pay
    for walking over the modules that the other contenders have imported.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _block_seconds(call: Call, calls: int, clock: Clock) -> float:
    start = clock()
    for _ in repeat(None, calls):
        call()
    return clock() - start


def _calls_per_block(call: Call, block: float, clock: Clock) -> int:
    """How many calls take about ``block`` seconds, without one that compiles something; at least one."""
    calls = 1
    while calls < _MOST_CALLS:
        elapsed = min(_block_seconds(call, calls, clock), _block_seconds(call, calls, clock))
        if elapsed >= block / 4:
            return min(max(round(calls * block / elapsed), 1), _MOST_CALLS) if elapsed else 1
        calls *= 4
    return _MOST_CALLS


def _interleave(
    contenders: list[Contender],
    calls: list[int],
    rounds: int,
    seconds: float,
    clock: Clock,
    on_round: Callable[[], object],
) -> dict[str, list[float]]:
    """Seconds per call of each contender in each round."""
    times: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    turns = list(zip(contenders, calls, strict=True))
    start = clock()
    for done in range(rounds):
        if done >= _FEWEST_ROUNDS and clock() - start > seconds:
            break
        first = done % len(turns)
        for contender, count in turns[first:] + turns[:first]:
            gc.collect()  # nobody pays for cycles that another one left
            times[contender.name].append(_block_seconds(contender.call, count, clock) / count)
        on_round()
    return times


def _without(overhead: list[float] | None, times: list[float]) -> list[float]:
    return times if overhead is None else list(np.subtract(times, overhead))


def _ratio(times: list[float], baseline: list[float]) -> Ratio:
    low, median, high = np.percentile(np.divide(times, baseline), [25, 50, 75])
    return Ratio(float(median), float(low), float(high))


# ---- memory ----------------------------------------------------------------------------------------


def _peak_memory(call: Call) -> int:
    """Peak of what one call allocates through Python and NumPy, in bytes, results included."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before
