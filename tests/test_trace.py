"""The tape: what sweeps give back, how adjoints add up, replay, size and memory."""

import copy
import gc
import math
import pickle
import sys
import weakref

import numpy as np
import pytest

import tape
from tape import errors
from tests.oracles import assert_close, scalar
from tests.tiers import rounds

# ---- seeds, roots, unreached params --------------------------------------------------------------


def test_the_default_seed_is_ones_of_any_shape(trace):
    x = trace.param(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(trace.backward_param_grads(x * x)[0], 2 * x.value)


def test_gradients_are_linear_in_the_seed(trace):
    rng = np.random.default_rng(0)
    x = trace.param(rng.normal(size=4))
    y = np.exp(x) * x[::-1]
    s, t = rng.normal(size=(2, 4))
    both, one, other = (trace.backward_param_grads(y, seed)[0] for seed in (2 * s + t, s, t))
    assert_close(both, 2 * one + other, 1e-14)


@pytest.mark.parametrize("seed", [2, 2.0, np.float32(2), np.array(2), True])
def test_a_seed_is_converted_to_the_dtype_of_the_root(trace, seed):
    x = trace.param(np.float32(3))
    (grad,) = trace.backward_param_grads(x * x, seed)
    assert grad.dtype == np.float32
    assert grad == 6 * seed


def test_a_leaf_is_its_own_root(trace):
    x = trace.param(np.ones(2))
    (grad,) = trace.backward_param_grads(x)
    np.testing.assert_array_equal(grad, [1, 1])
    seed = np.array([3.0, 4.0])
    (grad,) = trace.backward_param_grads(x, seed)
    assert not np.shares_memory(grad, seed)
    assert not np.shares_memory(trace.jvp(x, {x: seed}), seed)


def test_unreached_params_raise_or_are_zero(trace):
    a, b, c = trace.param(1.0, name="a"), trace.param(np.ones(2, np.float32), name="b"), trace.param(2.0)
    y = a * 2
    late = trace.param(1.0, name="late")
    with pytest.raises(errors.UnreachableParamError, match=r"name='b'.*name='late'") as caught:
        trace.backward_param_grads(y)
    assert "name='a'" not in str(caught.value)
    grads = trace.backward_param_grads(y, unreached="zero")
    assert [g.dtype for g in grads] == [p.dtype for p in (a, b, c, late)]
    assert [g.tolist() for g in grads] == [2.0, [0.0, 0.0], 0.0, 0.0]
    with pytest.raises(errors.TapeError, match="'raise' or 'zero'"):
        trace.backward_param_grads(y, unreached="ignore")


def test_what_is_recorded_after_the_root_does_not_matter(trace):
    x = trace.param(2.0)
    y = x * x
    _ = y * y * x
    assert scalar(trace.backward_param_grads(y)) == 4
    assert trace.backward(y)[y.id + 1 :] == [None] * (len(trace) - y.id - 1)


# ---- accumulation --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 2)])
def test_contributions_add_up(trace, count, shape):
    v = trace.param(np.full(shape, 0.5))
    seed = np.full(shape, 3.0)
    total = v
    for _ in range(count - 1):
        total = total + v
    (grad,) = trace.backward_param_grads(total, seed)
    np.testing.assert_array_equal(grad, count * seed)
    np.testing.assert_array_equal(seed, 3)
    np.testing.assert_array_equal(v.value, 0.5)


def test_fan_out_and_in(trace):
    rng = np.random.default_rng(1)
    x = trace.param(rng.normal(size=(3, 2)))
    branches = [x * (k + 1.0) for k in range(5)]
    y = sum(branches, start=x)
    (grad,) = trace.backward_param_grads(y + y)
    np.testing.assert_array_equal(grad, np.full((3, 2), 2 * 16.0))


def test_views_of_one_adjoint_do_not_corrupt_each_other(trace):
    """Rules that hand on their adjoint, or a view of it, meet accumulation in place."""
    x, y = trace.param(np.arange(4.0).reshape(2, 2)), trace.param(np.ones((2, 2)))
    s = x + y  # both get the same array
    t = s.T.T.reshape(4).reshape(2, 2)
    root = t * 2.0 + s + x + x.T + y + s
    seed = np.ones((2, 2))
    dx, dy = trace.backward_param_grads(root, seed)
    np.testing.assert_array_equal(dx, np.full((2, 2), 6.0))
    np.testing.assert_array_equal(dy, np.full((2, 2), 5.0))
    np.testing.assert_array_equal(seed, 1)


def test_pieces_read_in_a_loop_add_up_beside_other_uses(trace):
    x = trace.param(np.arange(4.0))
    s = trace.param(np.array(2.0))
    rows = [x[k] * x[k] for k in range(4)] + [
        x[[0, 0]].sum(),
        (x * x).sum(),
        x[x > 1].sum(),
        s[()] * s[None].sum(),
    ]
    root = sum(rows, start=x[1:].sum())
    dx, ds = trace.backward_param_grads(root)
    np.testing.assert_array_equal(dx, 4 * x.value + [2, 0, 0, 0] + (x.value > 1) + [0, 1, 1, 1])
    assert ds == 4
    seed = np.array([5.0])
    head, tail = trace.param(np.ones(3)), trace.param(1.0)
    grads = trace.backward_param_grads(head[:1] + head[1:2] + tail, seed, unreached="zero")
    np.testing.assert_array_equal(grads[2], [5, 5, 0])
    assert grads[3] == seed == 5


def test_adjoints_kept_by_backward_are_those_of_each_node(trace):
    x = trace.param(np.array([1.0, 2.0]))
    a = x * 3.0
    b = a + x
    c = a * b
    adjoints = trace.backward(c)
    np.testing.assert_array_equal(adjoints[c.id], [1, 1])
    np.testing.assert_array_equal(adjoints[b.id], a.value)
    np.testing.assert_array_equal(adjoints[a.id], b.value + a.value)
    np.testing.assert_array_equal(adjoints[x.id], 24 * x.value)
    assert len(adjoints) == len(trace)


def test_doubling_is_linear_in_time(trace):
    x = v = trace.param(1.0)
    for _ in range(1000):
        v = v + v
    assert scalar(trace.backward_param_grads(v)) == 2.0**1000
    assert trace.jvp(v, {x: 1.0}) == 2.0**1000
    assert len(trace) == 1001


def test_sweeps_can_be_repeated(trace):
    x = trace.param(np.array([1.0, 2.0]))
    y = (x * x).sum() * x
    first = trace.backward_param_grads(y)[0]
    np.testing.assert_array_equal(trace.backward_param_grads(y)[0], first)
    np.testing.assert_array_equal(trace.backward(y)[0], first)
    np.testing.assert_array_equal(trace.backward_param_grads(y)[0], first)


# ---- forward mode --------------------------------------------------------------------------------


def test_tangents_of_params_and_inputs_flow(trace):
    w, x, b = trace.param(np.array([1.0, 2.0])), trace.input(np.array([3.0, 4.0])), trace.param(5.0)
    y = w * x + b
    np.testing.assert_array_equal(trace.jvp(y, {w: [1, 0]}), [3, 0])
    np.testing.assert_array_equal(trace.jvp(y, {x: [1, 1]}), [1, 2])
    np.testing.assert_array_equal(trace.jvp(y, {b: 2, w: [0, 1]}), [2, 6])
    np.testing.assert_array_equal(trace.jvp(y, {}), [0, 0])
    assert trace.jvp(b, {w: [1, 1]}) == 0
    late = trace.param(1.0)
    np.testing.assert_array_equal(trace.jvp(y, {late: 1.0}), [0, 0])


# ---- replay --------------------------------------------------------------------------------------


def test_replay_follows_the_leaves(trace):
    w, x = trace.param(np.array([1.0, 2.0])), trace.input(3.0)
    y = (w * x).sum()
    value = np.array([5.0, 6.0, 7.0])  # of another shape
    trace.set(w, value)
    trace.set(x, 2.0)
    assert float(y) == 9
    trace.replay()
    assert w.value is value
    assert float(y) == 36
    np.testing.assert_array_equal(trace.backward_param_grads(y)[0], [2, 2, 2])
    np.testing.assert_array_equal(trace.jvp(y, {w: np.ones(3)}), 6)


def test_replay_sees_what_was_written_into_a_leaf(trace):
    data = np.array([1.0, 2.0])
    y = (trace.param(data) ** 2).sum()
    data[:] = [3.0, 4.0]
    trace.replay()
    assert float(y) == 25
    np.testing.assert_array_equal(trace.backward_param_grads(y)[0], [6, 8])


@pytest.mark.parametrize("sweep", ["backward_param_grads", "backward", "jvp", "pull_back"])
def test_a_sweep_of_old_and_new_values_of_a_leaf_is_an_error(sweep):
    trace = tape.Trace()
    x = trace.param(2.0, "x")
    before = x * x

    def swept(root):
        if sweep == "jvp":
            return trace.jvp(root, {x: 1.0})
        if sweep == "pull_back":
            return trace.pull_back({root.id: np.ones(())})[0]
        return getattr(trace, sweep)(root)[0]

    trace.set(x, 3.0)
    both, fresh = x * before, 5 * x
    with pytest.raises(errors.InPlaceError, match=r"leaf 'x', float64\[\], was set.*Call replay"):
        swept(both)
    assert swept(before) == 4.0
    assert swept(fresh) == 5.0
    trace.set(x, 4.0)
    with pytest.raises(errors.InPlaceError, match="was set"):
        swept(fresh * x)
    trace.replay()
    assert swept(both) == 48.0


def test_a_failing_replay_changes_nothing(trace):
    w, x = trace.param(np.ones((2, 3))), trace.input(np.ones(3))
    y = np.exp(x)
    z = (w @ y).sum()
    before = [(node.value, node.operands) for node in trace.nodes]
    trace.set(x, np.ones(4))
    with pytest.raises(errors.ShapeError, match="matmul"):
        trace.replay()
    assert len(trace) == len(before)
    for node, (value, operands) in zip(trace.nodes[2:], before[2:], strict=True):
        assert node.value is value
        assert all(a is b for a, b in zip(node.operands, operands, strict=True))
    trace.set(x, np.zeros(3))
    trace.replay()
    assert float(z) == 6
    np.testing.assert_array_equal(trace.backward_param_grads(z)[0], np.ones((2, 3)))
    assert np.array_equal(y.value, np.ones(3))


def test_set_refuses_what_is_no_leaf_and_what_is_no_float(trace):
    w, x = trace.param(1.0), trace.input(1)
    y = w * x
    with pytest.raises(errors.TraceMismatchError, match="no leaf"):
        trace.set(y, 2.0)
    other = tape.Trace()
    with pytest.raises(errors.TraceMismatchError, match="no leaf"):
        trace.set(other.param(1.0), 2.0)
    with pytest.raises(errors.DTypeError, match="float or complex dtype"):
        trace.set(w, 2)
    trace.set(x, 7)
    assert w.value == 1.0


def test_a_thousand_replays_leave_the_tape_as_long_as_it_was(trace):
    x = trace.param(np.ones(2))
    y = np.tanh(x).sum()
    for k in range(1000):
        trace.set(x, np.full(2, k * 0.001))
        trace.replay()
    assert len(trace) == 3
    assert float(y) == pytest.approx(2 * math.tanh(0.999))


# ---- looking -------------------------------------------------------------------------------------


def test_indexing_and_iterating_give_vars(trace):
    x = trace.param(2.0)
    y = x * x
    z = y + x
    assert len(trace) == 3
    assert [v.id for v in trace] == [0, 1, 2]
    assert isinstance(trace[1], tape.Var)
    assert trace[1].node is y.node
    assert trace[-1].node is z.node
    assert [v.id for v in trace[1:]] == [1, 2]
    assert [v.id for v in trace[::-1]] == [2, 1, 0]
    assert bool(tape.Trace())
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="ids run from 0 to 2"):
            trace[wrong]


