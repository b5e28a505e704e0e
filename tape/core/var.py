"""Var: what makes a handle behave like an ndarray.

Operators, methods and NumPy's protocols are syntax here: each looks up its operation in the table
(`tape.core.table`). Nothing is computed here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from tape import errors
from tape.conversion.numbers import check_hash
from tape.core.node import plain, snapshot
from tape.core.numpy_protocol import call_function, call_ufunc, called_otherwise, create, is_creation
from tape.core.operands import other_operand
from tape.core.results import is_several, unpack
from tape.core.table import INTERNAL, OPERATIONS
from tape.core.var_methods import ArrayMethods
from tape.inplace.aliases import Stale
from tape.inspect.listing import short

_ELSEWHERE = {
    "grad": "Gradients are returned: trace.backward_param_grads(y), or tape.grad(f)(x)",
    "backward": "Call trace.backward_param_grads(y), or tape.grad(f)(x)",
    "data": "Use .value",
    "numpy": "Use .value",
    "cpu": "All arrays are on the CPU",
    "detach": "Use tape.stop_gradient(v), or .value where a plain array is wanted",
    "requires_grad": "Leaves made by trace.param are differentiated, those of trace.input are not",
    "requires_grad_": "Leaves made by trace.param are differentiated, those of trace.input are not",
    "grad_fn": "Use .node, whose op and parents say how it was made",
    "unsqueeze": "Use np.expand_dims(v, axis)",
    "permute": "Use v.transpose(axes)",
    "view": "Use v.reshape(shape), or v.astype(dtype)",
}
"""Attributes of other libraries' arrays -> what there is here."""


def _operator(key: Any) -> Callable[[Any, Any], Any]:
    """Return a method for an operator of two operands."""

    def method(self: Any, other: Any) -> Any:
        return OPERATIONS[key](self, other)

    return method


def _reflected(key: Any) -> Callable[[Any, Any], Any]:
    """Return a method for an operator of two operands, the Var being the right one."""

    def method(self: Any, other: Any) -> Any:
        return OPERATIONS[key](other, self)

    return method


def _unary(key: Any) -> Callable[[Any], Any]:
    """Return a method for an operator of one operand."""

    def method(self: Any) -> Any:
        return OPERATIONS[key](self)

    return method


