"""`Traced`: the Var that a function computes with while it is recorded.

It notices the numbers that Python reads. A branch, an integer or a bool becomes a guard of the program; a
float would be frozen, and is refused.
"""

from __future__ import annotations

import _collections_abc
import operator
import sys
from collections.abc import Callable
from typing import Any, Literal, NoReturn

import numpy as np

from tape import errors, ops
from tape.conversion.callers import Caller, is_asked_by_user, is_shown
from tape.conversion.foreign import left_to_var
from tape.conversion.numbers import WRITTEN, refuse_tried
from tape.core.absent import lacking
from tape.core.dispatch import resolve
from tape.core.interpreter import OPEN, innermost_open
from tape.core.node import Handle, plain
from tape.core.var import Var
from tape.core.weak import exact
from tape.inplace.aliases import Stale
from tape.kernels.codes import DTYPE_CODES, NO_INTEGER
from tape.program.record.contents import LIMIT, content
from tape.program.record.numbers import (
    weakly,
    weakly_compared,
    weakly_logical,
    weakly_rounded,
    weakly_unary,
)
from tape.program.record.proxies import Proxy, among_operands


class _Opaque(type):
    """The type of `Traced`: abstract classes of Python find none of its methods.

    ``isinstance(v, Iterable)`` asks for the methods of the class that ``v`` says it has, which is that of the
    array or number, and then for those of its type, which has all.
    """

    @property
    def __mro__(cls) -> tuple[type, ...]:
        is_asked = sys._getframe(1).f_code is _CHECK_METHODS
        return () if is_asked else type.__dict__["__mro__"].__get__(cls)


_CHECK_METHODS = getattr(getattr(_collections_abc, "_check_methods", None), "__code__", None)


def _instead(name: str) -> str:
    if hasattr(np.ndarray, name):
        otherwise = "Write it with what tape.ops has, or return the value and do it outside"
    else:
        otherwise = "Compute with NumPy's functions, or call it outside"
    return f"a traced value in a compiled function has no {name!r}. {otherwise}"


