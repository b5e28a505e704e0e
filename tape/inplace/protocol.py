"""NumPy's protocols for writes to a Var: ``x[i] = y``, ``x += y``, ``out=``, ``np.put``, ``ufunc.at``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tape import ops
from tape.core.node import Handle, plain
from tape.core.numpy_protocol import refuse_plain
from tape.core.operands import as_operand
from tape.core.table import INTERNAL, OPERATIONS, WRITERS
from tape.inplace.writing import augmented, check_fits, overwrite, write, writing
from tape.ops.updates.at import At, ufunc_at
from tape.ops.updates.overwriting import IN_PLACE


def _write_at(ufunc: np.ufunc, x: Any, *rest: Any) -> None:
    """Record ``ufunc.at(x, index, ...)``."""
    with writing(x):
        overwrite(x, ufunc_at(x, ufunc, *rest))


def _write_function(x: Any, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Record ``func(..., out=x)``."""
    with writing(x):
        overwrite(x, func(*args, **kwargs))
    return x


def _writer(new_value: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that writes to a Var, given the one that returns its new value."""

    def write_over(x: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        with writing(x):
            overwrite(x, new_value(*args, **kwargs), "unsafe")

    return write_over


def _write_ufunc(
    ufunc: np.ufunc,
    method: str,
    name: str,
    inputs: tuple[Any, ...],
    out: tuple[Any, ...],
    where: Any = True,
    casting: str = "same_kind",
    **kwargs: Any,
) -> Any:
    """Record ``ufunc(..., out=...)``, or a method of a ufunc with ``out=``."""
    if not all(x is None or isinstance(x, Handle) for x in out):
        refuse_plain(name)
    is_plain_call = method == "__call__" and ufunc.signature is None
    if where is not True:
        if not is_plain_call:
            kwargs["where"] = where
        else:  # what is not asked for may have no value, and then no derivative: other operands are put there
            harmless = 2 if ufunc is np.arccosh else 0.5
            inputs = tuple(map(as_operand, inputs))
            if any(np.result_type(plain(x)).kind in "fc" for x in inputs):
                inputs = tuple([_where_asked(where, x, harmless) for x in inputs])
    with writing(next(x for x in out if x is not None)):
        results = getattr(ufunc, method)(*inputs, **kwargs)
        results = list(results) if isinstance(results, tuple) else [results]
        for k, x in enumerate(out):
            if x is not None:
                if where is not True and is_plain_call:
                    results[k] = ops.where(where, results[k], x)
                check_fits(x, results[k], casting, repeats=is_plain_call)
        for k, x in enumerate(out):
            if x is not None:
                overwrite(x, results[k], casting, repeats=is_plain_call)
                results[k] = x
    return results[0] if len(results) == 1 else tuple(results)


def _where_asked(where: Any, x: Any, harmless: float) -> Any:
    is_float = np.result_type(plain(x)).kind in "fc"
    return ops.where(where, x, np.result_type(plain(x)).type(harmless if is_float else 1))


OPERATIONS.update(
    {
        np.ufunc.at: At,  # x.at[index].add(...)
        operator.setitem: write,
        operator.iadd: augmented(ops.add, added=lambda y: y),
        operator.isub: augmented(ops.subtract, added=ops.negative),
        operator.imul: augmented(ops.multiply),
        operator.itruediv: augmented(ops.divide),
        operator.ifloordiv: augmented(ops.floor_divide),
        operator.imod: augmented(ops.remainder),
        operator.ipow: augmented(ops.power),
        operator.imatmul: augmented(ops.matmul),
        operator.iand: augmented(ops.bitwise_and),
        operator.ior: augmented(ops.bitwise_or),
        operator.ixor: augmented(ops.bitwise_xor),
        operator.ilshift: augmented(ops.left_shift),
        operator.irshift: augmented(ops.right_shift),
    }
)
WRITERS.update({function: _writer(new_value) for function, new_value in IN_PLACE.items()})
INTERNAL.update(write_at=_write_at, write_function=_write_function, write_ufunc=_write_ufunc)
