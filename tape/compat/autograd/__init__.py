"""The names of HIPS autograd: programs written for it run on tape, with their imports changed.

``import autograd.numpy as np`` becomes ``import tape.compat.autograd.numpy as np``, ``from autograd import
grad`` becomes ``from tape.compat.autograd import grad``, and so on for `builtins`, `extend`, `misc`, `scipy`
and `test_util`. Arguments, results and conventions are those of autograd: ``argnum`` is an int or a tuple,
one number may have any shape, derivatives of complex numbers are not conjugated.

Parts of its tracer (boxes, nodes and vector spaces) do not exist here; their names raise an error that says
what to use. ``docs/coming-from-autograd.md`` lists all differences.

Examples
--------
>>> import tape.compat.autograd.numpy as np
>>> from tape.compat.autograd import elementwise_grad as egrad
>>> egrad(egrad(np.tanh))(np.array([0.0, 1.0])).round(4)
array([ 0.    , -0.6397])
"""

from tape.compat.autograd.builtins import dict, isinstance, list, tuple, type
from tape.compat.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from tape.compat.autograd.extend import primitive

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]
