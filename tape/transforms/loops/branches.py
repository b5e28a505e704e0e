"""`cond` and `switch`: code that runs as a number decides."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tape.transforms._record import check_callable


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Return ``true_fun(*operands)`` if a number is true, else ``false_fun(*operands)``.

    Only that function runs. In a compiled function the outcome is a guard, and each branch a path of its own,
    as with Python's ``if``.

    Parameters
    ----------
    pred : bool, number or Var of shape ()
        What decides.
    true_fun, false_fun : callable
        Plain NumPy code.
    *operands : tree
        Their arguments.

    Returns
    -------
    Any
        What the function returns.

    Examples
    --------
    >>> import numpy as np, tape
    >>> safe_log = lambda x: tape.cond(x > 0, np.log, lambda x: 0.0 * x, x)
    >>> tape.grad(safe_log)(2.0), tape.grad(safe_log)(-2.0)
    (np.float64(0.5), np.float64(0.0))
    """
    check_callable(true_fun, "cond")
    check_callable(false_fun, "cond")
    return true_fun(*operands) if pred else false_fun(*operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Return the result of one of several functions; an index out of range means the first or the last.

    Only that function runs. In a compiled function the index is a guard, and each branch a path of its own.

    Parameters
    ----------
    index : int, or integer Var of shape ()
        Which function.
    branches : sequence of callable
        Plain NumPy code.
    *operands : tree
        Their arguments.

    Returns
    -------
    Any
        What the function returns.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.switch(1, [np.sin, np.exp, np.log], 0.0)
    np.float64(1.0)
    """
    for branch in branches:
        check_callable(branch, "switch")
    return branches[min(max(operator.index(index), 0), len(branches) - 1)](*operands)
