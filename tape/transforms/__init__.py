"""Transforms of functions: derivatives in either mode and of any order, one file a transform.

Derivatives start from a function recorded on a trace of its own (`_record`). Transforms that record a call as
one node with rules of its own (checkpoint, custom functions, solvers) build on a segment of code
(`_segment`).
"""

from tape.inplace import protocol as _protocol  # noqa: F401  # enters itself in the table
from tape.transforms.checkpoint import checkpoint
from tape.transforms.checkpoint_loop import checkpoint_loop
from tape.transforms.custom import custom_jvp, custom_vjp
from tape.transforms.grad import elementwise_grad, grad, value_and_grad
from tape.transforms.implicit import fixed_point, root
from tape.transforms.jacobian import divergence, hessian, jacobian, laplacian
from tape.transforms.jvp import directional_derivative, jvp, linearize
from tape.transforms.loops.branches import cond, switch
from tape.transforms.loops.mapping import map
from tape.transforms.loops.scan import fori_loop, scan
from tape.transforms.loops.while_loop import while_loop
from tape.transforms.odeint import odeint
from tape.transforms.products import gnvp, hvp, rop
from tape.transforms.stop import no_grad, stop_gradient
from tape.transforms.taylor import taylor
from tape.transforms.vjp import vjp
from tape.transforms.vmap import vmap

__all__ = [
    "checkpoint",
    "checkpoint_loop",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "directional_derivative",
    "divergence",
    "elementwise_grad",
    "fixed_point",
    "fori_loop",
    "gnvp",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "laplacian",
    "linearize",
    "map",
    "no_grad",
    "odeint",
    "root",
    "rop",
    "scan",
    "stop_gradient",
    "switch",
    "taylor",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
