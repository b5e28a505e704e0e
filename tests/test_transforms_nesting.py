"""Derivatives within derivatives: closures, threads, what is left open, what is constant."""

import functools
import math
import threading
import warnings
from importlib import import_module
from itertools import product

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import interpreter
from tape.core.op import Op
from tests.oracles import assert_close, assert_same

jacobian_file = import_module("tape.transforms.jacobian")

X = np.random.default_rng(0).uniform(0.5, 1.5, (2, 3))

# ---- closures and nesting --------------------------------------------------------------------------


def test_closures_over_vars_of_a_manual_trace():
    tr = tape.Trace()
    w = tr.param(3.0)
    slope = tape.grad(lambda x: w * x**2)(5.0)
    curvature = tape.hessian(lambda x: w**2 * x**2)(5.0)
    pushed = tape.jvp(lambda x: w * x**2, (5.0,), (1.0,))[1]
    block = tape.jacobian(lambda x: w * x)(np.ones(2))[1, 1]
    for result, expected in ((slope, 10), (curvature, 12), (pushed, 10), (block, 1)):
        assert result.trace is tr
        assert tr.backward_param_grads(result) == [expected]
        assert tr.jvp(result, {w: 1.0}) == expected


def test_closures_over_vars_of_nested_manual_traces():
    outer = tape.Trace()
    x = outer.param(2.0)
    inner = tape.Trace()
    y = inner.param(x)
    slope = tape.grad(lambda z: x * y**2 * z**3)(1.0)  # 3 x y**2
    (by_y,) = inner.backward_param_grads(slope)  # 6 x y
    assert (slope.trace, by_y.trace) == (inner, outer)
    assert outer.backward_param_grads(by_y) == [24]  # of 6 x**2, y being x


def test_closures_at_several_depths():
    def f(a):
        return tape.grad(lambda b: tape.grad(lambda c: a**2 * b**3 * c**4)(b))(a)

    # d/dc at b: 4 a**2 b**6; d/db at a: 24 a**7; d/da: 168 a**6
    assert tape.grad(f)(1.5) == pytest.approx(168 * 1.5**6, rel=1e-13)
    with tape.Trace() as tr:
        w = tr.param(1.5)
        manual = tape.Trace()
        m = manual.param(w)
        inner = tape.grad(lambda b: tape.grad(lambda c: w * m * b * c**2)(b))(m)  # 4 w m b
        (by_m,) = manual.backward_param_grads(inner)  # inner is 4 w m**2, by m 8 w m
        assert by_m.trace is tr
        assert tr.backward_param_grads(by_m) == [pytest.approx(16 * 1.5)]
    x = tape.grad(lambda x: tape.hessian(lambda y: np.sum(y * y) * x**3)(np.ones(2))[0, 0])(2.0)
    assert x == 24


def test_closures_over_vars_of_a_trace_that_was_open():
    """A trace keeps its depth when its block ends: what comes later goes inside."""
    with tape.Trace() as tr:
        w = tr.param(3.0)
    slope = tape.grad(lambda x: w * x**2)(5.0)
    assert tr.backward_param_grads(slope) == [10]


def test_closures_over_vars_of_a_manual_trace_made_in_a_block():
    with tape.Trace():
        tr = tape.Trace()
        w = tr.param(3.0)
    slope = tape.grad(lambda x: w * x**2)(5.0)
    assert tr.backward_param_grads(slope) == [10]


def test_closures_over_vars_of_another_threads_traces():
    results = []
    with tape.Trace(), tape.Trace() as tr:
        w = tr.param(3.0)
        thread = threading.Thread(target=lambda: results.append(tape.grad(lambda x: w * x**2)(5.0)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.ConstantResultWarning)
            thread.start()
            thread.join()
        assert tr.backward_param_grads(results[0]) == [10]


def test_perturbations_are_not_confused():
    """The classics: Siskind and Pearlmutter 2005, and Manzyuk et al. 2019."""

    def one(f, x):
        return tape.jvp(f, (x,), (1.0,))[1]

    for inner, outer in product((tape.grad, lambda f: functools.partial(one, f)), repeat=2):
        assert outer(lambda x, inner=inner: x * inner(lambda y: x + y)(1.0))(1.0) == 1
        assert outer(lambda x, inner=inner: x * inner(lambda y: x * y)(2.0))(3.0) == 6
        assert outer(lambda x, inner=inner: inner(lambda y: x * y * y)(x))(3.0) == 12
        assert outer(lambda x, inner=inner: inner(lambda y: inner(lambda z: x * y * z)(y) * x)(x))(2.0) == 4

        def shifted(x, inner=inner):
            return lambda f: lambda y: f(x + y)

        twice = outer(lambda x, s=shifted: s(x)(s(x)(np.exp))(1.0))(0.0)
        assert twice == pytest.approx(2 * math.e)


def test_pullbacks_and_linear_maps_are_differentiated_by_what_they_are_given():
    for scale in (1.0, 2.0):
        _, pullback = tape.vjp(lambda x: x**2, 3.0)
        _, linear_map = tape.linearize(lambda x: x**2, 3.0)
        assert tape.grad(lambda c, p=pullback: p(c)[0] ** 2)(scale) == 72 * scale
        assert tape.grad(lambda v, m=linear_map: m(v) ** 2)(scale) == 72 * scale
    assert tape.grad(lambda x: tape.vjp(lambda y: y**3, x)[1](x)[0])(2.0) == 36
    assert tape.grad(lambda x: tape.linearize(lambda y: y**3, x)[1](x))(2.0) == 36
    _, pullback = tape.vjp(np.sin, X)
    assert_close(tape.jacobian(lambda c: pullback(c)[0])(X)[1, 2, 1, 2], np.cos(X[1, 2]), 1e-15)


def test_derivatives_in_threads():
    x = np.linspace(0.5, 1.5, 4)
    expected = tape.hessian(lambda x: np.prod(x))(x)
    results = [None] * 8

    def work(k):
        results[k] = tape.hessian(lambda x: tape.grad(lambda s: s * np.prod(x))(1.0 + k))(x)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(results))]
    with tape.Trace():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for result in results:
        assert_same(result, expected)


