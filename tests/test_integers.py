"""Int arguments of compiled functions: data if they differ, static if Python reads them."""

import copy
import functools
import json
import math
import pickle
import threading
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from unittest.mock import Mock, call

import numpy as np
import pytest

import tape
from tape import errors
from tape.program.record.recorder import Recorder
from tests.random_ints import differences, is_same
from tests.tiers import rounds, takes_long

X = np.linspace(0.5, 1.5, 3)
X32 = X.astype(np.float32)


def alike(f, calls, programs=None):
    """Compile a function, call it, and compare values and types with those of the plain one."""
    compiled = tape.compile(f)
    for args in calls:
        found, wanted = compiled(*args), f(*args)
        assert is_same(found, wanted), (args, found, wanted)
    if programs is not None:
        assert len(compiled.programs) == programs, compiled.programs
    return compiled


def with_ints(*values):
    return [(X, value) for value in values]


# ---- data ------------------------------------------------------------------------------------------------


def test_an_int_that_is_only_computed_with_needs_one_program():
    def objective(params, i):
        def loss(params):
            return np.sum(np.tanh(params["w"]) ** 2) * 0.99**i + 1 / (1 + i)

        value, gradient = tape.value_and_grad(loss)(params)
        step = {name: params[name] - 0.1 * gradient[name] / (1 - 0.9 ** (i + 1)) for name in params}
        return step, value

    compiled = tape.compile(objective)
    for i in range(300):
        (step, value), (wanted_step, wanted) = compiled({"w": X}, i), objective({"w": X}, i)
        np.testing.assert_allclose(step["w"], wanted_step["w"], rtol=1e-13)
        np.testing.assert_allclose(value, wanted, rtol=1e-13)
    assert [repr(key) for key in compiled.programs] == [
        "objective({'w': float64[3]}, int) reading True, True, True"
    ]


UFUNCS = {
    "before an array": lambda x, k: np.add(k, x),
    "before a number": lambda x, k: np.subtract(k, x[0]),
    "behind an array": lambda x, k: np.multiply(x, k),
    "behind a number": lambda x, k: np.maximum(x[1], k),
    "behind an array that it divides": lambda x, k: np.divide(x, k),
    "an exponent": lambda x, k: np.power(np.abs(x), k),
    "chosen": lambda x, k: np.where(x > 1, x, k),
    "chosen beside a number": lambda x, k: np.where(x > 1, k + 1, x[0]),
    "bounds": lambda x, k: np.clip(3 * x, k, 2 * k),
    "a bound of float32": lambda x, k: np.clip(x.astype(np.float32), 1, k),
}


@pytest.mark.parametrize("place", UFUNCS)
def test_an_int_beside_an_array_in_a_ufunc_is_data(place):
    compiled = tape.compile(UFUNCS[place])
    for k in range(2, 7):
        np.testing.assert_allclose(compiled(X, k), UFUNCS[place](X, k), rtol=1e-14)
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("number", [np.float32(2.5), np.float64(2.5), 2.5])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.divide, np.hypot, np.maximum])
def test_an_int_beside_a_float_in_a_ufunc_is_data(ufunc, number):
    alike(lambda x, k: [ufunc(k, number), ufunc(number, k)], with_ints(2, 3, 5, 7), programs=1)


@pytest.mark.parametrize(
    "function", [lambda x, k: np.where(x > 1, np.argsort(x), k), lambda x, k: np.clip(np.argsort(x), 0, k)]
)
def test_an_int_among_integers_keeps_their_dtype(function):
    compiled = tape.compile(function)
    for k in (1, 2, 2**40, 3):
        found, wanted = compiled(X, k), function(X, k)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_an_int_behind_an_array_is_read_where_options_depend_on_it():
    compiled = tape.compile(lambda x, k: np.multiply(x, k, dtype=float) + np.add.reduce(x, keepdims=k > 3))
    for k in range(2, 7):
        np.testing.assert_allclose(compiled(X, k), compiled.__wrapped__(X, k), rtol=1e-14)


