"""`checkpoint`: keep no intermediate values of a function, and run it again for its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from tape.core import streams
from tape.core.closures import Bound
from tape.core.dispatch import recorder
from tape.transforms._derived import derived
from tape.transforms._leaks import Leaks
from tape.transforms._record import name_of
from tape.transforms._segment import Segment


@derived
def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function recorded as one node, whose intermediate values take memory in sweeps only.

    Every derivative runs ``f`` once more. It must compute the same each time: arguments are not written to,
    and random numbers are passed as arguments, or drawn from a generator of `tape.random`, which draws the
    same again. Vars that it closes over are differentiated like its arguments, and variables are those at the
    time of the call. In a compiled function, and in a batch of `vmap`, ``f`` is recorded if it draws.

    Parameters
    ----------
    f : callable
        Plain NumPy code; arguments and result are trees.

    Returns
    -------
    callable
        A function with the arguments and results of ``f``. Results that are not floats are constant.

    Raises
    ------
    InPlaceError
        When called, if ``f`` writes to an array that it was given.
    ShapeError
        In a sweep, if ``f`` returns another structure or other shapes than before.

    Warns
    -----
    LostDerivativeWarning
        When called, if ``f`` puts floats into variables, lists, dicts or attributes around it: they have no
        derivative there.

    Examples
    --------
    >>> import numpy as np, tape
    >>> @tape.checkpoint
    ... def block(x, w):
    ...     return np.tanh(np.tanh(x @ w) @ w)
    >>> tape.grad(lambda w: np.sum(block(np.ones(2), w)))(np.eye(2))
    array([[0.69454575, 0.69454575],
           [0.69454575, 0.69454575]])
    """
    name = f"checkpoint({name_of(f)})"

    def call(*args: Any, **kwargs: Any) -> Any:
        bound, scope = Bound(f), streams.innermost()
        if not streams.mapped(scope) and (scope is None or recorder() is None):
            leaks = Leaks(bound)
            segment = Segment(streams.repeatable(bound, name), args, kwargs, name)
            if segment.operands:
                leaks.warn(name)
            return segment.as_rerun()
        # The next state, or another one for each example, is nothing that a node of floats can return.
        return streams.without_or_else(
            lambda f: Segment(f, args, kwargs, name).as_rerun(), bound, lambda: f(*args, **kwargs)
        )

    return update_wrapper(call, f)
