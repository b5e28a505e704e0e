"""Sparse arrays of SciPy beside Vars: products, systems of equations, elements that are Vars.

A sparse array or matrix of plain numbers times a Var, ``A @ x`` and ``x @ A``, records, whether this module
is imported or not. `with_data` makes a sparse array with Vars as elements, and `linalg.spsolve` solves with
both. All other names are those of `scipy.sparse`, for plain numbers.

A program sees changes of an array that is stored by rows or columns; one of another format is converted when
it is recorded.

Examples
--------
>>> import numpy as np, scipy.sparse, tape
>>> A = scipy.sparse.csr_array([[0.0, 1.0], [2.0, 0.0]])
>>> tape.grad(lambda x: np.sum((A @ x) ** 2))(np.array([1.0, 3.0]))
array([8., 6.])
"""

from importlib import import_module
from typing import Any

from scipy import sparse as _sparse

from tape.scipy._operands import refusing
from tape.scipy.sparse._data import SparseData, with_data

__all__ = ["SparseData", "linalg", "with_data"]

_look_up, __dir__ = refusing(
    _sparse, globals(), "scipy.sparse", "products with a sparse array, with_data and linalg.spsolve"
)


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.linalg") if name == "linalg" else _look_up(name)
