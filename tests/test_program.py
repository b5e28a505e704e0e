"""Programs against eager: operations and their derivatives, kinds of arguments, results, threads, memory."""

import gc
import os
import sys
import threading
import time

import numpy as np
import pytest
from scipy import special

import tape
from tape import ops
from tape.program.growth import Growth
from tape.program.kinds import Kinds
from tests import naive_program
from tests.forks import forks, in_a_fork
from tests.naive_program import compiled_for
from tests.op_table import (
    CASES,
    TWO_OF_EACH,
    a_third,
    by_operation,
    few_of_each,
    lightly,
    one_of_each,
    two_of_each,
)
from tests.oracles import LAYOUTS, assert_close, inner, laid_out, unit_directions, vjp
from tests.test_lowering import RUN_IN_PYTHON, callbacks
from tests.tiers import grid, some, takes_long

DIFFERENTIABLE = [case for case in CASES if case.has_derivative]
a_third_of_the_operations = by_operation(a_third(lightly(TWO_OF_EACH), 0))
derivatives_of_each = by_operation(a_third(two_of_each(lightly(DIFFERENTIABLE)), 1))
at_least_once = by_operation(a_third(one_of_each(TWO_OF_EACH), 2))


def assert_equal(found, expected, computed_in=np.float64):
    """The same types, shapes and dtypes, and the same elements to rounding, relative to the largest."""
    if isinstance(expected, (list, tuple)):
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other, computed_in)
        return
    found, expected = found[()], expected[()]  # scalars and arrays of shape () are alike here
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    eps = 0.0
    if found.dtype.kind in "fc":  # float32 sums may end up in float64
        eps = max(np.finfo(found.dtype).eps, np.finfo(computed_in).eps)
    assert_close(found, expected, 256 * eps)


def check(f, *calls):
    """Compiled equals eager, recording and replaying, and so does the interpreter; the compiled function."""
    compiled, program = compiled_for(f, *calls[0])
    for args in (*calls, calls[0]):
        assert_equal(compiled(*args), f(*args))
    constants = [k for k, (kind, _) in enumerate(program._results) if kind == "constant"]
    computed = [out for k, out in enumerate(program.run(tuple(calls[0]))) if k not in constants]
    assert_equal(computed, naive_program.run(program.ir, calls[0]))
    return compiled


def gradient(case):
    """The gradients of a case by its float arguments, of a random weighting of the result."""

    def f(*args):
        value = case.on(ops)(*args)
        return vjp(case.on(ops), args, np.cos(np.arange(value.size)).reshape(value.shape).astype(value.dtype))

    return f


def second_gradient(case):
    """The gradients of a random weighting of the gradients."""

    def f(*args):
        directions = unit_directions(case.rng(5), args)
        return vjp(lambda *args: inner(gradient(case)(*args), directions), args)

    return f


# ---- every operation -----------------------------------------------------------------------------


def value_and_gradient(case):
    """A case's result, and its gradients if it has any."""
    if not case.has_derivative:
        return case.on(ops)
    return lambda *args: [case.on(ops)(*args), *gradient(case)(*args)]


@by_operation(few_of_each(lightly(CASES)))
def test_values_and_gradients(case):
    """And what runs in Python is what is known to: rules that fail would else only make programs slow."""
    compiled = check(value_and_gradient(case), case.args(), case.args(salt=1))
    (program,) = compiled.programs.values()
    assert callbacks(program) == RUN_IN_PYTHON.get(case.name, set())


@a_third_of_the_operations
def test_values_alone(case):
    check(case.on(ops), case.args(), case.args(salt=1))


@at_least_once
def test_values_and_gradients_in_float32(case):
    compiled = check(value_and_gradient(case), case.args(np.float32), case.args(np.float32, salt=1))
    (program,) = compiled.programs.values()
    assert callbacks(program) == RUN_IN_PYTHON.get(case.name, set())


@derivatives_of_each
def test_second_order(case):
    check(second_gradient(case), case.args(), case.args(salt=1))


# ---- every kind of argument ----------------------------------------------------------------------


def unaligned(x):
    """The same elements at an odd address."""
    memory = np.empty(x.nbytes + 1, np.uint8)[1:]
    view = memory.view(x.dtype).reshape(x.shape) if x.nbytes else x.copy()
    view[...] = x
    return view


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


