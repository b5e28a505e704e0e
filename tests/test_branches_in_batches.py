"""Derivatives inside `vmap` of code whose elements part ways: branches, loops of different lengths, solvers.

A Jacobian is a batch of seeds within the batch of elements; which elements a branch is run for has no say in
which seed is which.
"""

import numpy as np
import pytest

import tape
from tests.tiers import grid, some, takes_long


def branch(x):
    return tape.cond(x[0] > 0, lambda x: x**3, lambda x: x**2, x)


def branch_of_what_is_closed_over(x):
    return tape.cond(x[0] > 0, lambda: x**3 * x[1], lambda: x**2)


def one_of_three(x):
    chosen = (x[0] > 0) * 1 + (x[0] > 1.5) * 1
    return tape.switch(chosen, [lambda x: x**3, lambda x: x**2, lambda x: x * x[1]], x)


def loop(x):
    return tape.while_loop(lambda s: np.sum(s) > 1, lambda s: 0.4 * s * s, x)


def branch_in_a_loop(x):
    def step(i, s):
        return tape.cond(s[0] > 0, lambda s: s**2 * 0.9 - 0.3, lambda s: s * x, s)

    return tape.fori_loop(0, 3, step, x)


def branch_in_a_batch(x):
    return tape.vmap(lambda e: tape.cond(e > 0, lambda e: e**3 * x[1], lambda e: e**2, e))(x)


def adaptive_steps(x):
    return tape.odeint(lambda y, t: -5 * y * y * x, x, np.array([0.0, 0.5]), method="Tsit5")[-1]


def total(f):
    return lambda x: np.sum(f(x))


DERIVED = {
    "jacobian": tape.jacobian,
    "jacobian fwd": lambda f: tape.jacobian(f, mode="fwd"),
    "jacobian rev": lambda f: tape.jacobian(f, mode="rev"),
    "hessian": lambda f: tape.hessian(total(f)),
    "batch of jvp": lambda f: (
        lambda x: tape.vmap(lambda e: tape.jvp(f, (x,), (e,))[1])(np.eye(len(x)))
    ),
    "batch of vjp": lambda f: lambda x: tape.vmap(lambda e: tape.vjp(f, x)[1](e)[0])(np.eye(len(x))),
    "linearize": lambda f: lambda x: tape.vmap(tape.linearize(f, x)[1])(np.eye(len(x))),
    "jacobian of grad": lambda f: tape.jacobian(tape.grad(lambda x: np.sum(f(x) ** 2)), mode="rev"),
    "jacobian of jacobian": lambda f: tape.jacobian(tape.jacobian(f, mode="fwd"), mode="rev"),
    "jacobian of jacobian rev": lambda f: tape.jacobian(tape.jacobian(f, mode="rev"), mode="fwd"),
    "divergence": tape.divergence,
    "laplacian": lambda f: tape.laplacian(total(f)),
}  # fmt: skip
ROWS = np.array([[1.0, 2.0, 0.5], [-1.0, -2.0, 0.3], [2.0, 0.1, 1.0], [-3.0, 1.0, 1.0]])
CASES = [
    branch, branch_of_what_is_closed_over, one_of_three, loop, branch_in_a_loop, branch_in_a_batch,
]  # fmt: skip


def check(case, how, rows):
    """With less elements than seeds, as many, and more."""
    derived = DERIVED[how](case)
    for x in rows:
        expected = np.stack([derived(row) for row in x])
        eager = tape.vmap(derived)
        compiled = tape.compile(eager)
        for f in (eager, compiled, compiled):
            np.testing.assert_allclose(f(x), expected, rtol=1e-6, atol=1e-9)


@takes_long
@grid(ids=lambda value: getattr(value, "__name__", value), times=1, case=CASES, how=[*DERIVED])
def test_each_element_has_the_derivatives_that_it_has_alone(case, how):
    check(case, how, (ROWS[:2], ROWS[:3], ROWS, ROWS[:2, :2]))


@takes_long
@pytest.mark.parametrize("how", some(["linearize", "jacobian fwd", "jacobian rev"], every=3))
def test_each_element_takes_steps_of_its_own(how):
    check(adaptive_steps, how, (ROWS[:3], ROWS[:2, :2]))


@pytest.mark.parametrize("case", CASES)
def test_power_series_of_each_element(case):
    def series(x):
        return np.stack(tape.taylor(case, x, 0.5 + 0 * x, order=3))

    expected = np.stack([series(row) for row in ROWS])
    eager = tape.vmap(series)
    for f in (eager, eager if case is loop else tape.compile(eager)):  # steps of series are not counted
        np.testing.assert_allclose(f(ROWS), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("how", ["value", "jacobian"])
@pytest.mark.parametrize("case", CASES)
def test_there_may_be_no_elements(case, how):
    derived = case if how == "value" else tape.jacobian(case)
    for f in (tape.vmap(derived), tape.compile(tape.vmap(derived))):
        assert f(np.zeros((0, 3))).shape == (0, *derived(ROWS[0]).shape)
