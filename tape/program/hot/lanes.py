"""LLVM IR of rows that compute lane by lane: one loop over the lanes, with all of the rows in it.

Neighbouring rows whose operands and results are runs of equally many floats, the lanes, are independent of
each other from lane to lane: their loops become one, in which what one row writes for the next stays in
registers.
What only they read is not written at all. Each lane goes through the same operations in the same order as
before, so that no bit changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from tape.kernels.codes import FLOAT64, FOLDS, PAIRS, SHORT
from tape.program.native.functions import loop_number
from tape.program.native.opcodes import ARENA, FIELDS, OFFSET_MASK, SLOT_BITS, SLOTS, WIDTH, opcode

__all__ = ["Segment", "segments_of", "text_of", "time_of"]

_WIDE = 8
"""Lanes at a time: a register of AVX-512, two of AVX2, four of NEON."""
_LEAST_LANES, _LEAST_RUNS = 16, 2  # that are worth it
_MOST_RUNS = 2000  # that LLVM compiles in some tenths of a second
_MOST_SUMMED = 3
"""Terms of a sum: kernels take more of them in another order."""
_SIZE = 8  # bytes of a lane; what is only copied may be smaller elements, which lie anywhere

_UNARY, _BINARY, _PAIR, _FOLD, _SUM_PRODUCT = map(opcode, ("unary", "binary", "pair", "fold", "sum_product"))
_STORE, _COPY, _SHORT, _SHORTS = map(opcode, ("store", "copy", "short", "shorts"))
_BLOCKS = opcode("blocks")
_SHORT_ENTRY = len(FIELDS["short"])

_OF_TWO = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_OF_ONE = ("negative", "sqrt", "absolute", "square", "reciprocal")
_PAIR_NAMES = {code: key for key, code in PAIRS.items()}
_SHORT_NAMES = {code: key for key, code in SHORT.items()}


class Run(NamedTuple):
    """What a row does with runs of lanes: an operation on operands, which may be single numbers.

    Operands and results are packed as in rows. ``length`` is a multiple of the lanes until runs are split.
    """

    name: str
    length: int
    operands: tuple[int, ...]
    is_number: tuple[bool, ...]
    out: int


class Segment(NamedTuple):
    """Rows that become one loop.

    Attributes
    ----------
    start, stop : int
        Rows.
    lanes : int
        How many numbers each run has.
    runs : list of Run
        What is done with runs of so many numbers, in order.
    """

    start: int
    stop: int
    lanes: int
    runs: list[Run]


# ---- rows --------------------------------------------------------------------------------------------------


@cache
def _loops() -> dict[int, str]:
    """Return the names of NumPy's loops that are arithmetic, by number."""
    double = np.dtype(np.float64)
    found = {loop_number(name, (double,) * 2): name for name in _OF_ONE}
    found |= {loop_number(name, (double,) * 3): name for name in _OF_TWO}
    return {number: name for number, name in found.items() if number is not None}


def _runs_of(row: Sequence[int], code: np.ndarray) -> list[Run] | None:
    """Return what a row does, in runs as long as they are; None if it is something else.

    A result lies where an operand is, or apart from all of it; sums, and what is one of several, apart from
    all operands.
    """
    runs = _known_runs(row, code)
    if runs is None or any(_meets(run, x) for run in runs for x in _arrays(run)):
        return None
    if len(runs) == 1 or row[0] == _SHORTS:  # whose entries come one after the other
        return runs
    outs = [run.out for run in runs]
    read = [x for run in runs for x in _arrays(run) if x >> SLOT_BITS == outs[0] >> SLOT_BITS]
    size = runs[0].length * _SIZE
    are_apart = not read or max(outs) + size <= min(read) or max(read) + size <= min(outs)
    return runs if are_apart else None


def _arrays(run: Run) -> list[int]:
    return [x for x, is_one in zip(run.operands, run.is_number, strict=True) if not is_one]


def _meets(run: Run, x: int) -> bool:
    """Return whether a result overlaps an operand in a way that it should not."""
    is_in_place = x == run.out and not run.name.startswith("sum")
    return abs(x - run.out) < run.length * _SIZE and not is_in_place


