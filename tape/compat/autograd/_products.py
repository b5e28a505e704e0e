"""Products of Jacobians and Hessians with vectors, and whole matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tape import transforms
from tape.compat.autograd._gradients import of_one_number, ones_like
from tape.compat.autograd.wrap_util import Argnum, checked_argnum, unary_to_nary
from tape.transforms._record import check_callable, name_of

Function = Callable[..., Any]


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
    """Return a function that records ``fun`` at its arguments, and returns ``v -> J @ v``.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import make_jvp_reversemode
    >>> make_jvp_reversemode(np.square)(np.array([1.0, 2.0]))(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
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
    value, pullback = transforms.vjp(transforms.grad(of_one_number(fun, "make_hvp")), x)

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
    check_callable(f, "make_ggnvp")
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
    return transforms.hvp(of_one_number(fun, "hessian_tensor_product"), argnum)


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
    return transforms.jvp(fun, (x,), (ones_like(x),))[1]
