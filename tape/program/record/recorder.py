"""`Recorder`: the trace on which a function is recorded to become a program; and its guards.

Each number that Python reads is a `Guard`, which every later call checks. Arrays that the function closes
over are leaves, read by reference in every call.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np

from tape import errors
from tape.core.dispatch import Interceptor
from tape.core.interpreter import OPEN
from tape.core.node import Handle, Leaf, Node
from tape.core.operands import as_operand, tell_places
from tape.core.static_arguments import LateCall, call_as_is
from tape.core.table import INTERNAL
from tape.core.trace import Trace
from tape.core.var import Var
from tape.core.weak import weak
from tape.inplace.aliases import note_view
from tape.program.record import postponed
from tape.program.record.observed import Observed
from tape.program.record.proxies import Proxy
from tape.program.record.reading import LIMIT
from tape.program.record.traced import Traced

if TYPE_CHECKING:
    from tape.core.op import Op

_new: Callable[[type], Any] = object.__new__

_FIRST_LOOK = 96
"""Number of nodes at which a recorder first looks for repeats."""

Outcome = bool | int | tuple[str | int, ...]
"""A number that Python has read; or a dtype and a shape."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A number or type that Python has read: a later call must find the same, or takes another path.

    Attributes
    ----------
    node : int
        The node that was read: a number of shape (), or an array whose shape or dtype depends on data.
    kind : {"bool", "int", "type"}
        The type of the number; ``"type"`` for a dtype and shape that depend on data.
    outcome : bool, int or tuple
        The number; or ``(dtype, *shape)``.
    position : int
        Number of nodes at that time.
    place : str
        The line of user code, if the recorder keeps places.
    """

    node: int
    kind: Literal["bool", "int", "type"]
    outcome: Outcome
    position: int
    place: str = field(default="", repr=False, compare=False)


class Recorder(Trace):
    """The trace on which a function is recorded to become a program.

    Parameters
    ----------
    name : str, optional
        Name of the function.
    keeps_places : bool
        Whether guards know the lines of user code that have read them.
    postpones : bool
        Whether loops may be left to the program, as long as nobody asks for numbers.

    Attributes
    ----------
    guards : list of Guard
        In the order in which numbers were read.
    caught : Exception or None
        The last exception of an operation or a conversion. If the function returns all the same, it has
        caught it; and whether it is raised may depend on the numbers.
    numbers_read : list of numpy.generic
        Options of operations, and what chooses branches, that are no Vars.
    observed : str
        How the function lets floating-point errors of its operations be raised or reported, if it does.
    is_computing : bool
        Whether the value of an operation is being computed, which is not recorded.
    look_at : int
        The number of nodes at which to look whether a tape above it repeats itself.
    notes : list of str
        Why something that repeats itself was not rolled up, or recorded once.
    int_guards : int
        How many guards there are of ints which are data.
    ints_guarded, ints_read : frozenset of int
        The leaves of the arguments that these guards depend on, and those that Python has read, at which the
        recording has ended.
    ints_computed : dict
        What has been computed from ints that are data, by operation and operands.
    takes_ints : bool
        Whether there are ints which are data.
    reads_layout : bool
        Whether what was recorded depends on how arrays lie in memory: elements were taken in that order, or
        something was written to that may share memory with something else.
    late : list of LateCall
        The calls with static arguments that may change.
    are_numbers_needed : bool
        Whether the recording has ended for that reason: see `need_numbers`.
    has_postponed : bool
        Whether loops were left to the program. Values that depend on their results are placeholders then, of
        the right types: see `tape.program.record.postponed`; `value_of` has the numbers.
    """

    __slots__ = ("_constants", "_numbers", "_seen", "are_numbers_needed", "caught", "guards", "has_postponed",
                 "int_guards", "ints_computed", "ints_guarded", "ints_read", "is_computing",
                 "keeps_places", "late", "look_at", "notes", "numbers_read", "observed", "postpones",
                 "reads_layout", "settings", "takes_ints")  # fmt: skip

    is_program = True
    var_type: ClassVar[type[Var]] = Traced

    def __init__(
        self, name: str | None = None, *, keeps_places: bool = False, postpones: bool = False
    ) -> None:
        super().__init__(name)
        self.is_plain = False
        self.keeps_places = keeps_places
        self._seen = _Seen()
        self.guards: list[Guard] = []
        self.caught: Exception | None = None
        self.numbers_read: list[np.generic] = []
        self.observed = ""
        self.settings = Observed()
        self.is_computing = False
        self.notes: list[str] = []
        self.look_at = _FIRST_LOOK
        self.int_guards = 0
        self.ints_guarded: frozenset[int] = frozenset()
        self.ints_read: frozenset[int] = frozenset()
        self.ints_computed: dict[Any, Any] = {}
        self.takes_ints = False
        self.reads_layout = False
        self.late: list[LateCall] = []
        self.postpones = postpones and self.watching is None and not self.settings.reports()
        self.has_postponed = False
        self._numbers = postponed.Numbers(self.nodes)
        self.are_numbers_needed = False
        self._constants: dict[int, Var] = {}  # by the id of the array, which the Var keeps alive

    def __enter__(self) -> Recorder:
        super().__enter__()
        OPEN.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        OPEN.remove(self)
        super().__exit__(*exception)

    def argument(self, value: Any) -> Var:
        """Append a leaf for an argument; a Python number is weak."""
        if isinstance(value, (float, complex)) and not isinstance(value, np.generic):
            value = weak(value)
        return self.push(Leaf(value, False, None))

    def integer(self, value: int, leaf: int) -> Proxy:
        """Append a leaf for an int that is data: number ``leaf`` among the leaves of the arguments."""
        self.takes_ints = True
        return Proxy(self.push(Leaf(weak(value), False, None)), frozenset((leaf,)), LIMIT)

    def constant(self, value: Any) -> Var:
        """Append a leaf for a plain value from outside; an array is read by reference in every call."""
        if type(value) is not np.ndarray:
            return self.push(Leaf(np.asarray(value)[()], False, None))
        self._seen.see(value)
        known = self._constants.get(id(value))
        if known is None:
            known = self._constants[id(value)] = self.push(Leaf(value, False, None))
        return known

    def is_constant(self, var: Any) -> bool:
        """Return whether a Var is a leaf for an array from outside."""
        known = self._constants.get(id(var.node.value))
        return known is not None and known.node is var.node

    def release(self) -> list[Node]:
        """Return the tape, and drop all other references to arrays on it."""
        self._constants.clear()
        self.ints_computed.clear()
        self._seen = _Seen()
        for call in self.late:
            call.settle()
        self.late.clear()
        return self.nodes

    def check(self) -> None:
        """Raise if an array has been written into since it was used."""
        self._seen.check()

    def process(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Compute, and append a node."""
        self.observe()
        if op.is_users:
            self.read_ints_of([op.forward])
        ref = self.ref
        inputs: list[Any] = []
        arrays: list[np.ndarray] = []
        before = self.is_computing
        if self.has_postponed and op.view is not None:
            self._check_index(operands[1:])
        needs_numbers = self.has_postponed and not postponed.takes_placeholders(op, operands, attrs)
        try:
            for operand in operands:
                if not isinstance(operand, Handle):
                    value = as_operand(operand)
                    inputs += (None, value)
                    if type(value) is np.ndarray:
                        arrays.append(value)
                elif operand.trace_ref is ref:
                    inputs += (operand.id, operand.node.value)
                else:  # of a trace further out
                    return super().process(op, operands, attrs)
            self.is_computing = True
            value = (
                self._with_numbers(op, inputs, attrs) if needs_numbers else self._computed(op, inputs, attrs)
            )
        except Exception as error:
            if isinstance(error, errors.TapeError):
                tell_places(error, operands)
            self.caught = error
            raise
        finally:
            self.is_computing = before
        node = _new(Node)
        node.value, node.inputs = value, tuple(inputs)
        active = (False,) * len(operands)
        node.call = call_as_is(op, attrs, active) if attrs and op.is_users else op.call(attrs, active)
        var = self._pushed(node, arrays)
        if op.view is not None and inputs[0] is not None:
            note_view(self, var, operands[0])
        return var

    def _computed(self, op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Return the value of an operation; a placeholder for that of a postponed loop, or behind one."""
        if self.postpones and (results := postponed.placeholders_for(op, attrs)) is not None:
            self.has_postponed = True
            return results
        if not self.has_postponed:
            return op.compute(inputs[1::2], attrs)
        try:
            with np.errstate(all="ignore"):
                return op.compute(inputs[1::2], attrs)
        except Exception:  # as of an index that is out of bounds
            return self._with_numbers(op, inputs, attrs)

    def _check_index(self, index: Sequence[Any]) -> None:
        """End the recording if a placeholder says where a view is: on that depends what shares its memory."""
        for part in index:
            if isinstance(part, Handle) and (
                part.trace_ref is not self.ref or self._numbers.is_late(part.id)
            ):
                self.need_numbers()

    def _with_numbers(self, op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Return the value of an operation which has to know the numbers of its operands."""
        pairs = zip(inputs[::2], inputs[1::2], strict=True)
        operands = [operand if id is None else self._numbers_of(id) for id, operand in pairs]
        value = op.compute(operands, attrs)
        self._numbers.note(len(self.nodes), value)
        return value

    def _numbers_of(self, id: int) -> Any:
        try:
            return self._numbers.of(id)
        except Exception:  # in a loop: plain Python raises it at its line
            self.need_numbers()
            raise

    def value_of(self, var: Any) -> Any:
        """Return the value of a Var; where the tape has a placeholder, it is computed."""
        if not self.has_postponed:
            return var.node.value
        before, self.is_computing = self.is_computing, True
        try:
            return self._numbers_of(var.id)
        finally:
            self.is_computing = before

    def need_numbers(self) -> None:
        """End the recording if a loop was postponed: it has to run, as somebody looks at all values."""
        if self.has_postponed:
            self.are_numbers_needed = True
            raise NumbersNeeded

    def note_numbers(self, values: Iterable[Any]) -> None:
        """Note the NumPy scalars among options: they may have been read from an array that is closed over."""
        for value in values:
            if isinstance(value, Handle):  # looked at first: a traced value finds out who asks for its class
                continue
            if isinstance(value, np.generic):
                self.numbers_read.append(value)
            elif type(value) in (tuple, list):
                self.note_numbers(value)

    def read_ints_of(self, functions: Iterable[Callable[..., Any]]) -> None:
        """Read the ints that callbacks use: in all other calls these would find those of this one."""
        if self.takes_ints:
            for number in INTERNAL["uses"](functions).ints:
                number.read()

    def check_operands(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> None:
        """End the recording if an operation in the body of a loop may not be handed placeholders."""
        if self.has_postponed and not postponed.takes_placeholders(op, operands, attrs):
            self.need_numbers()

    def observe(self) -> None:
        """Note if floating-point errors are raised or reported that would not have been at the start."""
        if not self.observed and not self.settings.is_harmless():
            self.observed = self.settings.change()

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Keep the exception that is raised inside, in `caught`."""
        try:
            yield
        except Exception as error:
            self.caught = error
            raise

    def savepoint(self) -> Callable[[], None]:
        """Return a function that forgets what has been guarded, or caught, since this call."""
        guards, caught = len(self.guards), self.caught

        def roll_back() -> None:
            del self.guards[guards:]
            self.caught = caught

        return roll_back

    def read(self, var: Any, kind: Literal["bool", "int"]) -> bool | int:
        """Return the number in a Var of shape (), which becomes a guard."""
        value = self.value_of(var)
        outcome = bool(value) if kind == "bool" else int(value)
        self._guard(var.id, kind, outcome)
        return outcome

    def push(self, node: Node) -> Var:
        """Append a node; if its shape or dtype depends on data, they become a guard."""
        pairs = zip(node.inputs[::2], node.inputs[1::2], strict=True)
        return self._pushed(node, [x for parent, x in pairs if parent is None and type(x) is np.ndarray])

    def _pushed(self, node: Node, arrays: Sequence[np.ndarray]) -> Var:
        for array in arrays:
            self._seen.see(array)
        var = super().push(node)
        op = node.call.op
        if op is not None and op.data_dependent:
            depends = op.data_dependent
            if depends is True or depends(*node.operands, **node.attrs):
                self._guard(var.id, "type", (var.dtype.str, *var.shape))
        return var

    def _guard(self, node: int, kind: Literal["bool", "int", "type"], outcome: Outcome) -> None:
        count = len(self.nodes)
        while self.guards and self.guards[-1].position > count:  # of what was taken back after an error
            self.guards.pop()
        place = errors.user_place() if self.keeps_places else ""
        self.guards.append(Guard(node, kind, outcome, count, place))


class NumbersNeeded(BaseException):
    """Raised where somebody looks at values which may depend on loops that were postponed.

    No code is to take it for its own error.
    """


class _Seen:
    """The plain arrays that operations on a tape have read, which must stay as they were.

    A program reads them again in every call, when all writes have happened.
    """

    __slots__ = ("_constants",)

    def __init__(self) -> None:
        self._constants: dict[int, tuple[np.ndarray, int]] = {}  # with a fingerprint, by id

    def see(self, array: np.ndarray) -> None:
        """Remember the content of an array, or check that it has not changed."""
        known = self._constants.get(id(array))
        if known is None:
            self._constants[id(array)] = (array, _fingerprint(array))
        elif array.nbytes <= _SMALL and _fingerprint(array) != known[1]:
            _refuse_scratch(array)

    def check(self) -> None:
        """Raise if an array has been written to since it was used."""
        for array, found in self._constants.values():
            if _fingerprint(array) != found:
                _refuse_scratch(array)


_SMALL = 1 << 14  # bytes: such arrays are looked at whenever they are used, larger ones twice


def _fingerprint(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data) if array.size else 0


def _refuse_scratch(array: np.ndarray) -> NoReturn:
    raise errors.InPlaceError(
        f"a plain array, {errors.describe(array)}, was written into after a traced value had been computed "
        "with it: a program reads it when all writing is over. Make a new array in place of writing, or pass "
        "it as an argument"
    )


class Sealed(Interceptor):
    """An interpreter that refuses the Vars of all traces outside of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def resolve(self, var: Any) -> Any:
        """Refuse a Var from outside."""
        if isinstance(var, Handle):
            self.refuse(var)
        return var

    def intercept(self, op: Any, operands: Sequence[Any], attrs: dict[str, Any]) -> NoReturn:
        """Refuse an operation on Vars from outside."""
        self.refuse(next(operand for operand in operands if isinstance(operand, Handle)))

    def refuse(self, var: Any) -> NoReturn:
        """Raise for a Var from outside, with what to do."""
        raise errors.UnsupportedError(
            f"{self.name} is compiled and uses {var!r}, a Var from outside, which a program would take for a "
            "constant. Pass it as an argument"
        )
