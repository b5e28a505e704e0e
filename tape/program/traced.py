"""What a function computes with while it is recorded: `Recorder`, the trace, and `Traced`, its Vars.

A Traced knows which numbers Python reads. A branch or an int becomes a guard of the program, which every
later call checks; a float would be frozen, and is refused. Numbers of Python's own stay weak: they do not
widen float32, nor do results of arithmetic among them.
"""

from __future__ import annotations

import operator
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np

from tape import errors, ops, scope
from tape.callers import Caller
from tape.conversion import refuse_tried
from tape.kernels.folds import DTYPE_CODES
from tape.kernels.writes import NO_INTEGER
from tape.node import Handle, Leaf, Node, plain
from tape.op import Op
from tape.program.contents import content
from tape.program.weak import Weak, WeakBool, exact, weak
from tape.scope import Region
from tape.trace import Trace
from tape.var import Var

if TYPE_CHECKING:
    from tape.op import Op

__all__ = ["Guard", "Recorder", "Sealed", "Traced"]


Outcome = bool | int | tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """What Python has read, or could have: a later call must find the same, or take another path.

    Attributes
    ----------
    node : int
        The node that was read: a number of shape (), or an array whose shape or dtype depends on data.
    kind : {"bool", "int", "type"}
        What it was read as; or its dtype and shape, of what data decide.
    outcome : bool, int or tuple
        What was found; ``(dtype, *shape)``.
    position : int
        How many nodes there were at that time.
    """

    node: int
    kind: Literal["bool", "int", "type"]
    outcome: Outcome
    position: int


