"""The call that recorded a node, as text: the operation with its operands and static arguments.

Listings, pictures and the stepper all use this text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tape import errors
from tape.core.node import Handle, Node, plain
from tape.inspect.words import digest, one_line, short

_WRITTEN_OUT = 4
"""The largest number of elements of a constant that is shown by value."""


class CallText(NamedTuple):
    """A call as strings, each printable on one line; ``str()`` joins them.

    Attributes
    ----------
    op : str
        The name of the operation; ``"param"`` or ``"input"`` for leaves.
    operands : tuple of str
        ``"%3"`` for a node, else the constant.
    attrs : tuple of str
        ``"axis=0"`` and so on, without arguments that are None or False.
    is_leaf : bool
        Whether the node is a leaf.
    """

    op: str
    operands: tuple[str, ...]
    attrs: tuple[str, ...]
    is_leaf: bool

    @property
    def arguments(self) -> str:
        """The operands and static arguments in parentheses; empty for a leaf."""
        return "" if self.is_leaf else f"({', '.join(self.operands + self.attrs)})"

    def __str__(self) -> str:
        return self.op + self.arguments


def call_text(node: Node, precision: int | None = None) -> CallText:
    """Return the call that recorded a node.

    Parameters
    ----------
    node : Node
        A node of any trace.
    precision : int, optional
        Significant digits of numbers, as for `digest`.

    Returns
    -------
    CallText

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.inspect.listing import call_text
    >>> tr = tape.Trace()
    >>> x = tr.param(np.ones((3, 2)))
    >>> str(call_text((x * 2.0).node)), str(call_text(x[1:, 0].node))
    ('multiply(%0, 2.0)', 'getitem(%0, index=[1:, 0])')
    >>> call_text(x.sum(axis=0).node, precision=4).attrs
    ('axis=0',)
    """
    if node.op is None:
        return CallText("param" if node.is_param else "input", (), (), True)
    operands = [
        one_line(_constant(operand, precision)) if parent is None else f"%{parent}"
        for parent, operand in zip(node.parents, node.operands, strict=True)
    ]
    attrs = [
        one_line(f"{key}={_static(value, precision, key)}")
        for key, value in node.attrs.items()
        if value is not None and value is not False
    ]
    return CallText(one_line(node.op.name), tuple(operands), tuple(attrs), False)


def _constant(operand: Any, precision: int | None) -> str:
    """Format a constant operand: short ones by value, others by dtype and shape."""
    if isinstance(operand, Handle):
        return f"Var({_constant(plain(operand), precision)})"
    if getattr(operand, "ndim", 0) and operand.size > _WRITTEN_OUT:
        return errors.describe(operand)
    return digest(operand, precision=precision)


def _static(value: Any, precision: int | None, key: str = "") -> str:
    """Format a static argument as Python code, an index as between brackets."""
    if key == "index":
        parts = [_static(part, precision) for part in (value if isinstance(value, tuple) else (value,))]
        return f"[{', '.join(parts)}]"
    if isinstance(value, slice):
        start, stop, step = [
            "" if part is None else str(part) for part in (value.start, value.stop, value.step)
        ]
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
    if value is Ellipsis:
        return "..."
    if isinstance(value, tuple):
        if key == "axis" and len(value) == 1:
            return _static(value[0], precision)
        inside = ", ".join([_static(part, precision) for part in value])
        return f"({inside}{',' if len(value) == 1 else ''})"
    return digest(value, precision=precision) if isinstance(value, (float, np.ndarray)) else short(value)
