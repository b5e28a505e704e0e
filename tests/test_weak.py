"""Numbers of Python's own in compiled functions: their types, and sets and dicts that they are keys of."""

import collections.abc
import functools
import math
import numbers
import operator

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.weak import weak
from tests.tiers import some, takes_long


def test_traced_numbers_are_no_keys_unless_they_are_integers():
    for f in (
        lambda a, b: len({a, b}),
        lambda a, b: {a: 1.0}.get(b, 2.0),
        lambda a, b: a in {1.0, 2.0},
        lambda a, b: {a: b}[a],
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


@pytest.mark.parametrize("number", [-2.5, 2.5, -3, 3, -1.5 + 2j, True])
def test_weak_numbers_are_numbers_and_arrays_without_axes(number):
    one = weak(number)
    kind = np.result_type(type(number))
    assert abs(one) == abs(number)
    assert abs(one).dtype == abs(kind.type(number)).dtype
    for index, shape in ((..., ()), (None, (1,)), ((None, None), (1, 1)), ((), ())):
        part = one[index]
        assert (part.dtype, part.shape) == (kind, shape)
        assert np.all(part == number)


def types(out):
    return tuple(map(types, out)) if isinstance(out, tuple) else type(out)


OF_PYTHON = {
    "round": lambda a, b: (round(a), round(a, 1), round(-a * b, 2), round(a * 100, -1)),
    "parts": lambda a, b: (a.real, a.imag, (a * b).real, (a + 2j * b).imag, (a > 0).real, int(b).imag),
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
            assert types(found) == types(expected)


@pytest.mark.parametrize("x", [np.array([1.0, 2.0]), np.float64(0.5), 0.5, 2, np.zeros((0, 3)), np.int64(3)])
@pytest.mark.parametrize("other", ["r", None])
def test_what_is_no_number_equals_nothing_with_the_types_of_numpy(x, other):
    def f(x):
        return x == other, x != other, other == x, other != x

    for found, expected in zip(tape.compile(f)(x), f(x), strict=True):
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected, strict=True)
    with pytest.raises(TypeError):
        tape.compile(lambda x: x < other)(x)


def flat(out):
    return [x for part in out for x in flat(part)] if isinstance(out, (tuple, list)) else [out]


NUMBERS = [
    2**53 + 1, 2.0**53, 2**53, -(2**53) - 1, -(2.0**53), 2**62 + 1, 2.0**62, 2**63 - 1, 2.0**63, -(2**63),
    -(2.0**63), 0, -0.0, 3, 2.5, float("inf"), -float("inf"), float("nan"), True, 1.0,
]  # fmt: skip


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_integers_and_floats_are_compared_exactly(name):
    """As Python compares its numbers; NumPy rounds an integer to a float first."""
    compare = getattr(operator, name)
    both = tape.compile(lambda a, b: compare(a, b))
    for a in some(NUMBERS, every=7):
        left, right = tape.compile(lambda b, a=a: compare(a, b)), tape.compile(lambda b, a=a: compare(b, a))
        for b in NUMBERS:
            for _ in range(2):  # the first call records
                assert both(a, b) is compare(a, b), (a, b)
                assert left(b) is compare(a, b), (a, b)
                assert right(b) is compare(b, a), (a, b)


LARGE = [0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**62 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64, 10**25]


@pytest.mark.parametrize("number", [*LARGE, *[-number for number in LARGE[1:]]])
def test_floats_are_compared_with_integers_of_any_size_as_in_python(number):
    """Exactly, though NumPy would round the integer."""
    operators = [operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt]

    def compared(x):
        return [1 if compare(a, b) else 0 for compare in operators for a, b in ((x, number), (number, x))]

    compiled = tape.compile(lambda x: [x * holds for holds in compared(x)])
    near = float(number)
    for x in (near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf), 0.5):
        assert compiled(x) == [x * holds for holds in compared(x)]


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a & 3,
        lambda a: 3 | a,
        lambda a: a ^ a,
        lambda a: (a > 1) & a,
        lambda a: a << 2,
        lambda a: ~a,
    ],
    ids=["and", "reflected or", "xor", "beside a bool", "shift", "invert"],
)
def test_bits_of_floats_raise_what_python_raises(f):
    with pytest.raises(TypeError):
        f(1.5)
    with pytest.raises(TypeError):
        tape.compile(f)(1.5)


