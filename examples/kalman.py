"""How fast the level of the Nile changes: a Kalman filter whose two variances are fitted by its likelihood.

    python examples/kalman.py --output kalman.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape

# The yearly flow of the Nile at Aswan from 1871 to 1970 in 10^8 cubic metres (Durbin and Koopman 2012).
NILE = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180,
    799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833,
    701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845,
    864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649,
    846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918, 986, 797, 923, 975, 815,
    1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
], float)  # fmt: skip


def filtered(log_variances: Any) -> tuple[Any, Any, Any]:
    """The log-likelihood of a level that walks at random, and its means and variances after each year.

    The first year tells the level, before which nothing is known of it.
    """
    noise, drift = np.exp(log_variances)

    def year(state: Any, flow: Any) -> Any:
        level, variance, total = state
        variance = variance + drift
        surprise, spread = flow - level, variance + noise
        gain = variance / spread
        level, variance = level + gain * surprise, variance * (1 - gain)
        total = total - (np.log(2 * np.pi * spread) + surprise**2 / spread) / 2
        return (level, variance, total), (level, variance)

    (_, _, total), (levels, variances) = tape.scan(year, (NILE[0], noise, 0.0), NILE[1:])
    return total, levels, variances


def fit() -> Any:
    """The variances of the largest likelihood, found by Newton's method in a trust region."""
    start = np.log([NILE.var() / 2, NILE.var() / 10])
    return tape.scipy.minimize(lambda v: -filtered(v)[0], start, method="trust-exact")


def draw(log_variances: np.ndarray) -> Figure:
    """The flow and the filtered level, with twice its standard deviation; the likelihood of variances."""
    figure, (left, right) = figure_of("The Nile at Aswan", "Log-likelihood")
    _, levels, variances = filtered(log_variances)
    years, spread = np.arange(1872, 1971), 2 * np.sqrt(variances)
    left.plot(years, NILE[1:], "o", color=GREY, markersize=3, label="flow")
    left.plot(years, levels, color=RED, label="level")
    left.fill_between(years, levels - spread, levels + spread, color=RED, alpha=0.2, linewidth=0)
    left.set(xlabel="year", ylabel="$10^8$ m³")
    left.legend(frameon=False)
    noises, drifts = np.linspace(8.8, 10.4, 25), np.linspace(5, 9.5, 25)
    likelihood = tape.compile(lambda v: filtered(v)[0])
    map_ = [[likelihood(np.array([a, b])) for a in noises] for b in drifts]
    right.contour(noises, drifts, map_, levels=np.max(map_) - np.array([20, 10, 5, 2, 1, 0.5]), cmap="Blues")
    right.plot(*log_variances, "o", color=BLUE)
    right.set(xlabel="log of the noise", ylabel="log of the drift")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Fit the variances, print them, and save the picture."""
    output = output_of(argv, __doc__, "kalman.png")
    found = fit()
    noise, drift = np.exp(found.x)
    print(f"variance of the noise {noise:.0f}, of the drift {drift:.1f}; log-likelihood {-found.fun:.2f}")
    save(draw(found.x), output)


if __name__ == "__main__":
    main()
