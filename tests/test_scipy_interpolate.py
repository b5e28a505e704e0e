"""Interpolation beside SciPy's: values, derivatives, ends, extrapolation, errors."""

import numpy as np
import pytest
from scipy import interpolate as original

import tape
from tape import errors
from tape.scipy import interpolate
from tests.op_table.scipy_interpolate import ALL
from tests.oracles import assert_close
from tests.scipy_checks import check_compiled, check_derivatives, check_value
from tests.tiers import grid, some

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_value_is_that_of_scipy(case):
    check_value(case)


@pytest.mark.parametrize("case", [case for case in ALL if case.has_derivative], ids=str)
def test_derivatives_are_differences_of_scipys_values(case):
    check_derivatives(case)


@pytest.mark.parametrize("case", some(ALL, every=3), ids=str)
def test_compiled_is_eager(case):
    check_compiled(case)


# ---- every option, for few points and many ---------------------------------------------------------

BOUNDARIES = {
    "not-a-knot": "not-a-knot",
    "periodic": "periodic",
    "clamped": "clamped",
    "natural": "natural",
    "slope and natural": ((1, RNG.normal(size=(2, 3))), "natural"),
    "not-a-knot and bend": ("not-a-knot", (2, RNG.normal(size=(2, 3)))),
}


def data(n, is_closed=False):
    """Points, values along the second of three axes, and where to evaluate: outside, at points, at NaN."""
    rng = np.random.default_rng(n)
    x, y = np.cumsum(rng.uniform(0.5, 1.5, n)), rng.normal(size=(2, n, 3))
    if is_closed:
        y[:, -1] = y[:, 0]
    return x, y, np.array([[*rng.uniform(x[0] - 1, x[-1] + 1, 7), *x, np.nan]])


@grid(n=[2, 3, 4, 5, 8], boundary=BOUNDARIES, extrapolate=[None, False, "periodic"])
def test_cubic_splines(n, boundary, extrapolate):
    x, y, q = data(n, boundary == "periodic")
    ours, theirs = (
        module.CubicSpline(x, y, 1, BOUNDARIES[boundary], extrapolate) for module in (interpolate, original)
    )
    for nu in range(5):
        assert_close(ours(q, nu), theirs(q, nu), 1e-12)
    assert_close(ours.antiderivative(2)(q), theirs.antiderivative(2)(q), 1e-12)
    assert_close(ours.derivative(2)(q), theirs.derivative(2)(q), 1e-12)
    for a, b in ((x[0] + 0.1, x[-1] - 0.1), (x[-1] + 0.2, x[0] - 3.0)):
        assert_close(ours.integrate(a, b), theirs.integrate(a, b), 1e-12)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_cubic_splines_through_few_points(n, boundary):
    x, y, q = data(n, boundary == "periodic")
    ours, theirs = (module.CubicSpline(x, y, 1, BOUNDARIES[boundary]) for module in (interpolate, original))
    assert_close(ours(q), theirs(q), 1e-12)


@grid(n=[2, 3, 4, 8], name=["PchipInterpolator", "Akima1DInterpolator", "makima"])
def test_local_cubics(n, name):
    x, y, q = data(n)
    y[1, 1:3] = y[1, 0]  # flat pieces
    options = {"method": "makima", "extrapolate": True} if name == "makima" else {}
    name = "Akima1DInterpolator" if name == "makima" else name
    ours, theirs = (getattr(module, name)(x, y, 1, **options) for module in (interpolate, original))
    assert_close(ours(q), theirs(q), 1e-12)
    with_slopes = [module.CubicHermiteSpline(x, y, 2 * y, 1)(q) for module in (interpolate, original)]
    assert_close(*with_slopes, 1e-12)


@grid(n=[3, 6, 9], k=[0, 1, 2, 3, 5], bc_type=[None, "periodic", "clamped", "natural"])
def test_interpolating_b_splines(n, k, bc_type):
    if (n < k + 1 and bc_type is None) or (k != 3 and bc_type in ("clamped", "natural")):
        pytest.skip("there is none")
    x, y, q = data(n, bc_type == "periodic")
    ours, theirs = (
        module.make_interp_spline(x, y, k, bc_type=bc_type, axis=1) for module in (interpolate, original)
    )
    assert_close(ours.t, theirs.t, 1e-14)
    for nu in range(k + 1):
        assert_close(ours(q, nu), theirs(q, nu), 1e-11)
    assert_close(ours.antiderivative()(q), theirs.antiderivative()(q), 1e-12)
    if k:
        assert_close(ours.derivative()(q), theirs.derivative()(q), 1e-11)
    for extrapolate in (True, False, "periodic"):
        ends = x[0] - 0.3, x[-1] - 0.1, extrapolate
        assert_close(ours.integrate(*ends), theirs.integrate(*ends), 1e-12)


