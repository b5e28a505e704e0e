"""Conversion: every way from a Var to a plain number or array gives what plain Python does, or an error."""

import functools
import math
import warnings

import numpy as np
import pytest

import tape
from tape import errors
from tests.oracles import message_of
from tests.tiers import grid, some, takes_long
from tests.ways_out import NUMBERS, OF_ARRAYS, OF_NUMBERS

WAYS = {**OF_NUMBERS, **{f"array: {name}": way for name, way in OF_ARRAYS.items()}}


def points(name, numbers=NUMBERS):
    """Arguments for a way: numbers, or arrays."""
    if name.startswith("array: "):
        return [np.array([0.9, 1.2, 1.6]) * x for x in (1.1, 1.37, 1.5, 1.1)]
    return [np.float64(x) for x in numbers]


SMOOTH = [1.31, 1.72, 2.43]
"""Where no way has a step."""


def function(name, convert=lambda x: x):
    """A scalar function that goes by way of what may be plain numbers, and one that does not."""
    way = WAYS[name]
    return lambda x: np.sum(x * x) * np.sum(total(way(convert(x))))


def total(out):
    """One number of what a way gives."""
    if isinstance(out, (list, tuple)):
        return sum(total(part) for part in out)
    return np.sum(out)


def quietly(f):
    """A call in which only lost derivatives are warned of, and that as an error."""

    @functools.wraps(f)
    def quiet(*args):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", errors.LostDerivativeWarning)
            return f(*args)

    return quiet


def slope(f, x, step=1e-5):
    """The derivative along ones, by differences."""
    return (f(x + step) - f(x - step)) / (2 * step)


def by_trace(f, x):
    trace = tape.Trace()
    (gradient,) = trace.backward_param_grads(f(trace.param(x)))
    return np.sum(gradient)


def by_strict_trace(f, x):
    trace = tape.Trace(strict=True)
    (gradient,) = trace.backward_param_grads(f(trace.param(x)))
    return np.sum(gradient)


def forwards_on_a_trace(f, x):
    trace = tape.Trace()
    leaf = trace.input(x)
    return trace.jvp(f(leaf), {leaf: np.ones_like(x)})


FIRST = {
    "grad": lambda f, x: np.sum(tape.grad(f)(x)),
    "jvp": lambda f, x: tape.jvp(f, (x,), (np.ones_like(x),))[1],
    "vjp": lambda f, x: np.sum(tape.vjp(f, x)[1](1.0)),
    "linearize": lambda f, x: tape.linearize(f, x)[1](np.ones_like(x)),
    "checkpoint": lambda f, x: np.sum(tape.grad(tape.checkpoint(f))(x)),
    "taylor": lambda f, x: tape.taylor(f, x, np.ones_like(x), order=1)[1],
    "a trace": by_trace,
    "a strict trace": by_strict_trace,
    "a trace, forwards": forwards_on_a_trace,
}
SECOND = {
    "hessian": lambda f, x: np.sum(tape.hessian(f)(x)),
    "hvp": lambda f, x: np.sum(tape.hvp(f)(x, np.ones_like(x))),
    "nested": lambda f, x: np.sum(tape.grad(lambda x: np.sum(tape.grad(f)(x)))(x)),
}


def outcome(compute, *args):
    """What is computed, or None if there is an error."""
    try:
        return np.asarray(quietly(compute)(*args), float)
    except Exception:  # any error is right where a derivative would be lost
        return None


BY_IDENTITY = ("hash", "dict", "set", "in a set")
"""On a plain trace Vars are keys by identity, as `Trace.jvp` takes them."""


@takes_long
@pytest.mark.parametrize("name", WAYS)
def test_every_way_gives_the_derivative_or_an_error(name):
    f = function(name)
    for x in points(name, SMOOTH):
        if outcome(f, x) is None:
            continue  # plain Python raises
        expected = slope(quietly(f), x)
        for how, derivative in FIRST.items():
            if name in BY_IDENTITY and how.startswith("a trace"):
                continue
            found = outcome(derivative, f, x)
            if found is not None:
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=f"{name} in {how}")