# ---- what is left open -----------------------------------------------------------------------------

FAILING = Op(lambda x: x * 1.0, name="failing", vjp=[lambda g, out, x: 1 / 0], jvp=[lambda t, out, x: 1 / 0])


def fail(x):
    raise ZeroDivisionError


@pytest.mark.parametrize("f", [fail, FAILING, lambda x: tape.grad(fail)(x) + tape.jacobian(FAILING)(x)])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_an_exception_leaves_nothing_open(f, mode):
    x, left_open = np.ones(3), []
    calls = [
        lambda: tape.elementwise_grad(f)(x),
        lambda: tape.jvp(f, (x,), (x,)),
        lambda: tape.jacobian(f, mode=mode)(x),
        lambda: tape.divergence(f)(x),
        lambda: tape.hessian(lambda x: np.sum(f(x)))(x),
        lambda: tape.hvp(lambda x: np.sum(f(x)))(x, x),
    ]
    for call in calls:
        with pytest.raises(ZeroDivisionError):
            call()
        try:
            call()
        except ZeroDivisionError:  # the traceback is alive here, and all it refers to
            left_open.append(interpreter.innermost_open())
    assert left_open == [None] * len(calls)


def test_generators_may_take_derivatives_between_their_values():
    def descent(x):
        while True:
            yield x
            x = x - 0.1 * tape.grad(lambda y: y * y)(x)

    def f(x):
        steps = descent(x)
        return [next(steps) for _ in range(3)][-1]

    assert tape.grad(f)(1.0) == pytest.approx(0.64)
    assert interpreter.innermost_open() is None


# ---- results that do not depend on the argument ----------------------------------------------------


def jvp(f, x):
    return tape.jvp(f, (x,), (1.0,))[1]


LINEAR = {
    "grad": lambda f: tape.grad(tape.grad(f))(2.0),
    "grad, thrice": lambda f: tape.grad(tape.grad(tape.grad(f)))(2.0),
    "elementwise_grad": lambda f: tape.elementwise_grad(tape.elementwise_grad(f))(np.float64(2)),
    "hessian": lambda f: tape.hessian(f)(2.0),
    "laplacian": lambda f: tape.laplacian(f)(2.0),
    "hvp": lambda f: tape.hvp(f)(2.0, 1.0),
    "jvp of grad": lambda f: jvp(tape.grad(f), 2.0),
    "jvp, thrice": lambda f: jvp(lambda x: jvp(lambda y: jvp(f, y), x), 2.0),
    "grad of jvp of jvp": lambda f: tape.grad(lambda x: jvp(lambda y: jvp(f, y), x))(2.0),
    "grad of jvp": lambda f: tape.grad(lambda x: jvp(f, x))(2.0),
    "grad of vjp": lambda f: tape.grad(lambda x: tape.vjp(f, x)[1](1.0)[0])(2.0),
    "grad of linearize": lambda f: tape.grad(lambda x: tape.linearize(f, x)[1](1.0))(2.0),
    "grad of jacobian": lambda f: tape.grad(tape.jacobian(f))(2.0),
    "jacobian of jacobian": lambda f: tape.jacobian(tape.jacobian(f, mode="fwd"))(2.0),
    "jacobian of hessian": lambda f: tape.jacobian(tape.hessian(f))(2.0),
    "grad of divergence": lambda f: tape.grad(tape.divergence(f))(2.0),
    "grad of laplacian": lambda f: tape.grad(tape.laplacian(f))(2.0),
}


