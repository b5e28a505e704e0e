"""A curve through noisy points with an error band: a Gaussian process whose kernel is learned.

    python examples/gaussian_process.py --output gaussian_process.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape
from tape.scipy.stats import multivariate_normal

RNG = np.random.default_rng(2)
X = np.sort(np.concatenate([RNG.uniform(0, 4, 20), RNG.uniform(6, 10, 20)]))
Y = np.sin(1.5 * X) + 0.3 * X + 0.2 * RNG.standard_normal(X.shape)
START = np.log([1.0, 1.0, 0.5])


def kernel(x: Any, y: Any, height: Any, length: Any) -> Any:
    """The covariances ``(n, m)`` of the curve at n and at m points: smooth, and equal everywhere."""
    return height**2 * np.exp(-(((x[:, None] - y) / length) ** 2) / 2)


def log_likelihood(log_params: Any) -> Any:
    """Of the points, by the logarithms of the height and the length of waves, and of the noise."""
    height, length, noise = np.exp(log_params)
    return multivariate_normal.logpdf(Y, cov=kernel(X, X, height, length) + noise**2 * np.eye(X.size))


def predict(params: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the standard deviation of the curve."""
    height, length, noise = params
    across = kernel(X, at, height, length)
    weights = np.linalg.solve(kernel(X, X, height, length) + noise**2 * np.eye(X.size), across)
    return Y @ weights, np.sqrt(np.maximum(height**2 - np.sum(weights * across, axis=0), 0))


def fit() -> Any:
    """The kernel of the largest likelihood."""
    return tape.scipy.minimize(lambda p: -log_likelihood(p), START, method="BFGS")


def draw(before: np.ndarray, after: np.ndarray) -> Figure:
    """The curve with the kernel before and after learning."""
    figure, panels = figure_of("Before learning", "With the learned kernel")
    at = np.linspace(-1, 11, 300)
    for axes, params in zip(panels, (before, after), strict=True):
        mean, spread = predict(params, at)
        axes.plot(X, Y, "o", color=GREY, markersize=4)
        axes.plot(at, np.sin(1.5 * at) + 0.3 * at, "--", color=BLUE, label="truth")
        axes.plot(at, mean, color=RED, label="mean")
        axes.fill_between(at, mean - 2 * spread, mean + 2 * spread, color=RED, alpha=0.2, linewidth=0)
        axes.set(xlabel="x", ylim=(-2, 6))
    panels[0].legend(frameon=False, loc="upper left")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Learn the kernel, print it, and save the picture."""
    output = output_of(argv, __doc__, "gaussian_process.png")
    found = fit()
    height, length, noise = np.exp(found.x)
    print(f"height {height:.4f}, length {length:.4f}, noise {noise:.4f}; log-likelihood {-found.fun:.6f}")
    save(draw(np.exp(START), np.exp(found.x)), output)


if __name__ == "__main__":
    main()
