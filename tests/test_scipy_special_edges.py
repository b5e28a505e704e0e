"""Special functions of Vars at their edges: Legendre's of all orders, ways to choose, sequences."""

import numpy as np
import pytest
from scipy import special as original

import tape
from tape import errors
from tape.scipy import special

Z = np.array([-1.0, -0.7, 0.0, 0.3, 1.0])
INSIDE = Z[1:-1]
ANGLES = np.array([0.0, 0.4, 1.5, 3.0, np.pi, -0.4, 4.0])
LEGENDRE = {
    "legendre_p": [(n,) for n in (0, 1, 2, 5)] + [(np.array([[0], [3]]),)],
    "legendre_p_all": [(0,), (1,), (4,)],
    "assoc_legendre_p": [(n, m) for n in (0, 1, 3) for m in (-4, -2, -1, 0, 1, 2, 3, 4)]
    + [(np.array([[2], [4]]), 1)],
    "assoc_legendre_p_all": [(0, 0), (2, 1), (3, 3), (1, 3)],
    "sph_legendre_p": [(n, m) for n in (0, 1, 3) for m in (-4, -1, 0, 1, 3)] + [(np.array([[2], [4]]), 1)],
    "sph_legendre_p_all": [(0, 0), (2, 1), (3, 3), (2, -2)],
}


def recorded(f, x):
    """Values of a function of a Var, and its slopes by each element."""
    return tape.jvp(f, (x,), (np.ones_like(x),))


@pytest.mark.parametrize("diff_n", [0, 1, 2])
@pytest.mark.parametrize("name", LEGENDRE)
def test_legendre_functions_of_vars_are_those_of_numbers_with_their_slopes(name, diff_n):
    """The slope of each derivative is SciPy's next one."""
    x = ANGLES if name.startswith("sph") else INSIDE
    for counts in LEGENDRE[name]:
        f = getattr(special, name)
        expected = getattr(original, name)(*counts, x, diff_n=2)
        value, slope = recorded(lambda x: f(*counts, x, diff_n=diff_n), x)  # noqa: B023
        np.testing.assert_allclose(value, expected[: diff_n + 1], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(f(*counts, x, diff_n=diff_n), value, rtol=1e-13, atol=1e-14)
        known = min(diff_n + 1, 2)
        inside = np.abs(np.sin(x)) > 1e-9 if name.startswith("sph") else np.ones(x.shape, bool)
        np.testing.assert_allclose(
            slope[:known][..., inside], expected[1 : known + 1][..., inside], rtol=1e-9, atol=1e-11
        )
        assert slope.shape == value.shape


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("branch_cut", [2, 3])
@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 1), (2, -1), (3, 2), (4, 0), (2, 3)])
def test_associated_functions_have_their_cut_and_norm(n, m, branch_cut, norm):
    z = np.array([0.3 + 0.2j, -0.5 - 0.1j, 1.5 + 0.3j, 2.0 - 0.5j, -1.7 + 0.1j])
    for at in (z, INSIDE):
        options = {"branch_cut": branch_cut, "norm": norm}
        if at.dtype.kind == "f" and branch_cut == 3:
            continue
        expected = original.assoc_legendre_p(n, m, at, **options, diff_n=2)
        value, slope = recorded(lambda z: special.assoc_legendre_p(n, m, z, **options, diff_n=1), at)  # noqa: B023
        np.testing.assert_allclose(value, expected[:2], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(slope, expected[1:3], rtol=1e-10, atol=1e-11)
        whole = original.assoc_legendre_p_all(n, abs(m), at, **options, diff_n=1)
        found = recorded(lambda z: special.assoc_legendre_p_all(n, abs(m), z, **options, diff_n=1), at)[0]  # noqa: B023
        np.testing.assert_allclose(found, whole, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("is_all", [False, True])
@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, -1), (2, 1), (3, 3), (3, -2), (2, 0)])
def test_spherical_harmonics_of_vars_have_gradients_and_hessians(n, m, is_all):
    """By both angles, of angles that broadcast; the slopes of the gradient are the Hessian."""
    name = "sph_harm_y_all" if is_all else "sph_harm_y"
    f, g = getattr(special, name), getattr(original, name)
    theta, phi = np.array([[0.3], [1.2], [2.9], [-0.6]]), np.array([0.5, -2.0, 4.0])
    expected = g(n, m, theta, phi, diff_n=2)
    for diff_n in (0, 1, 2):
        found = tape.jvp(lambda theta: f(n, m, theta, phi, diff_n=diff_n), (theta,), (np.ones_like(theta),))  # noqa: B023
        values = found[0] if diff_n else [found[0]]
        assert len(values) == diff_n + 1
        for value, wanted in zip(values, expected, strict=False):
            np.testing.assert_allclose(value, wanted, rtol=1e-11, atol=1e-12)
    for k, (angle, other) in enumerate(((theta, phi), (phi, theta))):

        def of(angle, k=k, other=other):
            return f(n, m, *((angle, other) if k == 0 else (other, angle)), diff_n=1)

        _, (slope, bend) = tape.jvp(of, (angle,), (np.ones_like(angle),))
        np.testing.assert_allclose(slope, expected[1][..., k], rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(bend, expected[2][..., k, :], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", [*LEGENDRE, "sph_harm_y", "sph_harm_y_all"])
def test_counts_and_orders_that_are_none_are_refused_by_name(name):
    f = getattr(special, name)
    count = 1 if name.startswith("legendre") else 2
    more = (0.2,) if "harm" in name else ()

    def called(*counts, **options):
        return tape.grad(lambda x: np.sum(np.real(f(*counts, x, *more, **options)[0])))(0.3)

    for wrong in (0.5, np.array([1.5])):
        for k in range(count):
            counts = [1] * count
            counts[k] = wrong
            with pytest.raises(errors.OptionError, match=rf"^{name}\b"):
                called(*counts)
    for diff_n in (-1, 3, 0.5, None, "1"):
        with pytest.raises(errors.OptionError, match=rf"^{name}: diff_n="):
            called(*[1] * count, diff_n=diff_n)
    if name.endswith("_all"):
        with pytest.raises(errors.OptionError, match=rf"^{name}: n=-1"):
            called(-1, *[1] * (count - 1))
    if name.startswith("assoc"):
        for cut in (1, 4, [2], None):
            with pytest.raises(errors.OptionError, match=rf"^{name}: branch_cut="):
                called(1, 1, branch_cut=cut)


# ---- ways to choose -------------------------------------------------------------------------------------

COUNTS = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0])


