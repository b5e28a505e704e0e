"""Nodes and leaves: what they hold, and which of them are active."""

import numpy as np
import pytest

import tape
from tape.core.op import Op
from tests.oracles import scalar

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
