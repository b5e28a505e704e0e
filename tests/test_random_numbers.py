"""Random numbers of `tape.random`: the numbers of NumPy, their distributions and their derivatives."""

import copy
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from scipy import stats

import tape
from tape.errors import DTypeError, OptionError, ShapeError, UnsupportedError
from tape.random import Generator, default_rng
from tests.tiers import is_full, rounds, some

MOVED = {
    "normal": (1.0, 2.0), "uniform": (1.0, 3.0), "laplace": (1.0, 2.0), "logistic": (1.0, 2.0),
    "gumbel": (1.0, 2.0), "exponential": (2.0,), "lognormal": (0.5, 0.7), "rayleigh": (2.0,),
    "weibull": (1.7,), "pareto": (2.5,), "power": (2.5,), "triangular": (0.0, 0.7, 2.0),
}  # fmt: skip
"""Distributions whose samples are smooth functions of standard numbers, and parameters."""
IMPLICIT = {
    "standard_gamma": (1.7,), "gamma": (0.7, 2.0), "chisquare": (3.0,), "beta": (0.7, 2.0),
    "standard_t": (3.0,), "f": (3.0, 5.0), "wald": (1.0, 2.0), "vonmises": (0.5, 2.0),
}  # fmt: skip
"""Those whose samples move at a fixed probability."""
UNMOVED = {
    "integers": (2, 9), "binomial": (5, 0.3), "geometric": (0.3,), "hypergeometric": (5, 6, 7),
    "logseries": (0.3,), "negative_binomial": (3, 0.4), "poisson": (3.0,), "zipf": (2.5,),
    "noncentral_chisquare": (3.0, 1.0), "noncentral_f": (3.0, 4.0, 1.0),
    "multinomial": (5, np.array([0.2, 0.3, 0.5])), "multivariate_hypergeometric": (np.array([3, 4, 5]), 4),
}  # fmt: skip
STANDARD = dict.fromkeys(("random", "standard_normal", "standard_exponential", "standard_cauchy"), ())
WHOLE = {
    "dirichlet": (np.array([0.5, 1.0, 2.0]),),
    "multivariate_normal": (np.array([1.0, 2.0]), np.array([[2.0, 0.5], [0.5, 1.0]])),
}
FROZEN = {
    "normal": stats.norm, "uniform": lambda low, high: stats.uniform(low, high - low),
    "laplace": stats.laplace, "logistic": stats.logistic, "gumbel": stats.gumbel_r,
    "exponential": lambda s: stats.expon(scale=s),
    "lognormal": lambda m, s: stats.lognorm(s, scale=np.exp(m)),
    "rayleigh": lambda s: stats.rayleigh(scale=s),
    "weibull": stats.weibull_min, "pareto": stats.lomax, "power": stats.powerlaw,
    "triangular": lambda a, m, b: stats.triang((m - a) / (b - a), a, b - a), "standard_gamma": stats.gamma,
    "gamma": lambda a, s: stats.gamma(a, scale=s), "chisquare": stats.chi2, "beta": stats.beta,
    "standard_t": stats.t, "f": stats.f, "wald": lambda m, s: stats.invgauss(m / s, scale=s),
    "vonmises": lambda mu, k: stats.vonmises(k, loc=mu),
}  # fmt: skip
"""The distributions in SciPy."""


def of(name, /, *parameters, size=None, seed=3, **keywords):
    """A sample, of a new generator."""
    return getattr(default_rng(seed), name)(*parameters, size=size, **keywords)


@pytest.mark.parametrize("kind", some(["PCG64", "MT19937", "Philox", "SFC64", "PCG64DXSM"], every=3))
def test_numbers_and_states_are_those_of_numpy_with_and_without_vars(kind):
    for method, parameters in (STANDARD | MOVED | IMPLICIT | UNMOVED | WHOLE).items():
        for size in (None, 4, (2, 3)):
            plain = np.random.Generator(getattr(np.random, kind)(5))
            expected = getattr(plain, method)(*parameters, size=size)
            rng = Generator(getattr(np.random, kind)(5))
            found = getattr(rng, method)(*parameters, size=size)
            assert np.array_equal(found, expected), method
            assert isinstance(found, (np.ndarray, np.generic)), method
            assert same_state(rng, plain)
            if method in UNMOVED or not parameters:
                continue
            trace = tape.Trace()
            rng = Generator(getattr(np.random, kind)(5))
            found = getattr(rng, method)(*[trace.param(p) for p in parameters], size=size)
            np.testing.assert_allclose(found.value, expected, rtol=1e-13, err_msg=method)
            assert same_state(rng, plain), method


