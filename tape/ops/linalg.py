"""Linear algebra: the names of `numpy.linalg`, and those of `scipy.linalg` that have rules."""

from tape.ops.equations import solve

__all__ = ["solve"]
