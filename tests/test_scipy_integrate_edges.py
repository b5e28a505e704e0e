"""Integrals of `scipy.integrate` at the edges of their options: limits, samples, times, events, reports."""

import numpy as np
import pytest
from scipy import integrate as original

import tape
from tape import errors
from tape.scipy import integrate
from tape.scipy.integrate import _equations
from tape.scipy.integrate._solutions import States
from tests.oracles import assert_close
from tests.tiers import takes_long

# ---- quadrature -----------------------------------------------------------------------------------------


def wave(x):
    return np.cos(30 * x) + x


QUAD = {
    "epsabs": {"epsabs": 1e-1, "epsrel": 1e-14},
    "epsrel": {"epsabs": 1e-14, "epsrel": 1e-1},
    "limit": {"limit": 2, "epsabs": 0.0, "epsrel": 1e-6},
    "points": {"points": [0.25, 0.5]},
    "weight": {"weight": "sin", "wvar": 3.0},
    "complex_func": {"complex_func": True},
}


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.parametrize("name", QUAD)
def test_options_of_quad_arrive_at_scipy(name):
    def found(of, **options):
        value, error, info, *rest = of.quad(wave, 0.0, 4.0, full_output=1, **options)
        return value, error, info.get("neval"), info.get("last"), rest

    assert repr(found(integrate, **QUAD[name])) == repr(found(original, **QUAD[name]))
    assert repr(found(integrate, **QUAD[name])) != repr(found(original))


QUAD_VEC = {
    "epsabs": {"epsabs": 1e-1, "epsrel": 0.0},
    "epsrel": {"epsrel": 1e-2},
    "norm": {"norm": "max", "epsrel": 1e-2},
    "limit": {"limit": 2},
    "points": {"points": [0.1, 0.7]},
    "quadrature": {"quadrature": "trapezoid", "epsrel": 1e-3},
}


@pytest.mark.parametrize("name", QUAD_VEC)
def test_options_of_quad_vec_arrive_at_scipy(name):
    def found(of, **options):
        value, error, info = of.quad_vec(
            lambda x: np.array([wave(x), x, 1.0, x * x]), 0.0, 1.0, full_output=True, **options
        )
        return value.tolist(), error, info.neval, info.status, info.success, len(info.intervals)

    assert found(integrate, **QUAD_VEC[name]) == found(original, **QUAD_VEC[name])
    assert found(integrate, **QUAD_VEC[name]) != found(original)


def test_vectors_of_integrals_by_a_map_are_for_plain_numbers():
    f = lambda x, a: np.array([a * x, x])  # noqa: E731
    for workers in (map, 1):
        found = integrate.quad_vec(f, 0.0, 2.0, workers=workers, args=(3.0,), full_output=True)
        np.testing.assert_allclose(found[0], [6.0, 2.0], rtol=1e-14)
        assert found[2].success


@pytest.mark.parametrize("solver", ["quad", "quad_vec"])
def test_a_lone_argument_of_an_integrand_and_a_report_in_a_sweep(solver):
    def area(a):
        found = getattr(integrate, solver)(lambda x, a: a * x, 0.0, 2.0, args=a, full_output=True)
        reports.append(found[2:])
        assert len(getattr(integrate, solver)(lambda x, a: a * x, 0.0, 2.0, args=a)) == 2
        return found[0]

    reports = []
    assert tape.value_and_grad(area)(3.0) == pytest.approx((6.0, 2.0), rel=1e-12)
    (info,) = reports[0]
    assert (info["neval"] if solver == "quad" else info.neval) > 0


def test_options_that_say_nothing_are_no_obstacle():
    f = lambda a, **options: integrate.quad(lambda x: a * x, 0.0, 1.0, **options)[0]  # noqa: E731
    assert tape.grad(lambda a: f(a, weight=None, complex_func=False))(2.0) == pytest.approx(0.5)
    with pytest.raises(errors.UnsupportedError, match="no derivative with complex_func"):
        tape.grad(lambda a: f(a, complex_func=True))(2.0)
    with pytest.raises(errors.UnsupportedError, match="no derivative with weight and complex_func"):
        tape.grad(lambda a: f(a, complex_func=True, weight="cos", wvar=1.0))(2.0)
    compiled = tape.compile(f)
    assert compiled(2.0) == pytest.approx(1.0)
    assert compiled(3.0) == pytest.approx(1.5)


