"""A network that solves a differential equation: -u'' + u**3 = f on [0, 1], with u zero at both ends.

    python examples/pinn.py --output pinn.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape
import tape.scipy

WIDTH, POINTS = 12, np.linspace(0, 1, 41)


def truth(x: Any) -> Any:
    """The solution that the right-hand side is made for."""
    return np.sin(2 * np.pi * x) + 0.3 * np.sin(5 * np.pi * x)


def right_hand_side(x: np.ndarray) -> np.ndarray:
    """f, so that `truth` solves the equation."""
    return -tape.grad(tape.grad(truth))(x) + truth(x) ** 3


F = np.array([right_hand_side(x) for x in POINTS])


def initial(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights of a network with two hidden layers."""
    return {
        "w1": 6 * rng.standard_normal(WIDTH), "b1": 3 * rng.standard_normal(WIDTH),
        "w2": rng.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5, "b2": np.zeros(WIDTH),
        "w3": rng.standard_normal(WIDTH) / WIDTH**0.5,
    }  # fmt: skip


def network(params: Any, x: Any) -> Any:
    """The solution at one point; the factor x (1 - x) holds the ends at zero."""
    hidden = np.tanh(params["w1"] * x + params["b1"])
    hidden = np.tanh(hidden @ params["w2"] + params["b2"])
    return x * (1 - x) * (hidden @ params["w3"])


def residuals(params: Any) -> Any:
    """By how much the equation does not hold, at all points."""

    def at(x: Any, f: Any) -> Any:
        u = lambda x: network(params, x)  # noqa: E731
        return -tape.grad(tape.grad(u))(x) + u(x) ** 3 - f

    return tape.vmap(at)(POINTS, F)


def solve() -> Any:
    """The network of the least squared residuals."""
    return tape.scipy.least_squares(residuals, initial(np.random.default_rng(0)), max_nfev=60)


def draw(params: Any, at: np.ndarray) -> Figure:
    """The solution, and how far the network is from it."""
    figure, (left, right) = figure_of("The solution", "Error of the network")
    found = tape.vmap(lambda x: network(params, x))(at)
    left.plot(at, truth(at), color=GREY, linewidth=4, alpha=0.6, label="truth")
    left.plot(at, found, color=RED, label="network")
    left.plot(POINTS, np.zeros(POINTS.size), "|", color=BLUE, label="points")
    left.legend(frameon=False)
    right.plot(at, found - truth(at), color=RED)
    for axes in (left, right):
        axes.set_xlabel("x")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Solve the equation, print the largest error, and save the picture."""
    output = output_of(argv, __doc__, "pinn.png")
    found, at = solve(), np.linspace(0, 1, 301)
    error = np.max(np.abs(tape.vmap(lambda x: network(found.x, x))(at) - truth(at)))
    left = np.max(np.abs(found.fun))
    print(f"after {found.nfev} steps the residuals are at most {left:.1e}, the error {error:.1e}")
    save(draw(found.x, at), output)


if __name__ == "__main__":
    main()