@grid(
    kind=["linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", 4],
    fill_value=[np.nan, "extrapolate", (1.0, 2.0), RNG.normal(size=(2, 3))],
    n=[5, 8],
)
def test_interp1d(kind, fill_value, n):
    x, y, q = data(n)
    order = np.random.default_rng(1).permutation(n)
    options = {} if isinstance(fill_value, str) else {"bounds_error": False}
    ours, theirs = (
        module.interp1d(x[order], y, kind, 1, fill_value=fill_value, **options)(q)
        for module in (interpolate, original)
    )
    assert_close(ours, theirs, 1e-12)


@grid(shape=[(6,), (6, 7), (7, 6, 8)], method=["linear", "nearest", "slinear", "cubic", "quintic"])
def test_grids(shape, method):
    rng = np.random.default_rng(len(shape))
    points = [np.cumsum(rng.uniform(0.5, 1.5, n)) for n in shape]
    points[0] = points[0][::-1]
    values = rng.normal(size=(*shape, 2))
    xi = np.stack([rng.uniform(p.min() - 0.1, p.max() + 0.1, (5, 3)) for p in points], -1)
    xi[0, 0, 0] = np.nan
    for fill_value in (np.nan, None, 3.0):
        arguments = points, values, method, False, fill_value
        ours, theirs = (module.RegularGridInterpolator(*arguments)(xi) for module in (interpolate, original))
        is_iterated = method in ("cubic", "quintic")  # SciPy solves to six digits
        assert_close(ours, theirs, 1e-3 if is_iterated else 1e-13)
        if is_iterated and fill_value is None:  # and where it does not, by the values at the points
            mesh = np.stack(np.meshgrid(*points, indexing="ij"), -1)
            assert_close(interpolate.RegularGridInterpolator(*arguments)(mesh), values, 1e-12)


@pytest.mark.parametrize(
    ("k", "orders"),
    [
        (2, ([1], [])),
        (2, ([], [2])),
        (3, ([1, 2], [])),
        (3, ([], [2, 1])),
        (4, ([3], [1, 2])),
        (5, ([1, 2, 3], [4])),
    ],
)
def test_conditions_of_b_splines_at_one_end_or_at_both_are_met(k, orders):
    """As many derivatives as given, however they are divided."""
    x, y, q = data(6)
    rng = np.random.default_rng(k)
    values = rng.normal(size=(len(orders[0] + orders[1]), 2, 3))

    def spline(module, values):
        given = list(zip(orders[0] + orders[1], values, strict=True))
        conditions = given[: len(orders[0])] or None, given[len(orders[0]) :] or None
        return module.make_interp_spline(x, y, k, bc_type=conditions, axis=1)

    def at_ends(values):
        made = spline(interpolate, values)
        return np.stack(
            [made(end, nu) for end, some_of in zip(x[[0, -1]], orders, strict=True) for nu in some_of]
        )

    ours, theirs = spline(interpolate, values), spline(original, values)
    assert_close(ours.t, theirs.t, 1e-14)
    assert_close(ours(x), y, 1e-11)
    assert_close(ours(q), theirs(q), 1e-10)
    assert_close(at_ends(values), values, 1e-10)
    moved = rng.normal(size=values.shape)
    assert_close(tape.jvp(at_ends, (values,), (moved,))[1], moved, 1e-10)


