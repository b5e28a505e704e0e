"""Interpreters of code whose Vars are replaced: by plain values, or by other Vars.

`Captures` finds which Vars of outer traces some code closes over while the code runs on plain arrays;
`Substitution` runs that code again with other values in their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.core.dispatch import Interceptor, resolve
from tape.core.nesting import identity
from tape.core.node import Handle, plain, snapshot
from tape.core.op import Op
from tape.core.weak import exact


def protected(value: Any) -> Any:
    """Return a read-only view of a plain value: the code that gets it may run more than once."""
    if not isinstance(value, np.ndarray) or not value.flags.writeable:
        return value
    view = value.view()
    view.flags.writeable = False
    return view


class Captures(Interceptor):
    """An interpreter that replaces outer Vars by plain arrays and collects them."""

    computes_plainly = True
    sees_batches = True

    def __init__(self) -> None:
        self.vars: list[Any] = []
        self.values: list[Any] = []  # of these in the interpreters around: others, if a segment runs again
        self._seen: dict[Any, Any] = {}

    def resolve(self, var: Any) -> Any:
        """Map an outer Var to its plain value: an array, or a Python number."""
        if not isinstance(var, Handle):
            return var
        trace = var.trace_ref()  # None if it is gone; an outer `Substitution` may replace the Var
        if trace is not None and trace.level > self.level:
            return var
        key = identity(var)
        if key not in self._seen:
            self._seen[key] = value = _around(self, var)
            self.vars.append(var.again())
            self.values.append(snapshot(value))
        return protected(exact(plain(self._seen[key])))

    def intercept(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Compute the operation with plain values."""
        return op.bind([*map(self.resolve, operands)], attrs)


class Substitution(Interceptor):
    """An interpreter that replaces captured Vars by other values.

    Parameters
    ----------
    captured : sequence of Var
        The Vars that the code closes over.
    values : sequence
        Their substitutes.
    """

    sees_batches = True

    def __init__(self, captured: Sequence[Any], values: Sequence[Any]) -> None:
        self._values = {identity(var): value for var, value in zip(captured, values, strict=True)}

    def resolve(self, var: Any) -> Any:
        """Map a captured Var to its substitute, another one to what it is around this interpreter."""
        if not isinstance(var, Handle):
            return var
        key = identity(var)
        return self._values[key] if key in self._values else _around(self, var)

    def intercept(self, op: Op, operands: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Apply the operation to the substitutes."""
        return op.bind([*map(self.resolve, operands)], attrs)


def _around(region: Interceptor, var: Any) -> Any:
    """Map a Var to its value in the interpreters around one."""
    with region.passed_by():
        return resolve(var)