class Recorder(Trace):
    """The trace on which a function is recorded to become a program.

    Attributes
    ----------
    guards : list of Guard
        In the order in which numbers were read.
    caught : Exception or None
        What an operation or a conversion has raised last. If the function returns all the same, it has caught
        it; and whether it is raised may depend on the numbers.
    is_computing : bool
        Whether the value of an operation is being computed, which is no business of the program's.
    """

    __slots__ = ("_constants", "caught", "guards", "is_computing")

    handle: ClassVar[type[Handle]]  # Traced, below
    nodes: _Nodes

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.nodes = _Nodes()
        self.guards: list[Guard] = []
        self.caught: Exception | None = None
        self.is_computing = False
        self._constants: dict[int, Var] = {}  # by the id of the array, which the Var keeps alive

    def __enter__(self) -> Recorder:
        super().__enter__()
        scope.RECORDERS.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        scope.RECORDERS.remove(self)
        super().__exit__(*exception)

    def argument(self, value: Any) -> Var:
        """A leaf for an argument; a Python number is a weak one."""
        if isinstance(value, (float, complex)) and not isinstance(value, np.generic):
            value = weak(value)
        return self.push(Leaf(value, False, None))

    def constant(self, value: Any) -> Var:
        """A leaf for a plain value, which is no argument: an array is read by reference in every call."""
        if type(value) is not np.ndarray:
            return self.push(Leaf(np.asarray(value)[()], False, None))
        self.nodes.see(value)
        known = self._constants.get(id(value))
        if known is None:
            known = self._constants[id(value)] = self.push(Leaf(value, False, None))
        return known

    def release(self) -> list[Node]:
        """Return the tape, and let go of all else that refers to arrays on it."""
        self._constants.clear()
        return self.nodes.release()

    def run(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Compute, and append a node."""
        self.is_computing, before = True, self.is_computing
        try:
            with self.raising():
                return super().run(op, operands, attrs)
        finally:
            self.is_computing = before

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Note what is raised inside."""
        try:
            yield
        except Exception as error:
            self.caught = error
            raise

    def read(self, var: Any, kind: Literal["bool", "int"]) -> bool | int:
        """Return the number in a Var of shape (), which becomes a guard."""
        outcome = bool(var.node.value) if kind == "bool" else int(var.node.value)
        self._guard(var.id, kind, outcome)
        return outcome

    def push(self, node: Node) -> Var:
        """Append a node; if its shape or dtype depends on data, they become a guard."""
        var = super().push(node)
        depends = node.op is not None and node.op.data_dependent
        if depends is True or (depends and depends(*node.operands, **node.attrs)):
            self._guard(var.id, "type", (var.dtype.str, *var.shape))
        return var

    def _guard(self, node: int, kind: Literal["bool", "int", "type"], outcome: Outcome) -> None:
        count = len(self.nodes)
        while self.guards and self.guards[-1].position > count:  # of what was taken back after an error
            self.guards.pop()
        self.guards.append(Guard(node, kind, outcome, count))


class _Nodes(list[Node]):
    """A tape that sees to it that the plain arrays on it stay as they were.

    A program reads them anew in every call, when all writing is over.
    """

    __slots__ = ("_constants",)

    def __init__(self) -> None:
        super().__init__()
        self._constants: dict[int, tuple[np.ndarray, int]] = {}  # with a fingerprint, by id

    def append(self, node: Node) -> None:
        """Append a node, and remember what is in its operands."""
        inputs = node.inputs
        if None in inputs[::2]:
            for parent, operand in zip(inputs[::2], inputs[1::2], strict=True):
                if parent is None and type(operand) is np.ndarray:
                    self.see(operand)
        list.append(self, node)

    def see(self, array: np.ndarray) -> None:
        """Remember what is in an array, or make sure that it has not changed."""
        known = self._constants.get(id(array))
        if known is None:
            self._constants[id(array)] = (array, _fingerprint(array))
        elif array.nbytes <= _SMALL and _fingerprint(array) != known[1]:
            _refuse_scratch(array)

    def release(self) -> list[Node]:
        """Return a plain list of the nodes, and let go of the arrays that were looked at."""
        self._constants.clear()
        return list(self)

    def check(self) -> None:
        """Raise if an array has been written into since it was used."""
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


class Sealed(Region):
    """A region in which the Vars of all traces around it are refused."""

    def __init__(self, name: str) -> None:
        self.name = name

    def resolve(self, var: Any) -> Any:
        """Refuse a Var from outside."""
        if isinstance(var, Handle):
            self.refuse(var)
        return var

    def instead(self, op: Any, operands: Sequence[Any], attrs: dict[str, Any]) -> NoReturn:
        """Refuse an operation on Vars from outside."""
        self.refuse(next(operand for operand in operands if isinstance(operand, Handle)))

    def refuse(self, var: Any) -> NoReturn:
        """Say what to do about a Var from outside."""
        raise errors.UnsupportedError(
            f"{self.name} is compiled and uses {var!r}, a Var from outside, which a program would take for a "
            "constant. Pass it as an argument"
        )


# ---- the Vars --------------------------------------------------------------------------------------


def _weakly(function: Callable[..., Any], arithmetic: Callable[[Any, Any], Any]) -> Any:
    """An operator whose result is weak if both operands are."""

    def method(self: Traced, other: Any) -> Any:
        if _is_weak(self) and _is_weak(other):
            return _among_numbers(function, arithmetic, self, other)
        return function(self, other)

    return method


def _weakly_reflected(function: Callable[..., Any], arithmetic: Callable[[Any, Any], Any]) -> Any:
    """The same with its operands exchanged."""

    def method(self: Traced, other: Any) -> Any:
        if _is_weak(self) and _is_weak(other):
            return _among_numbers(function, arithmetic, other, self)
        return function(other, self)

    return method


def _weakly_compared(function: Callable[..., Any], comparison: Callable[[Any, Any], Any]) -> Any:
    """A comparison whose result is a bool of Python's own if both operands are numbers of Python's own."""

    def method(self: Traced, other: Any) -> Any:
        if _is_weak(self) and _is_weak(other):
            return _weakened(function(self, other), comparison(exact(plain(self)), exact(plain(other))))
        return NotImplemented if other is None or isinstance(other, str) else function(self, other)

    return method


def _weakly_logical(function: Callable[..., Any], operation: Callable[[Any, Any], Any]) -> Any:
    """The same for ``&``, ``|`` and ``^``."""

    def method(self: Traced, other: Any) -> Any:
        if _is_weak(self) and _is_weak(other):
            numbers = exact(plain(self)), exact(plain(other))
            if all(isinstance(number, bool) for number in numbers):
                return _weakened(function(self, other), operation(*numbers))
            return operation(_unless_bool(self), _unless_bool(other))
        return function(self, other)

    return method


def _weakly_unary(function: Callable[..., Any], operation: Callable[[Any], Any]) -> Any:
    """An operator of one operand whose result is weak if that is."""

    def method(self: Traced) -> Any:
        if not _is_weak(self):
            return function(self)
        number = _unless_bool(self)
        if number is not self:
            return operation(number)
        return _weakened(function(self), operation(exact(plain(self))))

    return method


class Traced(Var):
    """A Var of a `Recorder`."""

    __slots__ = ()

    is_traced = True

    # ---- becoming a plain number ---------------------------------------------------------------

    def __bool__(self) -> bool:
        inside = scope.resolve(self)
        if inside is not self:
            return bool(inside)
        if self.size != 1:
            return super().__bool__()
        return self._read(self if self.dtype == bool else ops.not_equal(self, 0), "bool")

    def __int__(self) -> int:
        inside = scope.resolve(self)
        if inside is not self:
            return int(inside)
        self._scalar("int")
        with self.trace.raising():
            number = int(plain(self).item())  # what has no int raises here as it does everywhere
            if not NO_INTEGER < number < 2**63:
                raise errors.ConversionError(
                    f"int() of {self!r} in a compiled function: it does not fit in 64 bits. Return it, and "
                    "convert it outside"
                )
        asked: Any = self
        if asked.dtype not in DTYPE_CODES:  # what the machine reads as an integer, it reads as it is
            is_half = asked.dtype == np.float16
            asked = ops.astype(
                asked if asked.dtype.kind != "f" else ops.trunc(asked), "f4" if is_half else "i8"
            )
        return self._read(asked, "int")

    def __index__(self) -> int:
        inside = scope.resolve(self)
        if inside is not self:
            return operator.index(inside)
        return int(self) if self.dtype.kind in "iu" and not self.ndim else super().__index__()

    @staticmethod
    def _read(asked: Any, kind: Literal["bool", "int"]) -> Any:
        if asked.ndim:
            asked = ops.reshape(asked, ())
        return asked.trace.read(asked, kind)

    # Integers and bools may be read, as any other way in which Python asks for them.

    @property
    def value(self) -> Any:
        """Integers and bools, which become guards; anything else is refused: see `ConversionError`."""
        inside = scope.resolve(self)
        if inside is not self:
            return inside
        return content(self)[()] if self.dtype.kind in "biu" else self._refuse(".value")

    def item(self, *index: int) -> Any:
        """An integer or a bool, which becomes a guard; anything else is refused: see `ConversionError`."""
        inside = scope.resolve(self)
        if inside is not self:
            return inside.item(*index)
        if self.dtype.kind not in "biu":
            self._refuse(".item()")
        plain(self).item(*index)  # raises where there is no such element
        one = ops.reshape(self, -1)[index[0]] if len(index) == 1 else self[index] if index else self
        return bool(one) if self.dtype == bool else int(one)

    def __float__(self) -> float:
        return self._as(float, "float()")

    def __complex__(self) -> complex:
        return self._as(complex, "complex()")

    def _as(self, kind: Callable[[Any], Any], how: str) -> Any:
        inside = scope.resolve(self)
        if inside is not self:
            return kind(inside)
        if self.dtype.kind not in "biu":
            self._refuse(how)
        return kind(int(self))

    def __trunc__(self) -> int:
        return int(self)

    def __floor__(self) -> int:
        return int(ops.floor(self)) if self.dtype.kind == "f" else int(self)

    def __ceil__(self) -> int:
        return int(ops.ceil(self)) if self.dtype.kind == "f" else int(self)

    def __hash__(self) -> int:
        inside = scope.resolve(self)
        if inside is not self:
            return hash(inside)
        if self.ndim or self.dtype.kind not in "biu":
            raise errors.ConversionError(
                f"{self!r} was about to be a key of a dict or an element of a set in a compiled function, "
                "where equal numbers are one, and each call may bring others. Compare with ==; use int(v) as "
                "the key where that is meant, or id(v) for the traced value itself"
            )
        return hash(int(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        inside = scope.resolve(self)
        if inside is not self:
            return np.array(inside, dtype, copy=copy)
        refuse_tried(self)
        if self.dtype.kind in "biu":
            return content(self).astype(self.dtype if dtype is None else dtype)
        within = f" in {name}" if (name := Caller().name) else ""
        raise errors.ConversionError(
            f"{self!r} was about to become a plain array{within} in a compiled function, frozen into the "
            "program. Compute with it as it is (np.stack and np.concatenate join such values, "
            "tape.ops.getitem indexes an array by one), or return it"
        )

    def _refuse(self, what: str) -> NoReturn:
        caller = Caller()
        with self.trace.raising():
            raise errors.ConversionError(
                f"{caller.name or what} of {self!r} in a compiled function: the number would be frozen into "
                "the program. "
                + (
                    caller.counterpart
                    or "Compute with the traced value itself (np.sqrt(x), not math.sqrt(x))"
                )
                + ", or return it; if, while, bool() and int() may read it"
            )

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise errors.MissingAttributeError(
                f"a traced value in a compiled function has no {name!r}. Write it with what tape.ops has, or "
                "return the value and do it outside"
            )
        raise AttributeError(f"a traced value has no {name!r}")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # The two questions about numbers among those that Var answers from values.
        if func is np.allclose:
            return bool(ops.all(ops.isclose(*args, **kwargs)))
        if func is np.array_equal:
            return _array_equal(*args, **kwargs)
        return super().__array_function__(func, types, args, kwargs)

    # ---- arithmetic of Python's numbers ----------------------------------------------------------

    __add__ = _weakly(ops.add, operator.add)
    __radd__ = _weakly_reflected(ops.add, operator.add)
    __sub__ = _weakly(ops.subtract, operator.sub)
    __rsub__ = _weakly_reflected(ops.subtract, operator.sub)
    __mul__ = _weakly(ops.multiply, operator.mul)
    __rmul__ = _weakly_reflected(ops.multiply, operator.mul)
    __truediv__ = _weakly(ops.divide, operator.truediv)
    __rtruediv__ = _weakly_reflected(ops.divide, operator.truediv)
    __floordiv__ = _weakly(ops.floor_divide, operator.floordiv)
    __rfloordiv__ = _weakly_reflected(ops.floor_divide, operator.floordiv)
    __mod__ = _weakly(ops.remainder, operator.mod)
    __rmod__ = _weakly_reflected(ops.remainder, operator.mod)
    __pow__ = _weakly(ops.power, operator.pow)
    __rpow__ = _weakly_reflected(ops.power, operator.pow)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    __lshift__ = _weakly(ops.left_shift, operator.lshift)
    __rlshift__ = _weakly_reflected(ops.left_shift, operator.lshift)
    __rshift__ = _weakly(ops.right_shift, operator.rshift)
    __rrshift__ = _weakly_reflected(ops.right_shift, operator.rshift)
    __and__ = __rand__ = _weakly_logical(ops.bitwise_and, operator.and_)
    __or__ = __ror__ = _weakly_logical(ops.bitwise_or, operator.or_)
    __xor__ = __rxor__ = _weakly_logical(ops.bitwise_xor, operator.xor)

    __lt__ = _weakly_compared(ops.less, operator.lt)
    __le__ = _weakly_compared(ops.less_equal, operator.le)
    __gt__ = _weakly_compared(ops.greater, operator.gt)
    __ge__ = _weakly_compared(ops.greater_equal, operator.ge)
    __eq__ = _weakly_compared(ops.equal, operator.eq)
    __ne__ = _weakly_compared(ops.not_equal, operator.ne)

    __neg__ = _weakly_unary(ops.negative, operator.neg)
    __pos__ = _weakly_unary(ops.positive, operator.pos)
    __abs__ = _weakly_unary(ops.absolute, operator.abs)
    __invert__ = _weakly_unary(ops.invert, operator.invert)

    def __round__(self, ndigits: int | None = None) -> Any:
        if self.ndim or self.dtype.kind == "c":
            return super().__round__() if ndigits is None else super().__round__(ndigits)
        if ndigits is None:
            return int(ops.rint(self)) if self.dtype.kind == "f" else int(self)
        if not _is_weak(self):
            return ops.round(self, ndigits)
        number = _unless_bool(self)
        if number is not self:
            return round(number, ndigits)
        return _weakened(_round(self, ndigits=ndigits), round(exact(plain(self)), ndigits))


Recorder.handle = Traced


def _is_weak(operand: Any) -> bool:
    """Whether this is, or was before it was traced, a number of Python's own."""
    return type(operand) in (float, complex, int, bool) or (
        type(operand) is Traced and isinstance(operand.node.value, Weak)
    )


def _unless_bool(operand: Any) -> Any:
    """An operand; a bool of Python's own is read, as Python takes it for an int where it computes."""
    is_bool = isinstance(operand, Handle) and isinstance(operand.node.value, WeakBool)
    return bool(operand) if is_bool else operand


_round = Op(
    lambda x, *, ndigits: np.float64(round(float(x), ndigits)),  # np.round may differ in the last digit
    name="round",
    explains_errors=False,
)
_DIVISIONS = (operator.truediv, operator.floordiv, operator.mod)


def _among_numbers(
    function: Callable[..., Any], arithmetic: Callable[[Any, Any], Any], x: Any, y: Any
) -> Any:
    """Arithmetic of Python's numbers, with the exceptions that Python raises where NumPy does not."""
    x, y = _unless_bool(x), _unless_bool(y)
    if not isinstance(x, Handle) and not isinstance(y, Handle):
        return arithmetic(x, y)
    numbers = [exact(plain(z)) if isinstance(z, Handle) else z for z in (x, y)]
    with next(z for z in (x, y) if isinstance(z, Handle)).trace.raising():
        number = arithmetic(*numbers)
    if isinstance(number, complex) and not any(isinstance(z, complex) for z in numbers):
        raise errors.UnsupportedError(
            f"{x!r} ** {y!r} is complex, and with other numbers it would be real. Take the power of the "
            "absolute value, or of a complex number"
        )
    if arithmetic in _DIVISIONS and isinstance(y, Handle):
        bool(y != 0)  # a guard: a call with zero must get here, and raise as Python does
    out = function(x, y)
    if arithmetic is operator.pow and not ops.isfinite(out):  # likewise: of finite numbers, Python raises
        bool(ops.logical_and(ops.isfinite(x), ops.isfinite(y)))
    return _weakened(out, number)


def _weakened(out: Any, number: Any) -> Any:
    """The result of an operation, as a number of Python's own."""
    if isinstance(out, Handle):
        out.node.value = weak(number)
    return out


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if np.shape(a1) != np.shape(a2):
        return False
    same = ops.equal(a1, a2)
    if equal_nan:
        same = ops.logical_or(same, ops.logical_and(ops.not_equal(a1, a1), ops.not_equal(a2, a2)))
    return bool(ops.all(same))
