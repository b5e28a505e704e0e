"""Names that compiled functions read: what is bound anew is seen, whatever way it is reached."""

import functools
import sys
import threading
import types

import numpy as np
import pytest

import tape
from tape import errors
from tape.program.calls import objects
from tape.program.calls.bytecode import names_in
from tape.program.calls.names import Bindings

X = np.array([1.0, 2.0])


def namespace(source):
    """A module of its own, with what this source defines."""
    module = types.ModuleType("names_under_test")
    module.np = np
    module.tape = tape
    exec(source, vars(module))
    return module


MODEL = """
from collections import OrderedDict, namedtuple
rate = 0.5
table = OrderedDict(shift=1.0)
Pair = namedtuple("Pair", "low high")
pair = Pair([1.0], 2.0)
weights = np.ones(2)
mode = "double"
settings = {"scale": 2.0, "layers": [np.ones(2), np.ones(2)]}

class Model:
    bias = 1.0

    def __init__(self):
        self.w = np.ones(2)

    def __call__(self, x):
        return self.scaled(x) + self.bias

    def scaled(self, x):
        return x * self.w

model = Model()

def helper(x, power=2):
    return x**power * rate

helper.factor = 2.0

def f(x):
    y = helper(x) * helper.factor + weights * model(x) * settings["scale"] + settings["layers"][1]
    y = y + table["shift"] * pair.low[0] * pair.high
    return 2 * y if mode == "double" else y
"""

# Each binds a name anew.
CHANGES = {
    "number": lambda m: setattr(m, "rate", m.rate + 1),
    "array": lambda m: setattr(m, "weights", m.weights + 1),
    "text": lambda m: setattr(m, "mode", "single"),
    "function": lambda m: (setattr(m, "helper", lambda x: x), setattr(m.helper, "factor", 1.0)),
    "attribute of a function": lambda m: setattr(m.helper, "factor", 3.0),
    "item of another dict": lambda m: m.table.update(shift=5.0),
    "field of a tuple": lambda m: setattr(m, "pair", m.pair._replace(high=4.0)),
    "item of a field": lambda m: m.pair.low.__setitem__(0, 3.0),
    "code of a function": lambda m: setattr(m.helper, "__code__", (lambda x, power=2: x * 7).__code__),
    "default": lambda m: setattr(m.helper, "__defaults__", (3,)),
    "object": lambda m: (setattr(m, "model", m.Model()), setattr(m.model, "w", np.full(2, 5.0))),
    "attribute": lambda m: setattr(m.model, "w", m.model.w + 1),
    "attribute over one of the class": lambda m: setattr(m.model, "bias", 9.0),
    "attribute of the class": lambda m: setattr(m.Model, "bias", 3.0),
    "method": lambda m: setattr(m.Model, "scaled", lambda self, x: -x),
    "special method": lambda m: setattr(m.Model, "__call__", lambda self, x: -x),
    "item": lambda m: m.settings.update(scale=7.0),
    "item of a list": lambda m: m.settings["layers"].__setitem__(1, np.full(2, 4.0)),
    "built-in": lambda m: setattr(m, "int", 3),
}


@pytest.mark.parametrize("transform", [lambda f: f, lambda f: tape.grad(lambda x: np.sum(f(x)))])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_bound_anew_is_recorded_anew(change, transform):
    module = namespace(MODEL)
    compiled, f = tape.compile(transform(module.f)), transform(module.f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), f(X))
    CHANGES[change](module)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), f(X))


def test_all_changes_in_any_order():
    rng = np.random.default_rng(0)
    for _ in range(5):
        module = namespace(MODEL)
        compiled = tape.compile(module.f)
        for change in rng.permutation(list(CHANGES)):
            if change in ("function", "code of a function", "default"):
                continue  # which exclude each other
            CHANGES[change](module)
            np.testing.assert_array_equal(compiled(X), module.f(X))


def test_variables_of_enclosing_functions():
    def scope():
        w = np.ones(2)

        def f(x):
            return x * w

        def bind(value):
            nonlocal w
            w = value

        return f, bind

    f, bind = scope()
    compiled = tape.compile(f)
    for k in (1.0, 2.0, 1.0):
        bind(np.full(2, k))
        np.testing.assert_array_equal(compiled(X), X * k)


