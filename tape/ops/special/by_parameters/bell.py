"""Bell polynomials: what derivatives of an exponential are in those of its exponent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Cumulant = Callable[[int, int], Any]


def bell(cumulant: Cumulant, m: int, n: int = 0) -> Any:
    """Return ``exp(-f)`` times the derivative of ``exp(f)``, m times by the first variable, n by the second.

    Parameters
    ----------
    cumulant : callable
        ``cumulant(i, j)`` is the derivative of f, i times by the first variable and j by the second:
        numbers, arrays or Vars.
    m, n : int
        At least 0.

    Returns
    -------
    float, numpy.ndarray or Var
        The complete Bell polynomial of order m, n.

    Examples
    --------
    >>> from tape.ops.special.by_parameters import bell
    >>> bell(lambda i, j: {1: 3.0, 2: 5.0}[i], 2)  # 3**2 + 5
    14.0
    """
    found: dict[tuple[int, int], Any] = {(0, 0): 1.0}
    for j in range(n + 1):
        for i in range(m + 1):
            if i + j:
                found[i, j] = _next_bell(cumulant, found, i, j)
    return found[m, n]


def _next_bell(cumulant: Cumulant, found: dict[tuple[int, int], Any], i: int, j: int) -> Any:
    down, right = (0, 1) if j else (1, 0)  # the variable of the last derivative
    total: Any = 0.0
    for p in range(i + 1 - down):
        for q in range(j + 1 - right):
            factor = math.comb(i - down, p) * math.comb(j - right, q)
            rest = found[i - down - p, j - right - q]
            total = total + factor * cumulant(p + down, q + right) * rest
    return total
