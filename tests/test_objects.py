"""What is known of objects that functions reach: their classes, attributes, names, and arrays' contents."""

import builtins
import collections
import dataclasses
import decimal
import functools
import io
import itertools
import json
import operator
import os
import sys
import sysconfig
import threading
import types
from contextvars import ContextVar

import numpy as np
import pytest
import scipy.stats

import tape
from tape.nn import Linear
from tape.program.calls import objects
from tape.program.calls.arrays import Arrays, is_all_new, is_telling, place_of, sampled
from tape.program.calls.binding import LOOKUPS, OF_EQUALS, Binding, is_same
from tape.program.calls.libraries import is_followed, is_noise, is_pythons, is_slot
from tape.program.calls.objects import EMPTY

MADE_BY_EXEC = {}
exec("class Made: pass\nclass int: pass", MADE_BY_EXEC)


def kind_of(module, bases=(), **own):
    """A class that says that it is of a module."""
    return type("Kind", bases, {"__module__": module, **own})


OURS = dataclasses.dataclass(kind_of("tape.nn.made"))


class Plain:
    """Has attributes of its own and of its class."""

    of_class = 1

    def __init__(self):
        self.own = 2

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return 3


class Closed:
    """Says of its attributes nothing."""

    @property
    def __dict__(self):
        raise RuntimeError("closed")


class OneSlot:
    __slots__ = "first"


class Slots(OneSlot):
    __slots__ = ("__weakref__", "second", "third")


# ---- classes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        (Linear, True), (type("Mine", (Linear,), {}), True), (OURS, True),
        (kind_of("tape.nn.made"), False), (dataclasses.dataclass(kind_of("mine")), False),
        (dataclasses.dataclass(kind_of("tape.nnx.made")), False), (tape.Trace, False), (float, False),
    ],
)  # fmt: skip
def test_layers_are_dataclasses_of_this_package(kind, is_one):
    assert objects.is_layer(kind) is is_one


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        (tape.Trace, True), (kind_of("tape"), True), (kind_of("tape.deeper.still"), True),
        (kind_of("tapes"), False), (kind_of("mine.tape"), False), (np.ndarray, False), (int, False),
    ],
)  # fmt: skip
def test_classes_of_this_package_are_known_by_the_first_part_of_their_module(kind, is_one):
    assert objects.is_ours(kind) is is_one


@pytest.mark.parametrize("name", ["stdlib", "platstdlib", "purelib", "platlib"])
def test_files_in_the_folders_of_python_are_of_libraries(name):
    folder = sysconfig.get_paths()[name]
    assert objects.is_library_file(os.path.join(folder, "made.py"))
    assert not objects.is_library_file(f"{sysconfig.get_paths()['stdlib']}-of-mine/made.py")
    assert not objects.is_library_file("made.py")
    assert objects.is_library_file(tape.__file__)


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        (int, True), (ExceptionGroup, True), (type(iter([])), True), (type(len), True),
        (types.SimpleNamespace, True), (itertools.count, True), (type(threading.Lock()), True),
        (np.ndarray, True), (tape.Trace, True), (json.JSONEncoder, True),
        (kind_of("xml.made"), True), (kind_of("made.xml"), False), (kind_of("made"), False),
        (MADE_BY_EXEC["Made"], False), (MADE_BY_EXEC["int"], False), (Plain, False),
    ],
)  # fmt: skip
def test_classes_of_libraries(kind, is_one):
    """Classes that code without a name of its own has made say that they are built in."""
    assert objects.is_library(kind) is is_one


def test_the_entry_of_a_table_is_that_of_the_nearest_base():
    name = f"{__name__}.Slots"
    assert objects.name_of(Slots) == name
    assert objects.name_of(type(decimal.Context())) == "decimal.Context"
    assert objects.known_of(Slots, {f"{__name__}.OneSlot": 1, name: 2}) == 2
    assert objects.known_of(Slots, {f"{__name__}.OneSlot": 1, "builtins.object": 2}) == 1
    assert objects.known_of(OneSlot, {name: 2}) is None


