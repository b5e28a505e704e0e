"""The methods of `tape.scipy.stats.multivariate_normal` as functions of a module."""

from tape.numpy._names import names_of
from tape.scipy.stats import multivariate_normal as _multivariate_normal

__getattr__, __dir__ = names_of(_multivariate_normal, globals())
