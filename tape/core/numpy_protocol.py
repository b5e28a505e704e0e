"""NumPy's two protocols, by which its functions meet Vars: each is looked up in the table of operations.

Functions that have no counterpart raise at the call; those that write in place let a handle move on. Nothing
is computed here, and a derivative is never dropped in silence.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from tape import errors
from tape.conversion.numbers import NotFree, freed
from tape.core.dispatch import recorder
from tape.core.interpreter import OPEN
from tape.core.nesting import shown
from tape.core.node import Handle
from tape.core.table import INTERNAL, OPERATIONS, UFUNC_METHODS, WRITERS
from tape.inplace.aliases import are_related

# Questions about an array, and arrays merely shaped like it: answered from the value, never recorded. Some
# ask for its type alone, the others for its numbers, which may have to be computed first.
_ON_TYPES: frozenset[Callable[..., Any]] = frozenset(
    {
        np.shape,
        np.ndim,
        np.size,
        np.result_type,
        np.can_cast,
        np.common_type,
        np.iscomplexobj,
        np.isrealobj,
        np.einsum_path,
        np.diag_indices_from,
        np.tril_indices_from,
        np.triu_indices_from,
    }
)
_ON_NUMBERS: frozenset[Callable[..., Any]] = frozenset(
    {
        np.min_scalar_type,
        np.array_equal,
        np.array_equiv,
        np.allclose,
        np.array_repr,
        np.array_str,
        np.array2string,
        np.save,
        np.savetxt,
        np.savez,
        np.savez_compressed,
    }
)
_value_of = operator.attrgetter("node.value")

_ON_MEMORY = frozenset({np.shares_memory, np.may_share_memory})
_DEFAULTS = {"casting": "same_kind", "order": "K", "subok": True, "where": True, "signature": None}
"""Ufunc keyword arguments at their default values."""

_CREATION: dict[Any, str] = {
    getattr(np, name): name
    for name in (
        "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "eye",
        "frombuffer", "fromfunction", "fromiter", "full", "identity", "ones", "require", "tri", "zeros",
    )
}  # fmt: skip
_CREATION[np.empty] = "zeros"  # what lies in memory by chance must not get into programs
"""Functions that make arrays -> their names in `tape.numpy`."""

LATE: list[Callable[[Any], Callable[..., Any] | None]] = []
"""Functions that find an operation which is not in the table yet."""


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Process a ufunc, or a method of one, with Vars among its operands.

    Raises
    ------
    InPlaceError
        If it were to write into a plain array.
    UnsupportedError
        If there is no rule for it, or for a keyword.
    """
    function = _find(ufunc)
    name = f"{_title(ufunc)}" + ("" if method == "__call__" else f".{method}")
    if method == "at":
        if not isinstance(inputs[0], Handle):
            return _into_plain(name, ufunc.at, inputs, kwargs)
        return INTERNAL["write_at"](ufunc, *inputs)
    if "out" in kwargs:
        if not any(isinstance(x, Handle) for x in kwargs["out"]):
            return _into_plain(f"{name}(..., out=...)", getattr(ufunc, method), inputs, kwargs)
        return INTERNAL["write_ufunc"](ufunc, method, f"{name}(..., out=...)", inputs, **kwargs)
    if function is None:
        raise _no_rule(name)
    kwargs = {key: value for key, value in kwargs.items() if value is not _DEFAULTS.get(key, kwargs)}
    if method == "outer" and ufunc.nin == 2:
        x, y = map(INTERNAL["widening"], inputs)
        one = (1,) * np.ndim(y)
        inputs, method = (OPERATIONS[np.reshape](x, (*np.shape(x), *one)), y), "__call__"
    if method != "__call__":
        known = UFUNC_METHODS.get(method, {}).get(ufunc)
        if known is None:
            raise _no_rule(name)
        if method == "accumulate" and not np.ndim(inputs[0]):
            raise errors.ShapeError(
                f"{name} has nothing to go along: {errors.describe(inputs[0])} is a number"
            )
        return _call(known, name, inputs, {"axis": 0, **kwargs})
    if "dtype" in kwargs and ufunc.signature is None:
        dtype = np.dtype(kwargs.pop("dtype"))
        _check_same_kind(name, inputs, dtype)
        inputs = tuple(OPERATIONS[np.astype](x, dtype) for x in inputs)
    if kwargs and ufunc.signature is None:
        raise errors.UnsupportedError(
            f"{name} with {', '.join(kwargs)}= has no derivative rule. "
            + ("Choose with np.where afterwards" if "where" in kwargs else "Leave it out")
        )
    return _call(function, name, inputs, kwargs) if kwargs else function(*inputs)


