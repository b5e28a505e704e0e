"""Arguments and results of transforms, loops and solvers are values: later writes change nothing."""

import numpy as np
import pytest

import tape
from tape.scipy import interpolate, optimize

A = np.array([[2.0, 0.5], [0.5, 1.0]])


def equations(x, k, a):
    return x - 1 + k * (a - 1)


SOLVERS = {
    "root": lambda a, k: tape.scipy.root(lambda x, k: equations(x, k, a), np.zeros(2), args=(k,)).x,
    "fsolve": lambda a, k: optimize.fsolve(lambda x, k: equations(x, k, a), np.zeros(2), args=(k,)),
    "least_squares": lambda a, k: (
        optimize.least_squares(lambda x, k: equations(x, k, a), np.zeros(2), args=(k,)).x
    ),
    "minimize": lambda a, k: (
        optimize.minimize(lambda x, k: np.sum(equations(x, k, a) ** 2), np.zeros(2), args=(k,)).x
    ),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_arguments_of_solvers_are_those_of_the_call(name):
    k = np.array([2.0, 3.0])
    _, pullback = tape.vjp(lambda a: SOLVERS[name](a, k), np.ones(2))
    k[:] = 50.0
    np.testing.assert_allclose(pullback(np.ones(2))[0], [-2.0, -3.0], rtol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("f", [lambda x: (x * 2, np.floor(x)), lambda x: (np.round(x), x), lambda x: (A, x)])
def test_results_of_a_linear_map_are_new_ones(f):
    x = np.array([1.0, 2.0])
    _, linear_map = tape.linearize(f, x)
    expected = [part.copy() for part in linear_map(x)]
    for part in linear_map(x):
        part[...] = 9.0
    for part, other in zip(linear_map(x), expected, strict=True):
        np.testing.assert_array_equal(part, other)


@pytest.mark.parametrize("compiled", [False, True])
def test_one_buffer_of_gradients_for_all_steps(compiled):
    rule = tape.optim.lbfgs(lr=0.05)
    update = tape.compile(rule.update) if compiled else rule.update
    found = []
    for is_shared in (True, False):
        w, buffer = np.ones(2), np.zeros(2)
        state = rule.init(w)
        for _ in range(8):
            buffer[:] = A @ w
            state, w = update(buffer if is_shared else buffer.copy(), state, w)
            buffer[:] = 0.0
        found.append(w)
    np.testing.assert_array_equal(*found)


def test_functions_that_return_one_buffer_each_time():
    buffer = np.zeros(2)

    def filled(numbers):
        buffer[:] = numbers
        return buffer

    t = np.array([0.0, 1.0])
    for method in ("RK45", "Tsit5", "Dopri5"):
        found = tape.odeint(lambda y, t: filled(-y * [1.0, 2.0]), np.ones(2), t, method=method, rtol=1e-10)
        np.testing.assert_allclose(found[-1], np.exp([-1.0, -2.0]), rtol=1e-6)
    np.testing.assert_allclose(tape.fixed_point(lambda x: filled(np.cos(x)), np.ones(2)), 0.7390851332151607)
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(tape.map(filled, rows), rows)


def test_points_of_splines_are_those_of_before():
    for kind in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator"):
        x = np.arange(6.0)
        spline = getattr(interpolate, kind)(x, x**2)
        expected = spline(1.4)
        x += 0.1
        assert spline(1.4) == expected


def doubled(v):
    v *= 2
    return v


BRANCHES = [
    lambda a: tape.cond(True, doubled, doubled, a),
    lambda a: tape.switch(1, [doubled, doubled], a),
]


@pytest.mark.parametrize("choose", BRANCHES)
def test_branches_write_to_arguments_of_their_own(choose):
    a = np.array([1.0, 2.0])
    np.testing.assert_array_equal(choose(a), [2.0, 4.0])
    np.testing.assert_array_equal(a, [1.0, 2.0])
    np.testing.assert_array_equal(tape.grad(lambda a: np.sum(choose(a) * a))(a), 4 * a)
    np.testing.assert_array_equal(tape.compile(lambda a: choose(a) * a)(a), 2 * a**2)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: tape.vjp(f, x)[0],
        lambda f, x: tape.jvp(f, (x,), (x,))[0],
        lambda f, x: tape.linearize(f, x)[0],
        lambda f, x: tape.cond(True, f, f, x),
        lambda f, x: tape.compile(f)(x),
        lambda f, x: tape.vmap(f)(np.stack([x]))[0],
    ],
)
@pytest.mark.parametrize("part", [lambda held: held, lambda held: held[::-1], lambda held: held[None]])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_are_not_what_the_function_holds(call, part):
    held = np.ones(2)
    call(lambda x: part(held), np.ones(2))[...] = 9.0
    np.testing.assert_array_equal(held, 1.0)