def test_attributes_of_static_arguments_and_of_self():
    class Layer:
        def __init__(self, w):
            self.w = w

        @tape.compile
        def forward(self, x):
            return x * self.w

    layer, other = Layer(2.0), Layer(3.0)
    for w in (2.0, 5.0, 2.0):
        layer.w = w
        np.testing.assert_array_equal(layer.forward(X), X * w)
        np.testing.assert_array_equal(other.forward(X), X * 3.0)


def test_bound_methods_partials_and_slots():
    class Slotted:
        __slots__ = ("w",)

        def times(self, x):
            return x * self.w

    model = Slotted()
    model.w = 2.0
    for f in (model.times, functools.partial(lambda m, x: m.times(x), model), lambda x: model.times(x)):
        model.w = 2.0
        compiled = tape.compile(f)
        np.testing.assert_array_equal(compiled(X), X * 2.0)
        model.w = 3.0
        np.testing.assert_array_equal(compiled(X), X * 3.0)


def test_equal_numbers_and_texts_need_no_other_program():
    module = namespace("rate = 0.5\nmode = 'ab'\ndef f(x):\n    return x * rate if mode == 'ab' else x")
    compiled = tape.compile(module.f)
    compiled(X)
    (program,) = compiled.programs.values()
    module.rate, module.mode = float("0.5"), "".join(["a", "b"])
    np.testing.assert_array_equal(compiled(X), X * 0.5)
    assert list(compiled.programs.values()) == [program]
    module.rate = np.float64(0.5)
    compiled(X)
    assert list(compiled.programs.values()) != [program]


def test_numbers_that_only_look_alike():
    module = namespace("zero = 0.0\ndef f(x):\n    return np.copysign(x, zero)")
    compiled = tape.compile(module.f)
    for zero in (0.0, -0.0, 0.0):
        module.zero = zero
        np.testing.assert_array_equal(compiled(X), module.f(X))


def test_bindings_that_come_back_have_their_programs_still():
    module = namespace("w = np.ones(2)\ndef f(x):\n    return x * w")
    compiled, batches = tape.compile(module.f), [np.full(2, float(k)) for k in range(3)]
    programs = set()
    for _ in range(3):
        for batch in batches:
            module.w = batch
            np.testing.assert_array_equal(compiled(X), X * batch)
            programs |= {id(program) for program in compiled.programs.values()}
    assert len(programs) == len(batches)


def test_a_name_that_is_always_another_ends_in_plain_python_with_a_warning():
    module = namespace("w = np.ones(2)\ndef f(x):\n    return x * w")
    compiled = tape.compile(module.f, max_paths=3)

    def rebind_often():
        for k in range(9):
            module.w = np.full(2, float(k))
            np.testing.assert_array_equal(compiled(X), X * k)

    with pytest.warns(errors.PathLimitWarning, match="reads 'w'") as caught:
        rebind_often()
    assert len(caught) == 1


def test_names_that_are_gone_are_missed():
    module = namespace("w = np.ones(2)\ndef f(x):\n    return x * w")
    compiled = tape.compile(module.f)
    compiled(X)
    del module.w
    with pytest.raises(NameError):
        compiled(X)


def test_a_name_that_another_thread_binds_meanwhile():
    module = namespace("w = np.ones(2)\nhook = None\ndef f(x):\n    y = x * w\n    hook()\n    return y")

    def bind():
        thread = threading.Thread(target=lambda: setattr(module, "w", np.full(2, 3.0)))
        thread.start()
        thread.join()

    module.hook = bind
    compiled = tape.compile(module.f)
    np.testing.assert_array_equal(compiled(X), X)
    np.testing.assert_array_equal(compiled(X), 3 * X)


def test_code_of_libraries_is_not_looked_into():
    found = Bindings(lambda x: np.linalg.norm(x) + sys.getrefcount(x), []).found
    assert not [b for b in found if getattr(b.owner, "__name__", "").startswith("numpy")]


def test_names_in_code():
    names = names_in(
        compile("def f(x):\n    global n\n    n = g(x).h\n    log.append(k)\n", "", "exec").co_consts[0]
    )
    assert [*names.globals] == ["g", "n", "log", "k"]
    assert names.attributes == {"h", "append"}
    assert names.stored == {"n"}
    assert "log" not in names.read