@pytest.mark.parametrize(("n", "k"), [(2, 3), (3, 2), (4, 5), (6, 0), (6, 1), (6, 2), (6, 3), (5, 4)])
def test_periodic_b_splines_go_on_around_the_circle_as_in_scipy(n, k):
    x, y, q = data(n, is_closed=True)
    ours, theirs = (
        module.make_interp_spline(x, y, k, None, "periodic", 1) for module in (interpolate, original)
    )
    assert ours.extrapolate == theirs.extrapolate
    assert_close(ours.t, theirs.t, 1e-14)
    assert_close(ours.c, theirs.c, 1e-13)
    assert_close(ours(q + 2 * (x[-1] - x[0])), theirs(q + 2 * (x[-1] - x[0])), 1e-12)
    nearly = y.copy()
    nearly[:, -1] *= 1 + 2e-6
    interpolate.make_interp_spline(x, nearly, k, None, "periodic", 1)
    with pytest.raises(errors.OptionError, match="first and last values of a periodic spline differ"):
        interpolate.make_interp_spline(
            x, np.where(y == nearly, y, nearly + 9e-6 * nearly), k, None, "periodic", 1
        )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_integrals_over_periods_are_sums_over_each(k):
    """Also of knots that are not repeated, where the antiderivative is not zero at the first end."""
    x, y, _ = data(7, is_closed=True)
    closed = interpolate.make_interp_spline(x, y, k, bc_type="periodic", axis=1)
    for spline in (closed, interpolate.BSpline(np.arange(8.0 + k), y[0], k, extrapolate="periodic")):
        low, high = spline.t[k], spline.t[-k - 1]
        plain = lambda a, b, spline=spline: spline.integrate(a, b, extrapolate=False)  # noqa: E731
        for a, b, periods in ((0.2, 0.7, 0), (0.2, 0.7, 3), (0.7, 0.2, 2), (0.7, 0.2, -2), (-1e-3, 0.0, 1)):
            ends = (low + part * (high - low) for part in (a, b + periods))
            inside = (low + part % 1 * (high - low) for part in (a, b))
            first, last = (plain(low, end) for end in inside)
            expected = last - first + (periods + (a < 0)) * plain(low, high)
            assert_close(spline.integrate(*ends, extrapolate="periodic"), expected, 1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x, y: m.interp1d(x, y, "previous", fill_value="extrapolate")([-1.0, 0.0, 0.5, 4.0, 6.0]),
        lambda m, x, y: m.interp1d(x, y, "next", fill_value="extrapolate")([-1.0, 0.0, 0.5, 4.0, 6.0]),
        lambda m, x, y: m.interp1d(x[2:3], y[2:3], bounds_error=False)([[1.0, 2.0], [3.0, np.nan]]),
        lambda m, x, y: m.PchipInterpolator(x[1:3], y[1:3])([0.5, 1.5, 3.0]),
        lambda m, x, y: m.Akima1DInterpolator(x[1:3], y[1:3])([0.5, 1.5, 2.0]),
        lambda m, x, y: m.PPoly(np.sin(np.arange(48.0)).reshape(3, 2, 4, 2), x, axis=1)([0.5, 2.5, 9.0]),
        lambda m, x, y: m.PPoly(np.sin(np.arange(32.0)).reshape(4, 4, 2), x, axis=0)(0.5),
        lambda m, x, y: m.PPoly([[1.0, 2.0, 3.0, 1.0], [0.0, 1.0, -2.0, 3.0]], x).solve(0.5),
        lambda m, x, y: m.BSpline([0.0, 0.0, 1.0, 2.0, 2.0], [1.0, 2.0, 4.0], 1)([0.5, np.nan], 2),
        lambda m, x, y: m.RegularGridInterpolator((x, x), np.outer(y, x + 1))(([[0.5], [1.5]], [2.5, 3.0])),
        lambda m, x, y: m.RegularGridInterpolator((x,), y, "cubic")([[1.0], [2.5]], nu=[1]),
        *[
            lambda m, x, y, name=name: getattr(m, name)(x, np.zeros((5, 0, 2)))([1.0, 2.0, 2.5])
            for name in ("CubicSpline", "Akima1DInterpolator", "PchipInterpolator", "make_interp_spline")
        ],
    ],
)
def test_rare_arguments_give_what_they_give_in_scipy(call):
    x, y = np.arange(5.0), np.arange(5.0) ** 2 + 1
    found, expected = (np.asarray(call(module, x, y)) for module in (interpolate, original))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_functions_beside_classes():
    """`interpn` is a `RegularGridInterpolator`, and `PPoly` the polynomials of a spline."""
    x, y = np.array([0.0, 1.0, 2.5]), np.array([0.0, 0.5, 2.0])
    values = np.random.default_rng(2).normal(size=(3, 3))
    at = np.array([[0.3, 0.4], [2.0, 1.7]])
    assert_close(interpolate.interpn((x, y), values, at), original.interpn((x, y), values, at), 1e-14)
    slope = tape.grad(lambda v: np.sum(interpolate.interpn((x, y), v, at)))(values)
    assert np.sum(slope) == pytest.approx(2)
    of_spline = original.CubicSpline(x, values)
    ours = interpolate.PPoly(of_spline.c, x)
    assert_close(ours(np.array([0.7, 1.9])), of_spline([0.7, 1.9]), 1e-14)
    moved = tape.jvp(lambda t: ours(t), (np.array(0.7),), (np.array(1.0),))[1]
    assert_close(moved, of_spline(0.7, 1), 1e-13)


