"""tape: a gradient engine for NumPy code."""

from tape import errors, ops, optim, scipy, testing
from tape.memory import keep_freed
from tape.node import Node
from tape.ops import apply
from tape.trace import Trace
from tape.transforms import (
    checkpoint,
    checkpoint_loop,
    custom_jvp,
    custom_vjp,
    directional_derivative,
    divergence,
    elementwise_grad,
    fixed_point,
    gnvp,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    laplacian,
    linearize,
    no_grad,
    odeint,
    root,
    rop,
    stop_gradient,
    taylor,
    value_and_grad,
    vjp,
)
from tape.var import Var

keep_freed()

__version__ = "0.1.0"

__all__ = [
    "Node",
    "Trace",
    "Var",
    "apply",
    "checkpoint",
    "checkpoint_loop",
    "custom_jvp",
    "custom_vjp",
    "directional_derivative",
    "divergence",
    "elementwise_grad",
    "errors",
    "fixed_point",
    "gnvp",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "laplacian",
    "linearize",
    "no_grad",
    "odeint",
    "ops",
    "optim",
    "root",
    "rop",
    "scipy",
    "stop_gradient",
    "taylor",
    "testing",
    "value_and_grad",
    "vjp",
]