FORMS = {
    **{layout: lambda x, layout=layout: laid_out(x, layout) for layout in LAYOUTS},
    "transposed": lambda x: x.T.copy().T,
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape) if x.ndim else x,
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "unaligned": unaligned,
    "read-only": read_only,
    "subclass": lambda x: x.view(type("Sub", (np.ndarray,), {})),
}

FUNCTIONS = {
    "elementwise": lambda x, v, n, m: np.tanh(x) * v + n,
    "where": lambda x, v, n, m: np.where(m, x, v),
    "sums": lambda x, v, n, m: x.sum(0) + v.sum() + n.sum() + m.sum(1).sum(),
    "extremes": lambda x, v, n, m: x.max(1) + v.min() + n.max(),
    "matmul": lambda x, v, n, m: x @ v + (x @ x.T)[0],
    "index": lambda x, v, n, m: ops.getitem(x, (slice(None), n)) + ops.getitem(v, n),
    "join": lambda x, v, n, m: np.concatenate([x, x[::-1], v[None]]),
    "same": lambda x, v, n, m: [x, v, n, m],
    "views": lambda x, v, n, m: [x.T, v[::-1], n.reshape(2, 2), m[1:, ::2]],
    "gradient": tape.grad(lambda x, v, n, m: np.sum(np.sin(x @ v) * ops.getitem(v, n)), (0, 1)),
}