def test_integrands_of_one_element_are_numbers():
    assert integrate.quad(lambda x: np.array([[x]]), 0.0, 2.0)[0] == pytest.approx(2.0)
    for f in (lambda x: np.zeros(0), lambda x: np.ones((1, 2))):
        with pytest.raises(errors.ShapeError, match=r"the integrand returned shape \[.*It must be a number"):
            integrate.quad(f, 0.0, 1.0)


@pytest.mark.parametrize("limit", [np.zeros(1), np.zeros((1, 1)), 1j, np.complex64(1)])
@pytest.mark.parametrize("solver", ["quad", "quad_vec"])
def test_limits_that_are_no_real_numbers(solver, limit):
    for limits in ((limit, 1.0), (1.0, limit)):
        with pytest.raises(errors.ShapeError, match=f"^{solver}: a limit is .* It must be a real number"):
            getattr(integrate, solver)(np.cos, *limits)


ENDS = {"forwards": (0.5, 2.0), "turned round": (2.0, 0.5), "from below zero": (-1.0, 0.5)}


@pytest.mark.parametrize("derive", ["forwards", "backwards"])
@pytest.mark.parametrize("ends", ENDS)
def test_limits_are_differentiated_with_their_signs(ends, derive):
    """Of sums of powers with two arguments of several elements, and one that the integrand leaves out."""
    low, high = ENDS[ends]
    p, q, idle = np.array([1.0, 2.0]), np.array([[0.5], [1.5], [2.5]]), np.array([7.0, 8.0, 9.0])

    def found(low, high, p, q, idle):
        f = lambda x, p, q, idle: np.stack([p @ np.stack([x, x**2]), np.sum(q) * x**3])  # noqa: E731
        return integrate.quad_vec(f, low, high, args=(p, q, idle))[0]

    def exact(low, high, p, q, idle):
        return np.stack([
            p[0] * (high**2 - low**2) / 2 + p[1] * (high**3 - low**3) / 3,
            np.sum(q) * (high**4 - low**4) / 4,
        ])  # fmt: skip

    args = low, high, p, q, idle
    if derive == "backwards":
        results = [tape.grad(lambda *a, f=f: f(*a) @ np.array([1.0, -2.0]), (0, 1, 2, 3, 4))(*args)
                   for f in (found, exact)]  # fmt: skip
        for one, other in zip(*results, strict=True):
            assert_close(one, other, 1e-10)
        return
    for k in range(5):
        moved = [np.ones_like(a) if k == i else np.zeros_like(a) for i, a in enumerate(args)]
        one, other = (tape.jvp(f, args, tuple(moved))[1] for f in (found, exact))
        assert_close(one, other, 1e-10)


def test_infinite_limits_in_batches_beside_finite_ones():
    """From each side; values of the integrand there are not needed, and may not exist."""
    f = lambda x: np.exp(-x * x) * np.where(np.abs(x) < np.inf, 1.0, np.nan)  # noqa: E731
    below = lambda a: integrate.quad(f, a, 1.0)[0]  # noqa: E731
    lows = np.array([-np.inf, 0.5, -2.0])
    assert_close(tape.vmap(tape.grad(below))(lows), [0.0, -np.exp(-0.25), -np.exp(-4.0)], 1e-14)
    both = lambda a, b: integrate.quad(f, a, b)[0]  # noqa: E731
    by_low, by_high = tape.vmap(tape.grad(both, (0, 1)))(np.array([-np.inf, 0.5]), np.array([np.inf, np.inf]))
    assert_close(by_low, [0.0, -np.exp(-0.25)], 1e-14)
    assert_close(by_high, [0.0, 0.0], 0)