@lacking([*dir(np.ndarray), *dir(float)], _instead)
class Traced(Var, metaclass=_Opaque):
    """A Var of a `Recorder`."""

    __slots__ = ()

    is_traced = True

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class that `isinstance` finds in the user's code: that of the array or number itself."""
        if not is_asked_by_user():
            return type(self)
        return np.ndarray if isinstance(self.node, Stale) else type(exact(plain(self)))

    @property
    def number(self) -> Any:
        """The value in this call, for those who do not make the program depend on it."""
        recorder: Any = self.trace_ref()
        return self.node.value if recorder is None else recorder.value_of(self)

    # ---- becoming a plain number ---------------------------------------------------------------

    def __bool__(self) -> bool:
        inside = resolve(self)
        if inside is not self:
            return bool(inside)
        if self.size != 1:
            return super().__bool__()
        return self._read(self if self.dtype == bool else ops.not_equal(self, 0), "bool")

    def __int__(self) -> int:
        inside = resolve(self)
        if inside is not self:
            return int(inside)
        self._scalar("int")
        with self.trace.raising():
            number = int(self.number.item())  # raises what int raises
            least = NO_INTEGER + (self.dtype.kind == "f")
            if not least <= number < 2**63:
                raise errors.ConversionError(
                    f"int() of {self!r} in a compiled function: it does not fit in 64 bits. Return it, and "
                    "convert it outside"
                )
        asked: Any = self
        if asked.dtype not in DTYPE_CODES:  # the machine reads integers of these dtypes as they are
            is_half = asked.dtype == np.float16
            asked = ops.astype(
                asked if asked.dtype.kind != "f" else ops.trunc(asked), "f4" if is_half else "i8"
            )
        return self._read(asked, "int")

    def __index__(self) -> int:
        inside = resolve(self)
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
        """The integers or bools, which become guards; floats raise `ConversionError`."""
        inside = resolve(self)
        if inside is not self:
            return inside
        return content(self)[()] if self.dtype.kind in "biu" else self._refuse(".value")

    def tolist(self) -> Any:
        """Return lists of integers or bools, which become guards; floats raise `ConversionError`."""
        inside = resolve(self)
        if inside is not self:
            return inside.tolist()
        return content(self).tolist() if self.dtype.kind in "biu" else self._refuse("tolist()")

    def item(self, *index: int) -> Any:
        """Return an integer or a bool, which becomes a guard; a float raises `ConversionError`."""
        inside = resolve(self)
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
        inside = resolve(self)
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
        inside = resolve(self)
        if inside is not self:
            return hash(inside)
        if self.ndim or self.dtype.kind not in "biu":
            raise errors.ConversionError(
                f"{self!r} was about to be a key of a dict or an element of a set in a compiled function, "
                "where equal numbers are one, and each call may bring others. Compare with ==; use int(v) as "
                "the key where that is meant, or id(v) for the traced value itself"
            )
        return hash(int(self))

    def __str__(self) -> str:
        number = self._of_text()
        return Var.__repr__(self) if number is None else str(number)

    def __repr__(self) -> str:
        number = self._of_text()
        return Var.__repr__(self) if number is None else repr(number)

    def __format__(self, spec: str) -> str:
        number = self._of_text()
        return super().__format__(spec) if number is None else format(number, spec)

    def _of_text(self) -> Any:
        """Return the integers or bools whose text code asks for, which become guards; None for what is shown.

        Texts of floats, and of more than `LIMIT` elements, are those of the recording: most are printed.
        Where code runs again they are those of its numbers; as rows of a program it may ask for none.
        """
        if not OPEN or isinstance(self.node, Stale) or is_shown():
            return None
        inside: Any = resolve(self)
        if inside is not self and not isinstance(inside, Handle):
            return exact(inside)
        if self.dtype.kind not in "biu" or self.size > LIMIT:
            region: Any = innermost_open()
            if getattr(region, "refuses_text", False):
                raise region.refuse(f"a text of {errors.describe(self)}")
            return None
        if inside is self and self.trace_ref() not in OPEN:
            return None
        asked: Any = inside
        if self.ndim:
            return np.asarray(asked)
        bool(asked) if self.dtype == bool else int(asked)
        return exact(asked.number)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if (deferred := left_to_var(self)) is not None:
            return deferred
        inside = resolve(self)
        if inside is not self:
            return np.array(inside, dtype, copy=copy)
        refuse_tried()
        if self.dtype.kind in "biu":
            return content(self).astype(self.dtype if dtype is None else dtype)
        caller = Caller()
        if caller.is_storing:
            raise self._written()
        within = f" in {caller.name}" if caller.name else ""
        raise errors.ConversionError(
            f"{self!r} was about to become a plain array{within} in a compiled function, frozen into the "
            "program. Compute with it as it is (np.stack and np.concatenate join such values, "
            "tape.ops.getitem indexes an array by one), or return it"
        )

    def _refuse(self, what: str) -> NoReturn:
        caller = Caller()
        recorder: Any = self.trace
        with recorder.raising():
            if caller.is_storing:
                raise self._written()
            raise errors.ConversionError(
                f"{caller.name or what} of {self!r} in a compiled function: the number would be frozen into "
                "the program. "
                + (
                    caller.counterpart
                    or "Compute with the traced value itself (np.sqrt(x), not math.sqrt(x))"
                )
                + ", or return it; if, while, bool() and int() may read it"
            )

    def _written(self) -> errors.InPlaceError:
        return errors.InPlaceError(
            f"{self!r} was about to be written to a plain array in a compiled function, frozen into the "
            f"program. {WRITTEN}"
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        for x in inputs:
            if type(x) is Proxy:  # which knows whether it has to be read here
                return x.__array_ufunc__(ufunc, method, *inputs, **kwargs)
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # The questions about numbers among those that Var answers from values.
        if func is np.allclose:
            return bool(ops.all(ops.isclose(*args, **kwargs)))
        if func is np.array_equal:
            return _array_equal(*args, **kwargs)
        if func is np.array_equiv:
            return _array_equiv(*args)
        if func in _TEXTS and self.dtype.kind in "biu" and self.size <= LIMIT:
            given, *options = args or (kwargs.pop("arr" if "arr" in kwargs else "a"),)
            return func(content(given)[()] if given is self else given, *options, **kwargs)
        if func is np.min_scalar_type and not self.ndim:
            return func(content(self)[()]) if self.dtype.kind in "biu" else self._refuse("np.min_scalar_type")
        return super().__array_function__(func, types, among_operands(func, args), kwargs)

    # ---- arithmetic of Python's numbers ----------------------------------------------------------

    __add__, __radd__ = weakly(ops.add, operator.add)
    __sub__, __rsub__ = weakly(ops.subtract, operator.sub)
    __mul__, __rmul__ = weakly(ops.multiply, operator.mul)
    __truediv__, __rtruediv__ = weakly(ops.divide, operator.truediv)
    __floordiv__, __rfloordiv__ = weakly(ops.floor_divide, operator.floordiv)
    __mod__, __rmod__ = weakly(ops.remainder, operator.mod)
    __pow__, __rpow__ = weakly(ops.power, operator.pow)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    __lshift__, __rlshift__ = weakly(ops.left_shift, operator.lshift)
    __rshift__, __rrshift__ = weakly(ops.right_shift, operator.rshift)
    __and__ = __rand__ = weakly_logical(ops.bitwise_and, operator.and_)
    __or__ = __ror__ = weakly_logical(ops.bitwise_or, operator.or_)
    __xor__ = __rxor__ = weakly_logical(ops.bitwise_xor, operator.xor)

    __lt__ = weakly_compared(ops.less, operator.lt)
    __le__ = weakly_compared(ops.less_equal, operator.le)
    __gt__ = weakly_compared(ops.greater, operator.gt)
    __ge__ = weakly_compared(ops.greater_equal, operator.ge)
    __eq__ = weakly_compared(ops.equal, operator.eq)
    __ne__ = weakly_compared(ops.not_equal, operator.ne)

    __neg__ = weakly_unary(ops.negative, operator.neg)
    __pos__ = weakly_unary(ops.positive, operator.pos)
    __abs__ = weakly_unary(ops.absolute, operator.abs)
    __invert__ = weakly_unary(ops.invert, operator.invert)
    real = Var.real.getter(weakly_unary(ops.real, operator.attrgetter("real")))  # type: ignore[attr-defined]
    imag = Var.imag.getter(weakly_unary(ops.imag, operator.attrgetter("imag")))  # type: ignore[attr-defined]

    def __round__(self, ndigits: int | None = None) -> Any:
        if self.ndim or self.dtype.kind == "c":
            return super().__round__() if ndigits is None else super().__round__(ndigits)
        if ndigits is None:
            return int(ops.rint(self)) if self.dtype.kind == "f" else int(self)
        return weakly_rounded(self, ndigits)


_TEXTS = frozenset({np.array_repr, np.array_str, np.array2string})


def _array_equiv(a1: Any, a2: Any) -> bool:
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return bool(ops.all(ops.equal(a1, a2)))


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if np.shape(a1) != np.shape(a2):
        return False
    same = ops.equal(a1, a2)
    if equal_nan:
        same = ops.logical_or(same, ops.logical_and(ops.not_equal(a1, a1), ops.not_equal(a2, a2)))
    return bool(ops.all(same))
