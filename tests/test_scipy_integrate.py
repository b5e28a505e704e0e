"""Integrals beside SciPy's: samples, quadrature, differential equations, events; derivatives, errors."""

import numba
import numpy as np
import pytest
from scipy import LowLevelCallable
from scipy import integrate as original

import tape
from tape import errors
from tape.scipy import integrate
from tests.op_table.scipy_integrate import ALL
from tests.oracles import assert_close, difference
from tests.scipy_checks import check_compiled, check_derivatives, check_value
from tests.tiers import grid, some, takes_long


@pytest.mark.parametrize("case", ALL, ids=str)
def test_value_is_that_of_scipy(case):
    check_value(case)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_derivatives_are_differences_of_scipys_values(case):
    check_derivatives(case)


@pytest.mark.parametrize("case", some(ALL, every=2), ids=str)
def test_compiled_is_eager(case):
    check_compiled(case)


@grid(name=["simpson", "cumulative_simpson", "cumulative_trapezoid", "trapezoid"], count=[1, 2, 3, 4, 7, 8])
def test_any_number_of_samples(name, count):
    y, x = np.random.default_rng(count).normal(size=(2, 3, count)), np.cumsum(np.linspace(0.5, 1, count))
    for options in ({}, {"x": x}, {"x": np.broadcast_to(x, y.shape)}, {"dx": 0.3}):
        ours, theirs = (getattr(module, name)(y, **options) for module in (integrate, original))
        assert_close(ours, theirs, 1e-14)


# ---- quadrature ------------------------------------------------------------------------------------


def damped(rate, end, module=integrate):
    return module.quad(lambda x, r: np.exp(-r * x) * np.sin(3 * x), -rate / 2, end, (rate,))[0]


def waves(rates, end, module=integrate):
    return module.quad_vec(lambda x: np.cos(rates * x), 0.0, end)[0]


def bell(a, module=integrate):
    return module.quad(lambda x: np.exp(-a * x * x), -np.inf, np.inf)[0]


def wedge(a, module=integrate):
    return module.dblquad(lambda y, x: a * y, 0.0, a, 1.0, lambda x: a + x)[0]


