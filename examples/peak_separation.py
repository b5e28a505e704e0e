"""Take a signal apart into the two overlapping peaks it is the sum of, by gradient descent.

    python examples/peak_separation.py --output peak_separation.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, descend, figure_of, output_of, save
from matplotlib.figure import Figure

X = np.arange(80) * 0.1 - 4.0
# The parameters mu, sigma and scale, a column for each peak.
TRUTH = np.array([[-0.3, 0.8], [0.5**0.5, 0.35**0.5], [0.5, 0.75]])
START = np.array([[-1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
RATE, EPOCHS = 0.01, 500


def peaks(params: Any, x: np.ndarray) -> Any:
    """Two bell curves, of shape ``(2, n)``, with the parameters mu, sigma and scale of two peaks each."""
    mu, sigma, scale = params
    return scale[:, None] * np.exp(-(((x - mu[:, None]) / sigma[:, None]) ** 2))


SIGNAL = peaks(TRUTH, X).sum(axis=0)


def loss(params: Any) -> Any:
    """The sum of the squared differences between the two peaks together and the signal."""
    return np.sum((np.sum(peaks(params, X), axis=0) - SIGNAL) ** 2)


def draw(path: np.ndarray) -> Figure:
    """The peaks that were found, above those that are true; and how their parameters got there."""
    figure, (left, right) = figure_of("The signal and the peaks found in it", "Parameters by epoch")
    left.plot(X, SIGNAL, "o", color=GREY, markersize=4, label="signal")
    x = np.linspace(X[0], X[-1], 400)
    found = peaks(path[-1], x)
    left.plot(x, found.sum(axis=0), color="0.2", label="sum of the peaks found")
    for k, color in enumerate([BLUE, RED]):
        left.fill_between(x, found[k], color=color, alpha=0.3, linewidth=0, label=f"peak {k + 1}, found")
        left.plot(x, peaks(TRUTH, x)[k], "--", color=color, label=f"peak {k + 1}, truth")
    left.set(xlabel="x", xlim=(-3, 3))
    left.legend(frameon=False, loc="upper left")

    for i, (name, style) in enumerate([("$\\mu$", "-"), ("$\\sigma$", "--"), ("scale", ":")]):
        right.plot([], [], style, color="0.2", label=name)  # the legend tells parameters, colours tell peaks
        for k, color in enumerate([BLUE, RED]):
            right.plot(path[:, i, k], style, color=color)
            right.plot(1.04 * len(path), TRUTH[i, k], "<", color=color)
    right.plot([], [], "<", color="0.2", label="truth")
    right.set_xlabel("epoch")
    right.legend(frameon=False, loc="center right")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Separate the peaks, print what they are, and save the picture."""
    output = output_of(argv, __doc__, "peak_separation.png")
    path, _ = descend(loss, START, RATE, EPOCHS)
    for k, (mu, sigma, scale) in enumerate(path[-1].T):
        print(f"peak {k + 1}: mu {mu:.5f}, sigma {sigma:.5f}, scale {scale:.5f}")
    print(f"loss {loss(path[-1]):.3e}")
    save(draw(path), output)


if __name__ == "__main__":
    main()
