"""What a rod is made of, from how it cools: an inverse problem through a simulation that writes in place.

    python examples/heat_source.py --output heat_source.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREEN, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape
import tape.scipy

CELLS, STEPS, STEP = 60, 400, 0.2
AT = (np.arange(CELLS) + 0.5) / CELLS
KNOTS = np.linspace(0, 1, 7)
TRUTH = np.array([1.0, 1.0, 0.9, 0.3, 0.35, 0.8, 1.0])  # a part in the middle hardly conducts
START = np.exp(-(((AT - 0.3) / 0.08) ** 2)) + 0.8 * np.exp(-(((AT - 0.75) / 0.1) ** 2))
SENSORS = np.arange(2, CELLS, 5)


def simulate(knots: Any) -> Any:
    """The temperatures at the sensors after every tenth step, ``(STEPS / 10, sensors)``, of a rod that cools.

    The flow between neighbouring cells is their difference times the conductivity between them.
    """
    conductivity = np.interp(np.arange(1, CELLS) / CELLS, KNOTS, knots)
    u, readings = np.zeros(CELLS, like=knots), []
    u[:] = START
    for step in range(STEPS):
        flow = STEP * conductivity * (u[1:] - u[:-1])
        u[:-1] += flow
        u[1:] -= flow
        if step % 10 == 9:
            readings.append(u[SENSORS])
    return np.stack(readings)


def measured() -> np.ndarray:
    """What the sensors say of the true rod, with noise."""
    return simulate(TRUTH) + 0.002 * np.random.default_rng(1).standard_normal((STEPS // 10, SENSORS.size))


def fit(readings: np.ndarray) -> Any:
    """The conductivity at the knots that explains the readings best."""
    return tape.scipy.least_squares(
        lambda knots: (simulate(knots) - readings).ravel(), np.full(KNOTS.shape, 0.6), bounds=(0.01, 2.0)
    )


def draw(readings: np.ndarray, found: np.ndarray) -> Figure:
    """The conductivity that was found; and what the sensors say."""
    figure, (left, right) = figure_of("Conductivity of the rod", "Temperatures at the sensors")
    left.plot(AT, np.interp(AT, KNOTS, TRUTH), "--", color=BLUE, label="truth")
    left.plot(AT, np.interp(AT, KNOTS, found), color=RED, label="found")
    left.plot(KNOTS, found, "o", color=RED)
    left.plot(AT[SENSORS], np.zeros(SENSORS.size), "|", color=GREEN, markersize=12, label="sensors")
    left.set(xlabel="x")
    left.legend(frameon=False, loc="center left")
    steps = np.arange(1, STEPS // 10 + 1) * 10
    right.plot(steps, readings, ".", color=GREY, markersize=2)
    right.plot(steps, simulate(found), color=RED, linewidth=0.8)
    right.set(xlabel="step")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Find the conductivity, print it beside the truth, and save the picture."""
    output = output_of(argv, __doc__, "heat_source.png")
    readings = measured()
    found = fit(readings)
    print("found", " ".join(f"{k:.3f}" for k in found.x))
    print("truth", " ".join(f"{k:.3f}" for k in TRUTH))
    left = np.sqrt(np.mean(found.fun**2))
    print(f"after {found.nfev} simulations the residuals have a root mean square of {left:.5f}")
    save(draw(readings, found.x), output)


if __name__ == "__main__":
    main()
