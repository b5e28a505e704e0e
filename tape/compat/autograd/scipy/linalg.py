"""The names of `autograd.scipy.linalg`: those of `tape.scipy.linalg`."""

import tape.scipy.linalg as _linalg
from tape.numpy._names import names_of

__getattr__, __dir__ = names_of(_linalg, globals())
