"""Three ways down Rosenbrock's valley: gradient descent, Newton's method, and SciPy with Hessian products.

    python examples/rosenbrock.py --output rosenbrock.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREEN, RED, figure_of, output_of, save
from matplotlib.figure import Figure
from scipy.optimize import minimize

import tape

START, MINIMUM = np.array([0.0, 2.0]), np.array([1.0, 1.0])
RATE, STEPS = 0.001, 1000


def rosenbrock(point: Any) -> Any:
    """The function to minimise, of an array ``[x, y]`` (or ``(2, ...)``): zero at (1, 1)."""
    x, y = point
    return 100 * (y - x**2) ** 2 + (x - 1) ** 2


def gradient_descent(point: np.ndarray, rate: float, steps: int) -> np.ndarray:
    """The points visited by steps against the gradient, the first one included."""
    gradient = tape.grad(rosenbrock)
    path = [point]
    for _ in range(steps):
        path.append(path[-1] - rate * gradient(path[-1]))
    return np.array(path)


def newton(point: np.ndarray, tolerance: float = 1e-10) -> np.ndarray:
    """The points visited by Newton's method, until the gradient is shorter than the tolerance."""
    gradient, hessian = tape.grad(rosenbrock), tape.hessian(rosenbrock)
    path = [point]
    while np.linalg.norm(slope := gradient(path[-1])) > tolerance:
        path.append(path[-1] - np.linalg.solve(hessian(path[-1]), slope))
    return np.array(path)


def trust_region(point: np.ndarray) -> np.ndarray:
    """The points visited by SciPy's trust-region method, which asks for Hessian-vector products only."""
    path = [point]
    minimize(
        tape.value_and_grad(rosenbrock),
        point,
        method="trust-ncg",
        jac=True,  # the function returns its gradient along with its value
        hessp=tape.hvp(rosenbrock),
        callback=lambda x: path.append(x.copy()),
        options={"gtol": 1e-10},
    )
    return np.array(path)


def draw(paths: dict[str, np.ndarray]) -> Figure:
    """The valley with the three paths; and how far from its lowest point each of them still was."""
    figure, (left, right) = figure_of("Three ways down", "Distance to the minimum")
    x, y = np.meshgrid(np.linspace(-1.7, 1.8, 300), np.linspace(-1.2, 2.4, 300))
    heights = np.log10(rosenbrock(np.array([x, y])) + 1e-3)
    left.contourf(x, y, heights, levels=16, cmap="Greys", vmax=9)
    styles = [(BLUE, "-", 4.0), (RED, "o--", 1.2), (GREEN, "s-", 1.2)]
    for (name, path), (color, style, width) in zip(paths.items(), styles, strict=True):
        looks = {"color": color, "markersize": 4, "linewidth": width}
        left.plot(*path.T, style, **looks, label=f"{name}, {len(path) - 1} steps")
        distances = np.linalg.norm(path - MINIMUM, axis=1)
        steps = np.flatnonzero(distances)  # a logarithmic axis has no place for a minimum that is hit
        right.loglog(steps + 1, distances[steps], style, **looks)
    left.plot(*MINIMUM, "*", color="black", markersize=12, label="minimum")
    left.set(xlabel="x", ylabel="y", xlim=(-1.7, 1.8), ylim=(-1.2, 2.4))
    left.legend(loc="lower left")
    right.set_xlabel("points visited")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Go down in three ways, print where each ends, and save the picture."""
    output = output_of(argv, __doc__, "rosenbrock.png")
    paths = {
        "gradient descent": gradient_descent(START, RATE, STEPS),
        "Newton": newton(START),
        "SciPy trust-ncg": trust_region(START),
    }
    for name, path in paths.items():
        x, y = path[-1]
        print(f"{name}: ({x:.10f}, {y:.10f}) after {len(path) - 1} steps")
    save(draw(paths), output)


if __name__ == "__main__":
    main()
