"""`Trace.append`: nodes whose value and derivative were computed elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tape import errors
from tape.core.checks import check_root
from tape.core.leaves import leaf_value
from tape.core.node import Node
from tape.core.op import Op
from tape.core.recording import Recording
from tape.core.table import INTERNAL
from tape.core.var import Var


def append(
    trace: Recording,
    value: Any,
    parents: Sequence[Var],
    vjp: Callable[[Any], Sequence[Any]] | None,
    name: str | None,
) -> Var:
    """Implement `Trace.append`."""
    for parent in parents:
        check_root(trace, parent)

    def by_hand(*operands: Any) -> NoReturn:
        raise errors.UnsupportedError(
            f"{name or 'a node'} was appended by hand, and cannot be computed anew. Declare a tape.Op for it"
        )

    rule = None if vjp is None else lambda g, out, *operands: vjp(g)
    op = Op(by_hand, vjp=rule, name=name or "by_hand", explains_errors=False, data_dependent=True)
    inputs = [part for parent in parents for part in (parent.id, parent.node.value)]
    call = op.call({}, tuple([parent.node.is_active for parent in parents]))
    value = leaf_value(trace, value, is_param=False)
    value = value.copy() if type(value) is np.ndarray else value  # which the caller may go on writing into
    var = trace.push(Node(value, call, tuple(inputs)))
    var.name = name
    return var


INTERNAL["append"] = append