def test_distributions_of_scipys_statistics():
    assert objects.is_distribution(type(scipy.stats.norm))
    assert objects.is_distribution(type(scipy.stats.norm(1.0, 2.0)))
    for other in (scipy, scipy.stats, scipy.stats.norm.pdf, np.random, None, EMPTY):
        assert not objects.is_distribution(type(other))
    assert not objects.is_distribution(kind_of("scipy.statsmodels"))


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (iter([]), True), (itertools.count(), True), ((k for k in ()), True), (map(abs, ()), True),
        ([], False), (range(3), False), (io.StringIO(), False), (io.BytesIO(), False), ({}.items(), False),
    ],
)  # fmt: skip
def test_iterators_are_what_is_used_up_but_for_files(value, is_one):
    assert objects.is_iterator(value) is is_one


def test_the_folder_of_a_package(tmp_path, monkeypatch):
    package = tmp_path / "bundle_of_functions"
    package.mkdir()
    (package / "__init__.py").write_text("def f(): pass\n")
    (package / "part.py").write_text("def g(): pass\n")
    (tmp_path / "module_of_functions.py").write_text("def h(): pass\n")
    (tmp_path / "space_of_functions").mkdir()
    (tmp_path / "space_of_functions" / "part.py").write_text("def g(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    bundle = __import__("bundle_of_functions.part")
    module = __import__("module_of_functions")
    space = __import__("space_of_functions.part")  # without a file of its own
    assert objects.package_folder(bundle.f) == objects.package_folder(bundle.part.g) == f"{package}{os.sep}"
    assert objects.package_folder(module.h) == objects.package_folder(space.part.g) == ""
    assert objects.package_folder(np.linalg.norm) == objects.package_folder(tape.grad) == ""
    for name in (None, "", "there.is.none"):
        monkeypatch.setattr(bundle.f, "__module__", name)
        assert objects.package_folder(bundle.f) == ""
    assert objects.package_folder(functools.partial(abs)) == objects.package_folder(3) == ""
    for name in [name for name in sys.modules if name.partition(".")[0].endswith("_of_functions")]:
        monkeypatch.delitem(sys.modules, name)


# ---- attributes -------------------------------------------------------------------------------------------


def test_attributes_of_objects_themselves():
    plain = Plain()
    assert objects.own_attributes(plain) is vars(plain)
    assert objects.own_attributes(Plain) == vars(Plain)
    assert (
        objects.own_attributes(1)
        is objects.own_attributes(Closed())
        is objects.own_attributes(Slots())
        is None
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Plain(), ["absent", "other"]), (Plain, ["absent", "other", "own"]),
        (Slots(), ["absent", "of_class", "other", "own"]), (1, ["absent", "of_class", "other", "own"]),
        (OneSlot, ["absent", "of_class", "other", "own", "second"]),
        (type("Deeper", (Plain,), {"other": 1})(), ["absent"]),
        (type("Deeper", (Plain,), {"other": 1}), ["absent", "own"]),
    ],
)  # fmt: skip
def test_absent_attributes_are_those_that_no_class_holds(value, expected):
    """Whatever ``__getattr__`` makes of them."""
    names = {"own", "other", "of_class", "absent", "__init__"} | ({"second"} if value is OneSlot else set())
    assert objects.absent_from(value, names) == expected


def test_slots_of_a_class_and_its_bases():
    assert objects.slots_of(Slots) == {"first", "second", "third", "__weakref__"}
    assert objects.slots_of(OneSlot) == {"first"}
    assert objects.slots_of(Plain) == objects.slots_of(int) == frozenset()
    odd = type("Odd", (), {})
    odd.__slots__ = (3, "named")
    assert objects.slots_of(odd) == {"named"}


def test_attributes_of_a_value_are_its_own_and_those_in_slots():
    class More(Plain):
        __slots__ = ("first", "second")

    more = More()
    more.second = 5
    assert objects.attributes_of(more) == [2, 3, 5]  # what is not set, `__getattr__` makes
    assert objects.attributes_of(Plain()) == [2]
    assert objects.attributes_of(1) == []


