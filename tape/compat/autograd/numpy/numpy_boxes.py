"""``ArrayBox``, for ``isinstance``: it is `tape.Var`."""

from tape.compat.autograd._internals import refusing
from tape.core.var import Var

ArrayBox = Var

__all__ = ["ArrayBox"]

__getattr__ = refusing(__name__)
