"""A posterior that nobody can integrate, approximated by a normal distribution: variational inference.

    python examples/variational.py --output variational.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape
from tape.scipy.stats import norm

SAMPLES, STEPS = 32, 1500


def log_density(z: Any) -> Any:
    """The funnel-like density of Duvenaud's example, ``(..., 2)`` to ``(...)``; its logarithm."""
    mean, log_scale = z[..., 0], z[..., 1]
    return norm.logpdf(log_scale, 0, 1.35) + norm.logpdf(mean, 0, np.exp(log_scale))


def evidence(params: Any, rng: Any) -> Any:
    """A sampled lower bound of the logarithm of the evidence, whose gradient goes through the samples."""
    mean, log_spread = params
    z = rng.normal(mean, np.exp(log_spread), size=(SAMPLES, 2))
    entropy = np.sum(log_spread) + np.log(2 * np.pi * np.e)
    return np.mean(log_density(z)) + entropy


def fit(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Means and logarithms of standard deviations, a row each, and the bound at each step."""
    step = tape.compile(tape.value_and_grad(evidence))
    rng = tape.random.default_rng(seed)
    params, bounds = np.array([[-1.0, -1.0], [-2.0, -2.0]]), []
    optimizer = tape.optim.Adam([params], lr=0.02)
    for _ in range(STEPS):
        bound, gradient = step(params, rng)
        bounds.append(bound)
        optimizer.step([-gradient])
    return params, np.array(bounds)


def draw(params: np.ndarray, bounds: np.ndarray) -> Figure:
    """The density with the normal distribution that is closest from inside; and the bound by step."""
    figure, (left, right) = figure_of(
        "A funnel and a normal distribution in it", "Lower bound of the evidence"
    )
    x, y = np.meshgrid(np.linspace(-3, 3, 200), np.linspace(-4, 2, 200))
    points = np.stack([x, y], -1)
    left.contourf(x, y, np.exp(log_density(points)), levels=12, cmap="Greys")
    mean, spread = params[0], np.exp(params[1])
    found = np.exp(np.sum(norm.logpdf(points, mean, spread), axis=-1))
    left.contour(x, y, found, levels=6, colors=RED, linewidths=0.8)
    left.plot(*mean, "o", color=RED)
    left.set(xlabel="mean", ylabel="log of the scale")
    right.plot(bounds, color=GREY, linewidth=0.4)
    smooth = np.convolve(bounds, np.ones(50) / 50, mode="valid")
    right.plot(np.arange(len(smooth)) + 25, smooth, color=BLUE)
    right.set(xlabel="step", ylim=(-4, 0.2))
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Fit the distribution, print it, and save the picture."""
    output = output_of(argv, __doc__, "variational.png")
    params, bounds = fit()
    for name, mean, log_spread in zip(("mean", "log of the scale"), *params, strict=True):
        print(f"{name}: {mean:+.3f} +- {np.exp(log_spread):.3f}")
    print(f"lower bound of the evidence, which is 1: {np.exp(bounds[-200:].mean()):.3f}")
    save(draw(params, bounds), output)


if __name__ == "__main__":
    main()
