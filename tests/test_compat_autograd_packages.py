"""The packages of `tape.compat.autograd`: names, `misc`, `scipy`, `test_util`."""

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import integrate
from scipy import signal as scipy_signal
from scipy.linalg import expm

import tape.compat.autograd.numpy as anp
from tape import errors, tree
from tape.compat.autograd import extend, grad, jacobian, make_jvp, make_vjp
from tape.compat.autograd.misc import const_graph, flatten, optimizers
from tape.compat.autograd.misc.fixed_points import fixed_point
from tape.compat.autograd.misc.flatten import flatten_func
from tape.compat.autograd.scipy.integrate import odeint
from tape.compat.autograd.scipy.signal import convolve
from tape.compat.autograd.test_util import (
    check_equivalent,
    check_grads,
    check_jvp,
    check_vjp,
    combo_check,
    scalar_close,
)
from tests.tiers import some

RNG = np.random.default_rng(0)
X, V = RNG.normal(size=3), RNG.normal(size=3)

# ---- names -------------------------------------------------------------------------------------------

NAMES = {
    "": "checkpoint deriv dict elementwise_grad grad grad_and_aux grad_named hessian hessian_tensor_product "
    "hessian_vector_product holomorphic_grad isinstance jacobian list make_ggnvp make_hvp make_jvp make_vjp "
    "multigrad_dict primitive tensor_jacobian_product tuple type value_and_grad vector_jacobian_product",
    "builtins": "dict isinstance list tuple type",
    "core": "def_linear defjvp defvjp getval isbox make_jvp make_vjp primitive vspace VSpace backward_pass",
    "differential_operators": "grad make_jvp_reversemode multigrad_dict",
    "extend": "Box JVPNode SparseObject VJPNode VSpace def_linear defjvp defjvp_argnum defjvp_argnums defvjp "
    "defvjp_argnum defvjp_argnums notrace_primitive primitive register_notrace vspace",
    "misc": "const_graph flatten",
    "misc.fixed_points": "fixed_point",
    "misc.flatten": "flatten flatten_func",
    "misc.optimizers": "adam rmsprop sgd",
    "misc.tracers": "const_graph full_graph",
    "numpy": "array concatenate exp fft linalg make_diagonal ndarray pi random where",
    "numpy.fft": "fft fftshift ifft irfft2 rfftn",
    "numpy.linalg": "cholesky det eigh inv norm slogdet solve svd",
    "numpy.numpy_boxes": "ArrayBox SequenceBox Box",
    "numpy.numpy_vspaces": "ArrayVSpace ComplexArrayVSpace VSpace",
    "numpy.random": "RandomState default_rng randn seed",
    "scipy": "integrate linalg signal special stats",
    "scipy.integrate": "odeint",
    "scipy.linalg": "solve_banded solve_sylvester solve_triangular sqrtm",
    "scipy.signal": "convolve",
    "scipy.special": "erf erfinv expit gammaincc gammaln logit logsumexp multigammaln polygamma psi",
    "scipy.stats": "beta chi2 dirichlet gamma multivariate_normal norm poisson t",
    "scipy.stats.beta": "cdf logpdf pdf",
    "scipy.stats.chi2": "cdf logpdf pdf",
    "scipy.stats.dirichlet": "logpdf pdf rvs",
    "scipy.stats.gamma": "cdf logpdf pdf",
    "scipy.stats.multivariate_normal": "entropy logpdf pdf",
    "scipy.stats.norm": "cdf logcdf logpdf logsf pdf sf",
    "scipy.stats.poisson": "cdf logpmf pmf",
    "scipy.stats.t": "cdf logcdf logpdf pdf",
    "test_util": "check_equivalent check_grads check_jvp check_vjp combo_check scalar_close",
    "tracer": "Box Node getval isbox new_box notrace_primitive primitive register_notrace trace",
    "wrap_util": "unary_to_nary",
}


ONLY_HERE = {("scipy", "linalg"), ("scipy.stats.dirichlet", "rvs")}