@pytest.mark.parametrize("name", some(WAYS, every=2))
def test_every_way_gives_the_second_derivative_or_an_error(name):
    f = function(name)
    for x in points(name, SMOOTH)[:2]:
        if outcome(f, x) is None:
            continue
        expected = slope(lambda x: slope(quietly(f), x, 1e-3), x, 1e-3)
        for how, derivative in SECOND.items():
            found = outcome(derivative, f, x)
            if found is not None:
                np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3, err_msg=f"{name} in {how}")


@takes_long
@pytest.mark.parametrize("name", WAYS)
def test_every_way_gives_the_value_in_a_program_or_an_error(name):
    """Nothing is frozen from the first call: of a float, a NumPy scalar, an array; nor in a derivative."""
    f = function(name)
    xs = points(name)
    for make in (lambda x: x, float) if np.ndim(xs[0]) == 0 else (lambda x: x,):
        compiled, gradient = tape.compile(f), tape.compile(tape.grad(f))
        for x in map(make, xs):
            expected = outcome(f, x)
            found = outcome(compiled, x)
            if expected is None:
                continue
            if found is not None:
                np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=name)
            found, expected = outcome(gradient, x), outcome(tape.grad(f), x)
            if found is not None:
                np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=name)


FREE = {
    "stop_gradient": tape.stop_gradient,
    "no_grad": tape.no_grad()(lambda x: x * 1),
    "data": lambda x: np.sign(x) * plain_value(x),
}


def plain_value(x):
    """The number below all nesting."""
    while isinstance(x, tape.Var):
        x = x.value
    return x


@grid(make=FREE, name=WAYS)
def test_what_does_not_depend_on_a_param_converts_as_a_plain_number_does(name, make):
    """In all transforms: where it is not the plain number, it is an error for want of a method."""
    f = function(name, FREE[make])
    for x in points(name, SMOOTH)[:2]:
        weight = outcome(lambda x: total(WAYS[name](x)), x)
        if weight is None:
            continue
        for how, derivative in FIRST.items():
            if how == "a trace, forwards" or (name in BY_IDENTITY and how == "a trace"):
                continue
            found = outcome(derivative, f, x)
            if found is not None:
                expected = np.sum(2 * x * weight)
                np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=f"{name} in {how}")


CONVERTING = [
    "float", "int", "complex", "item", "math.erf", "math.log", "cmath.exp", "np.float64", "np.array",
    "np.asarray", "np.fromiter", "np.vectorize", "np.full", "array.fill", "operator.setitem", "out[0] = v",
    "out += v", "rng.normal", "scipy.stats.norm.logpdf", "scipy.integrate.quad", "struct", "array.array",
    "ctypes", "statistics.fmean", "np.sum(initial)", "np.put", "np.copyto", "np.add.at",
    "array: np.asarray", "array: out[:] = v", "array: scipy.stats.norm.pdf", "array: dlpack", "array: mask",
    "array: count", "array: np.put",
]  # fmt: skip


RECORDING = [
    "bool", "comparison", "in a list", "abs", "divmod", "pow", "pow of a number", "sum", "min", "max",
    "sorted", "text", "real", "conjugate", "round", "copy", "deepcopy", "math.prod", "random.gauss",
    "random.uniform", "random.choice", "np.linspace", "scipy.special.erf", "array: sum", "array: max",
    "array: sorted", "array: copy", "array: np.linalg.norm", "array: array @ v",
    "array: table[v > 2]", "array: mask", "array: count", "array: table[whole]", "array: np.histogram",
]  # fmt: skip


def test_some_ways_record_and_others_are_refused():
    """So that the campaign above is not one of errors, or of none."""
    for name in RECORDING:
        for x in points(name, SMOOTH):
            assert outcome(tape.grad(function(name)), x) is not None, name
    for name in CONVERTING:
        if name not in ("table[whole]", "array: table[whole]", "array: mask", "array: count"):
            for x in points(name, SMOOTH):
                assert outcome(tape.grad(function(name)), x) is None, name