def test_cells_without_content():
    full, empty = types.CellType(None), types.CellType()
    assert objects.content_of(full) is None
    assert objects.content_of(empty) is EMPTY
    assert (objects.is_empty(full), objects.is_empty(empty)) == (False, True)


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("__call__", Plain.__init__, True), ("__new__", staticmethod(abs), True),
        ("__class_getitem__", classmethod(abs), True), ("call", Plain.__init__, False),
        ("_call__", Plain.__init__, False), ("__doc__", "text", False), ("__hash__", None, False),
        ("__len__", len, False),
    ],
)  # fmt: skip
def test_special_methods_are_functions_with_names_of_pythons(name, value, is_one):
    assert objects.is_special(name, value) is is_one


@pytest.mark.parametrize(
    ("kind", "pythons", "followed"),
    [
        (threading.Event, True, True), (collections.UserString, True, True), (np.poly1d, False, True),
        (np.ndarray, False, False), (np.polynomial.Polynomial, False, True), (np.vectorize, False, True),
        (collections.OrderedDict, True, False), (ValueError, True, True), (int, True, False),
        (tape.Trace, False, False), (kind_of("pandas.core.indexes.made"), True, False),
        (kind_of("pandas.core.made"), True, True),
        (kind_of("torchless"), True, True), (type("Mine", (threading.Event,), {}), True, True),
        (type("Mine", (np.poly1d,), {}), False, True),
    ],
)  # fmt: skip
def test_which_classes_are_looked_into(kind, pythons, followed):
    """Of what only says that it is of a library, the bases count."""
    assert is_pythons(kind) is pythons
    assert is_followed(kind) is followed


def test_classes_of_torch_are_not_followed():
    assert not is_followed(kind_of("torch"))


def test_slots_of_libraries_are_cheap_to_read():
    members = [Slots.second, decimal.Context.prec, ValueError.args, threading.Thread.daemon, Plain.__init__]
    kinds = [Slots, decimal.Context, ValueError, threading.Thread, Plain]
    assert [is_slot(*each) for each in zip(kinds, members, strict=True)] == [True, True, True, False, False]
    assert not is_slot(int, int.real)
    assert not is_slot(np.ndarray, np.ndarray.shape)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("_hash", True), ("_waiters", True), ("cache", True), ("_cached_value", True), ("hash", False),
        ("_loops", False), ("value", False), ("_native_id", True), ("_ident", True), ("_mhash", True),
        ("_loop", True), ("_getters", True), ("_putters", True),
    ],
)  # fmt: skip
def test_attributes_that_change_without_a_meaning(name, is_one):
    assert is_noise(name) is is_one


# ---- names ------------------------------------------------------------------------------------------------


class Again:
    """Equals others of its class element by element."""

    def __eq__(self, other):
        return np.array([True, True])

    def __hash__(self):
        return 0


def bound(kind):
    """A binding of each kind, and what binds its name to something else."""
    variable, cell, plain = ContextVar("variable"), types.CellType(1.5), Plain()
    variable.set(1.5)
    inner = type("Inner", (Plain,), {"held": 1.5})
    array = np.arange(3.0)
    items = {"held": 1.5}
    empty = types.CellType()
    return {
        "global": (items, "held", lambda: items.update(held=2.5)),
        "cell": (cell, "cell_contents", lambda: setattr(cell, "cell_contents", 2.5)),
        "item": (items, "held", lambda: items.update(held=2.5)),
        "attribute": (plain, "own", lambda: setattr(plain, "own", 2.5)),
        "context": (variable, None, lambda: variable.set(2.5)),
        "class": (inner, "held", lambda: setattr(inner, "held", 2.5)),
        "empty": (empty, objects.is_empty, lambda: setattr(empty, "cell_contents", 2.5)),
        "own": (inner, "own", lambda: setattr(inner, "own", 2.5)),
        "has": (Slots, "fourth", lambda: None),
        "presence": (items, "other", lambda: items.update(other=2.5)),
        "length": (items, None, lambda: items.update(other=2.5)),
        "keys": (items, None, lambda: items.update(other=2.5)),
        "items": (items, None, lambda: items.update(held=2.5)),
        "content": (array, None, lambda: array.__setitem__(2, 2.5)),
        "contents": (items, lambda owner: [*owner.values()], lambda: items.update(held=2.5)),
    }[kind]