def _known_runs(row: Sequence[int], code: np.ndarray) -> list[Run] | None:
    kind, *fields = row
    if kind in (_UNARY, _BINARY):
        return _of_ufunc(fields, 1 if kind == _UNARY else 2)
    if kind == _PAIR:
        return _of_pair(*fields[:10])
    if kind in (_FOLD, _SUM_PRODUCT):
        return _of_sum(fields, is_product=kind == _SUM_PRODUCT)
    if kind == _STORE:
        return _of_store(fields, code)
    if kind == _COPY:
        size, x, out = fields[:3]
        return None if size % _SIZE else [Run("positive", size // _SIZE, (x,), (False,), out)]
    if kind == _SHORT:
        return _of_short(*fields[:_SHORT_ENTRY])
    if kind == _SHORTS:
        count, start = fields[:2]
        entries = code[start : start + count * _SHORT_ENTRY].reshape(-1, _SHORT_ENTRY).tolist()
        found = [_of_short(*entry) for entry in entries]
        return None if None in found else [run for runs in found if runs for run in runs]
    return None


def _of_ufunc(fields: Sequence[int], arity: int) -> list[Run] | None:
    name = _loops().get(fields[0])
    count, *strides = fields[1 : 3 + arity]
    operands, out = fields[3 + arity : 3 + 2 * arity], fields[3 + 2 * arity]
    if name is None or strides[-1] != _SIZE or any(step not in (0, _SIZE) for step in strides):
        return None
    are_numbers = tuple([step == 0 for step in strides[:-1]])
    return None if all(are_numbers) else [Run(name, count, tuple(operands), are_numbers, out)]


def _of_pair(kind: int, count: int, size: int, *others: int) -> list[Run] | None:
    first, second, form = _PAIR_NAMES[kind]
    are_numbers = tuple([letter == "n" for letter in form])
    if size != _SIZE:
        return None
    return [Run(f"{first} {second}", count, others[3:6], are_numbers, others[6])]


def _of_sum(fields: Sequence[int], *, is_product: bool) -> list[Run] | None:
    if is_product:
        dtype, before, reduced, after, x, y, out = fields[:7]
        operands: tuple[int, ...] = (x, y)
    else:
        kind, dtype, before, reduced, after, x, out = fields[:7]
        operands = (x,)
        if kind != FOLDS["sum"]:
            return None
    if dtype != FLOAT64 or not 0 < reduced <= _MOST_SUMMED or after < _LEAST_LANES or before > _MOST_RUNS:
        return None
    step = after * _SIZE
    return [
        Run(
            "sum of products" if is_product else "sum",
            after,
            tuple([x + step * (k * reduced + r) for r in range(reduced) for x in operands]),
            (False,) * (reduced * len(operands)),
            out + step * k,
        )
        for k in range(before)
    ]


def _of_store(fields: Sequence[int], code: np.ndarray) -> list[Run] | None:
    size, count, ndim, lengths_at, strides_at, x, out = fields[:7]
    lengths = code[lengths_at : lengths_at + ndim].tolist()
    strides = code[strides_at : strides_at + ndim].tolist()
    if size != _SIZE or not ndim or strides[-1] != _SIZE or count != prod(lengths):
        return None
    columns = lengths[-1]
    if columns < _LEAST_LANES or count // columns > _MOST_RUNS:
        return None
    starts = [
        sum(k * step for k, step in zip(place, strides, strict=False))
        for place in product(*map(range, lengths[:-1]))
    ]
    return [
        Run("positive", columns, (x + k * columns * _SIZE,), (False,), out + start)
        for k, start in enumerate(starts)
    ]


def _of_short(kind: int, count: int, x: int, y: int, out: int) -> list[Run] | None:
    name, letter, form = _SHORT_NAMES[kind]
    if letter != "f":
        return None
    if name in _OF_ONE:
        return [Run(name, count, (y,), (False,), out)]
    return [Run(name, count, (x, y), (form == "first", form == "second"), out)]


# ---- segments ----------------------------------------------------------------------------------------------


def time_of(code: np.ndarray, rows: int) -> tuple[int, float]:
    """Return how many rows may be compiled, and an estimate of the nanoseconds that they take."""
    table = code[: rows * WIDTH].reshape(-1, WIDTH)
    stands_alone = np.ones(rows, bool)
    for at in np.flatnonzero(table[:, 0] == _BLOCKS).tolist():
        stands_alone[at : at + 1 + table[at, 1]] = False
    is_arithmetic = np.isin(table[:, 0], (_UNARY, _BINARY, _PAIR)) & (table[:, 2] >= _LEAST_LANES)
    found = table[stands_alone & is_arithmetic]
    return len(found), float(np.sum(15.0 + 0.15 * found[:, 2]))


def segments_of(code: np.ndarray, rows: int) -> list[Segment]:
    """Return the rows that become loops over lanes: as many as possible that follow one another.

    There are no more of them than can be compiled in some tenths of a second.
    """
    table = code[: rows * WIDTH].reshape(-1, WIDTH).tolist()
    found: list[Segment] = []
    builder, at = _Builder(0), 0
    while at < rows:
        row = table[at]
        runs = _runs_of(row, code)
        if runs is None or not builder.takes(runs):
            found += builder.segment(at)
            builder = _Builder(at)
            if runs is None or not builder.takes(runs):
                at += row[1] if row[0] == _BLOCKS else 0  # rows of a group run block by block
                builder = _Builder(at + 1)
        at += 1
    found += builder.segment(rows)
    counts = np.cumsum([len(segment.runs) for segment in found])
    return found[: int(np.searchsorted(counts, _MOST_RUNS, side="right"))]


class _Builder:
    """A segment that grows row by row."""

    def __init__(self, start: int) -> None:
        self.start, self.lanes = start, 0
        self._rows: list[list[Run]] = []
        self._runs: list[Run] = []
        self._places = _Places(0)

    def takes(self, runs: list[Run]) -> bool:
        """Take the runs of one more row if they have as many lanes, and lie where no lane meets another."""
        counts = [run.length for run in runs]
        lanes = gcd(self.lanes, *counts)
        if lanes < _LEAST_LANES or (self.lanes and lanes != min(self.lanes, *counts)):
            return False
        if sum(counts) > lanes * _MOST_RUNS:
            return False
        if lanes == self.lanes:
            together, places, added = self._runs, self._places, _split(runs, lanes)
        else:  # those so far are split further
            together, places = [], _Places(lanes)
            added = [run for row in (*self._rows, runs) for run in _split(row, lanes)]
        if len(together) + len(added) > _MOST_RUNS or not all(map(places.takes, added)):
            return False
        self.lanes, self._places = lanes, places
        self._rows.append(runs)
        self._runs = [*together, *added]
        return True

    def segment(self, stop: int) -> list[Segment]:
        """Return the segment, if it is worth compiling."""
        if sum(map(len, self._rows)) < _LEAST_RUNS:
            return []
        return [Segment(self.start, stop, self.lanes, self._runs)]


class _Places:
    """Where runs lie: what is written may be the run that another is, and may overlap none otherwise."""

    def __init__(self, lanes: int) -> None:
        self._size = lanes * _SIZE
        self._runs: dict[tuple[int, int], dict[int, bool]] = {}  # by slot and part of it; whether written
        self._numbers: set[int] = set()

    def takes(self, run: Run) -> bool:
        """Add the operands and the result of a run; return False if lanes would meet."""
        for x, is_one in zip(run.operands, run.is_number, strict=True):
            if is_one:
                self._numbers.add(x)
                if any(is_written for _, is_written in self._around(x, x + _SIZE)):
                    return False
            elif not self._add(x, is_written=False):
                return False
        return self._add(run.out, is_written=True)

    def _add(self, x: int, *, is_written: bool) -> bool:
        runs = self._runs.setdefault((x >> SLOT_BITS, (x & OFFSET_MASK) // self._size), {})
        if runs.get(x, False) or (x in runs and not is_written):
            return True
        runs[x] = is_written
        others = (other for other in self._around(x, x + self._size) if other[0] != x)
        if any(is_written or was_written for _, was_written in others):
            return False
        return not is_written or not any(x - _SIZE < number < x + self._size for number in self._numbers)

    def _around(self, first: int, end: int) -> Iterator[tuple[int, bool]]:
        """Yield the runs that overlap some bytes of a slot, and whether they are written."""
        slot, part = first >> SLOT_BITS, (first & OFFSET_MASK) // self._size
        for near in range(part - 1, ((end - 1) & OFFSET_MASK) // self._size + 1):
            for x, is_written in self._runs.get((slot, near), {}).items():
                if x < end and first < x + self._size:
                    yield x, is_written


def _split(runs: Sequence[Run], lanes: int) -> list[Run]:
    """Return runs of so many lanes each."""
    size = lanes * _SIZE
    return [
        Run(
            run.name,
            lanes,
            tuple([x if one else x + k * size for x, one in zip(run.operands, run.is_number, strict=True)]),
            run.is_number,
            run.out + k * size,
        )
        for run in runs
        for k in range(run.length // lanes)
    ]


# ---- text --------------------------------------------------------------------------------------------------


def text_of(segments: Sequence[Segment], live: Sequence[np.ndarray]) -> str:
    """Return the module with a function for each segment, ``segment0(frame)``.

    It returns how many rows there are behind the first one.

    Parameters
    ----------
    segments : sequence of Segment
        Of one routine.
    live : sequence of numpy.ndarray
        For each of them which words of the arena are read behind it, bool.

    Returns
    -------
    str
    """
    functions = [
        "\n".join(_Function(segment, words).lines(k))
        for k, (segment, words) in enumerate(zip(segments, live, strict=True))
    ]
    declared = [
        f"declare {type_} @llvm.{name}.{suffix}({type_})"
        for name in ("sqrt", "fabs")
        for type_, suffix in (("double", "f64"), (f"<{_WIDE} x double>", f"v{_WIDE}f64"))
    ]
    return "\n".join([*declared, *functions])


class _Function:
    def __init__(self, segment: Segment, live: np.ndarray) -> None:
        self.segment, self.live = segment, live
        self.numbers: dict[int, str] = {}
        for run in segment.runs:
            for x, is_one in zip(run.operands, run.is_number, strict=True):
                if is_one:
                    self.numbers.setdefault(x, f"%q{len(self.numbers)}")

    def lines(self, number: int) -> Iterator[str]:
        segment, lanes = self.segment, self.segment.lanes
        slots = sorted({x >> SLOT_BITS for run in segment.runs for x in (*run.operands, run.out)})
        yield f'define i64 @segment{number}(ptr %frame) nounwind "no-builtins" {{'
        yield "entry:"
        for slot in slots:
            yield f"  %a{slot} = getelementptr i8, ptr %frame, i64 {8 * (SLOTS + slot)}"
            yield f"  %s{slot} = load ptr, ptr %a{slot}"
        for x, name in self.numbers.items():
            yield f"  {name}p = getelementptr i8, ptr %s{x >> SLOT_BITS}, i64 {x & OFFSET_MASK}"
            yield f"  {name} = load double, ptr {name}p"
            yield f"  {name}v = insertelement <{_WIDE} x double> poison, double {name}, i64 0"
            yield (
                f"  {name}w = shufflevector <{_WIDE} x double> {name}v, <{_WIDE} x double> poison, "
                f"<{_WIDE} x i32> zeroinitializer"
            )
        whole = lanes - lanes % _WIDE
        parts = [("wide", 0, whole, _WIDE), ("rest", whole, lanes, 1)]
        parts = [part for part in parts if part[1] < part[2]]
        labels = ["entry", *[label for label, *_ in parts], "end"]
        yield f"  br label %{labels[1]}"
        for before, part, then in zip(labels, parts, labels[2:], strict=False):
            yield from self._loop(*part, before, then)
        yield "end:"
        yield f"  ret i64 {segment.stop - segment.start - 1}"
        yield "}"

    def _loop(self, label: str, start: int, stop: int, width: int, before: str, then: str) -> Iterator[str]:
        """Yield the loop over some of the lanes, so many at a time, between two other blocks."""
        body = _Body(self, label, width)
        yield f"{label}:"
        yield f"  %{label}.at = phi i64 [{start * _SIZE}, %{before}], [%{label}.next, %{label}]"
        yield from body.lines()
        yield f"  %{label}.next = add i64 %{label}.at, {width * _SIZE}"
        yield f"  %{label}.goes_on = icmp slt i64 %{label}.next, {stop * _SIZE}"
        yield f"  br i1 %{label}.goes_on, label %{label}, label %{then}"

    def is_read(self, out: int) -> bool:
        """Return whether a run is read behind the segment, as far as that is known."""
        if out >> SLOT_BITS != ARENA:
            return True
        start = out & OFFSET_MASK
        stop = start + self.segment.lanes * _SIZE
        return bool(self.live[start // _SIZE : -(-stop // _SIZE)].any())


class _Body:
    """The instructions for some lanes at a time."""

    def __init__(self, function: _Function, label: str, width: int) -> None:
        self.function, self.label, self.width = function, label, width
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.suffix = "f64" if width == 1 else f"v{width}f64"
        self.made: list[str] = []
        self.known: dict[int, str] = {}

    def lines(self) -> list[str]:
        written: dict[int, str] = {}
        for run in self.function.segment.runs:
            values = [
                self._number(x) if one else self._load(x)
                for x, one in zip(run.operands, run.is_number, strict=True)
            ]
            self.known[run.out] = written[run.out] = self._result(run.name, values)
        for out, value in written.items():
            if self.function.is_read(out):
                self.made.append(f"  store {self.type} {value}, ptr {self._pointer(out)}, align 1")
        return self.made

    def _emit(self, text: str) -> str:
        name = f"%{self.label}.{len(self.made)}"
        self.made.append(f"  {name} = {text}")
        return name

    def _number(self, x: int) -> str:
        return self.function.numbers[x] + ("" if self.width == 1 else "w")

    def _load(self, x: int) -> str:
        if x not in self.known:
            self.known[x] = self._emit(f"load {self.type}, ptr {self._pointer(x)}, align 1")
        return self.known[x]

    def _pointer(self, x: int) -> str:
        run = self._emit(f"getelementptr i8, ptr %s{x >> SLOT_BITS}, i64 {x & OFFSET_MASK}")
        return self._emit(f"getelementptr i8, ptr {run}, i64 %{self.label}.at")

    def _two(self, name: str, x: str, y: str) -> str:
        return self._emit(f"{_OF_TWO[name]} {self.type} {x}, {y}")

    def _result(self, name: str, values: Sequence[str]) -> str:
        x = values[0]
        if name in _OF_TWO:
            return self._two(name, *values)
        if " of " in name or name == "sum":
            terms = list(values)
            if name == "sum of products":
                terms = [self._two("multiply", *values[k : k + 2]) for k in range(0, len(values), 2)]
            total = "zeroinitializer" if self.width > 1 else "0.0"
            for term in terms:
                total = self._two("add", total, term)
            return total
        if name == "positive":
            return x
        if name == "negative":
            return self._emit(f"fneg {self.type} {x}")
        if name == "square":
            return self._two("multiply", x, x)
        if name == "reciprocal":
            one = "1.0" if self.width == 1 else "splat (double 1.0)"
            return self._two("divide", one, x)
        if name in ("sqrt", "absolute"):
            function = {"sqrt": "sqrt", "absolute": "fabs"}[name]
            return self._emit(f"call {self.type} @llvm.{function}.{self.suffix}({self.type} {x})")
        first, second = name.split()
        between = self._two(first, *values[:2])
        if second == "subtract_from":
            return self._two("subtract", values[2], between)
        return self._two(second, between, values[2])
