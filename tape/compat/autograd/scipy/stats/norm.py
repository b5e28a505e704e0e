"""The methods of `tape.scipy.stats.norm` as functions of a module."""

from tape.numpy._names import names_of
from tape.scipy.stats import norm as _norm

__getattr__, __dir__ = names_of(_norm, globals())