@pytest.mark.parametrize("kind", LOOKUPS)
def test_bindings_hold_until_their_name_is_bound_to_something_else(kind):
    owner, key, change = bound(kind)
    text, look = LOOKUPS[kind]
    value = look(owner, key)
    binding = Binding(kind, owner, key, value)
    assert binding.holds()
    code = text.format("owner", "key", key)
    assert is_same(eval(code, {"owner": owner, "key": key}), value) or kind in OF_EQUALS
    assert eval(code, {"owner": owner, "key": key}) == value == binding.current()
    change()
    if kind != "has":
        assert not binding.holds()
    assert eval(code, {"owner": owner, "key": key}) == binding.current()
    if kind in ("global", "cell", "item", "attribute", "context", "class"):
        assert binding.current() == 2.5
        binding.rebind(value)
        assert binding.holds()


@pytest.mark.parametrize(
    ("kind", "owner", "key"),
    [
        ("global", {}, "a"), ("item", [], 0), ("attribute", Slots(), "second"), ("class", Plain, "absent"),
        ("cell", types.CellType(), "cell_contents"),
    ],
)  # fmt: skip
def test_bindings_do_not_hold_where_there_is_no_name_any_more(kind, owner, key):
    assert not Binding(kind, owner, key, None).holds()


def test_keys_that_are_equal_element_by_element():
    keys = {Again(): 1}
    binding = Binding("keys", keys, None, (*keys,))
    assert binding.holds()
    assert not Binding("keys", {Again(): 1}, None, (*keys,)).holds()
    assert Binding("keys", {1: 0}, None, (True,)).holds()


@pytest.mark.parametrize(
    ("found", "value", "expected"),
    [
        (1, 1, True), (10**30, 10**30, True), (1, True, False), (1, 1.0, False), (0.0, -0.0, False),
        (float("nan"), float("nan"), True), ("ab", "".join("ab"), True), (b"a", "a", False),
        (np.float64(2), np.float64(2), True), (np.float64(2), np.float32(2), False), ((), (), True),
        ((1, (2.5, "a")), (1, (2.5, "a")), True), ((1, (2.5, "a")), (1, (2.5, "b")), False),
        ((1, [2]), (1, [2]), False), ([], [], False), ({1}, {1}, False), (None, None, True),
        ((Plain,), (*[Plain],), False),
    ],
)  # fmt: skip
def test_numbers_texts_and_tuples_of_them_are_the_same_if_they_are_equal(found, value, expected):
    assert is_same(found, value) is expected


# ---- contents of arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "size", "count"),
    [("f8", 2**13, 2**13), ("f8", 2**13 + 1, 32), ("u1", 2**16, 2**16), ("u1", 2**16 + 1, 32), ("c16", 0, 0)],
)
def test_of_large_arrays_some_elements_are_compared(dtype, size, count):
    array = np.arange(size).astype(dtype)
    part = sampled(array)
    assert part is array if count == size else np.shares_memory(part, array)
    assert count <= part.size <= count + 3
    for content in Arrays([Binding("global", {}, "k", array)]).contents.values():
        assert content.owner.size == part.size
        assert len(content.value) == part.nbytes


LARGE = 2**17
"""Number of doubles from which sums are compared."""


@pytest.mark.parametrize("size", [1, 7, LARGE - 1, LARGE, LARGE + 1, LARGE + 1023, 2 * LARGE - 1])
def test_every_element_of_an_array_that_a_function_closes_over_is_compared(size):
    array = np.random.default_rng(0).normal(size=size)
    arrays = Arrays([Binding("global", {}, "first", array), Binding("global", {}, "second", array)])
    for place in {0, size // 2, min(1023, size - 1), min(1024, size - 1), size - 1}:
        before = array[place]
        array[place] = -before
        assert arrays.changed().key == "second"
        array[place] = before
        assert arrays.changed() is None


@pytest.mark.parametrize("places", [(0, 1), (5, 5 + 1024), (1030, 4099), (LARGE - 1, LARGE + 2)])
def test_elements_that_change_places_are_a_change(places):
    array = np.random.default_rng(0).normal(size=LARGE + 3)
    arrays = Arrays([Binding("global", {}, "k", array)])
    array[[*places]] = array[[*places[::-1]]]
    assert arrays.changed().key == "k"


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T, np.arange(12.0)[::2], np.arange(12).astype("u1")[::-1],
        np.ones((2, 3), bool), np.array(3.0), np.array(["a", "b"]), np.arange(1, 4).astype("M8[D]"),
    ],
)  # fmt: skip
def test_arrays_of_any_layout_and_dtype_are_compared(array):
    arrays = Arrays([Binding("global", {}, "k", array)])
    assert arrays.changed() is None
    assert arrays.contents[id(array)].holds()
    array[...] = np.zeros((), array.dtype)
    assert arrays.changed().key == "k"
    assert not arrays.contents[id(array)].holds()


