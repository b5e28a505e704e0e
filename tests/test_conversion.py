"""Conversion: every way from a Var to a plain number or array gives what plain Python does, or an error."""

import functools
import math
import operator
import re
import warnings

import numpy as np
import pytest
import scipy.special
import scipy.stats

import tape
from tape import errors
from tests.ways_out import NUMBERS, OF_ARRAYS, OF_NUMBERS

WAYS = {**OF_NUMBERS, **{f"array: {name}": way for name, way in OF_ARRAYS.items()}}
CALLED_FOR = (Exception,)  # any error is right where plain code would lose a derivative


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
    except CALLED_FOR:
        return None


BY_IDENTITY = ("hash", "dict", "set", "in a set")
"""On a plain trace Vars are keys by identity, as `Trace.jvp` takes them."""


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


@pytest.mark.parametrize("name", WAYS)
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


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("make", FREE)
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
    "ctypes", "statistics.fmean", "np.sum(initial)", "np.put", "np.copyto", "np.add.at", "table[whole]",
    "array: np.asarray", "array: out[:] = v", "array: scipy.stats.norm.pdf", "array: dlpack", "array: mask",
    "array: count", "array: np.put",
]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in CONVERTING if name in WAYS])
def test_stop_gradient_gives_what_converts(name):
    f = function(name, tape.stop_gradient)
    for x in points(name, SMOOTH)[:2]:
        weight = total(WAYS[name](x))
        np.testing.assert_allclose(quietly(tape.grad(f))(x), 2 * x * weight, rtol=1e-12)
        np.testing.assert_allclose(
            quietly(tape.hessian(f))(x), 2 * weight * np.eye(np.size(x)).reshape(np.shape(x) * 2), rtol=1e-12
        )


# ---- the examples ------------------------------------------------------------------------------------


def message_of(f, *args):
    """What an error says, or what it was raised from: NumPy chains errors of its own."""
    with pytest.raises((errors.TapeError, ValueError)) as caught:
        f(*args)
    error = caught.value if isinstance(caught.value, errors.TapeError) else caught.value.__cause__
    assert isinstance(error, errors.TapeError)
    return str(error)


def test_the_price_of_an_option_is_an_error_and_right_when_cured():
    def price(erf, log):
        return lambda S, K: S * 0.5 * (1 + erf(log(S / K) / np.sqrt(2)))

    message = message_of(tape.grad(price(math.erf, math.log)), 100.0, 100.0)
    assert "math.log" in message or "log" in message
    cured = tape.grad(price(scipy.special.erf, np.log))(100.0, 100.0)
    np.testing.assert_allclose(cured, 0.5 + 1 / np.sqrt(2 * np.pi), rtol=1e-12)


rng = np.random.default_rng(0)
NAMED = {
    "math.erf": (lambda x: math.erf(x), "Call scipy.special.erf"),
    "math.log": (lambda x: math.log(x), "Call np.log"),
    "math.asin": (lambda x: math.asin(x / 4), "Call np.arcsin"),
    "float()": (lambda x: float(x), "Compute with the Var itself"),
    "int()": (lambda x: int(x), "int(tape.stop_gradient(v))"),
    "x.item": (lambda x: x.item(), "Compute with the Var itself"),
    "np.float64": (lambda x: np.float64(x), "Compute with the Var itself"),
    "np.vectorize": (lambda x: np.vectorize(math.sin)(x), "tape.apply"),
    "rng.normal": (lambda x: rng.normal(x), "rng.standard_normal(size)"),
    "scipy.stats.norm.logpdf": (lambda x: scipy.stats.norm.logpdf(x), "np.log(2 * np.pi)"),
    "scipy.stats.norm.cdf": (lambda x: scipy.stats.norm.cdf(x, loc=1), "scipy.special.ndtr"),
    "scipy.integrate.quad": (lambda x: scipy.integrate.quad(math.sin, 0.0, x), ""),
    "statistics.fmean": (lambda x: __import__("statistics").fmean([x, x]), ""),
    "operator.setitem": (lambda x: operator.setitem(np.zeros(2), 0, x), "like=v"),
    "out.fill": (lambda x, out=np.zeros(2): out.fill(x), "like=v"),  # noqa: B008
}


@pytest.mark.parametrize("name", NAMED)
def test_errors_name_the_call_and_its_counterpart(name):
    f, cure = NAMED[name]
    message = message_of(tape.grad(f), 1.5)
    assert cure in message
    if name != "statistics.fmean":  # called by another name there
        assert f" in {name}," in message
    assert "tape.stop_gradient(v)" in message
    assert re.search(r"\[at .*test_conversion\.py:\d+\]$", message)


def test_a_call_is_named_however_it_was_imported_or_assigned():
    from math import log as ln

    from scipy.stats import norm

    wave = np.vectorize(math.sin)
    assert " in math.log," in message_of(tape.grad(lambda x: ln(x)), 2.0)
    assert " in scipy.stats.norm.pdf," in message_of(tape.grad(lambda x: norm.pdf(x)), 2.0)
    assert " in np.vectorize," in message_of(tape.grad(lambda x: wave(x)), 2.0)
    assert " in math.log," in message_of(
        tape.grad(
            lambda x: math.log(
                x,
                3,
            )
        ),
        2.0,
    )


