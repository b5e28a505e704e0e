"""Functions of SciPy that run as they are on arrays, and are written with operations for Vars."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from scipy import special

from tape.core.operands import composed
from tape.ops.elementwise.scipy_ufuncs import narrowed
from tape.scipy._operands import is_recorded

__all__ = ["for_vars", "in_double"]

F = TypeVar("F", bound=Callable[..., Any])


def for_vars(function: F) -> F:
    """Make a function of Vars SciPy's function of its name on everything else; floats keep their width.

    Parameters
    ----------
    function : callable
        Named as SciPy's, with the same arguments.

    Returns
    -------
    callable

    Examples
    --------
    >>> from tape.scipy.special._calls import for_vars
    >>> @for_vars
    ... def comb(N, k):
    ...     raise NotImplementedError
    >>> float(comb(5, 2))
    10.0
    """
    original, of_vars = getattr(special, function.__name__), composed(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_recorded(*args, *kwargs.values()):
            return of_vars(*args, **kwargs)
        found = original(*args, **kwargs)
        return narrowed(found, args) if isinstance(found, (np.ndarray, np.generic)) else found

    return call  # type: ignore[return-value]


def in_double(function: F) -> F:
    """Do the same for a function of two results whose loops of float32 overflow: SciPy's runs in float64.

    Examples
    --------
    >>> import numpy as np, tape
    >>> values, slopes = tape.scipy.special.riccati_jn(1, np.float32(0.5))
    >>> values.dtype, bool(np.isnan(values).any())
    (dtype('float32'), False)
    """
    original, of_vars = getattr(special, function.__name__), composed(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if is_recorded(*given):
            return of_vars(*args, **kwargs)
        found = original(*map(_widened, args), **{key: _widened(x) for key, x in kwargs.items()})
        return tuple(narrowed(part, given) for part in found)

    return call  # type: ignore[return-value]


def _widened(x: Any) -> Any:
    is_inexact = getattr(x, "dtype", np.dtype(int)).kind in "fc"
    return x.astype(np.result_type(x, np.float64)) if is_inexact else x
