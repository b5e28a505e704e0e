"""Numbers that Python or NumPy reads inside of transforms: a program reads them anew, or refuses."""

import math
import operator

import numpy as np
import pytest

import tape
from tape import errors
from tape.scipy import integrate, optimize
from tests.tiers import is_full, takes_long

X = np.array([0.5, 1.0])

# How a number that is closed over, or given, gets into a transform: functions of x and k.
SEGMENTS = {
    "checkpoint": lambda ask: lambda x, k: tape.checkpoint(lambda x: x * ask(k))(x),
    "checkpoint, given": lambda ask: lambda x, k: tape.checkpoint(lambda x, k: x * ask(k))(x, k),
    "checkpoint in one": lambda ask: (
        lambda x, k: tape.checkpoint(lambda x: tape.checkpoint(lambda x: x * ask(k))(x))(x)
    ),
    "checkpoint_loop": lambda ask: lambda x, k: tape.checkpoint_loop(lambda x, i: x * ask(k), x, 2, 1),
    "fixed_point": lambda ask: lambda x, k: tape.fixed_point(lambda y: 0.1 * y + ask(k) * x, x),
    "root": lambda ask: lambda x, k: tape.root(lambda y: y - ask(k) * x, x),
    "odeint": lambda ask: lambda x, k: tape.odeint(lambda y, t: -y * ask(k), x, np.array([0.0, 0.1]))[-1],
}
DERIVATIVES = {
    "grad": lambda ask: lambda x, k: tape.grad(lambda y: np.sum(y * y * ask(k)))(x),
    "jacobian": lambda ask: lambda x, k: tape.jacobian(lambda y: y * y * ask(k))(x),
    "jvp": lambda ask: lambda x, k: tape.jvp(lambda y: y * y * ask(k), (x,), (x,))[1],
    "elementwise_grad": lambda ask: lambda x, k: tape.elementwise_grad(lambda y: y * y * ask(k))(x),
    "taylor": lambda ask: lambda x, k: tape.taylor(lambda y: y * ask(k), x, x, 2)[1],
}
OF_ANY_NUMBER = {
    "int": int,
    "bool": bool,
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "compare": lambda k: 2.0 if k > 1 else 3.0,
    "match": lambda k: {True: 2.0, False: 3.0}[bool(k == 1)],
}
OF_INTEGERS = {
    "index": operator.index,
    "range": lambda k: len(range(k)),
    "list": lambda k: [1.0, 2.0, 3.0][k],
    "shape": lambda k: np.ones(k).size,
    "key": lambda k: {1: 2.0, 2: 3.0}[k],
    "set": lambda k: 2.0 if k in {1, 3} else 3.0,
    "str": lambda k: {"1": 2.0, "2": 3.0}[str(k)],
    "repr": lambda k: {"np.int64(1)": 2.0, "np.int64(2)": 3.0}[repr(k)],
    "format": lambda k: {"1, 01": 2.0, "2, 02": 3.0}[f"{k}, {k:02d}"],
    "text of an array": lambda k: {"[1]": 2.0, "[2]": 3.0}[str(np.asarray([k]))],
}
EXACT = {
    "float": float,
    "complex": lambda k: complex(k).real,
    "item": lambda k: k.item(),
    "trunc": lambda k: math.trunc(float(k)),
    "tolist": lambda k: k.tolist(),
    "tolist of an array": lambda k: np.asarray(k).tolist(),
}
"""A program may read integers in any way; of floats, nothing that would need them exactly."""

CALLS = [(X, kind(k)) for kind in (np.float64, np.int64) for k in (1, 2, 1, 2)]


def check(f, calls):
    compiled = tape.compile(f)
    for args in calls:
        np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-12)


@pytest.mark.parametrize("name", [*SEGMENTS, *DERIVATIVES])
def test_numbers_are_read_anew_in_each_call(name):
    """In the plain tier by every third way, others for the next name."""
    every = {**SEGMENTS, **DERIVATIVES}
    ways = slice(None) if is_full() else slice(list(every).index(name) % 3, None, 3)
    for ask in [*OF_ANY_NUMBER.values()][ways]:
        check(every[name](ask), CALLS)
    for ask in [*OF_INTEGERS.values(), *EXACT.values()][ways]:
        check(every[name](ask), CALLS[4:])