PROBLEMS = {
    "quad": (damped, (np.float64(1.2), np.float64(0.7))),
    "quad_vec": (waves, (np.array([0.5, 1.0, 3.0]), np.float64(1.1))),
    "quad infinite": (bell, (np.float64(1.3),)),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_integrals_of_functions(name):
    """Leibniz's rule in both modes, beside differences of SciPy's values; and the numbers of SciPy."""
    f, args = PROBLEMS[name]
    np.testing.assert_array_equal(f(*args), f(*args, module=original))
    directions = [np.cos(np.arange(np.size(a))).reshape(np.shape(a)) for a in args]
    value, moved = tape.jvp(f, args, tuple(directions))
    np.testing.assert_array_equal(value, f(*args))
    assert_close(moved, difference(lambda *a: f(*a, module=original), args, directions), 1e-9)
    _, pull = tape.vjp(f, *args)
    seed = np.sin(1.0 + np.arange(np.size(value))).reshape(np.shape(value))
    backwards = sum(np.sum(g * d) for g, d in zip(pull(seed), directions, strict=True))
    assert_close(backwards, np.sum(moved * seed), 1e-10)


def test_second_derivatives_of_an_integral():
    a = 1.3
    assert_close(tape.grad(tape.grad(bell))(a), 0.75 * np.sqrt(np.pi) * a**-2.5, 1e-9)
    slope = lambda end: tape.grad(damped, argnums=1)(1.2, end)  # noqa: E731
    exact = np.exp(-1.2 * 0.7) * (3 * np.cos(2.1) - 1.2 * np.sin(2.1))
    assert_close(tape.grad(slope)(0.7), exact, 1e-12)


@takes_long
def test_integrals_over_several_variables():
    np.testing.assert_allclose(wedge(1.2), wedge(1.2, module=original), rtol=1e-14)
    slope = (wedge(1.2 + 1e-4, module=original) - wedge(1.2 - 1e-4, module=original)) / 2e-4
    assert_close(tape.jvp(wedge, (1.2,), (1.0,))[1], slope, 1e-7)


def test_integrals_in_programs_and_batches():
    f = tape.value_and_grad(damped, argnums=(0, 1))
    compiled = tape.compile(f)
    for args in ((1.2, 0.7), (0.3, 2.0)):
        for found, expected in zip(np.ravel(list(compiled(*args)[1])), f(*args)[1], strict=True):
            assert_close(found, expected, 1e-12)
        assert_close(compiled(*args)[0], damped(*args, module=original), 1e-14)
    rates = np.array([0.5, 1.5])
    assert_close(tape.vmap(tape.grad(damped), in_axes=(0, None))(rates, 1.0),
                 [tape.grad(damped)(rate, 1.0) for rate in rates], 1e-12)  # fmt: skip
    batched = tape.compile(tape.vmap(tape.grad(damped), in_axes=(0, None)))
    for end in (1.0, 0.5):
        assert_close(batched(rates, end), [tape.grad(damped)(rate, end) for rate in rates], 1e-12)


def test_an_infinite_limit_has_no_derivative_of_its_own():
    f = lambda b: integrate.quad(lambda x: np.exp(-x * x), 0.0, b)[0]  # noqa: E731
    assert tape.grad(f)(np.inf) == 0
    assert_close(tape.vmap(tape.grad(f))(np.array([1.0, np.inf])), [np.exp(-1.0), 0.0], 1e-14)


def test_integrals_of_complex_numbers_and_of_functions_in_c():
    def power(k):
        return np.sum(np.abs(integrate.quad_vec(lambda x: np.exp(1j * k * x), 0.0, 1.0)[0]) ** 2)

    exact = lambda k: (2 - 2 * np.cos(k)) / k**2  # noqa: E731
    assert_close(tape.grad(power)(1.3), tape.grad(exact)(1.3), 1e-13)
    assert_close(tape.jvp(power, (1.3,), (1.0,))[1], tape.grad(exact)(1.3), 1e-13)
    in_c = numba.cfunc("double(double)")(lambda x: x * x)
    pointer = LowLevelCallable(in_c.ctypes)
    assert_close(integrate.quad(pointer, 0.0, 3.0)[0], 9.0, 1e-13)
    with pytest.raises(errors.UnsupportedError, match="in C"):
        tape.grad(lambda b: integrate.quad(pointer, 0.0, b)[0])(1.0)


@pytest.mark.parametrize("run", [lambda f: f, tape.compile])
def test_an_integral_between_equal_limits_has_a_derivative(run):
    """SciPy does not call the integrand there."""
    of_limit = run(tape.grad(lambda x: integrate.quad(lambda t: np.exp(-x * t), 1.0, x)[0]))
    of_area = run(tape.grad(lambda x: integrate.quad(lambda t: x / np.sqrt(t), 0.0, x)[0]))
    for x in (1.0, 2.0, 1.0):
        slope = (
            np.exp(-x * x) - sum(sign * (u * x + 1) * np.exp(-u * x) for sign, u in ((1, 1), (-1, x))) / x**2
        )
        assert_close(of_limit(x), slope, 1e-9)
    with np.errstate(all="ignore"):
        assert_close(of_area(1.0), 3.0, 1e-9)


def test_integrals_that_are_refused():
    with pytest.raises(errors.UnsupportedError, match="weight"):
        tape.grad(lambda a: integrate.quad(lambda x: a * x, 0.0, 1.0, weight="cos", wvar=2.0)[0])(1.0)
    with pytest.raises(errors.ShapeError, match="quad_vec"):
        integrate.quad(lambda x: np.ones(2), 0.0, 1.0)
    with pytest.raises(errors.ShapeError, match="vmap"):
        integrate.quad(np.cos, np.zeros(2), 1.0)
    with pytest.raises(errors.UnsupportedError, match="workers"):
        tape.grad(lambda b: integrate.quad_vec(np.cos, 0.0, b, workers=2)[0])(1.0)
    with pytest.raises(errors.UnsupportedError, match="full_output"):
        tape.compile(lambda b: integrate.quad(np.cos, 0.0, b, full_output=1)[0])(1.0)
    with pytest.warns(original.IntegrationWarning), pytest.raises(errors.ConvergenceError, match="converge"):
        tape.grad(lambda a: integrate.quad(lambda x: x ** (a - 1), 0.0, 1.0, limit=3)[0])(0.1)
    with pytest.raises(errors.OptionError, match="finite"):
        integrate.fixed_quad(np.cos, 0.0, np.inf)
    with pytest.raises(errors.OptionError, match="finite"):
        integrate.fixed_quad(np.cos, np.inf, 0.0)
    with pytest.raises(errors.ShapeError, match=r"\[2, 3\] for samples of shape \[2, 4\]"):
        integrate.simpson(np.ones((2, 4)), x=np.ones((2, 3)))
    with pytest.raises(errors.ShapeError, match="2\\*\\*k"):
        integrate.romb(np.ones(4))


@takes_long
def test_integrals_over_volumes():
    """Of polynomials, whose integrals are known."""

    def by_nquad(a):
        return integrate.nquad(lambda x, y: a * x * y**2, [[0.0, a], [0.0, 1.0]])[0]

    def by_tplquad(a):
        return integrate.tplquad(lambda z, y, x: a * z, 0.0, 1.0, 0.0, a, 0.0, 1.0)[0]

    cases = ((by_nquad, 1.5**3 / 6, 1.5**2 / 2), (by_tplquad, 1.5**2 / 2, 1.5))  # the latter takes a minute
    for f, value, slope in some(cases, every=2):
        found = tape.value_and_grad(f)(1.5)
        np.testing.assert_allclose(found, (value, slope), rtol=1e-9)


def test_an_integral_over_one_variable_by_nquad():
    assert integrate.nquad(lambda x: x, [[0.0, 1.0]]) == integrate.quad(lambda x: x, 0.0, 1.0)


def test_an_integrand_may_be_an_array_of_one_element():
    def f(a):
        return integrate.quad(lambda x: np.stack([a * a * x]), 0.0, a)[0]  # a**4 / 2

    assert tape.grad(f)(2.0) == pytest.approx(16.0)
    assert tape.jvp(f, (2.0,), (1.0,))[1] == pytest.approx(16.0)
    assert tape.hessian(f)(2.0) == pytest.approx(24.0)


def test_the_state_at_the_start_alone():
    def f(y0):
        return integrate.odeint(lambda y, t: -y, y0, [3.0])

    y0 = np.array([1.0, 2.0])
    for g in (f, tape.compile(f)):
        np.testing.assert_array_equal(g(y0), [y0])
    np.testing.assert_array_equal(tape.jacobian(f)(y0), [np.eye(2)])
    np.testing.assert_array_equal(tape.jvp(f, (y0,), (y0,))[1], [y0])


# ---- differential equations ------------------------------------------------------------------------


def spring(t, y, k):
    return [y[1], -k * y[0]]


def swing(k, height, end):
    """The exact solution."""
    w = np.sqrt(k)
    return np.stack([height * np.cos(w * end), -w * height * np.sin(w * end)])


def crossing(t, y, k):
    return y[0] - 0.1


def test_without_vars_the_result_is_scipys():
    ours, theirs = (
        module.solve_ivp(spring, (0, 3.0), [1.0, 0.0], args=(2.0,), events=crossing, dense_output=True)
        for module in (integrate, original)
    )
    for name in ("t", "y", "nfev", "status", "message"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(ours.t_events[0], theirs.t_events[0])
    np.testing.assert_array_equal(ours.sol(1.1), theirs.sol(1.1))


@pytest.mark.parametrize(
    "options", [{}, {"t_eval": [0.5, 2.0]}, {"method": "LSODA", "t_eval": [0.0, 3.0]}], ids=str
)
def test_solutions_have_scipys_numbers_and_exact_derivatives(options):
    def last(k, height, end, module=integrate):
        found = module.solve_ivp(spring, (0.0, end), [height, 0.0], args=(k,), **options)
        return found.y[:, -1]

    args = 2.0, 1.0, 3.0
    assert_close(tape.vjp(last, *args)[0], last(*args, module=original), 1e-12)
    time = options.get("t_eval", [3.0])[-1]
    exact = lambda k, height, end: swing(k, height, time if options else end)  # noqa: E731
    for k in (0, 2) if not options else (1,):
        assert_close(tape.jacobian(last, argnums=k)(*args), tape.jacobian(exact, argnums=k)(*args), 1e-6)
    _, moved = tape.jvp(last, args, (1.0, 0.5, 0.0))
    assert_close(moved, tape.jvp(exact, args, (1.0, 0.5, 0.0))[1], 1e-6)


@takes_long
def test_solutions_in_programs_and_batches():
    def total(k, height):
        fall = lambda t, y: [y[1], -k * y[0]]  # noqa: E731
        return np.sum(integrate.solve_ivp(fall, (0.0, 3.0), [height, 0.0], t_eval=[0.5, 2.0]).y[0])

    f = tape.value_and_grad(total, argnums=(0, 1))
    compiled = tape.compile(f)
    for args in ((2.0, 1.0), (1.0, 2.0)):
        (value, gradient), (expected, exact) = compiled(*args), f(*args)
        assert_close(value, expected, 1e-12)
        assert_close(gradient, exact, 1e-7)
    rates = np.array([1.0, 2.0])
    assert_close(tape.vmap(total, in_axes=(0, None))(rates, 1.0), [total(k, 1.0) for k in rates], 1e-14)
    assert tape.compile(
        lambda k: integrate.solve_ivp(spring, (0, 1.0), [1.0, 0.0], t_eval=[1.0], args=(k,)).nfev is None
    )(2.0)


def test_the_absolute_tolerance_may_be_zero():
    """Then that of derivatives is not, which start at zero."""

    def last(k):
        return integrate.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0, 2.0], rtol=1e-8, atol=0).y[:, -1]

    value, slope = tape.jvp(last, (2.0,), (1.0,))
    assert_close(value, np.exp(-2.0) * np.array([1.0, 2.0]), 1e-7)
    assert_close(slope, -np.exp(-2.0) * np.array([1.0, 2.0]), 1e-7)
    assert_close(tape.jacobian(last)(2.0), slope, 1e-7)


