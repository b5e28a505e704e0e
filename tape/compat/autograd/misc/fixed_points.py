"""``fixed_point`` with autograd's arguments, by `tape.fixed_point`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tape import transforms

__all__ = ["fixed_point"]


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]],
    a: Any,
    x0: Any,
    distance: Callable[[Any, Any], Any],
    tol: float,
) -> Any:
    """Find the x for which ``f(a)(x)`` is x, by iteration; it is differentiable in ``a``.

    Parameters
    ----------
    f : callable
        ``f(a)`` returns the function to iterate.
    a : tree
        Its parameters.
    x0 : tree
        The x to start from, which is not differentiated.
    distance : callable
        ``distance(x, previous)``.
    tol : float
        The largest distance at the end.

    Returns
    -------
    tree
        Like ``x0``.

    Notes
    -----
    Derivatives solve a system of linear equations (the implicit function theorem), where autograd iterates.

    Examples
    --------
    >>> import tape.compat.autograd.numpy as np
    >>> from tape.compat.autograd import grad
    >>> from tape.compat.autograd.misc.fixed_points import fixed_point
    >>> def root(a):
    ...     newton = lambda a: lambda x: 0.5 * (x + a / x)
    ...     return fixed_point(newton, a, 1.0, lambda x, y: np.abs(x - y), 1e-12)
    >>> round(float(grad(root)(4.0)), 10)
    0.25
    """

    def iterate(g: Callable[[Any], Any], x: Any) -> Any:
        x, previous = g(x), x
        while distance(x, previous) > tol:
            x, previous = g(x), x
        return x

    return transforms.fixed_point(lambda x, a: f(a)(x), x0, a, solver=iterate)
