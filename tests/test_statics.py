"""What a program is for: order and types of keys, and static values that are equal but not the same."""

import datetime
import enum
import gc
import math
import random
import time
import warnings
import weakref
import zlib
from array import array
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st

import tape
from tape import errors, tree
from tape.program import kinds
from tape.program.calls.shortcuts import taker
from tape.program.calls.statics import Form, key_of
from tests.tiers import rounds

Point = namedtuple("Point", "x y")


class Name(enum.StrEnum):
    A = "a"


class Text(str):
    """A string with attributes."""


class Version:
    """Compares by value, in its own words."""

    def __init__(self, number, label=""):
        self.number, self.label = number, label

    def __eq__(self, other):
        return isinstance(other, Version) and self.number == other.number

    def __hash__(self):
        return hash(self.number)


class Slotted:
    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Slotted) and self.number == other.number

    def __hash__(self):
        return hash(self.number)

    def __repr__(self):
        return f"Slotted({self.number!r})"


class Optional:
    """A value that may have no ``b``, and equals all others."""

    __slots__ = ("a", "b", "c")

    def __init__(self, **given):
        for name, value in given.items():
            setattr(self, name, value)

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def subclass_of(base):
    """A class of values that have the data of a base, and an attribute."""

    def __eq__(self, other):
        return True

    made = type(f"My{base.__name__}", (base,), {"__eq__": __eq__, "__hash__": lambda self: 0})

    def make(data, label=None):
        value = base.__new__(made, data)
        value.label = label
        return value

    return make


SUBCLASSES = {
    bytes: (b"", b"a", b"ab", b"ba"),
    str: ("", "a", "ab", "ba"),
    tuple: ((), (1,), (1, 2), (2, 1), (1.0, 2)),
    frozenset: (frozenset(), frozenset({1}), frozenset({1.0}), frozenset({1, 2})),
    int: (0, 1, 2, -1, 10**30),
    float: (0.0, -0.0, 1.0, 2.0),
    complex: (0j, complex(-0.0, 0.0), complex(0.0, -0.0), 1j, 1 + 0j),
}


class Plain:
    def method(self):
        return 1


@dataclass
class Layer:
    w: Any
    scale: Any = field(default=0.0, metadata={"static": True})


def labelled(text, label):
    text = Text(text)
    text.label = label
    return text


def tagged(kind, tag):
    return np.dtype(kind, metadata={"tag": tag})


NAN = float("nan")
PLAIN = Plain()
ZONES = [datetime.timezone(datetime.timedelta(hours=1), name) for name in ("A", "B")]

