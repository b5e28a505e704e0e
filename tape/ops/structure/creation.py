"""Arrays made from differentiated numbers: constant arrays and grids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape.core.node import Handle, plain
from tape.core.op import Op
from tape.core.operands import as_operand
from tape.core.table import INTERNAL, implements
from tape.errors import OptionError
from tape.inplace.aliases import memory_of
from tape.inspect.costs import declare_cost, free
from tape.inspect.samples import declare_samples
from tape.ops.structure.layout import copy, own, slowest_first
from tape.ops.structure.repeating import broadcast_arrays
from tape.ops.structure.shape import as_dtype, as_shape, astype, broadcast_to, reshape

__all__ = ["empty_like", "full_like", "meshgrid", "ones_like", "zeros_like"]

declare_samples(
    "np.copy, np.ones_like, np.zeros_like(x)",
    "np.empty_like(x, shape=0)",
    "np.full_like(x, c)",
    "np.meshgrid(u, v)",
)

_copied = copy  # `copy` is an argument of `meshgrid`


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: int | tuple[int, ...] | None = None,
) -> Any:
    """Return an array of the shape and dtype of another, filled with a differentiated value.

    Parameters
    ----------
    a : array_like or Var
        Array of which only shape and dtype are used.
    fill_value : array_like or Var
        Broadcasts to the shape.
    dtype : dtype_like, optional
        Another dtype.
    order, subok
        The memory layout, and whether a plain array is of the subclass of ``a``; see NumPy.
    shape : int or sequence of int, optional
        Another shape.

    Returns
    -------
    numpy.ndarray or Var

    Raises
    ------
    ShapeError
        If ``fill_value`` does not broadcast.
    DTypeError
        If ``dtype`` holds neither numbers nor bools.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.full_like(np.zeros(2), 3.0)
    array([3., 3.])
    """
    lengths = np.shape(a) if shape is None else as_shape(shape)
    if dtype is None:
        dtype = a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype
    kind = as_dtype("full_like", dtype)
    filled = broadcast_to(fill_value, lengths)
    if isinstance(filled, Handle):
        memory = memory_of(a) if isinstance(a, Handle) else np.asarray(a)
        like = np.empty_like(memory, bool, order, subok=False, shape=lengths)  # type: ignore[call-overload]
        return own(astype(filled, kind, copy=False), slowest_first(like))
    return np.full_like(plain(a), fill_value, kind, order, subok, lengths)  # type: ignore[call-overload]


def _batch_beside(op: Any, operands: Any, is_batched: Any, attrs: dict[str, Any], size: int) -> Any:
    x, array = operands
    shape = (size, *array.shape)
    if isinstance(array, Handle):  # where the operation runs again
        return copy(broadcast_to(array, shape))
    values = np.array(np.broadcast_to(array, shape))
    return beside(x, values) if isinstance(x, Handle) else values


beside_op = Op(
    lambda x, array: np.array(array, order="K"),
    name="beside",
    batch=_batch_beside,
    lower=lambda b, x, array: b.value(array),
)
declare_cost(free, beside_op)


def beside(x: Any, array: np.ndarray) -> Any:
    """Record a plain array as a Var on the trace of another one, to be written to; it is a constant.

    Parameters
    ----------
    x : Var
        Var of which only the trace is used.
    array : numpy.ndarray
        Copied.

    Returns
    -------
    Var

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.ops.structure.creation import beside
    >>> tr = tape.Trace()
    >>> beside(tr.param(1.0), np.zeros(2))
    Var([0. 0.], id=1)
    """
    return beside_op(x, array)


INTERNAL["beside"] = beside


def _uniform_like(make: Callable[..., np.ndarray], what: str) -> Callable[..., Any]:
    def like(
        a: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: int | tuple[int, ...] | None = None,
        *,
        device: str | None = None,
    ) -> Any:
        array = make(plain(a), dtype, order, subok, shape, device=device)
        return beside(a, array) if isinstance(a, Handle) else array

    like.__name__ = like.__qualname__ = f"{what}_like"
    like.__doc__ = f"""An array of {what} with the shape and dtype of another; beside a Var, to be written to.

    Arguments are NumPy's.

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace()
    >>> x = tr.param([1.0, 2.0])
    >>> y = tape.ops.{what}_like(x)
    >>> y[0] = 3 * x[1]
    >>> float(y[0])
    6.0
    """
    return implements(getattr(np, like.__name__))(like)


zeros_like = _uniform_like(np.zeros_like, "zeros")
ones_like = _uniform_like(np.ones_like, "ones")
empty_like = _uniform_like(np.zeros_like, "empty")  # uninitialized memory must not get into programs


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Return the coordinates of the points of a grid, from those along its axes.

    Parameters
    ----------
    *xi : array_like or Var
        One axis each.
    copy : bool
        Whether plain arrays get memory of their own.
    sparse : bool
        Whether to leave them at length one along the other axes, to be broadcast later.
    indexing : {"xy", "ij"}
        Whether the first two axes of the grid are exchanged.

    Returns
    -------
    tuple of numpy.ndarray or Var
        A list with ``sparse`` and without ``copy``, as in NumPy.

    Raises
    ------
    OptionError
        If ``indexing`` is another one.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.ops.meshgrid([1.0, 2.0], [5.0, 6.0])
    (array([[1., 2.],
           [1., 2.]]), array([[5., 5.],
           [6., 6.]]))
    """
    if indexing not in ("xy", "ij"):
        raise OptionError(f"meshgrid: indexing={indexing!r}. It must be 'xy' or 'ij'")
    operands = [as_operand(x) for x in xi]
    order = list(range(len(operands)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    lines = [reshape(x, tuple(-1 if k == place else 1 for k in order)) for place, x in enumerate(operands)]
    grids = lines if sparse else broadcast_arrays(*lines)
    if copy:
        return tuple(_copied(grid, "C") for grid in grids)
    return grids if sparse else tuple(grids)
