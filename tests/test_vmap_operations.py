"""`tape.vmap` of every operation equals a Python loop: values, gradients, Jacobians, batches of batches."""

import numpy as np
import pytest

import tape
from tape import ops
from tests.op_table import CASES, by_operation, lightly, one_of_each, two_of_each
from tests.oracles import assert_close
from tests.test_vmap import SIZE, WAYS, assert_same, check, stacked
from tests.tiers import some

DIFFERENTIABLE = [case for case in CASES if case.has_derivative]


def arguments(case):
    return [np.stack(column) for column in zip(*[case.args(salt=k) for k in range(SIZE)], strict=True)]


@by_operation(one_of_each(two_of_each(CASES)))
def test_an_operation_on_a_batch_equals_the_loop(case):
    f = case.on(ops)
    check(f, *arguments(case))


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@by_operation(some(two_of_each(lightly(DIFFERENTIABLE)), every=3))
def test_gradients_of_a_batch_equal_those_of_the_examples(case):
    """And so does the gradient of a sum over the batch, to arguments that differ and to those that do not."""
    columns = arguments(case)
    seeds = case.rng(5).normal(size=np.shape(case.on(ops)(*[column[0] for column in columns])))

    def total(*args):
        return np.sum(np.real(case.on(ops)(*args)) * seeds)

    wrt = [k for k, column in enumerate(columns) if column.dtype.kind == "f"]
    if not wrt:
        return
    gradient = tape.grad(total, wrt)
    expected = stacked(gradient, *columns)
    for way in WAYS.values():
        assert_same(way(tape.vmap(gradient))(*columns), expected, 1e-9)
    of_sum = tape.grad(lambda *args: np.sum(tape.vmap(total)(*args)), wrt)(*columns)
    assert_same(list(of_sum), list(expected), 1e-9)
    if len(columns) == 1:
        return
    shared = [0 if k != wrt[0] else None for k in range(len(columns))]
    given_one = [column if axis == 0 else column[0] for column, axis in zip(columns, shared, strict=True)]
    mapped = tape.vmap(total, in_axes=shared)
    found = tape.grad(lambda *args: np.sum(mapped(*args)), wrt[0])(*given_one)

    def loop(*args):
        pairs = list(zip(args, shared, strict=True))
        return sum(total(*[x[k] if axis == 0 else x for x, axis in pairs]) for k in range(SIZE))

    assert_same(found, tape.grad(loop, wrt[0])(*given_one), 1e-9)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@by_operation(some(two_of_each(lightly(DIFFERENTIABLE)), every=5))
def test_jacobians_of_a_batch_equal_those_of_the_examples(case):
    """Their seeds are a batch in that of the examples, of another size."""
    columns = [column[:2] for column in arguments(case)]
    wrt = next((k for k, column in enumerate(columns) if column.dtype.kind == "f"), None)
    if wrt is None or case.size > 30 or any(column.dtype.kind == "c" for column in columns):
        return

    def f(*args):
        out = case.on(ops)(*args)
        return np.real(out) + np.imag(out)

    for mode in ("fwd", "rev"):
        jacobian = tape.jacobian(f, wrt, mode=mode)
        assert_same(tape.vmap(jacobian)(*columns), stacked(jacobian, *columns), 1e-9)


def _column(args, k, outside, inside):
    """Argument k for all elements of the batches that it differs in."""
    rows = args if outside else args[:1]
    found = np.stack([np.stack([one[k] for one in (row if inside else row[:1])]) for row in rows])
    found = found if inside else found[:, 0]
    return found if outside else found[0]


@by_operation(some(two_of_each(lightly(CASES)), every=5))
def test_batches_of_batches_of_every_operation(case):
    """Of two sizes; each argument differs in one of them, in both, or in none."""
    args = [[case.args(salt=2 * i + j) for j in range(3)] for i in range(2)]
    f, count = case.on(ops), len(args[0][0])
    if case.size > 30:
        return
    some_of_them = [set(range(count)), *([{k} for k in range(count)] if count > 1 else [])]
    for outside in some_of_them[:3]:
        for inside in some_of_them[:3]:
            axes = [tuple(0 if k in batched else None for k in range(count)) for batched in (inside, outside)]
            of_all = tape.vmap(tape.vmap(f, in_axes=axes[0]), in_axes=axes[1])
            found = of_all(*[_column(args, k, k in outside, k in inside) for k in range(count)])

            def one(i, j, outside=outside, inside=inside):
                return f(*[args[i if k in outside else 0][j if k in inside else 0][k] for k in range(count)])

            assert_close(found, np.stack([np.stack([one(i, j) for j in range(3)]) for i in range(2)]), 1e-9)
