"""The names of `autograd.numpy.fft`: those of `tape.numpy.fft`."""

import tape.numpy.fft as _fft
from tape.numpy._names import names_of

__getattr__, __dir__ = names_of(_fft, globals())