def test_a_call_without_source_is_named_all_the_same():
    space = {"math": math}
    exec("def f(x):\n    return 1 + math.erf(x * math.pi)", space)
    assert " in math.erf," in message_of(tape.grad(space["f"]), 2.0)


def test_programs_name_the_call_too():
    assert message_of(tape.compile(lambda x: math.sqrt(x)), 2.0).startswith("math.sqrt of ")
    assert "Call np.sqrt" in message_of(tape.compile(lambda x: math.sqrt(x)), 2.0)
    assert "scipy.stats.norm.pdf" in message_of(tape.compile(lambda x: scipy.stats.norm.pdf(x)), np.ones(2))


def test_counterparts_exist():
    from tape import callers

    text = " ".join([*callers._ADVICE.values(), *callers._RENAMED.values()])
    names = re.findall(r"\b(?:np|scipy\.special|tape)(?:\.\w+)+", text)
    assert len(set(names)) > 30
    for name in names:
        found = {"np": np, "scipy": scipy, "tape": tape}[name.partition(".")[0]]
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    for name in dir(math):
        advice = callers.counterpart_of(f"math.{name}")
        assert not advice or "np." in advice or "scipy.special." in advice


# ---- on a plain trace ----------------------------------------------------------------------------------


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
            errors.LostDerivativeWarning, match=r"float\(\) at .*test_conversion.py:\d+"
        ) as caught:
            sweep()
        assert len(caught) == 1
        assert caught[0].filename == __file__


@pytest.mark.parametrize("take", [float, int, complex, lambda v: v.item(), math.log, lambda v: np.float64(v)])
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
    with pytest.warns(errors.LostDerivativeWarning, match="replay"):
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


# ---- integers and bools ----------------------------------------------------------------------------------

TABLE = np.array([1.0, 3.0, 9.0, 27.0])


def looked_up(x):
    return np.sum(x * TABLE[np.floor(x).astype(int)])


def masked(x):
    c = np.zeros(3)
    c[x > 1.5] = 1
    return np.sum(x * c)


def alive(x):
    kept = np.ones(3, bool)
    kept &= x < 2
    kept &= x > 0.5
    return np.sum(np.where(kept, x * x, 0.0))


def counted(x):
    n = np.zeros(3)
    n += x > 1.5
    n += x > 0.5
    return np.sum(x * n)


def put(x):
    out = np.ones(5)
    np.put(out, np.floor(x).astype(int), 2.0)
    np.add.at(out, np.floor(x).astype(int), 1.0)
    np.logical_or(out[:3] > 2, x > 1, out=(flags := np.zeros(3, bool)))
    return np.sum(x * out[:3] * flags)


def scalars(x):
    order = np.argsort(x)
    return (
        x[order[0]]
        * TABLE[order[1]]
        * [2.0, 3.0, 5.0][order[2]]
        * float(np.sum(x > 1))
        * 2 ** np.argmax(x).item()
    )


def taken(x):
    return np.sum(x * np.take(TABLE, np.floor(x).astype(int)) * np.eye(4)[np.floor(x).astype(int)][:, 1])


def as_list(x):
    return sum(x[i] * k for k, i in enumerate(np.asarray(np.argsort(x))))


@pytest.mark.parametrize("f", [looked_up, masked, alive, counted, put, scalars, taken, as_list])
def test_nothing_is_lost_by_integers_and_bools(f):
    """Eager, in both modes and twice; and in programs, whatever they are called with later."""
    xs = [np.array(x) for x in ([0.3, 1.2, 2.7], [1.1, 1.9, 0.2], [2.6, 0.4, 1.3], [0.3, 1.2, 2.7])]
    compiled, gradient = tape.compile(f), tape.compile(tape.grad(f))
    for x in xs:
        tape.testing.check_grads(f, (x,), order=2)
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13)
        np.testing.assert_allclose(gradient(x), tape.grad(f)(x), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.int8, bool])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (40, 3), (0,), (2, 0)])
def test_plain_arrays_are_indexed_by_traced_ones(dtype, shape):
    """The index is an argument of the program, and the table is closed over."""
    table = np.arange(400.0).reshape(200, 2)
    draw = np.random.default_rng(1)
    high = 2 if dtype is bool else 120

    def f(i):
        return table[i], np.eye(200)[i], np.asarray(i).sum()

    compiled = tape.compile(f)
    indices = [np.asarray(draw.integers(0, high, shape).astype(dtype)) for _ in range(4)]
    for i in (*indices, *indices):
        if dtype is bool and i.ndim != 1:
            continue
        if dtype is bool:
            i = np.resize(i, 200) if i.size else np.zeros(200, bool)
        for found, expected in zip(compiled(i), f(i), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)
    assert len(compiled.programs) <= 4