@pytest.mark.parametrize("module", NAMES)
def test_names_of_autograd_are_here_or_say_what_to_use(module):
    ours = importlib.import_module(f"tape.compat.autograd.{module}".rstrip("."))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # autograd's own
        theirs = importlib.import_module(f"autograd.{module}".rstrip("."))
    for name in NAMES[module].split():
        assert hasattr(theirs, name) or (module, name) in {
            ("scipy", "linalg"),
            ("scipy.stats.dirichlet", "rvs"),
        }
        try:
            assert getattr(ours, name) is not None
        except errors.UnsupportedError as error:
            assert "tape has none. Use" in str(error)  # noqa: PT017


def test_unknown_names_are_missing_attributes():
    for module in (extend, importlib.import_module("tape.compat.autograd.tracer"), anp):
        assert not hasattr(module, "no_such_name")


def test_numpy_is_the_numpy_of_tape():
    import tape.numpy

    for name in some(tape.numpy.__all__, every=10):
        assert getattr(anp, name) is getattr(tape.numpy, name) or name in ("fft", "linalg", "random")
    assert grad(lambda x: anp.linalg.det(anp.array([[x, 1.0], [2.0, x]])))(3.0) == 6.0
    found = jacobian(lambda d: anp.make_diagonal(d, axis1=-1, axis2=-2))(X)
    np.testing.assert_array_equal(np.einsum("iij->ij", found), np.eye(3))
    assert np.count_nonzero(found) == 3
    with pytest.raises(errors.UnsupportedError, match="moveaxis"):
        anp.make_diagonal(X)


# ---- misc --------------------------------------------------------------------------------------------


def test_flattening():
    value = {"b": [X, 2.0], "a": (V,)}
    vector, unflatten = flatten(value)
    np.testing.assert_array_equal(vector, np.concatenate([V, X, [2.0]]))
    assert tree.structure(unflatten(vector)) == tree.structure(value)
    of_vectors, unflatten, vector = flatten_func(lambda v, k: [k * v["a"][0], v["b"][1]], value)
    np.testing.assert_array_equal(of_vectors(vector, 3.0), [*(3 * V), 2.0])
    check_grads(lambda v: of_vectors(v, 2.0) ** 2)(vector)


def naive_steps(name: str, x: np.ndarray, steps: int, rate: float) -> np.ndarray:
    """The three optimisers as loops over numbers, of the gradient ``2 (x - i)``."""
    x = x.copy()
    first, second = np.zeros_like(x), (np.ones_like(x) if name == "rmsprop" else np.zeros_like(x))
    for i in range(steps):
        for k in range(len(x)):
            g = 2 * (x[k] - i)
            if name == "sgd":
                first[k] = 0.9 * first[k] - 0.1 * g
                x[k] += rate * first[k]
            elif name == "rmsprop":
                second[k] = 0.9 * second[k] + 0.1 * g * g
                x[k] -= rate * g / (second[k] ** 0.5 + 1e-8)
            else:
                first[k] = 0.9 * first[k] + 0.1 * g
                second[k] = 0.999 * second[k] + 0.001 * g * g
                up, down = first[k] / (1 - 0.9 ** (i + 1)), second[k] / (1 - 0.999 ** (i + 1))
                x[k] -= rate * up / (down**0.5 + 1e-8)
    return x


@pytest.mark.parametrize("name", ["sgd", "rmsprop", "adam"])
def test_optimisers_step_as_their_formulas_say(name):
    optimizer, seen = getattr(optimizers, name), []

    def gradient(params, i):
        return {"a": 2 * (params["a"] - i), "b": [2 * (params["b"][0] - i)]}

    def callback(params, i, g):
        seen.append((i, float(g["b"][0])))

    found = optimizer(gradient, {"a": X, "b": [2.5]}, callback, num_iters=4, step_size=0.2)
    expected = naive_steps(name, np.concatenate([X, [2.5]]), 4, 0.2)
    np.testing.assert_allclose(found["a"], expected[:3], rtol=1e-12)
    np.testing.assert_allclose(found["b"][0], expected[3], rtol=1e-12)
    assert [i for i, _ in seen] == [0, 1, 2, 3]
    assert seen[0][1] == 5.0

    def trained(rate):
        return np.sum(optimizer(lambda x, i: np.cos(x) + i, X, num_iters=3, step_size=rate) ** 2)

    check_grads(trained, order=1)(0.1)


