"""`Proxy`: an int argument that is data, and the numbers that a function computes from such arguments alone.

To Python code it is that number: of its type to ``isinstance``, with its attributes and its exceptions. What
can be done with any int is recorded: arithmetic and ufuncs. Where Python reads an int itself, as
``range(i)``, strings and dicts do, `IntRead` ends the recording: programs differ with that int, which becomes
static: see `reading`. What Python reads of a comparison, a remainder or a quotient, as in ``names[i % 3]``,
is a guard. After the recording a proxy is a number like any other.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tape import ops
from tape.core.node import Handle
from tape.core.weak import WeakBool, weak
from tape.program.record.reading import (
    Number,
    as_float,
    bound_of,
    holds,
    leaves_of,
    need,
    number_of,
    operand_of,
    refuse,
)

_FITS = 2**62
_AS_FLOAT = 2**53  # up to here every int is a float
_MOST_FACTORS = 64
_UFUNC_NAMES = (
    "add subtract multiply divide negative positive absolute fabs sqrt cbrt square exp exp2 expm1 log log2 "
    "log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh hypot arctan2 power "
    "maximum minimum fmax fmin logaddexp less less_equal greater greater_equal equal not_equal"
)
_UFUNCS = frozenset(_UFUNC_NAMES.split())
_OF_INTS = frozenset(("add", "subtract", "multiply", "divide"))
"""Those that do the same with every int beside an array of integers."""
_CHOOSE = {np.where: 1, np.clip: 0}
"""Functions whose result is one of their arguments from this one on, in the dtype of all of them."""


# ---- Python's arithmetic -------------------------------------------------------------------------------


def _linear(ufunc: Any, python: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Add, subtract or multiply two numbers."""
    if isinstance(x, float) or isinstance(y, float):
        return _made(ufunc, python, x, y)
    bound = bound_of(x) * bound_of(y) if ufunc is np.multiply else bound_of(x) + bound_of(y)
    if bound > _FITS:
        need(abs(ufunc(as_float(x), as_float(y))) < float(_FITS), x, y)
        bound = _FITS
    is_whole = any(type(z) is Proxy and z.is_whole for z in (x, y))
    return _made(ufunc, python, x, y, bound=bound, is_whole=is_whole)