def _check_same_kind(name: str, inputs: Sequence[Any], dtype: np.dtype[Any]) -> None:
    """Check that operands lose neither fractions nor imaginary parts in a dtype."""
    for operand in inputs:
        kind = operand.dtype if hasattr(operand, "dtype") else np.asarray(operand).dtype
        if not np.can_cast(kind, dtype, "same_kind"):
            raise errors.DTypeError(
                f"{name} with dtype={dtype} would cast an operand of {kind}, which is of another kind. "
                "Convert it by astype first"
            )


def note_options(*args: Any, **kwargs: Any) -> None:
    """Let a program that is being recorded know the NumPy scalars among the arguments of a function.

    They become options of an operation, or choose a branch, and may have been read from an array that is
    closed over: see ``numbers_read`` in `tape.program.record.recording`.
    """
    program: Any = recorder()
    if program is not None:
        program.note_numbers((*args, *kwargs.values()))


def call_function(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], like: Any = None
) -> Any:
    """Process a NumPy function with Vars among its arguments, or one that makes arrays ``like`` a Var.

    Raises
    ------
    InPlaceError
        If it were to write into a plain array.
    UnsupportedError
        If there is no rule for it, or for arguments like these.
    """
    if kwargs.get("out") is not None:
        x = kwargs["out"]
        if not isinstance(x, Handle):
            return _into_plain(f"{_title(func)}(..., out=...)", func, args, kwargs)
        rest = {key: value for key, value in kwargs.items() if key != "out"}
        return INTERNAL["write_function"](x, func, args, rest)
    function = OPERATIONS.get(func)
    if function is None:
        if func in _ON_TYPES:
            if not kwargs and len(args) == 1 and isinstance(args[0], Handle):  # np.shape(x)
                return func(args[0].node.value)
            return func(
                *_values_in(args, _value_of), **{key: _values_in(x, _value_of) for key, x in kwargs.items()}
            )
        if func in WRITERS:
            x = args[0] if args else next(iter(kwargs.values()))
            if not isinstance(x, Handle):
                return _into_plain(_title(func), func, args, kwargs)
            return WRITERS[func](x, args, kwargs)
        if func in _CREATION:
            made = getattr(import_module("tape.numpy"), _CREATION[func])(*args, **kwargs)
            if not isinstance(made, Handle):
                return INTERNAL["beside"](like, made)
            return _lifted(made, like) if made.trace.level < like.trace.level else made
        if func in _ON_MEMORY:
            if OPEN and recorder() is not None:
                raise errors.UnsupportedError(
                    f"{_title(func)} in a compiled function: other calls may bring arrays that share other "
                    "memory. Call it outside"
                )
            return are_related(*args[:2])
        if func in _ON_NUMBERS:
            return func(*_values_in(args, shown), **{key: _values_in(x, shown) for key, x in kwargs.items()})
        function = _find(func)
        if function is None:
            raise _no_rule(_title(func))
    return _call(function, "", args, kwargs, func)


def _lifted(x: Any, like: Any) -> Any:
    """Return a copy of a Var of an outer trace that is recorded on that of another, to be written to."""
    lifted = INTERNAL["beside"](like, np.zeros(x.shape, x.dtype))
    OPERATIONS[operator.setitem](lifted, ..., x)
    return lifted