# ---- size and memory -----------------------------------------------------------------------------


def test_nothing_recurses_over_the_tape(trace):
    x = v = trace.param(1.0)
    limit = sys.getrecursionlimit()
    depth = len(_frames())
    sys.setrecursionlimit(depth + 60)
    try:
        for _ in range(rounds(100_000)):
            v = v * 1.0
        gradient = scalar(trace.backward_param_grads(v))
        tangent = trace.jvp(v, {x: 1.0})
        trace.replay()
        nodes = trace.nodes
        del v, x
        nodes.clear()
    finally:
        sys.setrecursionlimit(limit)
    assert gradient == tangent == 1


def _frames():
    frame, frames = sys._getframe(), []
    while frame:
        frames.append(frame)
        frame = frame.f_back
    return frames


def test_dropping_a_trace_frees_it_at_once():
    gc.disable()  # reference counts alone must do
    try:
        trace = tape.Trace()
        x = trace.param(np.ones(3))
        y = np.exp(x)
        trace.backward_param_grads(y)
        trace.jvp(y, {x: np.ones(3)})
        gone, intermediate = weakref.ref(trace), weakref.ref(np.sin(y).node.value)
        assert intermediate() is not None
        del trace
        assert gone() is None
        assert intermediate() is None
        np.testing.assert_allclose(y.value, math.e)  # a Var keeps its own value
    finally:
        gc.enable()


