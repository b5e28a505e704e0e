"""`tape.compat.autograd`: its operators against each other, and programs against autograd itself."""

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

import tape
import tape.compat.autograd as ag
import tape.compat.autograd.numpy as anp
from tape import errors, tree
from tape.compat.autograd import core

RNG = np.random.default_rng(0)
X, Y, V = RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=3)
MATRIX = RNG.normal(size=(3, 3))
PARAMS = {"layers": [(MATRIX, X), (MATRIX.T, Y)], "scale": 0.7}


def network(params: Any, x: Any) -> Any:
    for w, b in params["layers"]:
        x = np.tanh(w @ x + b)
    return params["scale"] * np.sum(x**2)


def close(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    """Check two containers: one structure, arrays in one, numbers of one size."""
    assert tree.structure(found) == tree.structure(expected)
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert isinstance(a, (np.ndarray, np.generic, float))
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.max(np.abs(b), initial=1e-3))


# ---- gradients -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_number_may_have_any_shape(shape):
    def f(x):
        return np.reshape(np.sum(np.sin(x)), shape)

    close(ag.grad(f)(X), np.cos(X))
    value, gradient = ag.value_and_grad(f)(X)
    assert np.shape(value) == shape
    close(gradient, np.cos(X))
    close(ag.hessian_vector_product(f)(X, V), -np.sin(X) * V)
    close(ag.make_hvp(f)(X)[0](V), -np.sin(X) * V)
    close(ag.hessian(f)(X), np.reshape(np.diag(-np.sin(X)), (*shape, 3, 3)))


@pytest.mark.parametrize(
    "f",
    [np.sin, lambda x: (np.sum(x), np.sum(x)), lambda x: np.sum(x) + 1j, lambda x: x[:0], lambda x: {}],
    ids=["vector", "tuple", "complex", "empty", "dict"],
)
@pytest.mark.parametrize("operator", [ag.grad, ag.value_and_grad, ag.hessian_vector_product])
def test_other_results_have_no_gradient(operator, f):
    name = "hessian_tensor_product" if operator is ag.hessian_vector_product else operator.__name__
    with pytest.raises(TypeError, match=rf"^{name}: {f.__name__} returned .* one real number"):
        operator(f)(*[X, X] if operator is ag.hessian_vector_product else [X])


@pytest.mark.parametrize(
    "name",
    ["deriv", "elementwise_grad", "grad", "grad_and_aux", "hessian_tensor_product", "holomorphic_grad",
     "jacobian", "make_hvp", "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict",
     "tensor_jacobian_product", "value_and_grad"],
)  # fmt: skip
def test_what_is_no_function_is_refused_by_the_name_of_the_operator(name):
    with pytest.raises(errors.UnsupportedError, match=f"^{name} expects a function, and got 3, of"):
        getattr(ag, name)(3)


@pytest.mark.parametrize("name", ["make_hvp", "multigrad_dict", "holomorphic_grad"])
def test_operators_name_themselves_where_a_result_is_not_one_number(name):
    number = "number" if name == "holomorphic_grad" else "real number"
    with pytest.raises(
        errors.UnsupportedError, match=f"^{name}: <lambda> returned .* must return one {number}"
    ):
        getattr(ag, name)(lambda x: x * 2.0)(X + 1j if name == "holomorphic_grad" else X)


def test_the_loss_of_a_gauss_newton_product_is_a_function():
    with pytest.raises(errors.UnsupportedError, match=r"^make_ggnvp expects a function, and got 3, of"):
        ag.make_ggnvp(np.sin, 3)
    with pytest.raises(errors.UnsupportedError, match=r"^make_ggnvp expects a function, and got 4, of"):
        ag.make_ggnvp(4)


@pytest.mark.parametrize("argnum", [0, 1, -1, (1,), (1, 0), [0, 1]], ids=str)
def test_argnum_chooses_arguments(argnum):
    def f(x, y, scale=1.0):
        return scale * np.sum(x**2 * np.sin(y))

    by_position = [6 * X * np.sin(Y), 3 * X**2 * np.cos(Y)]
    expected = by_position[argnum] if isinstance(argnum, int) else tuple(by_position[k] for k in argnum)
    close(ag.grad(f, argnum)(X, Y, scale=3.0), expected)
    close(ag.value_and_grad(f, argnum)(X, Y, scale=3.0)[1], expected)
    close(ag.elementwise_grad(f, argnum)(X, Y, scale=3.0), expected)
    vjp, value = ag.make_vjp(f, argnum)(X, Y, scale=3.0)
    close(value, f(X, Y, 3.0))
    close(vjp(1.0), expected)
    ones = np.ones(3) if isinstance(argnum, int) else tuple(np.ones(3) for _ in argnum)
    total = sum(np.sum(leaf) for leaf in tree.leaves(expected))
    close(ag.make_jvp(f, argnum)(X, Y, scale=3.0)(ones)[1], total)
    close(ag.deriv(f, argnum)(X, Y, scale=3.0), total)


