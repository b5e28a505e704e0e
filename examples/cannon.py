"""Aim a cannon: gradient descent on the velocity of a shell, through its whole flight.

    python examples/cannon.py --output cannon.png

The flight is plain NumPy code with gravity and a drag against the direction of motion. Needs
``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, RED, descend, figure_of, output_of, save
from matplotlib.figure import Figure

GRAVITY = np.array([0.0, -0.03])
DRAG = 0.02
CANNON, TARGET = np.array([0.0, 0.0]), np.array([10.0, 0.0])
START = np.array([-0.5, 0.5])  # the first velocity points away from the target
FLIGHT, RATE, ITERATIONS = 30, 3e-4, 30


def flight(position: Any, velocity: Any, steps: int) -> Any:
    """The positions of shells, the first and one a step: ``(..., 2)`` to ``(steps + 1, ..., 2)``."""
    positions = [position]
    for _ in range(steps):
        speed = np.sqrt(np.sum(velocity**2, axis=-1, keepdims=True))
        acceleration = GRAVITY - DRAG * velocity / speed
        position = position + velocity + acceleration / 2
        velocity = velocity + acceleration
        positions.append(position)
    return np.stack(positions)


def loss(velocity: Any) -> Any:
    """The squared distance between the end of the flight and the target."""
    return np.sum((flight(CANNON, velocity, FLIGHT)[-1] - TARGET) ** 2)


def draw(velocities: np.ndarray, losses: np.ndarray) -> Figure:
    """The flights from the first shot to the last; the loss by iteration."""
    figure, (left, right) = figure_of("Flights", "Squared distance to the target")
    flights = flight(np.broadcast_to(CANNON, velocities.shape), velocities, FLIGHT)
    last = len(velocities) - 1
    for iteration, alpha in [(0, 0.9), (1, 0.75), (4, 0.6), (10, 0.45), (13, 0.3)]:
        label = "first shot" if iteration == 0 else f"iteration {iteration}"
        left.plot(*flights[:, iteration].T, color=BLUE, alpha=alpha, label=label)
    left.plot(*flights[:, last].T, ".-", color=RED, linewidth=2, label=f"iteration {last}")
    left.plot(*CANNON, "s", color="black", markersize=8, label="cannon", zorder=3)
    left.plot(*TARGET, "X", color="black", markersize=10, label="target", zorder=3)
    left.set(xlabel="x", ylabel="y", ylim=(None, 7))
    left.legend(frameon=False, loc="upper left", ncols=2)
    right.semilogy(losses, ".-", color=RED)
    right.set(xlabel="iteration")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Aim, print how the loss fell and the velocity found, and save the picture."""
    output = output_of(argv, __doc__, "cannon.png")
    velocities, losses = descend(loss, START, RATE, ITERATIONS)
    print("loss {:.2f} at first, {:.2f} after 1 iteration,".format(*losses), end=" ")
    print(f"{losses[-1]:.1e} after {ITERATIONS}")
    print("velocity ({:.4f}, {:.4f})".format(*velocities[-1]), end=", ")
    print("the shell ends at ({:.3f}, {:.3f})".format(*flight(CANNON, velocities[-1], FLIGHT)[-1]))
    save(draw(velocities, losses), output)


if __name__ == "__main__":
    main()
