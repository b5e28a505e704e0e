"""Gradients of functions that return one real number, and of sums."""

from __future__ import annotations

import inspect
import math
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from tape import errors, transforms, tree
from tape.compat.autograd.wrap_util import Argnum, checked_argnum, unary_to_nary
from tape.transforms._record import check_callable, dtype_of, name_of

Function = Callable[..., Any]


def grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of ``fun``.

    Parameters
    ----------
    fun : callable
        NumPy code that returns one real number, in an array of any shape.
    argnum : int or tuple of int
        The argument to differentiate with respect to: floats or complex numbers, arrays of these, or dicts,
        lists and tuples of them.

    Returns
    -------
    callable
        A function with the arguments of ``fun``. It returns the gradient, in the form of the argument; a
        tuple if ``argnum`` is one.

    Raises
    ------
    UnsupportedError
        When called, if the result is not one real number.
    DTypeError
        When called, if the argument holds integers.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import grad
    >>> grad(lambda p, x: np.sum(p["w"] * x, keepdims=True))({"w": np.ones(2)}, np.array([3.0, 4.0]))
    {'w': array([3., 4.])}
    """
    checked_argnum(argnum)
    return transforms.grad(of_one_number(fun, "grad"), argnum)


def value_and_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the pair of the value of ``fun``, as it is, and its gradient.

    Parameters and errors as for `grad`.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import value_and_grad
    >>> value_and_grad(lambda x: x**2)(np.array([3.0]))
    (array([9.]), array([6.]))
    """
    checked_argnum(argnum)
    check_callable(fun, "value_and_grad")

    def with_value(*args: Any, **kwargs: Any) -> Any:
        out = fun(*args, **kwargs)
        return _one_number(out, fun, "value_and_grad"), out

    with_value.__name__ = name_of(fun)
    both = transforms.value_and_grad(with_value, argnum, has_aux=True)

    def call(*args: Any, **kwargs: Any) -> Any:
        (_, value), gradient = both(*args, **kwargs)
        return value, gradient

    return call


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> Any:
    """Return a function that computes the gradient of the first result of ``fun``, and the second result.

    ``fun`` returns a pair: an array, of whose sum the gradient is, and anything else.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import grad_and_aux
    >>> grad_and_aux(lambda x: (np.sum(x**2), 10 * x))(np.array([1.0, 2.0]))
    (array([2., 4.]), array([10., 20.]))
    """

    def pair(x: Any) -> Any:
        return tuple(fun(x))

    pair.__name__ = name_of(fun)
    out, pullback, aux = transforms.vjp(pair, x, has_aux=True)
    return pullback(ones_like(out))[0], aux


def elementwise_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the sum of the rows of the Jacobian, in one pass.

    For an elementwise function, that is its derivative. Parameters as for `grad`; the result has any shape.

    Raises
    ------
    DTypeError
        When called, if the result is complex, or the argument holds integers.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import elementwise_grad
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    checked_argnum(argnum)
    return transforms.elementwise_grad(fun, argnum)


def holomorphic_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the derivative of a holomorphic function to one complex number.

    Parameters as for `grad`. Warns if the argument is real.

    Examples
    --------
    >>> from tape.compat.autograd import holomorphic_grad
    >>> holomorphic_grad(lambda z: z**2)(1 + 2j)
    np.complex128(2+4j)
    """
    check_callable(fun, "holomorphic_grad")
    positions = checked_argnum(argnum)

    def real(*args: Any, **kwargs: Any) -> Any:
        return np.real(fun(*args, **kwargs))

    real.__name__ = name_of(fun)
    gradient = transforms.grad(of_one_number(real, "holomorphic_grad"), argnum)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [args[p] for p in positions if -len(args) <= p < len(args)]
        if not any(dtype_of(leaf).kind == "c" for leaf in tree.leaves(given)):
            warnings.warn("Input to holomorphic_grad is not complex", stacklevel=2)
        return gradient(*args, **kwargs)

    return call


def grad_named(fun: Function, argname: str) -> Function:
    """Return `grad` of a function with respect to the argument of a name, passed by position.

    Raises
    ------
    OptionError
        If there is no such argument.

    Examples
    --------
    >>> from tape.compat.autograd import grad_named
    >>> float(grad_named(lambda x, y: x * y**2, "y")(1.0, 3.0))
    6.0
    """
    names = inspect.getfullargspec(fun).args
    if argname not in names:
        raise errors.OptionError(
            f"grad_named: {name_of(fun)} has no argument {argname!r}{errors.near(argname, names)}. Its "
            f"arguments by position are {', '.join(names) or 'none'}"
        )
    return grad(fun, names.index(argname))


def multigrad_dict(fun: Function) -> Function:
    """Return a function that computes the gradients with respect to all arguments, by their names.

    Defaults count as arguments; further positional arguments are a tuple, further keyword arguments a dict.

    Examples
    --------
    >>> from tape.compat.autograd import multigrad_dict
    >>> gradients = multigrad_dict(lambda x, y=2.0: x * y)(3.0)
    >>> {name: float(g) for name, g in gradients.items()}
    {'x': 2.0, 'y': 3.0}
    """
    check_callable(fun, "multigrad_dict")
    signature = inspect.signature(fun)

    def of_dict(arguments: dict[str, Any]) -> Any:
        bound = inspect.BoundArguments(signature, OrderedDict(arguments))
        return fun(*bound.args, **bound.kwargs)

    of_dict.__name__ = name_of(fun)
    gradient = transforms.grad(of_one_number(of_dict, "multigrad_dict"))

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        found = gradient(dict(bound.arguments))
        return OrderedDict((name, found[name]) for name in bound.arguments)

    return call


# ---- one number ------------------------------------------------------------------------------------


def of_one_number(fun: Function, operator: str) -> Function:
    """Return the function with its result as a scalar."""
    check_callable(fun, operator)

    def scalar(*args: Any, **kwargs: Any) -> Any:
        return _one_number(fun(*args, **kwargs), fun, operator)

    scalar.__name__ = name_of(fun)
    return scalar


def _one_number(out: Any, fun: Function, operator: str) -> Any:
    """Return the only number of a result, as a scalar."""
    is_array = tree.structure(out) is tree.LEAF
    if not is_array or math.prod(np.shape(out)) != 1 or dtype_of(out).kind == "c":
        found = errors.describe(out) if is_array else tree.describe(tree.structure(out))
        raise errors.UnsupportedError(
            f"{operator}: {name_of(fun)} returned {found}. It must return one "
            + (
                "number; otherwise use jacobian"
                if operator == "holomorphic_grad"
                else "real number; otherwise use jacobian, elementwise_grad or holomorphic_grad"
            )
        )
    return np.reshape(out, ()) if np.shape(out) else out


def ones_like(values: Any) -> Any:
    """Return a tree of ones; of complex numbers the sum of both units, as in autograd."""

    def ones(leaf: Any) -> Any:
        dtype = dtype_of(leaf)
        return np.full(np.shape(leaf), 1 + 1j if dtype.kind == "c" else 1, dtype)[()]

    return tree.map(ones, values)