def test_slopes_at_infinite_limits_do_not_need_the_integrand_at_zero():
    """There it is infinite; that of a batch is taken at the other limit instead."""
    upper = lambda b: integrate.quad(lambda x: np.exp(-x) / x, 1.0, b)[0]  # noqa: E731
    bent = tape.vmap(tape.grad(tape.grad(upper)))(np.array([2.0, np.inf]))
    assert_close(bent, [-np.exp(-2.0) * (1 / 2 + 1 / 4), 0.0], 1e-12)
    lower = lambda a: integrate.quad(lambda x: np.exp(x) / x, a, -1.0)[0]  # noqa: E731
    bent = tape.vmap(tape.grad(tape.grad(lower)))(np.array([-2.0, -np.inf]))
    assert_close(bent, [np.exp(-2.0) * (1 / 2 + 1 / 4), 0.0], 1e-12)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
def test_an_argument_that_the_integrand_leaves_out_moves_nothing():
    f = lambda idle: integrate.quad_vec(lambda x, idle: np.array([x, 1.0]), 0.0, 2.0, args=(idle,))[0]  # noqa: E731
    value, moved = tape.jvp(f, (np.ones(3),), (np.ones(3),))
    assert_close(value, [2.0, 2.0], 1e-14)
    assert np.shape(moved) == (2,)
    assert_close(moved, [0.0, 0.0], 0)


def test_points_serve_derivatives_as_well():
    calls = []

    def f(x, a):
        calls.append(float(getattr(x, "value", x)))
        return a * np.sign(x - 0.3)

    value, slope = tape.value_and_grad(lambda a: integrate.quad(f, 0.0, 1.0, (a,), points=[0.3])[0])(2.0)
    assert (value, slope) == pytest.approx((0.8, 0.4), rel=1e-12)
    with_points, calls[:] = len(calls), []
    tape.value_and_grad(lambda a: integrate.quad(f, 0.0, 1.0, (a,))[0])(2.0)
    assert with_points < 150 < len(calls)


def test_integrals_that_depend_on_whole_numbers_in_programs():
    area = lambda a, n: integrate.quad(lambda x, n: a * x**n, 0, 1, n)[0]  # noqa: E731
    compiled = tape.compile(tape.value_and_grad(area))
    for n in (np.array(2), np.array(3)):
        value, slope = compiled(6.0, n)
        assert (value, slope) == pytest.approx((6 / (n + 1), 1 / (n + 1)), rel=1e-12)


# ---- several variables ----------------------------------------------------------------------------------