def _find(function: Any) -> Callable[..., Any] | None:
    """Return the operation for a NumPy function or ufunc; None if there is none."""
    known = OPERATIONS.get(function)
    if known is None:
        known = next((found for late in LATE if (found := late(function)) is not None), None)
    return known


def _title(function: Any) -> str:
    """Return the name of a function as users write it."""
    module = getattr(function, "__module__", None) or "numpy"
    if isinstance(function, np.ufunc):
        module = "numpy" if getattr(np, function.__name__, None) is function else "scipy.special"
    module = {"numpy.lib.scimath": "numpy.emath"}.get(module, module)
    return f"{module}.{function.__name__}".replace("numpy", "np", 1)


def _values_in(argument: Any, read: Callable[[Any], Any]) -> Any:
    """Return the values of Vars, one level down: outer Vars may have to know what is read of them."""
    if isinstance(argument, Handle):
        return read(argument)
    if isinstance(argument, (list, tuple)):
        return type(argument)(_values_in(part, read) for part in argument)
    return argument


def _into_plain(name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function that writes into a plain array, if no derivative is lost with it."""
    try:
        args, kwargs = freed(args), {key: freed(value) for key, value in kwargs.items()}
    except NotFree:
        refuse_plain(name)
    return function(*args, **kwargs)


def refuse_plain(name: str) -> NoReturn:
    """Raise because a recorded value was to be written into a plain array."""
    raise errors.InPlaceError(
        f"{name} would write a recorded value into a plain array, which would lose its derivative. Use the "
        "value that it returns; or write to a Var: np.zeros(shape, like=x) makes one beside x"
    )


def _no_rule(name: str) -> errors.UnsupportedError:
    short = name.rpartition(".")[2]
    namesake = next((known for known in map(_title, OPERATIONS) if known.rpartition(".")[2] == short), None)
    return errors.UnsupportedError(
        f"{name} has no derivative rule." + (f" {namesake} has one." if namesake else "") + " "
        "`python -m tape.support` lists all. A rule takes three lines: "
        f"{short} = tape.Op({name}, vjp=[lambda g, out, x: g * slope(x)], jvp=[lambda t, out, x: t * "
        f"slope(x)]), with slope written in NumPy; then call {short}(x). "
        "Where no derivative is needed, use .value"
    )


def _call(
    function: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any], func: Any = None
) -> Any:
    """Call an operation with NumPy's arguments; one that it does not take is named."""
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        return called_otherwise(function, name, args, kwargs, func, error)


def called_otherwise(
    function: Callable[..., Any],
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    func: Any,
    error: TypeError,
) -> Any:
    """Call an operation that has raised TypeError without what is at its default; else say what is wrong."""
    op = getattr(function, "op", function)
    if isinstance(error, errors.TapeError) or not getattr(op, "explains_errors", True):
        raise error
    if func is not None:
        if func is np.where and len(args) == 1 and not kwargs:
            return OPERATIONS[np.nonzero](*args)
        name = _title(func)
        fewer_args, fewer_kwargs = _without_defaults(func, args, kwargs)
        if "out" in fewer_kwargs:
            return call_function(func, tuple(fewer_args), fewer_kwargs)
        if len(fewer_args) + len(fewer_kwargs) < len(args) + len(kwargs):
            return _call(function, name, fewer_args, fewer_kwargs)
    raise errors.UnsupportedError(f"{name}, called like this, has no derivative rule: {error}") from error


def _without_defaults(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a NumPy function without those at their defaults, like ``out=None``."""
    bound = inspect.signature(func).bind(*args, **kwargs)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind is parameter.POSITIONAL_ONLY or not positional:
            positional.append(value)
        elif value is not parameter.default and not (isinstance(value, str) and value == parameter.default):
            named[name] = value
    return positional, named
