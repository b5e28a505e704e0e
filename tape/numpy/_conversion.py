"""Conversion to arrays: by NumPy for plain data, recorded for Vars and nested lists of Vars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from tape import ops
from tape.conversion.numbers import tried
from tape.core.node import Handle
from tape.core.operands import as_operand
from tape.errors import ConversionError, OptionError, ShapeError, describe
from tape.inplace.aliases import layout_matters, memory_of
from tape.ops.structure.layout import of_kind

Shape = tuple[int, ...]

_ORDERS = {"C": {"C", "CONTIGUOUS", "C_CONTIGUOUS"}, "F": {"F", "FORTRAN", "F_CONTIGUOUS"}}
_OWN = {"O", "OWNDATA"}
"""The requirements that `require` accepts, as NumPy spells them."""


# ---- nested lists ----------------------------------------------------------------------------------


def holds_vars(nested: Any) -> bool:
    """Return whether a value is a list or tuple that holds a Var at any depth."""
    return isinstance(nested, (list, tuple)) and any(
        isinstance(part, Handle) or holds_vars(part) for part in nested
    )


def starts_with_var(nested: Any) -> bool:
    """Return whether the first element of a nested list is a Var; this check is cheaper than an exception."""
    while isinstance(nested, (list, tuple)) and nested:
        nested = nested[0]
    return isinstance(nested, Handle)


def joined(nested: Sequence[Any]) -> Any:
    """Join a nested list of Vars and numbers to one array; parts of one shape by a single `stack`."""
    shape, leaves = _leaves(nested)
    if not leaves:
        return np.empty(shape)
    of_leaf = getattr(leaves[0], "shape", ())
    is_uniform = all(getattr(leaf, "shape", ()) == of_leaf for leaf in leaves)
    if is_uniform and prod(shape[: len(shape) - len(of_leaf)]) == len(leaves):
        stacked = ops.stack(leaves)
        return stacked if stacked.shape == shape else ops.reshape(stacked, shape)
    # A list of numbers beside an array of as many.
    return ops.stack([joined(part) if isinstance(part, (list, tuple)) else part for part in nested])


def _leaves(nested: Any) -> tuple[Shape, list[Any]]:
    """Return the shape of a nested list as an array, and its leaves in order."""
    if not isinstance(nested, (list, tuple)):
        leaf = as_operand(nested)
        return getattr(leaf, "shape", ()), [leaf]
    shape: Shape | None = None
    leaves: list[Any] = []
    for part in nested:
        of_part, inside = _leaves(part)
        if shape is not None and of_part != shape:
            raise ShapeError(
                f"a nested list is not a regular array: beside parts of shape {list(shape)} there is "
                f"{describe(part)}, of shape {list(of_part)}. Give all parts of one list the same shape, or "
                "join them with np.concatenate or np.block"
            )
        shape = of_part
        leaves += inside
    return (len(nested), *(shape or ())), leaves


# ---- NumPy's function, or one that records ---------------------------------------------------------


def numpy_like(like: Any) -> Any:
    """Return the ``like=`` to pass to NumPy, which refuses numbers and lists: None for these.

    Examples
    --------
    >>> import tape.numpy as np
    >>> np.zeros(2, like=3.0), np.full(2, 1.0, like=3.0)
    (array([0., 0.]), array([1., 1.]))
    """
    return like if hasattr(like, "__array_function__") else None


def or_numpy(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run the decorated function on Vars and nested lists of Vars, and the one of NumPy otherwise.

    Parameters
    ----------
    function : callable
        NumPy's function of the same signature.

    Returns
    -------
    callable
        The decorator. The decorated function gets a Var as its first argument.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.numpy._conversion import or_numpy
    >>> float_array = or_numpy(np.asarray)(lambda a: a * 1.0)
    >>> float_array([1, 2])
    array([1, 2])
    """

    def decorate(recorded: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(recorded)
        def call(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], Handle):
                return recorded(*args, **kwargs)
            is_known = args and (starts_with_var(args[0]) or ("like" in kwargs and holds_vars(args[0])))
            if not is_known:
                if "like" in kwargs:
                    kwargs["like"] = numpy_like(kwargs["like"])
                try:
                    return tried(function, *args, **kwargs)
                except (ConversionError, ValueError):  # NumPy may find a list ragged before it finds a Var
                    if not args or not holds_vars(args[0]):
                        return function(*args, **kwargs)
            if kwargs.get("copy", True) is False:
                raise OptionError("a list of Vars needs a copy to become an array. Leave out copy=False")
            return recorded(joined(args[0]), *args[1:], **kwargs)

        return call

    return decorate


def check_device(device: Any) -> None:
    """Check that a device is the CPU."""
    if device not in (None, "cpu"):
        raise OptionError(f"device={device!r} is not available. The only device is 'cpu'")


