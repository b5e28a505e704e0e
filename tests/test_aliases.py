"""Which results share memory with operands: exactly those that do in NumPy."""

from itertools import permutations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tape
from tape import errors, ops
from tape.inplace.aliases import are_related, memory_of, overlapping, share_of
from tests import plain
from tests.op_table import CASES, by_operation


def strides(a):
    """Those that matter: an axis of length one has any."""
    return [step for step, length in zip(a.strides, a.shape, strict=True) if length > 1]


def noted(trace, a):
    return trace.param(a) if a.dtype.kind in "fc" else trace.input(a)


every_case = by_operation([case for case in CASES if plain.has(case.op)])


def run_on_both(trace, case, order):
    """The arguments of a case, as arrays and as handles, and its results of both."""
    arrays = [np.array(a, order=order) for a in case.args()]
    handles = [noted(trace, a.copy("K")) for a in arrays]
    return arrays, handles, case.on(plain)(*arrays), case.on(ops)(*handles)


@every_case
def test_results_lie_in_memory_as_numpys_do(case):
    for order in "CF":
        trace = tape.Trace()
        _, _, expected, result = run_on_both(trace, case, order)
        if isinstance(expected, np.ndarray) and isinstance(result, tape.Var) and expected.size:
            assert strides(memory_of(result)) == strides(expected), order


VIEWS = {
    "T": lambda x: x.T,
    "array_split": lambda x: np.array_split(x, 2, 1)[1],
    "atleast_3d": np.atleast_3d,
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.ones((2, 1, 1, 1)))[0],
    "diagonal": lambda x: np.diagonal(x, 1, 1, 2),
    "einsum": lambda x: np.einsum("iji->ji", x),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "flip": lambda x: np.flip(x, 1),
    "getitem": lambda x: x[:, None, ::-1, 1],
    "imag": lambda x: x.imag,
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "ravel": np.ravel,
    "ravel A": lambda x: np.ravel(x, "A"),
    "ravel K": lambda x: np.ravel(x, "K"),
    "real": lambda x: x.real,
    "reshape": lambda x: x.reshape(6, 3),
    "reshape F": lambda x: x.reshape(6, 3, order="F"),
    "rot90": lambda x: np.rot90(x, 1, (1, 2)),
    "split": lambda x: np.split(x, 3, 2)[1],
    "squeeze": lambda x: np.squeeze(x[:1]),
    "trim_zeros": np.trim_zeros,
    "unstack": lambda x: np.unstack(x, axis=1)[0],
}

COPIES = {
    "average": lambda x: np.average(x, 1, weights=x[0, :, 0], returned=True)[1],
    "copy K": np.copy,
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=0, include_initial=True),
    "delete one": lambda x: np.delete(x, 1, 0),
    "delete some": lambda x: np.delete(x, [0, 2], 2),
    "dot": lambda x: np.dot(2.0, x),
    "fft": lambda x: np.fft.fft(x, 4, 1),
    "flatten": lambda x: x.flatten(),
    "full_like": lambda x: np.full_like(x, x[0, 0, 0]),
    "full_like shape": lambda x: np.full_like(x, x[0, 0, 0], shape=(2, 3, 4)),
    "gradient": lambda x: np.gradient(x, axis=1),
    "insert": lambda x: np.insert(x, [0, 2], 1.0, 2),
    "linalg.eigh": lambda x: np.linalg.eigh(x.swapaxes(0, 1))[1],
    "linalg.qr": lambda x: np.linalg.qr(x)[1],
    "linalg.svd": lambda x: np.linalg.svd(x)[0],
    "method copy": lambda x: x.copy(),
    "nonzero": lambda x: np.nonzero(x)[1],
    "pad": lambda x: np.pad(x, 1, "edge"),
    "partition": lambda x: np.partition(x, 1, 1),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [np.sqrt, 1.0]),
    "resize": lambda x: np.resize(x, (2, 2)),
    "select": lambda x: np.select([x > 0], [x], 1.0),
    "sort": lambda x: np.sort(x, 0),
    "tile": lambda x: np.tile(x, (2, 1, 1)),
    "tile once": lambda x: np.tile(x, 1),
    "unique": lambda x: np.unique(x, axis=2),
}


@pytest.mark.parametrize("name", [*VIEWS, *COPIES])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_of_axes_in_any_order_memory_is_shared_as_in_numpy(name, step):
    function = (VIEWS | COPIES)[name]
    for axes in permutations(range(3)):
        shape = (3, 2, 3)
        x = np.empty([(1 + (step == 2)) * shape[axis] for axis in axes], complex if name == "imag" else float)
        x = x[::step, ::step, ::step].transpose(np.argsort(axes))
        x[...] = np.random.default_rng(0).normal(size=shape)
        trace = tape.Trace()
        handle = noted(trace, x)
        expected, result = function(x), function(handle)
        memory = memory_of(result)
        assert strides(memory) == strides(expected)
        is_view = np.shares_memory(expected, x)
        families = [share and share.family for share in map(share_of, (result, handle))]
        assert is_view == (result is handle or families[0] is families[1] is not None)
        if is_view:
            assert memory.__array_interface__["data"] == expected.__array_interface__["data"]


