"""`profile`: the time of a function by operation and by line, forwards and backwards.

A watch (`tape.inspect.watching`) reads the clock after each recorded node and each rule. All of the time is
booked: the time until a node is recorded belongs to that node, Python's share included; the time in and after
a rule belongs to that rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os.path import basename
from time import perf_counter
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Node, plain
from tape.core.results import Results, flattened
from tape.core.sites import Site
from tape.inspect.watching import watched
from tape.inspect.watching.watch import RUNNING, Phase, Ref, Watch
from tape.inspect.words import byte_size, duration
from tape.kernels.accumulate import Scattered
from tape.program import Program
from tape.program.compiled import Compiled
from tape.program.report.profile import Profile as ProgramProfile
from tape.system.progress import progress_bar
from tape.transforms._record import name_of
from tape.transforms._trial import Trial

_ELSEWHERE = "(elsewhere)"


@dataclass(frozen=True, slots=True)
class Entry:
    """The cost of one operation on one line in one direction.

    Attributes
    ----------
    op : str
        The operation; ``"(elsewhere)"`` for time that belongs to none, such as that between the passes.
    site : Site or None
        The line that called it.
    phase : {"forward", "backward", "tangent"}
        Whether the entry is for its forward, its vjp, or its jvp.
    calls : int
        The number of calls.
    seconds : float
        Their total time.
    bytes : int
        The memory of the results: values, contributions to adjoints, or tangents. Views take none.
    """

    op: str
    site: Site | None
    phase: Phase
    calls: int
    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: all entries of one operation, or of one line of code.

    Attributes
    ----------
    name : str
        The operation, or file and line.
    text : str
        The source line.
    calls, bytes : int
        Totals.
    forward, backward : float
        Seconds, forward mode counted as forward.
    """

    name: str
    text: str
    calls: int
    bytes: int
    forward: float
    backward: float

    @property
    def seconds(self) -> float:
        """The seconds in both directions."""
        return self.forward + self.backward


@dataclass(frozen=True, repr=False)
class Profile:
    """The profile of a function; it prints as two tables, and `tape.viz.flame` draws it.

    Attributes
    ----------
    name : str
        The name of the function.
    seconds : float
        The whole run, which is the sum of all entries.
    entries : tuple of Entry
        The entries, longest first.
    """

    name: str
    seconds: float
    entries: tuple[Entry, ...]

    def by_op(self) -> list[Row]:
        """Return a row for each operation, longest first."""
        return _rows(self.entries, lambda entry: (entry.op, ""))

    def by_line(self) -> list[Row]:
        """Return a row for each line of code, longest first."""
        return _rows(self.entries, _line_of)

    def __str__(self) -> str:
        forward = sum(entry.seconds for entry in self.entries if entry.phase != "backward")
        head = (
            f"{self.name}: {duration(self.seconds)}, {duration(forward)} forward and "
            f"{duration(self.seconds - forward)} backward"
        )
        by_op = _table("operation", self.by_op(), self.seconds)
        by_line = _table("line", self.by_line(), self.seconds)
        return "\n".join([head, "", *by_op, "", *by_line])

    __repr__ = __str__


@dataclass
class _Account:
    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0


@dataclass
class _Clock(Watch):
    """A watch that books the time between events."""

    accounts: dict[tuple[str, Site | None, Phase], _Account] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pulled: _Account | None = None  # the rule whose contributions are being added
        self.begin = self._last = perf_counter()
        self.own = 0.0  # seconds spent in the watch itself

    def recorded(self, node: Node, id: int) -> None:
        """Book the time since the last event to the operation, or to the rule that has recorded it."""
        now = perf_counter()
        if RUNNING.rules:
            phase, of, _ = RUNNING.rules[-1]
            account = self._account(of, phase)
        elif node.op is None:
            account = self._elsewhere("forward")
        else:
            account = self._account(node, "forward")
            account.calls += 1
            account.bytes += _own_bytes(node.value, node.operands)
        account.seconds += now - self._last
        self._pulled = None
        self._leave(now)

    def pulling(self, node: Node) -> None:
        """Book the time since the last rule to that rule, whose contributions were added."""
        now = perf_counter()
        account = self._pulled or self._elsewhere("backward")
        account.seconds += now - self._last
        self._leave(now)

    def pulled(self, node: Node, adjoint: Any, contributions: Sequence[tuple[int, Any]], trace: Ref) -> None:
        """Book the time of the rule."""
        now = perf_counter()
        account = self._pulled = self._account(node, "backward")
        account.calls += 1
        account.seconds += now - self._last
        seen = (adjoint, node.value, *node.operands)
        account.bytes += sum(_own_bytes(part, seen) for _, part in contributions)
        self._leave(now)

    def pushing(self, node: Node) -> None:
        """Book the time since the last event as between the passes."""
        now = perf_counter()
        self._elsewhere("forward").seconds += now - self._last
        self._leave(now)

    def pushed(self, node: Node, incoming: Sequence[Any], tangent: Any, trace: Ref) -> None:
        """Book the time of the rule."""
        now = perf_counter()
        account = self._account(node, "tangent")
        account.calls += 1
        account.seconds += now - self._last
        account.bytes += 0 if tangent is None else _own_bytes(tangent, incoming)
        self._leave(now)

    def stop(self) -> float:
        """Book the remaining time; return the seconds of the whole run."""
        now = perf_counter()
        self._elsewhere("backward").seconds += now - self._last
        return now - self.begin - self.own

    def _account(self, node: Node, phase: Phase) -> _Account:
        assert node.op is not None
        key = (node.op.name, node.site, phase)
        if key not in self.accounts:
            self.accounts[key] = _Account()
        return self.accounts[key]

    def _elsewhere(self, phase: Phase) -> _Account:
        return self.accounts.setdefault((_ELSEWHERE, None, phase), _Account())

    def _leave(self, since: float) -> None:
        self._last = perf_counter()
        self.own += self._last - since