@pytest.mark.parametrize("N", COUNTS)
def test_ways_to_choose_are_those_of_scipy_at_all_ends(N):
    """Of Vars as of numbers, with slopes that are finite."""
    k = COUNTS
    for f, expected in (
        (special.comb, original.comb(N, k)),
        (special.perm, original.perm(N, k)),
    ):
        value, slope = recorded(lambda k, f=f: f(N, k), k)
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)
        assert np.all(np.isfinite(slope[(k <= N) & (k >= 0) & (N >= 0)]))
        assert np.all(slope[~((k <= N) & (k >= 0) & (N >= 0))] == 0)
    whole = k[(k == np.floor(k)) & (k >= 0)]
    if np.floor(N) == N:
        found = recorded(lambda k: special.comb(N, k, repetition=True), whole)[0]
        np.testing.assert_allclose(
            found, [original.comb(N, each, repetition=True) for each in whole], rtol=1e-12
        )
    for extend in ("zero", "complex"):

        def of(n, extend=extend):
            return special.factorial(n, extend=extend)

        found = recorded(of, np.array([N]))[0]
        expected = (
            original.factorial(np.array([N + 0.0]), extend=extend)
            if extend == "zero"
            else original.gamma(N + 1)
        )
        np.testing.assert_allclose(found, np.real(expected) * np.ones(1), rtol=1e-12)
    for name in ("comb", "perm", "factorial"):
        args = () if name == "factorial" else (1.0,)
        with pytest.raises(errors.OptionError, match=rf"^{name}: with exact=True"):
            tape.grad(lambda n: getattr(special, name)(n, *args, exact=True))(3.0)  # noqa: B023
    with pytest.raises(errors.OptionError, match=r"^factorial: extend='most'"):
        tape.grad(lambda n: special.factorial(n, extend="most"))(3.0)


@pytest.mark.parametrize("n", [0, -1, 1, 2, 3, 6, 2.0, 2.5, np.array([1, 2, 3, 4, 0, 5])])
def test_periodic_sincs_of_all_sizes(n):
    x = np.array([-4 * np.pi, -2.0, 0.0, 0.5, 2 * np.pi, np.nan])
    value, slope = recorded(lambda x: special.diric(x, n), x)
    np.testing.assert_allclose(value, original.diric(x, n), atol=1e-12)
    h = 1e-6
    expected = (original.diric(x + h, n) - original.diric(x - h, n)) / (2 * h)
    known = np.isfinite(expected) & np.isfinite(value)
    np.testing.assert_allclose(slope[known], expected[known], atol=1e-7)


# ---- sequences ---------------------------------------------------------------------------------------------

SEQUENCES = {
    "lmbda": (2.5, 0.7), "lqn": (3, 0.4), "pbdv_seq": (2.5, 0.7), "pbvv_seq": (2.5, 0.7),
    "riccati_jn": (3, 0.7), "riccati_yn": (3, 0.7),
}  # fmt: skip


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_slopes_of_sequences_are_their_second_results(name):
    order, x = SEQUENCES[name]
    f, g = getattr(special, name), getattr(original, name)
    for at_order in (order, 0, 1):
        for at in (x, 1.9 if name != "lqn" else -0.6):
            expected = g(at_order, at)
            (values, slopes), (moved, bent) = recorded(lambda x: f(at_order, x), np.float64(at))  # noqa: B023
            np.testing.assert_allclose(values, expected[0], rtol=1e-12)
            np.testing.assert_allclose(slopes, expected[1], rtol=1e-12)
            np.testing.assert_allclose(moved, expected[1], rtol=1e-9, atol=1e-12)
            wanted = (g(at_order, at + 1e-6)[1] - g(at_order, at - 1e-6)[1]) / 2e-6
            np.testing.assert_allclose(bent, wanted, rtol=1e-6, atol=1e-6)
    for wrong in (-1, -0.5, "b", None):
        with pytest.raises(errors.OptionError, match=rf"^{name}: an order is "):
            tape.grad(lambda x: f(wrong, x)[0][0])(0.5)  # noqa: B023
    with pytest.raises(errors.UnsupportedError, match=rf"^{name} by its order"):
        tape.grad(lambda v: f(v, 0.5)[0][0])(1.0)
    if name == "lqn":
        return  # which takes several numbers
    with pytest.raises(errors.ShapeError, match=rf"^{name} takes one number"):
        tape.grad(lambda x: np.sum(f(1, x)[0][0]))(np.ones(2))
