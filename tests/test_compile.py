"""`tape.compile`: which program a call gets, what is refused, donations, threads and memory."""

import ctypes
import gc
import mmap
import threading
import weakref
from types import SimpleNamespace
from unittest.mock import Mock, call

import numpy as np
import pytest

import tape
from tape import errors, tree
from tape.program.record.recording import record
from tests.compiled import alike, vectors
from tests.oracles import pytorch
from tests.tiers import takes_long

# ---- what is static ------------------------------------------------------------------------------


def test_equal_values_of_other_types_are_other_programs():
    compiled = tape.compile(lambda x, n: (x * 2, type(n)))
    for n in (1, True, 1.0, np.int64(1), np.float32(1), "1", None):
        assert compiled(np.ones(2), n)[1] in (type(n), tape.Var) or issubclass(
            compiled(np.ones(2), n)[1], tape.Var
        )
    assert len(compiled.programs) == 7


def test_static_arguments_are_themselves():
    seen = Mock()

    def f(x, n, mode, function=None):
        seen(n, mode)
        for _ in range(n):
            x = function(x) if mode == "on" else x + n
        return x

    compiled = tape.compile(f)
    for n, mode in ((2, "on"), (3, "on"), (2, "off"), (2, "on"), (3, "on")):
        x = vectors()
        found = compiled(x, n, mode, function=np.sin)
        calls = [*seen.call_args_list]
        alike(found, f(x, n, mode, np.sin))
        seen.call_args_list = calls
    assert seen.call_args_list == [
        call(2, "on"),
        call(3, "on"),
        call(3, "on"),
        call(2, "off"),
    ]  # range() reads n: seen once


def test_other_shapes_dtypes_and_structures_are_other_programs():
    compiled = tape.compile(lambda x: tree.map(lambda leaf: leaf * 2, x))
    given = [
        vectors(),
        vectors(4),
        vectors(3, np.float32),
        np.arange(3),
        {"a": 1.5},
        {"b": 1.5},
        [1.5],
        (1.5,),
        1.5,
    ]
    for x in (*given, *given):
        alike(compiled(x), tree.map(lambda leaf: leaf * 2, x))
    assert len(compiled.programs) == len(given)
    assert len({str(key) for key in compiled.programs}) == len(given)
    assert all(key in compiled.programs for key in compiled.programs)
    assert "float32[3]" in str(list(compiled.programs)[2])


@pytest.mark.parametrize(("argument", "kind", "words"), [
    ({1, 2}, errors.UnsupportedError, "cannot be hashed"),
    (np.array(["a"]), errors.DTypeError, "Pass arrays of numbers"),
    (np.ma.masked_array([1.0], [True]), errors.DTypeError, "a masked array"),
    (np.random.default_rng(), errors.UnsupportedError, "Draw them outside"),
])  # fmt: skip
def test_arguments_that_cannot_be(argument, kind, words):
    with pytest.raises(kind, match=words):
        tape.compile(lambda x, y: x)(1.0, argument)


# ---- what is closed over -------------------------------------------------------------------------


def test_a_closed_over_array_is_seen_changing():
    w = np.ones(3)
    compiled = tape.compile(lambda x: (w * x).sum())
    assert compiled(np.ones(3)) == 3
    w[:] = 2
    assert compiled(np.ones(3)) == 6


def test_an_array_written_to_after_its_use_is_refused():
    def f(x):
        scratch, total = np.zeros(3), 0.0
        for i in range(3):
            scratch[:] = i
            total = total + scratch * x
        return total

    for g in (f, lambda x: tape.grad(lambda x: np.sum(f(x)))(x)):
        with pytest.raises(errors.InPlaceError, match="written into after"):
            tape.compile(g)(np.ones(3))


def test_a_closed_over_var_is_refused():
    x = np.ones(3)
    uses = {
        "operation": lambda w: lambda x: w * x,
        "alone": lambda w: lambda x: (np.sin(w), x),
        "result": lambda w: lambda x: (w, x),
        "branch": lambda w: lambda x: x if w[0] > 0 else -x,
        "param": lambda w: lambda x: tape.grad(lambda v: np.sum(v * x))(w),
    }
    for make in uses.values():
        trace = tape.Trace()
        with pytest.raises(errors.UnsupportedError, match="Pass it as an argument"):
            tape.compile(make(trace.param(x)))(x)
        with pytest.raises(errors.UnsupportedError, match="Pass it as an argument"):
            tape.grad(lambda w, make=make: np.sum(tape.compile(make(w))(x)[0]))(x)