def has_order(a: Any, order: str | None) -> bool:
    """Return whether a NumPy array in place of a Var would have this memory order."""
    layout_matters()
    flags = memory_of(a).flags
    return {"C": flags.c_contiguous, "F": flags.f_contiguous}.get(order or "K", True)


def _of_dtype(a: Any, dtype: Any) -> Any:
    return a if dtype is None else ops.astype(a, dtype, copy=False)


@or_numpy(np.array)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Any:
    """Convert to an array; the argument may be or hold Vars.

    Parameters
    ----------
    object : array_like or Var, or nested list or tuple of these
        The data; parts of one list must have the same shape.
    dtype : dtype_like, optional
        By default the one that all parts promote to, as in NumPy.
    copy : bool, optional
        True always copies; False raises if a copy is needed; None copies if needed.
    order, subok
        The memory order, and whether a plain array may be of a subclass.
    ndmin : int
        The smallest number of axes; new ones come first.
    ndmax : int
        The largest number of axes, where NumPy has this option; 0 for no limit. NumPy turns deeper levels
        into lists as elements.
    like : array_like or Var, optional
        Has no effect if there is a Var.

    Returns
    -------
    numpy.ndarray or Var
        A Var if the argument is or holds one.

    Raises
    ------
    ShapeError
        If parts of a list that holds a Var differ in shape, or there are more axes than ``ndmax``.
    DTypeError
        If such a list holds anything but numbers, or ``dtype`` is not numeric.
    OptionError
        If ``copy`` is False and such a list, another dtype or another order needs a copy.

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> x = tr.param([1.0, 2.0])
    >>> np.array([[x[0], 5], x], dtype=np.float32).value
    array([[1., 5.],
           [1., 2.]], dtype=float32)
    """
    converted = _of_dtype(object, dtype)
    if (copy and converted is object) or not has_order(converted, order):
        converted = ops.copy(converted, order or "K")
    if copy is False and converted is not object:
        raise OptionError("array: another dtype or order needs a copy, which copy=False forbids")
    if 0 < ndmax < converted.ndim:
        raise ShapeError(f"array: {describe(converted)} has more axes than ndmax={ndmax}. Leave out ndmax")
    missing = ndmin - converted.ndim
    if missing > 0:
        return ops.reshape(converted, (1,) * missing + converted.shape)
    return of_kind(converted, _ARRAY)


_ARRAY = np.zeros(())
"""Numbers become arrays without axes, which writes in place change for all names."""


def _asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    """Convert to an array, without a copy if it is one; arguments and errors as for `array`.

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> x = tr.param([1.0, 2.0])
    >>> np.asarray(x) is x
    True
    """
    check_device(device)
    return array(a, dtype, copy=copy, order=order)


asarray = or_numpy(np.asarray)(_asarray)
asanyarray = or_numpy(np.asanyarray)(_asarray)


def _contiguous(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Convert to an array of at least one axis, in C order.

    Arguments and errors as for `array`.

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> np.ascontiguousarray(tr.param(1.0)).shape
    (1,)
    """
    return array(a, dtype, copy=None, order="C", ndmin=1)


def _fortran(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """Convert to an array of at least one axis, in Fortran order."""
    return array(a, dtype, copy=None, order="F", ndmin=1)


ascontiguousarray = or_numpy(np.ascontiguousarray)(_contiguous)
asfortranarray = or_numpy(np.asfortranarray)(_fortran)


@or_numpy(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Any:
    """Convert to an array, and check that all elements are finite.

    Raises
    ------
    OptionError
        If an element of a Var is not finite.

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> x = tr.param([1.0, 2.0])
    >>> np.asarray_chkfinite(x) is x
    True
    """
    if not ops.all(ops.isfinite(a)):
        raise OptionError(
            f"asarray_chkfinite: {a!r} holds NaN or infinity. Find their origin with tape.find_nonfinite"
        )
    return array(a, dtype, copy=None, order=order)


@or_numpy(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """Convert to an array with given properties; for a Var, its dtype and memory order.

    Parameters
    ----------
    a : array_like or Var, or nested list of these
        The data, of any shape.
    dtype : dtype_like, optional
        As for `array`.
    requirements : str or sequence of str, optional
        The memory layout of a plain array; see NumPy.
    like : array_like or Var, optional
        Has no effect if there is a Var.

    Returns
    -------
    numpy.ndarray or Var

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> np.require(tr.param([1.0, 2.0]), np.float32, "C").dtype
    dtype('float32')
    """
    wanted = {str(one).upper() for one in requirements or ()}
    orders = [order for order, names in _ORDERS.items() if wanted & names]
    if len(orders) > 1:
        raise OptionError("require: C order and Fortran order exclude each other")
    return array(a, dtype, copy=bool(wanted & _OWN) or None, order=orders[0] if orders else None)