class Var(ArrayMethods):
    """A recorded value: a handle to one node of a `Trace` that behaves like an ndarray.

    Vars come from `Trace.param`, `Trace.input` and every operation on them. Operators, NumPy
    functions and the usual ndarray methods record; ``==`` and its like compare element by element,
    as arrays do. A Var keeps its value but not its trace alive.

    Attributes
    ----------
    id : int
        The position of the node on the tape.
    node : Node
        The node itself.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> x = tr.param(np.array([1.0, 4.0]), name="x")
    >>> np.sqrt(x) + 1
    Var([2. 3.], id=2)
    """

    __slots__ = ()

    # ---- what it is --------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The number or array itself, by reference; a Var of the enclosing trace when nested."""
        return snapshot(self.node.value)

    @property
    def name(self) -> str | None:
        """The name in messages, listings and pictures; set it to give the node another one, None for none."""
        return self.node.name

    @name.setter
    def name(self, name: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise errors.OptionError(f"the name of a Var is {name!r}. Give it a string, or None")
        self.node.name = name

    def __repr__(self) -> str:
        if isinstance(self.node, Stale):
            return f"Var({self.node!r}, id={self.id})"
        name = f", name={self.name!r}" if self.name else ""
        return f"Var({short(self.node.value)}{name}, id={self.id})"

    def __len__(self) -> int:
        if not self.ndim:
            if is_several(self):
                return len(plain(self))
            raise errors.ConversionError(f"{self!r} has no axes, and so no length and no elements")
        return self.shape[0]

    def __getattr__(self, name: str) -> NoReturn:
        if name in _ELSEWHERE:
            raise errors.MissingAttributeError(f"a Var has no {name!r}. {_ELSEWHERE[name]}")
        if hasattr(np.ndarray, name) and not name.startswith("_"):
            raise errors.MissingAttributeError(
                f"a Var has no {name!r}. Write it with what tape.ops has, or use .value.{name} where no "
                "derivative is needed"
            )
        raise AttributeError(f"a Var has no {name!r}")

    def __copy__(self) -> Var:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Var:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise errors.ConversionError(f"{self!r} belongs to its trace and cannot be pickled. Save its .value")

    def __iter__(self) -> Iterator[Var]:
        if is_several(self):
            return iter(unpack(self))
        return (self[i] for i in range(len(self)))

    def __hash__(self) -> int:  # by identity, so that Vars can be keys
        check_hash(self)
        return object.__hash__(self)

    # ---- operators -----------------------------------------------------------------------------

    # What the table has for a ufunc returns NotImplemented where the other operand is to compute.
    __add__, __radd__ = _operator(np.add), _reflected(np.add)
    __sub__, __rsub__ = _operator(np.subtract), _reflected(np.subtract)
    __mul__, __rmul__ = _operator(np.multiply), _reflected(np.multiply)
    __truediv__, __rtruediv__ = _operator(np.divide), _reflected(np.divide)
    __floordiv__, __rfloordiv__ = _operator(np.floor_divide), _reflected(np.floor_divide)
    __mod__, __rmod__ = _operator(np.remainder), _reflected(np.remainder)
    __pow__, __rpow__ = _operator(np.power), _reflected(np.power)
    __matmul__, __rmatmul__ = _operator(np.matmul), _reflected(np.matmul)
    __and__, __rand__ = _operator(np.bitwise_and), _reflected(np.bitwise_and)
    __or__, __ror__ = _operator(np.bitwise_or), _reflected(np.bitwise_or)
    __xor__, __rxor__ = _operator(np.bitwise_xor), _reflected(np.bitwise_xor)
    __lshift__, __rlshift__ = _operator(np.left_shift), _reflected(np.left_shift)
    __rshift__, __rrshift__ = _operator(np.right_shift), _reflected(np.right_shift)

    __lt__ = _operator(np.less)
    __le__ = _operator(np.less_equal)
    __gt__ = _operator(np.greater)
    __ge__ = _operator(np.greater_equal)

    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)

    def __round__(self, ndigits: int = 0) -> Var:
        return OPERATIONS[np.round](self, ndigits)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        is_theirs = other_operand(other) is NotImplemented
        return NotImplemented if is_theirs else OPERATIONS[np.divmod](self, other)

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        is_theirs = other_operand(other) is NotImplemented
        return NotImplemented if is_theirs else OPERATIONS[np.divmod](other, self)

    def __eq__(self, other: object) -> Var:  # type: ignore[override]
        is_theirs = other is None or isinstance(other, str)
        return NotImplemented if is_theirs else OPERATIONS[np.equal](self, other)

    def __ne__(self, other: object) -> Var:  # type: ignore[override]
        is_theirs = other is None or isinstance(other, str)
        return NotImplemented if is_theirs else OPERATIONS[np.not_equal](self, other)

    def __getitem__(self, index: Any) -> Var:
        if type(index) is int and is_several(self):
            return unpack(self)[index]
        return OPERATIONS[operator.getitem](self, index)

    # ---- writing: the handle moves on to another node ----------------------------------------------

    def __setitem__(self, index: Any, value: Any) -> None:
        OPERATIONS[operator.setitem](self, index, value)

    def __delitem__(self, index: Any) -> NoReturn:
        raise errors.InPlaceError(f"{self!r} keeps its shape. Use np.delete, which makes a new array")

    __iadd__ = _operator(operator.iadd)
    __isub__ = _operator(operator.isub)
    __imul__ = _operator(operator.imul)
    __itruediv__ = _operator(operator.itruediv)
    __ifloordiv__ = _operator(operator.ifloordiv)
    __imod__ = _operator(operator.imod)
    __ipow__ = _operator(operator.ipow)
    __imatmul__ = _operator(operator.imatmul)
    __iand__ = _operator(operator.iand)
    __ior__ = _operator(operator.ior)
    __ixor__ = _operator(operator.ixor)
    __ilshift__ = _operator(operator.ilshift)
    __irshift__ = _operator(operator.irshift)

    @property
    def at(self) -> Any:
        """Updates that return a new array: ``x.at[index].set(v)``, and ``add``, ``multiply``, ``min``, ..."""
        return OPERATIONS[np.ufunc.at](self)

    def fill(self, value: Any) -> None:
        """Write one number over all elements."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        """Write the elements over themselves in the order of `numpy.sort`."""
        INTERNAL["write_function"](self, np.sort, (self, axis, kind, order), {"stable": stable})

    def partition(self, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None) -> None:
        """Write the elements over themselves in the order of `numpy.partition`."""
        INTERNAL["write_function"](self, np.partition, (self, kth, axis, kind, order), {})

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Write at positions counted in C order, as `numpy.put` does."""
        np.put(self, indices, values, mode)  # type: ignore[arg-type]

    # ---- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = OPERATIONS.get(ufunc)
        if function is not None and method == "__call__" and not kwargs:
            return function(*inputs)
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        function = OPERATIONS.get(func)
        if function is not None and "out" not in kwargs:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                return called_otherwise(function, "", args, kwargs, func, error)
        if function is None and is_creation(func):  # with ``like=self``
            return create(self, func, args, kwargs)
        return call_function(func, args, kwargs)


def named(x: Any, name: str) -> Any:
    """Give an intermediate value a name, and return it.

    Parameters
    ----------
    x : Var or array_like
        A plain array or number is returned as it is: the same code computes without a trace.
    name : str
        For messages, listings and pictures.

    Returns
    -------
    Var or array_like
        ``x`` itself.

    Raises
    ------
    OptionError
        If the name is no string.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tr = tape.Trace()
    >>> h = tape.named(np.tanh(tr.param(0.0, name="x")), "h")
    >>> h
    Var(0.0, name='h', id=1)
    """
    if not isinstance(name, str):
        raise errors.OptionError(f"a name is {name!r}. Give a string")
    if isinstance(x, Var):
        x.name = name
    return x