@pytest.mark.parametrize("name", SEGMENTS)
def test_segments_run_in_python_and_may_read_floats(name):
    for ask in EXACT.values():
        check(SEGMENTS[name](ask), CALLS[:4])


SOLVERS = {
    "quad": lambda f: integrate.quad(f, 0.0, 1.0)[0],
    "dblquad": lambda f: integrate.dblquad(lambda y, x: x * y + f(x), 0, 1, 0, 1)[0],
    "solve_ivp": lambda f: integrate.solve_ivp(lambda t, y: f(t) * y, (0, 1), [1.0], t_eval=[1.0]).y[0, -1],
    "odeint": lambda f: tape.odeint(lambda y, t: y * f(t), 1.0, np.array([0.0, 1.0]))[-1],
    "brentq": lambda f: optimize.brentq(lambda x: x - 0.01 * f(x), -5.0, 5.0),
    "newton": lambda f: optimize.newton(lambda x: x - 0.01 * f(x), 1.0),
    "minimize_scalar": lambda f: optimize.minimize_scalar(lambda x: (x - 0.01 * f(0.5)) ** 2).x,
    "root": lambda f: tape.root(lambda x: x - 0.01 * f(x), 1.0),
}
ARITHMETIC = {
    "products": lambda a: lambda x: x * a + a * a * x,
    "quotients": lambda a: lambda x: (x + 1) / a + a // 2 - a % 2,
    "powers": lambda a: lambda x: a**2 - (x * 0 + 2.0) ** a,
    "signs": lambda a: lambda x: -a * x + abs(-a),
    "comparisons": lambda a: lambda x: x * a if a > 2.5 else x,
    "rounding": lambda a: lambda x: round(a, 1) * x,
    "functions": lambda a: lambda x: np.exp(-a) + np.sin(a * x),
}


@takes_long
@pytest.mark.parametrize("name", SOLVERS)
def test_functions_of_solvers_read_numbers_of_python_anew(name):
    for arithmetic in ARITHMETIC.values():
        f = lambda a, arithmetic=arithmetic: SOLVERS[name](arithmetic(a))  # noqa: E731
        compiled = tape.compile(f)
        for a in (2.0, 3.0, 4.5, 2.0):
            np.testing.assert_allclose(compiled(a), f(a), rtol=1e-7)


def test_a_function_of_a_solver_raises_what_python_raises():
    compiled = tape.compile(lambda a: integrate.quad(lambda x: (x + 1) / a, 0.0, 1.0)[0])
    assert compiled(2.0) == 0.75
    with pytest.raises(ZeroDivisionError):
        compiled(0.0)


@pytest.mark.parametrize("dtype", [None, float, np.float32, int])
@pytest.mark.parametrize("copy", [None, True, False])
def test_segments_make_plain_arrays_as_numpy_does(dtype, copy):
    """Also where that takes a copy, which may be forbidden."""

    def outcome(k):
        try:
            found = np.asarray(k, dtype, copy=copy)
        except ValueError:
            return "a copy is needed"
        return found.dtype, found.tolist()

    k = np.array([1.25, 2.5])
    found = []

    def f(x, k):
        return tape.checkpoint(lambda x: x * len(found.append(outcome(k)) or "one"))(x)

    tape.compile(f)(X, k)
    assert found
    assert all(each == outcome(k) for each in found)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_recorded_and_may_not(name):
    for how, ask in EXACT.items():
        f = DERIVATIVES[name](ask)
        assert np.shape(f(*CALLS[0])), how
        with pytest.raises(errors.ConversionError, match="compiled function"):
            tape.compile(f)(*CALLS[0])


@pytest.mark.parametrize(
    "ask",
    [int, math.floor, math.ceil, math.trunc, round, operator.index, lambda n: n.item(), lambda n: n.tolist()],
)
@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**62 + 1])
def test_integers_are_read_exactly(ask, number):
    """Beyond what floats can hold."""
    compiled = tape.compile(lambda x, n: x + ask(n) % 1000)
    for n in (number, number + 2, number):
        assert compiled(0.0, np.array(n)) == n % 1000