# ---- derivatives -----------------------------------------------------------------------------------


def test_derivatives_by_points_are_the_spline_of_the_derivative():
    x, y, q = np.arange(6.0), np.sin(np.arange(6.0)), np.linspace(0.1, 4.7, 9)
    for spline in (interpolate.CubicSpline(x, y), interpolate.make_interp_spline(x, y)):
        assert_close(tape.elementwise_grad(spline)(q), spline(q, 1), 1e-13)
        assert_close(tape.elementwise_grad(tape.elementwise_grad(spline))(q), spline(q, 2), 1e-12)


def test_an_interpolant_is_linear_in_its_values():
    x, q = np.arange(7.0), np.linspace(0.2, 5.9, 4)
    rng = np.random.default_rng(2)
    y, direction = rng.normal(size=(2, 7))
    for make in (interpolate.CubicSpline, interpolate.make_interp_spline, interpolate.interp1d):
        _, moved = tape.jvp(lambda y, make=make: make(x, y)(q), (y,), (direction,))
        assert_close(moved, make(x, direction)(q), 1e-13)


def test_ends_of_an_integral():
    spline = interpolate.CubicSpline(np.arange(5.0), np.exp(np.arange(5.0)))
    by_a, by_b = tape.grad(spline.integrate, argnums=(0, 1))(0.7, 3.1)
    assert_close([by_a, by_b], [-spline(0.7), spline(3.1)], 1e-13)


def test_points_and_knots_in_batches():
    x, y = np.arange(6.0), np.random.default_rng(3).normal(size=(4, 6))
    f = lambda y: interpolate.CubicSpline(x, y)(2.3)  # noqa: E731
    assert_close(tape.vmap(f)(y), [f(row) for row in y], 1e-14)
    assert_close(tape.vmap(tape.grad(f))(y), [tape.grad(f)(row) for row in y], 1e-14)


def test_batches_of_nothing_have_no_splines():
    y = np.arange(4.0)
    assert tape.vmap(lambda x: interpolate.CubicSpline(x, y)(0.5))(np.zeros((0, 4))).shape == (0,)
    assert tape.vmap(lambda x: interpolate.CubicSpline(x, x)([0.5, 1.0]))(np.zeros((0, 4))).shape == (0, 2)


@pytest.mark.parametrize("method", some(["CubicSpline", "PchipInterpolator", "interp1d"], every=1))
def test_other_points_in_a_program_find_their_own_intervals(method):
    x, y = np.arange(6.0), np.random.default_rng(4).normal(size=6)
    f = lambda x, y, q: getattr(interpolate, method)(x, y)(q)  # noqa: E731
    compiled = tape.compile(f)
    for k in range(4):
        moved, q = (
            x + 0.1 * np.random.default_rng(k).normal(size=6),
            np.random.default_rng(k).uniform(0.3, 4.6, 3),
        )
        assert_close(compiled(moved, y, q), f(moved, y, q), 1e-12)
    with pytest.raises(errors.OptionError, match=r"increasing|bounds"):
        compiled(x[::-1].copy(), y, q + 10)


def test_a_spline_in_a_loop_of_a_program():
    spline = interpolate.CubicSpline(np.arange(4.0), np.arange(4.0) ** 2)

    def walked(c):
        for _ in range(20):
            c = c + 0.1 * np.sin(spline(c))
        return c

    f = tape.value_and_grad(walked)
    looped = tape.value_and_grad(lambda c: tape.fori_loop(0, 20, lambda i, c: c + 0.1 * np.sin(spline(c)), c))
    for compiled in (tape.compile(f), tape.compile(looped)):
        for c in (0.3, 1.2, 2.7):
            assert_close(compiled(c), f(c), 1e-12)


