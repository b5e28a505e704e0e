"""Values that functions reach by other ways than plain names: what is changed there is seen, too."""

import argparse
import dataclasses
import functools
import importlib
import itertools
import operator
import os
import sys
import threading
import types
import warnings
from array import array
from collections import ChainMap, OrderedDict, UserDict, deque
from contextvars import ContextVar, copy_context
from dataclasses import dataclass

import numpy as np
import pytest

import tape
from tape import errors
from tests.test_names import namespace

X = np.array([1.0, 2.0])


class Slotted:
    __slots__ = ("w",)


class Act:
    def __init__(self, kind):
        self.kind = kind


def keyword_default():
    held = types.SimpleNamespace(w=1.0)

    def f(x, *, model=held):
        return x * model.w

    return f, lambda: setattr(held, "w", 5.0)


def function_by_keyword_default():
    module = namespace("K = 1.0\ndef scaled(x): return x * K")

    def f(x, *, act=module.scaled):
        return act(x)

    return f, lambda: setattr(module, "K", 5.0)


def library_instance():
    held = argparse.Namespace(lr=1.0)
    return lambda x: x * held.lr, lambda: setattr(held, "lr", 5.0)


def object_in_a_library_instance():
    held = argparse.Namespace(model=Slotted())
    held.model.w = 1.0
    return lambda x: x * held.model.w, lambda: setattr(held.model, "w", 5.0)


def order_of_a_dict():
    held = {"a": 1.0, "b": 2.0}

    def f(x):
        for value in held.values():
            x = x * 2 + value
        return x

    return f, lambda: held.update(a=held.pop("a"))


def order_of_an_ordered_dict():
    held = OrderedDict(a=1.0, b=2.0)

    def f(x):
        for value in held.values():
            x = x * 2 + value
        return x

    return f, lambda: held.move_to_end("a")


def imported_name():
    module = sys.modules["settings_under_test"] = types.ModuleType("settings_under_test")
    module.LR = 1.0

    def f(x):
        from settings_under_test import LR

        return x * LR

    return f, lambda: setattr(module, "LR", 5.0)


def imported_module():
    module = sys.modules["settings_under_test"] = namespace("LR = 1.0\ndef scaled(x): return x * LR")

    def f(x):
        import settings_under_test as s

        return s.scaled(x) + s.LR

    return f, lambda: setattr(module, "LR", 5.0)


def folder_without_a_file():
    module = types.ModuleType("folder_under_test")
    module.__path__ = ["/nowhere/of/the/user"]
    module.LR = 1.0
    return lambda x: x * module.LR, lambda: setattr(module, "LR", 5.0)


def pattern_of_a_class():
    held = Act("a")

    def f(x):
        match held:
            case Act(kind="a"):
                return x
        return -x

    return f, lambda: setattr(held, "kind", "b")


def pattern_by_position():
    @dataclass
    class Point:
        x: float

    held = Point(1.0)

    def f(x):
        match held:
            case Point(1.0):
                return x
        return -x

    return f, lambda: setattr(held, "x", 5.0)


@dataclass
class Held:
    a: list
    d: dict

    def kept(self, names):
        return [self.__dict__[name] for name in names]


def attribute_by_getattr():
    held = Act("a")
    held.scale = 1.0
    return lambda x: x * getattr(held, "scale"), lambda: setattr(held, "scale", 5.0)  # noqa: B009


def missing_attribute_by_getattr():
    held = Act("a")
    return lambda x: x * getattr(held, "scale", 1.0), lambda: setattr(held, "scale", 5.0)


def missing_attribute_by_hasattr():
    held = Act("a")
    return lambda x: 2 * x if hasattr(held, "scale") else x, lambda: setattr(held, "scale", 5.0)


def missing_attribute_that_is_caught():
    held = Act("a")

    def f(x):
        try:
            return x * held.scale
        except AttributeError:
            return x

    return f, lambda: setattr(held, "scale", 5.0)


def item_of_a_deque():
    held = deque([1.0])
    return lambda x: x * held[0], lambda: held.__setitem__(0, 5.0)


def item_of_a_user_dict():
    held = UserDict(a=1.0)
    return lambda x: x * held["a"], lambda: held.update(a=5.0)


def item_of_a_chain_of_dicts():
    held = ChainMap({}, {"a": 1.0})
    return lambda x: x * held["a"], lambda: held.maps[0].update(a=5.0)


