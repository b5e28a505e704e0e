"""Second derivatives at points where rules treat an operand apart: zeros, ones, operands that are equal.

What a rule leaves out because it is 0 there may have a derivative all the same. The first derivative is right
then, so that only differences of first derivatives show it.
"""

import itertools

import numpy as np
import pytest
import scipy.special as special

import tape

POINTS = np.array(list(itertools.product([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0], repeat=2))).T
FUNCTIONS = {
    "power": np.power,
    "float_power": np.float_power,
    "multiply": np.multiply,
    "divide": np.divide,
    "arctan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
    "xlogy": special.xlogy,
    "xlog1py": special.xlog1py,
    "rel_entr": special.rel_entr,
    "kl_div": special.kl_div,
    "boxcox": special.boxcox,
    "boxcox1p": special.boxcox1p,
    "inv_boxcox": special.inv_boxcox,
    "inv_boxcox1p": special.inv_boxcox1p,
    "powm1": special.powm1,
    "pseudo_huber": special.pseudo_huber,
    "betaln": special.betaln,
    "beta": special.beta,
    "binom": special.binom,
    "stdtrit": lambda x, y: special.stdtrit(x, 0.25 * y + 0.5),
    "rel_power": lambda x, y: (2 + x * x) ** y,
    "own power": lambda x, y: (2 + x) ** x * y,
}
STEP = 1e-5


def slope(f, k, operands):
    """The derivative by one operand, elementwise."""
    with np.errstate(all="ignore"):
        return tape.elementwise_grad(f, argnums=k)(*operands)


def moved(k, by):
    return [operand + by if k == j else operand for j, operand in enumerate(POINTS)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_are_those_of_the_first(name):
    f = FUNCTIONS[name]
    looked_at = 0
    for first, second in itertools.product(range(2), repeat=2):
        here = slope(f, first, POINTS)
        above = (slope(f, first, moved(second, STEP)) - here) / STEP
        below = (here - slope(f, first, moved(second, -STEP))) / STEP
        scale = 1 + np.abs(above)
        is_smooth = (scale < 1e3) & (np.abs(above - below) < 2e-3 * scale)
        found = slope(
            lambda *operands, k=first: tape.elementwise_grad(f, argnums=k)(*operands), second, POINTS
        )
        expected = (above + below) / 2
        wrong = is_smooth & (np.abs(found - expected) > 2e-3 * scale)  # where it is NaN, there may be none
        assert not wrong.any(), (first, second, POINTS[:, wrong].T, found[wrong], expected[wrong])
        looked_at += is_smooth.sum()
    assert looked_at > 20


def test_a_power_with_an_exponent_of_zero():
    hessian = tape.hessian(lambda v: v[0] ** v[1])
    expected = np.array([[0.0, 0.5], [0.5, np.log(2.0) ** 2]])
    for f in (hessian, tape.compile(hessian)):
        np.testing.assert_allclose(f(np.array([2.0, 0.0])), expected, rtol=1e-14)
    own = tape.grad(tape.grad(lambda x: (2 + x) ** x))
    np.testing.assert_allclose(own(0.0), 1 + np.log(2.0) ** 2, rtol=1e-14)
    third = tape.grad(lambda p: tape.grad(tape.grad(lambda x: x**p))(2.0))
    np.testing.assert_allclose(third(1.0), 0.5, rtol=1e-14)


@pytest.mark.parametrize("x", [0.0, 5e-324, 1e-310, np.inf, 2.0])
def test_the_derivative_of_a_power_by_its_base_is_zero_where_the_exponent_is(x):
    assert tape.grad(lambda x, y: x**y)(np.array(x), np.array(0.0)) == 0.0
