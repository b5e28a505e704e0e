"""Draw the Taylor polynomials of sin around 0, made of derivatives up to order 13.

    python examples/taylor_sin.py --output taylor_sin.png

All derivatives come out of one forward sweep that carries power series. Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from math import factorial

import numpy as np
from _common import figure_of, output_of, save
from matplotlib import colormaps
from matplotlib.figure import Figure

import tape

ORDERS = range(1, 14, 2)


def polynomial(derivatives: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The Taylor polynomial around 0 that has the given derivatives there, from order 0 on."""
    coefficients = [d / factorial(k) for k, d in enumerate(derivatives)]
    return np.polynomial.Polynomial(coefficients)(x)


def draw(derivatives: np.ndarray, x: np.ndarray) -> Figure:
    """The polynomials around sin; and how far they are off."""
    figure, (left, right) = figure_of("sin (black) and its Taylor polynomials", "Distance from sin")
    left.plot(x, np.sin(x), color="black", linewidth=3)
    for order, color in zip(ORDERS, colormaps["viridis"](np.linspace(0.95, 0.1, len(ORDERS))), strict=True):
        approximation = polynomial(derivatives[: order + 1], x)
        left.plot(x, approximation, color=color)
        right.semilogy(x, np.abs(approximation - np.sin(x)), color=color, label=f"order {order}")
    left.set(xlabel="x", ylim=(-3, 3))
    right.legend(frameon=False, loc="lower left")
    right.set(xlabel="x", ylim=(1e-12, 1e4))
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Print the derivatives and what each polynomial says of sin(1), and save the picture."""
    output = output_of(argv, __doc__, "taylor_sin.png")
    derivatives = tape.taylor(np.sin, 0.0, 1.0, order=ORDERS[-1])
    print("derivatives of sin at 0:", *(f"{d:g}" for d in derivatives))
    for order in ORDERS:
        at_one = polynomial(derivatives[: order + 1], 1.0)
        print(f"order {order:2}: sin(1) = {at_one:.13f}, off by {abs(at_one - np.sin(1)):.1e}")
    save(draw(derivatives, np.linspace(-8, 8, 641)), output)


if __name__ == "__main__":
    main()