def test_the_core_takes_functions_of_one_argument():
    vjp, value = core.make_vjp(lambda x: np.sin(x) * 2, X)
    close(value, 2 * np.sin(X))
    close(vjp(Y), 2 * Y * np.cos(X))
    close(core.make_jvp(lambda x: np.sin(x) * 2, X)(Y)[1], 2 * Y * np.cos(X))


@pytest.mark.parametrize("argnum", [None, 1.0, "x", True, (), (0, "y")], ids=repr)
def test_bad_argnums_are_refused_before_the_call(argnum):
    for operator in (ag.grad, ag.value_and_grad, ag.elementwise_grad, ag.jacobian, ag.make_vjp, ag.deriv):
        with pytest.raises(errors.OptionError, match="argnum"):
            operator(np.sum, argnum)


def test_an_argument_that_is_not_there():
    for operator in (ag.grad, ag.make_vjp, ag.make_jvp, ag.jacobian):
        with pytest.raises(errors.OutOfBoundsError, match="2"):
            operator(np.sum, 2)(X)


def test_containers_have_gradients_of_their_structure():
    gradient = ag.grad(network)(PARAMS, X)
    close(gradient, tape.grad(network)(PARAMS, X))
    assert type(gradient["layers"]) is list
    assert type(gradient["layers"][0]) is tuple
    vector, unflatten = tree.ravel(PARAMS)
    close(tree.ravel(gradient)[0], ag.grad(lambda v: network(unflatten(v), X))(vector))


def test_integers_are_refused():
    with pytest.raises(TypeError, match="Only floats"):
        ag.grad(np.sum)(np.arange(3))


def test_gradient_and_auxiliary_results():
    gradient, aux = ag.grad_and_aux(lambda x: (np.sum(x**2), {"twice": 2 * x, "name": "f"}))(X)
    close(gradient, 2 * X)
    close(aux["twice"], 2 * X)
    assert aux["name"] == "f"
    close(ag.grad_and_aux(lambda x: [x**2, 0.0])(X)[0], 2 * X)


def test_gradients_by_name():
    def f(a, *rest, b=2.0, **others):
        return np.sum(a * b) * rest[0] ** 2 * others["c"]

    found = ag.multigrad_dict(f)(X, 3.0, c=5.0)
    assert list(found) == ["a", "rest", "b", "others"]
    close(dict(found), {"a": 90.0 * np.ones(3), "rest": (60 * X.sum(),), "b": 45 * X.sum(),
                        "others": {"c": 18 * X.sum()}})  # fmt: skip

    def g(x, y):
        return x * y**2

    close(ag.grad_named(g, "y")(2.0, 3.0), np.float64(12.0))
    with pytest.raises(errors.OptionError, match=r"no argument 'z'.* x, y"):
        ag.grad_named(g, "z")


# ---- products and matrices ---------------------------------------------------------------------------


def curve(x: Any) -> Any:
    return np.sin(MATRIX @ x) * x[0]


def test_products_agree_with_matrices():
    J = ag.jacobian(curve)(X)
    close(ag.make_vjp(curve)(X)[0](V), J.T @ V)
    close(ag.make_jvp(curve)(X)(V)[1], J @ V)
    close(ag.make_jvp_reversemode(curve)(X)(V), J @ V)
    close(ag.vector_jacobian_product(curve)(X, V), V @ J)
    close(ag.make_ggnvp(curve)(X)(V), J.T @ (J @ V))
    H = ag.hessian(lambda y: np.sum(np.cosh(y)))(curve(X))
    close(ag.make_ggnvp(curve, lambda y: np.sum(np.cosh(y)))(X)(V), J.T @ (H @ (J @ V)))
    close(ag.make_ggnvp(lambda k, x: k * curve(x), f_argnum=1)(2.0, X)(V), 4 * J.T @ (J @ V))
    H = ag.hessian(lambda x: np.sum(curve(x)))(X)
    close(ag.hessian_vector_product(lambda x: np.sum(curve(x)))(X, V), H @ V)
    close(ag.make_hvp(lambda x: np.sum(curve(x)))(X)[0](V), H @ V)


