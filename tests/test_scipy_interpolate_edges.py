"""Interpolation at its edges: the least points, kinks and ties, complex values, options of calls, errors."""

import numpy as np
import pytest
from scipy import interpolate as original

import tape
from tape import errors
from tape.scipy import interpolate
from tests.oracles import assert_close

RNG = np.random.default_rng(0)
BOTH = (interpolate, original)


def outcome(call):
    """The result of a call, or that it refuses its arguments."""
    try:
        return np.asarray(call())
    except (errors.TapeError, ValueError, TypeError):
        return "refused"


def assert_same_outcome(ours, theirs, tolerance=1e-12, **kwargs):
    found, expected = outcome(ours), outcome(theirs)
    assert isinstance(found, str) == isinstance(expected, str), (found, expected)
    if not isinstance(found, str):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, **kwargs)
        assert found.shape == expected.shape


# ---- piecewise cubics ----------------------------------------------------------------------------------

KINKS = {
    "kink": np.array([0.0, 0.0, 0.0, 0.0, 2.0, 4.0, 6.0, 8.0]),
    "flat, then steep": np.array([1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.5, 5.0]),
    "zigzag": np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
    "line": np.arange(8.0),
    "constant": np.full(8, 3.0),
    "tiny": 1e-13 * np.array([0.0, 0.0, 1.0, 1.0, 3.0, 3.0, 1.0, 2.0]),
    "peak": np.array([0.0, 1.0, 2.0, 5.0, 2.0, 1.0, 0.5, 0.0]),
}


@pytest.mark.parametrize("step", ["even", "uneven"])
@pytest.mark.parametrize("kind", ["pchip", "akima", "makima", "spline"])
@pytest.mark.parametrize("shape", KINKS)
def test_slopes_where_secants_are_equal_or_turn(kind, shape, step):
    """With derivatives that are finite, and those of the values, wherever slopes are not at a kink."""
    x = np.arange(8.0) if step == "even" else np.array([0.0, 0.5, 2.0, 2.25, 3.0, 5.0, 5.5, 8.0])
    y, q = KINKS[shape], np.linspace(x[0], x[-1], 29)

    def made(module, y):
        if kind in ("akima", "makima"):
            return module.Akima1DInterpolator(x, y, method=kind)
        return module.PchipInterpolator(x, y) if kind == "pchip" else module.CubicSpline(x, y)

    for nu in range(4):
        size = np.max(np.abs(made(original, y)(q, nu))) + 1e-300
        np.testing.assert_allclose(made(interpolate, y)(q, nu), made(original, y)(q, nu), atol=1e-12 * size)
    pulled = tape.grad(lambda y: np.sum(np.cos(q) * made(interpolate, y)(q)))(y)
    assert np.all(np.isfinite(pulled))
    moved = tape.jvp(lambda y: made(interpolate, y)(q), (y,), (np.ones(8),))[1]
    np.testing.assert_allclose(moved, 1.0, atol=1e-12)  # all rise by the same
    np.testing.assert_allclose(np.sum(pulled), np.sum(np.cos(q)), rtol=1e-11)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("scale", [1.0, -1.0])
@pytest.mark.parametrize("name", ["PchipInterpolator", "Akima1DInterpolator", "CubicSpline"])
def test_few_points_and_ends_that_would_overshoot(name, n, scale):
    x = np.array([0.0, 0.25, 2.0, 2.5, 3.0])[:n]
    for y in (
        [0.0, 5.0, 6.0, 9.0, 2.0],
        [0.0, 1.0, 0.0, 3.0, 3.0],
        [2.0, 2.0, 1.0, 8.0, 8.0],
        [0.0, 0.1, 9.0, 9.1, 9.1],
    ):
        y = scale * np.array(y)[:n]
        q = np.linspace(0, x[-1], 13)
        assert_same_outcome(*(lambda m=m, y=y, q=q: getattr(m, name)(x, y)(q) for m in BOTH))
        assert_same_outcome(*(lambda m=m, y=y, q=q: getattr(m, name)(x, y)(q, 1) for m in BOTH))


