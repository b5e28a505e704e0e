"""`tape.compile`: results are those of eager, in value, type, dtype, shape and structure."""

import dataclasses
import functools
from collections import deque
from typing import Any, NamedTuple

import numpy as np
import pytest

import tape
from tape import errors, tree
from tape.program.runtime import plain
from tests.compiled import RNG, alike, check, vectors
from tests.tiers import takes_long


def loss(params, x, y):
    hidden = np.tanh(x @ params["w"][0] + params["b"])
    return np.mean((hidden @ params["w"][1] - y) ** 2)


def model(dtype=np.float64):
    def normal(*shape):
        return RNG.normal(size=shape).astype(dtype)

    return {"w": [normal(3, 4), normal(4, 2)], "b": normal(4)}, normal(5, 3), normal(5, 2)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Body:
    position: Any
    speed: Any
    name: str = dataclasses.field(default="", metadata={"static": True})


@dataclasses.dataclass(frozen=True)
class Frozen:
    position: Any
    speed: Any
    name: str = dataclasses.field(default="", metadata={"static": True})


@dataclasses.dataclass(slots=True)
class Slots:
    position: Any
    speed: Any
    name: str = dataclasses.field(default="", metadata={"static": True})


@dataclasses.dataclass(init=False)
class Converting:
    position: Any
    speed: Any
    name: str = dataclasses.field(default="", metadata={"static": True})

    def __init__(self, position, speed, name):
        self.position, self.speed, self.name = np.asarray(position), np.asarray(speed), str(name)


@dataclasses.dataclass
class Halves(Slots):
    """Some fields in slots, another one in the dict of the instance."""

    mass: Any = 1.0


# ---- results -------------------------------------------------------------------------------------


def train(params, x, y, rate):
    value, gradient = tape.value_and_grad(loss)(params, x, y)
    return value, tree.unflatten(
        tree.flatten(params)[1],
        [p - rate * g for p, g in zip(tree.flatten(params)[0], tree.flatten(gradient)[0], strict=True)],
    )