# ---- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda x, y: interpolate.CubicSpline(x[:3], y), errors.ShapeError, "one value for each point"),
        (lambda x, y: interpolate.CubicSpline(x[::-1], y), errors.OptionError, "strictly increasing"),
        (lambda x, y: interpolate.CubicSpline(x, y, bc_type="loose"), errors.OptionError, "bc_type"),
        (lambda x, y: interpolate.CubicSpline(x, y, bc_type="periodic"), errors.OptionError, "differ"),
        (lambda x, y: interpolate.CubicSpline(x, y, bc_type=((3, 0),) * 2), errors.OptionError, "first"),
        (lambda x, y: interpolate.CubicSpline(x, y + np.nan), errors.OptionError, "finite"),
        (lambda x, y: interpolate.CubicSpline(x, y)(x, -1), errors.OptionError, "order of a derivative"),
        (lambda x, y: interpolate.PchipInterpolator(x, 1j * y), errors.DTypeError, "real"),
        (lambda x, y: interpolate.interp1d(x, y)(x + 1), errors.OptionError, "out of bounds"),
        (lambda x, y: interpolate.interp1d(x, y, "wavy"), errors.OptionError, "kind"),
        (lambda x, y: interpolate.make_interp_spline(x[:3], y[:3], 3), errors.ShapeError, "4 points"),
        (lambda x, y: interpolate.BSpline(x, y, 3), errors.ShapeError, "knots"),
        (lambda x, y: interpolate.make_interp_spline(x, y, 3, x.repeat(2)), errors.ShapeError, "10 knots"),
        (lambda x, y: interpolate.make_interp_spline(x, y, 3, np.eye(3)), errors.ShapeError, "9 knots"),
        (
            lambda x, y: interpolate.RegularGridInterpolator((x,), y)([[9.0]]),
            errors.OptionError,
            "out of bounds",
        ),
        (lambda x, y: interpolate.BSpline(x, y, -1), errors.OptionError, "the degree is -1"),
        (lambda x, y: interpolate.BSpline(x, y[0], 1), errors.ShapeError, r"shapes \[5\] and \[\]"),
        (lambda x, y: interpolate.BSpline(x, y[:3], 1)(1.5, -1), errors.OptionError, "derivative is -1"),
        (
            lambda x, y: interpolate.BSpline(x, y[:3], 1).derivative(2),
            errors.OptionError,
            "degree 1 .* order 2",
        ),
        (
            lambda x, y: interpolate.BSpline(x, y[:3], 1).integrate(x[:2], 1),
            errors.ShapeError,
            r"\[2\] and \[\]",
        ),
        (lambda x, y: interpolate.make_interp_spline(x, y, -1), errors.OptionError, "the degree is -1"),
        (
            lambda x, y: interpolate.make_interp_spline(x, y, 1, None, "clamped"),
            errors.OptionError,
            "nothing to",
        ),
        (
            lambda x, y: interpolate.make_interp_spline(x, y, 3, x, "periodic"),
            errors.OptionError,
            "Leave out t",
        ),
        (
            lambda x, y: interpolate.make_interp_spline(x, y, 3, None, ("natural",) * 3),
            errors.OptionError,
            "pair",
        ),
        (
            lambda x, y: interpolate.make_interp_spline(x, y, 3, None, "loose"),
            errors.OptionError,
            "is 'loose'",
        ),
        (
            lambda x, y: interpolate.make_interp_spline(x, y, 3, None, ([(4, 0.0)], [(1, 0.0)])),
            errors.OptionError,
            "order 4, for degree 3",
        ),
        (lambda x, y: interpolate.CubicHermiteSpline(x, y, y[1:]), errors.ShapeError, r"\[5\] and \[4\]"),
        (lambda x, y: interpolate.CubicSpline(x, y, 0, ("clamped",) * 3), errors.OptionError, "for each end"),
        (
            lambda x, y: interpolate.CubicSpline(x, y, 0, ("natural", "periodic")),
            errors.OptionError,
            "is for both",
        ),
        (
            lambda x, y: interpolate.CubicSpline(x, y, 0, ("natural", 3)),
            errors.OptionError,
            "first or second",
        ),
        (
            lambda x, y: interpolate.CubicSpline(x, y, 0, ((1, y), "natural")),
            errors.ShapeError,
            r"has shape \[5\]",
        ),
        (lambda x, y: interpolate.Akima1DInterpolator(x, y, method="flat"), errors.OptionError, "is 'flat'"),
        (lambda x, y: interpolate.RegularGridInterpolator((x, x), y), errors.ShapeError, "2 dimensions for"),
        (
            lambda x, y: interpolate.RegularGridInterpolator((x[1:],), y),
            errors.ShapeError,
            "dimension 0, for 5",
        ),
        (lambda x, y: interpolate.RegularGridInterpolator((x[:, None],), y), errors.ShapeError, r"\[5, 1\]"),
        (
            lambda x, y: interpolate.RegularGridInterpolator((x,), y, "pchip"),
            errors.OptionError,
            "is 'pchip'",
        ),
        (
            lambda x, y: interpolate.RegularGridInterpolator((x,), y)([[1.0]], nu=[1]),
            errors.OptionError,
            "no nu",
        ),
        (lambda x, y: interpolate.RegularGridInterpolator((x,), y)(1.0), errors.ShapeError, "1 coordinates"),
        (
            lambda x, y: interpolate.RegularGridInterpolator((x,), y)(x[:2]),
            errors.ShapeError,
            "1 coordinates",
        ),
        (lambda x, y: interpolate.interp1d(x, y, fill_value="beyond"), errors.OptionError, "is 'beyond'"),
        (
            lambda x, y: interpolate.interp1d(x, y, bounds_error=True, fill_value="extrapolate"),
            errors.OptionError,
            "cannot be extrapolated and raise",
        ),
        (
            lambda x, y: interpolate.interp1d(x, y, fill_value=(x, 1.0)),
            errors.ShapeError,
            r"\[5\] and \[\], which",
        ),
        (lambda x, y: interpolate.PPoly(y, x), errors.ShapeError, r"of shapes \[5\] and \[5\]"),
        (
            lambda x, y: interpolate.PPoly(y[None, 1:, None], x, axis=2),
            errors.ShapeError,
            "axis is 2.* 0, ..., 1",
        ),
        (lambda x, y: interpolate.PPoly(y[None, 1:, None], x, axis=-1), errors.ShapeError, "axis is -1"),
        (
            lambda x, y: interpolate.PPoly(y[None, 1:], x).integrate(0, x),
            errors.ShapeError,
            r"\[\] and \[5\]",
        ),
        (lambda x, y: interpolate.PPoly(y[None, 1:], x)(0.5, 1.5), errors.OptionError, "is 1.5"),
        (lambda x, y: interpolate.PPoly(y[None, 1:], x).derivative(1.5), errors.OptionError, "is 1.5"),
        (
            lambda x, y: interpolate.PPoly(y[None, 1:], x, "round"),
            errors.OptionError,
            "extrapolate is 'round'",
        ),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(make, kind, message):
    x, y = np.arange(5.0), np.arange(5.0) ** 2
    with pytest.raises(kind, match=message):
        make(x, y)
    with pytest.raises(kind, match=message):
        tape.grad(lambda y: np.sum(tape.ops.abs(make(x, y))))(y)


