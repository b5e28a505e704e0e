"""Smooth a path beside a soft obstacle: its legs should be short, its points far from the obstacle.

    python examples/path_smoothing.py --output path_smoothing.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, RED, descend, figure_of, output_of, save
from matplotlib.figure import Figure

START = np.array([(0, 0), (0.5, 0), (1, 0), (1.5, 0.5), (2, 1), (2, 1.5), (2, 2)])
OBSTACLE = np.array([1.0, 1.0])
RATE, STEPS = 0.1, 1000


def repulsion(points: Any) -> Any:
    """What the obstacle adds to the loss for each point: ``(..., 2)`` to ``(...)``."""
    return 1.25 * np.exp(-np.sum((points - OBSTACLE) ** 2, axis=-1) / 4)


def loss(inner: Any) -> Any:
    """The squared lengths of all legs, and what the obstacle adds; the first and last points are fixed."""
    path = np.concatenate([START[:1], inner, START[-1:]])
    return np.sum((path[1:] - path[:-1]) ** 2) + np.sum(repulsion(path))


def draw(moved: np.ndarray) -> Figure:
    """The obstacle, with the path as it is smoothed; how far all points together move in a step."""
    figure, (left, right) = figure_of("A path beside a soft obstacle", "Length of a step")
    x, y = np.meshgrid(np.linspace(-0.3, 2.6, 120), np.linspace(-0.6, 2.3, 120))
    left.contourf(x, y, repulsion(np.stack([x, y], axis=-1)), levels=10, cmap="Greys", vmax=2.5)
    for step, color, alpha in [(0, BLUE, 0.3), (50, BLUE, 0.55), (200, BLUE, 0.8), (len(moved) - 1, RED, 1)]:
        path = np.concatenate([START[:1], moved[step], START[-1:]])
        left.plot(*path.T, "o-", color=color, alpha=alpha, label=f"after {step} steps")
    left.plot(*START[[0, -1]].T, "s", color="black", label="fixed")
    left.set(aspect="equal", xlabel="x", ylabel="y")
    left.legend(frameon=False, loc="upper left")
    right.semilogy(np.linalg.norm(np.diff(moved, axis=0), axis=(1, 2)), color=RED)
    right.set(xlabel="step")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Smooth the path, print its points and its loss, and save the picture."""
    output = output_of(argv, __doc__, "path_smoothing.png")
    moved, losses = descend(loss, START[1:-1], RATE, STEPS)
    print(f"step 1 started from loss {losses[0]:.9f}, step {STEPS} from {losses[-2]:.9f}")
    print("points", " ".join(f"({x:.4f}, {y:.4f})" for x, y in moved[-1]))
    save(draw(moved), output)


if __name__ == "__main__":
    main()