@takes_long
def test_times_of_events_are_roots():
    """The time at which a spring reaches a height, its speed there, and the end of an integration."""
    crossing.terminal = True
    try:

        def found(k, height):
            options = {"events": crossing, "rtol": 1e-9, "atol": 1e-9}
            out = integrate.solve_ivp(spring, (0.0, 9.0), [height, 0.0], args=(k,), **options)
            assert out.status == 1
            return np.stack([out.t_events[0][0], out.y_events[0][0, 1], out.t[-1], out.y[1, -1]])

        def exact(k, height):
            time, speed = np.arccos(0.1 / height) / np.sqrt(k), -np.sqrt(k * (height**2 - 0.01))
            return np.stack([time, speed, time, speed])

        moved, expected = (tape.jvp(f, (2.0, 1.0), (1.0, 0.5))[1] for f in (found, exact))
        assert_close(moved, expected, 1e-6)
        reverse = tape.grad(lambda k: found(k, 1.0)[0])(2.0)
        assert_close(reverse, tape.grad(lambda k: exact(k, 1.0)[0])(2.0), 1e-6)
    finally:
        del crossing.terminal


@pytest.mark.parametrize(("direction", "number", "end"), [(-1, 0, 3.5), (1, 1, -3.5), (1, 1, 3.5)])
@pytest.mark.parametrize("stops", [False, True])
def test_events_of_a_direction_are_those_that_go_there_in_the_course_of_the_integration(
    direction, number, end, stops
):
    """Of the zeros of cos(1.7 t) the first one falls and the second one rises, backwards as well."""

    def crossing(t, y, w, scale):
        return scale * y[0]

    crossing.direction, crossing.terminal = direction, stops

    def solved(w):
        found = integrate.solve_ivp(
            lambda t, y, w, scale: np.stack([y[1], -(w**2) * y[0]]), (0.0, end), [1.0, 0.0],
            events=crossing, args=(w, 2.0), rtol=1e-6, atol=1e-6,
        )  # fmt: skip
        assert len(found.t_events[0]) == 1
        return [found.t_events[0][0], found.t[-1]]

    time = np.sign(end) * (number + 0.5) * np.pi / 1.7
    expected = [time, time if stops else end]
    assert_close(solved(1.7), expected, 1e-4)
    trace = tape.Trace()
    found = np.stack(solved(trace.param(1.7)))
    assert_close(found.value, expected, 1e-4)


