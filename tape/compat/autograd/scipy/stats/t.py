"""The methods of `tape.scipy.stats.t` as functions of a module."""

from tape.numpy._names import names_of
from tape.scipy.stats import t as _t

__getattr__, __dir__ = names_of(_t, globals())