NESTED = {
    "dblquad": lambda of: of.dblquad(lambda y, x: x * y**2, 0.5, 2.0, lambda x: x / 2, lambda x: 3 * x),
    "dblquad numbers": lambda of: of.dblquad(lambda y, x: x - y, 0.5, 2.0, 1.0, 3.0),
    "dblquad args": lambda of: of.dblquad(lambda y, x, a: a * np.exp(x * y), 0.0, 1.0, 0.0, 1.0, (2.0,)),
    "dblquad epsabs": lambda of: of.dblquad(
        lambda y, x: np.sqrt(np.abs(x - y)), 0.0, 1.0, 0.0, 1.0, epsabs=1e-2, epsrel=0),
    "dblquad epsrel": lambda of: of.dblquad(
        lambda y, x: np.sqrt(np.abs(x - y)), 0.0, 1.0, 0.0, 1.0, epsabs=0, epsrel=1e-2),
    "tplquad": lambda of: of.tplquad(
        lambda z, y, x: x + y * z**2, 0.0, 1.0, lambda x: x, lambda x: 2 + x, lambda x, y: x - y,
        lambda x, y: x + 2 * y),
    "nquad": lambda of: of.nquad(lambda x, y, a: a * x * y, [lambda y, a: (y, a), (0.0, 1.0)], (3.0,)),
    "nquad opts": lambda of: of.nquad(
        lambda x, y: np.sqrt(np.abs(x - y)), [(0.0, 1.0), (0.0, 1.0)], opts={"epsabs": 1e-2, "limit": 9}),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_integrals_over_several_variables_are_scipys(name):
    ours, theirs = (NESTED[name](of) for of in (integrate, original))
    np.testing.assert_allclose(ours, theirs[:2], rtol=1e-13)


@takes_long
def test_limits_of_nested_integrals_are_differentiated():
    """By numbers that functions of limits close over, and by those that are passed to them."""

    def by_nquad(a, b):
        return integrate.nquad(lambda x, y, b: x * y * b, [lambda y, b: (0.0, b * y), (0.0, a)], b)[0]

    def by_dblquad(a, b):
        return integrate.dblquad(lambda y, x: x * y * b, 0.0, a, 0.0, lambda x: b * x)[0]

    assert by_dblquad(1.2, 0.7) == pytest.approx(0.7**3 * 1.2**4 / 8, rel=1e-10)
    value, moved = tape.jvp(by_nquad, (1.2, 0.7), (1.0, 0.5))
    assert value == pytest.approx(0.7**3 * 1.2**4 / 8, rel=1e-10)
    assert moved == pytest.approx(0.7**3 * 1.2**3 / 2 + 0.5 * 3 * 0.7**2 * 1.2**4 / 8, rel=1e-9)


def test_nested_integrals_are_of_functions():
    for call in (
        lambda: integrate.nquad(3.0, [[0, 1], [0, 1]]),
        lambda: integrate.dblquad(3.0, 0, 1, 0, 1),
        lambda: integrate.quad(3.0, 0, 1),
        lambda: integrate.quad_vec(3.0, 0, 1),
    ):
        with pytest.raises(errors.UnsupportedError, match="expects a function, and got 3"):
            call()


# ---- samples --------------------------------------------------------------------------------------------


STANDING = [
    [0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 2.0, 2.0], [0.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0], [0.0, 1.0, 2.0, 2.0, 4.0],
    [0.0, 0.0, 1.0, 3.0, 3.0, 4.0],
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("x", STANDING, ids=str)
def test_simpsons_rule_of_positions_that_are_there_twice(x):
    """Quotients by a width of zero are zero, as in SciPy, and their derivatives are finite."""
    y = np.cos(np.arange(len(x)) + 1.0)
    found = integrate.simpson(y, x=x)
    assert_close(found, original.simpson(y, x=x), 1e-14)
    assert np.all(np.isfinite(tape.grad(lambda y: integrate.simpson(y, x=x))(y)))


@pytest.mark.parametrize("name", ["simpson", "cumulative_simpson", "cumulative_trapezoid"])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8])
def test_positions_of_other_dtypes(name, dtype):
    """Squares of widths do not overflow."""
    x = np.array([0, 10, 30, 70, 150, 250]).astype(dtype)
    y = np.array([1, 4, 2, 8, 5, 7], np.float64)
    for count in (3, 5, 6):
        ours, theirs = (
            getattr(of, name)(y[:count], x=x[:count].astype(kind))
            for of, kind in ((integrate, dtype), (original, float))
        )
        assert_close(ours, theirs, 1e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("count", [2, 3, 5, 9, 17])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rombergs_method_of_any_number_of_halves(count, axis):
    y = np.exp(np.linspace(0.0, 1.0, 2 * count)).reshape(count, 2)
    y = y if axis == 0 else y.T
    for dx in (1.0, 2, np.float32(0.5)):
        assert_close(integrate.romb(y, dx, axis), original.romb(y, dx, axis), 1e-14)


@pytest.mark.parametrize("count", [1, 4, 6, 7, 8])
def test_rombergs_method_of_other_numbers_of_samples(count):
    with pytest.raises(errors.ShapeError, match=rf"romb: {count} samples\. There must be 2\*\*k \+ 1"):
        integrate.romb(np.ones(count))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_gaussian_quadrature_at_any_number_of_points(n):
    for options in ({}, {"args": (2.0,)}):
        f = lambda x, a=1.0: np.stack([np.exp(a * x), x])  # noqa: E731
        ours, theirs = (of.fixed_quad(f, -0.5, 1.0, n=n, **options) for of in (integrate, original))
        assert_close(ours[0], theirs[0], 1e-14)
        assert ours[1] is None
    assert integrate.fixed_quad(np.exp, 0, 1) == original.fixed_quad(np.exp, 0, 1)
    for limits in ((-np.inf, 0.0), (0.0, -np.inf), (np.nan, 0.0)):
        with pytest.raises(errors.OptionError, match="limits must be finite"):
            integrate.fixed_quad(np.cos, *limits)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("name", ["simpson", "cumulative_simpson", "cumulative_trapezoid"])
def test_integrals_along_any_axis(name, axis):
    y = np.random.default_rng(0).normal(size=(4, 4, 4))
    x = np.cumsum(np.random.default_rng(1).uniform(0.5, 1, size=y.shape), axis=axis)
    starts = [{}] if name == "simpson" else [{}, {"initial": 0}]
    for start in starts:
        for options in ({}, {"dx": 0.25}, {"x": np.array([0.0, 1.0, 3.0, 3.5])}, {"x": x}):
            given = {"axis": axis, **options, **start}
            ours, theirs = (getattr(of, name)(y, **given) for of in (integrate, original))
            assert_close(ours, theirs, 1e-13)


def test_positions_of_one_row_for_all():
    y = np.random.default_rng(0).normal(size=(3, 5))
    x = np.array([0.0, 1.0, 3.0, 3.5, 5.0])
    for name in ("simpson", "cumulative_simpson", "cumulative_trapezoid"):
        f = getattr(integrate, name)
        assert_close(f(y, x=x[None]), f(y, x=x), 1e-15)
    with pytest.raises(errors.ShapeError, match="along axis 0"):
        integrate.simpson(np.ones((5, 2)), x=np.ones((3, 2)), axis=0)
    with pytest.raises(errors.ShapeError, match="along axis 1"):
        integrate.simpson(np.ones((5, 2)), x=np.ones(5))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_cumulative_integrals_of_few_samples_begin_where_they_are_told(count):
    y = np.arange(2.0 * count).reshape(2, count)
    for start in (5.0, np.array([[1.0], [2.0]])):
        found = integrate.cumulative_simpson(y, dx=0.5, initial=start)
        assert found.shape == y.shape
        assert_close(found[:, :1], np.broadcast_to(start, (2, 1)), 0)
        assert_close(found[:, 1:], start + integrate.cumulative_simpson(y, dx=0.5), 1e-15)
    for initial in (0, 0.0, False, np.float64(0)):
        assert integrate.cumulative_trapezoid(y, initial=initial).shape == y.shape


# ---- differential equations -----------------------------------------------------------------------------


FINE = {"rtol": 1e-9, "atol": 1e-9}


def falling(t, y):
    return [y[1], -10.0]


def height(t, y):
    return y[0]


@pytest.mark.parametrize("given", [height, [height], (height,), [height, lambda t, y: y[1] + 5.0]])
def test_events_alone_and_in_sequences(given):
    def found(of):
        out = of.solve_ivp(falling, (0.0, 2.0), [5.0, 0.0], events=given, max_step=0.1)
        return [times.tolist() for times in out.t_events], [y.tolist() for y in out.y_events]

    assert found(integrate) == found(original)
    times = tape.jacobian(
        lambda h: integrate.solve_ivp(falling, (0.0, 2.0), np.stack([h, 0.0]), events=given).t_events[0]
    )(5.0)
    assert_close(times, [0.1], 1e-7)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "BDF", "vectorized": True},
        {"method": "RK23"},
        {"method": "RK45", "rtol": 1e-8},
        {"atol": 1e-9, "rtol": 1e-3},
        {"max_step": 0.05},
        {"first_step": 1e-3},
        {"dense_output": True},
        {"t_eval": [0.25, 1.0]},
    ],
    ids=str,
)
def test_options_of_equations_arrive_at_scipy(options):
    f = lambda t, y: -np.array([1.0, 9.0])[:, None] * y if np.ndim(y) == 2 else -np.array([1.0, 9.0]) * y  # noqa: E731
    ours, theirs, plain = (
        of.solve_ivp(f, (0.0, 1.5), [1.0, 2.0], **given)
        for of, given in ((integrate, options), (original, options), (original, {}))
    )
    for name in ("t", "y", "nfev", "njev", "nlu", "status", "message", "success"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert (ours.sol is None) is (theirs.sol is None)
    assert len(ours.t) != len(plain.t) or ours.nfev != plain.nfev or (ours.sol is not None)


@takes_long
def test_solutions_at_times_that_are_given():
    """With and without the first one, beyond an event, backwards, and at a single one."""

    def states(k, times, span=(0.0, 2.0), stop=False):
        event = lambda t, y: y[0] - 0.5  # noqa: E731
        event.terminal = True
        out = integrate.solve_ivp(
            lambda t, y: -k * y, span, [1.0], t_eval=times, events=event if stop else None, **FINE
        )
        return out.t, out.y[0]

    for times, options in (
        ([0.0, 1.0, 2.0], {}),
        ([0.5, 1.0], {}),
        ([0.0], {}),
        ([2.0], {}),
        ([-0.5, -1.0], {"span": (0.0, -1.5)}),
        ([0.0, 0.25, 1.0], {"stop": True}),
    ):
        kept = [t for t in times if t < 0.5] if "stop" in options else times
        assert states(1.3, times, **options)[0].tolist() == kept
        y, moved = tape.jvp(lambda k, a=(times, options): states(k, a[0], **a[1])[1], (1.3,), (1.0,))
        assert_close(y, np.exp(-1.3 * np.array(kept)), 1e-7)
        assert_close(moved, -np.array(kept) * np.exp(-1.3 * np.array(kept)), 1e-6)


def test_no_time_before_an_event_that_ends_the_integration():
    event = lambda t, y: y[0] - 0.5  # noqa: E731
    event.terminal = True

    def ended(k):
        out = integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0], t_eval=[1.0], events=event, **FINE)
        assert len(out.t) == 0
        return out.t_events[0][0]

    assert_close(tape.grad(ended)(1.3), -np.log(2) / 1.69, 1e-6)