def keyword_of_a_partial():
    held = functools.partial(lambda x, by: x * by, by=1.0)
    return lambda x: held(x), lambda: held.keywords.update(by=5.0)


def function_by_type():
    module = namespace("import functools\nK = 1.0\n@functools.singledispatch\ndef scaled(x): return x * K")
    return lambda x: module.scaled(x), lambda: setattr(module, "K", 5.0)


def function_that_is_registered_for_a_type():
    module = namespace(
        "import functools\n"
        "K = 1.0\n"
        "@functools.singledispatch\n"
        "def factor(kind): return 2.0\n"
        "@factor.register(str)\n"
        "def _(kind): return K\n"
    )
    return lambda x: x * module.factor("a"), lambda: setattr(module, "K", 5.0)


def attribute_of_a_thread():
    held = threading.local()
    held.k = 1.0
    return lambda x: x * held.k, lambda: setattr(held, "k", 5.0)


def context_variable():
    held = ContextVar("held", default=1.0)
    return lambda x: x * held.get(), lambda: held.set(5.0)


def item_of_a_context_variable():
    held = ContextVar("held")
    held.set({"a": [1.0]})
    return lambda x: x * held.get()["a"][0], lambda: held.get()["a"].__setitem__(0, 5.0)


def environment_variable():
    os.environ["TAPE_OF_A_TEST"] = "1"
    return lambda x: x * float(os.environ["TAPE_OF_A_TEST"]), lambda: os.environ.update(TAPE_OF_A_TEST="5")


def environment_variable_that_is_missing():
    os.environ.pop("TAPE_OF_A_TEST", None)
    return lambda x: x * float(os.getenv("TAPE_OF_A_TEST", 1)), lambda: os.environ.update(TAPE_OF_A_TEST="5")


def attribute_over_one_that_is_computed():
    class Settings:
        def __init__(self):
            self.__dict__["known"] = {"a": 1.0}

        def __getattr__(self, name):
            return self.known[name]

    held = Settings()
    return lambda x: x * held.a, lambda: setattr(held, "a", 5.0)


def attribute_in_a_partial_method():
    class Scaled:
        k = 1.0

        def by(self, x, factor):
            return x * factor * self.k

        twice = functools.partialmethod(by, factor=2.0)

    held = Scaled()
    return lambda x: held.twice(x), lambda: setattr(held, "k", 5.0)


def attribute_by_attrgetter():
    held = types.SimpleNamespace(k=1.0)
    return lambda x: x * operator.attrgetter("k")(held), lambda: setattr(held, "k", 5.0)


def attribute_by_an_attrgetter_of_before():
    held, get = types.SimpleNamespace(part=types.SimpleNamespace(k=1.0)), operator.attrgetter("part.k")
    return lambda x: x * get(held), lambda: setattr(held.part, "k", 5.0)


def attribute_by_its_dict():
    held = types.SimpleNamespace(k=1.0)
    return lambda x: x * held.__dict__["k"] * vars(held)["k"], lambda: setattr(held, "k", 5.0)


def attributes_by_vars():
    held = types.SimpleNamespace(a=1.0, b=2.0)
    return lambda x: x * sum(vars(held).values()), lambda: setattr(held, "b", 5.0)


def attributes_as_keyword_arguments():
    held = types.SimpleNamespace(a=1.0, b=2.0)
    combined = lambda x, a, b: a * x + b  # noqa: E731
    return lambda x: combined(x, **held.__dict__), lambda: setattr(held, "b", 5.0)


def attributes_that_are_new():
    held = types.SimpleNamespace(a=1.0)
    return lambda x: x * sum(v for _, v in vars(held).items()), lambda: setattr(held, "b", 5.0)


def attributes_of_self_by_vars():
    class Held:
        def __init__(self):
            self.a, self.b = 1.0, 2.0

        def total(self, x):
            return x * sum(vars(self)[name] for name in vars(self))

    held = Held()
    return held.total, lambda: setattr(held, "b", 5.0)


def attributes_by_computed_names():
    held = types.SimpleNamespace(layer0=1.0, layer1=2.0)
    return (
        lambda x: x * sum(getattr(held, f"layer{k}") for k in range(2)),
        lambda: setattr(held, "layer1", 5.0),
    )


def fields_of_a_dataclass():
    held = dataclasses.make_dataclass("Held", [("a", float), ("b", float)])(1.0, 2.0)
    return (
        lambda x: x * sum(getattr(held, field.name) for field in dataclasses.fields(held)),
        lambda: setattr(held, "b", 5.0),
    )


