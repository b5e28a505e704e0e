"""Tapes column by column: operands, constants, and which nodes are alike."""

from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape.core.node import Call, Node
from tape.transforms.loops import rolling
from tape.transforms.loops.columns import Columns, _ranks, paired
from tape.transforms.loops.likeness import are_same
from tape.transforms.loops.periods import Run


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1))
def test_pairs_have_one_number_if_they_are_equal(pairs):
    numbers = paired(*np.array(pairs).T).tolist()
    for a, m in zip(pairs, numbers, strict=True):
        for b, n in zip(pairs, numbers, strict=True):
            assert (a == b) == (m == n)
    assert {*numbers} == {*range(len({*pairs}))}


@given(st.lists(st.integers(-3, 40) | st.integers(-(2**63), 2**63 - 1)))
def test_ranks_are_positions_in_order(numbers):
    there = sorted({*numbers})
    assert _ranks(np.array(numbers, np.int64)).tolist() == [there.index(number) for number in numbers]


@given(st.lists(st.lists(st.integers(0, 30), max_size=3), max_size=12), st.sets(st.integers(0, 11)))
def test_all_are_read_if_nothing_can_be_left_out(parents, roots):
    call = Call(None, {}, None)
    nodes = [
        Node(1.0, call, tuple([x for parent in of for x in (parent % id if id else None, 1.0)]))
        for id, of in enumerate(parents)
    ]
    roots = [root for root in roots if root < len(nodes)]
    kept, _ = rolling.without_dead(nodes, [], roots)
    assert Columns(nodes).are_all_read(roots) == (len(kept) == len(nodes))


def test_columns_hold_the_operands_of_all_nodes():
    trace = tape.Trace()
    x, y = trace.param(1.0), trace.param(2.0)
    np.stack([x, 2.0 * y, y])
    trace.param(3.0)
    columns = Columns(trace.nodes)
    expected = [(id, *pair) for id, node in enumerate(trace.nodes)
                for pair in zip(node.inputs[::2], node.inputs[1::2], strict=True)]  # fmt: skip
    found = zip(columns.owners.tolist(), columns.parents.tolist(), columns.values, strict=True)
    for (owner, parent, value), wanted in zip(found, expected, strict=True):
        assert (owner, parent if parent >= 0 else None) == wanted[:2]
        assert value is wanted[2]
    slots = [slot for node in trace.nodes for slot in range(len(node.inputs) // 2)]
    assert columns.slots.tolist() == slots
    assert np.diff(columns.starts).tolist() == [len(node.inputs) // 2 for node in trace.nodes]


def test_columns_of_an_empty_tape_are_empty():
    columns = Columns([])
    assert columns.starts.tolist() == [0]
    assert columns.parents.size == columns.owners.size == columns.constants.size == len(columns.values) == 0
    assert columns.kinds([]).size == 0


def test_codes_go_by_calls():
    a, b = (Call(None, {}, None) for _ in range(2))
    nodes = [Node(1.0, call, ()) for call in (a, b, a, b, b)]
    known, made = {}, count()
    assert Columns(nodes).coded(lambda call: known.setdefault(id(call), next(made))).tolist() in (
        [0, 1, 0, 1, 1],
        [1, 0, 1, 0, 0],
    )


def test_constants_have_one_number_if_they_are_one():
    outer = tape.Trace()
    p, array = outer.param(1.0), np.ones(2)
    constants = [0.0, -0.0, 0, 1.0, float("1"), True, 1, np.float64(1.0), np.float32(1.0), np.nan,
                 float("nan"), array, array.copy(), array, p, p.again(), p * 1.0]  # fmt: skip
    nodes = [Node(1.0, Call(None, {}, None), (None, constant, 0, p)) for constant in constants]
    numbers = Columns(nodes).constants
    assert (numbers[1::2] == -1).all()
    for a, m in zip(constants, numbers[::2].tolist(), strict=True):
        for b, n in zip(constants, numbers[::2].tolist(), strict=True):
            assert are_same(a, b) == (m == n), (a, b)


def codes_of(*values, inputs=()):
    kinds = Columns(values[0].trace.nodes).kinds({value.id for value in inputs})
    return [int(kinds[value.id]) for value in values]


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
    columns = Columns(trace.nodes)
    ids = [value.id for value in made]
    assert columns.parents_in(run, 0, 0).tolist() == [x.id, ids[1], ids[3]]
    assert columns.parents_in(run, 0, 1).tolist() == [-1] * 3
    assert columns.values_in(run, 0, 1) == [2.0, 3.0, 4.0]
    assert len({*columns.constants_in(run, 0, 1).tolist()}) == 3
    assert columns.parents_in(run, 1, 0).tolist() == [x.id] * 3
    assert columns.parents_in(run, 1, 1).tolist() == ids[::2]
    assert columns.values_in(run, 1, 1) == [value.value for value in made[::2]]


def test_operations_with_many_operands_are_alike_if_the_same_are_constants():
    parts = [X[0, 0]] * 70
    other = [*parts[:65], 1.0, *parts[66:]]
    another = [*parts[:66], 1.0, *parts[67:]]
    codes = codes_of(*[np.stack(x) for x in (parts, other, another, other[:69], other, parts)])
    assert len({*codes}) == 4
    assert codes[1] == codes[4]
    assert codes[0] == codes[5]
