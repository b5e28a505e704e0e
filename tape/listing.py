"""The tape as text: one aligned line a node, the middle left out when it is long.

Works on anything with ``nodes``; knows nothing of recording or sweeping.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tape import errors

__all__ = ["listing"]

_HEAD = 40
_TAIL = 20


def listing(trace: Any) -> str:
    """The Wengert list of a trace: id, name, how it was made, dtype and shape, value.

    Parameters
    ----------
    trace : Trace
        Any length.

    Returns
    -------
    str

    Examples
    --------
    >>> import tape
    >>> tr = tape.Trace(name="t")
    >>> y = tr.param(3.0, name="a") * 2.0
    >>> print(tr)
    <Trace t: 2 nodes, 1 params>
    %0  a  param             float64[]  3.0
    %1     multiply(%0, 2.0) float64[]  6.0
    """
    count = len(trace.nodes)
    ids = list(range(count)) if count <= _HEAD + _TAIL else [*range(_HEAD), *range(count - _TAIL, count)]
    rows = [_row(trace, i) for i in ids]
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(4)]
    lines = [
        f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}} {row[3]:<{widths[3]}}  {row[4]}"
        for row in rows
    ]
    if count > len(ids):
        lines.insert(_HEAD, f"... {count - len(ids)} nodes ...")
    return "\n".join([repr(trace), *(line.rstrip() for line in lines)])


def _row(trace: Any, i: int) -> tuple[str, str, str, str, str]:
    node = trace.nodes[i]
    if node.op is None:
        made = "param" if node.is_param else "input"
    else:
        operands = [
            short(operand) if parent is None else f"%{parent}"
            for parent, operand in zip(node.parents, node.operands, strict=True)
        ]
        attrs = [f"{key}={short(value)}" for key, value in node.attrs.items()]
        made = f"{node.op.name}({', '.join(operands + attrs)})"
    return f"%{i}", node.name or "", made, errors.describe(node.value), short(node.value)


def short(value: Any, width: int = 40) -> str:
    """A value on one line: scalars and small arrays in full, larger ones by dtype and shape."""
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, np.ndarray) and value.size > 8:
        return errors.describe(value)
    text = getattr(value, "__name__", None) or " ".join(str(value).split())
    return text if len(text) <= width else f"{text[: width - 3]}..."