MAKERS = {
    "CubicSpline": interpolate.CubicSpline,
    "CubicHermiteSpline": lambda x, y, axis=0: interpolate.CubicHermiteSpline(x, y, y, axis),
    "PchipInterpolator": interpolate.PchipInterpolator,
    "Akima1DInterpolator": interpolate.Akima1DInterpolator,
    "make_interp_spline": lambda x, y, axis=0: interpolate.make_interp_spline(x, y, axis=axis),
    "interp1d": lambda x, y, axis=0: interpolate.interp1d(x, y, axis=axis),
}


@pytest.mark.parametrize("name", MAKERS)
def test_errors_name_what_was_called(name):
    make, x, y = MAKERS[name], np.arange(5.0), np.arange(5.0) ** 2
    faults = [
        (lambda: make(x[:4], y), errors.ShapeError), (lambda: make(x, y[:4]), errors.ShapeError),
        (lambda: make(x[None], y), errors.ShapeError), (lambda: make(x, y, axis=1), errors.ShapeError),
        (lambda: make(x, y, axis=-2), errors.ShapeError), (lambda: make(x, y, axis=0.5), errors.ShapeError),
        (lambda: make(1j * x, y), errors.DTypeError),
    ]  # fmt: skip
    if name != "interp1d":  # which sorts, and takes what is not finite
        faults += [
            (lambda: make(x[::-1], y), errors.OptionError), (lambda: make(x * y * 0, y), errors.OptionError),
            (lambda: make(x, y + np.nan), errors.OptionError),
            (lambda: make(x + np.inf, y), errors.OptionError),
            (lambda: make(x[:1], y[:1]), errors.ShapeError),
        ]  # fmt: skip
    if name in ("PchipInterpolator", "Akima1DInterpolator"):
        faults += [(lambda: make(x, 1j * y), errors.DTypeError)]
    for call, kind in faults:
        with pytest.raises(kind, match=rf"^{name}: "):
            call()


