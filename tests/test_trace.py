"""The tape itself: what a node holds, the two sweeps, replay, looking at it, and nesting."""

import gc
import math
import sys
import threading
import weakref

import numpy as np
import pytest

import tape
from tape import errors
from tape.op import Op
from tests.oracles import assert_close, derivative, jvp, vjp


def scalar(gradients):
    (gradient,) = gradients
    return float(gradient)


@pytest.fixture
def trace():
    return tape.Trace(name="T")


# ---- nodes and leaves ----------------------------------------------------------------------------


def test_leaves_hold_arrays_by_reference(trace):
    a, b = np.ones(3), np.arange(3)
    w, x = trace.param(a, name="w"), trace.input(b, name="x")
    assert w.value is a
    assert x.value is b
    assert (w.node.is_param, x.node.is_param) == (True, False)
    assert (w.node.name, x.node.name, w.name, x.name) == ("w", "x", "w", "x")
    for leaf in (w, x):
        assert leaf.node.op is None
        assert leaf.node.vjp is None
        assert leaf.node.parents == ()
        assert leaf.node.attrs == {}
    assert isinstance(w.node, tape.Node)


def test_an_operation_appends_one_node(trace):
    w, x = trace.param(np.ones((2, 3))), trace.input(np.ones(3))
    y = w * x
    s = tape.ops.sum(y, axis=1, keepdims=True)
    assert [v.id for v in (w, x, y, s)] == [0, 1, 2, 3]
    assert (y.node.op, y.node.parents, y.node.attrs) == (tape.ops.multiply.op, (0, 1), {})
    assert s.node.parents == (2,)
    assert s.node.op.name == "sum"
    assert s.node.attrs == {"axis": (1,), "keepdims": True}
    assert (y.node.is_param, y.node.name) == (False, None)
    assert (x + 1.0).node.parents == (1, None)
    assert trace.nodes[2] is y.node


def test_parents_come_before_children(trace):
    v = trace.param(np.linspace(0.1, 1, 4))
    _ = np.tanh(v @ (v[:, None] * v)).sum() + v[1:].prod()
    for i, node in enumerate(trace.nodes):
        assert all(parent is None or parent < i for parent in node.parents)


def test_a_closure_gives_one_contribution_for_each_active_operand(trace):
    w, x = trace.param(3.0), trace.input(4.0)
    assert list((w * x).node.vjp(np.float64(2.0))) == [(w.id, 8.0)]
    assert list((x * w).node.vjp(np.float64(2.0))) == [(w.id, 8.0)]
    assert list((w * w).node.vjp(np.float64(2.0))) == [(w.id, 6.0), (w.id, 6.0)]


def test_params_keep_their_order(trace):
    a, x, b = trace.param(1.0, name="a"), trace.input(5.0), trace.param(np.ones((2, 1), np.float32), name="b")
    assert [p.id for p in trace.params] == [a.id, b.id]
    grads = trace.backward_param_grads(b * a * x)
    assert [(g.shape, g.dtype) for g in grads] == [((), np.float64), ((2, 1), np.float32)]
    assert all(type(g) is np.ndarray for g in grads)
    np.testing.assert_array_equal(grads[0], 10)
    np.testing.assert_array_equal(grads[1], [[5], [5]])


@pytest.mark.parametrize("value", [2.0, [1.0, 2.0], np.float32(2), np.ones((2, 0)), np.array(3.0)])
def test_anything_float_is_a_param(trace, value):
    v = trace.param(value)
    assert v.dtype == np.result_type(np.asarray(value))
    assert scalar(trace.backward_param_grads(v.sum(), seed=1).pop().sum().reshape(1)) == np.size(value)


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


# ---- activity ------------------------------------------------------------------------------------


def counting_op():
    calls = []

    def rule(k):
        def run(g, out, *operands):
            calls.append(k)
            return g * operands[1 - k]

        return run

    return Op(lambda x, y: x * y, name="counted", vjp=[rule(0), rule(1)], jvp=[rule(0), rule(1)]), calls


def test_only_what_depends_on_a_param_is_active(trace):
    w, x = trace.param(np.ones(2)), trace.input(np.ones(2))
    data = np.exp(x) * 3
    y = data * w
    assert data.node.vjp is None
    assert y.node.vjp is not None
    flows = [adjoint is not None for adjoint in trace.backward(y.sum())]
    assert flows == [True, False, False, False, True, True]


