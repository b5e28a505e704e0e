"""Reading by an index before arithmetic: that less is computed, and the same numbers come out."""

import numpy as np
import pytest

import tape
from tape.program.ir import sinking
from tape.program.ir.table import ELEMENTWISE
from tests.oracles import assert_close

INDEX = np.array([3, 0, -1, 3])


def array(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


def computed(f, *args):
    """Return what the program of a function computes, and the elements of what it computes."""
    compiled = tape.compile(f)
    compiled(*args)
    (program,) = compiled.programs.values()
    work = [
        of.size for of in program.ir.instructions if of.op in (*ELEMENTWISE, "matmul", "fold", "sum_product")
    ]
    return program(*args), sum(work)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(sinking, "_WORTH_IT", -(10**9))


CHAINS = {
    "elementwise": lambda x, i: np.take(np.sin(x) * 2.0, i, axis=0),
    "a row for all": lambda x, i: np.take(np.sin(x) * x[0], i, axis=0),
    "a column for each": lambda x, i: np.take(np.sin(x) * x[:, :1], i, axis=0),
    "last axis": lambda x, i: np.take(np.sin(x.T) * x[:, 0], i, axis=1),
    "product": lambda x, i: np.take(np.sin(x) @ x[:3].T, i, axis=0),
    "product, other factor": lambda x, i: np.take(x[:3] @ np.sin(x).T, i, axis=1),
    "products of a stack": lambda x, i: np.take(np.sin(x)[:, None, :] @ np.sin(x)[:, :, None], i, axis=0),
    "one factor for a stack": lambda x, i: np.take(np.sin(x)[:, None, :] @ x[:3].T, i, axis=0),
    "sum": lambda x, i: np.take(np.sum(np.sin(x) * x, axis=1), i, axis=0),
    "sum before": lambda x, i: np.take(np.max(np.sin(np.stack([x, 2 * x])), axis=0), i, axis=0),
    "sum of squares": lambda x, i: np.take(np.sum(np.sin(x) * np.sin(x), axis=1), i, axis=0),
    "transposed": lambda x, i: np.take(np.sin(x).T, i, axis=1),
    "reshaped": lambda x, i: np.take(np.sin(x).reshape(12, 1, 5) + 1.0, i, axis=0),
    "joined": lambda x, i: np.take(np.concatenate([np.sin(x), x], axis=1), i, axis=0),
    "repeated": lambda x, i: np.take(np.broadcast_to(np.sin(x)[:, None], (12, 3, 5)) + 1.0, i, axis=0),
    "chosen": lambda x, i: np.take(np.where(x > 0, np.sin(x), 0.0), i, axis=0),
    "two indices": lambda x, i: np.take(np.sin(x), i, axis=0) * np.take(np.sin(x), i[::-1], axis=0),
}


@pytest.mark.parametrize("name", CHAINS)
def test_less_is_computed_of_what_is_read_by_an_index(always, monkeypatch, name):
    x = array(12, 5)
    f = CHAINS[name]
    result, work = computed(f, x, INDEX)
    assert_close(result, f(x, INDEX))
    monkeypatch.setattr(sinking, "_WORTH_IT", 10**9)
    assert work < computed(f, x, INDEX)[1]
    gradient = tape.grad(lambda x: np.sum(np.cos(f(x, INDEX))))
    assert_close(computed(gradient, x)[0], gradient(x))


STAYS = {
    "also a result": lambda x, i: (np.take(np.sin(x), i, axis=0), np.sin(x)),
    "read as a whole too": lambda x, i: np.take(np.sin(x), i, axis=0) + np.sum(np.sin(x), axis=0),
    "read along another axis too": lambda x, i: np.take(np.sin(x), i, 0) + np.take(np.sin(x), i[:1], 1)[:4],
    "as many as there are": lambda x, i: np.take(np.sin(x[:5]), i, axis=0),
    "sum along the axis": lambda x, i: np.take(np.cumsum(x, axis=0), i, axis=0),
    "joined along the axis": lambda x, i: np.take(np.concatenate([x, 2 * x]) * 1.0, i, axis=0),
}


@pytest.mark.parametrize("name", STAYS)
def test_values_that_are_needed_are_computed_once(always, name):
    x = array(12, 5)
    result, _ = computed(STAYS[name], x, INDEX)
    expected = STAYS[name](x, INDEX)
    if not isinstance(expected, tuple):
        result, expected = (result,), (expected,)
    for part, wanted in zip(result, expected, strict=True):
        assert_close(part, wanted)


def test_nothing_is_read_by_no_index(always):
    x = array(12, 5)
    f = CHAINS["elementwise"]
    assert computed(f, x, np.zeros(0, int))[0].shape == (0, 5)


def test_little_work_stays_where_it_is():
    x = array(12, 5)
    assert computed(CHAINS["elementwise"], x, INDEX)[1] == 2 * 60
    assert computed(CHAINS["elementwise"], array(1200, 5), INDEX)[1] == 2 * 20


def test_index_out_of_range_is_an_error_all_the_same(always):
    compiled = tape.compile(CHAINS["product"])
    for _ in range(2):
        compiled(array(12, 5), INDEX)
    with pytest.raises(IndexError):
        compiled(array(12, 5), np.array([0, 1, 2, 12]))


def test_what_is_joined_with_itself_is_read_once():
    compiled = tape.compile(lambda x, index: np.take(np.concatenate([x, x]), index, axis=1))
    x, index = array(33, 33), np.array([1, 4])
    for _ in range(2):
        assert_close(compiled(x, index), np.concatenate([x, x])[:, index])
    (program,) = compiled.programs.values()
    assert [one.op for one in program.ir.instructions].count("take") == 1


# ---- slices ----------------------------------------------------------------------------------------

SLICED = {
    "elementwise": lambda x: (np.sin(x) * 2.0)[3:],
    "a row": lambda x: (np.sin(x) * x[0])[2],
    "one of two": lambda x: (np.sin(x)[1:5] + x[:4])[1:],
    "a column for each": lambda x: (np.sin(x) * x[:, :1])[1:4],
    "a number": lambda x: (1.0 - np.sin(x) ** 2)[:-1],
    "columns of a row": lambda x: (np.sin(x[:1]) * x[:1])[:, 1:3],
    "of two axes": lambda x: np.where(x.T > 0, x.T, np.cos(x.T))[2:3, 4:],
    "of one of more axes": lambda x: (np.sin(x[0]) + x)[4:],
    "squares": lambda x: ((y := np.sin(x)) * y)[7:9],
    "read by a sum": lambda x: np.sum(np.exp(x)[5:], axis=0),
}


@pytest.mark.parametrize("name", SLICED)
def test_less_is_computed_of_what_is_sliced(name, monkeypatch):
    x = array(12, 5)
    f = SLICED[name]
    result, work = computed(f, x)
    assert_close(result, f(x))
    gradient = tape.grad(lambda x: np.sum(np.cos(f(x))))
    assert_close(computed(gradient, x)[0], gradient(x))
    monkeypatch.setattr(sinking, "GROUPED_BYTES", 0)
    assert work < computed(f, x)[1]


SLICED_ELSEWHERE = {
    "also a result": lambda x: (np.sin(x)[3:], np.sin(x)),
    "two slices": lambda x: (np.sin(x)[3:] + np.sin(x)[:-3],),
    "every other": lambda x: (np.sin(x)[::2] * 2,),
    "columns": lambda x: (np.sin(x)[:, 1:] * 2,),
    "large": lambda x: (np.sin(np.concatenate([x] * 99))[1:] * 2,),
}


@pytest.mark.parametrize("name", SLICED_ELSEWHERE)
def test_what_is_sliced_in_other_ways_is_computed_whole(name):
    x = array(12, 5)
    f = SLICED_ELSEWHERE[name]
    results, _ = computed(f, x)
    for result, wanted in zip(results, f(x), strict=True):
        assert_close(result, wanted)
    compiled = tape.compile(f)
    compiled(x)
    (program,) = compiled.programs.values()
    sizes = {of.size for of in program.ir.instructions if of.op in ("sin", "vector_sin")}
    assert sizes == {5940 if name == "large" else 60}


def test_slices_move_in_bodies_of_loops_once_other_results_are_dropped():
    """Of the derivative of a shift, which nothing reads but the state before it."""

    def f(x):
        def step(_, y):
            return x * np.concatenate([np.ones(1), y[:-1]])

        return tape.fori_loop(0, 5, step, np.zeros(len(x)))[-1]

    x = 1 + array(300)
    compiled = tape.compile(tape.grad(f))
    assert_close(compiled(x), tape.grad(f)(x))
    (program,) = compiled.programs.values()
    loops = [of.attrs[0].body for of in program.ir.instructions if of.op == "loop"]
    products = [of.size for body in loops for of in body.instructions if of.op == "multiply"]
    assert 299 in products