@pytest.mark.parametrize("derivative", LINEAR.values(), ids=LINEAR)
def test_the_second_derivative_of_a_linear_function_is_zero_without_a_warning(derivative):
    assert derivative(lambda x: 3.0 * x) == 0


@pytest.mark.parametrize("derivative", LINEAR.values(), ids=LINEAR)
def test_so_it_is_if_the_factor_is_a_var_of_an_enclosing_trace(derivative):
    tr = tape.Trace()
    w = tr.param(3.0)
    assert float(derivative(lambda x: w * x)) == 0


def place_of(function):
    """``test_transforms_nesting.py:line`` for a function written on one line."""
    return f"test_transforms_nesting.py:{function.__code__.co_firstlineno}"


def constant(x):
    return np.float64(3)


CONSTANT = {
    "grad": lambda: tape.grad(constant)(2.0),
    "value_and_grad": lambda: tape.value_and_grad(constant)(2.0)[1],
    "elementwise_grad": lambda: tape.elementwise_grad(constant)(2.0),
    "vjp": lambda: tape.vjp(constant, 2.0)[1](1.0)[0],
    "jvp": lambda: tape.jvp(constant, (2.0,), (1.0,))[1],
    "linearize": lambda: tape.linearize(constant, 2.0)[1](1.0),
    "directional_derivative": lambda: tape.directional_derivative(constant)(2.0, 1.0),
    "jacobian": lambda: tape.jacobian(constant)(2.0),
    "hessian": lambda: tape.hessian(constant)(2.0),
    "laplacian": lambda: tape.laplacian(constant)(2.0),
    "divergence": lambda: tape.divergence(constant)(2.0),
    "hvp": lambda: tape.hvp(constant)(2.0, 1.0),
    "gnvp": lambda: tape.gnvp(constant)(2.0, 1.0),
    "rop": lambda: tape.rop(constant, 2.0, 1.0),
    "double_lop": lambda: tape.rop(constant, 2.0, 1.0, method="double_lop"),
}


@pytest.mark.parametrize("derivative", CONSTANT.values(), ids=CONSTANT)
def test_the_derivative_of_a_constant_is_zero_with_a_warning(derivative):
    with pytest.warns(errors.ConstantResultWarning) as caught:
        assert derivative() == 0
    for warning in caught:
        for word in ("the result of constant", "does not depend on", place_of(derivative)):
            assert word in str(warning.message)
        assert warning.filename == __file__


def test_the_warning_names_the_part_that_is_constant():
    def f(x):
        return {"moves": x, "stays": [x, np.ones(2)]}

    with pytest.warns(errors.ConstantResultWarning, match=r"\['stays'\]\[1\] is float64\[2\]") as caught:
        _, tangent = tape.jvp(f, (2.0,), (1.0,))
    assert len(caught) == 1
    assert_same(tangent["stays"][1], np.zeros(2))
    assert tangent["moves"] == 1


def test_a_jacobian_in_pieces_warns_once(monkeypatch):
    monkeypatch.setattr(jacobian_file, "_BATCH_ELEMENTS", 1)
    with pytest.warns(errors.ConstantResultWarning) as caught:
        tape.jacobian(lambda x: (x, np.ones(2)), mode="fwd")(np.ones(3))
    assert len(caught) == 1


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
def test_the_derivative_of_a_constant_integer_is_zero():
    assert tape.grad(lambda x: 3)(1.0) == 0
    for method in ("forward", "double_lop"):
        assert tape.rop(lambda x: 3, 1.0, 1.0, method=method) == 0
        assert tape.rop(lambda x: (x, 3), 1.0, 1.0, method=method) == (1, 0)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda p: np.sin(p["a"]),
        lambda p: (np.sin(p["a"]), p["b"] * p["a"]),
        lambda p: np.sin(p["b"]),
        lambda p: (np.floor(p["b"]) * p["a"], np.ones(2)),
    ],
)
@pytest.mark.parametrize("method", ["forward", "double_lop"])
def test_products_with_a_jacobian_are_differentiated_where_some_of_it_is_zero(f, method):
    """To what nothing flows zeros flow, on the tape around, whose numbers are others."""
    a, b = np.array([0.3, 0.4]), np.array([1.5, 2.25])

    def product(a, b):
        moved = tape.rop(f, {"a": a, "b": b}, {"a": a * 2, "b": b * b}, method=method)
        return sum(np.sum(np.sin(leaf)) for leaf in tape.tree.flatten(moved)[0])

    found, step = tape.grad(product, (0, 1))(a, b), 1e-5
    for k, gradient in enumerate(found):
        for i in range(2):
            along = [np.zeros(2), np.zeros(2)]
            along[k][i] = step
            slope = (product(a + along[0], b + along[1]) - product(a - along[0], b - along[1])) / (2 * step)
            np.testing.assert_allclose(gradient[i], slope, rtol=1e-8, atol=1e-9)
