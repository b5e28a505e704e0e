"""`stop_gradient` and `no_grad`: values that are constant to every derivative."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any

from tape import tree
from tape.core import batch_rules
from tape.core.dispatch import Interceptor
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.table import INTERNAL
from tape.inspect.costs import declare_cost, free

_stop = Op(lambda x: x, name="stop_gradient", batch=batch_rules.elementwise, lower=lambda b, x: b.value(x))
declare_cost(free, _stop)


def stop_gradient(x: Any) -> Any:
    """Return the same value, constant to every derivative, in every mode and of any order.

    Parameters
    ----------
    x : tree
        Arrays, numbers or Vars.

    Returns
    -------
    tree
        A tree like ``x``. Its Vars stay recorded, without derivative, and convert to plain numbers. Plain
        arrays are the same ones.

    Examples
    --------
    >>> import tape
    >>> float(tape.grad(lambda x: x * tape.stop_gradient(x))(3.0))
    3.0
    """
    return tree.map(lambda leaf: _stop(leaf) if isinstance(leaf, Handle) else leaf, x)


class no_grad(Interceptor, ContextDecorator):
    """A context, or decorator of functions, in which results are constant to every derivative.

    Operations on Vars are recorded as usual, and run again on a replay, but without derivative.
    Traces and transforms that start inside of it are not affected: their derivatives are correct, and
    constant to those around. A generator that stops inside of it leaves it open for those who called.

    Examples
    --------
    >>> import numpy as np, tape
    >>> def f(x):
    ...     with tape.no_grad():
    ...         scale = np.abs(x)
    ...     return x / scale
    >>> float(tape.grad(f)(4.0))
    0.25
    """

    is_constant = True
    sees_batches = True

    def intercept(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Record an operation without its rules."""
        return op.without_rules()(*operands, **attrs)

    def _recreate_cm(self) -> no_grad:
        return no_grad()  # a decorated function enters a new one at every call


INTERNAL["no_grad"] = no_grad