def test_several_events_one_of_them_at_the_first_time():
    def found(w):
        zero, turning = (lambda t, y: y[0]), (lambda t, y: y[1])
        swing = lambda t, y: [y[1], -w * w * y[0]]  # noqa: E731
        out = integrate.solve_ivp(swing, (0, 2.0), [1.0, 0.0], events=[zero, turning], rtol=1e-9, atol=1e-9)
        assert [len(t) for t in out.t_events] == [1, 1]
        return np.concatenate(out.t_events), out.y_events[1][:, 0]

    times, heights = tape.jvp(found, (1.0,), (1.0,))[1]
    assert_close(times, [-np.pi / 2, 0.0], 1e-6)
    assert_close(heights, [0.0], 1e-6)
    still = lambda t, y: y[1]  # noqa: E731
    swing = lambda t, y: [y[1], -y[0]]  # noqa: E731
    start = lambda v: integrate.solve_ivp(swing, (0, 2.0), [1.0, v], events=still).y  # noqa: E731
    with pytest.raises(errors.UnsupportedError, match="first time"):
        tape.jvp(start, (0.0,), (1.0,))


def test_odeint():
    def states(k, height, module=integrate):
        slope = lambda y, t, k: [y[1], -k * y[0]]  # noqa: E731
        return module.odeint(slope, [height, 0.0], np.linspace(0.0, 3.0, 4), (k,))

    np.testing.assert_array_equal(states(2.0, 1.0), states(2.0, 1.0, module=original))
    value, moved = tape.jvp(states, (2.0, 1.0), (1.0, 1.0))
    assert_close(value, states(2.0, 1.0), 1e-12)
    exact = lambda k, height: swing(k, height, np.linspace(0.0, 3.0, 4)).T  # noqa: E731
    assert_close(moved, tape.jvp(exact, (2.0, 1.0), (1.0, 1.0))[1], 1e-6)
    gradient = tape.grad(lambda k, height: np.sum(states(k, height)), argnums=(0, 1))
    assert_close(gradient(2.0, 1.0), tape.grad(lambda *a: np.sum(exact(*a)), argnums=(0, 1))(2.0, 1.0), 1e-6)


