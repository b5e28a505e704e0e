"""Special functions: the names of `scipy.special`."""

from tape.ops.elementary import erf
from tape.ops.softmax import log_softmax, logsumexp, softmax

__all__ = ["erf", "log_softmax", "logsumexp", "softmax"]