def test_optimisers_refuse_gradients_of_another_form():
    for bad in (lambda x, i: [x["a"]], lambda x, i: {"a": x["a"][:2]}):
        with pytest.raises(errors.ShapeError, match="gradient"):
            optimizers.sgd(bad, {"a": X})
    with pytest.raises(errors.DTypeError, match="floats"):
        optimizers.sgd(lambda x, i: x, np.arange(3))


def test_fixed_points_have_the_derivative_of_the_equation():
    def solution(a):
        return fixed_point(
            lambda a: lambda x: np.cos(a * x), a, np.ones(3), lambda x, y: np.max(abs(x - y)), 1e-14
        )

    a = np.array([0.2, 0.5, 0.8])
    x = solution(a)
    np.testing.assert_allclose(x, np.cos(a * x), rtol=1e-13)
    slope = -x * np.sin(a * x) / (1 + a * np.sin(a * x))
    np.testing.assert_allclose(jacobian(solution)(a), np.diag(slope), atol=1e-12)
    check_grads(solution)(a)


def test_const_graphs_follow_branches():
    f = const_graph(lambda k, x: k * x if x[0] > 0 else -(x**2), 3.0)
    for x in (abs(X), -abs(X), 2 * abs(X)):
        np.testing.assert_allclose(f(x), 3 * x if x[0] > 0 else -(x**2))


# ---- scipy -------------------------------------------------------------------------------------------

SIZES = [((5,), (3,)), ((3,), (5,)), ((6,), (6,)), ((4, 6), (2, 3)), ((3, 4), (3, 4)), ((2, 2), (4, 5))]


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize(("a", "b"), SIZES)
def test_convolutions_have_the_values_of_scipy(a, b, mode):
    A, B = RNG.normal(size=a), RNG.normal(size=b)
    np.testing.assert_allclose(convolve(A, B, mode=mode), scipy_signal.convolve(A, B, mode), atol=1e-13)
    check_grads(lambda A, B: convolve(A, B, mode=mode), (0, 1), order=1)(A, B)


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolutions_along_some_axes_are_sums_of_those_of_vectors(mode):
    A, B = RNG.normal(size=(2, 3, 6)), RNG.normal(size=(3, 4, 3))
    found = convolve(A, B, axes=([2], [2]), dot_axes=([1], [0]), mode=mode)
    for i in range(2):
        for j in range(4):
            wanted = sum(np.convolve(A[i, k], B[k, j], mode) for k in range(3))
            np.testing.assert_allclose(found[i, j], wanted, atol=1e-13)
    check_grads(lambda A, B: convolve(A, B, ([2], [2]), ([1], [0]), mode), (0, 1), order=1)(A, B)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"mode": "half"}, errors.OptionError),
        ({"axes": ([0], [0, 1])}, errors.OptionError),
        ({"axes": ([0], [2])}, errors.OptionError),
        ({"axes": ([0], [0]), "dot_axes": ([0], [1])}, errors.OptionError),
        ({"axes": ([0], [0]), "dot_axes": ([1], [1])}, errors.ShapeError),
        ({"mode": "valid"}, errors.ShapeError),
    ],
)
def test_convolutions_that_do_not_fit(options, error):
    with pytest.raises(error, match="convolve"):
        convolve(np.ones((4, 2)), np.ones((3, 3)), **options)


def test_convolutions_of_different_axes_need_a_choice():
    with pytest.raises(errors.OptionError, match="Say with axes"):
        convolve(np.ones((4, 2)), np.ones(3))


def test_differential_equations():
    a, times = np.array([[0.0, 1.0], [-1.0, -0.2]]), np.array([0.0, 0.5, 1.5])

    def solved(y0, times, a):
        return odeint(lambda y, t, a: a @ y, y0, times, (a,), rtol=1e-10, atol=1e-10)

    y0 = np.array([1.0, 0.5])
    expected = np.stack([expm(a * t) @ y0 for t in times])
    np.testing.assert_allclose(solved(y0, times, a), expected, atol=1e-8)
    np.testing.assert_allclose(jacobian(solved)(y0, times, a)[2], expm(a * 1.5), atol=1e-7)
    by_time = make_jvp(solved, 1)(y0, times, a)(np.array([0.0, 0.0, 1.0]))[1]
    np.testing.assert_allclose(by_time[2], a @ expected[2], atol=1e-7)
    flipped = odeint(lambda t, y: -y, y0, times, tfirst=True)
    np.testing.assert_allclose(flipped, np.exp(-times)[:, None] * y0, atol=1e-6)
    options = {"rtol": 0.01, "mxstep": 5000, "hmax": 0.3}
    theirs = integrate.odeint(lambda y, t: a @ y, y0, times, **options)
    np.testing.assert_array_equal(odeint(lambda y, t: a @ y, y0, times, **options), theirs)