@pytest.mark.parametrize("times", [None, [0.0, 0.1, 0.3]])
@pytest.mark.parametrize("stop", [False, True])
def test_numbers_beside_derivatives_are_scipys_also_where_an_event_ends_the_integration(times, stop):
    """With tolerances of a tenth the steps of the solver show."""

    def states(of, k):
        event = lambda t, y: y[0] - 0.6  # noqa: E731
        event.terminal = stop
        options = {"t_eval": times, "events": event, "rtol": 0.1, "atol": 0.1}
        return of.solve_ivp(lambda t, y: -k * y**2, (0.0, 9.0), [1.0], **options).y[0]

    expected = states(original, 1.3)
    found = tape.vjp(lambda k: states(integrate, k), 1.3)[0]
    assert len(found) == len(expected)
    assert_close(found[: len(expected) - (times is None and stop)],
                 expected[: len(expected) - (times is None and stop)], 1e-13)  # fmt: skip


def test_events_and_unknown_times_in_programs_are_refused():
    event = lambda t, y: y[0] - 0.6  # noqa: E731
    for options in ({"t_eval": [1.0], "events": event}, {"events": event}, {}):
        f = lambda k, options=options: integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], **options).y  # noqa: E731
        with pytest.raises(errors.UnsupportedError, match="must be given as t_eval, and there are no events"):
            tape.compile(f)(2.0)
    f = lambda k: integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], t_eval=[1.0]).y  # noqa: E731
    assert_close(tape.compile(f)(2.0), f(2.0), 1e-12)


