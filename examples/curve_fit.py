"""Fit a bell curve to data by gradient descent on its position, width and height.

    python examples/curve_fit.py --output curve_fit.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, descend, figure_of, output_of, save
from matplotlib.figure import Figure

X = np.arange(80) * 0.1 - 4.0
DATA = 0.75 * np.exp(-((X - 1.2) ** 2) / 0.35)
START = np.array([0.0, 1.0, 1.0])  # mu, sigma, scale
RATE, EPOCHS = 0.01, 100


def model(params: Any, x: np.ndarray) -> Any:
    """A bell curve with the parameters mu, sigma and scale."""
    mu, sigma, scale = params
    return scale * np.exp(-((x - mu) ** 2) / sigma / sigma)


def loss(params: Any) -> Any:
    """The sum of the squared residuals."""
    return np.sum((model(params, X) - DATA) ** 2)


def draw(path: np.ndarray, losses: np.ndarray) -> Figure:
    """The data and the curve on its way to them; the loss by epoch."""
    figure, (left, right) = figure_of("From the start to the fit", "Sum of squared residuals")
    left.plot(X, DATA, "o", color=GREY, markersize=4, label="data")
    x = np.linspace(X[0], X[-1], 400)
    for epoch, alpha in [(0, 0.3), (2, 0.45), (5, 0.6), (15, 0.75)]:
        left.plot(x, model(path[epoch], x), color=BLUE, alpha=alpha, label=f"epoch {epoch}")
    left.plot(x, model(path[-1], x), color=RED, linewidth=2, label=f"epoch {EPOCHS}")
    left.set_xlabel("x")
    left.legend(frameon=False, loc="upper left")
    right.semilogy(losses, color=RED)
    right.set_xlabel("epoch")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Fit, print the parameters after the first and the last epoch, and save the picture."""
    output = output_of(argv, __doc__, "curve_fit.png")
    path, losses = descend(loss, START, RATE, EPOCHS)
    for epoch in (1, EPOCHS):
        mu, sigma, scale = path[epoch]
        print(f"epoch {epoch}: started from loss {losses[epoch - 1]:.12g}")
        print(f"  mu {mu:.13f}, sigma {sigma:.13f}, scale {scale:.13f}")
    save(draw(path, losses), output)


if __name__ == "__main__":
    main()
