"""What files of programs may say of numbers, shapes, trees and generators, piece by piece."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.bit_states import state_of, state_size
from tape.core.op import Op
from tape.core.streams import Source
from tape.program.calls import generators
from tape.program.calls.calling import Leaf
from tape.program.files import archive
from tape.program.files.callbacks import PORTABLE, callback_of, is_portable
from tape.program.files.structures import (
    Damaged,
    _bits,
    calling_of,
    generators_of,
    is_short,
    list_of,
    structures_of,
)
from tape.program.files.types import dtype_name, dtype_of, is_index, number_of, shape_of

LEAF = ["leaf"]


def refused(reason):
    return pytest.raises(Damaged, match=reason)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, True), (4, True), (5, False), (-1, False), (True, False), (1.0, False), ("1", False), (None, False)],
)
def test_positions(number, expected):
    assert is_index(number, 5) is expected


def test_shapes_are_lists_of_lengths():
    assert shape_of([]) == ()
    assert shape_of([0, 3, (1 << 40) - 1]) == (0, 3, (1 << 40) - 1)
    for wrong in ([1 << 40], [-1], [1.0], [None], [[1]]):
        with refused("a shape is not a list of lengths"):
            shape_of(wrong)
    for wrong in ((1, 2), None, 3, "12"):
        with refused("a list is missing"):
            shape_of(wrong)


@pytest.mark.parametrize("code", "?bhilqBHILQefdFD")
def test_names_of_dtypes(code):
    dtype = np.dtype(code)
    assert dtype_of(dtype_name(dtype)) == dtype
    assert dtype_name(dtype.newbyteorder(">")) == dtype_name(dtype)
    assert dtype_name(dtype)[0] in "<|"


def test_dtypes_that_are_not_the_same_everywhere():
    for dtype in (np.dtype(object), np.dtype("S3"), np.dtype("M8[s]")):
        with pytest.raises(errors.UnsupportedError, match=r"cannot be saved\. Use float64 instead"):
            dtype_name(dtype)
    for name in (">f8", "f8", "<f8 ", "float64", 8, None, ["<f8"]):
        with refused("no dtype"):
            dtype_of(name)


def test_lists_of_a_length():
    assert list_of([]) == list_of([], 0) == []
    assert list_of([1, 2], 2) == [1, 2]
    for value, length in (((), None), ([1], 0), ([1], 2), ("ab", 2), (None, None), ({}, 0)):
        with refused("a list is missing, or has another length"):
            list_of(value, length)


def test_ints_of_so_many_digits_are_short():
    assert is_short(2**4095 - 1)
    assert not is_short(2**4095)
    assert is_short(-(2**4095 - 1))
    assert not is_short(-(2**4095))
    assert is_short("a" * 5000)
    assert is_short(True)


@pytest.mark.parametrize(
    "entry",
    [
        ["<f8", "00" * 7],
        ["<f8", "00" * 9],
        ["<f4", "00" * 8],
        ["<f8", 0],
        ["<f8", None],
        ["python", None],
        ["python", "1"],
        ["python", [1]],
    ],
)
def test_numbers_that_are_malformed(entry):
    with refused("a number is malformed"):
        number_of(entry)


def test_numbers_that_are_none():
    for entry, reason in (
        (["<f9", "00"], "no dtype"),
        (["python"], "a list is missing"),
        (3, "a list is missing"),
    ):
        with refused(reason):
            number_of(entry)
    assert number_of(["python", True]) is True
    assert number_of(["<f4", "0000803f"]) == np.float32(1)


@pytest.mark.parametrize("name", ["sin", "", None, 3, ["draw"]])
def test_callbacks_that_nobody_has_declared(name):
    with refused("no callback"):
        callback_of([name, [], {}, []])
    with refused("a list is missing"):
        callback_of([name, [], {}])


def test_other_operations_are_not_portable():
    """Nor is the operation itself, of which a program calls back a packed form."""
    tape.random.default_rng(0)
    assert not is_portable(Op(lambda x: x, name="draw"))
    assert not is_portable(PORTABLE["draw"].op)


def call_of(*args, kwargs=()):
    return ["tuple", [["tuple", list(args)], ["dict", [list(item) for item in kwargs]]]]


@pytest.mark.parametrize("ints", [(), (0,), (1,), (0, 1)])
def test_ints_among_the_dynamic_leaves(ints):
    """They are counted without those that are fixed."""
    trees = [call_of(["fixed", 3], LEAF, ["fixed", "a"], LEAF), ["tuple", [LEAF]]]
    calling = calling_of(trees, 2, 1, (), frozenset(ints))
    assert calling.arguments.ints == {(1, 3)[k] for k in ints}
    assert calling.arguments.fixed == {0: 3, 2: "a"}
    assert structures_of(calling) == trees
    assert archive._dynamic_ints(calling.arguments) == list(ints)


STATES = ["tuple", [LEAF]]
TAKES = [call_of(LEAF, ["generator", 0], kwargs=[("?", STATES)]), ["tuple", [LEAF, STATES]]]


def of_states(trees, leaves, states=(None,), kinds=("PCG64",), results=2):
    """The generators of a program with these trees, whose keyword is that of the states."""
    named = [_renamed(part) for part in trees]
    calling = calling_of(named, len(leaves), results, (), frozenset(), kinds)
    return generators_of(calling, kinds, states, leaves)


def _renamed(branch):
    if isinstance(branch, list):
        return [_renamed(part) for part in branch]
    return generators.STATES if branch == "?" else branch


NUMBER = Leaf(float, (), np.dtype(float))
STATE = Leaf(np.ndarray, (state_size("PCG64"),), np.dtype(np.int64))


def test_generators_of_files_are_of_any_type_and_closed_over_by_none():
    trees = [call_of(LEAF, ["generator", 1]), LEAF]
    (one,) = calling_of(trees, 1, 1, (), frozenset(), ("PCG64", "Philox")).arguments.fixed.values()
    assert (one.number, one.kind, one.type, one.is_closed_over) == (1, "Philox", Source, False)


def test_generators_that_are_arguments_and_those_that_are_not():
    found = of_states(TAKES, [NUMBER, STATE])
    assert list(found.kinds) == ["PCG64"]
    state = state_of(np.random.PCG64(3))
    closed = [call_of(LEAF, kwargs=[("?", STATES)]), ["tuple", [LEAF, STATES]]]
    found = of_states(closed, [NUMBER, STATE], [state])
    np.testing.assert_array_equal(found.states()[0], state)
    assert of_states([call_of(LEAF), ["tuple", [LEAF]]], [NUMBER], (), (), 1) is None


FLOATS = Leaf(np.ndarray, STATE.shape, np.dtype(float))
SHORT = Leaf(np.ndarray, (3,), np.dtype(np.int64))
OTHER = Leaf(np.ndarray, (state_size("MT19937"),), np.dtype(np.int64))
WRONG = {
    "no states": ([call_of(LEAF, ["generator", 0], LEAF), TAKES[1]], [NUMBER, STATE], "are missing"),
    "states in a list": (
        [call_of(LEAF, ["generator", 0], kwargs=[("?", ["list", [LEAF]])]), TAKES[1]], [NUMBER, STATE],
        "are missing"),
    "two states": (
        [call_of(["generator", 0], kwargs=[("?", ["tuple", [LEAF, LEAF]])]), TAKES[1]], [STATE, STATE],
        "are missing"),
    "a state that is a tree": (
        [call_of(LEAF, ["generator", 0], kwargs=[("?", ["tuple", [["list", [LEAF]]]])]), TAKES[1]],
        [NUMBER, STATE], "are missing"),
    "a fixed state": (
        [call_of(LEAF, LEAF, ["generator", 0], kwargs=[("?", ["tuple", [["fixed", 1]]])]), TAKES[1]],
        [NUMBER, STATE], "are missing"),
    "of floats": (TAKES, [NUMBER, FLOATS], "another type than its leaf"),
    "too short": (TAKES, [NUMBER, SHORT], "another type than its leaf"),
    "of another kind": (TAKES, [NUMBER, OTHER], "another type than its leaf"),
    "in another place": (TAKES, [STATE, NUMBER], "another type than its leaf"),
    "a result without states": ([TAKES[0], ["tuple", [LEAF, LEAF]]], [NUMBER, STATE], "has no states"),
    "a result that is a list": ([TAKES[0], ["list", [LEAF, STATES]]], [NUMBER, STATE], "has no states"),
    "a result of three": (
        [TAKES[0], ["tuple", [STATES, STATES, ["none"]]]], [NUMBER, STATE], "has no states"),
    "a result of two states": (
        [TAKES[0], ["tuple", [["none"], ["tuple", [LEAF, LEAF]]]]], [NUMBER, STATE], "has no states"),
    "no such generator": (
        [call_of(LEAF, ["generator", 1], kwargs=[("?", STATES)]), TAKES[1]], [NUMBER, STATE],
        "there is no such generator"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_generators_that_nobody_has_saved_are_refused(name):
    trees, leaves, reason = WRONG[name]
    with refused(reason):
        of_states(trees, leaves)


def test_a_generator_is_either_an_argument_or_has_a_state():
    closed = [call_of(LEAF, kwargs=[("?", STATES)]), TAKES[1]]
    with refused("neither an argument nor has it a state"):
        of_states(closed, [NUMBER, STATE])
    with refused("neither an argument nor has it a state"):
        of_states(TAKES, [NUMBER, STATE], [state_of(np.random.PCG64(3))])


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_bit_generators_of_a_state(kind):
    bits = getattr(np.random, kind)(5)
    bits.random_raw(3)
    made = _bits(kind, state_of(bits))
    assert type(made) is type(bits)
    assert made.random_raw() == bits.random_raw()


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (["array", "<f8", [2, 3]], np.ndarray),
        (["array", "|b1", []], np.ndarray),
        (["float", "<f8", []], float),
        (["scalar", "<f8", []], np.float64),
        (["scalar", "<i4", []], np.int32),
    ],
)
def test_leaves_of_arguments(entry, kind):
    leaf = archive._leaf(entry)
    assert (leaf.kind, [*leaf.shape], dtype_name(leaf.dtype)) == (kind, entry[2], entry[1])
    assert archive._leaf_name(leaf) == entry[0]
