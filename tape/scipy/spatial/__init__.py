"""The names of `scipy.spatial`; those of `distance` are differentiable, others are for plain numbers."""

from scipy import spatial as _spatial

from tape.scipy._operands import refusing
from tape.scipy.spatial import distance

__all__ = ["distance"]

__getattr__, __dir__ = refusing(
    _spatial, globals(), "scipy.spatial", "the functions of tape.scipy.spatial.distance"
)
