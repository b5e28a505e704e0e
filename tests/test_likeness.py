"""Which static arguments, constants and values count as one and the same."""

import math

import numpy as np

import tape
from tape.transforms.loops.likeness import Hashable, Same, are_equal, are_same

# ---- static arguments and constants --------------------------------------------------------------------

NUMBERS = [
    0, 1, True, False, 0.0, -0.0, 1.0, math.nan, math.inf, 0j, -0j, 1 + 0j, np.float64(1.0), np.float32(1.0),
    np.float64(0.0), np.float64(-0.0), np.int64(1), np.int32(1), np.bool_(True), np.complex128(1.0),
]  # fmt: skip
ARGUMENTS = [
    *NUMBERS, None, "1", "", int, float, np.dtype("f8"), np.dtype("f4"), (), (1,), (1.0,), (True,), ((1,),),
    (1, 2), (2, 1), slice(None), slice(1), slice(1, None), slice(None, None, 1), slice(1.0),
    slice(None, 1, -1), (slice(None), 1), (slice(1), 1), object(), [1], np.ones(1), np.ones(1), len, {"a": 1},
]  # fmt: skip


def copied(value):
    """An equal number that is another object; anything else itself."""
    if isinstance(value, (tuple, list)) and value:
        return type(value)([copied(item) for item in value])
    if type(value) in (float, complex):
        return type(value)(str(value))
    return type(value)(value) if isinstance(value, np.generic) else value


def pairs(values):
    return [(i, j, a, copied(b)) for i, a in enumerate(values) for j, b in enumerate(values)]


def test_static_arguments_are_one_if_types_and_bits_are():
    for i, j, a, b in pairs(ARGUMENTS):
        is_one = i == j and (a is b or not isinstance(a, list))
        assert (Hashable(a) == Hashable(b)) == is_one, (a, b)
        if is_one:
            assert hash(Hashable(a)) == hash(Hashable(b))


def test_static_arguments_equal_nothing_else():
    assert Hashable(1) != 1
    assert Hashable(1) != Same(1)
    x = object()
    assert Same(x) != x
    assert Same(x) == Same(x) != Same(object())


def test_static_arguments_of_another_kind_are_kept():
    """Another object could have the place of one that is gone, and would be taken for it."""
    alive = []

    class Mark:
        def __del__(self):
            alive.remove(self.number)

        def __init__(self, number):
            self.number = number
            alive.append(number)

    held = Hashable((Mark(1), 2))
    assert alive == [1]
    del held
    assert alive == []


def test_constants_are_one_if_types_and_bits_are():
    for i, j, a, b in pairs(NUMBERS):
        assert are_same(a, b) == (i == j), (a, b)


def test_arrays_are_one_constant_only_if_they_are_one_array():
    x = np.ones(2)
    assert are_same(x, x)
    assert not are_same(x, x.copy())
    assert not are_same(x, x[:])


def test_variables_are_one_constant_if_their_nodes_are():
    trace = tape.Trace()
    a = trace.param(1.0)
    assert are_same(a, a.again())
    assert not are_same(a, trace.param(1.0))
    assert not are_same(a, a * 1.0)


def test_values_are_equal_in_type_shape_dtype_and_bits():
    values = [
        *[np.float64(x) for x in (0.0, -0.0, 1.0, np.nan)], np.float32(1.0), np.int64(1), np.zeros(()),
        np.zeros(2), np.zeros((2, 1)), np.zeros(2, np.float32), np.zeros(4, np.float32),
        np.zeros(2, np.int64), np.array([0.0, -0.0]), np.array([0.0, np.nan]), np.zeros(0), np.zeros((0, 2)),
    ]  # fmt: skip
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            assert are_equal(a, b.copy()) == (i == j), (a, b)
    assert are_equal(np.eye(3).T, np.eye(3))
    a = np.arange(6.0).reshape(2, 3)
    assert are_equal(a[:, ::-1], a[:, ::-1].copy())
    assert not are_equal(a[:, ::-1], a)