def test_arrays_without_numbers_are_left_out():
    arrays = [np.zeros(0), np.zeros((3, 0)), np.array([None]), np.zeros(2, [("a", object)])]
    found = Arrays([Binding("global", {}, "k", array) for array in arrays])
    assert not found.contents
    assert found.changed() is None


def test_the_place_of_an_array_is_its_name_and_where_its_elements_lie():
    array = np.arange(6.0)
    views = [array, array[1:], array[::2], array.reshape(2, 3), array.view("i8"), array[:3]]
    contents = [Arrays([Binding("global", {}, "k", view)]).contents[id(view)] for view in views]
    contents.append(Arrays([Binding("global", {}, "other", array)]).contents[id(array)])
    assert len({place_of(content) for content in contents}) == 7
    assert place_of(Arrays([Binding("global", {}, "k", array)]).contents[id(array)]) == place_of(contents[0])


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ([1.0, 2, 3], [4.0, 5, 7], True), ([1.0, 2, 4], [11.0, 12, 14], False),
        ([1.0, 2, 4], [1.5, 3, 6], False), ([1.0, 2, 4], [-1.0, -2, -4], False),
        ([1.0, -2, 4], [-1.0, 2, 4.5], False), ([1.0, 2, 4], [4.0, 1, 2], False),
        ([1.0, 2, 3, 4], [2.0, 9, 4, 8.5], True), ([1.0, 2, 3, 4], [2.0, 9, 4, 3], False),
        ([1.0, 2, 3, 4], [1.0, 9, 8, 5.5], False), ([1.0], [2.0], True), ([1.0], [-1.0], False),
        ([0.0], [-0.0], False), ([1.0], [1.0], False), ([np.nan, 1], [np.nan, 2], False),
        ([np.nan, 1], [5.0, 7], True), ([np.inf, 1], [5.0, 7], True), ([0.0, 0], [3.0, 4], True),
        ([0.0, 0], [4.0, 4], False), ([1.0, 2, 4], [2.0, 3, 5 + 1e-7], False),
        ([1.0, 2, 4], [2.0, 3, 5 + 1e-5], True), ([1, 2, 4], [0, 1, 3], False), ([1, 2, 4], [9, 8, 3], True),
        ([1j, 2], [3, 5j], True), ([1j, 2], [-1, 2j], False), ([1j, 2], [2j, 4], False),
        ([True, False], [False, True], True), ([True, False], [False, False], False),
    ],
)  # fmt: skip
def test_arrays_with_other_numbers_everywhere(before, now, expected):
    """Not the same in another order, with other signs, shifted or scaled."""
    array, now = np.array(before), np.array(now)
    content = Arrays([Binding("global", {}, "k", array)]).contents[id(array)]
    array[:] = now
    assert is_all_new(content) is expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (0.5, True), (1.0, False), (-1.0, False), (np.array([0.0, 1, -1]), False), (np.array([0.0, 2]), True),
        (np.float32(3), True), (5, False), (True, False), (np.arange(5), False), (2j, True), (1j, False),
        (np.array([]), False), (np.nan, True),
    ],
)  # fmt: skip
def test_results_that_would_hardly_be_the_same_by_chance(result, expected):
    assert bool(is_telling(result)) is expected


def test_an_attribute_that_is_looked_up_by_operator_or_builtins_is_that_of_the_class():
    """The tables name what Python itself provides."""
    assert LOOKUPS["has"][1] is hasattr is builtins.hasattr
    assert LOOKUPS["attribute"][1](Plain(), "own") == operator.attrgetter("own")(Plain())