OPTIONS = {
    "from zero": lambda rng: rng.integers(7, size=9),
    "of a dtype, with the end": lambda rng: rng.integers([[1], [250]], 255, (2, 9), np.uint8, endpoint=True),
    "without the end": lambda rng: rng.integers(1, 2, 9, endpoint=False),
    "bools": lambda rng: rng.integers(0, 2, 9, dtype=bool),
    "each once": lambda rng: rng.choice(9, 9, replace=False),
    "each once, in order": lambda rng: rng.choice(9, 9, replace=False, shuffle=False),
    "by their probabilities": lambda rng: rng.choice(4, 9, p=[0.1, 0.0, 0.2, 0.7]),
    "each once, by their probabilities": lambda rng: rng.choice(4, 3, False, [0.1, 0.1, 0.2, 0.6]),
    "columns": lambda rng: rng.choice(np.arange(12).reshape(3, 4), (2, 2), axis=-1, shuffle=False),
    "an order of columns": lambda rng: rng.permutation(np.arange(12).reshape(3, 4), axis=-1),
    "each row in an order": lambda rng: rng.permuted(np.arange(12).reshape(3, 4), axis=-1),
    "counts of colours": lambda rng: rng.multivariate_hypergeometric([3, 4, 5], 6, 4, method="count"),
    "counts of several": lambda rng: rng.multinomial([[5], [6]], [0.2, 0.8], size=(2, 3)),
    "exponentials by inversion": lambda rng: rng.standard_exponential(4, method="inv"),
    "narrow exponentials": lambda rng: rng.standard_exponential((2, 2), np.float32, "inv"),
    "narrow gammas": lambda rng: rng.standard_gamma([0.5, 2.0], dtype=np.float32),
    "covariances unchecked": lambda rng: rng.multivariate_normal(
        [0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], 3, check_valid="ignore"
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_those_of_numpy_also_in_programs(name):
    draw = OPTIONS[name]
    plain, rng = np.random.default_rng(6), default_rng(6)
    program = tape.compile(lambda rng, x: (draw(rng), x))
    for run in (draw, lambda rng: program(rng, 1.0)[0], lambda rng: program(rng, 2.0)[0]):
        found, expected = run(rng), draw(plain)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)
        assert same_state(rng, plain)


def same_state(a, b):
    pairs = zip(leaves(a.bit_generator.state), leaves(b.bit_generator.state), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs)


def leaves(state):
    return [x for v in state.values() for x in (leaves(v) if isinstance(v, dict) else [v])]


def test_parameters_broadcast_as_in_numpy():
    loc, scale = np.arange(3.0), np.array([[1.0], [2.0]])
    for method in ("normal", "gumbel", "vonmises", "gamma", "beta", "f", "wald"):
        first = loc + 1 if method in ("gamma", "beta", "f", "wald") else loc
        expected = getattr(np.random.default_rng(3), method)(first, scale)
        gradient = tape.grad(lambda a, b, m=method: np.sum(of(m, a, b)), argnums=(0, 1))(first, scale)
        assert np.array_equal(of(method, first, scale), expected)
        value = tape.vjp(partial(of, method), first, scale)[0]
        np.testing.assert_allclose(value, expected, rtol=1e-14)
        assert gradient[0].shape == (3,)
        assert gradient[1].shape == (2, 1)
        with pytest.raises(ShapeError):
            tape.grad(lambda a, m=method, b=scale: np.sum(of(m, a, b, size=3)))(first)


@pytest.mark.parametrize("method", FROZEN)
def test_samples_have_their_distribution(method):
    count = 10**6 if is_full() else 10**4
    parameters = (MOVED | IMPLICIT)[method]
    found = of(method, *parameters, size=count, seed=11)
    frozen = FROZEN[method](*parameters)
    if method == "vonmises":  # SciPy's is around its mode, and takes long
        found = (found + 2 * np.pi * np.rint((parameters[0] - found) / (2 * np.pi)))[: count // 10]
    else:
        assert abs(found.mean() - frozen.mean()) < 5 * frozen.std() / np.sqrt(len(found))
    assert stats.kstest(found, frozen.cdf).pvalue > 1e-3


# ---- derivatives -----------------------------------------------------------------------------------------


SHAPES = {1: [((),), ((2, 3),)], 2: [((2, 3), (3,)), ((3, 1), (4,)), ((), (2, 3))], 3: [((2, 3), (), (3,))]}


@pytest.mark.parametrize("method", MOVED)
def test_samples_are_functions_of_their_parameters(method):
    """Differences see them move: in both modes, twice, broadcast, and in programs."""
    parameters = MOVED[method]
    tape.testing.check_grads(partial(of, method, size=(2, 3)), parameters, order=2)
    rng = np.random.default_rng(1)
    for shapes in SHAPES[len(parameters)]:
        args = [p * rng.uniform(0.9, 1.1, s) for p, s in zip(parameters, shapes, strict=True)]
        tape.testing.check_grads(partial(of, method), args, order=1)
        value, pull = tape.vjp(partial(of, method), *args)
        assert type(value) is type(of(method, *args))
        ones = np.ones_like(value)
        program = tape.compile(lambda *args, g=ones: tape.vjp(partial(of, method), *args)[1](g))
        for found, expected in zip(program(*args), pull(ones), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        narrow = [np.asarray(x, np.float32)[()] for x in args]
        with tape.Trace() as trace:
            single = of(method, *map(trace.param, narrow), dtype=np.float32)
        assert {node.value.dtype for node in trace.nodes if node.value.dtype.kind == "f"} == {np.dtype("f4")}
        np.testing.assert_allclose(single.value, value, rtol=2e-5)


@pytest.mark.parametrize("method", IMPLICIT)
def test_programs_of_implicit_samples(method):
    parameters = [p * np.linspace(0.9, 1.1, 4) for p in IMPLICIT[method]]

    def slopes(*parameters):
        value, pull = tape.vjp(partial(of, method, size=(3, 4)), *parameters)
        return value, pull(np.cos(value))

    (value, found), (expected, slope) = tape.compile(slopes)(*parameters), slopes(*parameters)
    assert np.array_equal(value, expected)
    np.testing.assert_allclose(np.stack(found), np.stack(slope), rtol=1e-11)


@pytest.mark.parametrize("method", IMPLICIT)
def test_samples_follow_a_quantile(method):
    """At a fixed probability, a sample is the quantile function of its parameters."""
    parameters = IMPLICIT[method]
    found = np.asarray(of(method, *parameters, size=7, seed=5))
    p = FROZEN[method](*parameters).cdf(found)
    for k, value in enumerate(parameters):
        step = 1e-4 * value

        def quantile(t, k=k):
            moved = [t if i == k else q for i, q in enumerate(parameters)]
            return FROZEN[method](*moved).ppf(p)

        stencil = [quantile(value + n * step) for n in (-2, -1, 1, 2)]
        expected = (stencil[0] - 8 * stencil[1] + 8 * stencil[2] - stencil[3]) / (12 * step)

        def sample(t, k=k):
            return of(method, *[t if i == k else q for i, q in enumerate(parameters)], size=7, seed=5)

        np.testing.assert_allclose(tape.jvp(sample, (value,), (1.0,))[1], expected, rtol=3e-7, atol=1e-9)
        np.testing.assert_allclose(tape.jacobian(sample, mode="rev")(value), expected, rtol=3e-7, atol=1e-9)
        second = tape.jacobian(tape.jacobian(sample, mode="rev"), mode="fwd")(value)
        step *= 10
        middle, stencil = quantile(value), [quantile(value + n * step) for n in (-2, -1, 1, 2)]
        expected = (-stencil[0] + 16 * stencil[1] - 30 * middle + 16 * stencil[2] - stencil[3]) / (
            12 * step**2
        )
        np.testing.assert_allclose(second, expected, rtol=2e-4, atol=1e-6)


def test_second_derivatives_of_implicit_samples_are_symmetric_and_of_one_mode():
    for method, parameters in IMPLICIT.items():
        if len(parameters) < 2:
            continue
        mean = lambda p, method=method: np.sum(np.sin(of(method, p[0], p[1], size=5)))  # noqa: E731
        p = np.array(parameters)
        hessian = tape.hessian(mean)(p)
        forward = tape.jacobian(tape.jacobian(mean, mode="fwd"), mode="fwd")(p)
        np.testing.assert_allclose(hessian, forward, rtol=1e-9, atol=1e-10, err_msg=method)


def test_third_derivatives_of_implicit_samples_are_refused():
    third = tape.grad(tape.grad(tape.grad(lambda a: of("standard_gamma", a))))
    with pytest.raises(UnsupportedError, match="third"):
        third(2.0)


EXPECTATIONS = {  # of a function: its derivatives by the parameters
    "normal": (np.square, lambda m, s: (2 * m, 2 * s)),
    "gamma": (np.square, lambda a, s: ((2 * a + 1) * s**2, 2 * a * (a + 1) * s)),
    "beta": (lambda x: x, lambda a, b: (b / (a + b) ** 2, -a / (a + b) ** 2)),
    "wald": (np.square, lambda m, s: (2 * m + 3 * m**2 / s, -(m**3) / s**2)),
    "chisquare": (np.square, lambda n: (2 * n + 2,)),
    "exponential": (np.square, lambda s: (4 * s,)),
    "uniform": (np.square, lambda a, b: ((2 * a + b) / 3, (a + 2 * b) / 3)),
}


@pytest.mark.parametrize("method", EXPECTATIONS)
def test_gradients_of_expectations(method):
    f, derivatives = EXPECTATIONS[method]
    parameters = (MOVED | IMPLICIT)[method]
    count = 10**5 if is_full() else 2000
    jacobian = [
        tape.jvp(lambda *p: f(of(method, *p, size=count, seed=8)), parameters, tuple(unit))[1]
        for unit in np.eye(len(parameters))
    ]
    for found, expected in zip(jacobian, derivatives(*parameters), strict=True):
        assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(count)


def test_gradients_of_expectations_of_dirichlet_and_normal_vectors():
    alpha = np.array([0.5, 1.0, 2.0])
    count = 10**5 if is_full() else 2000
    pair = lambda a: a[0] * a[2] / (np.sum(a) * (np.sum(a) + 1))  # noqa: E731
    rows = tape.jacobian(lambda a: np.prod(of("dirichlet", a, size=count)[:, [0, 2]], axis=1), mode="fwd")(
        alpha
    )
    assert np.all(np.abs(rows.mean(0) - tape.grad(pair)(alpha)) < 5 * rows.std(0) / np.sqrt(count))
    mean, cov = WHOLE["multivariate_normal"]
    for method in ("svd", "eigh", "cholesky"):
        sample = lambda c, method=method: of(  # noqa: E731
            "multivariate_normal", mean, (c + c.T) / 2, size=5, method=method
        )
        tape.testing.check_grads(sample, (cov,), order=2 if is_full() else 1)
        expected = np.random.default_rng(3).multivariate_normal(mean, cov, 5, method=method)
        np.testing.assert_allclose(tape.vjp(sample, cov)[0], expected, rtol=1e-13)
    x = of("dirichlet", alpha, size=50)
    pushed = tape.jvp(lambda a: of("dirichlet", a, size=50), (alpha,), (np.ones(3),))[1]
    np.testing.assert_allclose(pushed.sum(-1), 0, atol=1e-15)  # it stays on the simplex
    g = np.cos(x)
    (pulled,) = tape.vjp(lambda a: of("dirichlet", a, size=50), alpha)[1](g)
    np.testing.assert_allclose(np.sum(pulled), np.sum(g * pushed), rtol=1e-13)


def test_small_shapes_underflow_without_nan():
    """Half of the samples of shape 0.001 are rounded to 0: their derivatives are, too."""
    for sample in (
        lambda a: of("standard_gamma", a, size=200), lambda a: of("beta", a, a, size=200),
        lambda a: of("beta", a, 2.0, size=200), lambda a: of("gamma", a, a, size=200),
    ):  # fmt: skip
        slope = tape.grad(lambda a, sample=sample: np.sum(sample(a)))
        assert np.isfinite(slope(1e-3))
        assert np.isfinite(tape.grad(slope)(1e-3))
    found = tape.jacobian(lambda a: of("dirichlet", a, size=100))(np.full(3, 1e-3))
    assert np.all(np.isfinite(found))


# ---- what has no derivative --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", UNMOVED)
def test_samples_that_do_not_move_refuse_a_derivative(method):
    parameters = UNMOVED[method]
    for k, value in enumerate(parameters):
        if np.asarray(value).dtype.kind != "f":
            continue

        def f(t, k=k):
            given = [t if i == k else q for i, q in enumerate(parameters)]
            return np.sum(1.0 * of(method, *given, size=4))

        for derivative in (tape.grad, lambda f: lambda x: tape.jvp(f, (x,), (np.ones_like(x),))):
            with pytest.raises(UnsupportedError, match=method):
                derivative(f)(value)
        stopped = tape.grad(lambda t, f=f: f(tape.stop_gradient(t)) + np.sum(t))(value)
        assert np.array_equal(stopped, np.ones_like(value))
        assert tape.compile(f)(value) == f(value)
        with pytest.raises(UnsupportedError, match=method):
            tape.compile(tape.grad(f))(value)


@pytest.mark.parametrize(
    ("method", "rest", "why"),
    [("poisson", [], "whole numbers"), ("noncentral_f", [9.0, 1.0], "not implemented")],
)
def test_why_there_is_no_derivative_is_told(method, rest, why):
    """Whole numbers have none; that of a noncentral distribution is only not implemented."""
    with pytest.raises(UnsupportedError, match=why):
        tape.grad(lambda t: np.sum(1.0 * of(method, t, *rest, size=4)))(2.0)


def test_a_score_function_estimates_the_gradient():
    lam, count = 3.0, rounds(10**5, 20_000)

    def surrogate(lam):
        x = 1.0 * of("poisson", tape.stop_gradient(lam), size=count)
        return x**2 * (x * np.log(lam) - lam)

    terms = tape.jvp(surrogate, (lam,), (1.0,))[1]
    assert abs(terms.mean() - (2 * lam + 1)) < 5 * terms.std() / np.sqrt(count)


def test_choices_and_orders_move_with_elements():
    x = np.arange(12.0).reshape(4, 3)
    for f in (
        lambda rng, x: rng.permutation(x), lambda rng, x: rng.permutation(x, axis=1),
        lambda rng, x: rng.choice(x, 3, axis=1), lambda rng, x: rng.choice(x, (2, 2), p=[0.1, 0.2, 0.3, 0.4]),
        lambda rng, x: rng.choice(x, 3, replace=False), lambda rng, x: rng.permuted(x, axis=0),
        lambda rng, x: rng.permuted(x, axis=1), lambda rng, x: rng.permuted(x),
    ):  # fmt: skip
        expected = f(np.random.default_rng(2), x)
        assert np.array_equal(f(default_rng(2), x), expected)
        value, pull = tape.vjp(lambda x, f=f: f(default_rng(2), x), x)
        assert np.array_equal(value, expected)
        counts = np.bincount(expected.astype(int).ravel(), minlength=12).reshape(4, 3)
        assert np.array_equal(pull(np.ones_like(expected))[0], counts)
    assert default_rng(2).choice(["a", "b", "c"]) == np.random.default_rng(2).choice(["a", "b", "c"])
    y, z = np.arange(5), np.arange(5)
    default_rng(1).shuffle(y)
    np.random.default_rng(1).shuffle(z)
    assert np.array_equal(y, z)
    with pytest.raises(UnsupportedError, match="permutation"):
        tape.grad(lambda x: default_rng(1).shuffle(x) or x[0])(np.ones(3))


def test_gumbel_softmax_is_a_relaxed_choice():
    logits = np.log([0.2, 0.3, 0.5])
    sample = lambda logits, t: default_rng(0).gumbel_softmax(np.broadcast_to(logits, (5, 3)), t)  # noqa: E731
    tape.testing.check_grads(sample, (logits, 0.7), order=2)
    hard = default_rng(0).gumbel_softmax(np.broadcast_to(logits, (20_000, 3)), 1e-3)
    np.testing.assert_allclose(hard.mean(0), [0.2, 0.3, 0.5], atol=0.02)


def test_a_hard_choice_is_one_of_each_axis():
    logits = np.random.default_rng(0).normal(size=(2, 3, 4))
    for axis in (0, 1, 2, -1):
        soft, hard = [
            tape.nn.gumbel_softmax(logits, np.zeros(logits.shape), hard=hard, axis=axis)
            for hard in (False, True)
        ]
        np.testing.assert_array_equal(hard, soft == soft.max(axis, keepdims=True))


# ---- what varies: dtypes, errors, copies, threads ----


def test_dtype():
    loc = np.ones(3, np.float32)
    for method in (*MOVED, *IMPLICIT):
        parameters = [np.float32(p) for p in (MOVED | IMPLICIT)[method]]
        assert of(method, *parameters, size=3).dtype == np.float64  # as NumPy's
        for f in (partial(of, method, size=3, dtype=np.float32), partial(of, method, size=3)):
            value, pull = tape.vjp(f, *parameters)
            assert value.dtype == f(*parameters).dtype
            np.testing.assert_allclose(value, f(*parameters), rtol=1e-5)
            assert all(g.dtype == np.float32 for g in np.atleast_1d(pull(np.ones_like(value))))
    assert default_rng(0).standard_normal(3, dtype=np.float32).dtype == np.float32
    assert default_rng(0).normal(loc, 1.0, dtype=np.float32).dtype == np.float32
    with pytest.raises(DTypeError):
        default_rng(0).normal(dtype=int)


def test_parameters_out_of_range_are_errors():
    for call in (
        lambda s: of("normal", 0.0, s), lambda s: of("normal", s, s), lambda s: of("gamma", 1.0, s),
        lambda s: of("gamma", s), lambda s: of("exponential", s), lambda s: of("weibull", s),
        lambda s: of("pareto", s), lambda s: of("power", s), lambda s: of("triangular", s, s, s),
        lambda s: of("uniform", 0.0, s), lambda s: of("triangular", 0.0, s, 1.0),
        lambda s: of("beta", s, 1.0),
    ):  # fmt: skip
        for run in (call, tape.grad(call), tape.compile(call), tape.compile(tape.grad(call))):
            with pytest.raises(OptionError):
                run(-1.0)
    with pytest.raises(OptionError):
        Generator(3)
    for f in (
        lambda x: of("normal", size="x"), lambda x: of("normal", x, size="x"), lambda x: of("normal", 1j * x),
        lambda x: of("normal", 1j), lambda x: of("gamma", 1j * x),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            tape.grad(f)(1.0)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda x: of("standard_gamma", x, out=np.zeros(2)), UnsupportedError, "of a Var has no out="),
        (
            lambda x: of("multivariate_normal", x, np.eye(3)),
            ShapeError,
            r"mean has shape \[2\] and cov \[3, 3\]",
        ),
        (lambda x: of("multivariate_normal", x[0], np.eye(2)), ShapeError, r"mean has shape \[\] and cov"),
        (
            lambda x: of("multivariate_normal", x, np.eye(2), method="qr"),
            OptionError,
            "method is 'qr'. It is 'svd'",
        ),
        (lambda x: default_rng(0).permutation(x, axis=1), ShapeError, "there is no axis 1"),
        (lambda x: default_rng(0).permutation(x, axis=-2), ShapeError, "there is no axis -2"),
        (lambda x: default_rng(0).choice(2.5), DTypeError, "2.5 is neither an array nor a number"),
        (
            lambda x: default_rng(x[0]),
            DTypeError,
            "the seed is float64.*recorded. Make the generator outside",
        ),
        (lambda x: of("normal", size=(10**12, 10**6)), OptionError, "normal.*there is not enough memory"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        tape.grad(lambda x: np.sum(call(x)))(np.ones(2))


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_normal_vectors_of_vars_are_those_of_numpy_in_all_ways(method):
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    expected = np.random.default_rng(3).multivariate_normal(mean, cov, 4, method=method)

    def draw(mean, cov):
        return of("multivariate_normal", mean, cov, size=4, method=method)

    found, slope = tape.jvp(draw, (mean, cov), (np.zeros(2), 2 * cov))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(slope, expected - mean, rtol=1e-10)  # deviations grow as the root of variances


@pytest.mark.parametrize("method", ["random", "standard_normal", "standard_exponential"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_drawn_into_arrays(method, dtype):
    for keywords in ({}, {"method": "inv"}) if method == "standard_exponential" else ({},):
        out = np.zeros(3, dtype)
        rng, plain = default_rng(5), np.random.default_rng(5)
        assert getattr(rng, method)(out=out, dtype=dtype, **keywords) is out
        assert np.array_equal(out, getattr(plain, method)(3, dtype=dtype, **keywords))
        assert same_state(rng, Generator(plain.bit_generator))


def test_bytes_orders_and_bit_generators_are_those_of_numpy():
    rng, plain = default_rng(np.random.PCG64(7)), np.random.Generator(np.random.PCG64(7))
    assert repr(rng) == "Generator(PCG64)"
    assert rng.bytes(5) == plain.bytes(5)
    x, out, expected = np.arange(12.0).reshape(3, 4), np.zeros((3, 4)), np.zeros((3, 4))
    assert rng.permuted(x, axis=1, out=out) is out
    assert np.array_equal(out, plain.permuted(x, axis=1, out=expected))
    assert rng.random() == plain.random()


def test_copies_pickles_and_shared_bits():
    rng = default_rng(5)
    rng.random(3)
    for other in (copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))):
        assert other.random() == copy.deepcopy(rng).random()
        other.random(10)
        assert same_state(rng, copy.deepcopy(rng))
        assert not same_state(rng, other)
    plain = np.random.default_rng(1)
    shared = default_rng(plain)
    expected = np.random.default_rng(1).random(4)
    assert [plain.random(), shared.random(), copy.copy(shared).random(), plain.random()] == list(expected)
    assert default_rng(shared) is shared
    a, b = default_rng(3).spawn(2), np.random.default_rng(3).spawn(2)
    assert [one.random() for one in a] == [one.random() for one in b]


def test_threads_share_a_generator_without_repeating_numbers():
    rng = default_rng(0)
    step = tape.compile(lambda x, rng: x + rng.random(50))
    step(0.0, rng)
    with ThreadPoolExecutor(4) as pool:
        found = np.concatenate(list(pool.map(lambda _: step(0.0, rng), range(40))))
    expected = np.random.default_rng(0).random(50 * 41)[50:]
    assert np.array_equal(np.sort(found), np.sort(expected))


def test_names_and_signatures_are_those_of_numpy():
    for name, method in vars(np.random.Generator).items():
        if name.startswith("_") or name == "bit_generator":
            continue
        wanted = inspect.signature(method).parameters
        found = inspect.signature(getattr(Generator, name)).parameters
        own = [p for key, p in found.items() if key in wanted]
        assert [(p.name, p.kind) for p in own] == [(p.name, p.kind) for p in wanted.values()], name
        assert [repr(p.default) for p in own] == [repr(p.default) for p in wanted.values()], name
        assert set(found) - set(wanted) <= {"dtype"}
    out = np.zeros(3)
    assert default_rng(0).standard_gamma(2.0, out=out) is out
    assert np.array_equal(out, np.random.default_rng(0).standard_gamma(2.0, size=3))
    with pytest.raises(UnsupportedError):
        tape.compile(lambda x: default_rng(0).random(out=out) + x)(1.0)
