"""Memory layout of results: the same as NumPy's, which decides which later results are views.

It only matters to in-place code (see `tape.inplace.aliases`). Where a result has the right layout already,
the check of its strides is the only cost. Where it matters to a program, that is for arguments of one layout:
see `tape.program.layouts`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors
from tape.core import pattern_rules
from tape.core.nesting import traced
from tape.core.node import Handle, plain, snapshot
from tape.core.op import Op
from tape.core.operands import as_operand, composed
from tape.core.table import INTERNAL, implements
from tape.core.weak import weak
from tape.inplace.aliases import is_array, memory_of
from tape.inspect.costs import declare_cost, free

__all__ = ["copy"]

Axes = tuple[int, ...]


def _forward(x: Any, *, order: str | Axes) -> Any:
    if isinstance(order, str):
        return np.array(x, order=order)  # type: ignore[call-overload]
    return np.array(np.transpose(x, order), order="C").transpose(np.argsort(order))


def _batch(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    order = attrs["order"]
    return op(*operands, order=order if isinstance(order, str) else (0, *(axis + 1 for axis in order)))


laid_out: Op = Op(
    _forward,
    name="copy",
    pattern=pattern_rules.moves,
    vjp=[lambda g, out, x, order: g],
    linear=True,
    batch=_batch,
    lower=lambda b, x, order: b.value(x),
    doc="A copy in one of NumPy's memory orders, or with its axes in memory in this order.",
)
declare_cost(free, laid_out)


def _memory(x: Any) -> Any:
    return memory_of(x) if isinstance(x, Handle) else np.asarray(x)


def slowest_first(a: Any, order: str = "K") -> Axes:
    """Return the axes of a copy that NumPy makes in this order, from the slowest to the fastest."""
    memory, ndim = _memory(a), np.ndim(a)
    if order == "K":
        strides = memory.strides[memory.ndim - ndim :]  # a batch has its axis in front
        return tuple(sorted(range(ndim), key=lambda axis: -abs(strides[axis])))
    is_fortran = order == "F" or (order == "A" and np.isfortran(memory))
    return tuple(range(ndim))[:: -1 if is_fortran else 1]


def slowest_read_first(a: Any) -> Axes:
    """Return the axes in the order in which NumPy takes elements as they lie in memory.

    It is the order of ``numpy.nditer``: that of strides, but axes that repeat elements stay where they are.
    """
    memory, ndim = _memory(a), np.ndim(a)
    strides = [abs(stride) for stride in memory.strides[memory.ndim - ndim :]]
    axes: list[int] = []  # the fastest first
    for axis in reversed(range(ndim)):
        place = len(axes)
        for k in reversed(range(len(axes))):
            if strides[axis] and strides[axes[k]]:
                if strides[axis] >= strides[axes[k]]:
                    break
                place = k
        axes.insert(place, axis)
    return tuple(reversed(axes))


def is_laid_out(x: Any, axes: Axes) -> bool:
    """Return whether the axes follow each other in memory like this, without gaps."""
    memory = _memory(x)
    return memory.ndim != len(axes) or memory.transpose(axes).flags.c_contiguous


def own(x: Any, axes: Axes) -> Any:
    """Return a result that shares memory with no other, with its axes in memory in this order."""
    return snapshot(x) if is_laid_out(x, axes) else laid_out(x, order=axes)


def in_c_order(value: Any) -> Any:
    """Return a result of a transform, an array in C order, whatever the order of the steps that led to it.

    Views of it, and writing to them, are then the same in programs, whose sweeps take other steps.
    """
    if isinstance(value, Handle):
        return copy(value, "C") if value.shape else value  # type: ignore[attr-defined]
    return np.asarray(value, order="C") if type(value) is np.ndarray else value


INTERNAL["in_c_order"] = in_c_order


def of_kind(value: Any, example: Any) -> Any:
    """Return a value without axes as a number or as a 0-d array, whichever another value is.

    A name bound to a number is bound anew by ``x /= 2``; the array that other names have as well is changed.
    In a compiled function a number is one of Python's if the other one is.
    """
    if np.ndim(value):
        return value
    if type(example) in (float, complex) and isinstance(found := traced(value), Handle):
        if np.ndim(plain(found)):  # one for each element of a batch
            return value[()]
        number = value[()]
        traced(number).node.value = weak(plain(found))
        return number
    is_array = type(plain(example)) is np.ndarray
    if (type(plain(value)) is np.ndarray) == is_array:
        return value
    return laid_out(value, order="C") if is_array else value[()]


@implements(np.copy)
@composed
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Return a copy of an array. A copy of a Var takes neither memory nor time, unless the layout changes.

    Nodes are never written to, so that a copy of a Var can be the Var.

    Parameters
    ----------
    a : array_like or Var
        Any shape.
    order : {"K", "C", "F", "A"}
        The memory layout.
    subok : bool
        Without effect: there are no subclasses here.

    Returns
    -------
    numpy.ndarray or Var

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.copy([1.0, 2.0])
    array([1., 2.])
    """
    a = as_operand(a)
    if not isinstance(a, Handle):
        return np.array(a, order=order)  # type: ignore[call-overload]
    if order not in ("K", "C", "F", "A", None):
        raise errors.OptionError(f"copy: order={order!r}. It must be 'K', 'C', 'F' or 'A'")
    if not is_array(a):
        return laid_out(a, order="C")  # an array without axes, which can be written to, not a scalar
    return own(a, slowest_first(a, order))
