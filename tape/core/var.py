"""Var: what makes a handle behave like an ndarray.

Operators and NumPy's protocols are syntax here: each looks up its operation in the table (`tape.core.table`).
Nothing is computed here. Methods and attributes are in `tape.core.var_methods`, those that write in
`tape.core.var_writing`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tape import errors
from tape.conversion.foreign import is_sparse
from tape.conversion.numbers import check_hash
from tape.core.absent import lacking
from tape.core.interpreter import OPEN
from tape.core.nesting import shown
from tape.core.node import snapshot
from tape.core.numpy_protocol import call_function, call_ufunc, called_otherwise, note_options
from tape.core.operands import other_operand
from tape.core.table import INTERNAL, OPERATIONS
from tape.core.var_methods import binary, reflected, unary
from tape.core.var_writing import InPlaceMethods
from tape.inplace.aliases import Stale
from tape.inspect.words import short

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


def _instead(name: str) -> str:
    otherwise = f"Write it with what tape.ops has, or use .value.{name} where no derivative is needed"
    return f"a Var has no {name!r}. {_ELSEWHERE.get(name, otherwise)}"


@lacking([*_ELSEWHERE, *dir(np.ndarray)], _instead)
class Var(InPlaceMethods):
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
    __pandas_priority__ = 5000
    """More than that of a table, which therefore leaves operators to the Var; it could not hold one."""

    # ---- what it is --------------------------------------------------------------------------

    @property
    def value(self) -> Any:
        """The number or array itself, read-only unless it is that of a leaf; a Var when nested."""
        value = self.node.value
        if type(value) is not np.ndarray or self.node.op is None:
            return snapshot(value)
        value = value.view()
        value.flags.writeable = False
        return value

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
        return f"Var({short(shown(self))}{name}, id={self.id})"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if hasattr(type(self), name)]

    def __hash__(self) -> int:  # by identity, so that Vars can be keys
        check_hash(self)
        return object.__hash__(self)

    # ---- operators -----------------------------------------------------------------------------

    # What the table has for a ufunc returns NotImplemented where the other operand is to compute.
    __add__, __radd__ = binary(np.add), reflected(np.add)
    __sub__, __rsub__ = binary(np.subtract), reflected(np.subtract)
    __mul__, __rmul__ = binary(np.multiply), reflected(np.multiply)
    __truediv__, __rtruediv__ = binary(np.divide), reflected(np.divide)
    __floordiv__, __rfloordiv__ = binary(np.floor_divide), reflected(np.floor_divide)
    __mod__, __rmod__ = binary(np.remainder), reflected(np.remainder)
    __pow__, __rpow__ = binary(operator.pow), reflected(operator.pow)
    __and__, __rand__ = binary(np.bitwise_and), reflected(np.bitwise_and)
    __or__, __ror__ = binary(np.bitwise_or), reflected(np.bitwise_or)
    __xor__, __rxor__ = binary(np.bitwise_xor), reflected(np.bitwise_xor)
    __lshift__, __rlshift__ = binary(np.left_shift), reflected(np.left_shift)
    __rshift__, __rrshift__ = binary(np.right_shift), reflected(np.right_shift)

    __lt__ = binary(np.less)
    __le__ = binary(np.less_equal)
    __gt__ = binary(np.greater)
    __ge__ = binary(np.greater_equal)

    __neg__ = unary(np.negative)
    __pos__ = unary(np.positive)
    __abs__ = unary(np.absolute)
    __invert__ = unary(np.invert)

    def __matmul__(self, other: Any) -> Var:
        if type(other) not in (np.ndarray, type(self)) and is_sparse(other):
            return INTERNAL["product with a sparse array"](other, self, False)
        return OPERATIONS[np.matmul](self, other)

    def __rmatmul__(self, other: Any) -> Var:
        if type(other) not in (np.ndarray, type(self)) and is_sparse(other):
            return INTERNAL["product with a sparse array"](other, self, True)
        return OPERATIONS[np.matmul](other, self)

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

    # ---- NumPy's protocols -----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = OPERATIONS.get(ufunc)
        if function is not None and method == "__call__" and not kwargs:
            return function(*inputs)
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if OPEN:
            note_options(*args, **kwargs)
        function = OPERATIONS.get(func)
        if function is None or "out" in kwargs:
            return call_function(func, args, kwargs, self)
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            return called_otherwise(function, "", args, kwargs, func, error)


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
