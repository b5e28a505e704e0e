"""The names of `numpy.fft`, for Vars and lists of Vars too; their operations are in `tape.ops.fft`."""

import numpy as _numpy

from tape.numpy._names import names_of

__getattr__, __dir__ = names_of(_numpy.fft, globals())
