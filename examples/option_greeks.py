"""What an option's price depends on: the Greeks of Black and Scholes and of Heston, by derivatives.

    python examples/option_greeks.py --output option_greeks.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREEN, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure
from scipy.special import roots_legendre

import tape
from tape.scipy.stats import norm

STRIKE, YEARS = 100.0, 1.0
# Fang and Oosterlee, "A novel pricing method for European options", SIAM J. Sci. Comput. 31 (2008), 5.2:
# how fast the variance reverts, its mean, its own volatility, its value, its correlation with the price.
HESTON = np.array([1.5768, 0.0398, 0.5751, 0.0175, -0.5711])
NODES, WEIGHTS = roots_legendre(600)
WAVES, WIDTHS = 150 * (NODES + 1), 150 * WEIGHTS


def black_scholes(price: Any, volatility: Any, rate: Any = 0.0, years: Any = YEARS) -> Any:
    """The value of a call at ``STRIKE``."""
    spread = volatility * np.sqrt(years)
    d = (np.log(price / STRIKE) + rate * years) / spread + spread / 2
    return price * norm.cdf(d) - STRIKE * np.exp(-rate * years) * norm.cdf(d - spread)


def heston(price: Any, params: Any) -> Any:
    """The value of the call where the variance is random, too: an integral over the characteristic function.

    The integral is that of Lewis (2001), the form of the function that of Albrecher et al., "The little
    Heston trap" (2007).
    """
    reversion, mean, volatility, variance, correlation = params
    u = WAVES - 0.5j
    pull = reversion - 1j * correlation * volatility * u
    d = np.sqrt(pull**2 + volatility**2 * (1j * u + u**2))
    g, decay = (pull - d) / (pull + d), np.exp(-d * YEARS)
    growth = reversion * mean * ((pull - d) * YEARS - 2 * np.log((1 - g * decay) / (1 - g)))
    rest = variance * (pull - d) * (1 - decay) / (1 - g * decay)
    wave = np.exp((growth + rest) / volatility**2 + 1j * u * np.log(price / STRIKE))
    return price - STRIKE / np.pi * np.sum(WIDTHS * np.real(wave / (WAVES**2 + 0.25)))


def draw(prices: np.ndarray) -> Figure:
    """Values, deltas and gammas of both models, by the price."""
    figure, panels = figure_of("Value", "Delta", "Gamma", size=(12, 4))
    models = {
        "Black and Scholes": (lambda x: black_scholes(x, 0.18), BLUE),
        "Heston": (lambda x: heston(x, HESTON), RED),
    }
    for name, (value, color) in models.items():
        delta = tape.grad(value)
        for axes, f in zip(panels, (value, delta, tape.grad(delta)), strict=True):
            axes.plot(prices, tape.compile(tape.vmap(f))(prices), color=color, label=name)
    panels[0].plot(prices, np.maximum(prices - STRIKE, 0), color=GREY, label="at the end")
    panels[0].legend(frameon=False)
    for axes in panels:
        axes.axvline(STRIKE, color=GREEN, linewidth=0.8)
        axes.set_xlabel("price")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Print the values and the Greeks of both models at the strike, and save the picture."""
    output = output_of(argv, __doc__, "option_greeks.png")
    value, (delta, vega, rho, loss) = tape.value_and_grad(black_scholes, argnums=(0, 1, 2, 3))(
        100.0, 0.18, 0.0, YEARS
    )
    greeks = f"delta {delta:.4f}, vega {vega:.3f}, rho {rho:.3f}, theta {-loss:.4f}"
    print(f"Black and Scholes: {value:.6f}; {greeks}")
    value, (delta, slopes) = tape.value_and_grad(heston, argnums=(0, 1))(100.0, HESTON)
    greeks = f"delta {delta:.4f}, by its parameters {' '.join(f'{s:.4f}' for s in slopes)}"
    print(f"Heston: {value:.6f}; {greeks}")
    save(draw(np.linspace(60, 140, 81)), output)


if __name__ == "__main__":
    main()
