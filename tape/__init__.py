"""tape: a gradient engine for NumPy code."""

from tape import errors, ops, optim, scipy, testing, transforms
from tape.memory import keep_freed
from tape.node import Node
from tape.ops import apply
from tape.trace import Trace
from tape.transforms import *  # noqa: F403
from tape.var import Var

keep_freed()

__version__ = "0.1.0"

__all__ = [
    "Node",
    "Trace",
    "Var",
    "apply",
    "errors",
    "ops",
    "optim",
    "scipy",
    "testing",
    *transforms.__all__,
]