def test_what_is_left_of_an_array_without_its_zeros_is_a_view():
    trace = tape.Trace()
    x = trace.param([0.0, 1.0, 2.0, 0.0])
    part = np.trim_zeros(x)
    part[0] = 5.0
    np.testing.assert_array_equal(x.value, [0, 5, 2, 0])


@every_case
def test_writing_to_a_result_reaches_the_operands_that_it_reaches_in_numpy(case):
    trace = tape.Trace()
    arrays, handles, expected, result = run_on_both(trace, case, "C")
    if not (isinstance(expected, np.ndarray) and isinstance(result, tape.Var)):
        return
    if expected.flags.writeable:
        expected[...] = result[...] = 1
        assert (result.value == 1).all()
    elif any(np.shares_memory(expected, array) for array in arrays):
        with pytest.raises(errors.InPlaceError):
            result[...] = 1
    for array, handle in zip(arrays, handles, strict=True):
        np.testing.assert_array_equal(handle.value, array)


def test_arrays_of_which_numpy_cannot_tell_count_as_overlapping():
    """Whether three coprime steps meet three others is a problem that takes years to solve."""
    memory = np.zeros(192163377, np.int8)  # never touched, so it takes up none
    x = as_strided(memory, (1049, 1049, 1049), (36674, 61119, 85569))
    y = as_strided(memory[64023025:], (1049, 1049, 1), (12223, 12224, 1))
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(x, y, max_work=1 << 10)
    assert overlapping(x, y)
    assert not overlapping(x, np.zeros(2, np.int8))
    assert are_related(x, y)


def test_handles_share_memory_where_their_arrays_do():
    trace = tape.Trace()
    x = trace.param(np.arange(6.0).reshape(2, 3))
    part, row, copy = x[:, 1:], x[0], x.copy()
    assert np.shares_memory(x, part)
    assert np.shares_memory(part, row)
    assert not np.shares_memory(row, x[1])
    assert not np.shares_memory(x, copy)
    assert not np.shares_memory(part, tape.Trace().param(x.value))


@pytest.mark.parametrize(
    "what", ["value", "call", "inputs", "op", "attrs", "parents", "operands", "is_active"]
)
def test_nothing_can_be_read_of_a_stale_view(what):
    trace = tape.Trace()
    x = trace.param(np.zeros(4))
    middle = x[1:3]
    x[2] = 5.0
    with pytest.raises(errors.InPlaceError, match=r"a view, float64\[2\], was used after another one"):
        getattr(middle.node, what)
    assert repr(middle.node) == "<float64[2], since written to through another>"


def test_a_long_chain_of_views_is_related_to_its_start():
    trace = tape.Trace()
    x = view = trace.param(np.zeros(3))
    for _ in range(5000):
        view = view[::-1]
    assert are_related(x, view)
    view[0] = 1.0
    np.testing.assert_array_equal(x.value, [1, 0, 0])


def test_relations_outlive_the_trace():
    trace = tape.Trace()
    x = trace.param(np.zeros((2, 3)))
    row, other, column, copy = x[0], x[1], x.T[1], x[[0, 1]]
    del trace
    assert np.shares_memory(row, column)
    assert np.shares_memory(x, column)
    assert not np.shares_memory(x, copy)
    assert not np.shares_memory(row, other)


def test_views_that_nobody_holds_are_forgotten():
    trace = tape.Trace()
    x = trace.param(np.zeros(3))
    held = x[1:]
    for _ in range(1000):
        x[::-1]
    assert len(trace.views) <= 256
    x[1] = 1.0
    with pytest.raises(errors.InPlaceError):
        np.sin(held)


def test_results_that_are_copies_do_not_keep_their_operands():
    trace = tape.Trace()
    x = trace.param(np.zeros((2, 3)))
    results = [x[[0]], x.T.reshape(6), x[0, 0]]
    assert not any(share_of(result) for result in results[::2])
    assert [result.share for result in results[::2]] == [None, None]
    x[0, 0] = 1.0
    for result in results:
        np.testing.assert_array_equal(result.value, 0.0)


@pytest.mark.parametrize("is_replayed", [False, True])
def test_views_of_a_leaf_that_was_set_are_stale_after_a_write(is_replayed):
    trace = tape.Trace()
    x = trace.param(np.zeros(4))
    part = x[1:3]
    trace.set(x, np.ones(4))
    if is_replayed:
        trace.replay()
    x[1] = 5.0
    with pytest.raises(errors.InPlaceError):
        np.sin(part)