def arguments(dtype=np.float64, salt=0):
    rng = np.random.default_rng(salt)
    x, v = rng.normal(size=(4, 4)).astype(dtype), rng.normal(size=4).astype(dtype)
    return [x, v, rng.integers(-4, 4, 4), rng.integers(0, 2, (4, 4)) == 1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_of_every_form(name, dtype):
    """What is recorded with one form is replayed with all others."""
    f = FUNCTIONS[name]
    compiled = tape.compile(f)
    for form in (*FORMS, *FORMS):
        args = [FORMS[form](arg) for arg in arguments(dtype)]
        kept = [arg.copy() for arg in args]
        assert_equal(compiled(*args), f(*map(native, args)), dtype)
        for arg, before in zip(args, kept, strict=True):
            np.testing.assert_array_equal(arg, before)
    assert len(compiled.programs) <= 2  # other orders of bytes are other dtypes


def native(x):
    """A plain array."""
    return np.array(x, x.dtype.newbyteorder("="), order="C")


WITH_CONSTANTS = {
    "elementwise": lambda t, x, v, n, m: np.tanh(x * t) * v + n,
    "where": lambda t, x, v, n, m: np.where(m, x, t) + np.where(t > v, v, 0.0),
    "matmul": lambda t, x, v, n, m: [t @ x, x @ t, t @ x.T, t @ v, x.T @ t @ x[::-1]],
    "index": lambda t, x, v, n, m: [
        ops.getitem(t, n),
        ops.getitem(t, (slice(None), n)),
        ops.getitem(t, (n, n)),
    ],
    "join": lambda t, x, v, n, m: np.concatenate([t, x, x[::-1], v[None]]),
    "stack": lambda t, x, v, n, m: np.stack([x, t, x.T]),
    "powers": lambda t, x, v, n, m: [t * n, t**2 + n, t * m, (t > 0) & m],
    "gradient": tape.grad(
        lambda t, x, v, n, m: np.sum(np.sin(t @ x) * v) + np.sum(np.tanh(ops.getitem(t, n) * x) * m)
    ),
    "solve": lambda t, x, v, n, m: ops.solve(np.eye(4) * 3 + t * 0.1, x) + ops.solve(x, t),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WITH_CONSTANTS)
def test_constants_of_every_form(name, form):
    """Closed-over arrays are read as they are, and anew in every call."""
    f = WITH_CONSTANTS[name]
    held = [FORMS[form](arg) for arg in arguments()]
    if form == "repeated":
        held[0] = np.eye(4) + held[0]  # regular
    compiled = tape.compile(lambda t: f(t, *held))
    t = arguments(salt=1)[0]
    for salt in (0, 2, 3):
        for own, new in zip(held, arguments(salt=salt), strict=True):
            if own.flags.writeable:
                own[...] = new
        assert_equal(compiled(t), f(t, *map(native, held)))


def test_constants_of_linear_functions_are_seen_changing():
    x, t = np.arange(3.0), np.ones(3)
    compiled = tape.compile(tape.grad(lambda t: np.sum(t * x * 2) + np.sum(t * t)))
    for number in (1.0, 2.0, 3.0):
        x[...] = number
        np.testing.assert_array_equal(compiled(t), 2 * x + 2 * t)


DTYPES = (
    *("float64", "float32", "float16", "longdouble", "bool"),
    *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
)


@grid(dtype=DTYPES, shape=[(), (1,), (3,), (2, 3), (0, 3)], times=2, ids=str)
def test_arguments_of_every_dtype(dtype, shape):
    rng = np.random.default_rng(0)
    other = shape if 0 in shape else (2, 3)
    calls = [[rng.integers(0, 2, shape).astype(dtype)[()], rng.normal(size=other)] for _ in range(2)]
    check(lambda x, y: [x * y, x + x if dtype != "bool" else x | x, np.where(x, y, 2 * y)], *calls)
    check(lambda x, y: [ops.sum(x), ops.equal(x, 1), ops.reshape(x, (-1,)), ops.any(x), ops.all(x)], *calls)
    check(
        lambda x, y: [ops.concatenate([ops.ravel(x), ops.ravel(x)]), x > 0, x == y, ops.maximum(x, x)], *calls
    )
    check(lambda x, y: tape.grad(lambda y: ops.sum(ops.sin(y) * x))(y), *calls)
    if shape and 0 not in shape:
        check(lambda x, y: [ops.max(x, 0), ops.argmax(x), x[0], x[::-1], ops.prod(x)], *calls)


NUMBERS = [1.5, np.float64(1.5), np.float32(1.5), np.float16(1.5), np.int64(2), np.int32(2), np.int8(2),
           np.uint8(2), np.bool_(True), np.array(1.5), np.array(2, np.int32), np.array([1.5])]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{type(number).__name__} {number!r}")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_as_arguments(number, dtype):
    """Promotion is that of eager, whatever kind of number the second operand is."""
    f = lambda x, a: [x * a, a - x, x + a * 2, np.sin(x) / a, np.maximum(x, a), (x * a).sum() * a]  # noqa: E731
    x = arguments(dtype)[0]
    compiled = tape.compile(f)
    for scale in (1, 1, 3):
        given = type(number)(number * scale) if not isinstance(number, np.ndarray) else number * scale
        given = given.astype(number.dtype) if isinstance(number, np.ndarray) else given
        assert_equal(compiled(x * dtype(scale), given), f(x * dtype(scale), given))
    assert len(compiled.programs) == 1


# ---- results -------------------------------------------------------------------------------------


def arrays(tree):
    return [leaf for leaf in tree if isinstance(leaf, np.ndarray)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_fresh(name):
    """Writable, and sharing memory with nothing: not with arguments, one another, or other calls."""
    f = FUNCTIONS[name]
    held = arguments(salt=5)
    compiled = tape.compile(lambda *args: [f(*args), held[0], held[0] * 1, args[0], [np.sin(args[1])] * 2])
    kept = []
    for salt in range(6):
        args = arguments(salt=salt)
        first, *rest, pair = compiled(*args)
        new = arrays([*(first if isinstance(first, (list, tuple)) else [first]), *rest, *pair])
        for k, array in enumerate(new):
            assert array.flags.writeable
            others = [*new[:k], *args, *held, *(x for x, _ in kept)]
            assert not any(np.shares_memory(array, other) for other in others)
        kept += [(array, array.copy()) for array in new]
    for array, before in kept:
        np.testing.assert_array_equal(array, before)


WAYS_TO_HOLD = {
    "itself": lambda array: array,
    "part": lambda array: array[1:],
    "transposed": lambda array: array.T,
    "part of a part": lambda array: array.reshape(-1)[::2],
    "as bytes": lambda array: array.view(np.uint8),
    "in a tree": lambda array: {"a": [array]},
    "memoryview": memoryview,
    "array of a memoryview": lambda array: np.asarray(memoryview(array)),
    "frombuffer": np.frombuffer,
    "flat": lambda array: array.flat,
    "nditer": np.nditer,
}


@pytest.mark.parametrize("hold", WAYS_TO_HOLD.values(), ids=WAYS_TO_HOLD)
def test_a_result_that_somebody_holds_is_left_alone(hold):
    """However it is held: memory is used again only when nobody can see it."""
    compiled = tape.compile(lambda x: [x + 1, np.sin(x)])
    held, copies = [], []
    for k in range(5):
        one, other = compiled(np.full((2, 3), float(k)))
        held.append((hold(one), hold(other)))
        copies.append((one.tobytes(), other.tobytes()))
        del one, other
    for (one, other), expected in zip(held, copies, strict=True):
        assert (seen(one), seen(other)) == (seen_again(hold, expected[0]), seen_again(hold, expected[1]))


def seen(held):
    """The bytes that somebody sees."""
    if isinstance(held, dict):
        held = held["a"][0]
    if isinstance(held, np.nditer):
        held = held.operands[0]
    return np.array(held).tobytes()


def seen_again(hold, data):
    return seen(hold(np.frombuffer(data).reshape(2, 3).copy()))


def test_no_dynamic_argument_at_all():
    assert_equal(tape.compile(lambda n: np.arange(3.0) * n)(2), np.arange(3.0) * 2)
    compiled = tape.compile(list)
    assert [compiled(), compiled()] == [[], []]


# ---- what only Python can do or say ---------------------------------------------------------------


@pytest.mark.parametrize("x", [1.0, -1.0, np.float32(2.0)], ids=repr)
def test_numbers_by_a_mask(x):
    """A mask of a single number makes an axis."""

    def f(x):
        return np.sum(x[x > 0])

    assert_equal(tape.compile(f)(np.asarray(x)[()]), f(np.asarray(x)[()]))


@pytest.mark.parametrize("size", [3, 1000], ids=["with Python's lock", "without"])
@pytest.mark.parametrize(
    "whole", [np.negative, np.sum, lambda y: (y, np.sum(y))], ids=["array", "scalar", "both"]
)
def test_errors_of_special_functions_are_raised(whole, size):
    """They come through as they are, and the program runs as before after them."""
    compiled = tape.compile(lambda x: whole(special.gammaln(x)))
    x, pole = np.linspace(1.0, 2.0, size), np.linspace(0.0, 2.0, size)
    before = [compiled(x), compiled(x)][1]
    for _ in range(3):
        with special.errstate(singular="raise"), pytest.raises(special.SpecialFunctionError, match="lgam"):
            compiled(pole)
        assert_equal(compiled(x), before)


STRIDED = {
    "every other": lambda x: x[::2],
    "backwards": lambda x: x[::-1],
    "a column": lambda x: x[:, 3],
    "some columns": lambda x: x[:, 1:4],
    "transposed": lambda x: x.T,
    "one row": lambda x: np.broadcast_to(x[:1], x.shape),
    "one column": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "one number": lambda x: np.broadcast_to(x[0, 0], x.shape),
}
IN_A_GROUP = {
    "cast": lambda x: np.exp(x.astype(np.float32)),
    "where": lambda x: np.where(x > 0.5, x, -x) + 1,
    "chosen": lambda x: np.sin(np.where(np.exp(x) > 1.5, x, 2.0)),
    "function": lambda x: np.sin(x) * 2,
    "both": lambda x: np.exp(x * x + x),
    "copy": lambda x: np.exp(np.copy(x)) + np.copy(x),
}


@pytest.mark.parametrize("view", some(STRIDED, every=2))
@pytest.mark.parametrize("name", IN_A_GROUP)
def test_views_are_read_block_by_block_as_they_are_whole(name, view):
    x = np.random.default_rng(0).normal(size=(10_000, 5)) * (np.arange(50_000).reshape(10_000, 5) % 3 > 0)

    def f(x):
        return IN_A_GROUP[name](STRIDED[view](x))

    compiled, program = compiled_for(f, x)
    assert any(step.block for step in program.plan.steps)
    assert_close(compiled(x), f(x), 1e-6 if "cast" in name else 1e-15)


def test_special_functions_take_long_enough_to_do_without_the_lock():
    """An element takes them as long as a hundred additions."""
    x = np.linspace(1.0, 2.0, 1000)
    for f, is_without in ((special.gammaln, True), (np.negative, False)):
        _, program = compiled_for(f, x)
        assert bool(program.spec[2]) == is_without


# ---- threads, processes, memory ------------------------------------------------------------------


def step(w, x, rate):
    return w - rate * tape.grad(lambda w: np.sum(np.tanh(x @ w) ** 2))(w)


def test_threads_each_with_their_own_data():
    compiled = tape.compile(step)
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(30, 20)), rng.normal(size=(8, 40, 30))
    expected = [w] * 8
    for _ in range(30):
        expected = [step(one, data, 0.01) for one, data in zip(expected, x, strict=True)]
    found = [None] * 8
    barrier = threading.Barrier(8)

    def train(k):
        mine = w
        barrier.wait()
        for _ in range(30):
            mine = compiled(mine, x[k], 0.01)
        found[k] = mine

    threads = [threading.Thread(target=train, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-12)


@forks
def test_after_a_fork():
    """Programs of the parent run in the child, which records new ones, too."""
    compiled = tape.compile(step)
    w, x = np.ones((3, 2)), np.eye(3)
    compiled(w, x, 0.1)
    expected = [compiled(w, x, 0.1), step(w, x[:2], 0.1)]
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            found = [compiled(w, x, 0.1), compiled(w, x[:2], 0.1), compiled(w, x[:2], 0.1)]
            os.write(into, b"".join(array.tobytes() for array in found))
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    found = np.frombuffer(data).reshape(3, 3, 2)
    assert_close(found, [expected[0], expected[1], expected[1]], 1e-13)


@forks
def test_a_fork_waits_for_a_thread_that_makes_a_program():
    compiled = tape.compile(lambda x: x * 2.0)
    is_held, lock = threading.Event(), Kinds("f", frozenset(), 1, Growth("f")).lock

    def hold():
        with lock:
            is_held.set()
            time.sleep(0.1)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    assert in_a_fork(lambda: compiled(1.5) == 3.0, seconds=20)
    thread.join()


def test_a_signal_handler_calls_what_it_interrupts():
    compiled = tape.compile(lambda x: x * 2.0)
    with Kinds("f", frozenset(), 1, Growth("f")).lock:  # as in the middle of a call
        assert compiled(1.5) == compiled(1.5) == 3.0


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@takes_long
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is not told here")
@pytest.mark.parametrize("x", [np.ones(3), 2.5, np.float32(2.5)], ids=repr)
def test_many_calls_leak_nothing(x):
    """Neither memory nor references, to arguments, results or the objects that every answer is."""
    compiled = tape.compile(lambda x, pair: [x * pair["a"], np.sum(x), {"b": -x}])
    pair = {"a": np.float64(3.0)}
    for _ in range(1000):
        compiled(x, pair)
    gc.collect()
    counted = [x, pair["a"], True, False, None, np.dtype(float), compiled]
    before = [sys.getrefcount(one) for one in counted]
    size = resident_bytes()
    for _ in range(100_000 if isinstance(x, np.ndarray) else 20_000):
        compiled(x, pair)
    gc.collect()
    after = [sys.getrefcount(one) for one in counted]
    assert resident_bytes() - size < 2**19  # an object a call would be more
    assert max(abs(b - a) for a, b in zip(before, after, strict=True)) < 100


def test_nothing_is_kept_of_arguments():
    compiled = tape.compile(lambda x, y: [x * y, x])
    alone = np.ones(3)  # how many references are seen of what has one depends on the version of Python
    for _ in range(3):
        x, y = np.ones(3), np.ones(3)
        results = compiled(x, y)
        assert sys.getrefcount(x) == sys.getrefcount(y) == sys.getrefcount(alone)
        assert results[1] is not x


SIGNED = {
    "imag": np.imag,
    "real": np.real,
    "relu": ops.relu,
    "diag": np.diag,
    "diagflat": np.diagflat,
    "diagonal": lambda x: np.diagonal(np.outer(x, np.ones(7))),
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "maximum.accumulate": np.maximum.accumulate,
    "minimum.accumulate": np.minimum.accumulate,
    "logaddexp.accumulate": np.logaddexp.accumulate,
    "along columns": lambda x: np.maximum.accumulate(np.stack([x, x[::-1], -x]), axis=0),
    "tril": lambda x: np.tril(np.outer(x, np.ones(7))),
    "copysign": lambda x: np.copysign(1.0, x),
    "negative twice": lambda x: np.negative(np.negative(x)),
    "reciprocal": lambda x: 1 / x,
}
SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.5, -2.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_signs_of_zeros_and_what_is_not_finite_are_those_of_numpy(name, dtype):
    f, rng = SIGNED[name], np.random.default_rng(0)
    compiled = tape.compile(f)
    cases = [rng.permutation(SPECIAL) for _ in range(5)] + [
        rng.choice([0.0, -0.0, 1.0], 7) for _ in range(10)
    ]
    for x in [*cases, np.full(7, -0.0)]:
        x = x.astype(dtype)
        found, expected = compiled(x), f(x)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])


def test_the_imaginary_part_of_a_real_number_is_zero_whatever_it_is():
    compiled = tape.compile(np.imag)
    for x in (1.0, np.inf, -np.inf, np.nan, -0.0, -2.0):
        assert not np.signbit(compiled(x))
        assert compiled(x) == 0
