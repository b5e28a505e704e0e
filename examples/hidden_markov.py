"""How quiet the earth is: hidden Markov models of yearly earthquakes, fitted by gradients of the likelihood.

    python examples/hidden_markov.py --output hidden_markov.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape
import tape.scipy
from tape.scipy.special import gammaln, log_softmax, logsumexp

# Earthquakes of magnitude 7 or more in the years 1900 to 2006 (Zucchini, MacDonald and Langrock 2016).
EARTHQUAKES = np.array([
    13, 14, 8, 10, 16, 26, 32, 27, 18, 32, 36, 24, 22, 23, 22, 18, 25, 21, 21, 14, 8, 11, 14, 23, 18, 17,
    19, 20, 22, 19, 13, 26, 13, 14, 22, 24, 21, 22, 26, 21, 23, 24, 27, 41, 31, 27, 35, 26, 28, 36, 39, 21,
    17, 22, 17, 19, 15, 34, 10, 15, 22, 18, 15, 20, 15, 22, 19, 16, 30, 27, 29, 23, 20, 16, 21, 21, 25, 16,
    18, 15, 18, 14, 10, 15, 8, 15, 6, 11, 8, 7, 18, 16, 13, 12, 13, 20, 15, 16, 12, 18, 15, 16, 13, 15, 16,
    11, 11,
], float)  # fmt: skip


def log_likelihood(log_first: Any, log_changes: Any, log_emissions: Any) -> Any:
    """The forward algorithm, in logarithms: one state at a time, all ways to it summed up.

    Of a start ``(m,)``, changes ``(m, m)`` from a state to the next, and what was seen given each state,
    ``(years, m)``.
    """

    def year(ways: Any, log_emission: Any) -> Any:
        ways = logsumexp(ways[:, None] + log_changes, axis=0) + log_emission
        return ways, None

    ways, _ = tape.scan(year, log_first + log_emissions[0], log_emissions[1:])
    return logsumexp(ways)


def parts(params: Any) -> tuple[Any, Any, Any]:
    """The stationary start, the changes and the emissions of a model, the first two as logarithms."""
    log_changes = log_softmax(params["changes"], axis=1)
    states = len(log_changes)
    first = np.linalg.solve((np.eye(states) - np.exp(log_changes) + 1).T, np.ones(states))
    rates = np.exp(params["log_rates"])
    seen = EARTHQUAKES[:, None]
    return np.log(first), log_changes, seen * params["log_rates"] - rates - gammaln(seen + 1)


def fit(states: int) -> Any:
    """The model of the largest likelihood, from rates among the counts and states that last."""
    rates = np.quantile(EARTHQUAKES, (np.arange(states) + 0.5) / states)
    start = {"log_rates": np.log(rates), "changes": 2 * np.eye(states)}
    return tape.scipy.minimize(lambda params: -log_likelihood(*parts(params)), start, method="BFGS")


def posterior(params: Any) -> np.ndarray:
    """How probable each state is in each year, ``(years, m)``, given all that was seen.

    It is the gradient of the log-likelihood by the log-emissions.
    """
    return tape.grad(log_likelihood, argnums=2)(*parts(params))


def draw(models: dict[int, Any]) -> Figure:
    """The counts with the rate that is expected of each year; Akaike's criterion of each number of states."""
    figure, (left, right) = figure_of("Earthquakes of magnitude 7 or more", "Akaike's information criterion")
    years = np.arange(1900, 2007)
    params = models[3].x
    left.plot(years, EARTHQUAKES, "o", color=GREY, markersize=3, label="counted")
    left.plot(
        years, posterior(params) @ np.exp(params["log_rates"]), color=RED, label="expected, three states"
    )
    left.set(xlabel="year", ylabel="earthquakes")
    left.legend(frameon=False)
    criteria = [2 * found.fun + 2 * states**2 for states, found in models.items()]
    right.plot(list(models), criteria, "o-", color=BLUE)
    right.set(xlabel="number of states", xticks=list(models))
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Fit models of one to three states, print them, and save the picture."""
    output = output_of(argv, __doc__, "hidden_markov.png")
    models = {states: fit(states) for states in range(1, 4)}
    for states, found in models.items():
        rates = " ".join(f"{rate:.3f}" for rate in np.sort(np.exp(found.x["log_rates"])))
        print(f"states {states}: log-likelihood {-found.fun:.4f}, earthquakes a year {rates}")
    save(draw(models), output)


if __name__ == "__main__":
    main()