def _quotient(ufunc: Any, python: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Divide, or take the remainder."""
    if type(y) is Proxy and not holds(y.var != 0, y):
        return python(number_of(x), number_of(y))  # raises
    if ufunc is np.divide:
        for z in (x, y):
            if bound_of(z) > _AS_FLOAT:
                need(abs(as_float(z)) <= float(_AS_FLOAT), z)
    if ufunc is np.divide or isinstance(x, float) or isinstance(y, float):
        return _made(ufunc, python, x, y)
    bound = bound_of(y) if ufunc is np.remainder else bound_of(x)
    return _made(ufunc, python, x, y, bound=bound, is_whole=False)


def _power(ufunc: Any, python: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Take a power: an int of an int whose exponent is not negative, or else a float."""
    if isinstance(x, int) and isinstance(y, int) and y >= 0:  # which is a guard
        if type(y) is int:
            return _multiplied(x, y)
        out = _quietly(ufunc, x, y)
        need(abs(out) < 2.0**50, x, y)
        return _proxy(
            ops.astype(ops.rint(out), np.int64), python(number_of(x), number_of(y)), x, y, bound=2**50
        )
    if type(x) is Proxy:
        if isinstance(y, float):  # of a negative number, the power is complex
            need(x.var >= 0 if type(y) is float and y > 0 else x.var > 0, x)
        elif type(y) is Proxy or y < 0:
            need(x.var != 0, x)
    elif x == 0 or (x < 0 and isinstance(y, float)):
        refuse(y)
    out = _quietly(ufunc, x, y)
    need(ops.isfinite(out), x, y)  # where it is not, Python raises
    return _proxy(out, python(number_of(x), number_of(y)), x, y)


def _quietly(ufunc: Any, x: Any, y: Any) -> Any:
    """Apply a ufunc to floats, without NumPy's warnings: Python has none."""
    with np.errstate(all="ignore"):
        return ufunc(as_float(x), as_float(y))


def _multiplied(x: Any, times: int) -> Any:
    """Return a power by multiplication."""
    if times > _MOST_FACTORS:
        refuse(x)
    product = None
    while times:
        if times % 2:
            product = x if product is None else product * x
        times //= 2
        x = x * x if times else x
    return 1 if product is None else product


def _comparison(ufunc: Any, python: Callable[[Any, Any], Any], x: Any, y: Any) -> bool:
    return holds(python(operand_of(x), operand_of(y)), x, y)


def _made(ufunc: Any, python: Callable[[Any, Any], Any], x: Any, y: Any, **known: Any) -> Proxy:
    """Apply a ufunc, with the result that Python has."""
    number = python(number_of(x), number_of(y))  # raises what Python raises
    return _proxy(ufunc(operand_of(x), operand_of(y)), number, x, y, **known)


def _proxy(out: Any, number: Any, x: Any, y: Any, **known: Any) -> Proxy:
    out.node.value = weak(number)
    return Proxy(out, leaves_of((x, y)), **known)


# ---- the proxy --------------------------------------------------------------------------------------------


def _operator(ufunc: Any, python: Callable[[Any, Any], Any], rule: Callable[..., Any]) -> tuple[Any, Any]:
    """Return an operator and its reflection.

    Parameters
    ----------
    ufunc : numpy.ufunc
        What NumPy does.
    python : callable
        The operator.
    rule : callable
        ``rule(ufunc, python, x, y)`` applies it to proxies and numbers of Python.
    """

    def apply(self: Proxy, other: Any, x: Any, y: Any) -> Any:
        if not self.is_recorded():
            return python(number_of(x), number_of(y))
        if type(other) is bool or (isinstance(other, Handle) and isinstance(other.node.value, WeakBool)):
            other = int(bool(other))  # which Python computes with
            x, y = (self, other) if x is self else (other, self)
        if isinstance(other, Handle) or type(other) is np.ndarray:
            self.check_beside(ufunc, other)
            return python(operand_of(x), operand_of(y))
        if type(other) not in (int, float, Proxy) and not isinstance(other, np.floating):
            return self.reject(other)
        if isinstance(x, np.floating) or isinstance(y, np.floating):
            return ufunc(x, y)
        if type(other) is int and abs(other) > _FITS:
            refuse(self)
        return _once(ufunc, (x, y), lambda: rule(ufunc, python, x, y))

    return lambda self, other: apply(self, other, self, other), lambda self, other: apply(
        self, other, other, self
    )


def _scalar(ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    """Return what NumPy computes from numbers alone: a float, or a bool, which is read."""
    number = ufunc(*map(number_of, inputs))
    if not isinstance(number, (np.float64, np.float32, np.bool_)):
        refuse(*inputs)
    out = ufunc(*map(operand_of, inputs))
    return np.bool_(holds(out, *inputs)) if isinstance(number, np.bool_) else Proxy(out, leaves_of(inputs))


def _once(operation: Any, operands: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return a result, which is recorded once: so a loop that repeats it needs no guards in every step."""
    known = next(x for x in operands if type(x) is Proxy).var.trace.ints_computed
    key = operation, *((Proxy, x.var.id) if type(x) is Proxy else (type(x), repr(x)) for x in operands)
    if key not in known:
        known[key] = make()
    return known[key]


def _reader(python: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Return an operator that reads its operands, and its reflection."""
    return (
        lambda self, other: python(self.read(), number_of(other)),
        lambda self, other: python(number_of(other), self.read()),
    )


def among_operands(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a function of NumPy, with numbers as operands where it does not read them.

    Beside floats these are the bounds of `numpy.clip` and what `numpy.where` chooses from.
    """
    first = _CHOOSE.get(function, len(args))
    arrays: list[Any] = [x for x in args[first:] if isinstance(x, Handle) or type(x) is np.ndarray]
    if not any(x.dtype.kind in "fc" for x in arrays):
        return args
    return tuple([x.var if type(x) is Proxy and x.is_recorded() else x for x in args])


class Proxy(Number):
    """A Python number, or a float of NumPy's, that is computed from int arguments alone.

    Examples
    --------
    >>> from tape.program.record.recorder import Recorder
    >>> with Recorder() as trace:
    ...     i = trace.integer(3, leaf=0)
    ...     half, is_even = i / 2, i % 2 == 0
    >>> isinstance(i, int), isinstance(half, float), half, is_even
    (True, True, 1.5, False)
    >>> [str(node.op) for node in trace.nodes], [guard.outcome for guard in trace.guards]
    (['None', '<op divide>', '<op remainder>', '<op equal>'], [False])
    """

    __slots__ = ()

    def reject(self, other: Any) -> Any:
        """Return what an operator returns that does not know the other operand; read this beside numbers."""
        if isinstance(other, (int, float, complex)):
            refuse(self)
        return NotImplemented

    def check_beside(self, ufunc: Any, array: Any) -> None:
        """Read this unless a ufunc does the same with every number of its range beside such an array."""
        dtype = array.dtype
        if dtype.kind == "b" and ufunc is np.power:  # of 2 alone, the operator makes an int8
            refuse(self)
        if dtype.kind not in "iu" or not isinstance(self.number, int):
            return
        if ufunc.__name__ not in _OF_INTS or dtype.kind == "u" or self.bound > np.iinfo(dtype).max:
            refuse(self)

    def __tape_operand__(self, array: Any) -> Any:
        """Return the operand for an assignment like ``array += self``."""
        if not self.is_recorded():
            return self.number
        self.check_beside(np.add, array)
        return self.var

    def __tape_index__(self, parts: tuple[Any, ...]) -> Any:
        """Return this part of an index as a Var, if there are slices but no other positions."""
        if not self.is_recorded():
            return self.number
        others = [part for part in parts if part is not self]
        is_simple = len(others) == len(parts) - 1 and all(
            part is None or part is Ellipsis or type(part) is slice for part in others
        )
        return self.var if is_simple and isinstance(self.number, int) else self.read()

    # ---- arithmetic ----------------------------------------------------------------------------------

    __add__, __radd__ = _operator(np.add, operator.add, _linear)
    __sub__, __rsub__ = _operator(np.subtract, operator.sub, _linear)
    __mul__, __rmul__ = _operator(np.multiply, operator.mul, _linear)
    __truediv__, __rtruediv__ = _operator(np.divide, operator.truediv, _quotient)
    __floordiv__, __rfloordiv__ = _operator(np.floor_divide, operator.floordiv, _quotient)
    __mod__, __rmod__ = _operator(np.remainder, operator.mod, _quotient)
    _pow, __rpow__ = _operator(np.power, operator.pow, _power)

    __hash__ = Number.__hash__
    __lt__, _ = _operator(np.less, operator.lt, _comparison)
    __le__, _ = _operator(np.less_equal, operator.le, _comparison)
    __gt__, _ = _operator(np.greater, operator.gt, _comparison)
    __ge__, _ = _operator(np.greater_equal, operator.ge, _comparison)
    __eq__, _ = _operator(np.equal, operator.eq, _comparison)
    __ne__, _ = _operator(np.not_equal, operator.ne, _comparison)

    __lshift__, __rlshift__ = _reader(operator.lshift)
    __rshift__, __rrshift__ = _reader(operator.rshift)
    __and__, __rand__ = _reader(operator.and_)
    __or__, __ror__ = _reader(operator.or_)
    __xor__, __rxor__ = _reader(operator.xor)
    __divmod__, __rdivmod__ = (
        lambda self, other: (self // other, self % other),
        lambda self, other: (other // self, other % self),
    )

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        return self._pow(other) if modulus is None else pow(self.read(), number_of(other), number_of(modulus))

    def __neg__(self) -> Any:
        return self._of_one(operator.neg)

    def __abs__(self) -> Any:
        return self._of_one(operator.abs)

    def __pos__(self) -> Any:
        return self

    def _of_one(self, python: Callable[[Any], Any]) -> Any:
        if not self.is_recorded():
            return python(self.number)
        out, number = python(self.var), python(self.number)
        out.node.value = number if isinstance(number, np.generic) else weak(number)
        return Proxy(out, self.leaves, self.bound, self.is_whole)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not self.is_recorded():
            return getattr(ufunc, method)(*map(number_of, inputs), **kwargs)
        if method != "__call__" or kwargs or ufunc.__name__ not in _UFUNCS:
            refuse(*inputs)
        proxies = [x for x in inputs if type(x) is Proxy]
        arrays = [x for x in inputs if isinstance(x, Handle) or type(x) is np.ndarray]
        if arrays:
            for x, array in zip(proxies, arrays, strict=True):
                x.check_beside(ufunc, array)
            return ufunc(*map(operand_of, inputs))
        if not all(type(x) in (Proxy, int, float, bool) or isinstance(x, np.floating) for x in inputs):
            refuse(*inputs)
        return _once((ufunc, "NumPy"), inputs, lambda: _scalar(ufunc, inputs))