@pytest.mark.parametrize("tfirst", [False, True])
def test_odeint_asks_for_the_jacobian_that_it_is_given(tfirst):
    """The equation is stiff, so that SciPy asks; in both orders of arguments the state is a vector."""
    asked = []

    def slope(y, t, k):
        return -k * (y - np.cos(t))

    def jacobian(y, t, k):
        asked.append((np.shape(y), np.shape(t)))
        return np.full((1, 1), -1000.0)

    def turned(f):
        return (lambda t, y, k: f(y, t, k)) if tfirst else f

    def last(k, module=integrate):
        options = {"Dfun": turned(jacobian), "tfirst": tfirst, "rtol": 1e-8, "atol": 1e-8}
        return module.odeint(turned(slope), [0.0], [0.0, 2.0], (k,), **options)[-1, 0]

    assert last(1000.0) == last(1000.0, original)
    assert set(asked) == {((1,), ())}
    asked.clear()
    assert tape.value_and_grad(last)(1000.0)[0] == pytest.approx(np.cos(2.0), abs=2e-3)
    assert set(asked) == {((1,), ())}


def test_equations_that_are_refused():
    def solve(k, **options):
        return integrate.solve_ivp(spring, (0.0, 1.0), [1.0, 0.0], args=(k,), **options).y[0, -1]

    with pytest.raises(errors.UnsupportedError, match="t_eval"):
        tape.compile(solve)(2.0)
    with pytest.raises(errors.UnsupportedError, match="t_eval"):
        tape.vmap(solve)(np.array([1.0, 2.0]))
    with pytest.raises(errors.UnsupportedError, match="dense output"):
        tape.grad(lambda k: solve(k, dense_output=True))(2.0)
    with pytest.raises(errors.UnsupportedError, match="no derivatives with the solver"):
        tape.grad(lambda k: solve(k, method=original.RK45))(2.0)
    with pytest.raises(errors.ConvergenceError, match="step size"):
        tape.grad(lambda k: integrate.solve_ivp(lambda t, y: k * y**2, (0, 2.0), [1.0]).y[0, -1])(2.0)
    with pytest.raises(errors.UnsupportedError, match=r"scipy\.integrate\.newton_cotes|no derivative"):
        tape.grad(lambda x: integrate.newton_cotes(x)[0])(np.array([0.0, 1.0]))


def test_jacobians_of_equations_take_the_further_arguments():
    """Those of the solver are plain numbers; a wrong one would let no implicit step converge."""
    jacobian = lambda t, y, k: [[0.0, 1.0], [-k, 0.0]]  # noqa: E731

    def last(k, module=integrate):
        options = {"method": "Radau", "jac": jacobian, "args": (k,), "rtol": 1e-8, "atol": 1e-8}
        return module.solve_ivp(spring, (0.0, 1.0), [1.0, 0.0], **options).y[:, -1]

    value, moved = tape.jvp(last, (2.0,), (1.0,))
    assert_close(value, last(2.0, original), 1e-12)
    assert_close(moved, tape.jvp(lambda k: swing(k, 1.0, 1.0), (2.0,), (1.0,))[1], 1e-6)


