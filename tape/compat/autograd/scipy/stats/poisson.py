"""The methods of `tape.scipy.stats.poisson` as functions of a module."""

from tape.numpy._names import names_of
from tape.scipy.stats import poisson as _poisson

__getattr__, __dir__ = names_of(_poisson, globals())