# ---- checks ------------------------------------------------------------------------------------------


def wrong(order: int) -> Any:
    """The identity, whose derivative of some order is wrong by one in a thousand."""

    @extend.primitive
    def f(x):
        return x

    factor = 1.001 if order == 1 else 1.0
    inner = wrong(order - 1) if order > 1 else (lambda g: g)
    extend.defvjp(f, lambda ans, x: lambda g: factor * inner(g))
    return f


@pytest.mark.parametrize("order", [1, 2])
def test_wrong_derivatives_are_found_at_their_order(order):
    check_grads(wrong(3), modes=["rev"], order=order)(X)
    with pytest.raises(AssertionError, match="is wrong"):
        check_grads(wrong(order), modes=["rev"], order=order)(X)
    if order > 1:
        check_grads(wrong(order), modes=["rev"], order=order - 1)(X)


def off_by(share):
    """The identity, whose derivatives in both modes are wrong by this share."""

    @extend.primitive
    def f(x):
        return x

    extend.defvjp(f, lambda ans, x: lambda g: (1 + share) * g)
    extend.defjvp(f, lambda t, ans, x: (1 + share) * t)
    return f


@pytest.mark.parametrize("check", [check_vjp, check_jvp, lambda f, x: check_grads(f, order=1)(x)])
@pytest.mark.parametrize(
    ("x", "narrow"),
    [
        (np.array([0.5, -1.5]), np.float32([0.5, -1.5])),
        ({"a": 0.5 - 1.5j}, {"a": np.complex64(0.5 - 1.5j)}),
        ([0.5, np.array([-1.5])], [0.5, np.float32([-1.5])]),
    ],
)
def test_derivatives_may_be_off_by_a_millionth_where_all_are_doubles_and_else_by_more(check, x, narrow):
    def each(f):
        return lambda x: tree.map(f, x)

    check(each(off_by(3e-7)), x)
    check(each(off_by(1e-5)), narrow)
    check(each(np.tanh), narrow)
    for given, share in ((x, 1e-5), (narrow, 1e-2)):
        with pytest.raises(AssertionError, match="is wrong"):
            check(each(off_by(share)), given)


@pytest.mark.parametrize("check", [check_vjp, check_jvp, lambda f, x: check_grads(f, order=1)(x)])
def test_checks_of_doubles_may_be_near_a_kink(check):
    check(np.abs, np.array([1e-5, -1e-5]))
    with pytest.raises(AssertionError, match="cannot be trusted"):
        check(np.abs, np.array([1e-7, 1.0]))


def test_checks_of_one_mode():
    for check in (check_vjp, check_jvp):
        check(np.tanh, X)
        with pytest.raises(AssertionError):
            check(wrong(1), X)
    combo_check(np.prod, order=1)([np.ones((2, 2)), np.full((3, 1), 2.0)], axis=[0, 1])
    with pytest.raises(AssertionError):
        combo_check(lambda x, k: wrong(k)(x), order=1)([X], k=[2, 1])


def test_closeness():
    assert scalar_close(1e9, 1e9 + 1)
    assert not scalar_close(1.0, 1.01)
    check_equivalent({"a": [X]}, {"a": [X + 1e-8]})
    for other in (
        {"a": (X,)},
        {"a": [X + 1e-3]},
        {"a": [X[:2]]},
        {"a": [X.astype(np.float32)]},
        {"a": [X * np.nan]},
    ):
        with pytest.raises(AssertionError):
            check_equivalent({"a": [X]}, {"a": other})


def test_a_pullback_checks_its_vector():
    vjp, _ = make_vjp(np.sin)(X)
    with pytest.raises(errors.SeedError, match="shape"):
        vjp(np.ones(2))