def test_times_of_a_solution_that_was_asked_at_none():
    """The first and the last one move, those between are constants."""

    def times(start, end):
        return integrate.solve_ivp(lambda t, y: -y, (start, end), [1.0], max_step=0.5).t

    by_start, by_end = tape.jacobian(times, (0, 1))(0.0, 2.0)
    assert len(by_start) > 4
    assert by_start.tolist() == [1.0] + [0.0] * (len(by_start) - 1)
    assert by_end.tolist() == [0.0] * (len(by_start) - 1) + [1.0]


@pytest.mark.parametrize(
    ("times", "last", "expected", "first"),
    [
        ([1.0, 2.0], None, [0.0, 1.0, 2.0], 1),
        ([0.0, 2.0], None, [0.0, 2.0], 0),
        ([0.0, 2.0], 2.0, [0.0, 2.0], 0),
        ([0.0, 2.0], 3.0, [0.0, 2.0, 3.0], 0),
        ([1.0], 3.0, [0.0, 1.0, 3.0], 1),
        ([0], 3, [0.0, 3.0], 0),
    ],
)
def test_grids_of_times_have_both_ends(times, last, expected, first):
    found, start = _equations._grid(np.array(0.0), np.array(times), None if last is None else np.array(last))
    assert (found.tolist(), start) == (expected, first)
    assert found.dtype == np.float64


