"""Static arguments of operations of users: derivatives, and programs, read what they were at the call."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.static_arguments import copied, restored
from tests.tiers import takes_long

X = np.array([0.3, 1.2, 0.7])
Pair = namedtuple("Pair", "k other")


@dataclass
class Settings:
    k: float


@dataclass
class Failure(Exception):
    k: float


@dataclass(slots=True)
class Slots:
    k: float


@dataclass(frozen=True)
class Frozen:
    k: list


def put(place):
    """A function that writes a number at a place of an object: names, keys and indices."""

    def write(thing, number):
        for key in place[:-1]:
            thing = getattr(thing, key) if hasattr(thing, str(key)) else thing[key]
        if hasattr(thing, str(place[-1])):
            setattr(thing, place[-1], number)
        else:
            thing[place[-1]] = number

    return write


def get(place):
    def read(thing):
        for key in place:
            thing = getattr(thing, key) if hasattr(thing, str(key)) else thing[key]
        return thing

    return read


KINDS = {
    "array": (lambda: np.zeros(1), [0]),
    "list": (lambda: [0.0], [0]),
    "tuple of a list": (lambda: ([0.0], 1), [0, 0]),
    "tuple of an array": (lambda: (np.zeros(1), 1), [0, 0]),
    "named tuple": (lambda: Pair([0.0], 1), ["k", 0]),
    "deque": (lambda: deque([0.0], maxlen=3), [0]),
    "dict": (lambda: {"a": 0.0}, ["a"]),
    "dict of an array": (lambda: {"a": np.zeros(1)}, ["a", 0]),
    "ordered dict": (lambda: OrderedDict(a=0.0), ["a"]),
    "default dict": (lambda: defaultdict(float), ["a"]),
    "dicts within dicts": (lambda: {"a": {"b": [0.0]}}, ["a", "b", 0]),
    "dataclass": (lambda: Settings(0.0), ["k"]),
    "dataclass with slots": (lambda: Slots(0.0), ["k"]),
    "frozen dataclass": (lambda: Frozen([0.0]), ["k", 0]),
    "namespace": (lambda: SimpleNamespace(k=0.0), ["k"]),
}
WAYS = {
    "value": lambda f: f,
    "grad": lambda f: lambda x: tape.grad(f)(x) @ x,
    "jvp": lambda f: lambda x: tape.jvp(f, (x,), (x,))[1],
    "vmap": lambda f: lambda x: tape.grad(lambda v: np.sum(tape.vmap(f)(np.stack([v, v]))))(x) @ x / 2,
}


def scaling(read, **options):
    return tape.Op(
        lambda x, *, p: x * read(p), name="scaling", vjp=[lambda g, out, x, p: g * read(p)], **options
    )


@takes_long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_function_changes_is_read_as_it_was_at_the_call(kind, compiled, way):
    new, place = KINDS[kind]
    write, scale = put(place), scaling(get(place))

    def f(x):
        p, total = new(), 0.0
        for k in (1.0, 2.0, 3.0):
            write(p, k)
            total = total + np.sum(scale(x, p=p))
        return total

    g = WAYS[way](f)
    g = tape.compile(g) if compiled else g
    for factor in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(g(factor * X), 6 * factor * np.sum(X))


def test_sets_and_bytes_are_read_as_they_were_at_the_call():
    for p, read in ((set(), max), (bytearray(1), lambda p: p[0])):
        scale = scaling(read)

        def f(x, p=p, scale=scale):
            total = 0.0
            for k in (1, 2, 3):
                p.clear() if isinstance(p, set) else p.pop()
                p.add(k) if isinstance(p, set) else p.append(k)
                total = total + np.sum(scale(x, p=p))
            return total

        np.testing.assert_allclose(tape.grad(f)(X), np.full(3, 6.0))


@takes_long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_loop", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_between_calls_is_read_anew_by_programs(kind, is_loop, way):
    new, place = KINDS[kind]
    p, write, scale = new(), put(place), scaling(get(place), data_dependent=not is_loop)
    write(p, 1.0)

    def f(x):
        if is_loop:
            return np.sum(tape.scan(lambda c, _: (scale(c, p=p), None), x, length=2)[0])
        return np.sum(scale(scale(x, p=p), p=p))

    g = tape.compile(WAYS[way](f))
    for k in (1.0, 2.0, 2.0, 3.0, 1.0):
        write(p, k)
        np.testing.assert_allclose(g(X), k * k * np.sum(X))


@pytest.mark.parametrize("way", ["grad", "compiled"])
@pytest.mark.parametrize("times", [1, 2])
def test_the_rule_of_each_call_finds_what_its_forward_function_has_kept(way, times):
    def forward(x, *, kept):
        kept["slope"] = 2 * x
        return x * x

    times_slope = tape.Op(lambda g, *, kept: g * kept["slope"], name="times_slope")
    square = tape.Op(forward, name="square", vjp=[lambda g, out, x, kept: times_slope(g, kept=kept)])
    kept = {}
    g = tape.grad(lambda x: sum(np.sum(square(k * x, kept=kept)) for k in range(1, times + 1)))
    g = tape.compile(g) if way == "compiled" else g
    for x in (X, 2 * X, 3 * X):
        np.testing.assert_allclose(g(x), 2 * x * sum(k * k for k in range(1, times + 1)))
        np.testing.assert_allclose(kept["slope"], 2 * times * x)


def test_copies_are_of_the_same_classes_and_share_what_cannot_change():
    for thing in ((1, "a", 2.0), Pair(1, (2, 3)), Frozen((1, 2)), np.sin, object()):
        assert copied(thing, {}) is thing
    tree = Settings(1.0)
    tree.k = [tree, {"a": tree}]
    copy = restored(copied(tree, {}), {})
    assert copy.k[0] is copy.k[1]["a"] is copy is not tree
    for new, _ in KINDS.values():
        assert type(restored(copied(new(), {}), {})) is type(new())
    assert copied(deque([1], maxlen=2), {}).maxlen == 2
    assert copied(defaultdict(float), {})["new"] == 0.0


@dataclass
class Stubborn:
    """An object that refuses to be copied, and counts what rules do with it."""

    k: float = 2.0
    count: int = 0

    def __reduce__(self):
        raise TypeError

    __copy__ = __deepcopy__ = __getstate__ = __reduce__


@dataclass(eq=False)
class Key:
    name: str


def relu(x):
    return np.maximum(x, 0)


@pytest.mark.parametrize("way", ["grad", "jvp", "vmap", "compiled"])
def test_rules_get_the_objects_themselves_while_these_are_what_they_were(way):
    """They compare them, look things up by them, and change them."""
    a, b, slopes, stubborn = Key("a"), Key("b"), {}, Stubborn()
    slopes[a], slopes[b], slopes[relu] = 3.0, 4.0, 5.0

    def rule(g, out, x, key, keys, functions, state):
        assert key is a
        state.count += 1
        return g * slopes[key] * slopes[keys[0]] * slopes[functions["f"]] * state.k

    op = tape.Op(lambda x, **_: 120 * x, name="op", vjp=[rule])
    f = lambda x: np.sum(op(x, key=a, keys=(b,), functions={"f": relu}, state=stubborn))  # noqa: E731
    g = tape.compile(WAYS["grad"](f)) if way == "compiled" else WAYS[way](f)
    for times in (1, 2, 3):
        np.testing.assert_allclose(g(times * X), 120 * times * np.sum(X))
    assert stubborn.count >= 1 if way == "compiled" else stubborn.count >= 3


@pytest.mark.parametrize("way", ["grad", "jvp"])
def test_dataclasses_that_cannot_be_copied_are_passed_as_they_are(way):
    failure = Failure(2.0)
    seen = []
    op = tape.Op(lambda x, *, p: x * p.k, name="op", vjp=[lambda g, out, x, p: seen.append(p) or g * p.k])
    np.testing.assert_allclose(WAYS[way](lambda x: np.sum(op(x, p=failure)))(X), 2 * np.sum(X))
    assert all(one is failure for one in seen)
    assert seen


@pytest.mark.parametrize(
    "others", [((3.0,), [3.0]), ([2.0], (2.0,)), ({0: 5.0}, deque([5.0])), (Pair(2.0, 1), [4.0])]
)
def test_objects_of_another_class_in_a_collection_are_others(others):
    scale, p = scaling(lambda p: p["a"][0]), {"a": [1.0]}

    def f(x):
        y = scale(scale(x, p=p), p=p)
        p["a"] = others[1]
        return np.sum(y)

    for part in ([1.0], *others, [1.0]):
        p["a"] = part
        np.testing.assert_allclose(tape.grad(f)(X), np.full(3, part[0] ** 2))
    compiled = tape.compile(tape.grad(lambda x: np.sum(scale(scale(x, p=p), p=p))))
    for part in ([1.0], *others, [1.0]):
        p["a"] = part
        np.testing.assert_allclose(compiled(X), np.full(3, part[0] ** 2))


def test_large_arrays_are_not_copied_and_may_not_be_written_into():
    table = np.ones(100_000)
    scale = scaling(lambda p: p[0])

    def f(x, is_written):
        y = np.sum(scale(x, p=table))
        if is_written:
            table[:] = 2.0
        return y

    np.testing.assert_allclose(tape.grad(f)(X, False), np.ones(3))
    with pytest.raises(errors.InPlaceError, match="was written into"):
        tape.grad(f)(X, True)


# ---- functions among them ----------------------------------------------------------------------------------

taken = tape.Op(lambda x, *, f, df: f(x), name="taken", vjp=[lambda g, out, x, f, df: g * df(x)])
CALLS = {
    "apply": tape.apply,
    "apply of several": lambda x, f, df: tape.apply((x, 2.0), lambda a, b: f(a), (lambda a, b: df(a), None)),
    "an operation": lambda x, f, df: taken(x, f=f, df=df),
}
k = 0.0


def by_variables(x, call):
    total = 0.0
    for k in (1.0, 2.0, 3.0):
        total = total + np.sum(call(x, lambda a: a * k, lambda a: k + 0 * a))  # noqa: B023
    return total


def by_globals(x, call):
    global k
    total = 0.0
    for k in (1.0, 2.0, 3.0):
        total = total + np.sum(call(x, lambda a: a * k, lambda a: k + 0 * a))  # noqa: B023
    return total


def by_functions(x, call):
    def scale(a):
        return a * k

    total = 0.0
    for k in (1.0, 2.0, 3.0):  # noqa: B007
        total = total + np.sum(call(x, lambda a: scale(a), lambda a: scale(1.0) + 0 * a))
    return total


def by_arrays(x, call):
    k, total = np.zeros(1), 0.0
    for k[0] in (1.0, 2.0, 3.0):
        total = total + np.sum(call(x, lambda a: a * k, lambda a: k + 0 * a))
    return total


@takes_long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("f", [by_variables, by_globals, by_functions, by_arrays])
def test_functions_find_what_there_was_at_the_call(f, call, compiled, way):
    """Or a program refuses, since it would read an array as it is in each call."""
    g = WAYS[way](lambda x: f(x, CALLS[call]))
    g = tape.compile(g) if compiled else g
    for factor in (1.0, 2.0, 3.0):
        if compiled and f is by_arrays:
            with pytest.raises(errors.InPlaceError):
                g(factor * X)
        else:
            np.testing.assert_allclose(g(factor * X), 6 * factor * np.sum(X))


@pytest.mark.parametrize("call", CALLS)
def test_a_replay_runs_functions_with_what_there_was(call):
    trace = tape.Trace()
    x = trace.param(X)
    y = by_variables(x, CALLS[call])
    trace.set(x, 2 * X)
    trace.replay()
    np.testing.assert_allclose(y.value, 12 * np.sum(X))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("scale", [1.0, np.ones(1)])
def test_what_functions_read_may_change_between_calls_of_a_program(scale, call, way):
    def f(x):
        return np.sum(CALLS[call](x, lambda a: a * scale, lambda a: scale + 0 * a))

    g = tape.compile(WAYS[way](f))
    for number in (1.0, 2.0, 2.0, 3.0, 1.0):
        if isinstance(scale, np.ndarray):
            scale[:] = number
        else:
            scale = number
        np.testing.assert_allclose(g(X), number * np.sum(X))


def test_functions_may_change_what_they_read():
    calls, buffer = 0, np.zeros(3)

    def slope(a):
        nonlocal calls
        calls += 1
        buffer[:] = calls
        return np.cos(a)

    found = tape.grad(lambda x: sum(np.sum(tape.apply(i * x, np.sin, slope)) for i in (1, 2, 3)))(X)
    np.testing.assert_allclose(found, sum(i * np.cos(i * X) for i in (1, 2, 3)))
    assert calls == 3
    np.testing.assert_array_equal(buffer, 3.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_rules_may_look_things_up_by_functions(compiled):
    def sine(a):
        return np.sin(a)

    def shifted(a, by=1.0):
        return np.sin(a) + by

    slopes = {sine: np.cos, shifted: np.cos}
    op = tape.Op(lambda x, *, f: f(x), name="op", vjp=[lambda g, out, x, f: g * slopes[f](x)])
    g = tape.grad(lambda x: np.sum(op(x, f=sine) + op(x, f=shifted)))
    np.testing.assert_allclose((tape.compile(g) if compiled else g)(X), 2 * np.cos(X))
