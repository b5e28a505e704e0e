"""The operators of autograd: those of `tape.transforms`, with autograd's arguments and results."""

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

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

Function = Callable[..., Any]


# ---- gradients -------------------------------------------------------------------------------------


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
    return transforms.grad(_of_one_number(fun, "grad"), argnum)


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
    return pullback(_ones(out))[0], aux


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
    gradient = grad(real, argnum)

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
    gradient = grad(of_dict)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        found = gradient(dict(bound.arguments))
        return OrderedDict((name, found[name]) for name in bound.arguments)

    return call


# ---- products --------------------------------------------------------------------------------------


@unary_to_nary
def make_vjp(fun: Function, x: Any) -> Any:
    """Return a function that records ``fun`` at a point.

    Called with the arguments of ``fun``, it returns a pair: ``vjp(g)``, the product of a vector like the
    result and the Jacobian, and the result.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import make_vjp
    >>> vjp, value = make_vjp(np.sin)(np.zeros(2))
    >>> vjp(np.array([1.0, 10.0]))
    array([ 1., 10.])
    """
    value, pullback = transforms.vjp(fun, x)

    def vjp(g: Any) -> Any:
        return pullback(g)[0]

    return vjp, value


@unary_to_nary
def make_jvp(fun: Function, x: Any) -> Any:
    """Return a function that takes the arguments of ``fun``, and returns its product with vectors.

    That is ``jvp(v)``, which returns a pair: the result, and the Jacobian times v.

    Examples
    --------
    >>> from tape.compat.autograd import make_jvp
    >>> value, slope = make_jvp(lambda x, y: x * y, 1)(3.0, 4.0)(1.0)
    >>> float(value), float(slope)
    (12.0, 3.0)
    """

    def jvp(v: Any) -> Any:
        return transforms.jvp(fun, (x,), (v,))

    return jvp


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Any:
    """Return a function that takes the arguments of ``fun``, and returns ``v -> J @ v``."""
    _, pushed = transforms.linearize(fun, x)

    def jvp(v: Any) -> Any:
        return pushed(v)

    return jvp


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> Any:
    """Return a function that records the gradient of ``fun`` at a point.

    Called with the arguments of ``fun``, it returns a pair: ``hvp(v)``, the Hessian times a vector, and the
    gradient.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import make_hvp
    >>> hvp, gradient = make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    >>> hvp(np.ones(2)), gradient
    (array([ 6., 12.]), array([ 3., 12.]))
    """
    value, pullback = transforms.vjp(grad(fun), x)

    def hvp(v: Any) -> Any:
        return pullback(v)[0]

    return hvp, value


@unary_to_nary
def _ggnvp(fun: Function, x: Any, loss: Function) -> Any:
    out, pullback = transforms.vjp(fun, x)
    _, pushed = transforms.linearize(fun, x)
    curvature, _ = make_hvp(loss)(out)

    def ggnvp(v: Any) -> Any:
        return pullback(curvature(pushed(v)))[0]

    return ggnvp


def _half_squares(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_squares, f_argnum: Argnum = 0) -> Function:
    """Return a function that takes the arguments of ``f``, and returns the generalised Gauss-Newton product.

    That is ``v -> J.T @ H @ J @ v``, with the Jacobian of ``f`` and the Hessian of ``g`` at its result, which
    is half the sum of squares by default.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import make_ggnvp
    >>> make_ggnvp(np.square)(np.array([1.0, 2.0]))(np.ones(2))
    array([ 4., 16.])
    """
    check_callable(g, "make_ggnvp")
    return _ggnvp(f, f_argnum, g)


def hessian_tensor_product(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function ``(*args, v)`` that multiplies the Hessian of ``fun`` with v.

    v has the form of the argument. Parameters and errors as for `grad`.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import hessian_tensor_product
    >>> hessian_tensor_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.ones(2))
    array([ 6., 12.])
    """
    checked_argnum(argnum)
    return transforms.hvp(_of_one_number(fun, "hessian_tensor_product"), argnum)


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function ``(*args, v)`` that multiplies v with the Jacobian of ``fun``.

    All axes of v are summed over, with as many first axes of the result.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import tensor_jacobian_product
    >>> tensor_jacobian_product(np.square)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    check_callable(fun, "tensor_jacobian_product")

    def product(*args: Any, **kwargs: Any) -> Any:
        *rest, v = args
        return np.tensordot(v, fun(*rest, **kwargs), axes=np.ndim(v))

    product.__name__ = name_of(fun)
    return jacobian(product, argnum)


vector_jacobian_product = tensor_jacobian_product


# ---- whole matrices --------------------------------------------------------------------------------


def jacobian(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the Jacobian: an array of the shape of the result and of the argument.

    Parameters as for `grad`; the result has any shape.

    Raises
    ------
    DTypeError
        When called, if argument and result are complex, or the argument holds integers.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import jacobian
    >>> jacobian(lambda x: np.outer(x, x))(np.array([1.0, 2.0])).shape
    (2, 2, 2)
    """
    checked_argnum(argnum)
    return transforms.jacobian(fun, argnum)


def hessian(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the Hessian: the Jacobian of the Jacobian, for results of any shape.

    Parameters and errors as for `jacobian`.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacobian(jacobian(fun, argnum), argnum)


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """Return a function that computes the derivative along ones, forwards: of one number, its derivative.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import deriv
    >>> float(deriv(np.exp)(0.0))
    1.0
    """
    return transforms.jvp(fun, (x,), (_ones(x),))[1]


checkpoint = transforms.checkpoint


# ---- one number ------------------------------------------------------------------------------------


def _of_one_number(fun: Function, operator: str) -> Function:
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
            f"{operator}: {name_of(fun)} returned {found}. It must return one real number; otherwise use "
            "jacobian, elementwise_grad or holomorphic_grad"
        )
    return np.reshape(out, ()) if np.shape(out) else out


def _ones(values: Any) -> Any:
    """Return a tree of ones; of complex numbers the sum of both units, as in autograd."""

    def ones(leaf: Any) -> Any:
        dtype = dtype_of(leaf)
        return np.full(np.shape(leaf), 1 + 1j if dtype.kind == "c" else 1, dtype)[()]

    return tree.map(ones, values)