def test_the_event_that_ended_an_integration():
    events = [np.array([]), np.array([1.0, 2.0]), np.array([0.5, 3.0]), np.array([3.0])]
    assert _equations._last_of(events, 3.0) is not events[3]
    for time in (2.0, 3.0, 1.0, 9.0):
        assert _equations._last_of(events, time) == time
    trace = tape.Trace()
    var = trace.param(np.array([1.0, 3.0]))
    assert _equations._last_of([events[0], events[1], var], 3.0).value == 3.0
    assert isinstance(_equations._last_of([events[0], events[1], var], 3.0), tape.Var)


def test_what_is_said_of_solvers_that_failed():
    real, complex_one = np.ones(1), np.ones(1, complex)
    for args, kind, message in (
        ((False, "A  step\nfails.", real, "RK45", "here"), errors.ConvergenceError, "here: A step fails. T"),
        ((True, "", real, "Own", "here"), errors.UnsupportedError, "no derivatives with the solver 'Own'"),
        ((True, "", complex_one, "RK45", "here"), errors.DTypeError, "here: y0 is complex"),
    ):
        with pytest.raises(kind, match=message):
            _equations._check(*args)
    for method in ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"):
        _equations._check(True, "", real, method, "here")


def test_options_and_events_take_the_further_arguments():
    call = _equations._with_args(_Event(), (3.0,))
    assert call(1.0, 2.0) == 6.0
    assert (call.terminal, call.direction) == (2, -1)
    plain = _equations._with_args(lambda t, y: y, ())
    assert not hasattr(plain, "terminal")
    assert not hasattr(plain, "direction")
    options = {"jac": np.eye(2), "rtol": 1.0}
    assert _equations._with_jacobian(options, (3.0,)) is options
    changed = _equations._with_jacobian({"jac": lambda t, y, k: t + y + k, "rtol": 1.0}, (3.0,))
    assert (changed["rtol"], changed["jac"](1.0, 2.0)) == (1.0, 6.0)


class _Event:
    terminal, direction = 2, -1

    def __call__(self, t, y, k):
        return t + y + k


def test_an_event_at_the_first_time_that_does_not_depend_on_vars():
    _equations._check_start(1.0, 0.0)
    trace = tape.Trace()
    var = trace.param(1.0)
    for value, time in ((var, 0.0), (1.0, var), (var, var)):
        with pytest.raises(errors.UnsupportedError, match="at the very first time"):
            _equations._check_start(value, time)


@pytest.mark.parametrize(
    ("rtol", "atol", "expected"),
    [
        (1e-3, 1e-6, (1e-8, 1e-8)),
        (1e-10, 1e-11, (1e-10, 1e-11)),
        (1e-14, 0.0, (1e-12, 1e-14)),
        (1e-3, np.array([1e-3, 1e-9]), (1e-8, 1e-9)),
        (1e-3, np.array([1e-3, 0.0]), (1e-8, 1e-14)),
    ],
)
def test_derivatives_are_computed_at_least_as_precisely_as_the_solution(rtol, atol, expected):
    states = States(lambda y, t: -y, np.ones(2), (), None, "RK45", (rtol, atol), "here")
    assert (states._options["rtol"], states._options["atol"]) == expected
    assert states._options["max_steps"] is None


