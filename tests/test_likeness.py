"""Which nodes, static arguments and constants count as one and the same."""

import math

import numpy as np
import pytest

import tape
from tape.transforms.loops.likeness import Hashable, Same, Table, are_equal, are_same
from tape.transforms.loops.periods import Run

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


# ---- tapes ---------------------------------------------------------------------------------------------


def codes_of(*values, inputs=()):
    table = Table(values[0].trace.nodes, {value.id for value in inputs})
    return [int(table.codes[value.id]) for value in values]


TRACE = tape.Trace()
X = TRACE.input(np.arange(6.0).reshape(3, 2))
Y = TRACE.input(np.arange(6.0).reshape(3, 2) + 1)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.sin(X), np.sin(Y)),
        (X * Y, Y * X),
        (X * 2.0, Y * 3.0),
        (np.sum(X, axis=0), np.sum(Y, axis=0)),
        (X[0], Y[2]),
        (X[0, 1], X[2, 0]),
        (X[:, 1], Y[:, 0]),
    ],
)
def test_operations_on_the_same_kind_of_operands_are_alike(a, b):
    first, second = codes_of(a, b)
    assert first == second >= 0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.sin(X), np.cos(X)),
        (X * Y, X * 2.0),
        (X * 2.0, 2.0 * X),
        (np.sum(X, axis=0), np.sum(X, axis=1)),
        (np.sum(X, axis=0), np.sum(X, axis=0, keepdims=True)),
        (np.sin(X), np.sin(X[0])),
        (np.sin(X), np.sin(X.astype(np.float32))),
        (X[0], X[:1]),
        (X[0], X[0, 0]),
        (X[:, 0], X[0, :]),
        (X[:1], X[:2]),
        (X[0:2], X[1:3]),
        (X[None, 0], X[0, None]),
    ],
)
def test_other_operations_attributes_types_and_operands_are_not_alike(a, b):
    first, second = codes_of(a, b)
    assert first != second


def test_inputs_and_params_are_like_nothing_else():
    trace = tape.Trace()
    a, b = trace.input(1.0), trace.input(1.0)
    p, q = trace.param(1.0), trace.param(1.0)
    assert len(set(codes_of(a, b, p, q, inputs=(a, b)))) == 4
    first, second = codes_of(a, b)
    assert first == second


def test_a_run_has_the_operands_of_each_step():
    trace = tape.Trace()
    x = trace.param(1.0)
    y, made = x, []
    for k in range(3):
        made += [z := y * (k + 2.0), y := x + z]
    run = Run(x.id + 1, 2, 3)
    table = Table(trace.nodes, {x.id})
    ids = [value.id for value in made]
    assert table.parents(run, 0, 0) == [x.id, ids[1], ids[3]]
    assert table.parents(run, 0, 1) == [None] * 3
    assert table.operands(run, 0, 1) == [2.0, 3.0, 4.0]
    assert table.parents(run, 1, 0) == [x.id] * 3
    assert table.parents(run, 1, 1) == ids[::2]
    assert table.operands(run, 1, 1) == [value.value for value in made[::2]]
