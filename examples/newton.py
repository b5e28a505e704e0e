"""Newton's method on x**4 - 2 x**2: every step jumps to the minimum of a parabola, made of two derivatives.

    python examples/newton.py --output newton.png

The second derivative is the gradient of the gradient. Needs ``pip install '.[examples]'``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape

START, STEPS, MINIMUM = 2.0, 7, 1.0


def f(x: Any) -> Any:
    """The function to minimise: minima at -1 and 1, a maximum at 0."""
    return x**4 - 2 * x**2


def newton(f: Callable[[Any], Any], x: float, steps: int) -> np.ndarray:
    """The points that Newton's method visits, the first one included."""
    slope_and_curvature = tape.value_and_grad(tape.grad(f))
    visited = [x]
    for _ in range(steps):
        slope, curvature = slope_and_curvature(x)
        x = x - slope / curvature
        visited.append(x)
    return np.array(visited)


def parabola(f: Callable[[Any], Any], at: float, x: np.ndarray) -> np.ndarray:
    """The parabola that touches ``f`` at a point with the same curvature."""
    value, slope, curvature = tape.taylor(f, at, 1.0, order=2)
    return value + slope * (x - at) + curvature / 2 * (x - at) ** 2


def draw(visited: np.ndarray) -> Figure:
    """The curve, with the first parabolas and their minima; and how fast the error falls."""
    figure, (left, right) = figure_of("Every step is to the minimum of a parabola", "Distance to the minimum")
    x = np.linspace(0.75, 2.08, 200)
    left.plot(x, f(x), color=BLUE, linewidth=2, label="$x^4 - 2x^2$")
    for k in range(2):
        at, minimum = visited[k : k + 2]
        to_the_left = x[x <= at]
        looks = {"color": RED, "alpha": 0.6, "label": None if k else "parabolas that touch it"}
        left.plot(to_the_left, parabola(f, at, to_the_left), "--", **looks)
        ends = [parabola(f, at, minimum), f(minimum)]
        left.plot([minimum, minimum], ends, ":", color=GREY)
        left.plot(minimum, ends[0], "o", color="white", markeredgecolor=RED, markersize=5)
    left.plot(visited, f(visited), "o", color=RED, zorder=3, label="iterates")
    for k, point in enumerate(visited[:4]):
        left.annotate(f"{k}", (point, f(point)), (8, -9), textcoords="offset points", color=RED)
    left.set(xlabel="x", ylim=(-2, 9))
    left.legend(frameon=False, loc="upper center")

    errors = np.abs(visited - MINIMUM)
    steps = np.flatnonzero(errors)  # a logarithmic axis has no place for the zero that comes last
    right.semilogy(steps, errors[steps], "o-", color=RED)
    for step in steps:
        right.annotate(f"{errors[step]:.1e}", (step, errors[step]), (8, 3), textcoords="offset points")
    right.set(xlabel="step", xlim=(-0.3, steps[-1] + 1.2))
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Print the iterates and save the picture."""
    output = output_of(argv, __doc__, "newton.png")
    visited = newton(f, START, STEPS)
    for step, x in enumerate(visited):
        print(f"step {step}: x = {x:.13f}")
    save(draw(visited), output)


if __name__ == "__main__":
    main()
