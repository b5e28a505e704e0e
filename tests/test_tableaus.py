"""Coefficients of Runge-Kutta methods: the order conditions, one for each rooted tree of so many nodes."""

import numpy as np
import pytest

from tape.transforms.ode.tableaus import TABLEAUS


def conditions(a, c):
    """By order: for each tree a value of each stage, and the share of that in ``h ** order``.

    E. Hairer, S. P. Norsett and G. Wanner, "Solving Ordinary Differential Equations I", 2nd edition, table
    II.2.2.
    """
    return {
        1: [(np.ones_like(c), 1)],
        2: [(c, 2)],
        3: [(c**2, 3), (a @ c, 6)],
        4: [(c**3, 4), (c * (a @ c), 8), (a @ c**2, 12), (a @ a @ c, 24)],
        5: [
            (c**4, 5), (c**2 * (a @ c), 10), (c * (a @ c**2), 15), (c * (a @ a @ c), 30), ((a @ c) ** 2, 20),
            (a @ c**3, 20), (a @ (c * (a @ c)), 40), (a @ a @ c**2, 60), (a @ a @ a @ c, 120),
        ],
    }  # fmt: skip


@pytest.mark.parametrize("name", TABLEAUS)
def test_the_order_conditions_hold(name):
    method = TABLEAUS[name]
    c, a = np.array([0.0, *method.c]), np.zeros((7, 7))
    for row, numbers in enumerate(method.a, 1):
        a[row, : len(numbers)] = numbers
    np.testing.assert_allclose(a.sum(axis=1), c, rtol=0, atol=1e-13)
    weights, embedded = a[-1], a[-1] - method.error
    for order, trees in conditions(a, c).items():
        for value, share in trees:
            assert weights @ value == pytest.approx(1 / share, abs=1e-13)
            if order < 5:
                assert embedded @ value == pytest.approx(1 / share, abs=1e-13)
                for x in (0.0, 0.2, 0.7, 1.0):
                    between = method.between @ [x, x**2, x**3, x**4]
                    assert between @ value == pytest.approx(x**order / share, abs=1e-13)
    assert max(abs(embedded @ value - 1 / share) for value, share in conditions(a, c)[5]) > 1e-5
    np.testing.assert_allclose(method.between.sum(axis=1), weights, rtol=0, atol=1e-13)
