"""The names of `autograd.numpy.linalg`: those of `tape.numpy.linalg`."""

import tape.numpy.linalg as _linalg
from tape.numpy._names import names_of

__getattr__, __dir__ = names_of(_linalg, globals())
