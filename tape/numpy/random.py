"""The names of `numpy.random`, as they are: random numbers have no derivative.

A distribution whose parameters are Vars is drawn from by what is left when they are taken out:
``mean + scale * np.random.standard_normal(n)``.
"""

import numpy as _numpy

from tape.numpy._names import names_of

__getattr__, __dir__ = names_of(_numpy.random, globals())
