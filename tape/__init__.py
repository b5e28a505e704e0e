"""tape: a gradient engine for NumPy code."""

from importlib import import_module
from typing import Any

from tape import errors, nn, ops, optim, scipy, testing
from tape.config import show_config
from tape.core.node import Node
from tape.core.op import Op
from tape.core.sites import name_scope
from tape.core.trace import Trace
from tape.core.var import Var
from tape.expressions import Expression, expression
from tape.inplace import protocol as _protocol  # noqa: F401  # enters itself in the table
from tape.inspect.nonfinite import find_nonfinite
from tape.inspect.profiling import profile
from tape.inspect.watching import debug
from tape.ops import apply
from tape.program import Program, compile, load
from tape.system.blas import choose_kernels
from tape.system.memory import keep_freed
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

_LATE = ("numpy", "viz")  # a drop-in for NumPy, and pictures: imported when they are first needed


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return import_module(f"tape.{name}")
    raise AttributeError(f"module 'tape' has no attribute {name!r}")


keep_freed()
choose_kernels()

__version__ = "0.1.0"

__all__ = [
    "Expression",
    "Node",
    "Op",
    "Program",
    "Trace",
    "Var",
    "apply",
    "checkpoint",
    "checkpoint_loop",
    "compile",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "directional_derivative",
    "divergence",
    "elementwise_grad",
    "errors",
    "expression",
    "find_nonfinite",
    "fixed_point",
    "gnvp",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "laplacian",
    "linearize",
    "load",
    "name_scope",
    "nn",
    "no_grad",
    "numpy",
    "odeint",
    "ops",
    "optim",
    "profile",
    "root",
    "rop",
    "scipy",
    "show_config",
    "stop_gradient",
    "taylor",
    "testing",
    "value_and_grad",
    "viz",
    "vjp",
]