@pytest.mark.parametrize("ask", [int, math.floor, math.ceil, round, math.trunc, operator.index])
@pytest.mark.parametrize("number", [3, np.int32(-7), np.uint8(200), np.int64(2**40), np.float64(2.5), 2.5])
def test_what_is_read_is_an_int(ask, number):
    """Of floats, where Python has an answer."""
    if ask in (math.trunc, operator.index) and isinstance(number, float):
        return
    found = []

    def f(n):
        found.append(ask(n))
        return n

    tape.compile(f)(number)
    assert set(map(type, found)) == {int}
    assert set(found) == {ask(int(number) if isinstance(number, np.integer) else number)}


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.uint64, bool])
def test_integers_of_all_dtypes_are_keys(dtype):
    def f(x, n):
        return x * {0: 2.0, 1: 3.0}[n] + (n in {1, 5}) + len({n, 1})

    compiled = tape.compile(f)
    for n in (0, 1, 0):
        number = np.array(n, dtype)
        assert compiled(0.5, number) == f(0.5, n)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.uint64, bool])
@pytest.mark.parametrize(
    "ask", [lambda n: n.tolist(), lambda n: n.item(1), lambda n: complex(n[1]), lambda n: float(n[1]), str]
)
def test_integers_of_all_dtypes_are_read_in_any_way(ask, dtype):
    found = []
    compiled = tape.compile(lambda n: (found.append(ask(n)), n * 2)[1])
    for numbers in ([0, 1, 1], [1, 0, 1]):
        compiled(np.array(numbers, dtype))
        assert (found[-1], type(found[-1])) == (
            ask(np.array(numbers, dtype)),
            type(ask(np.array([0, 1], dtype))),
        )


# ---- of arrays that are closed over, and changed in place -----------------------------------------

OF_ARRAYS = {
    "map": lambda u, a: tape.map(lambda c: np.sin(c * a[0]), u),
    "vmap": lambda u, a: tape.vmap(lambda c: np.sin(c * a[0]))(u),
    "scan": lambda u, a: tape.scan(lambda c, x: (np.sin(c * a[0]), None), u, None, 3)[0],
    "while_loop": lambda u, a: tape.while_loop(
        lambda c: c[1] < 3, lambda c: (np.sin(c[0] * a.max()), c[1] + 1), (u, 0)
    )[0],
    "checkpoint": lambda u, a: tape.checkpoint(lambda u: np.sin(u * np.sum(a)))(u),
    "nested": lambda u, a: tape.map(lambda c: tape.checkpoint(lambda u: np.sin(u * a[0]))(c), u),
    "bound": lambda u, a: tape.fori_loop(0, a[0], lambda i, c: np.sin(c), u),
    "cond": lambda u, a: tape.cond(a[0] > 2, lambda c: np.sin(c), lambda c: c * 2, u),
    "switch": lambda u, a: tape.switch(a.argmax(), [lambda c: np.sin(c), lambda c: c * 2], u),
    "root": lambda u, a: tape.root(lambda x: x**3 + x - u * a[0], u),
    "option": lambda u, a: np.roll(u, a.argmax()) * np.arange(2),
    "option of a method": lambda u, a: np.outer(u, u).sum(axis=a.argmax()),
    "named option": lambda u, a: np.cumsum(np.outer(u, u), axis=a.argmax())[0],
}


@takes_long
@pytest.mark.parametrize("name", OF_ARRAYS)
@pytest.mark.parametrize("is_gradient", [False, True])
def test_what_numpy_reads_of_an_array_that_is_closed_over_is_read_anew(name, is_gradient):
    a = np.array([1, 2]) if name == "bound" else np.array([1.0, 2.0])

    def f(u):
        return OF_ARRAYS[name](u, a)

    g = tape.grad(lambda u: np.sum(f(u))) if is_gradient else f
    compiled, u = tape.compile(g), np.array([0.5, -0.25])
    for first in (1, 3, 1, 4, 2):
        a[0] = first
        for _ in range(2):
            np.testing.assert_allclose(compiled(u), g(u), rtol=1e-9)