@pytest.mark.parametrize("nu", [-3, -1, 0, 1, 2, 4])
@pytest.mark.parametrize("name", MAKERS)
def test_derivatives_of_negative_order_are_antiderivatives_and_the_other_way_round(name, nu):
    if name == "interp1d":
        pytest.skip("it has no derivatives")
    x, y, q = data(6)
    ours = MAKERS[name](x, y, axis=1)
    slopes = [y] if name == "CubicHermiteSpline" else []
    theirs = getattr(original, name)(x, y, *slopes, axis=1)
    for method in ("derivative", "antiderivative"):
        if nu == 4 and method == "derivative" and name == "make_interp_spline":
            continue  # of degree 3
        assert_close(getattr(ours, method)(nu)(q), getattr(theirs, method)(nu)(q), 1e-11)


@pytest.mark.parametrize("name", MAKERS)
def test_both_ends_are_inside(name):
    """And the next number is not, wherever there is nothing outside."""
    x, y, _ = data(5)
    q = np.array([np.nextafter(x[0], -9), x[0], x[-1], np.nextafter(x[-1], 99)])
    f = MAKERS[name](x, y, axis=1)
    found = f(q, extrapolate=False) if name != "interp1d" else None
    if found is None:
        f = interpolate.interp1d(x, y, axis=1, bounds_error=False)
        found = f(q)
    is_there = np.isfinite(found).all(axis=(0, 2))
    assert is_there.tolist() == [False, True, True, False]
    assert_close(found[:, 1:3], y[:, [0, -1]], 1e-14)


def outcome(call):
    """The result of a call, or whether it refuses its arguments."""
    try:
        return np.asarray(call())
    except (errors.TapeError, ValueError):
        return "refused"


@pytest.mark.parametrize("fill_value", ["refused", None, -1.0])
@pytest.mark.parametrize("method", ["linear", "nearest", "slinear"])
def test_edges_of_a_grid_are_inside_and_points_in_the_middle_go_where_scipys_do(method, fill_value):
    """Coordinates just outside, at each point of the grid, half-way between two, and none."""
    x, y = np.array([0.0, 1.0, 3.0, 4.0]), np.array([-2.0, 0.0, 1.0])
    values = np.random.default_rng(6).normal(size=(4, 3))
    options = {} if fill_value == "refused" else {"bounds_error": False, "fill_value": fill_value}
    ours, theirs = (
        module.RegularGridInterpolator((x, y), values, method, **options)
        for module in (interpolate, original)
    )
    for a in (np.nextafter(0, -1), 0.0, 0.5, 1.0, 2.0, 3.0, 3.5, 4.0, np.nextafter(4, 5), np.nan):
        for b in (np.nextafter(-2, -3), -2.0, -1.0, 0.0, 0.5, 1.0, np.nextafter(1, 2), np.nan):
            found, expected = (outcome(lambda f=f: f([[a, b]])) for f in (ours, theirs))  # noqa: B023
            if isinstance(expected, str) or isinstance(found, str):
                assert isinstance(expected, str) and isinstance(found, str), (a, b)  # noqa: PT018
            else:
                np.testing.assert_allclose(found, expected, atol=1e-13, err_msg=f"{a} {b}")


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic", "quintic"])
def test_grids_of_few_points_are_refused_where_they_are_in_scipy(method):
    for count in range(1, 8):
        x = np.arange(float(count))
        found, expected = (
            outcome(lambda m=m: m.RegularGridInterpolator((x,), x**2, method)([[0.0]]))  # noqa: B023
            for m in (interpolate, original)
        )
        assert isinstance(found, str) == isinstance(expected, str), count
        if isinstance(found, str):
            with pytest.raises(errors.ShapeError, match=f"{count} points in dimension 0"):
                interpolate.RegularGridInterpolator((x,), x**2, method)


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "make_interp_spline"])
@pytest.mark.parametrize("extrapolate", [False, True, "periodic"])
def test_integrals_up_to_the_ends_and_beyond(name, extrapolate):
    x, y, _ = data(5)
    ours, theirs = (getattr(module, name)(x, y, axis=1) for module in (interpolate, original))
    low, high = x[0], x[-1]
    for a, b in ((low, high), (high, low), (low + 0.3, high), (low, low), (np.nextafter(low, -9), high),
                 (low, np.nextafter(high, 99)), (low - 1, high + 1)):  # fmt: skip
        expected = theirs.integrate(a, b, extrapolate)
        assert_close(ours.integrate(a, b, extrapolate), expected, 1e-12)
        assert np.shape(ours.integrate(a, b, extrapolate)) == np.shape(expected)


