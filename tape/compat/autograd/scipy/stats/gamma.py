"""The methods of `tape.scipy.stats.gamma` as functions of a module."""

from tape.numpy._names import names_of
from tape.scipy.stats import gamma as _gamma

__getattr__, __dir__ = names_of(_gamma, globals())
