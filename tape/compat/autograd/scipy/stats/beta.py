"""The methods of `tape.scipy.stats.beta` as functions of a module."""

from tape.numpy._names import names_of
from tape.scipy.stats import beta as _beta

__getattr__, __dir__ = names_of(_beta, globals())
