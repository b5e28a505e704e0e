"""The operators of autograd: those of `tape.transforms`, with autograd's arguments and results."""

from tape.compat.autograd._gradients import (
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    holomorphic_grad,
    multigrad_dict,
    value_and_grad,
)
from tape.compat.autograd._products import (
    deriv,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    tensor_jacobian_product,
    vector_jacobian_product,
)
from tape.transforms import checkpoint

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
