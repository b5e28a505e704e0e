"""The names of `autograd.numpy.random`: those of `tape.numpy.random`."""

import tape.numpy.random as _random
from tape.numpy._names import names_of

__getattr__, __dir__ = names_of(_random, globals())