def _scanned(y, k):
    return tape.scan(lambda s, _: (s + (-k) * s * s / (k - 3), None), y, None, 5)[0]


def _repeated(y, k):
    def step(state):
        s, n = state
        return s + (-k) * s * s / (k - 3), n + 1

    return tape.while_loop(lambda state: state[1] < 5, step, (y, 0))[0]


def _run_again(y, k):
    return tape.checkpoint(lambda y: y - (-k) * y * y / (k + 1))(y)


def _solved(y, k):
    return tape.odeint(lambda y, t: -k * y, y, np.array([0.0, 1.0]), method="Tsit5")[-1]


@takes_long
@pytest.mark.parametrize("f", [_scanned, _repeated, _run_again, _solved])
@pytest.mark.parametrize("derived", [lambda f: f, tape.grad], ids=["value", "grad"])
def test_pythons_numbers_widen_nothing_where_code_runs_again(f, derived):
    """Nor do results of arithmetic among them: the call that records rounds as those that follow do.

    An adaptive solver of float32 takes other steps where rounding differs, and a gradient of other steps than
    those of the solution is none.
    """
    g = derived(lambda y, k: np.sum(f(y, k)))
    y = np.array([0.3, 0.5, -0.2], np.float32)
    for k in (0.7, 5.0, -0.4):
        compiled = tape.compile(g)
        for out in (compiled(y, k), compiled(y, k)):
            assert out.dtype == np.float32
            np.testing.assert_allclose(out, g(y, k), rtol=1e-5)


def _ruled(y, k):
    sine = tape.custom_vjp(lambda y, k: np.sin(y * k))
    sine.defvjp(lambda g, out, y, k: (g * np.cos(y * k) * k, np.sum(g * np.cos(y * k) * y)))
    return sine(y, k)


RUN_AGAIN = {
    "closed over": lambda y, k: tape.checkpoint(lambda u: np.sin(u * k))(y),
    "arguments": lambda y, k: tape.checkpoint(lambda u, k: np.sin(u * k))(y, k),
    "nested": lambda y, k: tape.checkpoint(lambda u: tape.checkpoint(lambda v: np.sin(v * k))(u))(y),
    "in a batch": lambda y, k: tape.vmap(lambda u: tape.checkpoint(lambda v: np.sin(v * k))(u))(y),
    "loop": lambda y, k: tape.checkpoint_loop(lambda s, i: np.sin(s * k), y, 3, 2),
    "snapshots": lambda y, k: tape.scan(lambda s, _: (np.sin(s * k), s), y, None, 5, checkpoint=2)[0],
    "rule": _ruled,
}


@takes_long
@pytest.mark.parametrize("name", RUN_AGAIN)
@pytest.mark.parametrize("transform", ["value", "grad", "jvp", "hvp"])
def test_code_that_runs_again_overflows_where_it_did(name, transform):
    """In float32, whatever numbers of Python's it reads: -1e300 is an infinity beside it."""

    def derived(y, k):
        f = lambda y: np.sum(RUN_AGAIN[name](y, k))  # noqa: E731
        if transform == "value":
            return f(y)
        return {"grad": tape.grad(f), "jvp": lambda y: tape.jvp(f, (y,), (y,))[1],
                "hvp": lambda y: tape.hvp(f)(y, y)}[transform](y)  # fmt: skip

    compiled = tape.compile(derived)
    y = np.array([0.3, -1.25], np.float32)
    with np.errstate(all="ignore"):
        for k in (0.7, 0.7, -1e300, 1e39, -0.4):
            found, expected = compiled(y, k), derived(y, k)
            assert found.dtype == expected.dtype == np.float32
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


ABSTRACT = [getattr(collections.abc, name) for name in collections.abc.__all__ if name != "ByteString"]


@pytest.mark.parametrize("kind", [*ABSTRACT, numbers.Number, numbers.Real, numbers.Integral], ids=repr)
def test_abstract_classes_see_what_a_traced_value_stands_for(kind):
    def f(x, a):
        return x * 2 if isinstance(a, (kind, str)) else x * 3

    x = np.ones(2)
    for a in (2.0, 2j, 3, True, np.float64(2), np.int64(3), np.array(2.0), np.ones(3)):
        compiled = tape.compile(f)
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x, a), f(x, a))