def test_a_function_that_an_object_holds_may_be_another_one():
    class Layer:
        def __init__(self, activation):
            self.activation = activation

    layer = Layer(lambda x: 2 * x)
    f = tape.compile(lambda x: layer.activation(x))
    np.testing.assert_array_equal(f(X), 2 * X)
    layer.activation = lambda x: 3 * x
    np.testing.assert_array_equal(f(X), 3 * X)


# ---- what classes hold, by whichever way it is reached ---------------------------------------------------

CLASSES = """
class Base:
    number = 2.0

    @staticmethod
    def static(x):
        return x * 3.0

    @classmethod
    def of_class(cls, x):
        return x * cls.number

    def method(self, x):
        return x * self.number

    @property
    def computed(self):
        return self.number + 1.0

    def __call__(self, x):
        return x * self.number

    def __add__(self, x):
        return x + self.number

class Derived(Base):
    pass

instance = Derived()

def f(x):
    return {expression}
"""
REACHED = {
    "number of a class": "x * Base.number",
    "number of a subclass": "x * Derived.number",
    "number of an instance": "x * instance.number",
    "static": "Base.static(x)",
    "static of a subclass": "Derived.static(x)",
    "static of an instance": "instance.static(x)",
    "of class": "Base.of_class(x)",
    "of subclass": "Derived.of_class(x)",
    "of the class of an instance": "instance.of_class(x)",
    "method": "instance.method(x)",
    "method of a class": "Base.method(instance, x)",
    "method of a subclass": "Derived.method(instance, x)",
    "property": "x * instance.computed",
    "call": "instance(x)",
    "sum": "instance + x",
}
REBOUND = {
    "number": lambda kind: setattr(kind, "number", 5.0),
    "static": lambda kind: setattr(kind, "static", staticmethod(lambda x: x * 7.0)),
    "of class": lambda kind: setattr(kind, "of_class", classmethod(lambda cls, x: x * cls.number * 11.0)),
    "method": lambda kind: setattr(kind, "method", lambda self, x: x * self.number * 13.0),
    "property": lambda kind: setattr(kind, "computed", property(lambda self: self.number * 17.0)),
    "call": lambda kind: setattr(kind, "__call__", lambda self, x: x * self.number * 23.0),
    "sum": lambda kind: setattr(kind, "__add__", lambda self, x: x + self.number * 29.0),
}


@pytest.mark.parametrize("kind", ["Base", "Derived"])
@pytest.mark.parametrize("change", REBOUND)
@pytest.mark.parametrize("reached", REACHED)
def test_what_a_class_holds_is_that_of_the_call(reached, change, kind):
    module = namespace(CLASSES.format(expression=REACHED[reached]))
    compiled = tape.compile(module.f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), module.f(X))
    REBOUND[change](getattr(module, kind))
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), module.f(X))


@pytest.mark.parametrize("reached", [name for name, text in REACHED.items() if "instance" in text])
def test_what_an_instance_holds_hides_what_its_class_does(reached):
    module = namespace(CLASSES.format(expression=REACHED[reached]))
    compiled = tape.compile(module.f)
    np.testing.assert_array_equal(compiled(X), module.f(X))
    for name, value in {
        "number": 19.0,
        "static": lambda x: x * 31.0,
        "of_class": lambda x: x * 37.0,
        "method": lambda x: x * 41.0,
    }.items():
        setattr(module.instance, name, value)
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X), module.f(X))


def test_a_property_that_is_kept_is_that_of_the_call():
    """What `functools.cached_property` computes while recording lies in the instance from then on."""

    class Model:
        @functools.cached_property
        def rate(self):
            return 2.0

        def __call__(self, x):
            return x * self.rate

    class Derived(Model):
        pass

    model = Derived()
    compiled = tape.compile(lambda x: model(x))
    for rate in (2.0, 2.0, 5.0, 5.0, 2.0):
        if rate != 2.0:
            model.rate = rate
        elif "rate" in vars(model):
            del model.rate  # it is computed again
        np.testing.assert_array_equal(compiled(X), X * rate)
    assert len(compiled.programs) <= 3


DATACLASS = """
from dataclasses import dataclass, field
from typing import Any
rate = 2.0

def scaled(x):
    return x * rate

@dataclass
class Layer:
    w: Any
    function: Any = field(default=scaled, metadata={"static": True})

    def __call__(self, x):
        return self.function(self.w * x) + rate

def f(layers, x):
    return layers["first"](x)
"""