def test_a_deep_tape_is_freed_without_recursion():
    trace = tape.Trace()
    v = trace.param(np.ones(1))
    for _ in range(100_000):
        v = v * 1.0
    gone = weakref.ref(trace)
    del trace, v
    assert gone() is None


def test_params_are_the_vars_that_param_returned(trace):
    w = trace.param(1.0)
    assert trace.params[0] is w


def test_traces_are_not_copied(trace):
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(errors.UnsupportedError, match="copied"):
            attempt(trace)


def test_tangents_need_a_float_and_come_once(trace):
    n, x = trace.input([1, 2]), trace.param(2.0)
    with pytest.raises(errors.SeedError, match="int64"):
        trace.jvp(n * x, {n: [0.5, 0.5]})
    with pytest.raises(errors.SeedError, match="two"):
        trace.jvp(n * x, {x: 1.0, trace[1]: 1.0})


def test_set_keeps_the_kind_of_number(trace):
    n = trace.input([1, 2])
    with pytest.raises(errors.DTypeError, match="cannot become float64"):
        trace.set(n, [0.5, 1.0])


def test_negative_axes_are_counted_anew_on_replay(trace):
    x = trace.input(np.ones((3, 4)))
    results = [x.sum(axis=-1), tape.ops.softmax(x), x.max(axis=(-1,)), np.isclose(x, 1.0)]
    trace.set(x, np.ones((2, 3, 4)))
    trace.replay()
    assert [r.shape for r in results] == [(2, 3), (2, 3, 4), (2, 3), (2, 3, 4)]


def test_an_error_in_a_sweep_names_the_node(trace):
    y = tape.apply(trace.param(np.ones(3)), np.exp, lambda a: np.ones((3, 3)))
    with pytest.raises(errors.ShapeError, match="df returned shape") as caught:
        trace.backward_param_grads(y)
    assert "node %1" in caught.value.__notes__[0]
