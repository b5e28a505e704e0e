"""The names of `autograd.scipy.special`: those of `tape.scipy.special`."""

import tape.scipy.special as _special
from tape.numpy._names import names_of
from tape.ops import logsumexp

__all__ = ["logsumexp"]

__getattr__, __dir__ = names_of(_special, globals())
