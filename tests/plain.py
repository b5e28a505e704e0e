"""What users write: NumPy, with SciPy's special functions beside it, as a namespace for `tests.op_table`."""

from operator import attrgetter
from typing import Any

import numpy as np
from scipy import special

__all__ = ["has", "special"]


def __getattr__(name: str) -> Any:
    return getattr(np, name)


def has(op: str) -> bool:
    """Whether an operation can be called by this name on Vars: of SciPy's functions, ufuncs can."""
    family, _, name = op.rpartition(".")
    if family == "special":
        return isinstance(getattr(special, name, None), np.ufunc)
    try:
        return callable(attrgetter(op)(np))
    except AttributeError:
        return False
