"""What compiled functions reach through modules, and through classes of the user of every kind."""

import contextvars
import enum
import functools
import operator
import os
import types
import typing
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from os import environ as aliased

import numpy as np
import pytest
from scipy.stats import norm

import tape
from tape import errors

X = np.array([1.0, 2.0, 3.0])
GAIN = 2.0


def gain(number):
    """Bind the global that functions below read."""
    globals()["GAIN"] = number


@pytest.fixture(autouse=True)
def usual_gain():
    gain(2.0)
    yield
    gain(2.0)


def follows(f, change):
    """Check that a compiled function, and its compiled gradient, follow a change."""
    slope = tape.grad(lambda x: np.sum(f(x) ** 2))
    compiled, compiled_slope = tape.compile(f), tape.compile(slope)

    def compare():
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X), f(X))
            np.testing.assert_array_equal(compiled_slope(X), slope(X))

    compare()
    before = f(X)
    change()
    assert not np.array_equal(f(X), before)
    compare()


# ---- modules -----------------------------------------------------------------------------------------------


def module(factor):
    made = types.ModuleType(f"module_{factor}")
    made.k, made.f = factor, lambda v: v * factor
    return made


@pytest.mark.parametrize("held", ["global", "attribute", "item", "cell", "no module any more"])
def test_names_of_modules(held, monkeypatch):
    one, other = module(2.0), module(3.0)
    if held == "global":
        monkeypatch.setitem(globals(), "BACKEND", one)
        follows(lambda x: x * BACKEND.k, lambda: globals().update(BACKEND=other))  # noqa: F821
    elif held == "item":
        modules = [one, other]
        follows(lambda x: modules[0].f(x), modules.reverse)
    elif held == "cell":
        now = one

        def rebind():
            nonlocal now
            now = other

        follows(lambda x: now.f(x), rebind)
    else:
        holder = types.SimpleNamespace(backend=one)
        after = other if held == "attribute" else types.SimpleNamespace(f=lambda v: 5.0 * v)
        follows(lambda x: holder.backend.f(x), lambda: setattr(holder, "backend", after))


# ---- classes that derive from others --------------------------------------------------------------------


class Called:
    def __call__(self, x):
        return x * GAIN

    @property
    def scale(self):
        return GAIN


BASES = [
    list, dict, tuple, set, frozenset, deque, OrderedDict, Counter, UserDict, UserList, float, int, complex,
    str, bytes, bytearray, np.float64, functools.partial,
]  # fmt: skip


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.__name__)
def test_methods_of_classes_that_derive_from_others(base):
    kind = type("Derived", (Called, base), {"__hash__": object.__hash__, "__module__": __name__})
    held = kind(abs) if base is functools.partial else kind()
    follows(lambda x: held(x), lambda: gain(7.0))
    gain(2.0)
    follows(lambda x: x * held.scale, lambda: gain(7.0))


class Settings(typing.NamedTuple):
    a: float = 1.0

    def scaled(self, x):
        return x * GAIN * self.a


class Missing(dict):
    def __missing__(self, key):
        return GAIN


class Kind(enum.StrEnum):
    A = "a"

    def scaled(self, x):
        return x * GAIN


class Made:
    def __new__(cls, x):
        made = object.__new__(cls)
        made.v = x * GAIN
        return made


class Unusual:
    @functools.cached_property
    def cached(self):
        return GAIN

    def __class_getitem__(cls, item):
        return GAIN

    @functools.singledispatchmethod
    def by_type(self, one):
        return GAIN


class Generic(typing.Generic[typing.TypeVar("T")]):
    def scaled(self, x):
        return x * GAIN


def scaled(x):
    return x * GAIN


SETTINGS, MISSING, OF_INT = Settings(), Missing(), Generic[int]
BY_FUNCTION, DEFAULTS = {scaled: 1.0}, defaultdict(lambda: GAIN)
READING_GAIN = {
    "method of a named tuple": lambda x: SETTINGS.scaled(x),
    "__missing__": lambda x: x * MISSING["q"],
    "method of an enumeration": lambda x: Kind.A.scaled(x),
    "__new__": lambda x: Made(x).v,
    "cached property": lambda x: x * Unusual().cached,
    "__class_getitem__": lambda x: x * Unusual[0],
    "method by type": lambda x: x * Unusual().by_type(1),
    "generic class": lambda x: OF_INT().scaled(x),
    "key of a dict": lambda x: sum(f(x) * weight for f, weight in BY_FUNCTION.items()),
    "default factory": lambda x: x * DEFAULTS.default_factory(),
}


