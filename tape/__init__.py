"""tape: a gradient engine for NumPy code."""

from importlib import import_module
from typing import Any

from tape import errors, nn, ops, optim, scipy, testing, transforms, tree
from tape.config import show_config
from tape.core import by_hand as _by_hand  # noqa: F401  # enters itself in the table
from tape.core.node import Node
from tape.core.op import Op
from tape.core.sites import name_scope
from tape.core.trace import Trace
from tape.core.var import Var, named
from tape.expressions import Expression, expression
from tape.inplace import protocol as _protocol  # noqa: F401  # enters itself in the table
from tape.inspect.nonfinite import find_nonfinite
from tape.inspect.profiling import profile
from tape.inspect.watching import debug
from tape.nn import relu
from tape.ops import add, apply, matmul, multiply, subtract, tanh
from tape.program import Program, compile, load
from tape.sparse import sparse_hessian, sparse_jacobian, sparsity
from tape.system.blas import choose_kernels
from tape.system.memory import keep_freed
from tape.transforms import *  # noqa: F403

# imported when they are first needed
_LATE = ("compat", "distributed", "interop", "numpy", "random", "train", "viz")


_ARRAYS = "Arrays are NumPy's: np.array(...). Trace.param(array) makes a Var of one; tape.grad needs none"
_ELSEWHERE = {"tensor": _ARRAYS, "Tensor": _ARRAYS, "array": _ARRAYS, "asarray": _ARRAYS, "Variable": _ARRAYS}
"""Names of other libraries -> what there is here."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return import_module(f"tape.{name}")
    if name in _ELSEWHERE:
        raise errors.MissingAttributeError(f"tape has no {name!r}. {_ELSEWHERE[name]}")
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
    "add",
    "apply",
    "compat",  # noqa: F405
    "compile",
    "debug",
    "distributed",  # noqa: F405
    "errors",
    "expression",
    "find_nonfinite",
    "load",
    "matmul",
    "multiply",
    "name_scope",
    "named",
    "nn",
    "numpy",  # noqa: F405
    "ops",
    "optim",
    "profile",
    "random",  # noqa: F405
    "relu",
    "scipy",
    "show_config",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
    "subtract",
    "tanh",
    "testing",
    "train",  # noqa: F405
    "tree",
    "viz",  # noqa: F405
]
__all__ += transforms.__all__