def test_an_int_that_stays_the_same_is_static():
    (key,) = alike(lambda x, n: x * n, with_ints(3, 3, 3)).programs
    assert repr(key) == "<lambda>(float64[3], 3)"


def test_only_ints_that_differ_are_data():
    compiled = alike(lambda x, i, n: x[:n] * i, [(X, i, 2) for i in range(5)], programs=1)
    assert "float64[3], int, 2" in repr(next(iter(compiled.programs)))


def test_an_int_does_not_widen():
    compiled = alike(
        lambda x, i: [x * i, i - x, x / i, x**i, x > i], [(X32, i) for i in (1, 2, 5)], programs=1
    )
    assert [out.dtype for out in compiled(X32, 7)] == [np.float32] * 4 + [bool]


def test_ints_in_trees_are_data():
    @dataclass
    class Schedule:
        rate: float
        step: int

    def f(tree, schedule, *, t):
        return tree["w"] * tree["n"][0] + schedule.rate / (1 + schedule.step) - t

    compiled = tape.compile(f)
    for k in range(5):
        args = {"w": X, "n": [k]}, Schedule(0.5, 2 * k)
        np.testing.assert_allclose(compiled(*args, t=-k), f(*args, t=-k), rtol=1e-14)
    assert len(compiled.programs) == 1


def test_other_shapes_have_programs_of_their_own():
    calls = [(np.ones(n), i) for i in range(4) for n in (2, 3)]
    alike(lambda x, i: x * i, calls, programs=2)


@pytest.mark.parametrize("value", [True, False, 2**31, -(2**31), 10**20, np.int64(5), 2.0], ids=repr)
def test_other_numbers_are_told_from_data(value):
    alike(lambda x, i: [x * i, i, i + 1], [*with_ints(3, 4, 5), (X, value), (X, 6)])


class Color(IntEnum):
    RED = 1


def test_members_of_enumerations_are_static():
    alike(lambda x, i: [x * i, isinstance(i, Color)], [*with_ints(3, 4), (X, Color.RED), (X, 1)])