@pytest.mark.parametrize("name", CONVERTING)
def test_stop_gradient_gives_what_converts(name):
    f = function(name, tape.stop_gradient)
    for x in points(name, SMOOTH)[:2]:
        weight = total(WAYS[name](x))
        np.testing.assert_allclose(quietly(tape.grad(f))(x), 2 * x * weight, rtol=1e-12)
        np.testing.assert_allclose(
            quietly(tape.hessian(f))(x), 2 * weight * np.eye(np.size(x)).reshape(np.shape(x) * 2), rtol=1e-12
        )


# ---- on a plain trace ----------------------------------------------------------------------------


def test_a_sweep_warns_of_numbers_taken_before_its_root_and_names_the_line():
    trace = tape.Trace()
    x = trace.param(2.0)
    y = x * float(x)
    for sweep in (
        lambda: trace.backward(y),
        lambda: trace.backward_param_grads(y),
        lambda: trace.jvp(y, {x: 1.0}),
        lambda: trace.compile(y),
    ):
        with pytest.warns(
            errors.LostDerivativeWarning,
            match=r"before the root was computed, .*float\(\) at .*test_conversion.py:\d+",
        ) as caught:
            sweep()
        assert len(caught) == 1
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "take", [float, int, complex, lambda v: v.item(), lambda v: v.tolist(), math.log, np.float64]
)
def test_every_number_that_is_taken_is_remembered(take):
    trace = tape.Trace()
    x = trace.param(2.0)
    take(x)
    with pytest.warns(errors.LostDerivativeWarning):
        trace.backward(x * 3)


def test_printing_a_loss_is_silent():
    trace = tape.Trace()
    w = trace.param(np.ones(3))
    loss = np.sum(w * w)
    before = float(np.sum(w.value)) + w[0].value
    assert (float(loss), loss.item(), before) == (3.0, 3.0, 4.0)
    trace.backward(loss)
    assert trace.taken is not None


def test_values_texts_and_what_has_no_derivative_are_silent(capsys):
    trace = tape.Trace()
    x, data = trace.param(2.5), trace.input(3.0)
    print(f"{x:.2f} {x}", "%.1f" % x)  # noqa: UP031
    y = x * x.value * int(np.floor(x)) * float(data) * float(tape.stop_gradient(x)) * int(x > 1)
    (gradient,) = trace.backward_param_grads(y)
    assert gradient == 2.5 * 2 * 3 * 2.5
    assert capsys.readouterr().out == f"2.50 {x} 2.5\n"


def test_a_number_of_an_input_is_warned_of_where_the_input_moves():
    trace = tape.Trace()
    w, x = trace.param(2.0), trace.input(3.0)
    y = w * x * float(x)
    trace.backward(y)
    trace.jvp(y, {w: 1.0})
    with pytest.warns(errors.LostDerivativeWarning):
        trace.jvp(y, {x: 1.0})


def test_a_replay_warns_of_numbers_that_it_does_not_take_anew():
    trace = tape.Trace()
    x = trace.input(2.0)
    y = x * math.sqrt(x)
    assert float(y) == 2 * math.sqrt(2)
    trace.set(x, 4.0)
    with pytest.warns(errors.LostDerivativeWarning, match="replay: before all was recorded, plain"):
        trace.replay()
    other = tape.Trace()
    z = other.input(2.0) * 3
    for value in (1.0, 2.0):
        other.set(other[0], value)
        other.replay()
        assert float(z) == 3 * value


def test_a_strict_trace_raises_and_others_do_not():
    for strict in (True, False):
        trace = tape.Trace(strict=strict)
        x = trace.param(2.0)
        assert (x.value, float(trace.input(1.0)), f"{x:.1f}") == (2.0, 1.0, "2.0")
        if strict:
            assert "float()" in message_of(float, x)
            assert "math.sqrt" in message_of(lambda: math.sqrt(x))  # noqa: B023
        else:
            assert float(x) == 2.0