# Each line: values that are equal, or that compare by identity, and that Python code can tell apart.
FAMILIES = [
    [frozenset({2}), frozenset({2.0}), frozenset({2 + 0j}), frozenset({np.float64(2)})],
    [frozenset([0, 8]), frozenset([8, 0])],  # in different orders
    [1, True],
    ["a", Name.A, np.str_("a"), Text("a"), labelled("a", 1), labelled("a", 2)],
    [b"a", np.bytes_(b"a")],
    [Decimal("1.0"), Decimal("1.00"), Decimal("1")],
    [Decimal("0"), Decimal("-0")],
    [range(0), range(1, 1), range(2, 0)],
    [slice(1), slice(1.0), slice(True), slice(None)],
    [np.dtype("l"), np.dtype("q")],
    [tagged("f8", 1), tagged("f8", 2), np.dtype("f8")],
    [Version(1, "a"), Version(1, "b"), Version(1.0, "a")],
    [Slotted(0.0), Slotted(-0.0), Slotted(0)],
    [Optional(a=1), Optional(a=1, b=None), Optional(a=1, c=3), Optional(a=1, b=2, c=3), Optional(b=1)],
    [PLAIN.method, Plain().method],
    [Plain(), Plain()],
    [datetime.time(1), datetime.time(1, fold=1)],
    [datetime.datetime(2020, 1, 1, tzinfo=zone) for zone in ZONES],  # the offset is one
    [datetime.time(1, tzinfo=zone) for zone in ZONES],
    [np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00")],
    [np.add, np.subtract],
    [int, float],
]

# Values that cannot be told apart, made anew at each call.
TWINS = [
    lambda: frozenset({(NAN,)}),
    lambda: frozenset([float("nan")]),
    lambda: Decimal("nan"),
    lambda: Decimal("1.50"),
    lambda: Fraction(1, 3),
    lambda: 10**30,
    lambda: "".join(["ab", "c"]),
    lambda: np.str_("abc"),
    lambda: np.datetime64("NaT", "s"),
    lambda: np.dtype([("x", "f8"), ("y", "i4")]),
    lambda: range(3, 7),
    lambda: slice(0, 3, None),
    lambda: complex,
    lambda: Name("a"),
    lambda: Version(float("nan"), ["a", {"b": -0.0}]),
    lambda: Slotted(("a", 1.5)),
    lambda: Optional(a=1, c=("x", 2.0)),
    lambda: labelled("a", 1),
    lambda: PLAIN.method,
    lambda: {}.get.__self__.__class__.get,
    lambda: datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    lambda: PurePosixPath("/a") / "b",
]


# ---- keys of values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family[0]).__name__)
def test_what_python_can_tell_apart_has_different_keys(family):
    keys = [key_of(value) for value in family]
    assert len(set(keys)) == len(family)
    assert [key_of(value) for value in family] == keys
    for wrapped in (lambda v: (v,), lambda v: [v], lambda v: {"k": v}, lambda v: deque([v])):
        assert len({key_of(wrapped(value)) for value in family}) == len(family)


def test_members_of_enumerations_and_classes_are_told_apart_though_they_are_equal():
    """As those are that are numbers or text, and those whose kind says so."""
    kinds = [
        enum.IntEnum("A", ["x"]),
        enum.IntEnum("B", ["x"]),
        enum.StrEnum("C", ["x"]),
        enum.StrEnum("D", ["x"]),
    ]
    members = [kind.x for kind in kinds]
    assert members[0] == members[1] == 1
    assert members[2] == members[3] == "x"
    equal = type("Equal", (type,), {"__eq__": lambda self, other: True, "__hash__": lambda self: 0})
    classes = [equal("E", (), {}), equal("F", (), {})]
    assert classes[0] == classes[1]
    values = [*members, *classes, 1, "x"]
    assert len({key_of(value) for value in values}) == len(values)
    assert [key_of(value) for value in values] == [key_of(value) for value in values]


@pytest.mark.parametrize("make", TWINS)
def test_what_python_cannot_tell_apart_has_one_key(make):
    assert key_of(make()) == key_of(make())
    assert hash(key_of(make())) == hash(key_of(make()))


@pytest.mark.parametrize("base", SUBCLASSES)
def test_instances_of_subclasses_are_told_apart_by_data_and_attributes(base):
    make, data = subclass_of(base), SUBCLASSES[base]
    values = [make(one, label) for one in data for label in (None, 1, 1.0)]
    keys = [key_of(value) for value in values]
    assert len(set(keys)) == len(values)
    assert keys == [key_of(make(one, label)) for one in data for label in (None, 1, 1.0)]
    assert set(keys).isdisjoint([key_of(one) for one in data])
    assert set(keys).isdisjoint([key_of(subclass_of(base)(one)) for one in data])  # of another class


@given_by(st.floats(), st.floats())
def test_floats_inside_of_statics_are_told_apart_by_their_bits(a, b):
    is_same = np.float64(a).tobytes() == np.float64(b).tobytes()
    assert (key_of((a,)) == key_of((b,))) is is_same
    assert (key_of(complex(a, b)) == key_of(complex(b, a))) is is_same


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ([1.0], lambda v: v.append(2)),
        ({"a": 1}, lambda v: v.update(a=1.0)),
        ({1}, lambda v: v.add(2)),
        (bytearray(b"a"), lambda v: v.extend(b"b")),
        (deque([1]), lambda v: v.append(2)),
        (array("d", [0.0]), lambda v: v.__setitem__(0, -0.0)),
        (np.zeros(3), lambda v: v.__setitem__(0, -0.0)),
        (np.array([0.0, None]), lambda v: v.__setitem__(0, -0.0)),
        (Version(1, [1]), lambda v: v.label.append(2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_key_of_what_can_change_is_that_of_its_content_now(value, change):
    before = key_of(value)
    assert key_of(value) == before
    change(value)
    assert key_of(value) != before


def test_keys_hold_on_to_what_they_know_by_identity():
    value = Plain()
    reference = weakref.ref(value)
    key = key_of(value)
    del value
    gc.collect()
    assert reference() is not None  # or another object at its address would have its key
    del key
    gc.collect()
    assert reference() is None


def test_what_can_change_and_hides_its_content_is_refused():
    class Hidden(array):
        __hash__ = None

    with pytest.raises(errors.UnsupportedError, match="cannot be hashed"):
        key_of(memoryview(bytearray(3)))
    with pytest.raises(errors.UnsupportedError, match="cannot be hashed"):
        key_of(Hidden("d", [1.0]))


# ---- static arguments ----------------------------------------------------------------------------------


def seen(value):
    """A number that is another one for all that Python code can tell apart."""
    parts = [
        type(value).__name__,
        repr(value),
        str(getattr(value, "label", "")),
        str(getattr(value, "num", "")),
    ]
    if isinstance(value, Version):
        parts += [repr(value.number)]
    if isinstance(value, np.dtype):
        parts += [repr(value.metadata)]
    if isinstance(value, frozenset):
        parts += [repr(list(value))]
    return float(zlib.crc32("".join(parts).encode()) % 1000)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family[0]).__name__)
def test_statics_that_are_equal_but_not_the_same_have_programs_of_their_own(family):
    def f(x, *s, **k):
        return x * sum(seen(v) for v in (*s, *k.values()))

    compiled = tape.compile(f)
    for value in (*family, *family[::-1], *family):
        assert compiled(2.0, value) == f(2.0, value)
        assert compiled(2.0, key=value) == f(2.0, key=value)
    assert len(compiled.programs) == 2 * len(family)


@pytest.mark.parametrize("make", TWINS)
def test_statics_that_are_made_anew_share_a_program(make):
    compiled = tape.compile(lambda x, s: 2 * x)
    for _ in range(3):
        assert compiled(1.0, make()) == 2
    assert len(compiled.programs) == 1


def test_examples_of_statics_that_are_equal_but_not_the_same():
    compiled = tape.compile(lambda x, s: x * (1 if type(next(iter(s))) is int else -1))
    assert [compiled(1.0, s) for s in (frozenset({2}), frozenset({2.0}))] == [1.0, -1.0]
    compiled = tape.compile(lambda layer: layer.w * math.copysign(1, layer.scale))
    assert [compiled(Layer(1.0, z)) for z in (0.0, -0.0, NAN, float("nan"))] == [1.0, -1.0, 1.0, 1.0]
    assert len(compiled.programs) == 3
    compiled = tape.compile(lambda d: d[1] * (1 if type(next(iter(d))) is int else -1))
    assert [compiled({k: 1.0}) for k in (1, 1.0, True, 1)] == [1.0, -1.0, -1.0, 1.0]
    compiled = tape.compile(lambda x, s: x * len(str(s)))
    assert [compiled(1.0, Decimal(s)) for s in ("1.0", "1.00")] == [3.0, 4.0]


@pytest.mark.parametrize("value", [[1.0], {"a": 1}, np.ones(2), bytearray(b"a"), {1, 2}], ids=repr)
def test_static_field_that_is_changed_in_place_makes_another_program(value):
    compiled = tape.compile(lambda layer: layer.w * len(repr(layer.scale)))
    layer = Layer(1.0, value)
    calls = [len(repr(value))]
    assert compiled(layer) == calls[0]
    if isinstance(value, (list, bytearray)):
        value.append(2)
    elif isinstance(value, np.ndarray):
        value[0] = 0.25
    elif isinstance(value, dict):
        value["b"] = 2
    else:
        value.add(3)
    for _ in range(3):
        assert compiled(layer) == len(repr(value)) != calls[0]
    assert len(compiled.programs) == 2


def test_static_list_that_the_function_changes_is_seen_in_the_next_call():
    def f(layer):
        layer.scale.append(1)
        return layer.w * len(layer.scale)

    compiled, layer = tape.compile(f), Layer(1.0, [])
    with pytest.warns(errors.NotCompiledWarning, match="among its arguments"):
        assert compiled(layer) == 1.0
    assert [compiled(layer) for _ in range(3)] == [2.0, 3.0, 4.0]


def test_kinds_of_arguments_are_limited_with_a_warning(monkeypatch):
    monkeypatch.setattr(kinds, "_MAX_KINDS", 5)
    compiled = tape.compile(lambda x, n: x * len(range(n)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [compiled(2.0, n) for n in range(5)] == [2.0 * n for n in range(5)]
    with pytest.warns(errors.PathLimitWarning, match=r"5 kinds.*\(int\).*as floats or arrays") as caught:
        assert [compiled(2.0, n) for n in range(12)] == [2.0 * n for n in range(12)]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert len(compiled.programs) == 5


# ---- order and types of keys ---------------------------------------------------------------------------

DICTS = [dict, OrderedDict, lambda items: defaultdict(float, items)]


@pytest.mark.parametrize("make", DICTS, ids=["dict", "OrderedDict", "defaultdict"])
def test_order_of_keys_is_part_of_what_a_program_is_for(make):
    first = tape.compile(lambda d: list(d.values())[0])  # noqa: RUF015
    for order in ("ab", "ba", "ba", "ab"):
        given = make({key: float(ord(key)) for key in order})
        assert first(given) == ord(order[0])
    (ab, ba) = first.programs
    assert ab != ba
    assert len(first.programs) == 2


def test_order_of_keyword_arguments_is_part_of_what_a_program_is_for():
    first = tape.compile(lambda **d: list(d.values())[0])  # noqa: RUF015
    for order in ("ab", "ba", "ba", "ab"):
        assert first(**{key: float(ord(key)) for key in order}) == ord(order[0])


@pytest.mark.parametrize("make", DICTS, ids=["dict", "OrderedDict", "defaultdict"])
def test_results_come_back_in_the_order_that_the_function_made(make):
    compiled = tape.compile(
        lambda d: (make({k: 2 * v for k, v in d.items()}), [make({"z": d["a"], "y": d["b"]})])
    )
    for order in ("ab", "ba", "ab"):
        doubled, (fixed,) = compiled(make({key: np.ones(2) for key in order}))
        assert list(doubled) == list(order)
        assert list(fixed) == ["z", "y"]
        assert type(doubled) is type(make({}))


@pytest.mark.parametrize("transform", [tape.grad, tape.jacobian, tape.hessian, tape.elementwise_grad])
def test_derivatives_come_back_in_the_order_of_the_argument(transform):
    def f(d):
        return np.sum(d["a"] ** 2 * d["b"])

    g, compiled = transform(f), tape.compile(transform(f))
    for order in ("ab", "ba", "ab"):
        given = {key: np.array(float(ord(key))) for key in order}
        assert list(g(given)) == list(compiled(given)) == list(order)


def test_keys_that_are_equal_but_not_the_same_object_fit():
    compiled = tape.compile(lambda d: d["a key"] * 2)
    for _ in range(3):
        assert compiled({" ".join(["a", "key"]): 1.5}) == 3.0
    assert len(compiled.programs) == 1


def test_program_refuses_keys_in_another_order_or_of_another_type(tmp_path):
    compiled = tape.compile(lambda d, n: list(d.values())[0] * n)  # noqa: RUF015
    compiled({"a": 1.0, "b": 2.0}, 3)
    (program,) = compiled.programs.values()
    program.save(tmp_path / "f.tape")
    for held in (program, tape.load(tmp_path / "f.tape")):
        assert held({"a": 5.0, "b": 2.0}, 3) == 15.0
        for given in ({"b": 2.0, "a": 5.0}, {Name.A: 5.0, "b": 2.0}):
            with pytest.raises(errors.OptionError, match="keys differ in order or type"):
                held(given, 3)
        with pytest.raises(errors.OptionError, match="is True, and this program is for 3 only"):
            held({"a": 5.0, "b": 2.0}, True)


# ---- any tree ------------------------------------------------------------------------------------------

STATICS = [value for family in FAMILIES for value in family]
KEYS = ["a", "b", 1, 1.0, True, Name.A, np.str_("b"), (0.0,), (-0.0,), Text("b")]


def any_tree(rng, depth=3):
    """A random tree with floats and statics as leaves."""
    kind = rng.randrange(9 if depth else 3)
    parts = [any_tree(rng, depth - 1) for _ in range(rng.randrange(3))] if 2 < kind < 5 else []
    if kind == 0:
        return None
    if kind == 1:
        return rng.choice(STATICS)
    if kind == 2:
        return rng.random()
    if kind in (3, 4):
        return tuple(parts) if kind == 3 else parts
    if kind in (5, 6):
        values = [any_tree(rng, depth - 1) for _ in range(3)]
        return rng.choice(DICTS)(dict(zip(rng.sample(KEYS, 3), values, strict=True)))
    if kind == 7:
        return Point(any_tree(rng, depth - 1), any_tree(rng, depth - 1))
    return Layer(any_tree(rng, depth - 1), rng.choice([*STATICS, 0.0, -0.0, [1], [1.0]]))


def altered(rng, branch):
    """The same tree, with one thing in it that is equal but not the same, or in another order."""
    if isinstance(branch, dict):
        keys = [rng.choice([k for k in KEYS if k == key]) if rng.random() < 0.3 else key for key in branch]
        values = [altered(rng, value) if rng.random() < 0.5 else value for value in branch.values()]
        items = list(zip(keys, values, strict=True))
        if rng.random() < 0.5:
            rng.shuffle(items)
        found = defaultdict(branch.default_factory) if isinstance(branch, defaultdict) else type(branch)()
        found.update(items)
        return found
    if isinstance(branch, Point):
        return Point(altered(rng, branch.x), branch.y)
    if type(branch) in (tuple, list):
        return type(branch)(altered(rng, part) for part in branch)
    if isinstance(branch, Layer):
        return Layer(altered(rng, branch.w), other_static(rng, branch.scale))
    if type(branch) is float or branch is None:
        return branch
    return other_static(rng, branch)


def other_static(rng, value):
    families = [f for f in [*FAMILIES, [0.0, -0.0], [[1], [1.0]]] if any(v is value for v in f)]
    return rng.choice(families[0]) if families else value


def reading(branch, path=""):
    """A number and a list of all that is there, in its order: what a function can see of a tree."""
    if isinstance(branch, dict):
        path += type(branch).__name__
        parts = [(f"{path}{type(key)}{key!r}", value) for key, value in branch.items()]
    elif isinstance(branch, (tuple, list)):
        path += type(branch).__name__
        parts = [(f"{path}{k}", part) for k, part in enumerate(branch)]
    elif isinstance(branch, Layer):
        path += str(seen(branch.scale))
        parts = [(f"{path}w", branch.w)]
    elif branch is None or not isinstance(branch, (float, np.ndarray, tape.Var)):
        return seen(branch) + zlib.crc32(path.encode()) % 97
    else:
        return branch * (1 + zlib.crc32(path.encode()) % 89)
    total = zlib.crc32(path.encode()) % 83
    for k, (name, part) in enumerate(parts):
        total = total + (k + 1) * reading(part, name)
    return total


@pytest.mark.parametrize("seed", range(rounds(60)))
def test_function_that_reads_all_there_is_in_a_tree_is_never_mistaken(seed):
    rng = random.Random(seed)

    def f(*args, **kwargs):
        return reading(args) + reading(kwargs)

    compiled = tape.compile(f)
    given = [any_tree(rng)]
    for _ in range(5):
        given.append(altered(rng, rng.choice(given)))
    for one in (*given, *given[::-1]):
        assert compiled(0.5, one) == pytest.approx(f(0.5, one), rel=1e-12)
        assert compiled(0.5, key=one) == pytest.approx(f(0.5, key=one), rel=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_made_for_a_form_takes_what_has_this_form_only(seed):
    rng = random.Random(seed)
    args, kwargs = (any_tree(rng), any_tree(rng)), {"a": any_tree(rng), "b": any_tree(rng)}
    take, (wanted, _) = taker(formed((args, kwargs))[0]), formed((args, kwargs))
    for _ in range(10):
        others = tuple(altered(rng, arg) for arg in args), {k: altered(rng, v) for k, v in kwargs.items()}
        found, leaves = formed(others)
        assert take(*others) == (leaves if found == wanted else None)
    assert take(args, kwargs) == formed((args, kwargs))[1]
    assert take(args[:1], kwargs) is take((*args, 1.0), kwargs) is take(args, {}) is None
    assert take(args, {**kwargs, "c": 1.0}) is None


@pytest.mark.parametrize("wrap", [deque, lambda parts: time.struct_time([*parts, *[0] * 6])])
def test_what_is_made_for_trees_of_other_branches(wrap):
    """Those that no code is generated for."""
    args = (wrap([1.0, "a", 2.0]), 3.0), {"b": wrap([4.0, 5, 6.0])}
    assert not tree.is_plain(tree.flatten(args)[1])
    form, leaves = formed(args)
    take = taker(form)
    assert take(*args) == leaves == (1.0, 2.0, 3.0, 4.0, 6.0)
    assert take((wrap([7.0, "a", 8.0]), 9.0), {"b": wrap([0.5, 5, 1.5])}) == (7.0, 8.0, 9.0, 0.5, 1.5)
    for other in (wrap([1.0, "b", 2.0]), [1.0, "a", 2.0], 1.0):
        assert take((other, 3.0), args[1]) is None
    assert take(args[0], {"b": wrap([4.0, 6, 6.0])}) is None
    (place,) = [k for k, value in form.fixed.items() if value == 5]
    with_int = taker(form.with_ints(frozenset({place})))
    assert with_int(args[0], {"b": wrap([4.0, 7, 6.0])}) == (1.0, 2.0, 3.0, 4.0, 7, 6.0)
    for other in (2**31, 7.0, True):
        assert with_int(args[0], {"b": wrap([4.0, other, 6.0])}) is None


def formed(arguments):
    leaves, structure = tree.flatten(arguments)
    fixed = {k: leaf for k, leaf in enumerate(leaves) if type(leaf) is not float}
    return Form(structure, fixed), tuple(leaf for leaf in leaves if type(leaf) is float)


# ---- deep and odd trees --------------------------------------------------------------------------------


def nested(value, levels, wrap=lambda v: (v,)):
    for _ in range(levels):
        value = wrap(value)
    return value


def innermost(value):
    while isinstance(value, (tuple, list, dict)):
        (value,) = value.values() if isinstance(value, dict) else value
    return value


WRAPS = [lambda v: (v,), lambda v: [v], lambda v: {"k": v}]


@pytest.mark.parametrize("wrap", WRAPS, ids=["tuple", "list", "dict"])
@pytest.mark.parametrize("levels", [49, 50, 51, 199, 201, 250])
def test_deeply_nested_arguments_and_results(levels, wrap):
    compiled = tape.compile(lambda x: nested(2 * innermost(x), levels, wrap))
    for number in (1.0, 2.0, 3.0):
        assert compiled(nested(number, levels, wrap)) == nested(2 * number, levels, wrap)


def test_too_many_levels_are_an_error():
    compiled = tape.compile(lambda x: 2 * innermost(x))
    for levels in (300, 350):  # beyond what code is written down for
        assert [compiled(nested(number, levels)) for number in (1.0, 2.0)] == [2.0, 4.0]
    for levels in (2000, 10**5):
        for call in (compiled, tape.grad(innermost)):
            with pytest.raises(errors.UnsupportedError, match="nested more deeply"):
                call(nested(1.0, levels))


@pytest.mark.parametrize("length", [3, None])
def test_trees_without_code_of_their_own_are_taken_apart_all_the_same(length):
    def f(queue, *, n):
        return queue[0] * (queue.maxlen or 1) * n

    compiled = tape.compile(f)
    for maxlen in (length, 7, length):
        for n in (2, 3):
            assert compiled(deque([1.5], maxlen=maxlen), n=n) == f(deque([1.5], maxlen=maxlen), n=n)
