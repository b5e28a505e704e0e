"""The methods of `tape.scipy.stats.chi2` as functions of a module."""

from tape.numpy._names import names_of
from tape.scipy.stats import chi2 as _chi2

__getattr__, __dir__ = names_of(_chi2, globals())
