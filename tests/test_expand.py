"""Power series of operations without a recurrence: what their forward rules make of them."""

from typing import Any

import numpy as np
import pytest
from scipy import special

import tape
from tape.core.elementwise import elementwise
from tape.core.op import Op
from tests.oracles import assert_close

X, V = np.array([0.3]), np.array([1.1])

sine = elementwise(lambda x: np.sin(x), lambda d, out, x: d * cosine(x), name="sine")
cosine = elementwise(lambda x: np.cos(x), lambda d, out, x: -(d * sine(x)), name="cosine")
hyperbolic = elementwise(lambda x: np.tanh(x), lambda d, out, x: d * (1 - out * out), name="hyperbolic")
hypotenuse = elementwise(
    lambda x, y: np.hypot(x, y),
    lambda d, out, x, y: d * x / out,
    lambda d, out, x, y: d * y / out,
    name="hypotenuse",
)


def bessel_rule(d: Any, out: Any, x: Any, n: int) -> Any:
    return d * (bessel(x, n=n - 1) - bessel(x, n=n + 1)) / 2


bessel = Op(lambda x, *, n: special.jv(n, x), name="bessel", vjp=[bessel_rule], jvp=[bessel_rule])
modulus = Op(  # one rule for all operands, whose real part is left to the caller
    lambda z: np.abs(z),
    name="modulus",
    vjp=[lambda g, out, z: g * np.conj(z) / out],
    jvp=lambda tangents, out, z: tangents[0] * np.conj(z) / out,
)

EXPANDED = {  # with the same function of operations that have recurrences
    "rules of one another": (sine, np.sin),
    "by its result": (hyperbolic, np.tanh),
    "two operands": (lambda x: hypotenuse(x, 2 + x), lambda x: np.sqrt(x**2 + (2 + x) ** 2)),
    "one moving": (lambda x: hypotenuse(3.0, x), lambda x: np.sqrt(9 + x * x)),
    "composed": (lambda x: sine(hyperbolic(x) * x), lambda x: np.sin(np.tanh(x) * x)),
    "products": (lambda x: np.prod(np.stack([x, x * x, 2 + x]), 0), lambda x: x**3 * (2 + x)),
    "gradients": (tape.elementwise_grad(hyperbolic), lambda x: 1 - np.tanh(x) ** 2),
    "real part": (lambda x: modulus(x + 2j * x * x), lambda x: np.sqrt(x**2 + 4 * x**4)),
}


@pytest.mark.parametrize("order", [0, 1, 2, 10])
@pytest.mark.parametrize("name", EXPANDED)
def test_series_are_those_by_recurrences(name, order):
    f, same = EXPANDED[name]
    found, expected = (tape.taylor(g, X, V, order) for g in (f, same))
    assert_close(found, expected, 1e-10)


def test_rules_that_lead_to_two_functions_each():
    found = tape.taylor(lambda x: bessel(x, n=1), 0.7, 1.0, 10)
    assert_close(found, [special.jvp(1, 0.7, k) for k in range(11)], 1e-12)


def test_series_have_derivatives():
    by_rules, by_recurrence = (
        tape.grad(lambda x, f=f: tape.taylor(f, x, 1.0, 4)[4])(0.7) for f in EXPANDED["composed"]
    )
    assert_close(by_rules, by_recurrence, 1e-12)


def operations(f: Any, order: int) -> int:
    """How many operations a series runs, counted by recording it."""
    with tape.Trace() as trace:
        tape.taylor(f, trace.param(0.3), 1.0, order)
    return len(trace)


@pytest.mark.parametrize("f", [sine, hyperbolic, lambda x: bessel(x, n=0)])
def test_the_cost_of_rules_is_a_power_of_the_order(f):
    costs = [operations(f, order) for order in (4, 8, 16)]
    assert costs[2] / costs[1] < 16
    assert costs[2] / costs[1] < 1.5 * costs[1] / costs[0]


def test_errors_of_rules_say_where():
    def fails(d: Any, out: Any, x: Any) -> Any:
        raise KeyError("mine")

    op = elementwise(lambda x: np.sin(x), fails, name="failing")
    with pytest.raises(KeyError) as caught:
        tape.taylor(lambda x: op(2 * x), 0.0, 1.0, 2)
    assert "in the series of <op failing>, node %2 of" in caught.value.__notes__[0]
