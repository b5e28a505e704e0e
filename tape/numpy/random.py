"""The names of `numpy.random`, unchanged: random numbers have no derivative.

For a distribution whose parameters are Vars, use a generator of `tape.random`, or draw standard numbers and
transform them: ``mean + scale * np.random.standard_normal(n)``.
"""

import numpy as _numpy

from tape.numpy._names import names_of

__getattr__, __dir__ = names_of(_numpy.random, globals())
