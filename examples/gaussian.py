"""The Gaussian exp(-x**2) and its derivatives of orders 1 to 3, exact to the last digits.

    python examples/gaussian.py --output gaussian.png

Each order is the gradient of the one before. A gradient is itself a list of operations: recorded on a tape
around it, it is an ordinary computation that runs forwards. That is what the animation shows,
``gaussian_tape.svg``: the value, then the derivative; and the backward pass over both gives the second one.
Needs ``pip install '.[examples]'``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREEN, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape
from tape.viz.animate import animate

HIGHEST = 3
X = np.arange(-50, 50) / 10
AT = 0.5  # where the tape is recorded


def gaussian(x: Any) -> Any:
    """The bell."""
    return np.exp(-(x**2))


def derivative(order: int) -> Callable[[Any], Any]:
    """The derivative of that order, element by element."""
    f: Callable[[Any], Any] = gaussian
    for _ in range(order):
        f = tape.elementwise_grad(f)
    return f


def by_hand(order: int, x: np.ndarray) -> np.ndarray:
    """The same from formulas, with more digits: a polynomial of Hermite, times the bell."""
    x = x.astype(np.longdouble)
    return (-1) ** order * np.polynomial.Hermite.basis(order)(x) * gaussian(x)


def distance(order: int) -> np.ndarray:
    """How far the derivative is from the formula, at all points."""
    return (derivative(order)(X) - by_hand(order, X)).astype(float)


def recorded_slope() -> tuple[tape.Trace, Any]:
    """A tape of the bell and its derivative at one point, and the derivative on it."""
    with tape.Trace(name="gaussian") as trace:
        return trace, derivative(1)(trace.param(AT, name="x"))


def draw() -> Figure:
    """All orders over each other; and how far they are from the formulas."""
    figure, (left, right) = figure_of("exp(-x**2) and its derivatives", "Distance from the formulas")
    x = np.linspace(X[0], X[-1], 401)
    left.plot(x, gaussian(x), color=BLUE, linewidth=2.5, label="exp(-x**2)")
    for order, color in enumerate((RED, GREEN, GREY), start=1):
        left.plot(x, derivative(order)(x), color=color, label=f"order {order}")
        right.plot(X, distance(order), ".", color=color, label=f"order {order}")
    for axes in (left, right):
        axes.set(xlabel="x")
        axes.legend(frameon=False, loc="upper right")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Print the derivatives at one point and the greatest errors, and save the picture and the animation."""
    output = output_of(argv, __doc__, "gaussian.png")
    print(f"order  at x = {AT}         greatest error on x = {X[0]:g} ... {X[-1]:g}")
    for order in range(HIGHEST + 1):
        print(f"{order:5}  {derivative(order)(AT):16.13f}  {np.max(np.abs(distance(order))):.0e}")
    trace, slope = recorded_slope()
    print(f"the first derivative takes {len(trace)} nodes, the second is the gradient of the last one")
    if output:
        moving = output.with_name(f"{output.stem}_tape.svg")
        animate(trace, moving, root=slope)
        print(f"animation saved as {moving}")
    save(draw(), output)


if __name__ == "__main__":
    main()
