"""Reach a point on the other side of a planet: gradient descent on the velocity a transfer starts with.

    python examples/orbit.py --output orbit.png

Nothing but the planet's gravity acts on the way, so the first velocity decides where it ends. Needs
``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREEN, GREY, RED, descend, figure_of, output_of, save
from matplotlib.figure import Figure

GM = 0.03  # gravitational constant times the mass of the planet, which lies at the origin
POSITION, TARGET = np.array([1.0, 0.0]), np.array([-1.0, 0.0])
START = np.array([0.0, 0.15])  # a circular orbit would need sqrt(GM) = 0.173
FLIGHT, RATE, ITERATIONS = 18, 5e-5, 30


def gravity(position: Any) -> Any:
    """The acceleration towards the planet: ``(..., 2)`` to ``(..., 2)``."""
    return -GM * position / np.sum(position**2, axis=-1, keepdims=True) ** 1.5


def orbit(position: Any, velocity: Any, steps: int) -> Any:
    """The positions of satellites, the first and one a step: ``(..., 2)`` to ``(steps + 1, ..., 2)``.

    A position moves by the acceleration at the start of its step, a velocity by that half-way.
    """
    positions = [position]
    for _ in range(steps):
        move = velocity + gravity(position) / 2
        velocity = velocity + gravity(position + move / 2)
        position = position + move
        positions.append(position)
    return np.stack(positions)


def loss(velocity: Any) -> Any:
    """The squared distance between the end of the way and the target."""
    return np.sum((orbit(POSITION, velocity, FLIGHT)[-1] - TARGET) ** 2)


def draw(velocities: np.ndarray, losses: np.ndarray) -> Figure:
    """The ways around the planet from the first to the last; the loss by iteration."""
    figure, (left, right) = figure_of("Around the planet", "Squared distance to the target")
    ways = orbit(np.broadcast_to(POSITION, velocities.shape), velocities, FLIGHT)
    last = len(velocities) - 1
    for iteration, alpha in [(0, 0.9), (1, 0.7), (2, 0.5), (3, 0.3)]:
        label = "at first" if iteration == 0 else f"iteration {iteration}"
        left.plot(*ways[:, iteration].T, color=BLUE, alpha=alpha, label=label)
    left.plot(*ways[:, last].T, ".-", color=RED, linewidth=2, label=f"iteration {last}")
    angle = np.linspace(0, 2 * np.pi, 200)
    left.plot(np.cos(angle), np.sin(angle), ":", color=GREY, linewidth=1)
    left.plot(0, 0, "o", color=GREEN, markersize=22, zorder=1)
    left.plot(*POSITION, "s", color="black", markersize=8, zorder=3, label="start")
    left.plot(*TARGET, "X", color="black", markersize=10, zorder=3, label="target")
    left.set(aspect="equal", xlabel="x", ylabel="y")
    left.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    right.semilogy(losses, ".-", color=RED)
    right.set(xlabel="iteration")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Find the velocity, print how the loss fell and what was found, and save the picture."""
    output = output_of(argv, __doc__, "orbit.png")
    velocities, losses = descend(loss, START, RATE, ITERATIONS)
    print("loss {:.4f} at first, {:.4f} after 1 iteration,".format(*losses), end=" ")
    print(f"{losses[-1]:.1e} after {ITERATIONS}")
    print("velocity ({:.4f}, {:.4f})".format(*velocities[-1]), end=", ")
    print("the way ends at ({:.3f}, {:.3f})".format(*orbit(POSITION, velocities[-1], FLIGHT)[-1]))
    save(draw(velocities, losses), output)


if __name__ == "__main__":
    main()
