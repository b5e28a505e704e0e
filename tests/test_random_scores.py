"""How samples move with their parameters, against `mpmath`."""

import mpmath
import numpy as np
import pytest
from scipy import stats

import tape
from tape.random import _flows
from tape.random._scores import beta_slopes, gamma_slopes
from tape.random._symmetric import t_slopes, vonmises_slopes
from tests.tiers import some


def shapes(*values):
    """All of these in the full tier, half of them in the plain one."""
    return some(values, every=2)


def test_gamma_slopes():
    with mpmath.workdps(40):
        for a in shapes(0.05, 1e-3, 0.5, 1.0, 30.0, 4.5, 300.0):
            for p in (0.01, 0.4, 0.6, 0.999):
                x = float(stats.gamma.ppf(p, a))
                if x < 1e-280:
                    continue
                exact = mpmath.mpf(x)

                def slope(a, x=exact):
                    cdf = lambda a: mpmath.gammainc(a, 0, x, regularized=True)  # noqa: E731
                    return -mpmath.diff(cdf, a) * mpmath.gamma(a) * mpmath.e**x / x**a

                found = gamma_slopes(np.array([a]), np.array([x]))
                assert abs(found[0][0] / slope(mpmath.mpf(a)) - 1) < 1e-12
                assert abs(found[1][0] / mpmath.diff(slope, mpmath.mpf(a)) - 1) < 1e-11


def test_beta_slopes():
    with mpmath.workdps(30):
        for a in shapes(0.01, 0.5, 3.0, 30.0):
            for b in shapes(0.7, 0.02, 50.0, 2.0):
                for p in (0.2, 0.95):
                    x = float(stats.beta.ppf(p, a, b))
                    if not 1e-200 < x < 1 - 1e-6:
                        continue
                    x = mpmath.mpf(x)
                    y = 1 - x

                    def slope(a, b, x=x, y=y):
                        cdf = lambda a: mpmath.betainc(a, b, 0, x, regularized=True)  # noqa: E731
                        return -mpmath.diff(cdf, a) * mpmath.beta(a, b) / (x**a * y**b)

                    logit = float(mpmath.log(x / y))
                    found = [part[0] for part in beta_slopes(np.array([a]), np.array([b]), np.array([logit]))]
                    u, v = mpmath.mpf(a), mpmath.mpf(b)
                    assert abs(found[0] / slope(u, v) - 1) < 1e-11
                    assert abs(found[1] / mpmath.diff(slope, (u, v), (1, 0)) - 1) < 1e-9
                    assert abs(found[2] / mpmath.diff(slope, (u, v), (0, 1)) - 1) < 1e-9


def test_t_slopes():
    with mpmath.workdps(40):
        for df in shapes(4.0, 10.0, 41.0, 1e3, 1e6):
            for t in (0.01, -1.5, 1.7, 8.0):
                size = abs(mpmath.mpf(t))

                def slope(n, t=size):
                    above = lambda n: mpmath.betainc(n / 2, 0.5, 0, n / (n + t * t), regularized=True) / 2  # noqa: E731
                    level = mpmath.gamma(n / 2) / mpmath.gamma((n + 1) / 2) * mpmath.sqrt(n * mpmath.pi)
                    return mpmath.diff(above, n) * level * (1 + t * t / n) ** ((n + 1) / 2)

                n, sign = mpmath.mpf(df), np.sign(t)
                found = t_slopes(np.array([df]), np.array([t]))
                assert abs(sign * found[0][0] / slope(n) - 1) < 1e-11
                assert abs(sign * found[1][0] / mpmath.diff(slope, n) - 1) < 1e-11


@pytest.mark.parametrize(
    ("flow", "operands"),
    [
        (_flows.gamma_flow, ([0.3, 2.0, 20.0], [0.1, 3.0, 18.0])),
        (_flows.beta_flow_by_a, ([0.3, 2.0, 20.0], [0.7, 1.0, 3.0], [0.1, 0.7, 0.9])),
        (_flows.beta_flow_by_b, ([0.3, 2.0, 20.0], [0.7, 1.0, 3.0], [0.1, 0.7, 0.9])),
        (_flows.logit_flow, ([0.3, 2.0, 20.0], [0.7, 1.0, 3.0], [-3.0, 0.5, 4.0])),
        (_flows.t_flow, ([0.5, 3.0, 5.0, 30.0], [0.3, -1.0, 4.0, -0.7])),
        (_flows.vonmises_flow, ([0.2, 2.0, 80.0], [-2.0, 1.0, 0.1])),
    ],
)
def test_flows_have_derivatives_by_samples_and_parameters(flow, operands):
    operands = [np.array(operand) for operand in operands]
    tape.testing.check_grads(flow, operands, order=1)
    assert np.all(np.isnan(flow(*[np.full(2, np.nan) for _ in operands])))
    narrow = flow(*[operand.astype(np.float32) for operand in operands])
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, flow(*operands), rtol=1e-4)


def test_vonmises_slopes():
    with mpmath.workdps(30):
        for kappa in shapes(1e-3, 0.5, 2.0, 59.0, 61.0, 500.0, 1e5):
            for x in (0.01, -0.7, 3.0):
                if kappa * (1 - np.cos(x)) > 35:
                    continue

                end = mpmath.cos(x)

                def slope(k, x=x, end=end):
                    mean = mpmath.besseli(1, k) / mpmath.besseli(0, k)

                    def rest(t):
                        return (mpmath.cos(t) - mean) * mpmath.exp(k * (mpmath.cos(t) - end))

                    return -mpmath.quad(rest, mpmath.linspace(0, x, 2))

                found = vonmises_slopes(np.array([kappa]), np.array([x]))
                assert abs(found[0][0] / slope(mpmath.mpf(kappa)) - 1) < 1e-11
                assert abs(found[1][0] / mpmath.diff(slope, mpmath.mpf(kappa)) - 1) < 1e-9
