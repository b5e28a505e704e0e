"""The summary of a tape: its nodes, memory, arithmetic and longest chain."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tape.core.node import plain
from tape.core.results import Results
from tape.inspect.costs import flops
from tape.inspect.listing._html import html_table
from tape.inspect.listing._text import aligned
from tape.inspect.words import byte_size, columns_of, one_line

_SHOWN = 20
"""The number of operations with a row of their own; the rest shares one."""


@dataclass(frozen=True, slots=True)
class OpTotal:
    """Totals of the nodes of one operation.

    Attributes
    ----------
    name : str
        The operation; ``"param"`` and ``"input"`` for leaves.
    count : int
        The number of nodes.
    flops : int
        The sum of their `tape.inspect.costs.flops`.
    bytes : int
        The memory that these nodes were the first to hold.
    """

    name: str
    count: int
    flops: int
    bytes: int


@dataclass(frozen=True, repr=False)
class Summary:
    """The summary of a tape. It prints as a table, in a notebook as an HTML table.

    Attributes
    ----------
    title : str
        A description of the trace.
    nodes, params, inputs, operations : int
        The number of nodes, and among them of params, inputs and results of operations.
    param_elements : int
        The number of elements of all params.
    inactive : int
        The number of operations that depend on no param.
    longest_chain : int
        The number of nodes on the longest path from a leaf to a result, which cannot run in parallel.
    flops : int
        The floating-point operations of all nodes, forwards. An estimate: see `tape.inspect.costs.flops`.
    value_bytes : int
        The memory of all values, each block once, whatever the number of its views.
    constant_bytes : int
        The memory of further constants among the operands.
    ops : tuple of OpTotal
        Totals by operation, the most FLOPs first, then the most nodes.
    """

    title: str
    nodes: int
    params: int
    inputs: int
    operations: int
    param_elements: int
    inactive: int
    longest_chain: int
    flops: int
    value_bytes: int
    constant_bytes: int
    ops: tuple[OpTotal, ...]

    def __str__(self) -> str:
        facts = [f"{name:<13}  {text}" for name, text in self._facts()]
        table = [_TITLES, *self._table()]
        widths = [max(columns_of(row[k]) for row in table) for k in range(len(_TITLES))]
        widths[0] = min(widths[0], 40)
        return "\n".join([self.title, *facts, *(["", *aligned(table, widths, _NUMBERS)] if self.ops else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        facts = "; ".join([f"{name}: {text}" for name, text in self._facts()])
        rows = []
        for row in self._table():
            cells = [
                f"<td{' class=number' if k in _NUMBERS else ''}>{escape(cell)}</td>"
                for k, cell in enumerate(row)
            ]
            rows.append(f"<tr>{''.join(cells)}</tr>")
        return html_table(self.title, _TITLES, rows, facts, _NUMBERS)

    def _facts(self) -> list[tuple[str, str]]:
        inactive = f", {self.inactive:,} on no param" if self.inactive else ""
        constants = f", {byte_size(self.constant_bytes)} in constants" if self.constant_bytes else ""
        return [
            (
                "nodes",
                f"{self.nodes:,}: {_many(self.params, 'param')} of {_many(self.param_elements, 'element')}, "
                f"{_many(self.inputs, 'input')}, {_many(self.operations, 'operation')}{inactive}",
            ),
            ("longest chain", _many(self.longest_chain, "node")),
            ("memory", f"{byte_size(self.value_bytes)} in values{constants}"),
            ("work", f"{self.flops:,} FLOPs forwards"),
        ]

    def _table(self) -> list[tuple[str, ...]]:
        totals = list(self.ops)
        if len(totals) > _SHOWN + 1:
            rest = totals[_SHOWN:]
            totals[_SHOWN:] = [
                OpTotal(
                    f"{len(rest)} others",
                    sum(total.count for total in rest),
                    sum(total.flops for total in rest),
                    sum(total.bytes for total in rest),
                )
            ]
        return [
            (
                one_line(total.name),
                f"{total.count:,}",
                f"{total.flops:,}",
                f"{total.flops / self.flops:.1%}" if total.flops else "",
                byte_size(total.bytes),
            )
            for total in totals
        ]


_TITLES = ("operation", "nodes", "FLOPs", "share", "memory")
_NUMBERS = (1, 2, 3, 4)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def summary(trace: Any) -> Summary:
    """Summarise a tape in one pass.

    Parameters
    ----------
    trace : Trace
        A trace of any length.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape.inspect.listing import summary
    >>> tr = tape.Trace(name="t")
    >>> x, w = tr.input(np.ones((50, 8)), name="x"), tr.param(np.ones((8, 3)), name="w")
    >>> y = (np.tanh(x @ w) ** 2).sum()
    >>> print(summary(tr))
    <Trace t: 6 nodes, 1 param>
    nodes          6: 1 param of 24 elements, 1 input, 4 operations
    longest chain  5 nodes
    memory         7.0 kB in values
    work           2,850 FLOPs forwards
    <BLANKLINE>
    operation  nodes  FLOPs  share  memory
    matmul         1  2,400  84.2%  1.2 kB
    tanh           1    150   5.3%  1.2 kB
    power          1    150   5.3%  1.2 kB
    sum            1    150   5.3%     8 B
    input          1      0         3.2 kB
    param          1      0          192 B
    """
    nodes = trace.nodes
    counts: dict[str, list[int]] = {}
    chains = [0] * len(nodes)
    blocks: dict[int, int] = {}
    constants: dict[int, int] = {}
    params = leaves = param_elements = inactive = 0
    for id, node in enumerate(nodes):
        op, value = node.call.op, plain(node.value)
        inputs = node.inputs
        if op is None:
            name = "param" if node.is_param else "input"
            leaves += 1
            params += node.is_param
            param_elements += value.size if node.is_param else 0
        else:
            name = op.name
            inactive += not node.is_active
        longest = 0
        for k in range(0, len(inputs), 2):
            parent = inputs[k]
            if parent is None:
                operand = plain(inputs[k + 1])
                if isinstance(operand, (np.ndarray, np.generic)):
                    block, size = _block(operand)
                    constants[block] = size
            elif chains[parent] > longest:
                longest = chains[parent]
        chains[id] = longest + 1
        block, size = _block(value)
        held = 0 if block in blocks else size
        blocks[block] = size
        total = counts.get(name)
        if total is None:
            total = counts[name] = [0, 0, 0]
        total[0] += 1
        total[1] += flops(node)
        total[2] += held
    ops = [OpTotal(name, *total) for name, total in counts.items()]
    return Summary(
        title=one_line(repr(trace)),
        nodes=len(nodes),
        params=params,
        inputs=leaves - params,
        operations=len(nodes) - leaves,
        param_elements=param_elements,
        inactive=inactive,
        longest_chain=max(chains, default=0),
        flops=sum(total.flops for total in ops),
        value_bytes=sum(blocks.values()),
        constant_bytes=sum(size for block, size in constants.items() if block not in blocks),
        ops=tuple(sorted(ops, key=lambda total: (-total.flops, -total.count))),
    )


def _block(value: Any) -> tuple[int, int]:
    """Return the memory block of an array or scalar: the identity of its owner, and its size in bytes."""
    if type(value) is Results:
        return id(value), 0  # its parts follow
    owner: Any = value
    base: Any = value.base
    while isinstance(base, np.ndarray):
        owner, base = base, base.base
    if base is None:
        return id(owner), owner.nbytes
    low, high = byte_bounds(owner)  # memory of another library: the visible part
    return low, high - low