def test_events_that_do_not_happen_have_no_times():
    """Beside one that does."""

    def found(k):
        events = [lambda t, y: y[0] - 9.0, lambda t, y: y[0] - 0.1]
        oscillate = lambda t, y: [y[1], -k * y[0]]  # noqa: E731
        out = integrate.solve_ivp(oscillate, (0.0, 1.5), [1.0, 0.0], events=events, rtol=1e-9, atol=1e-9)
        assert [len(t) for t in out.t_events] == [0, 1]
        return out.t_events[1][0]

    assert_close(tape.grad(found)(2.0), -np.arccos(0.1) / (2 * 2.0**1.5), 1e-6)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda k: integrate.solve_ivp(lambda t, y: k * y, (0, 1.0), [1j]).y[0, -1].real,
            errors.DTypeError,
            "y0 is complex",
        ),
        (
            lambda k: integrate.odeint(lambda y, t: k * y, 1.0, [0.0, 1.0, 1.0])[-1, 0],
            errors.OptionError,
            "odeint: the times must be strictly",
        ),
        (
            lambda k: np.sum(
                tape.vmap(
                    lambda k: integrate.odeint(lambda y, t: k * y, 1.0, [0.0, 1.0], full_output=True)[0]
                )(k * np.ones(2))
            ),
            errors.UnsupportedError,
            "full_output=True would be frozen",
        ),
    ],
)
def test_equations_of_which_no_derivative_is_known_are_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        tape.grad(call)(2.0)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda y: integrate.cumulative_trapezoid(y[:, :0]),
            errors.ShapeError,
            "cumulative_trapezoid: there are no",
        ),
        (lambda y: integrate.cumulative_trapezoid(y, initial=1), errors.OptionError, "initial is 1"),
        (lambda y: integrate.cumulative_trapezoid(y, initial=[0]), errors.OptionError, r"initial is \[0\]"),
        (lambda y: integrate.cumulative_trapezoid(y, initial=np.zeros(1)), errors.OptionError, "initial is"),
        (lambda y: integrate.simpson(y[:, :0]), errors.ShapeError, "simpson: there are no samples"),
        (
            lambda y: integrate.simpson(y, x=1j * np.arange(3)),
            errors.DTypeError,
            "^simpson: positions are complex",
        ),
        (lambda y: integrate.simpson(y, x=np.ones(2)), errors.ShapeError, r"shape \[2\] for samples"),
        (lambda y: integrate.simpson(y, x=np.ones((2, 2))), errors.ShapeError, r"shape \[2, 2\] for samples"),
        (
            lambda y: integrate.cumulative_simpson(y, dx=np.ones(3)),
            errors.ShapeError,
            r"dx has .* or \[2, 1\]",
        ),
        (
            lambda y: integrate.cumulative_simpson(y, initial=np.ones(2)),
            errors.ShapeError,
            r"initial .* or \[2, 1\]",
        ),
        (lambda y: integrate.cumulative_simpson(y, x=[0, 1, 1]), errors.OptionError, "strictly increasing"),
        (lambda y: integrate.cumulative_simpson(y, x=[0, 2, 1]), errors.OptionError, "strictly increasing"),
        (lambda y: integrate.romb(y, show=True), errors.OptionError, "show=True"),
        (
            lambda y: integrate.nquad(lambda x: x, [[0, y[0, 0]]], opts=[{}])[0],
            errors.OptionError,
            "opts must be one",
        ),
        (
            lambda y: integrate.nquad(lambda x: x, [[0, y[0, 0]]], full_output=True)[0],
            errors.OptionError,
            "full_output is not",
        ),
    ],
)  # fmt: skip
def test_samples_and_options_that_do_not_fit_are_refused(call, kind, message):
    y = np.arange(6.0).reshape(2, 3)
    for f in (call, tape.grad(lambda y: np.sum(call(y)))):
        with pytest.raises(kind, match=message):
            f(y)


@pytest.mark.parametrize("options", [{"dx": [[1.0], [2.0]]}, {"initial": [[1.0], [2.0]]}, {"initial": 3.0}])
def test_cumulative_integrals_of_each_row_have_their_own_width_and_start(options):
    y = np.arange(6.0).reshape(2, 3) ** 2
    options = {name: np.array(value) for name, value in options.items()}
    ours, theirs = (module.cumulative_simpson(y, **options) for module in (integrate, original))
    assert_close(ours, theirs, 1e-14)


def test_replaying_an_event_is_refused():
    trace = tape.Trace()
    k = trace.param(2.0)
    found = integrate.solve_ivp(spring, (0.0, 3.0), [1.0, 0.0], args=(k,), events=crossing)
    assert isinstance(found.t_events[0], tape.Var)
    trace.set(k, 3.0)
    with pytest.raises(errors.UnsupportedError, match="replay"):
        trace.replay()
