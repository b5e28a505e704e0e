"""What derivatives do not see: `stop_gradient` and `no_grad`."""

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import interpreter
from tests.oracles import assert_close, assert_same

X = np.array([0.5, -1.2, 2.0])
V = np.array([1.0, 0.3, -0.7])


def by_stopping(f: Any) -> Any:
    return lambda *args: tape.stop_gradient(f(*args))


def by_region(f: Any) -> Any:
    def in_region(*args: Any) -> Any:
        with tape.no_grad():
            return f(*args)

    return in_region


def by_decorator(f: Any) -> Any:
    return tape.no_grad()(f)


WAYS = [by_stopping, by_region, by_decorator]


@pytest.fixture
def constants_are_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConstantResultWarning)
        yield


# ---- every mode, every order ---------------------------------------------------------------------

DERIVATIVES = {
    "grad": lambda f: tape.grad(lambda x: np.sum(f(x)))(X),
    "value_and_grad": lambda f: tape.value_and_grad(lambda x: np.sum(f(x)))(X)[1],
    "elementwise_grad": lambda f: tape.elementwise_grad(f)(X),
    "vjp": lambda f: tape.vjp(f, X)[1](V)[0],
    "jvp": lambda f: tape.jvp(f, (X,), (V,))[1],
    "linearize": lambda f: tape.linearize(f, X)[1](V),
    "jacobian fwd": lambda f: tape.jacobian(f, mode="fwd")(X),
    "jacobian rev": lambda f: tape.jacobian(f, mode="rev")(X),
    "hessian": lambda f: tape.hessian(lambda x: np.sum(f(x)))(X),
    "hvp": lambda f: tape.hvp(lambda x: np.sum(f(x)))(X, V),
    "gnvp": lambda f: tape.gnvp(f)(X, V),
    "rop": lambda f: tape.rop(f, X, V, method="double_lop"),
    "taylor": lambda f: tape.taylor(f, X, V, 3)[1:],
    "grad of grad": lambda f: tape.grad(lambda x: np.sum(tape.grad(lambda y: np.sum(f(y)))(x) ** 2))(X),
    "jacobian of hessian": lambda f: tape.jacobian(tape.hessian(lambda x: np.sum(f(x))))(X),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_stopped_factor_is_a_constant_factor(name, way):
    stopped = DERIVATIVES[name](lambda x: np.sin(x) * way(np.exp)(x))
    constant = np.exp(X)
    assert_close(stopped, DERIVATIVES[name](lambda x: np.sin(x) * constant), 1e-14)


@pytest.mark.usefixtures("constants_are_fine")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_of_what_is_stopped_altogether_all_derivatives_are_zero(name, way):
    assert not np.any(DERIVATIVES[name](way(lambda x: np.exp(x) * x)))


@pytest.mark.parametrize("way", WAYS)
def test_values_stay(way):
    assert_same(way(np.exp)(X), np.exp(X))
    trace = tape.Trace()
    x = trace.param(X)
    out = way(np.exp)(x)
    assert_same(out.value, np.exp(X))
    assert not out.node.is_active
    trace.set(x, 2 * X)
    trace.replay()
    assert_same(out.value, np.exp(2 * X))


def test_the_straight_through_estimator():
    def rounded(x: Any) -> Any:
        return x + tape.stop_gradient(np.rint(x) - x)

    assert_close(tape.jacobian(rounded)(X), np.eye(3))
    assert_close(tape.vjp(rounded, X)[0], np.rint(X))


# ---- stop_gradient -------------------------------------------------------------------------------


def test_trees_keep_their_structure_and_what_is_no_var():
    stopped = tape.stop_gradient({"a": (X, 1, "word"), "b": [None, 2.0]})
    assert stopped["a"][0] is X
    assert stopped["a"][1:] == (1, "word")
    assert stopped["b"] == [None, 2.0]
    slope = tape.grad(lambda x: x * tape.stop_gradient({"a": [x, 1]})["a"][0])
    assert slope(3.0) == 3


def test_what_is_stopped_for_an_inner_derivative_is_so_for_an_outer_one():
    def f(w: Any) -> Any:
        return tape.grad(lambda x: x**2 * tape.stop_gradient(w * x))(2.0)  # 2 x * stopped(w x)

    assert f(3.0) == 24
    assert tape.grad(f)(3.0) == 0


def test_vars_of_several_depths_are_stopped():
    def f(w: Any) -> Any:
        return tape.grad(lambda x: w * x * tape.stop_gradient(w))(1.0)  # w * stopped(w)

    assert tape.grad(f)(3.0) == 3


# ---- no_grad -------------------------------------------------------------------------------------


def test_derivatives_taken_in_a_region_are_right_and_constant():
    def f(x: Any) -> Any:
        with tape.no_grad():
            slope = tape.grad(lambda y: y**3)(x)
            mixed = tape.grad(lambda y: y**2 * x)(x)
            curvature = tape.hessian(lambda y: y**3 * x)(2.0)
        return x * slope + x * mixed + x * curvature

    value, slope = tape.value_and_grad(f)(3.0)
    assert value == 3 * (27 + 18 + 36)
    assert slope == 27 + 18 + 36


def test_closures_of_derivatives_in_a_region():
    def f(w: Any) -> Any:
        def inner(x: Any) -> Any:
            with tape.no_grad():
                held = w * x
            return held * x * w

        return tape.grad(inner)(2.0)  # w held = w * w * 2 where held is constant

    assert f(3.0) == 18
    assert tape.grad(f)(3.0) == 6  # d/dw of w * 6


def test_regions_nest_and_the_same_one_may_be_opened_again():
    region = tape.no_grad()

    def f(x: Any) -> Any:
        with tape.no_grad(), region:
            a = x * x
        b = x * x
        with region:
            c = x * x
        return a * b * c

    assert tape.grad(f)(2.0) == 4 * 4 * 4
    assert interpreter.innermost_open() is None


def test_a_region_ends_with_an_exception():
    @tape.no_grad()
    def fails(x: Any) -> Any:
        raise KeyError(x)

    def f(x: Any) -> Any:
        with pytest.raises(KeyError):
            fails(x)
        return x * x

    assert tape.grad(f)(3.0) == 6
    assert not interpreter.OPEN


def test_recursion_in_a_decorated_function():
    @tape.no_grad()
    def power(x: Any, n: int) -> Any:
        return x * power(x, n - 1) if n else 1.0

    assert tape.grad(lambda x: x * power(x, 3))(2.0) == 8
    assert power.__name__ == "power"
    assert not interpreter.OPEN


def test_a_region_is_that_of_its_thread():
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with tape.no_grad():
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert inside.wait(10)
        assert tape.grad(lambda x: x * x)(3.0) == 6
    finally:
        done.set()
        thread.join()


def test_a_region_around_a_derivative_does_not_touch_it():
    with tape.no_grad():
        assert tape.grad(np.square)(3.0) == 6
        assert tape.hessian(lambda x: x**3)(2.0) == 12
        assert tape.taylor(np.exp, 0.0, 1.0, 2)[2] == 1


def test_in_a_region_around_them_manual_traces_record_without_derivative():
    trace = tape.Trace()
    x = trace.param(3.0)
    with tape.no_grad():
        y = x * x
    z = x * y
    assert [float(g) for g in trace.backward_param_grads(z)] == [9.0]
    with pytest.raises(errors.UnreachableParamError):
        trace.backward_param_grads(y)
    trace.set(x, 2.0)
    trace.replay()
    assert float(z) == 8


def test_checkpoints_see_what_is_stopped():
    def f(x: Any) -> Any:
        block = tape.checkpoint(lambda y: np.sin(y) * tape.stop_gradient(np.exp(y)))
        with tape.no_grad():
            constant = tape.checkpoint(np.cos)(x)
        return block(x) * constant

    assert_close(tape.elementwise_grad(f)(X), np.cos(X) * np.exp(X) * np.cos(X), 1e-14)
    assert_close(tape.jvp(f, (X,), (V,))[1], V * np.cos(X) * np.exp(X) * np.cos(X), 1e-14)