@pytest.mark.parametrize("transform", [lambda f: f, lambda f: tape.grad(lambda *args: np.sum(f(*args)))])
def test_methods_and_static_functions_of_dataclasses_in_arguments_are_looked_into(monkeypatch, transform):
    monkeypatch.setitem(sys.modules, "names_under_test", types.ModuleType("names_under_test"))
    module = namespace(DATACLASS)
    compiled = tape.compile(transform(module.f))
    for rate in (2.0, 2.0, 5.0, 2.0):
        module.rate = rate
        layers = {"first": module.Layer(np.ones(2))}
        found, expected = compiled(layers, X), transform(module.f)(layers, X)
        for one, other in zip(tape.tree.leaves(found), tape.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(one, other)


def test_names_behind_many_others_are_found():
    """An import whose name has a number of more than a byte."""
    names = "\n".join(f"    x = x + m.a{k}" for k in range(300))
    module = namespace(f"def f(x, m):\n{names}\n    from settings_under_test import LR\n    return x * LR")
    assert names_in(module.f.__code__).imports == [(0, "settings_under_test", ("LR",))]


GROWING = """
import contextvars
from collections import defaultdict
made, rows, table, mode = {}, [1.0], {"low": 1.0}, contextvars.ContextVar("mode", default=1.0)

class Model:
    bias = 1.0

model = Model()

def caches(x):
    model.cache = getattr(model, "cache", 1.0)
    return x * model.cache

def makes(x):
    model.latest = 2.0
    return x * model.latest

def tries(x):
    try:
        return x * model.offset
    except AttributeError:
        Model.offset = 3.0
        return x

def imports(x):
    import colorsys
    return x * colorsys.ONE_THIRD

def appends(x):
    rows.append(2.0)
    return x * rows[-1]

def fills(x):
    made["high"] = 2.0
    return x * made["high"]

def binds(x):
    global late
    late = 2.0
    return x * late

def counts(x):
    model.bias = model.bias + 1.0
    return x * model.bias

def replaces(x):
    table["low"] = table["low"] + 1.0
    return x * table["low"]

def counted(x):
    counts_in[0]["calls"] += 1.0
    return x * counts_in[0]["calls"]

counts_in = [defaultdict(float)]

def decides(x):
    chosen.default_factory = int
    return x * chosen["none"]

chosen = defaultdict(float, none=1.0)

def sets(x):
    mode.set(mode.get() + 1.0)
    return x * mode.get()
"""


@pytest.mark.parametrize("name", [line[4:-4] for line in GROWING.splitlines() if line.startswith("def ")])
def test_a_function_that_makes_names_is_searched_again(name, monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    f = vars(namespace(GROWING))[name]
    before = Bindings(f, [])
    f(X)
    assert not before.is_what_a_search_finds()
    f(X)  # whatever it leaves by now, what is not searched again is complete
    before, again = Bindings(f, []), Bindings(f, [])
    if before.is_what_a_search_finds():
        assert [(b.kind, b.key) for b in before.found] == [(b.kind, b.key) for b in again.found]


@pytest.mark.parametrize("change", ["model.w = model.w.copy()", "rate = float('0.5')", "mode = 'single'"])
def test_a_function_that_makes_no_names_is_searched_once(change):
    module = namespace(MODEL)
    before = Bindings(module.f, [])
    module.f(X)
    again = Bindings(module.f, [])
    assert before.is_what_a_search_finds()
    assert [(b.kind, id(b.owner), b.key) for b in before.found] == [
        (b.kind, id(b.owner), b.key) for b in again.found
    ]
    exec(change, vars(module))
    assert not before.is_what_a_search_finds()  # equal numbers that are other objects are bound anew, too


def test_a_function_of_a_library_that_holds_another_one_now_is_searched_again(tmp_path, monkeypatch):
    (tmp_path / "holders.py").write_text(
        "def holding(f):\n"
        "    def held(x):\n"
        "        nonlocal f\n"
        "        f = f.following\n"
        "        return f(x)\n"
        "    return held\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(objects, "_LIBRARIES", (*objects._LIBRARIES, str(tmp_path)))
    from holders import holding

    def first(x):
        return x

    def second(x):
        return x * X

    first.following = second.following = second
    held = holding(first)
    before = Bindings(held, [])
    held(X)
    assert not before.is_what_a_search_finds()
    assert "X" in {binding.key for binding in Bindings(held, []).found}
    assert Bindings(held, []).is_what_a_search_finds()