def dict_of_a_dataclass():
    held = dataclasses.make_dataclass("Held", [("a", float), ("b", float)])(1.0, 2.0)
    return lambda x: x * sum(dataclasses.asdict(held).values()), lambda: setattr(held, "b", 5.0)


def attribute_in_a_method_by_methodcaller():
    class Held:
        k = 1.0

        def times(self, x):
            return x * self.k

    held = Held()
    return lambda x: operator.methodcaller("times", x)(held), lambda: setattr(held, "k", 5.0)


def module_by_import_module():
    module = sys.modules["module_found_by_its_name"] = types.ModuleType("module_found_by_its_name")
    module.k = 1.0
    return (
        lambda x: x * importlib.import_module("module_found_by_its_name").k,
        lambda: setattr(module, "k", 5.0),
    )


def module_in_sys_modules():
    module = sys.modules["module_found_by_its_name"] = types.ModuleType("module_found_by_its_name")
    module.k = 1.0
    return lambda x: x * sys.modules["module_found_by_its_name"].k, lambda: setattr(module, "k", 5.0)


def item_of_an_array_of_python():
    held = array("d", [1.0])
    return lambda x: x * held[0], lambda: held.__setitem__(0, 5.0)


def item_of_bytes():
    held = bytearray([1])
    return lambda x: x * held[0], lambda: held.__setitem__(0, 5)


def item_of_an_array_of_objects():
    held = np.array([[1.0, 2.0]], object)
    return lambda x: x * held[0, 1], lambda: held.__setitem__((0, 1), 5.0)


def function_for_a_type_registered_later():
    @functools.singledispatch
    def factor(kind):
        return 1.0

    return lambda x: x * factor("a"), lambda: factor.register(str, lambda kind: 5.0)


def bound_method_of_a_dict():
    held = {"k": 1.0}
    get = held.get
    return lambda x: x * get("k"), lambda: held.update(k=5.0)


def bound_operator_of_a_list():
    held = [1.0]
    get = held.__getitem__
    return lambda x: x * get(0), lambda: held.__setitem__(0, 5.0)


def method_in_a_partial():
    held = {"k": 1.0}
    get = functools.partial(held.get, "k")
    return lambda x: x * get(), lambda: held.update(k=5.0)


def values_of_a_dict():
    held = {"k": 1.0}
    values = held.values()
    return lambda x: x * sum(values), lambda: held.update(k=5.0)


def proxy_of_a_dict():
    held = {"k": 1.0}
    proxy = types.MappingProxyType(held)
    return lambda x: x * proxy["k"], lambda: held.update(k=5.0)


def attribute_by_getattribute():
    class Held:
        w = 1.0

        def get(self):
            return object.__getattribute__(self, "w")

    held = Held()
    return lambda x: x * held.get(), lambda: setattr(held, "w", 5.0)


def attribute_by_a_partial():
    held = types.SimpleNamespace(w=1.0)
    get = functools.partial(getattr, held, "w")
    return lambda x: x * get(), lambda: setattr(held, "w", 5.0)


def items_of_a_set():
    held = {1.0}
    return lambda x: x * sum(held), lambda: held.add(5.0)


def memory_of_an_array():
    held = memoryview(array("d", [1.0]))
    return lambda x: x * held[0], lambda: held.__setitem__(0, 5.0)


def contents_of_a_cell_that_is_empty():
    held = types.CellType()

    def f(x):
        try:
            return x * held.cell_contents
        except ValueError:
            return x

    return f, lambda: setattr(held, "cell_contents", 5.0)