@pytest.mark.parametrize("active", [(0,), (1,), (0, 1)])
def test_rules_for_inactive_operands_never_run(trace, active):
    op, calls = counting_op()
    x, y = (trace.param(2.0) if k in active else trace.input(3.0) for k in (0, 1))
    trace.backward_param_grads(op(x, y))
    assert calls == list(active)
    calls.clear()
    trace.backward_param_grads(op(x, 3.0) if 0 in active else op(3.0, y), unreached="zero")
    assert calls == [active[0]]


def test_a_joint_rule_may_answer_for_inactive_operands(trace):
    op = Op(lambda x, y: x * y, name="joint", vjp=lambda g, out, x, y: [g * y, g * x])
    w, x = trace.param(2.0), trace.input(3.0)
    adjoints = trace.backward(op(x, w))
    assert adjoints[x.id] is None
    assert adjoints[w.id] == 3


def test_nothing_flows_through_what_is_constant_almost_everywhere(trace):
    x = trace.param(1.5)
    y = np.floor(x) * x
    assert scalar(trace.backward_param_grads(y)) == 1
    assert trace.jvp(y, {x: 1.0}) == 1


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
    with pytest.raises(errors.DTypeError, match="float dtype"):
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


def test_the_listing_has_one_line_a_node(trace):
    a = trace.param(3.0, name="a")
    b = trace.input(np.ones((2, 3), np.float32), name="data")
    _ = (a * 2.0 + b).sum(axis=0)
    lines = str(trace).splitlines()
    assert lines[0] == "<Trace T: 5 nodes, 1 params>"
    assert [line.split()[0] for line in lines[1:]] == ["%0", "%1", "%2", "%3", "%4"]
    for line, parts in zip(
        lines[1:],
        [
            ("a", "param", "float64[]", "3.0"),
            ("data", "input", "float32[2, 3]"),
            ("multiply(%0, 2.0)", "float64[]", "6.0"),
            ("add(%2, %1)", "[2, 3]"),
            ("sum(%3", "axis=(0,)", "keepdims=False", "[3]"),
        ],
        strict=True,
    ):
        assert all(part in line for part in parts), line
    assert len({line.index("float") for line in lines[1:]}) == 1  # aligned


def test_a_long_listing_leaves_out_the_middle(trace):
    v = trace.param(1.0)
    for _ in range(500):
        v = v + 1.0
    lines = str(trace).splitlines()
    assert len(lines) == 1 + 40 + 1 + 20
    assert lines[41] == "... 441 nodes ..."
    assert lines[-1].startswith("%500")


# ---- nesting -------------------------------------------------------------------------------------


def test_gradient_of_the_gradient_of_the_gradient():
    x = np.array([0.3, -1.2])
    for order in range(5):
        assert_close(derivative(np.exp, order)(x), np.exp(x), 1e-15)


@pytest.mark.parametrize(
    ("order", "expected"), [(1, 1 - math.tanh(1) ** 2), (4, 0.6650910448), (8, -277.062135603)]
)
def test_high_derivatives_of_tanh(order, expected):
    assert float(derivative(np.tanh, order)(np.array(1.0))) == pytest.approx(expected, rel=1e-10)


def test_forward_mode_nests_to_any_order():
    def pushed(f, order):
        return f if order == 0 else lambda x: jvp(pushed(f, order - 1), [x], [np.ones(())])

    for order in range(1, 5):
        expected = derivative(np.tanh, order)(np.array(1.0))
        assert float(pushed(np.tanh, order)(np.array(1.0))) == pytest.approx(float(expected), rel=1e-12)


def test_levels_follow_nesting():
    outer = tape.Trace()
    x = outer.param(2.0)
    inner = tape.Trace()
    y = inner.param(x)
    innermost = tape.Trace()
    innermost.param(y)
    assert (outer.level, inner.level, innermost.level) == (0, 1, 2)
    with outer, tape.Trace() as opened:
        assert opened.level > outer.level
    early = tape.Trace()
    with tape.Trace(), early:
        assert early.level == 1
    assert tape.Trace().level == 0


