"""``odeint`` with the arguments of `scipy.integrate.odeint`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tape import errors, transforms

__all__ = ["odeint"]

_TOLERANCE = 1.49012e-8  # SciPy's


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: tuple[Any, ...] = (),
    *,
    rtol: float = _TOLERANCE,
    atol: float = _TOLERANCE,
    tfirst: bool = False,
    **others: Any,
) -> Any:
    """Solve ``dy/dt = func(y, t, *args)`` by LSODA; the solution is differentiable in all arguments.

    Parameters
    ----------
    func : callable
        Plain NumPy code; it returns an array like ``y``.
    y0 : array or Var
        The state at the first time.
    t : array_like or Var, shape (n,)
        The times.
    args : tuple
        Further arguments of ``func``.
    rtol, atol : float
        Tolerances.
    tfirst : bool
        Whether ``func`` takes the time first.
    **others
        SciPy's other options are refused.

    Returns
    -------
    array or Var
        The states, with a new first axis of length n. As autograd's, it agrees with SciPy's within the
        tolerances.

    Raises
    ------
    UnsupportedError
        For SciPy's other options.

    Notes
    -----
    See `tape.odeint`, which has other methods, too, and trees as states.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import grad
    >>> from tape.compat.autograd.scipy.integrate import odeint
    >>> def last(rate):
    ...     return odeint(lambda y, t, rate: -rate * y, np.array([1.0]), np.array([0.0, 1.0]), (rate,))[-1]
    >>> round(float(grad(last)(2.0)), 5)  # -exp(-2)
    -0.13534
    """
    if others:
        raise errors.UnsupportedError(
            f"odeint: it has no options {', '.join(others)}. Leave them out; tape.odeint has other methods"
        )
    if tfirst:
        return transforms.odeint(
            lambda y, t, *args: func(t, y, *args), y0, t, *args, rtol=rtol, atol=atol, method="LSODA"
        )
    return transforms.odeint(func, y0, t, *args, rtol=rtol, atol=atol, method="LSODA")