def test_no_grad_lets_numbers_out():
    def f(x):
        with tape.no_grad():
            scale = float(x) + np.asarray(x) + int(x)
        message_of(float, x)
        return x * scale

    assert tape.grad(f)(2.5) == 7.0
    np.testing.assert_array_equal(tape.hessian(f)(np.float64(2.5)), 0.0)


def test_vars_that_got_out_of_a_transform_may_be_printed():
    kept = []

    def f(x):
        kept.append(x * 2)
        return x * x

    pulled = tape.vjp(f, 3.0)[1]
    assert float(kept[0]) == 6.0
    assert pulled(1.0) == (6.0,)


def test_outer_vars_are_asked_by_the_number_they_are_to_their_own_trace():
    message_of(tape.grad(lambda x: tape.grad(lambda y: y * float(x))(3.0)), 2.0)
    message_of(tape.grad(tape.grad(lambda x: x * x * float(x.value))), 2.0)
    nested = tape.grad(tape.grad(lambda x: x * x * float(tape.stop_gradient(x))))
    assert nested(2.0) == 4.0
    with tape.Trace() as outer:
        y = outer.param(2.0)
        assert tape.grad(lambda x: x * float(y))(3.0) == 2.0  # noted by the outer trace
        with pytest.warns(errors.LostDerivativeWarning):
            outer.backward(y * y)


def test_the_number_of_a_complex_var_is_refused():
    for convert in (float, int):
        for f in (lambda z: np.real(z * convert(z)), lambda z: np.real(z * convert(tape.stop_gradient(z)))):  # noqa: B023
            assert "complex" in message_of(tape.grad(f), np.complex128(1 + 2j))
            for z in (1 + 2j, np.complex128(1 + 2j)):
                with pytest.raises(TypeError):
                    tape.compile(f)(z)


# ---- rules, and code that is run again -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["op", "custom_vjp", "custom_jvp"])
def test_rules_may_take_plain_numbers_until_they_are_differentiated(kind):
    if kind == "op":
        sine = tape.Op(
            np.sin,
            vjp=[lambda g, out, x: g * math.cos(x)],
            jvp=[lambda t, out, x: t * math.cos(x)],
        )
    else:
        sine = getattr(tape, kind)(lambda x: np.sin(float(x)))
        if kind == "custom_vjp":
            sine.defvjp(lambda g, out, x: g * math.cos(x))
        else:
            sine.defjvp(lambda tangents, out, x: tangents[0] * math.cos(x))
    for derivative in (tape.grad(sine), lambda x: tape.jvp(sine, (x,), (1.0,))[1]):
        np.testing.assert_allclose(derivative(0.5), math.cos(0.5))
    for second in (tape.grad(tape.grad(sine)), tape.hessian(sine), lambda x: tape.hvp(sine)(x, 1.0)):
        assert "math.cos" in message_of(second, 0.5)


def test_rules_that_take_the_number_of_what_they_are_linear_in_are_refused():
    twice = tape.Op(
        lambda x: 2 * x,
        vjp=[lambda g, out, x: np.float64(2 * float(g))],
        jvp=[lambda t, out, x: np.float64(2 * float(t))],
    )
    assert tape.jvp(twice, (1.0,), (1.0,))[1] == 2.0
    for linear in (
        lambda: tape.linearize(twice, 1.0),
        lambda: tape.rop(twice, 1.0, 1.0, method="double_lop"),
    ):
        message_of(linear)


def test_code_that_is_run_again_for_derivatives_is_refused_there():
    def body(state, step):
        return state * math.exp(-state)

    def looped(x):
        return tape.checkpoint_loop(body, x, steps=3, snapshots=1)

    assert 0 < looped(0.5) < 0.5
    message_of(tape.grad(looped), 0.5)
    message_of(tape.grad(lambda x: tape.checkpoint(lambda w: w * float(x))(3.0)), 2.0)
    message_of(tape.grad(lambda a: tape.root(lambda x: x * x - float(a), 1.0)), 2.0)
