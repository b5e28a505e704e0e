"""The names of `scipy.linalg`, differentiable."""

from scipy import linalg as _linalg

from tape.numpy._names import names_of

__getattr__, __dir__ = names_of(_linalg, globals())
