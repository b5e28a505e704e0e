"""The methods of `tape.scipy.stats.dirichlet` as functions of a module."""

from tape.numpy._names import names_of
from tape.scipy.stats import dirichlet as _dirichlet

__getattr__, __dir__ = names_of(_dirichlet, globals())
