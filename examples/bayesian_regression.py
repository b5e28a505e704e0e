"""Which measurements tell how diabetes goes on: a Bayesian regression, sampled by Hamiltonian Monte Carlo.

    python examples/bayesian_regression.py --output bayesian_regression.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

import tape
from tape.scipy import stats

TABLE = load_diabetes(scaled=True)
X = TABLE.data * np.sqrt(len(TABLE.data))  # each measurement with mean 0 and variance 1
Y = (TABLE.target - TABLE.target.mean()) / TABLE.target.std()
PRIOR, STEP, LEAPS, WARM_UP, DRAWS = 0.5, 0.2, 8, 200, 1000
# Measurements go together. A chain walks better over mixtures of them that do not, all about equally wide.
MIXTURES = np.linalg.inv(np.linalg.cholesky(X.T @ X)).T


def weights_and_log_noise(params: Any) -> tuple[Any, Any]:
    """What the params of the chain, ``(..., 11)``, stand for: ten weights, and the logarithm of the noise."""
    return params[..., :-1] @ MIXTURES.T, params[..., -1] / 30


def log_density(params: Any) -> Any:
    """The logarithm of the posterior density, up to a constant."""
    weights, log_noise = weights_and_log_noise(params)
    prior = np.sum(stats.norm.logpdf(weights, 0, PRIOR)) + stats.norm.logpdf(log_noise, 0, 1)
    return prior + np.sum(stats.norm.logpdf(Y, X @ weights, np.exp(log_noise)))


def sample(
    density_and_slope: Callable[[np.ndarray], tuple[Any, np.ndarray]],
    point: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """The draws of a chain, ``(DRAWS, n)``, and the share of steps that were accepted."""
    density, slope = density_and_slope(point)
    draws, accepted = [], 0
    for _ in range(WARM_UP + DRAWS):
        momentum = rng.standard_normal(point.shape)
        energy = density - momentum @ momentum / 2
        there, push = point, slope
        for _ in range(LEAPS):
            momentum = momentum + STEP / 2 * push
            there = there + STEP * momentum
            value, push = density_and_slope(there)
            momentum = momentum + STEP / 2 * push
        if np.log(rng.random()) < value - momentum @ momentum / 2 - energy:
            point, density, slope, accepted = there, value, push, accepted + 1
        draws.append(point)
    return np.array(draws[WARM_UP:]), accepted / len(draws)


def draw(weights: np.ndarray) -> Figure:
    """The weights with their 5 and 95 % quantiles, and the chain of three of them."""
    figure, (left, right) = figure_of("Weights", "The chain")
    low, middle, high = np.quantile(weights, [0.05, 0.5, 0.95], axis=0)
    at = np.arange(len(middle))
    left.hlines(at, low, high, color=BLUE, linewidth=3)
    left.plot(middle, at, "o", color=RED)
    left.axvline(0, color=GREY)
    left.set(yticks=at, yticklabels=TABLE.feature_names, xlabel="effect of one standard deviation")
    for k, color in zip((2, 3, 8), (BLUE, RED, GREY), strict=True):
        right.plot(weights[:, k], color=color, linewidth=0.6, label=TABLE.feature_names[k])
    right.set(xlabel="draw")
    right.legend(frameon=False, loc="upper right")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Sample the posterior, print the means of the weights, and save the picture."""
    output = output_of(argv, __doc__, "bayesian_regression.png")
    density_and_slope = tape.compile(tape.value_and_grad(log_density))
    draws, share = sample(density_and_slope, np.zeros(X.shape[1] + 1), np.random.default_rng(0))
    weights, log_noise = weights_and_log_noise(draws)
    for name, mean, spread in zip(TABLE.feature_names, weights.mean(0), weights.std(0), strict=True):
        print(f"{name:4} {mean:+.3f} +- {spread:.3f}")
    print(f"noise {np.exp(log_noise).mean():.3f}, {share:.0%} of the steps accepted")
    save(draw(weights), output)


if __name__ == "__main__":
    main()
