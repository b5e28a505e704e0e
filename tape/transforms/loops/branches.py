"""`cond`, `switch` and `while_loop`: code that runs as numbers decide."""

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


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """Run ``state = body_fun(state)`` as long as ``cond_fun(state)`` is true.

    In a compiled function each outcome is a guard, and each number of steps a path of its own, as with
    Python's ``while``.

    Parameters
    ----------
    cond_fun : callable
        From a state to a bool, a number or a Var of shape ().
    body_fun : callable
        Plain NumPy code, from a state to the next one.
    init : tree
        The first state.

    Returns
    -------
    tree
        The first state for which ``cond_fun`` is false.

    Examples
    --------
    >>> import tape
    >>> halve = lambda x: tape.while_loop(lambda x: x > 1.0, lambda x: x / 2, x)
    >>> halve(10.0), tape.grad(halve)(10.0)
    (0.625, np.float64(0.0625))
    """
    check_callable(cond_fun, "while_loop")
    check_callable(body_fun, "while_loop")
    state = init
    while cond_fun(state):
        state = body_fun(state)
    return state
