"""Brute-force NumPy counterparts of `tape.nn`: loops over every element of every result."""

import numpy as np  # noqa: F401
