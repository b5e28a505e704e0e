"""Compiled functions whose shapes and dtypes depend on data: what Python reads of them is no constant."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape import tree
from tape.core.node import plain
from tape.core.op import Op
from tests.op_table import TWO_OF_EACH, by_operation, lightly
from tests.tiers import rounds

ELEMENTS = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, np.nan]

# Each returns an array whose shape depends on the elements of x.
SELECTIONS = {
    "mask": lambda x: x[x > 0],
    "mask of rows": lambda x: np.outer(x, x)[x > 0],
    "mask and slice": lambda x: np.outer(x, x)[x > 0, 1:],
    "nonzero": lambda x: np.nonzero(x)[0],
    "method nonzero": lambda x: x.nonzero()[0],
    "where": lambda x: np.where(x > 0)[0],
    "flatnonzero": np.flatnonzero,
    "argwhere": lambda x: np.argwhere(x > 0),
    "compress": lambda x: np.compress(x > 0, x),
    "extract": lambda x: np.extract(x > 0, x),
    "unique": np.unique,
    "unique counts": lambda x: np.unique(x, return_counts=True)[1],
    "trim_zeros": np.trim_zeros,
    "trim_zeros front": lambda x: np.trim_zeros(x, "f"),
    "union1d": lambda x: np.union1d(x, [1.0, 5.0]),
    "intersect1d": lambda x: np.intersect1d(x, [1.0, 2.0]),
    "setdiff1d": lambda x: np.setdiff1d(x, [1.0, 2.0]),
    "setxor1d": lambda x: np.setxor1d(x, [1.0, 2.0]),
    "bincount": lambda x: np.bincount(np.nan_to_num(np.abs(x)).astype(int)),
    "histogram of some bins": lambda x: np.histogram(np.nan_to_num(x), bins="auto")[0],
    "ix_": lambda x: np.outer(x, x)[np.ix_(x > 0, x > 0)],
}

# Each makes a number of the shape alone.
QUESTIONS = {
    "size": lambda a: a.size,
    "shape": lambda a: a.shape[0],
    "len": len,
    "range": lambda a: sum(range(len(a))),
    "zeros_like": lambda a: np.zeros_like(a).size,
    "iteration": lambda a: sum(1 for _ in a),
}


@pytest.mark.parametrize("selection", SELECTIONS)
@settings(max_examples=rounds(8, plain=4))
@given(data=st.data())
def test_what_is_read_of_a_shape_that_data_decide_is_read_anew(selection, data):
    select = SELECTIONS[selection]
    ask = QUESTIONS[data.draw(st.sampled_from(sorted(QUESTIONS)))]
    vectors = st.lists(st.sampled_from(ELEMENTS), min_size=4, max_size=4).map(np.array)

    def f(x):
        return np.sum(x) * (1 + ask(select(x)))

    compiled = tape.compile(tape.value_and_grad(f))
    for x in data.draw(st.lists(vectors, min_size=7, max_size=7)):
        for found, expected in zip(compiled(x), tape.value_and_grad(f)(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_mean_over_a_mask_divides_by_what_the_mask_counts():
    mean = tape.compile(lambda x: np.sum(x) / x[x > 0].size)
    assert mean(np.array([1.0, -1.0, -2.0])) == -2.0
    assert mean(np.array([1.0, 2.0, 3.0])) == 2.0


def test_each_count_is_a_program_and_comes_back():
    compiled = tape.compile(lambda x: x * x[x > 0].size)
    for count in (1, 3, 2, 1, 3):
        x = np.where(np.arange(4) < count, 1.0, -1.0)
        np.testing.assert_array_equal(compiled(x), x * count)
    assert len(compiled.programs) == 3
    assert all("('<f8', " in str(key) for key in compiled.programs)


def test_dtypes_that_data_decide_are_read_anew():
    def f(x):
        return 2.0 * x if np.iscomplexobj(np.linalg.eigvals(x)) else x

    compiled = tape.compile(f)
    for x in (np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]]), np.eye(2)):
        np.testing.assert_array_equal(compiled(x), f(x))


def test_masks_that_are_closed_over_count_as_they_are():
    mask = np.array([True, False, True])
    compiled = tape.compile(lambda x: x * x[mask].size)
    np.testing.assert_array_equal(compiled(np.ones(3)), [2.0, 2.0, 2.0])
    mask[1] = True
    np.testing.assert_array_equal(compiled(np.ones(3)), [3.0, 3.0, 3.0])


def test_an_operation_of_the_users_own_is_taken_to_depend_on_data():
    positive = Op(lambda x: x[x > 0], name="positive", vjp=None)
    compiled = tape.compile(lambda x: x * positive(x).size)
    for x in (np.array([1.0, -1.0]), np.array([1.0, 1.0]), np.array([-1.0, -1.0])):
        np.testing.assert_array_equal(compiled(x), x * np.sum(x > 0))


SETTLED_BEFORE = {
    "trimmed": "its operand is an unbroken range, of a length that is the guard of another node",
}


@pytest.mark.filterwarnings("ignore")
@by_operation(lightly(TWO_OF_EACH))
def test_operations_whose_type_depends_on_data_say_so(case):
    """Every node whose shape or dtype changes with the elements alone is declared `data_dependent`."""
    args = case.args()
    trace = tape.Trace()
    leaves = [trace.input(arg) for arg in args]
    tree.flatten(case.function(tape.ops, *leaves))
    for node in list(trace.nodes):
        if node.op is None or node.op.name in SETTLED_BEFORE:
            continue
        depends = node.op.data_dependent
        if depends is True or (depends and depends(*node.operands, **node.attrs)):
            continue
        for changed in _variations(node.operands):
            try:
                out = node.op.compute(changed, node.attrs)
            except Exception:  # not all operands are possible
                continue
            assert (out.shape, out.dtype) == (node.value.shape, node.value.dtype), node.op


def _variations(operands):
    """Other elements in arrays of the same shapes and dtypes."""
    for k, operand in enumerate(operands):
        array = plain(operand)
        if not isinstance(array, np.ndarray) or not array.size:
            continue
        for change in (
            np.zeros_like(array),
            np.ones_like(array),
            np.roll(array, 1),
            -array if array.dtype != bool else ~array,
        ):
            yield [*operands[:k], change.astype(array.dtype), *operands[k + 1 :]]
