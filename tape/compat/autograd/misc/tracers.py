"""``const_graph``: a function recorded once, by `tape.compile`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tape.compat.autograd._internals import refusing
from tape.program import compile

__all__ = ["const_graph"]

__getattr__ = refusing(__name__)


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Return a function that is recorded once and runs without Python.

    Where branches or shapes change, it is recorded again, so that results are those of ``fun``.

    Parameters
    ----------
    fun : callable
        NumPy code.
    *args, **kwargs
        Its first arguments and its keyword arguments, which stay the same.

    Returns
    -------
    callable
        A function of the remaining arguments.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd.misc import const_graph
    >>> float(const_graph(lambda a, x: a * np.sin(x), 2.0)(0.5))
    0.958851...
    """
    return compile(partial(fun, *args, **kwargs) if args or kwargs else fun)