def profile(
    f: Callable[..., Any],
    *args: Any,
    repeats: int | None = None,
    derivative: bool = True,
    progress: bool = False,
) -> Profile | ProgramProfile:
    """Measure time, calls and memory of each operation and each line of a function.

    Parameters
    ----------
    f : callable
        A function of trees, which may take gradients. For a compiled function or a `Program` the instructions
        are timed: see `Program.profile`.
    *args
        Its arguments.
    repeats : int
        The number of runs, of which the fastest counts. By default 5, for compiled functions 20.
    derivative : bool
        Whether to include a backward pass from the results; ignored for compiled functions.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Profile
        It prints as a table by operation and one by line. Times include Python's; the cost of measuring,
        about two microseconds a node, is left out.

    Raises
    ------
    OptionError
        If ``repeats`` is less than 1.
    TapeError
        Any error that ``f`` raises.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def loss(w, x):
    ...     return np.sum(np.tanh(x @ w) ** 2)
    >>> found = tape.profile(loss, np.ones(3), np.ones((4, 3)))
    >>> print(found)
    loss: ... forward and ... backward
    <BLANKLINE>
    operation ...
    >>> sorted((row.name, row.calls) for row in found.by_op() if row.calls)
    [('matmul', 2), ('power', 2), ('sum', 2), ('tanh', 2)]
    """
    if isinstance(f, (Program, Compiled)):
        return f.profile(*args) if repeats is None else f.profile(*args, repeats=repeats)
    repeats = 5 if repeats is None else repeats
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise errors.OptionError(f"profile: repeats is {repeats!r}. It must be an int, 1 or more")
    name = name_of(f)
    best: Profile | None = None
    with progress_bar(progress, name, repeats, "run") as bar:
        for _ in range(repeats):
            found = _timed(f, name, args, derivative)
            if best is None or found.seconds < best.seconds:
                best = found
            bar.update()
    assert best is not None
    return best


def _timed(f: Callable[..., Any], name: str, args: tuple[Any, ...], derivative: bool) -> Profile:
    clock = _Clock()
    with watched(clock):
        Trial(f, name, args, derivative)
    seconds = clock.stop()
    entries = [
        Entry(op, site, phase, account.calls, account.seconds, account.bytes)
        for (op, site, phase), account in clock.accounts.items()
    ]
    return Profile(name, seconds, tuple(sorted(entries, key=lambda entry: -entry.seconds)))


def _own_bytes(value: Any, sources: Sequence[Any]) -> int:
    """Return the memory of a value; 0 if it is a view of an operand."""
    array = plain(value.values if isinstance(value, Scattered) else value)
    if type(array) is Results:
        return sum([_own_bytes(part, sources) for part in array])
    arrays = flattened(map(plain, sources))
    if any(isinstance(other, np.ndarray) and np.may_share_memory(array, other) for other in arrays):
        return 0
    return int(getattr(array, "nbytes", 0))


def _line_of(entry: Entry) -> tuple[str, str]:
    site = entry.site
    return (entry.op, "") if site is None else (f"{basename(site.filename)}:{site.line}", site.text)


def _rows(entries: Sequence[Entry], name: Callable[[Entry], tuple[str, str]]) -> list[Row]:
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault(name(entry), []).append(entry)
    rows = [
        Row(
            *key,
            calls=sum(entry.calls for entry in of),
            bytes=sum(entry.bytes for entry in of),
            forward=sum(entry.seconds for entry in of if entry.phase != "backward"),
            backward=sum(entry.seconds for entry in of if entry.phase == "backward"),
        )
        for key, of in found.items()
    ]
    return sorted(rows, key=lambda row: -row.seconds)


def _table(what: str, rows: Sequence[Row], whole: float) -> list[str]:
    width = max(len(what), *(len(row.name) for row in rows))
    lines = [f"{what:<{width}}  share    calls   forward  backward     bytes"]
    for row in rows:
        share = f"{row.seconds / whole:6.1%}" if whole else ""
        lines.append(
            f"{row.name:<{width}} {share:>6} {row.calls:>8,} {duration(row.forward):>9} "
            f"{duration(row.backward):>9} {byte_size(row.bytes):>9}  {row.text[:60]}".rstrip()
        )
    return lines