def test_called_with_vars_it_is_the_function():
    def f(x):
        return np.sum(np.sin(x) * x) if x[0] > 0 else np.sum(x)

    compiled = tape.compile(f)
    x = np.array([0.5, 2.0])
    for transform in (tape.grad, tape.hessian, lambda f: tape.compile(tape.grad(f))):
        alike(transform(compiled)(x), transform(f)(x))
    assert not compiled.programs


def test_compiled_functions_call_each_other():
    inner = tape.compile(lambda x, n: x**n)
    outer = tape.compile(lambda x: inner(x, 2) + inner(np.full(2, 3.0), 2))
    for _ in range(2):
        np.testing.assert_array_equal(outer(np.array([1.0, 2.0])), [10.0, 13.0])
    assert len(inner.programs) == len(outer.programs) == 1


def test_recursion():
    @tape.compile
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert [power(2.0, 5), power(3.0, 5), power(2.0, 3), power(3.0, 5)] == [32.0, 243.0, 8.0, 243.0]
    assert len(power.programs) == 2


def test_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @tape.compile
        def predict(self, x, scale=1.0):
            """Doc."""
            return self.w * x * scale

    one, two = Model(np.ones(2)), Model(np.full(2, 5.0))
    for _ in range(2):
        np.testing.assert_array_equal(one.predict(np.ones(2)), [1, 1])
        np.testing.assert_array_equal(two.predict(np.ones(2), scale=2.0), [10, 10])
    assert Model.predict.__doc__ == "Doc."
    assert Model.predict.__name__ == "predict"
    assert len(Model.predict.programs) == 2


# ---- bad input -----------------------------------------------------------------------------------


def message(error):
    """What an error says, but for the line it comes from."""
    return str(error).partition(" [at ")[0]


def fails_alike(f, good, bad):
    """The same error from eager and compiled: where it is recorded, and where it is replayed."""
    fresh, warm = tape.compile(f), tape.compile(f)
    for args in good:
        alike(warm(*args), f(*args))
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever it is
        f(*bad)
    for compiled in (fresh, warm, warm):
        with pytest.raises(type(expected.value)) as found:
            compiled(*bad)
        assert type(found.value) is type(expected.value)
        assert message(found.value) == message(expected.value)
    for args in good:
        alike(warm(*args), f(*args))


@pytest.mark.parametrize(("f", "good", "bad"), [
    (lambda a, b: a @ b, (np.ones((2, 3)), np.ones(3)), (np.ones((2, 3)), np.ones(4))),
    (lambda a, b: a + b, (np.ones(3), np.ones(3)), (np.ones(3), np.ones(4))),
    (lambda a, i: a * a[i], (np.arange(3.0), np.int64(2)), (np.arange(3.0), np.int64(3))),
    (lambda a, b: np.linalg.solve(a, b), (np.eye(2), np.ones(2)), (np.ones((2, 2)), np.ones(2))),
    (tape.grad(lambda a, b: np.sum(a @ b)), (np.ones((2, 3)), np.ones(3)), (np.ones((2, 3)), np.ones(4))),
    (tape.grad(lambda a, b: a * b), (2.0, 3.0), (np.ones(2), 3.0)),
    (tape.grad(lambda a, b: a * b), (2.0, 3.0), (np.arange(2), 3.0)),
])  # fmt: skip
def test_errors_are_those_of_eager(f, good, bad):
    fails_alike(f, [good], bad)


def test_exceptions_of_the_function_itself():
    def root(x):
        if x.sum() < 0:
            raise ValueError(f"{x.shape} is too low")
        return np.sqrt(x)

    fails_alike(root, [(np.ones(2),)], (-np.ones(2),))


def test_where_a_refusal_came_from_is_told():
    with pytest.raises(errors.InPlaceError, match=r"np\.resize") as caught:
        tape.compile(lambda x: x.resize(3))(np.ones((2, 2)))
    assert any("tape.compile" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "options", [{"max_paths": 0}, {"max_paths": True}, {"donate": -1}, {"donate": (0, True)}]
)
def test_options_out_of_range(options):
    with pytest.raises(errors.OptionError):
        tape.compile(lambda x: x, **options)


# ---- donated arrays ------------------------------------------------------------------------------


def test_donated_arrays_may_be_overwritten():
    @tape.compile(donate=0)
    def step(params, rate):
        return {name: p - rate * p for name, p in params.items()}

    params = {"a": np.ones(3), "b": np.full((2, 2), 2.0)}
    for _ in range(4):
        expected = {name: p * 0.5 for name, p in params.items()}
        params = step(params, 0.5)
        alike(params, expected)


