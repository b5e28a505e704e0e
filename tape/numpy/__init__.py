"""A drop-in for the NumPy namespace: ``import tape.numpy as np``.

NumPy's own functions record when they are given a Var, so nearly every name here is NumPy's own object,
constants, dtypes and errors included. Where NumPy does not dispatch, this package has a version of its own:

- `array`, `asarray` and related functions take Vars, and nested lists of Vars and numbers; so do `full`,
  `arange`, `fromiter`, `require`, `from_dlpack`, `r_`, `c_`, `vectorize` and `ndenumerate`;
- functions take lists of Vars where NumPy takes lists of numbers: ``np.sum([x, y])``. Ufuncs remain
  NumPy's own and do not: ``np.exp(np.array([x, y]))``;
- creation functions take a number as ``like=``, which NumPy refuses: ``np.zeros(3, like=x)`` is a Var if x is
  a Var, and a plain array if it is a float;
- `ndarray` is a type that has Vars as instances too.

On plain arguments all of them return and raise the same as NumPy. The namespace
follows the Python Array API standard, 2024.12, as far as NumPy does; the differences are NumPy's.

Examples
--------
>>> import tape, tape.numpy as np
>>> tape.grad(lambda x: np.linalg.det(np.array([[x, 1.0], [2.0, x]])))(3.0)
np.float64(6.0)
"""

import numpy as _numpy

from tape.numpy import fft, linalg, random
from tape.numpy._calling import ndenumerate, vectorize
from tape.numpy._conversion import (
    array,
    asanyarray,
    asarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    require,
)
from tape.numpy._creation import arange, from_dlpack, fromiter, full
from tape.numpy._joining import c_, r_
from tape.numpy._names import names_of
from tape.numpy._types import ndarray

__all__ = [
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "c_",
    "fft",
    "from_dlpack",
    "fromiter",
    "full",
    "linalg",
    "ndarray",
    "ndenumerate",
    "r_",
    "random",
    "require",
    "vectorize",
]
__all__ += _numpy.__all__  # for `from tape.numpy import *`

__getattr__, __dir__ = names_of(_numpy, globals())