def test_tensors_are_summed_over_their_axes():
    def f(a, x):
        return a @ np.outer(x, x)

    T, J = RNG.normal(size=(3, 3)), ag.jacobian(f, 1)(MATRIX, X)
    close(ag.tensor_jacobian_product(f, 1)(MATRIX, X, T), np.tensordot(T, J, 2))
    close(ag.tensor_jacobian_product(f, 1)(MATRIX, X, V), np.tensordot(V, J, 1))
    H = ag.hessian(lambda a: np.sum(np.sin(a) @ a))(MATRIX)
    close(ag.hessian_tensor_product(lambda a: np.sum(np.sin(a) @ a))(MATRIX, T), np.tensordot(H, T, 2))


@pytest.mark.parametrize(
    ("shape", "result"), [((), ()), ((), (2,)), ((3,), ()), ((3,), (2, 3)), ((2, 2), (4,))]
)
def test_jacobians_have_the_shapes_of_result_and_argument(shape, result):
    x = RNG.normal(size=shape)

    def f(x):
        return np.sum(np.sin(x)) * np.ones(result)

    close(ag.jacobian(f)(x), np.ones(result)[(...,) + (None,) * len(shape)] * np.cos(x))
    assert ag.hessian(f)(x).shape == (*result, *shape, *shape)


def test_holomorphic_functions():
    z = 0.3 + 0.4j
    close(ag.holomorphic_grad(lambda z: np.exp(z) * z)(z), np.exp(z) * (1 + z))
    close(ag.grad(lambda z: np.real(np.exp(z)))(z), np.exp(z))
    close(ag.deriv(np.exp)(z), np.exp(z) * (1 + 1j))  # along both units, as in autograd
    close(ag.grad_and_aux(lambda x: (x * (2 + 3j), None))(X)[0], np.full(3, -1.0))
    with pytest.warns(UserWarning, match="not complex"):
        ag.holomorphic_grad(np.sin)(1.0)


def test_operators_nest():
    derivative = np.tanh
    for _ in range(4):
        derivative = ag.elementwise_grad(derivative)
    t = np.tanh(X)
    close(derivative(X), 8 * t * (1 - t**2) * (2 - 3 * t**2), 1e-10)
    close(ag.grad(lambda x: x * ag.grad(lambda y: x * y**2)(3.0))(2.0), np.float64(24.0))
    close(ag.grad(ag.checkpoint(network))(PARAMS, X), ag.grad(network)(PARAMS, X))


def test_a_constant_result_has_zero_gradient_and_a_warning():
    with pytest.warns(UserWarning, match="does not depend"):
        close(ag.grad(lambda x: 1.0)(X), np.zeros(3))


def test_compiled_like_eager():
    step = tape.compile(lambda params, x: ag.value_and_grad(network)(params, x))
    for scale in (1.0, -2.0, 0.5):
        close(step(PARAMS, scale * X), ag.value_and_grad(network)(PARAMS, scale * X))


def test_builtins_see_through_vars():
    seen = []

    def f(x, pair):
        seen.extend([ag.isinstance(x, float), ag.isinstance(x, int), ag.type(x) is np.float64])
        seen.extend([ag.isinstance(pair, tuple), ag.isinstance(pair[0], anp.ndarray)])
        seen.append(ag.type(pair[0]) is anp.ndarray)
        return x * np.sum(ag.tuple(pair)[0]) + ag.list(pair)[1] + ag.dict(k=x)["k"]

    ag.grad(f, (0, 1))(2.0, (X, 3.0))
    assert seen == [True, False, True, True, True, True]


# ---- autograd itself ---------------------------------------------------------------------------------


