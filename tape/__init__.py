"""tape: a gradient engine for NumPy code."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tape import errors
from tape.system.blas import choose_kernels
from tape.system.collector import collector_paused
from tape.system.memory import keep_freed

if TYPE_CHECKING:
    from tape import (
        compat,
        distributed,
        nn,
        numpy,
        ops,
        optim,
        random,
        scipy,
        testing,
        train,
        tree,
        viz,
    )
    from tape import interop as interop
    from tape import transforms as transforms
    from tape.config import show_config
    from tape.core.node import Node
    from tape.core.op import Op
    from tape.core.sites import name_scope
    from tape.core.trace import Trace
    from tape.core.var import Var, named
    from tape.expressions.expression import Expression, expression
    from tape.inspect.nonfinite import find_nonfinite
    from tape.inspect.profiling import profile
    from tape.inspect.watching import debug
    from tape.ops import add, apply, matmul, multiply, subtract, tanh
    from tape.ops.nn import relu
    from tape.program import Program, compile, load
    from tape.program.native.warming import warm_up
    from tape.sparse import sparse_hessian, sparse_jacobian, sparsity
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

_SUBMODULES = frozenset({
    "compat", "distributed", "interop", "nn", "numpy", "ops", "optim", "random", "scipy", "testing", "train",
    "transforms", "tree", "viz",
})  # fmt: skip
_HOMES = {
    "tape.config": "show_config",
    "tape.core.node": "Node",
    "tape.core.op": "Op",
    "tape.core.sites": "name_scope",
    "tape.core.trace": "Trace",
    "tape.core.var": "Var named",
    "tape.expressions": "Expression expression",
    "tape.inspect.nonfinite": "find_nonfinite",
    "tape.inspect.profiling": "profile",
    "tape.inspect.watching": "debug",
    "tape.ops": "add apply matmul multiply subtract tanh",
    "tape.ops.nn": "relu",
    "tape.program": "Program compile load",
    "tape.program.native.warming": "warm_up",
    "tape.sparse": "sparse_hessian sparse_jacobian sparsity",
}
"""What is imported when it is first needed: names, by the module that has them; others are transforms."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

_ARRAYS = "Arrays are NumPy's: np.array(...). Trace.param(array) makes a Var of one; tape.grad needs none"
_MODES = "tape.jacobian chooses the mode, or takes it as mode='fwd' or 'rev'"
_ELSEWHERE = {
    **dict.fromkeys(("tensor", "Tensor", "array", "asarray", "Variable"), _ARRAYS),
    "Parameter": "Trace.param(array) makes a leaf to differentiate by; tape.grad needs none",
    "GradientTape": "It is tape.Trace: tr.param(x), and tr.backward_param_grads(y); or tape.grad(f)(x)",
    "jit": "It is tape.compile",
    "jacfwd": _MODES,
    "jacrev": _MODES,
    "tree_map": "It is tape.tree.map",
    "tree_util": "It is tape.tree",
    "lax": "tape.scan, while_loop, fori_loop, cond, switch and map are here",
    "backward": "Call Trace.backward_param_grads(y), or tape.grad(f)(x)",
}
"""Names of other libraries -> what there is here."""


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"tape.{name}")
    if name in _ELSEWHERE:
        raise errors.MissingAttributeError(f"tape has no {name!r}. {_ELSEWHERE[name]}")
    home = _HOME_OF.get(name, "tape.transforms")
    if not name.startswith("_"):
        with collector_paused():  # there is no garbage in modules
            for engine in ("tape.ops", "tape.inplace.protocol"):  # which enter operations in the table
                import_module(engine)
            module = import_module(home)
        if name in _HOME_OF or name in module.__all__:
            found = globals()[name] = getattr(module, name)
            return found
    raise AttributeError(f"module 'tape' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


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
    "checkpoint",
    "checkpoint_loop",
    "compat",
    "compile",
    "cond",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "directional_derivative",
    "distributed",
    "divergence",
    "elementwise_grad",
    "errors",
    "expression",
    "find_nonfinite",
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
    "load",
    "map",
    "matmul",
    "multiply",
    "name_scope",
    "named",
    "nn",
    "no_grad",
    "numpy",
    "odeint",
    "ops",
    "optim",
    "profile",
    "random",
    "relu",
    "root",
    "rop",
    "scan",
    "scipy",
    "show_config",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
    "stop_gradient",
    "subtract",
    "switch",
    "tanh",
    "taylor",
    "testing",
    "train",
    "tree",
    "value_and_grad",
    "viz",
    "vjp",
    "vmap",
    "warm_up",
    "while_loop",
]