@pytest.mark.parametrize("times", [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
def test_times_that_are_there_twice(times):
    with pytest.raises(errors.OptionError, match=r"^odeint: the times must be strictly"):
        tape.grad(lambda k: np.sum(integrate.odeint(lambda y, t: -k * y, 1.0, times)))(2.0)


def test_times_that_run_backwards():
    back = lambda k: integrate.odeint(lambda y, t: -k * y, 1.0, [1.0, 0.5, 0.0])[-1, 0]  # noqa: E731
    assert tape.value_and_grad(back)(2.0) == pytest.approx((np.exp(2.0), np.exp(2.0)), rel=1e-6)


ODEINT = {
    "rtol": {"rtol": 1e-3},
    "atol": {"atol": 1e-3},
    "h0": {"h0": 1e-5},
    "hmax": {"hmax": 0.01},
    "mxordn": {"mxordn": 3},
    "tcrit": {"tcrit": [2.0]},
    "band": {"ml": 0, "mu": 0, "Dfun": lambda y, t: -np.array([[1.0, 1000.0]]), "rtol": 1e-3},
    "col_deriv": {"Dfun": lambda y, t: np.array([[-1.0, 5.0], [0.0, -1000.0]]), "col_deriv": 1},
    "mxords": {"mxords": 2},
}


@pytest.mark.parametrize("name", ODEINT)
def test_options_of_odeint_arrive_at_scipy(name):
    def solved(of, **options):
        f = lambda y, t: np.array([-y[0], 5.0 * y[0] - 1000.0 * (y[1] - np.cos(t))])  # noqa: E731
        y, info = of.odeint(f, [1.0, 2.0], [0.0, 1.0, 2.0], full_output=True, mxstep=9000, **options)
        counts = [info[key].tolist() for key in ("nst", "nfe", "nje", "hu", "tcur")]
        return y.tolist(), counts, info["message"]

    assert solved(integrate, **ODEINT[name]) == solved(original, **ODEINT[name])
    assert solved(integrate, **ODEINT[name]) != solved(original)


def test_reports_of_odeint_come_with_derivatives_but_not_in_programs():
    def last(k, is_full):
        out = integrate.odeint(lambda y, t: -k * y, 1.0, [0.0, 1.0], full_output=is_full)
        if is_full:
            assert out[1]["message"] == "Integration successful."
        return (out[0] if is_full else out)[-1, 0]

    for is_full in (0, 1):
        assert tape.grad(last)(2.0, is_full) == pytest.approx(-np.exp(-2.0), rel=1e-6)
    compiled = tape.compile(lambda k: last(k, False))
    assert compiled(2.0) == pytest.approx(np.exp(-2.0), rel=1e-6)
    with pytest.raises(errors.UnsupportedError, match="would be frozen"):
        tape.compile(lambda k: last(k, True))(2.0)


@pytest.mark.filterwarnings("ignore::scipy.integrate.ODEintWarning")
def test_equations_that_lsoda_does_not_solve_have_no_derivatives():
    f = lambda k: integrate.odeint(lambda y, t: k * y, 1.0, [0.0, 1.0], mxstep=2)[-1, 0]  # noqa: E731
    assert np.isfinite(f(2.0))
    with pytest.raises(errors.ConvergenceError, match=r"^odeint: Excess work .* Try other tolerances"):
        tape.grad(f)(2.0)


def test_integrals_of_no_elements_have_derivatives_of_none():
    def f(a):
        return tape.scipy.integrate.quad_vec(lambda x: a * x, 0.0, 1.0)[0]

    nothing = np.ones(0)
    value, tangent = tape.jvp(f, (nothing,), (nothing,))
    assert value.shape == tangent.shape == (0,)
    assert tape.grad(lambda a: np.sum(f(a)))(nothing).shape == (0,)
    assert tape.grad(lambda a: np.sum(f(a * nothing)) + a)(2.0) == 1.0


@pytest.mark.parametrize("times", [[0.0, 2.0, 1.0], [0.0, -1.0, 1.0]])
def test_times_of_odeint_are_in_order(times):
    def solved(rate):
        return np.sum(tape.scipy.integrate.odeint(lambda y, t: -rate * y, np.ones(2), times))

    for f in (solved, tape.grad(solved)):
        with pytest.raises(errors.OptionError, match="odeint: times go forwards and backwards"):
            f(1.0)
    backwards = tape.grad(
        lambda rate: np.sum(tape.scipy.integrate.odeint(lambda y, t: -rate * y, [1.0], [1.0, 0.5, 0.0]))
    )
    assert backwards(1.0) == pytest.approx(0.5 * np.exp(0.5) + np.exp(1.0), rel=1e-6)
