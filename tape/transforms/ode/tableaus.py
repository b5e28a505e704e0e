"""Coefficients of explicit Runge-Kutta methods, each with its own interpolant.

Both pairs are of order 5 with an embedded solution of order 4, and have seven stages, of which the last one
is the first of the next step. Between two steps the interpolant is of order 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Row = tuple[float, ...]


@dataclass(frozen=True)
class Tableau:
    """A method: stage ``i`` is ``f(y + h * sum_j a[i][j] * k[j], t + c[i] * h)``.

    Attributes
    ----------
    c : tuple of float
        Of all stages but the first, whose is 0.
    a : tuple of tuple
        Rows of these stages; the last row are the weights of the solution.
    error : tuple of float
        The weights of the solution, less those of the embedded one.
    between : numpy.ndarray
        ``(stages, 4)``: ``y(t + x * h) = y + h * sum_i k[i] * (between[i] @ [x, x**2, x**3, x**4])``.
    """

    c: Row
    a: tuple[Row, ...]
    error: Row
    between: np.ndarray


def _dopri5() -> Tableau:
    """Return the pair of Dormand and Prince.

    J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae", Journal of Computational and
    Applied Mathematics 6 (1980), table 2. The interpolant is that of E. Hairer, S. P. Norsett and G. Wanner,
    "Solving Ordinary Differential Equations I", 2nd edition, section II.6, as in their code DOPRI5.
    """
    weights = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
    d: Any = (
        -12715105075 / 11282082432,
        0.0,
        87487479700 / 32700410799,
        -10690763975 / 1880347072,
        701980252875 / 199316789632,
        -1453857185 / 822651844,
        69997945 / 29380423,
    )
    b, d = np.array([*weights, 0.0]), np.array(d)
    first, last = np.eye(7)[0], np.eye(7)[6]
    # In powers of x: x * (b + z * (first - b + x * (2 * b - first - last + z * d))), where z = 1 - x
    between = [first, 3 * b - 2 * first - last + d, first + last - 2 * b - 2 * d, d]
    return Tableau(
        c=(1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
        a=(
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
            weights,
        ),
        error=(71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
        between=np.stack(between, axis=1),
    )


def _tsit5() -> Tableau:
    """Return the pair of Tsitouras, with its interpolant.

    Ch. Tsitouras, "Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption",
    Computers and Mathematics with Applications 62 (2011), table 1 and section 4.
    """
    weights = (
        0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
        2.324710524099774,
    )  # fmt: skip
    return Tableau(
        c=(0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0),
        a=(
            (0.161,),
            (-0.008480655492356989, 0.335480655492357),
            (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
            (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
            (
                5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
                -0.028269050394068383,
            ),
            weights,
        ),
        error=(
            0.00178001105222577714, 0.0008164344596567469, -0.007880878010261995, 0.1447110071732629,
            -0.5823571654525552, 0.45808210592918697, -1 / 66,
        ),
        between=np.array(
            [
                [1.0, -2.763706197274826, 2.9132554618219126, -1.0530884977290216],
                [0.0, 0.1317, -0.2234, 0.1017],
                [0.0, 3.9302962368947516, -5.941033872131505, 2.490627285651253],
                [0.0, -12.411077166933676, 30.33818863028232, -16.548102889244902],
                [0.0, 37.50931341651104, -88.1789048947664, 47.37952196281928],
                [0.0, -27.896526289197286, 65.09189467479366, -34.87065786149661],
                [0.0, 1.5, -4.0, 2.5],
            ]
        ),
    )  # fmt: skip


TABLEAUS = {"Tsit5": _tsit5(), "Dopri5": _dopri5()}
"""By the names of methods of `tape.odeint`."""