def test_any_content_is_told_from_any_other():
    """Numbers that are far apart, negative, or the largest there are."""
    extremes = np.array([-(2**63), 2**63 - 1, -1, 0, 1, 2**40, -(2**33)])
    compiled = tape.compile(lambda i: float(sum(int(k) % 97 for k in np.asarray(i))))
    draw = np.random.default_rng(2)
    for _ in range(30):
        i = draw.choice(extremes, 5)
        assert compiled(i) == float(sum(int(k) % 97 for k in i))
    with pytest.raises(errors.ConversionError, match="64 bits"):
        tape.compile(lambda i: np.asarray(i).sum())(np.array([2**64 - 1, 1], np.uint64))


def test_a_large_index_is_refused_with_what_records():
    table = np.arange(3000.0)
    i = np.arange(3000)[::-1].copy()
    for f in (lambda i: table[i], lambda i: np.take(table, i)):
        message = message_of(tape.compile(f), i)
        assert "np.asarray(X, like=i)[i]" in message
        assert "tape.ops.getitem(X, i)" in message
    for f in (lambda i: np.asarray(table, like=i)[i], lambda i: tape.ops.getitem(table, i)):
        compiled = tape.compile(f)
        for index in (i, i // 2):
            np.testing.assert_array_equal(compiled(index), table[index])
        assert len(compiled.programs) == 1


def test_arrays_that_are_handed_out_cannot_be_written_to():
    trace = tape.Trace()
    n = trace.input(np.arange(3))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(n)[0] = 5
    copied = np.array(n)
    copied[0] = 5
    assert n.value[0] == 0


# ---- sets, dicts, and numbers of Python's own ----------------------------------------------------------------


def test_traced_numbers_are_no_keys_unless_they_are_integers():
    for f in (
        lambda a, b: len({a, b}),
        lambda a, b: {a: 1.0}.get(b, 2.0),
        lambda a, b: a in {1.0, 2.0},
        lambda a, b: dict([(a, b)])[a],
        lambda a, b: functools.lru_cache(lambda x: x)(a),
    ):
        for args in ((1.0, 1.0), (np.float64(1.0), np.float64(2.0)), (np.ones(2), np.ones(2))):
            with pytest.raises(TypeError, match="key"):
                tape.compile(f)(*args)
        with pytest.raises(errors.ConversionError, match="key"):
            tape.grad(lambda a, b: a * f(a, b))(1.0, 1.0)  # noqa: B023
    for f in (lambda a, b: len({a, b}), lambda a, b: {1: 2.0, 2: 3.0}.get(a, 4.0) + (b in {2, 5})):
        compiled = tape.compile(f)
        for a, b in ((1, 1), (1, 2), (5, 5), (2, 1), (1, 1)):
            args = np.int64(a), np.int64(b)
            assert compiled(*args) == f(*args)


def types(out):
    return tuple(map(types, out)) if isinstance(out, tuple) else type(out)


OF_PYTHON = {
    "round": lambda a, b: (round(a), round(a, 1), round(-a * b, 2), round(a * 100, -1)),
    "comparison": lambda a, b: (a < b, a == b, 0 < a < b < 5, a != 1.5, not a),
    "sum of comparisons": lambda a, b: ((a > 0) + (b > 0), sum(x > 1 for x in (a, b)), (a > b) * a, -(a > 0)),
    "logic": lambda a, b: ((a > 0) & (b > 1), (a > 0) | (b > 9), (a > b) ^ True, (a > 0) & 3, True & (a > b)),
    "bools as numbers": lambda a, b: ((a > 0) / 2, 2 ** (a > 1), abs(a > 0), round(a > 0), (a > 0) << 2),
    "bools in arrays": lambda a, b: (
        np.where(a > b, [1.0], 2.0),
        np.ones(2) * (a > b),
        np.sum((a > b) + np.ones(2)),
    ),
    "bools of numbers": lambda a, b: (int(a > b), float(a > b), (a > b) == 1, (a > b) < 1, hash(a > b)),
    "whole": lambda a, b: (math.floor(a), math.ceil(a * b), math.trunc(-b), int(a), divmod(a, b)),
    "chosen": lambda a, b: (min(a, b), max(a, b), sorted([b, a]), a and b, a or b, a > 0 and b),
}


@pytest.mark.parametrize("name", OF_PYTHON)
def test_numbers_of_python_stay_numbers_of_python(name):
    f = OF_PYTHON[name]
    compiled = tape.compile(f)
    calls = [(1.5, 2.25), (2.675, 1.0), (-0.285, 3.5), (0.0, -7.5), (1.5, 1.5), (1.5, 2.25)]
    for a, b in calls:
        for args in ((a, b), (np.float64(a), np.float64(b))):
            try:
                expected = f(*args)
            except TypeError:  # NumPy's bools know less
                continue
            found = compiled(*args)
            np.testing.assert_array_equal(np.hstack(flat(found)), np.hstack(flat(expected)))
            if type(args[0]) is float:
                assert types(found) == types(expected)


def flat(out):
    return [x for part in out for x in flat(part)] if isinstance(out, (tuple, list)) else [out]
