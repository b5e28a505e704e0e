"""Neural networks: the functions they are made of, under one name."""

from tape.ops.nn import *  # noqa: F403
from tape.ops.nn import __all__ as __all__