def test_a_donated_array_that_is_given_twice_is_copied():
    step = tape.compile(lambda w, x: (w * 2, x + 1, w + x), donate=0)
    for _ in range(3):
        w = np.ones(3)
        alike(step(w, w), (np.full(3, 2.0), np.full(3, 2.0), np.full(3, 2.0)))
        np.testing.assert_array_equal(w, 1)
        base = np.arange(4.0)
        alike(step(base[1:], base[:-1])[2], np.array([1.0, 3.0, 5.0]))
        np.testing.assert_array_equal(base, np.arange(4.0))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_a_donated_single_number_of_any_kind_may_be_given_as_a_number(dtype):
    """A program takes NumPy's wide numbers where it takes arrays of their dtype, and does not write there."""
    step = tape.compile(lambda z: z * 2, donate=0)
    step(np.array(1, dtype))
    (program,) = step.programs.values()
    assert program.donated == {0}
    assert program(np.array(2, dtype)) == 4
    if dtype is np.complex128:
        assert program(np.complex128(3j)) == 6j
    with pytest.raises(errors.InPlaceError, match="which is read-only"):
        program(np.broadcast_to(np.array(1, dtype), ()))


def from_bytearray():
    memory = bytearray(np.arange(4.0).tobytes())
    return np.frombuffer(memory), np.frombuffer(memory)


def from_memoryview():
    memory = memoryview(bytearray(np.arange(5.0).tobytes()))
    return np.frombuffer(memory[:32]), np.frombuffer(memory[8:])


def from_mmap():
    memory = mmap.mmap(-1, 32)
    x = np.frombuffer(memory)
    x[:] = np.arange(4.0)
    return x, np.frombuffer(memory)


def from_ctypes():
    memory = (ctypes.c_double * 4)(0, 1, 2, 3)
    return np.ctypeslib.as_array(memory), np.frombuffer(memory)


def from_interface():
    x = np.arange(4.0)
    like = [SimpleNamespace(__array_interface__=x.__array_interface__, keeps=x) for _ in range(2)]
    return np.asarray(like[0]), np.asarray(like[1])


def from_dlpack():
    x = np.arange(4.0)
    return x, np.from_dlpack(x)


def from_torch():
    torch = pytorch()
    t = torch.arange(4.0, dtype=torch.float64)
    return t.numpy(), t.numpy()


def from_shared_memory():
    x = np.ndarray(4, buffer=(memory := bytearray(32)))
    x[:] = np.arange(4.0)
    return x, np.ndarray(4, buffer=memory)


BUFFERS = [
    from_bytearray, from_memoryview, from_mmap, from_ctypes, from_interface, from_dlpack, from_torch,
    from_shared_memory,
]  # fmt: skip


@takes_long
@pytest.mark.parametrize("pair", BUFFERS)
def test_donated_array_that_shares_a_buffer_with_another_is_copied(pair):
    step = tape.compile(lambda w, x: (w * 2, x + w[::-1]), donate=0)
    for _ in range(4):
        w, x = pair()
        expected = w * 2, x + w[::-1]
        before = w.copy(), x.copy()
        alike(step(w, x), expected)
        alike((w, x), before)


@pytest.mark.parametrize("pair", BUFFERS)
def test_donated_array_that_shares_a_buffer_with_what_the_function_holds_is_copied(pair):
    w, k = pair()
    kept = k.copy()
    step = tape.compile(lambda w: (w * 2, w[::-1] * k, k), donate=0)
    for _ in range(4):
        alike(step(w), (w * 2, w[::-1] * k, k))
        np.testing.assert_array_equal(k, kept)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 31, 64, 100])
def test_of_many_arrays_any_two_may_overlap_by_one_element(count):
    """Numbers and empty arrays among them share nothing."""
    rng = np.random.default_rng(count)
    f = tape.compile(lambda xs, k, none: ([2 * x + k for x in xs], none), donate=(0,))

    def separate():
        return [rng.normal(size=4) for _ in range(count)]

    f(separate(), 1.0, np.ones(0))
    for _ in range(20):
        buffer = rng.normal(size=7)
        first, second = rng.integers(0, count, 2)
        xs = separate()
        xs[first], xs[second] = buffer[:4], buffer[3:]
        expected = [2 * x + 3.0 for x in xs]
        found, none = f(xs, 3.0, np.ones(0))
        assert none.size == 0
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_donated_arrays_side_by_side_in_one_buffer_are_overwritten():
    step = tape.compile(lambda w, x: (w * 2, x + w), donate=(0, 1))
    memory = bytearray(np.arange(8.0).tobytes())
    step(np.ones(4), np.ones(4))
    w, x = np.frombuffer(memory, count=4), np.frombuffer(memory, offset=32)
    results = step(w, x)
    assert {id(results[0]), id(results[1])} == {id(w), id(x)}
    alike(results, (2 * np.arange(4.0), np.arange(4.0) + np.arange(4, 8.0)))