@pytest.mark.parametrize("extrapolate", [False, True, "periodic"])
def test_derivatives_and_antiderivatives_extrapolate_as_in_scipy(extrapolate):
    x, y, q = data(6)
    t, c = np.arange(10.0), np.random.default_rng(7).normal(size=(6, 2))
    for name, args in (("PPoly", (y[0, :4, :].reshape(4, 3, 1), x[:4])), ("BSpline", (t, c, 3))):
        ours, theirs = (getattr(m, name)(*args, extrapolate=extrapolate) for m in (interpolate, original))
        for method in ("derivative", "antiderivative"):
            found, expected = getattr(ours, method)(), getattr(theirs, method)()
            assert found.extrapolate == expected.extrapolate
            np.testing.assert_allclose(found(q), expected(q), rtol=1e-11, atol=1e-11)


def test_other_functions_are_scipys_and_refuse_vars():
    x, y = np.arange(6.0), np.arange(6.0)
    assert interpolate.splrep(x, y)[2] == 3
    with pytest.raises(errors.UnsupportedError, match=r"scipy\.interpolate\.splrep.*CubicSpline"):
        tape.grad(lambda y: interpolate.splrep(x, y)[1][0])(y)
    with pytest.raises(errors.TapeError):
        tape.grad(lambda y: interpolate.UnivariateSpline(x, y)(0.5))(y)
    with pytest.raises(errors.TapeError):
        tape.grad(lambda y: interpolate.CubicSpline(x, y).roots()[0])(y)


def test_points_of_a_grid_go_one_way():
    with pytest.raises(errors.OptionError, match="dimension 0 must be strictly monotonic"):
        interpolate.RegularGridInterpolator((np.array([0.0, 2.0, 1.0]),), np.ones(3))
    backwards = interpolate.RegularGridInterpolator((np.array([2.0, 1.0, 0.0]),), np.array([4.0, 1.0, 0.0]))
    np.testing.assert_array_equal(backwards(np.array([[0.5], [1.5]])), [0.5, 2.5])


def test_a_b_spline_holds_its_knots_coefficients_and_degree():
    t, c = np.array([0.0, 0.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 4.0])
    knots, coefficients, degree = interpolate.BSpline(t, c, 1).tck
    np.testing.assert_array_equal(knots, t)
    np.testing.assert_array_equal(coefficients, c)
    assert degree == 1


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (1, 1)])
def test_along_an_axis_of_one_point_a_linear_grid_is_constant(shape):
    values, points = np.random.default_rng(0).normal(size=shape), [np.arange(float(n)) for n in shape]
    xi = np.stack([np.full(3, 0.3) if n > 1 else np.zeros(3) for n in shape], -1)
    ours, theirs = (m.RegularGridInterpolator(points, values)(xi) for m in (interpolate, original))
    assert_close(ours, theirs, 1e-14)
