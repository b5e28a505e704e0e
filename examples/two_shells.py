"""Let two shells meet in the air: the loss is their smallest squared distance at any time.

    python examples/two_shells.py --output two_shells.png

Which moment is the closest may change from one iteration to the next; the gradient is that of the
moment which is. Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, descend, figure_of, output_of, save
from cannon import flight
from matplotlib.figure import Figure

CANNONS = np.array([(0.0, 0.0), (10.0, 2.0)])
START = np.array([(0.5, 0.5), (-0.5, 0.5)])
FLIGHT, RATE, ITERATIONS = 20, 3e-4, 30


def squared_distances(flights: Any) -> Any:
    """How far two shells are from each other at each moment: ``(n, 2, 2)`` to ``(n,)``."""
    return np.sum((flights[:, 1] - flights[:, 0]) ** 2, axis=-1)


def loss(velocities: Any) -> Any:
    """The smallest squared distance between the shells over the whole flight."""
    return np.min(squared_distances(flight(CANNONS, velocities, FLIGHT)))


def draw(moved: np.ndarray, losses: np.ndarray) -> Figure:
    """The first and the last flights, with the moment the shells are closest; the loss by iteration."""
    figure, (left, right) = figure_of("Flights", "Smallest squared distance")
    for velocities, style, alpha, name in [
        (moved[0], "--", 0.4, "first shots"),
        (moved[-1], "-", 1, "last shots"),
    ]:
        flights = flight(CANNONS, velocities, FLIGHT)
        for shell, color in enumerate([BLUE, RED]):
            left.plot(*flights[:, shell].T, style, marker=".", color=color, alpha=alpha)
        closest = flights[np.argmin(squared_distances(flights))]
        left.plot([], [], style, color=GREY, label=name)
        left.plot(*closest.T, ":o", color="black", fillstyle="none", markersize=10)
    left.plot([], [], "o", color="black", fillstyle="none", markersize=10, label="when they are closest")
    left.plot(*CANNONS.T, "s", color="black", markersize=8, label="cannons", zorder=3)
    left.set(xlabel="x", ylabel="y", ylim=(None, 7.5))
    left.legend(frameon=False, loc="upper left", ncols=2)
    right.semilogy(losses, ".-", color=RED)
    right.set(xlabel="iteration")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Aim, print how the loss fell, when and where the shells meet, and save the picture."""
    output = output_of(argv, __doc__, "two_shells.png")
    moved, losses = descend(loss, START, RATE, ITERATIONS)
    print("loss {:.3f} at first, {:.3f} after 1 iteration,".format(*losses), end=" ")
    print(f"{losses[-1]:.1e} after {ITERATIONS}")
    flights = flight(CANNONS, moved[-1], FLIGHT)
    moment = np.argmin(squared_distances(flights))
    print("the shells meet at step {} near ({:.2f}, {:.2f})".format(moment, *flights[moment].mean(axis=0)))
    save(draw(moved, losses), output)


if __name__ == "__main__":
    main()