def programs(ag: Any, np: Any) -> dict[str, Any]:
    """Programs in autograd's names, which return derivatives: of both packages."""
    norm = importlib.import_module(f"{ag.__name__}.scipy.stats.norm")
    mvn = importlib.import_module(f"{ag.__name__}.scipy.stats.multivariate_normal")
    special = importlib.import_module(f"{ag.__name__}.scipy.special")
    signal = importlib.import_module(f"{ag.__name__}.scipy.signal")
    optimizers = importlib.import_module(f"{ag.__name__}.misc.optimizers")
    flatten = importlib.import_module(f"{ag.__name__}.misc").flatten
    data = RNG_DATA

    def recurrent(params):
        h, total = np.zeros((4, 3)), 0.0
        for row in data:
            h = np.tanh(np.dot(row, params["w"]) + np.dot(h, params["u"]) + params["h0"])
            total = total + np.sum(h - special.logsumexp(h, axis=1, keepdims=True))
        return total

    def mixture(params):
        weights, means, roots = params
        parts = [
            w + mvn.logpdf(data[0], m, np.dot(r, r.T) + np.eye(3))
            for w, m, r in zip(weights, means, roots, strict=True)
        ]
        return np.sum(special.logsumexp(np.vstack(parts), axis=0))

    def bound(params):
        mean, log_std = np.split(params, 2)
        samples = data[0] * np.exp(log_std) + mean
        return np.mean(np.sum(norm.logpdf(samples, 0.5, 2.0), axis=-1)) + np.sum(log_std + 0.5)

    def process(params):
        x = np.linspace(0.0, 1.0, 4)
        distance = (x[:, None] - x) / np.exp(params[0])
        covariance = np.exp(params[1] - 0.5 * distance**2) + np.exp(params[2]) * np.eye(4)
        return mvn.logpdf(np.sin(x), np.zeros(4), covariance) + np.log(np.linalg.det(covariance))

    def filtered(kernel):
        full = signal.convolve(data[:, 0], kernel, axes=([1], [1]), dot_axes=([0], [0]), mode="same")
        return np.sum(np.maximum(full, 0.1 * full) ** 2)

    def markov(params):
        log_transition = params - special.logsumexp(params, axis=1, keepdims=True)
        alpha = np.zeros(3)
        for row in data[:, 0]:
            alpha = special.logsumexp(alpha[:, None] + log_transition, axis=0) + row[:3]
        return special.logsumexp(alpha)

    def trained(rate):
        step = ag.grad(lambda x, i: np.sum((np.sin(x) - 0.3 * i) ** 2))
        return np.sum(optimizers.adam(step, np.ones(2), num_iters=5, step_size=rate) ** 2)

    weights = {"w": RNG_DATA[0, :3, :3], "u": RNG_DATA[1, :3, :3], "h0": RNG_DATA[2, 0]}
    return {
        "recurrent": lambda: ag.value_and_grad(recurrent)(weights),
        "mixture": lambda: ag.grad(mixture)((X, [X, Y, V], [MATRIX, MATRIX.T, 2 * MATRIX])),
        "bound": lambda: ag.grad(bound)(np.concatenate([X, 0.1 * Y])),
        "process": lambda: ag.hessian(process)(np.array([0.3, 0.1, -1.0])),
        "filtered": lambda: ag.grad(filtered)(RNG_DATA[:, 1, :2]),
        "markov": lambda: ag.jacobian(ag.grad(markov))(MATRIX),
        "trained": lambda: ag.grad(trained)(0.1),
        "flattened": lambda: ag.grad(lambda p: np.sum(flatten(p)[0] ** 3))(weights),
        "ggnvp": lambda: ag.make_ggnvp(lambda x: np.tanh(np.dot(MATRIX, x)))(X)(V),
        "hvp": lambda: ag.make_hvp(lambda x: np.sum(np.exp(np.outer(x, x))))(X)[0](V),
        "complex": lambda: ag.grad(lambda z: np.sum(np.abs(np.fft.fft(z)) ** 4))(X + 1j * Y),
        "holomorphic": lambda: ag.holomorphic_grad(lambda z: np.sum(np.exp(z) * z))(X + 1j * Y),
        "eigh": lambda: ag.grad(lambda a: np.sum(np.linalg.eigh(a + a.T)[0] ** 3))(MATRIX),
        "solve": lambda: ag.jacobian(lambda a: np.linalg.solve(a, X))(MATRIX),
    }


RNG_DATA = RNG.normal(size=(5, 4, 3))
NAMES = list(programs(ag, anp))


@pytest.mark.parametrize("name", NAMES)
def test_programs_have_the_derivatives_of_autograd(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # autograd's own
        autograd = importlib.import_module("autograd")
        expected = programs(autograd, importlib.import_module("autograd.numpy"))[name]()
    close(programs(ag, anp)[name](), expected, 1e-10)