TRANSFORMED = {
    "grad": tape.grad(lambda x: np.sum(np.sin(x) ** 2)),
    "grad of grad": tape.grad(lambda x: np.sum(tape.grad(lambda y: np.sum(np.tanh(y) ** 3))(x) ** 2)),
    "hessian": tape.hessian(lambda x: np.sum(np.exp(x)) * np.prod(x)),
    "jacobian": tape.jacobian(lambda x: x[:, None] * np.sin(x)),
    "jvp": lambda x: tape.jvp(np.tanh, (x,), (x * x,)),
    "vjp": lambda x: tape.vjp(np.tanh, x)[1](np.cos(x)),
    "hvp": lambda x: tape.hvp(lambda y: np.sum(y**4))(x, np.sin(x)),
    "checkpoint": tape.grad(lambda x: np.sum(tape.checkpoint(lambda y: np.sin(y) * y)(x))),
    "linearize": lambda x: tape.linearize(np.tanh, x)[1](x + 1),
    "elementwise_grad": tape.elementwise_grad(np.exp),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_inside(name):
    check(TRANSFORMED[name], *((vectors(),) for _ in range(3)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_whole_training_step_inside(dtype):
    check(train, *((*model(dtype), rate) for rate in (0.1, 0.5)))


def test_training_goes_the_same_way():
    params, x, y = model()
    eager = params
    step = tape.compile(train)
    for _ in range(20):
        _, params = step(params, x, y, 0.1)
        _, eager = train(eager, x, y, 0.1)
    for a, b in zip(tree.flatten(params)[0], tree.flatten(eager)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    assert len(step.programs) == 1


def test_trees_go_in_and_out():
    def f(state, *, scale=1.0, settings=None):
        return {"pair": Pair(state.first * scale, None), "rest": [state.second["a"], (settings, "text", 7)]}

    compiled = tape.compile(f)
    for _ in range(2):
        state = Pair(vectors(), {"a": np.float32(RNG.normal()), "b": None})
        for kwargs in ({}, {"scale": 2.0}, {"settings": (True, None), "scale": 0.5}):
            alike(compiled(state, **kwargs), f(state, **kwargs))
    assert len(compiled.programs) == 3


@pytest.mark.parametrize("kind", [Body, Frozen, Slots, Converting, Halves])
def test_dataclasses_of_every_kind_come_back_as_new_instances(kind):
    def moved(body, dt):
        found = tree.map(lambda part: part + dt * np.sin(part), body)
        return {"body": found, "both": [found, (body, None)]}

    compiled = tape.compile(moved)
    names = [field.name for field in dataclasses.fields(kind)]
    given, earlier = kind(vectors(), vectors(), "moon"), None
    for _ in range(5):
        expected, found = moved(given, 0.5), compiled(given, 0.5)
        assert tree.structure(found) == tree.structure(expected)
        bodies = [found["body"], found["both"][0], found["both"][1][0]]
        others = [expected["body"], expected["both"][0], expected["both"][1][0]]
        for one, other in zip(bodies, others, strict=True):
            assert type(one) is kind
            for name in names:
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert dataclasses.asdict(one).keys() == dataclasses.asdict(other).keys()
        assert found["body"] is not earlier
        if kind is not Frozen:
            found["body"].name = "changed"  # of this one alone
        given, earlier = found["both"][0], found["body"]


def test_dataclasses_are_trees_and_their_settings_are_static():
    def f(body, dt):
        assert isinstance(body.name, str)
        return Body(body.position + dt * body.speed, body.speed * len(body.name), body.name)

    compiled = tape.compile(f)
    for name in ("moon", "sun", "moon"):
        body = Body(vectors(), vectors(), name)
        found = compiled(body, 0.5)
        assert isinstance(found, Body)
        assert found.name == name
        np.testing.assert_array_equal(found.position, body.position + 0.5 * body.speed)
        np.testing.assert_array_equal(found.speed, len(name) * body.speed)
    assert len(compiled.programs) == 2


NUMBERS = [
    2.5,
    np.float64(0.5),
    np.float32(1.5),
    np.int64(3),
    vectors(),
    vectors(3, np.float32),
    np.arange(1, 4),
    np.array([True, False, True]),
]

ARITHMETIC = {
    "products": lambda a, b: (a * 2 * b, b * (a / 3), 2 * (a * b)),
    "sums": lambda a, b: ((a + 1) + b, b - (1 - a), -a + b),
    "numbers first": lambda a, b: ((a * 0.5 + 1) ** 2 * b, abs(a) * b),
    "functions": lambda a, b: (
        np.sin(a) * b,
        np.sqrt(abs(b)) * a,
        np.maximum(a, 1.0) * b,
        np.multiply(a, 2.0),
    ),
    "remainders": lambda a, b: (
        a // 2 * b,
        b * (a % 2),
        (2 // (a + 5)) * b,
        divmod(a, 2)[1] * b,
        divmod(7, a + 5),
    ),
    "choices": lambda a, b: (np.where(a > 1, a, b), np.clip(b * 1.0, 0.0, a)),
}


@takes_long
@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("a", NUMBERS, ids=repr)
def test_dtypes_are_those_of_eager(name, a):
    f = ARITHMETIC[name]
    if isinstance(a, np.ndarray) and a.dtype == bool and name != "products":
        pytest.skip("bools have no negation or difference")
    for b in NUMBERS:
        if not (isinstance(b, np.ndarray) and b.dtype == bool):
            check(f, (a, b))


def test_python_floats_stay_python_floats():
    alike(
        check(lambda a, b: (a, a * b, -a / b, a**2, 2 - a, a // b, 7 % a, abs(a)), (2.0, 4.0), (3.0, 0.5))(
            1.0, 2.0
        )[1],
        2.0,
    )


@pytest.mark.parametrize(
    "f",
    [lambda a, x: a / x.sum() * x, lambda a, x: tape.grad(lambda b: np.sum(b * x))(a) * x],
    ids=["", "grad"],
)
def test_a_python_float_widens_what_eager_widens(f):
    check(f, (2.0, vectors(3, np.float32)), (2.0, vectors()))


@pytest.mark.parametrize(("f", "args"), [
    (lambda a, b: a / b, (1.0, 0.0)),
    (lambda a, b: 1 / (a - b), (1.0, 1.0)),
    (lambda a, b: a // b, (1.0, 0.0)),
    (lambda a, b: 1.0 % (a - b), (1.0, 1.0)),
    (lambda a, b: a**b, (0.0, -1.0)),
    (lambda a, b: a**b, (10.0, 400.0)),
])  # fmt: skip
def test_python_floats_raise_as_python_does(f, args):
    compiled = check(f, (2.0, 3.0))
    with pytest.raises(ArithmeticError) as expected:
        f(*args)
    with pytest.raises(type(expected.value)) as found:
        compiled(*args)
    assert str(found.value) == str(expected.value)


def test_results_are_new_arrays():
    constant = np.ones(3)

    def f(x):
        return x, x, x[::-1], x.reshape(3, 1), constant, np.broadcast_to(x, (2, 3)), np.zeros(2)

    compiled, x = tape.compile(f), vectors()
    before = x.copy()
    for _ in range(3):
        results = compiled(x)
        for k, result in enumerate(results):
            assert result.flags.writeable
            assert not any(np.shares_memory(result, other) for other in (x, constant, *results[:k]))
            result[...] = 7
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(constant, 1)
    np.testing.assert_array_equal(compiled(x)[-1], 0)


def test_what_is_no_array_is_handed_back():
    mark = object()
    compiled = tape.compile(lambda x: (x, mark, "text", {1, 2}))
    for _ in range(2):
        assert compiled(2.0)[1] is mark
        assert compiled(2.0)[2:] == ("text", {1, 2})


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_shapes_and_dtypes(shape, dtype):
    x = np.asarray(RNG.normal(size=shape) * 3).astype(dtype)
    check(lambda x: (x * 2, x.sum(), np.sin(x), x.reshape(-1)), (x,), (x[..., None][..., 0],))


def test_arrays_of_any_layout():
    base = RNG.normal(size=(6, 4))
    readonly = base.copy()
    readonly.flags.writeable = False
    views = [base, base.T.copy().T, readonly, np.asfortranarray(base), np.repeat(base, 2, 0)[::2], base[::-1]]
    compiled = check(lambda x: (np.exp(x) @ x.T, x.sum(0), x[1:3]), *((view,) for view in views))
    assert len(compiled.programs) == 1
    swapped = base.astype(base.dtype.newbyteorder())
    np.testing.assert_allclose(compiled(swapped)[1], compiled(base)[1], rtol=1e-14)  # recorded, and replayed


# ---- objects that hold what was traced ------------------------------------------------------------------


class Box:
    def __init__(self, content):
        self.content = content


class WithNames(dict):
    __getattr__ = dict.__getitem__


def of_a_trace_that_is_gone(x):
    with tape.Trace() as trace:
        return Box(trace.param(3.0) * 2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: Box(2 * x),
        lambda x: Box([{"deep": (2 * x,)}]),
        lambda x: WithNames(loss=np.sum(x)),
        lambda x: (i for i in range(3)),
        lambda x: {"n": x}.items(),
        lambda x: lambda: x,
        lambda x: slice(0, x[0]),
        lambda x: (x, map(abs, [1])),
        of_a_trace_that_is_gone,
    ],
    ids=["object", "deep", "dict", "generator", "items", "function", "slice", "map", "gone"],
)
def test_objects_that_would_be_those_of_the_first_call_are_refused(f):
    with pytest.raises(errors.UnsupportedError, match="the same one in every call"):
        tape.compile(f)(np.ones(2))


def test_collections_are_copied_and_other_objects_are_those_of_the_function():
    box = Box(3)
    f = tape.compile(lambda x: ({1}, deque([1]), bytearray(b"a"), box, np.float32, range(3), 2 * x))
    f(X := np.ones(2))
    numbers, queue, text, *_ = f(X)
    numbers.add(9)
    queue.append(9)
    text += b"b"
    assert f(X)[:3] == ({1}, deque([1]), bytearray(b"a"))
    assert f(X)[3] is box
    (program,) = f.programs.values()
    program(X)[0].add(9)
    assert program(X)[0] == {1}


class Metres(float):
    def __mul__(self, other):
        return float(self) * other * 10

    __rmul__ = __mul__


class Named(float):
    pass


class OneBased(np.ndarray):
    def __getitem__(self, index):
        return np.ndarray.__getitem__(self, index - 1)


def test_numbers_with_an_arithmetic_of_their_own_keep_it():
    f = tape.compile(lambda m, x: m * x)
    for m in (Metres(2), Metres(3), Named(2), Named(3)):
        for _ in range(2):
            np.testing.assert_array_equal(f(m, np.ones(2)), m * np.ones(2))
    assert len(f.programs) == 3  # one for both that are like floats


def test_arrays_with_methods_of_their_own_are_refused():
    x = np.arange(3.0).view(OneBased)
    for transform in (tape.compile, tape.grad):
        with pytest.raises(errors.DTypeError, match="methods of its own"):
            transform(lambda x: x[1] * 1.0)(x)


def test_attributes_that_are_no_fields_are_not_lost():
    @dataclasses.dataclass
    class Net:
        w: np.ndarray
        training = True

        @functools.cached_property
        def twice(self):
            return 2 * self.w

        def __call__(self, x):
            return np.sum(x * self.twice * (0.5 if self.training else 1.0))

    net, f = Net(np.array([2.0, 4.0])), tape.compile(lambda net, x: net(x))
    for _ in range(3):
        assert f(net, np.ones(2)) == net(np.ones(2)) == 6
    net.training = False
    for call in (lambda: f(net, np.ones(2)), lambda: tape.grad(lambda net: net(np.ones(2)))(net)):
        with pytest.raises(errors.UnsupportedError, match="'training' that is no field"):
            call()


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble, np.complex64, np.float16])
def test_numbers_of_any_size_are_results(dtype):
    x = np.arange(1, 4).astype(dtype)
    compiled = tape.compile(lambda x: (np.sum(x), x[0] * 2, x.real.max()))
    for scale in (1, 2, 3):
        values = x * dtype(scale)
        found = compiled(values)
        assert found == (np.sum(values), values[0] * 2, values.real.max())
        assert [part.dtype for part in found] == [dtype, dtype, x.real.dtype]


def test_scalars_are_of_the_usual_class_whichever_equal_dtype_came_first():
    """A long long is equal to an int64, and of another class; what is remembered by dtype is for both."""
    for f in (np.prod, np.max, lambda x: x[0] + x[1], lambda x: (x * 2)[0]):
        compiled = tape.compile(f)
        for kind in (np.longlong, np.ulonglong, np.int64, np.uint64):
            x = np.arange(1, 4).astype(kind)
            found = [compiled(x), compiled(x)]
            assert found == [f(x), f(x)]
        x = np.arange(1, 4)
        assert [type(compiled(x)), type(compiled(x))] == [np.int64, np.int64]
        for program in compiled.programs.values():
            (out,) = plain.run(program.ir, [x.astype(program.ir.instructions[0].dtype)])
            assert type(out[()]) in (np.int64, np.uint64)
