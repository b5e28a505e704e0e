"""What makes an array of something: of plain data NumPy's own, of Vars and nested lists of Vars recorded."""

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
from tape.inplace.aliases import memory_of

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "check_device",
    "holds_vars",
    "or_numpy",
    "require",
    "starts_with_var",
]

Shape = tuple[int, ...]

_ORDERS = {"C": {"C", "CONTIGUOUS", "C_CONTIGUOUS"}, "F": {"F", "FORTRAN", "F_CONTIGUOUS"}}
_OWN = {"O", "OWNDATA"}
"""What `require` can be asked for, in NumPy's words."""


# ---- nested lists ----------------------------------------------------------------------------------


def holds_vars(nested: Any) -> bool:
    """Whether this is a list or tuple in which, at any depth, there is a Var."""
    return isinstance(nested, (list, tuple)) and any(
        isinstance(part, Handle) or holds_vars(part) for part in nested
    )


def starts_with_var(nested: Any) -> bool:
    """Whether the first element of a nested list is a Var: asked first, as an exception costs much more."""
    while isinstance(nested, (list, tuple)) and nested:
        nested = nested[0]
    return isinstance(nested, Handle)


def joined(nested: Sequence[Any]) -> Any:
    """A nested list of Vars and numbers as one array: where they are of one shape, by a single `stack`."""
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
    """The shape of a nested list as an array, and what is in it, in order."""
    if not isinstance(nested, (list, tuple)):
        leaf = as_operand(nested)
        return getattr(leaf, "shape", ()), [leaf]
    shape: Shape | None = None
    leaves: list[Any] = []
    for part in nested:
        of_part, inside = _leaves(part)
        if shape is not None and of_part != shape:
            raise ShapeError(
                f"a nested list is no regular array: beside parts of shape {list(shape)} there is "
                f"{describe(part)}, of shape {list(of_part)}. Make all parts of one list alike, or join them "
                "with np.concatenate or np.block"
            )
        shape = of_part
        leaves += inside
    return (len(nested), *(shape or ())), leaves


# ---- NumPy's function, or one that records ---------------------------------------------------------


def model(like: Any) -> Any:
    """What ``like=`` is to NumPy, which refuses numbers and lists there: those make plain arrays.

    Examples
    --------
    >>> import tape.numpy as np
    >>> np.zeros(2, like=3.0), np.full(2, 1.0, like=3.0)
    (array([0., 0.]), array([1., 1.]))
    """
    return like if hasattr(like, "__array_function__") else None


def or_numpy(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have the decorated run on Vars and on nested lists of Vars, and a function of NumPy's otherwise.

    Parameters
    ----------
    function : callable
        NumPy's function of the same signature.

    Returns
    -------
    callable
        The decorator. What it decorates gets a Var as its first argument.

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
                    kwargs["like"] = model(kwargs["like"])
                try:
                    return tried(function, *args, **kwargs)
                except (ConversionError, ValueError):  # NumPy may find a list ragged before it finds a Var
                    if not args or not holds_vars(args[0]):
                        return function(*args, **kwargs)
            if kwargs.get("copy", True) is False:
                raise OptionError("a list of Vars becomes an array by copying. Leave out copy=False")
            return recorded(joined(args[0]), *args[1:], **kwargs)

        return call

    return decorate


def check_device(device: Any) -> None:
    """Refuse devices other than the one there is."""
    if device not in (None, "cpu"):
        raise OptionError(f"device={device!r}: there is none but 'cpu'")


def lies_in(a: Any, order: str | None) -> bool:
    """Whether an array of NumPy's in the place of a Var would lie in memory in this order."""
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
    """An array of what is given, Vars among it.

    Parameters
    ----------
    object : array_like or Var, or nested list or tuple of these
        Parts of one list have one shape.
    dtype : dtype_like, optional
        By default that to which all parts are promoted, as in NumPy.
    copy : bool, optional
        True makes an array of its own; False raises where one has to be made; None makes one where needed.
    order, subok
        How it lies in memory, and whether a plain array may be of a subclass.
    ndmin : int
        How many axes there are at least; new ones are put in front.
    ndmax : int
        How many there are at most, where NumPy has this option; 0 for no limit. NumPy makes arrays of
        lists of what is nested deeper.
    like : array_like or Var, optional
        Makes no difference where there is a Var already.

    Returns
    -------
    numpy.ndarray or Var
        A Var if there is a Var anywhere.

    Raises
    ------
    ShapeError
        If parts of a list that holds a Var differ in shape, or there are more axes than ``ndmax``.
    DTypeError
        If such a list holds anything but numbers, or ``dtype`` is no type of numbers.
    OptionError
        If ``copy`` is False for such a list, or another dtype or order takes a copy.

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
    if (copy and converted is object) or not lies_in(converted, order):
        converted = ops.copy(converted, order or "K")
    if copy is False and converted is not object:
        raise OptionError("array: another dtype or order takes a copy, and copy=False forbids one")
    if 0 < ndmax < converted.ndim:
        raise ShapeError(f"array: {describe(converted)} has more axes than ndmax={ndmax}. Leave that out")
    missing = ndmin - converted.ndim
    return ops.reshape(converted, (1,) * missing + converted.shape) if missing > 0 else converted


def _asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    """What is given as an array, as it is if it is one; arguments and errors as `array`.

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
    """What is given as an array of one axis at least, in C order.

    Arguments and errors as `array`.

    Examples
    --------
    >>> import tape, tape.numpy as np
    >>> tr = tape.Trace()
    >>> np.ascontiguousarray(tr.param(1.0)).shape
    (1,)
    """
    return array(a, dtype, copy=None, order="C", ndmin=1)


def _fortran(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """The same in Fortran order."""
    return array(a, dtype, copy=None, order="F", ndmin=1)


ascontiguousarray = or_numpy(np.ascontiguousarray)(_contiguous)
asfortranarray = or_numpy(np.asfortranarray)(_fortran)


@or_numpy(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Any:
    """`asarray` that refuses NaN and infinity.

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
        raise OptionError(f"asarray_chkfinite: {a!r} holds NaN or infinity. Look for where they come from")
    return array(a, dtype, copy=None, order=order)


@or_numpy(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """What is given as an array with certain properties: of a Var, its dtype and order in memory.

    Parameters
    ----------
    a : array_like or Var, or nested list of these
        Any shape.
    dtype : dtype_like, optional
        As for `array`.
    requirements : str or sequence of str, optional
        How a plain array lies in memory; see NumPy.
    like : array_like or Var, optional
        Makes no difference where there is a Var already.

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
        raise OptionError("require: an array does not lie in C order and in Fortran order")
    return array(a, dtype, copy=bool(wanted & _OWN) or None, order=orders[0] if orders else None)
