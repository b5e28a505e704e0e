"""The names of `autograd.numpy`: those of `tape.numpy`, and `make_diagonal`."""

from typing import Any

import numpy as _numpy

import tape.numpy as _tape_numpy
from tape import errors
from tape.compat.autograd.numpy import fft, linalg, random
from tape.numpy._names import names_of

__all__ = ["fft", "linalg", "make_diagonal", "random"]
__all__ += [name for name in _tape_numpy.__all__ if name not in __all__]  # for `from ... import *`

__getattr__, __dir__ = names_of(_tape_numpy, globals())


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return matrices with the last axis of an array as their diagonals: the counterpart of `np.diagonal`.

    Parameters
    ----------
    D : array or Var
        Of shape (..., n).
    offset, axis1, axis2 : int
        As autograd, it takes 0, -1 and -2 only.

    Returns
    -------
    array or Var, shape (..., n, n)

    Raises
    ------
    UnsupportedError
        For other axes.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> np.make_diagonal(np.array([1.0, 2.0]), axis1=-1, axis2=-2)
    array([[1., 0.],
           [0., 2.]])
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise errors.UnsupportedError(
            f"make_diagonal: offset, axis1, axis2 are {offset}, {axis1}, {axis2}, and must be 0, -1, -2. "
            "Move axes with np.moveaxis"
        )
    size = _numpy.shape(D)[-1]
    return _numpy.where(_numpy.eye(size, dtype=bool), _numpy.expand_dims(D, -1), 0)