def test_a_with_block_nests_closures_over_outer_vars():
    """d/dx of (d/dy of x*y*y at y=3), where the inner trace never saw x as a leaf."""
    with tape.Trace() as outer:
        x = outer.param(2.0)
        with tape.Trace() as inner:
            y = inner.param(3.0)
            (dy,) = inner.backward_param_grads(x * y * y)
        assert isinstance(dy, tape.Var)
        assert dy.trace is outer
        assert float(dy) == 12
        assert scalar(outer.backward_param_grads(dy)) == 6


def test_perturbations_are_not_confused():
    """The classic: d/dx (x * d/dy (x + y)) at 1 is 1, not 2 (Siskind and Pearlmutter 2005)."""
    with tape.Trace() as outer:
        x = outer.param(1.0)
        with tape.Trace() as inner:
            y = inner.param(1.0)
            (slope,) = inner.backward_param_grads(x + y)
            pushed = inner.jvp(x + y, {y: 1.0})
        assert scalar(outer.backward_param_grads(x * slope)) == 1
        assert scalar(outer.backward_param_grads(x * pushed)) == 1
        assert outer.jvp(x * slope, {x: 1.0}) == 1


def test_levels_mix_in_one_expression():
    """f(x) = d/dy (x**2 * sin(x*y)) at y = x, which is x**3 cos(x**2)."""

    def f(x):
        trace = tape.Trace()
        y = trace.param(x)
        return trace.backward_param_grads(x * x * np.sin(x * y))[0]

    x = np.array(0.7)
    expected = 3 * x**2 * np.cos(x**2) - 2 * x**4 * np.sin(x**2)
    assert_close(vjp(f, [x])[0], expected, 1e-14)
    assert_close(jvp(f, [x], [np.array(1.0)]), expected, 1e-14)


def test_an_inner_sweep_lands_on_the_outer_tape():
    outer = tape.Trace()
    x = outer.param(np.array([1.0, 2.0]))
    inner = tape.Trace()
    y = inner.param(x)
    length = len(outer)
    (grad,) = inner.backward_param_grads(np.exp(y).sum())
    assert len(outer) > length
    assert grad.trace is outer
    inner_length = len(inner)
    (second,) = outer.backward_param_grads(grad)
    assert len(inner) == inner_length
    assert_close(second, np.exp([1.0, 2.0]), 1e-15)


def test_seeds_and_tangents_may_be_vars_of_the_outer_trace():
    outer = tape.Trace()
    s = outer.param(np.array([1.0, 2.0]))
    inner = tape.Trace()
    x = inner.param(np.array([3.0, 4.0]))
    (grad,) = inner.backward_param_grads(x * x, seed=s)
    assert_close(outer.backward_param_grads(grad)[0], [6, 8], 1e-15)
    pushed = inner.jvp(x * x, {x: s})
    assert_close(outer.backward_param_grads(pushed)[0], [6, 8], 1e-15)


def test_replay_of_an_inner_trace_records_on_the_outer_one():
    outer = tape.Trace()
    x = outer.param(2.0)
    inner = tape.Trace()
    y = inner.param(x)
    z = y * y
    inner.set(y, x * 3.0)
    inner.replay()
    assert z.value.trace is outer
    assert float(z) == 36
    assert scalar(outer.backward_param_grads(z.value)) == 36


def test_traces_in_threads_do_not_nest_into_each_other():
    levels = []

    def open_one():
        with tape.Trace() as trace:
            levels.append(trace.level)

    with tape.Trace():
        thread = threading.Thread(target=open_one)
        thread.start()
        thread.join()
    assert levels == [0]


def test_a_with_block_left_by_an_exception_restores_the_level():
    with pytest.raises(ZeroDivisionError), tape.Trace():
        _ = 1 / 0
    assert tape.Trace().level == 0


# ---- size and memory -----------------------------------------------------------------------------


def test_nothing_recurses_over_the_tape(trace):
    x = v = trace.param(1.0)
    limit = sys.getrecursionlimit()
    depth = len(_frames())
    sys.setrecursionlimit(depth + 60)
    try:
        for _ in range(100_000):
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
        gone, intermediate = weakref.ref(trace), weakref.ref(np.sin(y).value)
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
