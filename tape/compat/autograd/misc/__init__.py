"""The names of `autograd.misc`: flattening, optimisers, fixed points, recorded graphs."""

from tape.compat.autograd.misc.flatten import flatten
from tape.compat.autograd.misc.tracers import const_graph

__all__ = ["const_graph", "flatten"]
