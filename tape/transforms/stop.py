"""`stop_gradient` and `no_grad`: what derivatives do not see."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any

from tape import tree
from tape.core import batch_rules
from tape.core.node import Handle
from tape.core.op import Op
from tape.core.scope import Region
from tape.inspect.costs import declare_cost, free

__all__ = ["no_grad", "stop_gradient"]

_stop = Op(lambda x: x, name="stop_gradient", batch=batch_rules.elementwise, lower=lambda b, x: b.value(x))
declare_cost(free, _stop)


def stop_gradient(x: Any) -> Any:
    """The same value, constant to every derivative, in every mode and at every order.

    Parameters
    ----------
    x : tree
        Arrays, numbers or Vars.

    Returns
    -------
    tree
        As ``x``. What was recorded stays recorded, without derivative, and converts to plain numbers.

    Examples
    --------
    >>> import tape
    >>> float(tape.grad(lambda x: x * tape.stop_gradient(x))(3.0))
    3.0
    """
    return tree.map_leaves(lambda leaf: _stop(leaf) if isinstance(leaf, Handle) else leaf, x)


class no_grad(Region, ContextDecorator):
    """A region, or a decorated function, in which what is computed is constant to every derivative.

    Operations on Vars are recorded as always, and run again on a replay, but without derivative.
    What begins inside of the region is not affected: derivatives taken there are right, and
    themselves constant to those around.

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

    def instead(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Record an operation without its rules."""
        return op.without_rules()(*operands, **attrs)

    def _recreate_cm(self) -> no_grad:
        return no_grad()  # a decorated function opens one at every call