NUMBERS = {
    "sum": lambda x, i: [i + 1, 1 - i, -i, abs(i), +i],
    "products": lambda x, i: [2 * i, i * i, i * i * i, i**5],
    "quotients": lambda x, i: [
        i / 3,
        i // 3,
        i % 3,
        -i // 7,
        -i % 7,
        i % -4,
        divmod(i, 5),
        i // 0.3,
        i % 0.7,
    ],
    "by the int": lambda x, i: [7 / (i * i + 1), 7 // (i * i + 1), 7 % (i * i + 1)],
    "powers": lambda x, i: [i**2, 2 ** abs(i), (-1) ** i, 2**-i, 0.9**i, (i * i + 1) ** -2, (i * i) ** 0.5],
    "NumPy's": lambda x, i: [np.sqrt(i * i), np.exp(-i * 0.1), np.float32(0.5) * i, np.cos(np.pi * i / 7)],
    "beside floats of NumPy": lambda x, i: [np.float32(2) ** i, i / np.float32(3), i - np.float16(2)],
    "complex powers": lambda x, i: [(-2) ** (i * 0.5), 0.0 ** abs(i)],
    "comparisons": lambda x, i: [i > 3, i == 3, i <= 2.5, 1 < i < 4, i != None, i == "3", not i],  # noqa: E711
}


@pytest.mark.parametrize("f", NUMBERS.values(), ids=NUMBERS)
def test_arithmetic_is_that_of_python(f):
    alike(f, with_ints(3, 4, 5, 0, -1, -2, 12, 1, -6))


def test_ints_that_would_overflow_are_exact():
    compiled = tape.compile(lambda x, i: [i**3 * i, i * i, i * i * i])
    for i in (3, 4, 2**20, 2**21, -(2**30), 2**31 - 1):
        assert compiled(X, i) == [i**4, i**2, i**3]


@pytest.mark.parametrize("base", [2, 3, -7])
def test_powers_of_ints_are_computed_with_as_ints_of_any_size(base):
    """Where the exponent is data."""

    def products(x, i):
        p = base**i
        return [p * p, p * p * p, -p * i * i, p // 3 * p, p % 5 * p * p, p * p / 7]

    for f in (products, lambda x, i: [base**i + 1, abs(base**i) - 1], lambda x, i: base**i / 7):
        alike(f, [(X, i) for i in (2, 3, 1, 15, 19, 31, 33, 34, 40, 3)])


@pytest.mark.parametrize(
    "power",
    [lambda i: 2**i, lambda i: i**2, lambda i: i**i, lambda i: 0.9**i, lambda i: 2**-i, lambda i: i**-0.5],
)
def test_ints_in_powers_stay_data(power):
    alike(lambda x, i: power(i), with_ints(2, 3, 5, 7, 12), programs=1)


def test_powers_of_ints_fit_in_arrays_or_are_refused_as_by_numpy():
    small = np.array([1, 2], np.int8)
    compiled = tape.compile(lambda x, i: small + 2**i)
    for i in (2, 3, 6, 4):
        assert is_same(compiled(X, i), small + 2**i)
    for i in (7, 20, 40):
        with pytest.raises(OverflowError):
            compiled(X, i)


def test_quotients_of_large_ints_are_rounded_correctly():
    compiled = tape.compile(lambda x, i: (i * i * 3 + 1) / (i * i - 7))
    for i in (3, 4, 2**30 + 1, 2**30 + 3, 2**31 - 5):
        assert compiled(X, i) == (i * i * 3 + 1) / (i * i - 7)


def test_errors_are_those_of_python_and_the_int_stays_data():
    def f(x, i):
        if i < 0:
            raise KeyError(i)
        return x / (1 / i)

    compiled, programs = tape.compile(f), []
    for i in (3, 4, 0, -1, 5, 0, 6):
        if i > 0:
            np.testing.assert_allclose(compiled(X, i), X * i)
        else:
            with pytest.raises(KeyError if i else ZeroDivisionError):
                compiled(X, i)
        programs.append([*compiled.programs.values()])
    assert programs[1] == programs[-1]
    assert len(programs[1]) == 1


def test_float_overflow_raises():
    compiled = tape.compile(lambda x, i: x * 10.0**i)
    for i in (3, 4, 5):
        compiled(X, i)
    with pytest.raises(OverflowError):
        compiled(X, 400)


def test_caught_errors_are_those_of_the_number():
    def f(x, i):
        try:
            return x / i if i < 5 else x * (1 / (i - 7))
        except ZeroDivisionError:
            return x

    alike(f, with_ints(3, 4, 5, 7, 6, 7))


# ---- indices -----------------------------------------------------------------------------------------------


def test_arrays_are_indexed_by_data():
    def f(x, i):
        y = x.copy()
        row = y[i]
        row += 1
        y[i] *= 2
        y[:, i] = 0.5
        return [x[i], x[..., i], x[i, None], y, tape.grad(lambda x: np.sum(x[i] ** 2))(x)]

    alike(f, [(np.arange(9.0).reshape(3, 3), i) for i in (0, 1, 2, -1, -3)], programs=1)


def test_indices_out_of_bounds_raise():
    compiled = alike(lambda x, i: x[i] * 2, with_ints(0, 1, 2, -3), programs=1)
    for i in (3, -4, 2**40):
        with pytest.raises(IndexError):
            compiled(X, i)


def test_an_index_with_other_positions_reads_the_int():
    alike(
        lambda x, i: [x[i, 0], x[0, i], x[i, i], x[[0, 1], i]],
        [(np.eye(3), i) for i in (0, 1, 2)],
        programs=3,
    )


def test_powers_at_zero_have_the_derivative_of_constant_exponents():
    x = np.array([0.0, -1.0, 2.0])
    alike(lambda x, i: tape.grad(lambda x: np.sum(x**i))(x), [(x, i) for i in (1, 2, 0, 3, 1)], programs=1)


def test_ints_in_loops_that_are_rolled_up():
    def f(x, i):
        for _ in range(2500):
            x = np.sin(x) * 0.9**i + 1 / i
        return x

    compiled = alike(f, with_ints(3, 4, 5), programs=1)
    assert next(iter(compiled.programs.values())).explain().loops


@pytest.mark.parametrize(
    "f",
    [
        lambda i, truth: [i * truth, (truth + i) ** 40 % 7, i == truth, truth & i, i ^ truth],
        lambda i, truth: [i - truth, truth - i, i - True, False - i],
        lambda i, truth: [truth // i, i // (truth + 1), truth / i],
    ],
)
def test_truths_of_traced_numbers_beside_ints_are_ints(f):
    alike(lambda x, s, i: f(i, s > 0), [(X, s, i) for i in (3, 4, 1, 10**6) for s in (0.5, -0.5)])


def test_an_int_beside_one_that_no_array_holds_is_read():
    alike(lambda x, i: [i + 2**70, 2**70 - i, i * -(2**65), 2**80 // i], with_ints(3, 4, 1, -7))


# ---- guards ----------------------------------------------------------------------------------------------


def test_a_comparison_is_a_guard():
    alike(lambda x, i: x if i % 10 == 0 else -x, with_ints(*range(1, 60)), programs=2)


def test_what_is_read_of_a_remainder_is_a_guard():
    names = ("a", "bb", "ccc")
    alike(lambda x, i: x * len(names[i % 3]), with_ints(*range(1, 30)), programs=3)


def test_ints_of_many_paths_are_static():
    compiled = tape.compile(lambda x, i: x * len("a" * (i % 40)))
    for i in range(1, 100):
        np.testing.assert_allclose(compiled(X, i), X * (i % 40))
    assert sum("int" in repr(key) for key in compiled.programs) <= 16
    assert len(compiled.programs) > 50


def test_an_int_that_one_path_reads_is_static_from_then_on():
    run = Mock()

    def f(x, i):
        run()
        return x * len(range(i)) if i > 10 else x * i

    compiled = alike(f, with_ints(3, 4, 5, 11, 12))
    assert not any("int" in repr(key) for key in compiled.programs)
    run.reset_mock()
    for i in (11, 12, 11):
        compiled(X, i)
    assert not run.called


# ---- reading ---------------------------------------------------------------------------------------------


@functools.cache
def remembered(n):
    return n + 0.5


@functools.singledispatch
def dispatched(n):
    return "other"


@dispatched.register
def _(n: int):
    return "int"


def matched(n):
    match n:
        case 3:
            return "three"
        case int():
            return "int"
    return "other"


def length_of(n):
    try:
        return len(range(n))
    except BaseException:
        return -1


def decimal_of(n):
    try:
        return str(Decimal(n))
    except TypeError:
        return "no int"


READERS = {
    "range": lambda x, i: x * len(range(i)),
    "slice": lambda x, i: x[: i % 3] * 2,
    "index": lambda x, i: x[i % 3] + [1, 2, 3][i % 3],
    "shape": lambda x, i: np.zeros(i) + x[0],
    "string": lambda x, i: f"{i}, {i:03d}, {str(i)}, {i!r}, {'%d' % i}",  # noqa: RUF010, UP031
    "string of a float": lambda x, i: f"{i / 7:.3f} {i * 0.5}",
    "repetition": lambda x, i: [[1, 2] * i, "ab" * i, i * (1,)],
    "key": lambda x, i: {3: 1, 4: 2}.get(i, 0),
    "key with a float": lambda x, i: {(i, 0.5): 1}[i, 0.5],
    "set": lambda x, i: len({i, 3, 4}),
    "cache": lambda x, i: x * remembered(i),
    "json": lambda x, i: json.dumps([i]),
    "pickle": lambda x, i: pickle.loads(pickle.dumps(i)),
    "copy": lambda x, i: copy.deepcopy([i])[0],
    "shallow copy": lambda x, i: [copy.copy(i), x * copy.copy(i)],
    "type": lambda x, i: [type(i).__name__, type(i) is int],
    "dispatch": lambda x, i: dispatched(i),
    "match": lambda x, i: matched(i),
    "isinstance": lambda x, i: [isinstance(i, int), isinstance(i, float), isinstance(i / 2, float)],
    "attributes": lambda x, i: [
        i.bit_length(),
        i.real,
        i.numerator,
        hasattr(i, "shape"),
        (i / 2).is_integer(),
    ],
    "bits": lambda x, i: [i & 1, i | 4, i ^ 3, ~i, i << 2, i >> 1, 1 << i],
    "float": lambda x, i: [float(i), int(i), complex(i), round(i / 2), int(i / 2), i * 1j],
    "complex": lambda x, i: complex(i),
    "rounding": lambda x, i: [round(i / 2), x],
    "rounding to digits": lambda x, i: round(i / 7, 2),
    "rounding to zero": lambda x, i: math.trunc(-i / 2),
    "rounding down": lambda x, i: math.floor(-i / 2),
    "rounding up": lambda x, i: math.ceil(i / 2),
    "high power": lambda x, i: x * (i**70 % 7),
    "complex beside": lambda x, i: np.add(i, 1j),
    "caught by all means": lambda x, i: x * length_of(i),
    "array": lambda x, i: [np.asarray(i), np.array([i, 2]), np.full(2, i), np.zeros(2) + i, np.arange(3) * i],
    "NumPy": lambda x, i: [np.add(i, 1), np.minimum(i, 3), np.float64(i), np.int64(2) * i, np.clip(i, 0, 3)],
    "search": lambda x, i: [k for k in range(100) if k == i],
    "written": lambda x, i: np.put(y := x.copy(), 0, i) or y,
    "in place": lambda x, i: tape.numpy.asarray(x).copy().__iadd__(i),
    "statistics": lambda x, i: [*sorted([i, 3, 1]), max(i, 3), min(i, 2), sum([i, 1])],
    "switch": lambda x, i: tape.switch(i, [np.sin, np.cos, np.exp], x),
    "loop": lambda x, i: tape.fori_loop(0, i, lambda k, s: s * 1.5, x),
    "scan": lambda x, i: tape.scan(lambda c, e: (c + e * i, c), 0.0, x)[1],
    "jacobian": lambda x, i: tape.jacobian(lambda e: e**2 * i)(x),
    "checkpoint": lambda x, i: tape.grad(lambda x: np.sum(tape.checkpoint(lambda x, n: x**n)(x, i)))(x),
    "int arrays": lambda x, i: [x.astype(int) * i, x.astype(np.uint8) + i, x.astype(np.int32) // i],
    "taken": lambda x, i: [np.take(x, i % 3), np.take(x, [i % 3, 0])],
    "results": lambda x, i: [slice(i), {"n": (i, None)}, [x * i, i]],
    "caught": lambda x, i: decimal_of(i),
    "half": lambda x, i: x.astype(np.float16) * i,
}


@pytest.mark.parametrize("f", READERS.values(), ids=READERS)
def test_whatever_python_reads_is_the_number(f):
    remembered.cache_clear()
    alike(f, with_ints(3, 4, 5, 3, 6, 4, 1))


def test_an_int_that_python_reads_is_recorded_as_before():
    run = Mock()

    def f(x, n):
        for _ in range(n):
            x = 2 * x
        run(n)
        return x

    compiled = alike(f, with_ints(1, 2, 3, 4), programs=4)
    assert not any("int" in repr(key) for key in compiled.programs)
    assert run.call_args_list == [
        call(n) for n in (1, 1, 2, 2, 3, 3, 4, 4)
    ]  # plain and recorded; as data only up to range()


# What is done with numbers after their recording, where i is 4, half of it 2.0 and y an array.
AFTERWARDS = {
    "arithmetic": lambda i, half, y: [i * 5, i - half, 3 // i, -i, abs(-half), (+i) * 2, i**2, pow(i, 2, 3)],
    "comparisons": lambda i, half, y: [i > 3, half == 2, bool(i), not half, i < y],
    "reading": lambda i, half, y: [
        int(half),
        float(i),
        complex(i),
        range(i)[-1],
        {4: "found"}[i],
        ~i,
        1 << i,
    ],
    "rounding": lambda i, half, y: [
        round(half),
        round(half, 1),
        math.trunc(half),
        math.floor(half),
        math.ceil(half),
    ],
    "texts": lambda i, half, y: f"{i} {half!r} {i:03d}",
    "copies": lambda i, half, y: [copy.copy(i) + 1, copy.deepcopy(half) + 1, pickle.loads(pickle.dumps(i))],
    "NumPy": lambda i, half, y: [np.sqrt(i), np.add(y, i), np.add.outer(half, y), y * half, y[i], i - y],
    "in place": lambda i, half, y: tape.numpy.asarray(y).copy().__iadd__(i),
    "with a Var": lambda i, half, y: tape.value_and_grad(lambda y: y[i] * half + np.sum(y**i))(y),
}


@pytest.mark.parametrize("f", AFTERWARDS.values(), ids=AFTERWARDS)
def test_what_is_left_of_a_recording_is_a_number(f):
    with Recorder() as trace:
        i = trace.integer(4, leaf=0)
        half = i / 2
    nodes, y = len(trace.nodes), np.arange(5.0)
    assert is_same(f(i, half, y), f(4, 2.0, y))
    assert (len(trace.nodes), trace.guards) == (nodes, [])


def test_aliases_are_written_as_by_numpy():
    def f(x, i):
        x = x.copy()
        y = x
        y += i
        y *= 0.9**i
        return [x, y]

    alike(f, with_ints(3, 4, 5), programs=1)


def test_an_int_has_no_derivative():
    compiled = tape.compile(lambda x, i: tape.grad(lambda i: x[0] * i)(i))
    for i in (3, 4):
        with pytest.raises(errors.TapeError) as caught:
            compiled(X, i)
        with pytest.raises(type(caught.value)):
            tape.grad(lambda i: X[0] * i)(i)


def test_a_compiled_function_that_calls_another_with_an_int():
    inner = tape.compile(lambda x, i: x * 0.5**i)
    alike(lambda x, i: inner(x, i) + inner(np.ones(3), i), with_ints(3, 4, 5, 6), programs=1)


# ---- programs --------------------------------------------------------------------------------------------


def data_program(f=lambda x, i: [x * i, i + 1], args=(X, 3)):
    compiled = tape.compile(f)
    compiled(*args)
    compiled(*(arg + 1 if type(arg) is int else arg for arg in args))
    (program,) = compiled.programs.values()
    return compiled, program


def test_a_program_is_called_with_ints():
    _, program = data_program()
    out, more = program(X, 9)
    assert is_same([out, more], [X * 9, 10])
    for wrong in (2**31, 3.0, True, np.int64(3)):
        with pytest.raises(errors.DTypeError, match=r"args.*\[1\] is .*for an int between"):
            program(X, wrong)
    assert "int64" in str(program)
    assert program.explain().callbacks == {}


def test_profile_takes_ints():
    compiled, program = data_program()
    assert program.profile(X, 5, repeats=1).timings
    for wrong in (2**31, 3.5):
        with pytest.raises(errors.TapeError):
            program.profile(X, wrong, repeats=1)
    assert compiled.profile(X, 8, repeats=1).timings


def test_files_keep_ints(tmp_path):
    _, program = data_program()
    program.save(tmp_path / "f.tape")
    for loaded in (tape.load(tmp_path / "f.tape"), pickle.loads(pickle.dumps(program))):
        out, more = loaded(X, 9)
        assert is_same([out, more], [X * 9, 10])
        with pytest.raises(errors.DTypeError):
            loaded(X, 9.0)


def test_files_without_the_tree_of_arguments_keep_ints(tmp_path):
    @dataclass
    class Pair:
        w: np.ndarray
        n: int

    compiled = tape.compile(lambda pair: pair.w * pair.n)
    for n in (3, 4):
        compiled(Pair(X, n))
    (program,) = compiled.programs.values()
    program.save(tmp_path / "f.tape")
    (out,) = tape.load(tmp_path / "f.tape")(X, 9)
    assert (out == X * 9).all()


def test_donated_arrays_are_found_beside_ints():
    compiled = tape.compile(lambda i, x, j, y: (x * i + j, np.sum(y)), donate=1)
    for i in range(1, 6):
        x = X.copy()
        out, _ = compiled(i, x, 2 * i, X)
        np.testing.assert_allclose(out, X * i + 2 * i)
        assert i < 3 or out is x


def test_threads_may_call_with_different_ints():
    compiled, failures = tape.compile(lambda x, i: x * 0.9**i + i), []

    def calls(start):
        numbers = range(start, start + 60)
        failures.extend(i for i in numbers if not np.allclose(compiled(X, i), X * 0.9**i + i))

    threads = [threading.Thread(target=calls, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    compiled(X, 999)
    assert len(compiled.programs) <= 2


@takes_long
def test_random_functions_are_the_same_compiled():
    found = [difference for seed in range(rounds(120)) for difference in differences(seed)]
    assert not found, found[0]


def test_nothing_warns():
    compiled = tape.compile(lambda x, i: [x * (1 % (i - 7)), x * 10.0**i])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in (3, 4, 7, 400):
            with pytest.raises((ZeroDivisionError, OverflowError)) if i > 4 else nullcontext():
                compiled(X, i)
        alike(lambda x, i: x * 0.9**i / (1 + i), with_ints(*range(40)), programs=1)


# ---- functions that are callbacks ------------------------------------------------------------------------


class Holder:
    def __init__(self, k):
        self.k = k


def scaled(x, s, factor):
    """Return what a checkpoint computes, of whose factor one branch reads."""
    return tape.checkpoint(lambda u: u * (factor() if s > 0 else 2.0))(x)


CALLED_BACK = {  # of x, s and an int that only one branch reads, which is not the one that is recorded
    "a checkpoint": lambda x, s, k: tape.checkpoint(lambda u: u * (k if s > 0 else 2.0))(x),
    "of a list": lambda x, s, k: (lambda of: scaled(x, s, lambda: of[0]))([k]),
    "of a dict": lambda x, s, k: (lambda of: scaled(x, s, lambda: of["k"]))({"k": k}),
    "of an object": lambda x, s, k: (lambda of: scaled(x, s, lambda: of.k))(Holder(k)),
    "of what is computed": lambda x, s, k: (lambda of: scaled(x, s, lambda: of))(k * 2 + 1),
    "an equation": lambda x, s, k: tape.fixed_point(lambda z: 0.1 * z + (k if s > 0 else 2.0) * x, x),
    "an operation": lambda x, s, k: tape.Op(
        lambda u, s: u * (k if s > 0 else 2.0), vjp=[lambda g, out, u, s: g, None], name="scaled"
    )(x, s),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLED_BACK)
def test_ints_that_a_callback_may_read_are_not_those_of_another_call(name):
    f = CALLED_BACK[name]
    compiled, x = tape.compile(f), np.array([0.25, -2.0])
    for s, k in ((1.0, 0), (-1.0, 1), (1.0, 0), (1.0, 2), (-1.0, 3), (1.0, 4)):
        np.testing.assert_allclose(compiled(x, np.float64(s), k), f(x, np.float64(s), k), rtol=1e-12)