@pytest.mark.parametrize("name", READING_GAIN)
def test_code_of_classes_reads_globals(name):
    follows(READING_GAIN[name], lambda: gain(7.0))


# ---- attributes ------------------------------------------------------------------------------------------


class Slots:
    __slots__ = ("k",)


def plain_class(**attributes):
    return type("Plain", (), attributes)


def test_attributes_by_computed_names():
    slots, kind, names = Slots(), plain_class(k=2.0), ("k",)
    slots.k = 2.0
    instance, other = kind(), types.SimpleNamespace(k=2.0)
    follows(lambda x: x * sum(getattr(slots, n) for n in names), lambda: setattr(slots, "k", 7.0))
    follows(lambda x: x * getattr(instance, names[0]), lambda: setattr(kind, "k", 7.0))
    follows(lambda x: x * getattr(kind, names[0]), lambda: setattr(kind, "k", 9.0))
    follows(lambda x: x * operator.attrgetter(names[0])(other), lambda: setattr(other, "k", 7.0))


def test_what_is_missing_at_first():
    kind, slots = plain_class(), Slots()
    instance = kind()

    def caught(x):
        try:
            return x * kind.late
        except AttributeError:
            return x

    follows(lambda x: x * getattr(instance, "late", 1.0), lambda: setattr(kind, "late", 7.0))
    del kind.late
    follows(caught, lambda: setattr(kind, "late", 7.0))
    follows(lambda x: x * getattr(slots, "k", 1.0), lambda: setattr(slots, "k", 7.0))


def test_a_variable_that_is_bound_later():
    def make():
        if not X.size:
            later = 1.0

        def f(x):
            try:
                return x * later
            except NameError:
                return x

        def bind():
            nonlocal later
            later = 7.0

        return f, bind

    follows(*make())


def test_objects_in_sets():
    one = type("One", (types.SimpleNamespace,), {"__hash__": object.__hash__})(k=2.0)

    def change():
        one.k += 1

    for parts in ({one}, frozenset([one])):
        follows(
            lambda x, parts=parts: x * sum(part.k for part in parts), lambda: setattr(one, "k", one.k + 1)
        )


def test_other_names_of_the_environment_and_defaults_of_context_variables(monkeypatch):
    monkeypatch.setenv("TAPE_OF_A_TEST", "2")
    follows(lambda x: x * float(aliased["TAPE_OF_A_TEST"]), lambda: os.environ.update(TAPE_OF_A_TEST="7"))
    held = contextvars.ContextVar("held", default=[2.0])  # noqa: B039
    follows(lambda x: x * held.get()[0], lambda: held.get().__setitem__(0, 7.0))


@pytest.mark.parametrize("f", [lambda x: x + norm.rvs(), lambda x: x + FROZEN.rvs()], ids=["rvs", "frozen"])
def test_distributions_of_scipy_draw_in_each_call(f):
    compiled = tape.compile(f)
    np.random.seed(3)  # noqa: NPY002
    with pytest.warns(errors.NotCompiledWarning, match="draws from a generator"):
        found = [compiled(1.0) for _ in range(4)]
    np.random.seed(3)  # noqa: NPY002
    assert found == [f(1.0) for _ in range(4)]


FROZEN = norm(0, 1)


def test_a_call_that_runs_again_finds_the_environment_as_it_was(monkeypatch):
    monkeypatch.setenv("TAPE_KEPT", "kept")

    def f(x, n):
        k = int(os.environ.get("TAPE_COUNT", "0")) + 1
        os.environ["TAPE_COUNT"] = str(k)
        os.environ.pop("TAPE_KEPT", None)
        return x * len(range(n)) * k

    compiled = tape.compile(f)
    monkeypatch.delenv("TAPE_COUNT", raising=False)
    assert [compiled(1.0, n) for n in (1, 2, 3, 3)] == [1, 4, 9, 12]
    assert (os.environ["TAPE_COUNT"], os.environ.get("TAPE_KEPT")) == ("4", None)
    del os.environ["TAPE_COUNT"]


@pytest.mark.parametrize(("shape", "at"), [((), ()), ((2, 3), (1, 1)), ((2, 2, 2), (0, 1, 1))])
def test_views_of_memory_are_read_anew(shape, at):
    numbers = np.zeros(shape)
    memory = memoryview(numbers)
    compiled = tape.compile(lambda x: x * (memory[at] + 1))
    for k in (0.0, 1.0, 1.0, 2.0, 0.0):
        numbers[...] = k
        assert compiled(3.0) == 3 * (k + 1)