WAYS = [
    keyword_default, function_by_keyword_default, library_instance, object_in_a_library_instance,
    order_of_a_dict, order_of_an_ordered_dict, imported_name, imported_module, folder_without_a_file,
    pattern_of_a_class, pattern_by_position, attribute_by_getattr, missing_attribute_by_getattr,
    missing_attribute_by_hasattr, missing_attribute_that_is_caught, item_of_a_deque, item_of_a_user_dict,
    item_of_a_chain_of_dicts, keyword_of_a_partial, function_by_type, attribute_of_a_thread,
    function_that_is_registered_for_a_type,
    context_variable, item_of_a_context_variable, environment_variable, environment_variable_that_is_missing,
    attribute_over_one_that_is_computed, attribute_in_a_partial_method, attribute_by_attrgetter,
    attribute_by_an_attrgetter_of_before, attribute_by_its_dict, item_of_an_array_of_python, item_of_bytes,
    item_of_an_array_of_objects, function_for_a_type_registered_later, bound_method_of_a_dict,
    bound_operator_of_a_list, method_in_a_partial, values_of_a_dict, proxy_of_a_dict,
    attributes_by_vars, attributes_as_keyword_arguments, attributes_that_are_new, attributes_of_self_by_vars,
    attributes_by_computed_names, fields_of_a_dataclass, dict_of_a_dataclass,
    attribute_in_a_method_by_methodcaller, module_by_import_module, module_in_sys_modules,
    attribute_by_getattribute, attribute_by_a_partial, items_of_a_set, memory_of_an_array,
    contents_of_a_cell_that_is_empty,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_whatever_way_a_value_is_reached_it_is_that_of_the_call(way):
    f, change = way()
    compiled, slope = tape.compile(f), tape.compile(tape.grad(lambda x: np.sum(f(x))))
    before = f(X)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), before)
        slope(X)
    change()
    after = f(X)
    assert not np.array_equal(before, after)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), after)
        np.testing.assert_array_equal(slope(X), tape.grad(lambda x: np.sum(f(x)))(X))
    assert compiled.programs  # and it is no plain Python


def joined(a, d):
    return a[1] * d["k"]


BY_NAMES = {
    "getattr": lambda held, names: joined(*[getattr(held, name) for name in names]),
    "vars": lambda held, names: joined(**vars(held)),
    "__dict__": lambda held, names: joined(*[held.__dict__[name] for name in names]),
    "values": lambda held, names: joined(*held.__dict__.values()),
    "method": lambda held, names: joined(*held.kept(names)),
    "asdict": lambda held, names: joined(**dataclasses.asdict(held)),
    "astuple": lambda held, names: joined(*dataclasses.astuple(held)),
    "length": lambda held, names: len(getattr(held, names[0])) * getattr(held, names[1])["k"],
}
CHANGES = {
    "item of a list": lambda held: held.a.__setitem__(1, 5.0),
    "longer list": lambda held: held.a.append(5.0),
    "item of a dict": lambda held: held.d.update(k=5.0),
    "larger dict": lambda held: held.d.update(new=5.0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", BY_NAMES)
def test_collections_by_computed_names(way, change):
    """Lists and dicts of attributes that the code does not name were not looked into."""
    held, names = Held([1.0, 2.0], {"k": 3.0}), ("a", "d")
    read = BY_NAMES[way]
    f = lambda x: x * read(held, names)  # noqa: E731
    compiled = tape.compile(f)
    for _ in range(2):
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X), f(X))
        CHANGES[change](held)
    assert compiled.programs


def test_each_thread_has_attributes_of_its_own():
    held = threading.local()
    held.k, found = 1.0, []
    compiled = tape.compile(lambda x: x * held.k)

    def another():
        held.k = 5.0
        found.extend([compiled(1.0), compiled(1.0)])

    assert [compiled(1.0), compiled(1.0)] == [1.0, 1.0]
    thread = threading.Thread(target=another)
    thread.start()
    thread.join()
    assert found == [5.0, 5.0]
    assert compiled(1.0) == 1.0


def test_each_context_has_variables_of_its_own():
    held = ContextVar("held", default=1.0)
    compiled = tape.compile(lambda x: x * held.get())

    def another():
        held.set(5.0)
        return [compiled(1.0), compiled(1.0)]

    assert [compiled(1.0), compiled(1.0)] == [1.0, 1.0]
    assert copy_context().run(another) == [5.0, 5.0]
    assert compiled(1.0) == 1.0


def generator():
    yield from [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "make", [lambda: iter([1.0, 2.0, 3.0]), generator, lambda: itertools.cycle([1.0, 2.0])]
)
def test_iterators_go_on_in_each_call(make):
    one, other = make(), make()
    compiled = tape.compile(lambda x: x * next(one))
    with pytest.warns(errors.NotCompiledWarning, match="uses 'one', and changes it"):
        assert compiled(1.0) == next(other)
    assert [compiled(1.0), compiled(1.0)] == [next(other), next(other)]


def test_a_set_that_the_function_adds_to_is_that_of_the_call():
    one, other = set(), set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        compiled = tape.compile(lambda x: (one.add(len(one)), x * len(one))[1])
        for _ in range(8):
            other.add(len(other))
            assert compiled(1.0) == len(other)
