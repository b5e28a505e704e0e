"""The law behind a swing that dies out, learned from where it has been: a neural differential equation.

    python examples/neural_ode.py --output neural_ode.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape

TIMES = np.linspace(0.0, 8.0, 33)
START = np.array([1.5, 0.0])
WIDTH, STEPS = 10, 600


def pendulum(y: Any, t: Any) -> Any:
    """The truth: the angle and its speed, with friction."""
    return np.stack([y[1], -np.sin(2 * y[0]) - 0.25 * y[1]])


def network(params: Any, y: Any) -> Any:
    """How angle and speed change, by a network with one hidden layer."""
    return np.tanh(y @ params["w1"] + params["b1"]) @ params["w2"]


def initial(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights that are small."""
    return {
        "w1": 0.5 * rng.standard_normal((2, WIDTH)),
        "b1": 0.1 * rng.standard_normal(WIDTH),
        "w2": 0.3 * rng.standard_normal((WIDTH, 2)),
    }


def solution(params: Any, times: np.ndarray) -> Any:
    """The way that the network takes from the start, ``(times, 2)``."""
    return tape.odeint(lambda y, t: network(params, y), START, times, method="Tsit5", rtol=1e-5, atol=1e-6)


def fit(seen: np.ndarray) -> tuple[Any, list[float]]:
    """Learn from where it has been: weights, and the mean squared distance at each step."""
    step = tape.compile(
        tape.value_and_grad(lambda params, n: np.mean((solution(params, TIMES[:n]) - seen[:n]) ** 2)),
    )
    params = initial(np.random.default_rng(3))
    optimizer = tape.optim.Adam(list(params.values()), lr=0.02)
    losses = []
    for k in range(STEPS):
        loss, gradient = step(params, 9 if k < STEPS // 4 else len(TIMES))  # the first part first
        losses.append(float(loss))
        optimizer.step([gradient[name] for name in params])
    return params, losses


def draw(params: Any, seen: np.ndarray, losses: list[float]) -> Figure:
    """The swing and what was learned of it, beyond the time that was seen; and the loss."""
    figure, (left, right) = figure_of("Angle", "Mean squared distance")
    times = np.linspace(0, 12, 200)
    truth = tape.odeint(pendulum, START, times)
    left.axvspan(TIMES[-1], times[-1], color="0.95")
    left.plot(times, truth[:, 0], color=GREY, label="truth")
    left.plot(TIMES, seen[:, 0], "o", color=BLUE, markersize=4, label="seen")
    left.plot(times, solution(params, times)[:, 0], color=RED, label="learned")
    left.set(xlabel="time")
    left.legend(frameon=False)
    right.semilogy(losses, color=RED)
    right.set(xlabel="step")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Learn the law, print how well, and save the picture."""
    output = output_of(argv, __doc__, "neural_ode.png")
    seen = tape.odeint(pendulum, START, TIMES)
    params, losses = fit(seen)
    print(f"mean squared distance {losses[0]:.3f} before, {losses[-1]:.5f} after {STEPS} steps")
    save(draw(params, seen, losses), output)


if __name__ == "__main__":
    main()
