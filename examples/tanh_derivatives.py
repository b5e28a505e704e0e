"""Draw tanh and its first eight derivatives, and count the operations that nested gradients take.

    python examples/tanh_derivatives.py --output tanh_derivatives.png

Each order is the gradient of the one before, and so records every operation of all sweeps before it:
the count grows two- to threefold with each order. It is the count of one tape, of a trace opened around
all of these sweeps. Many of its operations are the same operation of the same operands; and power series,
`tape.taylor`, take another road to all orders at once. Needs ``pip install '.[examples]'``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _common import BLUE, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape

HIGHEST = 8
DEZERO_COUNT = 2571  # function nodes of DeZero's graph of the eighth derivative


def derivative(order: int) -> Callable[[Any], Any]:
    """The derivative of tanh of that order, element by element."""
    f: Callable[[Any], Any] = np.tanh
    for _ in range(order):
        f = tape.elementwise_grad(f)
    return f


def recorded(f: Callable[[Any], Any], x: float = 1.0) -> tape.Trace:
    """The tape of all operations that compute ``f(x)`` from its only param, sweeps inside ``f`` included."""
    with tape.Trace() as trace:
        f(trace.param(x))
    return trace


def operations(trace: tape.Trace) -> int:
    """How many nodes are not leaves."""
    return sum(node.op is not None for node in trace.nodes)


def distinct_operations(trace: tape.Trace) -> int:
    """How many of them would be left if none were done twice: the same one of the same operands."""
    first_like: dict[Any, int] = {}
    same_as: list[int] = []  # for each node, the first one that computes the same
    for id, node in enumerate(trace.nodes):
        operands = [
            ("constant", float(value)) if parent is None else same_as[parent]
            for parent, value in zip(node.parents, node.operands, strict=True)
        ]
        # What elementwise operations compute depends on nothing but their operands.
        key = (node.op, *operands) if node.op is not None else (None, id)
        same_as.append(first_like.setdefault(key, id))
    return sum(op is not None for op, *_ in first_like)


def draw(x: np.ndarray) -> Figure:
    """A panel for each order."""
    names = ["tanh", *(f"derivative {order}" for order in range(1, HIGHEST + 1))]
    figure, panels = figure_of(*names, rows=3, size=(10, 7.5))
    for order, axes in enumerate(panels):
        axes.axhline(0, color="0.7", linewidth=0.8)
        axes.plot(x, derivative(order)(x), color=RED if order else BLUE)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Print the derivatives at 1 and the counts, order by order, and save the picture."""
    output = output_of(argv, __doc__, "tanh_derivatives.png")
    print("order  derivative at 1  operations  distinct")
    for order in range(HIGHEST + 1):
        trace = recorded(derivative(order))
        value = float(derivative(order)(1.0))
        print(f"{order:5}  {value:15.10f}  {operations(trace):10}  {distinct_operations(trace):8}")
    print(f"DeZero's graph of order {HIGHEST} has {DEZERO_COUNT} function nodes")
    series = recorded(lambda x: tape.taylor(np.tanh, x, 1.0, HIGHEST))
    print(f"tape.taylor computes all orders up to {HIGHEST} in {operations(series)} operations")
    save(draw(np.linspace(-4, 4, 401)), output)


if __name__ == "__main__":
    main()
