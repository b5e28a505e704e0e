"""The names of `scipy.special`: its ufuncs, which take Vars, and functions of Python written for Vars."""

from scipy import special as _special

from tape.numpy._names import names_of

__getattr__, __dir__ = names_of(_special, globals())