def test_donated_arrays_of_callbacks_are_copied_if_they_are_read_again():
    k = np.arange(4.0)
    step = tape.compile(lambda w: (w * 2, np.sinc(w) + np.sort(k * w)), donate=0)
    for _ in range(3):
        expected = k * 2, np.sinc(k) + np.sort(k * k)
        alike(step(k), expected)
        np.testing.assert_array_equal(k, np.arange(4.0))


def test_donations_that_cannot_be():
    step = tape.compile(lambda w, x: w * x, donate=(1,))
    fixed = np.ones(3)
    fixed.flags.writeable = False
    step(fixed, np.ones(3))
    with pytest.raises(errors.InPlaceError, match="read-only"):
        step(np.ones(3), fixed)
    with pytest.raises(errors.OptionError, match="by position"):
        step(np.ones(3), x=np.ones(3))


# ---- threads and memory --------------------------------------------------------------------------


def test_threads_that_race_for_the_first_call():
    compiled = tape.compile(tape.value_and_grad(lambda x: np.sum(np.tanh(x) ** 2) if x[0] > 0 else np.sum(x)))
    start, failures = threading.Barrier(4), []

    def work(k):
        try:
            rng = np.random.default_rng(k)
            start.wait()
            for _ in range(50):
                x = rng.normal(size=3)
                value, gradient = compiled(x)
                positive = x[0] > 0
                np.testing.assert_allclose(
                    value, np.sum(np.tanh(x) ** 2) if positive else np.sum(x), rtol=1e-13
                )
                slope = 2 * np.tanh(x) * (1 - np.tanh(x) ** 2) if positive else np.ones(3)
                np.testing.assert_allclose(gradient, slope, rtol=1e-12)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(compiled.programs) == 2


def test_a_function_may_call_itself_from_a_thread_while_it_is_recorded():
    found = []

    @tape.compile
    def f(x, is_outer):
        if is_outer:
            thread = threading.Thread(target=lambda: found.append(f(np.ones(2), False)))
            thread.start()
            thread.join()
        return 2 * x

    f(np.ones(2), True)
    np.testing.assert_array_equal(found[0], 2)


def test_nothing_of_a_recording_stays():
    traces = []

    def f(x):
        traces.append(weakref.ref(x.trace))
        return np.sum(x * x)

    for _ in range(2):
        record(f, (np.ones(3),), {}, "f")
    compiled = tape.compile(f)
    x = np.ones(3)
    held = weakref.ref(x)
    compiled(x)
    with pytest.raises(errors.ShapeError):
        record(lambda x: f(x) + x @ np.ones(4), (np.ones(3),), {}, "f")
    del x
    gc.collect()
    assert [ref() for ref in traces] == [None] * 4
    assert held() is None


def test_a_traced_value_outlives_its_recording_without_use():
    leak = Mock()
    tape.compile(lambda x: [leak(x), x][1])(1.5)
    with pytest.raises(errors.TraceDroppedError):
        leak.call_args.args[0] + 1


def test_vars_of_traces_made_inside_are_returned_as_what_they_hold():
    kept = []

    def f(x):
        trace, other = tape.Trace(), tape.Trace()
        kept.append(other)
        v = trace.param(x)
        y = np.sum(v * v)
        (gradient,) = trace.backward_param_grads(y)
        return {
            "y": y,
            "gradient": gradient,
            "constant": trace.input(3.0),
            "alive": other.param(x) * 2,
            "v": v,
        }

    compiled = tape.compile(f)
    for x in (np.array([1.0, 2.0]), np.array([3.0, -1.0])):
        found, expected = compiled(x), f(x)
        for name, out in expected.items():
            out = out.value if isinstance(out, tape.Var) else out
            np.testing.assert_array_equal(found[name], out, strict=True)
    outside = tape.Trace()
    v = outside.param(2.0)
    for g in (lambda x: v, lambda x: [x, v * 2], lambda x: outside.input(1.0)):
        with pytest.raises(errors.UnsupportedError, match="from outside"):
            tape.compile(g)(1.0)


class OfItsOwn(np.ndarray):
    """Arithmetic that is not that of arrays."""

    def __add__(self, other):
        return 7


@pytest.mark.parametrize(
    ("other", "words"),
    [(np.ma.masked_array(np.ones(3), [0, 1, 0]), "masked"), (np.ones(3).view(OfItsOwn), "OfItsOwn")],
)
def test_arrays_with_another_arithmetic_are_refused_beside_a_program_for_plain_ones(other, words):
    compiled = tape.compile(lambda x: x + 1.0)
    compiled(np.ones(3))
    for _ in range(2):
        with pytest.raises(errors.DTypeError, match=words):
            compiled(other)
    np.testing.assert_array_equal(compiled(np.ones(3)), np.full(3, 2.0))