@pytest.mark.parametrize(
    "name", ["CubicSpline", "CubicHermiteSpline", "PPoly", "BSpline", "make_interp_spline"]
)
def test_complex_values_are_two_real_ones(name):
    x, y = np.arange(6.0), RNG.normal(size=(6, 2)) + 1j * RNG.normal(size=(6, 2))
    q = np.array([-0.5, 0.0, 1.3, 4.9, 5.0, 5.5])

    def made(module, y):
        if name == "CubicHermiteSpline":
            return module.CubicHermiteSpline(x, y, 2 * y)
        if name == "PPoly":
            return module.PPoly(np.stack([y[:5], y[1:]]), x)
        if name == "BSpline":
            return module.BSpline(np.arange(9.0), y, 2)
        return getattr(module, name)(x, y)

    for call in (
        lambda f: f(q),
        lambda f: f(q, 1),
        lambda f: f.derivative()(q),
        lambda f: f.antiderivative()(q),
    ):
        assert_close(call(made(interpolate, y)), call(made(original, y)), 1e-12)
    assert_close(
        made(interpolate, y)(q), made(interpolate, y.real)(q) + 1j * made(interpolate, y.imag)(q), 1e-13
    )


@pytest.mark.parametrize(
    "bc_type",
    ["not-a-knot", "clamped", "natural", "periodic", ("clamped", "not-a-knot"), ((2, 1.5), (1, -0.5)),
     ("not-a-knot", "natural"), ((1, 0.0), (1, 0.0)), [(2, 0.5), "not-a-knot"]],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_conditions_of_cubic_splines_through_few_points_and_many(bc_type, n):
    x, y = np.array([0.0, 1.0, 1.5, 3.0, 3.25, 5.0])[:n], np.array([1.0, -1.0, 2.0, 0.5, 3.0, 1.0])[:n]
    y = np.append(y[:-1], y[0]) if bc_type == "periodic" else y
    q = np.linspace(-1, x[-1] + 1, 17)
    assert_same_outcome(*(lambda m=m: m.CubicSpline(x, y, bc_type=bc_type)(q) for m in BOTH))
    assert_same_outcome(*(lambda m=m: m.CubicSpline(x, y, bc_type=bc_type)(q, 2) for m in BOTH))
    made = [m.CubicSpline(x, y, bc_type=bc_type) for m in BOTH]
    assert made[0].extrapolate == made[1].extrapolate
    assert_close(made[0].c, made[1].c, 1e-11)


# ---- B-splines -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(5))
@pytest.mark.parametrize("knots", range(1, 13))
def test_the_least_knots_and_coefficients_are_those_of_scipy(knots, k):
    t = np.arange(float(knots))
    for count in (knots - k - 2, knots - k - 1, knots):
        if count < 1:
            continue
        c = np.cos(np.arange(count))
        q = np.linspace(-0.5, knots, 11)
        assert_same_outcome(*(lambda m=m, c=c, q=q: m.BSpline(t, c, k)(q) for m in BOTH))
        assert_same_outcome(*(lambda m=m, c=c, q=q: m.BSpline(t, c, k, extrapolate=False)(q) for m in BOTH))


@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
@pytest.mark.parametrize("k", range(4))
def test_b_splines_of_repeated_knots(k, extrapolate):
    """Derivatives of all orders, and integrals between all ends."""
    t = np.array([0.0] * (k + 1) + [1.0, 1.0, 2.5] + [4.0] * (k + 1))
    c = RNG.normal(size=(len(t) - k - 1, 2))
    ours, theirs = (m.BSpline(t, c, k, extrapolate) for m in BOTH)
    q = np.array([-0.5, 0.0, 0.5, 1.0, 1.7, 2.5, 3.9, 4.0, 4.5, np.nan])
    for nu in range(k + 2):
        np.testing.assert_allclose(ours(q, nu), theirs(q, nu), rtol=1e-11, atol=1e-11)
    for end in (-0.5, 0.0, 2.5, 4.0, 5.0):
        np.testing.assert_allclose(
            ours.integrate(0.5, end), theirs.integrate(0.5, end), rtol=1e-11, atol=1e-12
        )
    for other in (True, False, "periodic"):
        np.testing.assert_allclose(ours(q, 0, other), theirs(q, 0, other), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(ours.integrate(-1, 2, other), theirs.integrate(-1, 2, other), rtol=1e-11)
    for nu in range(1, 3):
        np.testing.assert_allclose(ours.antiderivative(nu)(q), theirs.antiderivative(nu)(q), rtol=1e-11)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda t, c: (np.where(t == 4, np.inf, t), c), errors.OptionError),
        (lambda t, c: (t[::-1], c), errors.OptionError),
        (lambda t, c: (0 * t, c), errors.OptionError),
        (lambda t, c: (t, c[:-1]), errors.ShapeError),
        (lambda t, c: (t[:, None], c), errors.ShapeError),
        (lambda t, c: (t + 0j, c), errors.DTypeError),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_knots_that_are_none_are_refused_by_name(change, error):
    t, c = change(np.array([0.0, 0.0, 0.0, 1.0, 4.0, 4.0, 4.0]), np.ones(4))
    with pytest.raises(error, match=r"^BSpline"):
        interpolate.BSpline(t, c, 2)


@pytest.mark.parametrize("n", range(2, 8))
@pytest.mark.parametrize("k", range(6))
def test_splines_through_the_fewest_points_are_those_of_scipy(n, k):
    x = np.array([0.0, 1.0, 1.5, 3.0, 3.25, 5.0, 5.5, 7.0])[:n]
    y, q = np.cos(x) + x, np.linspace(-0.5, x[-1] + 0.5, 9)
    for bc_type in (None, "not-a-knot"):
        assert_same_outcome(
            *(lambda m=m, b=bc_type: m.make_interp_spline(x, y, k, bc_type=b)(q) for m in BOTH), 1e-9
        )
    for pair in (
        ([(1, 0.5)], None),
        (None, [(2, 0.5)]),
        ("clamped", "natural"),
        (None, None),
        (None, [(1, 1.0)]),
    ):
        if k < 2 and any(pair):
            continue  # which SciPy ignores
        assert_same_outcome(
            *(lambda m=m, b=pair: m.make_interp_spline(x, y, k, None, b)(q) for m in BOTH), 1e-8
        )


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize(
    "name", ["BSpline", "PchipInterpolator", "Akima1DInterpolator", "CubicSpline", "interp1d"]
)
def test_values_lie_along_any_axis(name, axis):
    x, y = np.array([0.0, 0.5, 2.0, 2.5, 4.0]), RNG.normal(size=(5, 5, 5))
    q = np.array([[0.3, 2.0], [2.1, 3.9]])

    def made(module, *axes):
        if name == "BSpline":
            return module.BSpline(np.append(x, [4.5, 5.0, 6.0]), y, 2, True, *axes)
        if name == "interp1d":
            return module.interp1d(x, y, "linear", *axes)
        return getattr(module, name)(x, y, *axes)

    for axes in ((axis,), ()):
        found, expected = (made(module, *axes) for module in BOTH)
        assert_close(found(q), expected(q), 1e-12)
        assert_close(found(1.5), expected(1.5), 1e-12)
        assert found.axis == expected.axis % 3


def test_whether_to_extrapolate_is_a_bool_or_a_word():
    x = np.arange(4.0)
    for given, kept in ((1, True), (0, False), (np.bool(True), True), ("periodic", "periodic"), (None, True)):
        assert interpolate.PPoly(np.ones((1, 3)), x, given).extrapolate is kept
    for given, kept in ((1, True), (0, False), ("periodic", "periodic")):
        assert interpolate.BSpline(x, np.ones(2), 1, given).extrapolate is kept
    for points in ([0.0, 1.0, 1.0, 2.0], [2.0, 1.0, 1.0, 0.0], [0.0, np.nan, 1.0, 2.0]):
        with pytest.raises(errors.OptionError, match="points of dimension 1 must be strictly monotonic"):
            interpolate.RegularGridInterpolator((x, np.array(points)), np.ones((4, 4)))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_given_knots_are_taken_if_points_are_within_them(k):
    x = np.arange(7.0)
    y = np.sin(x)
    inner = x[k + 1 : -k - 1] if k % 2 else np.array([2.5, 3.5])[: 7 - k - 3]
    right = np.concatenate([np.zeros(k + 1), np.linspace(0, 6, 7 - k + 1)[1:-1], np.full(k + 1, 6.0)])
    assert len(inner) < len(right)
    q = np.linspace(0, 6, 11)
    found, expected = (m.make_interp_spline(x, y, k, right)(q) for m in BOTH)
    assert_close(found, expected, 1e-11)
    for wrong in (right[::-1], right + 0.5, right - 0.5, right[1:], np.append(right, 6.0)):
        with pytest.raises(errors.TapeError, match=r"^make_interp_spline: "):
            interpolate.make_interp_spline(x, y, k, wrong)
    for points in (x[::-1], np.where(x == 3, np.nan, x), np.where(x == 3, 2.0, x)):
        with pytest.raises(errors.OptionError, match=r"^make_interp_spline: x"):
            interpolate.make_interp_spline(points, y, k, right)
    with pytest.raises(errors.OptionError, match=r"^make_interp_spline: x and y must be finite"):
        interpolate.make_interp_spline(x, np.where(x == 3, np.inf, y), k, right)
    unchecked = interpolate.make_interp_spline(x, np.where(x == 3, np.nan, y), k, right, check_finite=False)
    assert np.isnan(unchecked(q)).any()


# ---- PPoly -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("count", [1, 3])
def test_polynomials_of_each_degree_along_each_axis(degree, axis, count):
    x = np.array([0.0, 1.0, 1.5, 3.0])[: count + 1]
    c = RNG.normal(size=(*(2, 3)[:axis], degree + 1, count, *(2, 3)[axis:]))
    q = np.array([[-1.0, 0.0, 0.7], [1.0, x[-1], np.nan]])
    for extrapolate in (None, True, False, "periodic"):
        ours, theirs = (m.PPoly(c, x, extrapolate, axis) for m in BOTH)
        for nu in range(degree + 3):
            np.testing.assert_allclose(ours(q, nu), theirs(q, nu), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(ours(0.7, nu), theirs(0.7, nu), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(
                ours.derivative(nu)(q), theirs.derivative(nu)(q), rtol=1e-12, atol=1e-12
            )
            up = [f.antiderivative(nu) for f in (ours, theirs)]
            np.testing.assert_allclose(up[0](q), up[1](q), rtol=1e-12, atol=1e-12)
        for a, b in ((-0.5, 0.5), (x[-1], 0.0), (0.0, x[-1]), (0.2, 5.5), (-3.0, x[-1])):
            np.testing.assert_allclose(ours.integrate(a, b), theirs.integrate(a, b), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("c", "x"),
    [
        (np.ones((2, 0)), np.ones(1)), (np.ones((0, 1)), np.arange(2.0)), (np.ones((2, 2)), np.arange(2.0)),
        (np.ones((2, 1)), np.array([1.0, 0.0])), (np.ones((2, 1)), np.eye(2)), (np.ones((2, 1)), [0.0, 1j]),
    ],
)  # fmt: skip
def test_breakpoints_and_coefficients_that_do_not_fit(c, x):
    with pytest.raises(errors.TapeError, match=r"^PPoly: "):
        interpolate.PPoly(c, x)
    assert interpolate.PPoly(np.ones((1, 1)), [0.0, 1.0])(0.5) == 1
    both = [m.PPoly(np.ones((2, 2)), [0.0, 1.0, 1.0])(np.array([0.5, 1.0, 2.0])) for m in BOTH]
    np.testing.assert_array_equal(*both)


# ---- interp1d --------------------------------------------------------------------------------------------

KINDS = [
    "linear",
    "nearest",
    "nearest-up",
    "previous",
    "next",
    "zero",
    "slinear",
    "quadratic",
    "cubic",
    0,
    1,
    5,
]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kinds_of_interp1d_at_points_between_and_outside(kind, n):
    if (kind, n) == ("linear", 1):
        pytest.skip("there is no line")
    x, y = np.array([0.0, 1.0, 1.5, 3.0, 3.5, 5.0])[:n], np.array([1.0, -1.0, 2.0, 0.5, 3.0, 1.5])[:n]
    middles = (x[1:] + x[:-1]) / 2
    q = np.concatenate([x, middles, np.nextafter(x, -9), np.nextafter(x, 9), np.nextafter(middles, -9)])
    inside = q[(q >= 0) & (q <= x[-1])]
    assert_same_outcome(*(lambda m=m: m.interp1d(x, y, kind)(inside) for m in BOTH), 1e-11)
    for fill_value in ("extrapolate", 7.0, (7.0, -7.0)):
        options = {"fill_value": fill_value, "bounds_error": False}
        far = np.append(q, [-2.0, 9.0])
        assert_same_outcome(
            *(lambda m=m, o=options, q=far: m.interp1d(x, y, kind, **o)(q) for m in BOTH), 1e-9
        )
    for outside in (np.nextafter(0, -1), np.nextafter(x[-1], 9)):
        assert_same_outcome(*(lambda m=m, q=outside: m.interp1d(x, y, kind)(q) for m in BOTH))


@pytest.mark.parametrize("kind", ["linear", "nearest", "previous", "cubic"])
@pytest.mark.parametrize("assume_sorted", [False, True])
def test_points_in_any_order_are_sorted_unless_they_are(kind, assume_sorted):
    x, y = np.array([3.0, 0.0, 5.0, 1.0, 1.5]), RNG.normal(size=(2, 5))
    order = np.argsort(x) if assume_sorted else np.arange(5)
    ours, theirs = (m.interp1d(x[order], y[:, order], kind, assume_sorted=assume_sorted) for m in BOTH)
    q = np.array([[0.0, 0.3], [4.0, 5.0]])
    assert_close(ours(q), theirs(q), 1e-12)
    assert_close(ours.x, theirs.x, 1e-15)
    assert_close(ours.y, theirs.y, 1e-15)
    assert ours.bounds_error == theirs.bounds_error
    if not assume_sorted:
        with pytest.raises(errors.OptionError, match="interp1d: a point is out of bounds"):
            interpolate.interp1d(x, y, kind, bounds_error=True, fill_value=3.0)(6.0)


@pytest.mark.parametrize("fill_value", [0.5, np.array([1.0, 2.0]), (np.array([1.0, 2.0]), 3.0), [4.0, 5.0]])
def test_values_outside_are_broadcast_to_those_at_points(fill_value):
    x, y, q = np.arange(3.0), RNG.normal(size=(3, 2)), np.array([-1.0, 1.5, 2.5])
    ours, theirs = (m.interp1d(x, y, axis=0, bounds_error=False, fill_value=fill_value)(q) for m in BOTH)
    assert_close(ours, theirs, 1e-14)
    found = tape.grad(lambda y: np.sum(interpolate.interp1d(x, y, axis=0, bounds_error=False)(q[1:2])))(y)
    assert_close(found, [[0, 0], [0.5, 0.5], [0.5, 0.5]], 1e-14)


# ---- grids -------------------------------------------------------------------------------------------------

SPLINES = ["slinear", "cubic", "quintic"]


def grid(shape=(6, 7)):
    rng = np.random.default_rng(3)
    points = [np.cumsum(rng.uniform(0.5, 1.5, n)) for n in shape]
    xi = np.stack([rng.uniform(p[0], p[-1], 5) for p in points], -1)
    return points, rng.normal(size=(*shape, 2)), xi


@pytest.mark.parametrize("method", ["linear", "nearest", *SPLINES])
@pytest.mark.parametrize("other", ["linear", "nearest", *SPLINES])
def test_a_call_by_another_method_is_that_of_a_grid_made_for_it(method, other):
    points, values, xi = grid()
    made, expected = (interpolate.RegularGridInterpolator(points, values, m) for m in (method, other))
    np.testing.assert_array_equal(made(xi, other), expected(xi))
    np.testing.assert_array_equal(made(xi), interpolate.RegularGridInterpolator(points, values, method)(xi))
    by_values = tape.jvp(
        lambda v: interpolate.RegularGridInterpolator(points, v, method)(xi, other), (values,), (values,)
    )[1]
    assert_close(by_values, expected(xi), 1e-12)  # it is linear in the values
    few = interpolate.RegularGridInterpolator([np.arange(2.0), np.arange(9.0)], np.ones((2, 9)))
    if other in ("cubic", "quintic"):
        with pytest.raises(errors.ShapeError, match=f"2 points in dimension 0. Method {other} needs"):
            few([[0.5, 0.5]], other)
    else:
        assert_close(few([[0.5, 0.5]], other), [1.0], 1e-14)
    with pytest.raises(errors.OptionError, match=r"^RegularGridInterpolator: method is 'best'"):
        few([[0.5, 0.5]], "best")


@pytest.mark.parametrize("nu", [(0, 0), (1, 0), (0, 2), (1, 1), (3, 1)])
@pytest.mark.parametrize("method", ["cubic", "quintic"])
def test_partial_derivatives_of_splines_on_a_grid_are_those_of_their_values(method, nu):
    points, values, xi = grid()
    f = interpolate.RegularGridInterpolator(points, values, method)
    for k in range(2):
        higher = tuple(n + (axis == k) for axis, n in enumerate(nu))
        if max(higher) > 3:
            continue
        direction = np.zeros_like(xi)
        direction[:, k] = 1.0
        moved = tape.jvp(lambda xi: f(xi, nu=nu), (xi,), (direction,))[1]
        assert_close(moved, f(xi, nu=higher), 1e-9)
    assert_close(f(xi, nu=(0, 0)), f(xi), 1e-14)
    with pytest.raises(errors.OptionError, match="method 'linear' has no nu; splines have"):
        f(xi, "linear", nu=(0, 0))


@pytest.mark.parametrize(
    "xi",
    [
        [1.5, 2.0], [[1.5, 2.0]], [[[1.5, 2.0], [2.0, 1.5]]], (np.array([1.5, 2.0]), 2.0),
        (np.array([[1.5], [2.0]]), np.array([1.5, 2.0, 2.5])), np.zeros((0, 2)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["linear", "nearest", "slinear"])
def test_points_of_a_grid_are_rows_or_one_array_for_each_coordinate(xi, method):
    points, values, _ = grid()
    found, expected = (
        outcome(lambda m=m: m.RegularGridInterpolator(points, values, method)(xi)) for m in BOTH
    )
    assert_close(found, expected, 1e-13)
    assert found.shape == expected.shape
    options = {"method": method, "bounds_error": False, "fill_value": None}
    for more in ({}, options):
        found, expected = (outcome(lambda m=m, o=more: m.interpn(points, values, xi, **o)) for m in BOTH)
        assert_close(found, expected, 1e-13)


def test_interpn_has_the_defaults_of_scipy():
    points, values, xi = grid()
    outside = xi + 20.0
    with pytest.raises(errors.OptionError, match="a point is out of bounds"):
        interpolate.interpn(points, values, outside)
    assert np.isnan(interpolate.interpn(points, values, outside, bounds_error=False)).all()
    assert (interpolate.interpn(points, values, outside, "nearest", False, 2.5) == 2.5).all()
    assert_close(interpolate.interpn(points, values, xi), original.interpn(points, values, xi), 1e-13)
    complex_values = values + 1j * values[::-1]
    found = interpolate.RegularGridInterpolator(points, complex_values)(xi)
    assert_close(found, original.RegularGridInterpolator(points, complex_values)(xi), 1e-13)
    ints = interpolate.RegularGridInterpolator((np.arange(3),), np.array([1, 3, 9]))([[0.5], [1.5]])
    np.testing.assert_array_equal(ints, [2.0, 6.0])


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear"])
@pytest.mark.parametrize(
    "points", [(0.25, 0.5), [0.25, 0.5], (np.array([0.1, 0.2]), 0.5), ([0.1], [0.5]), [[0.1, 0.5]]], ids=str
)
def test_points_are_a_tuple_of_coordinates_or_an_array(points, method):
    grid, values = ([0.0, 1.0], [0.0, 1.0]), np.eye(2)
    expected = original.RegularGridInterpolator(grid, values, method)(points)
    found = interpolate.RegularGridInterpolator(grid, values, method)(points)
    np.testing.assert_allclose(found, expected, strict=True)
    expected = original.interpn(grid, values, points, method)
    np.testing.assert_allclose(interpolate.interpn(grid, values, points, method), expected, strict=True)
