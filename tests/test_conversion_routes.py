"""Conversions between dtypes in programs: the dtypes that numbers pass on their way, and what they become."""

from itertools import product

import numpy as np
import pytest

from tape.kernels.codes import CAST_CODES, has_cast
from tape.program.calls.integers import Integers, covers
from tape.program.calls.statics import Form
from tape.program.ir.conversions import route
from tape.program.ir.promotion import broadcast_shapes, loop_dtypes
from tape.program.ir.values import CannotLower
from tape.tree import flatten

REAL = [dtype for dtype in map(np.dtype, "?bhilBHILefd") if dtype in CAST_CODES]
NUMBERS = {
    "b": [False, True], "i": [0, 1, -1, 5, -100, 127], "u": [0, 1, 5, 100, 255],
    "f": [0.0, -0.0, 1.5, -2.75, 100.0, 1 / 3],
}  # fmt: skip


@pytest.mark.parametrize("source", REAL, ids=str)
def test_every_way_from_one_dtype_to_another_is_one_of_steps_that_there_are(source):
    for target in REAL:
        steps = route(source, target)
        assert steps[-1] == target
        assert len(steps) == 1 if has_cast(source, target) else 1 < len(steps) <= 3
        for before, after in zip((source, *steps), steps, strict=False):
            assert has_cast(before, after)
        numbers = np.array(NUMBERS[source.kind]).astype(source)
        if source.kind in "if" and target.kind in "bu":
            numbers = abs(numbers)  # others become what the processor makes of them
        found = numbers
        for step in steps:
            found = found.astype(step)
        np.testing.assert_array_equal(found, numbers.astype(target))
        np.testing.assert_array_equal(np.signbit(found * 1.0), np.signbit(numbers.astype(target) * 1.0))


def test_large_integers_are_rounded_as_numpy_rounds_them():
    for source, target in product(map(np.dtype, "ilIL"), map(np.dtype, "efd")):
        info = np.iinfo(source)
        numbers = np.array([info.max, info.max - 1, info.min, 2**24 + 1, 2049, 65519, 65520], source)
        found = numbers
        with np.errstate(over="ignore"):
            for step in route(source, target):
                found = found.astype(step)
            np.testing.assert_array_equal(found, numbers.astype(target), err_msg=f"{source} {target}")


@pytest.mark.parametrize(
    ("source", "target"), [("c16", "f8"), ("f8", "c16"), ("g", "f8"), ("f8", "U3"), ("f8", "O")]
)
def test_there_is_no_way_to_other_dtypes(source, target):
    with pytest.raises(CannotLower, match="there is no conversion from"):
        route(np.dtype(source), np.dtype(target))


def test_dtypes_of_loops_and_shapes_are_those_of_numpy():
    for name, kinds, expected in (
        ("add", ("f4", "i8"), "ddd"), ("add", ("f4", float), "fff"), ("add", ("i4", int), "iii"),
        ("divide", ("i4", "i4"), "ddd"), ("less", ("f4", "f8"), "dd?"),
        ("sin", ("f2",), "ee"), ("sin", ("i1",), "ee"), ("multiply", ("?", "?"), "???"),
    ):  # fmt: skip
        given = tuple(np.dtype(kind) if isinstance(kind, str) else kind for kind in kinds)
        assert "".join(dtype.char for dtype in loop_dtypes(name, given)) == expected
    with pytest.raises(CannotLower):
        loop_dtypes("subtract", (np.dtype(bool), np.dtype(bool)))
    assert broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    with pytest.raises(CannotLower):
        broadcast_shapes((2,), (3,))


# ---- ints among arguments ----------------------------------------------------------------------------------


def form(*ints, more=2.5):
    return Form(flatten(((more, *ints), {}))[1], {k + 1: value for k, value in enumerate(ints)})


def data(integers, *ints):
    return sorted(integers.form_of(form(*ints)).ints)


def test_ints_are_data_from_the_second_value_on():
    integers = Integers()
    assert data(integers, 3, 7) == data(integers, 3, 7) == []
    assert data(integers, 4, 7) == [1]
    assert data(integers, 3, 7) == [1]
    assert data(integers, 3, 8) == [1, 2]
    assert data(integers, 3) == []  # of another structure
    assert data(integers, 2**31, 7) == [2]
    assert data(integers, 5, True) == []  # a bool is none: another structure of ints
    integers.keep_static(integers.form_of(form(3, 8)), frozenset({2}))
    assert data(integers, 5, 9) == [1]
    integers.make_data(integers.form_of(form(5, 9)), frozenset({2}))
    assert data(integers, 5, 9) == [1, 2]
    assert integers.form_of(form()) == form()


def test_a_form_covers_others_whose_ints_are_its_data():
    general = form(3, 7).with_ints(frozenset({1}))
    assert covers(general, form(5, 7))
    assert covers(general, form(-5, 7))
    assert not covers(general, form(5, 8))
    assert not covers(general, form(2**31, 7))
    assert not covers(general, form(5, 7, 9))
    assert covers(form(3, 7), form(3, 7))
    assert not covers(form(3, 7), form(4, 7))
