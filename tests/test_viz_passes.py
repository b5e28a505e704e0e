"""`tape.viz.passes`: the steps are those of the sweeps, and drawing leaves the trace alone."""

import numpy as np
import pytest

import tape
from tape.core.node import plain
from tape.viz.passes import ancestors, backward_steps, forward_steps, root_of, tangent_steps


def _model(tr):
    w, b = tr.param(np.ones((3, 2)), name="w"), tr.param(np.zeros(2), name="b")
    x = tr.input(np.arange(12.0).reshape(4, 3), name="x")
    h = np.tanh(x @ w * 0.1 + b)
    picked = h[1:3] + h[0]  # one of them a part, added in place
    return np.sum(picked * picked) + np.sum(h)


@pytest.mark.parametrize("options", [{}, {"sites": True}, {"check": True}])
def test_the_last_totals_are_what_the_sweeps_return(options) -> None:
    tr = tape.Trace(**options)
    root = _model(tr)
    count = len(tr)
    totals = {}
    for step in backward_steps(tr, root):
        assert step.phase == "backward"
        for write in step.writes:
            assert write.id in step.reads or not step.reads
            totals[write.id] = write.total
    tangents = {step.node: step.writes[0].total for step in tangent_steps(tr)}
    values = {step.node: step.writes[0].total for step in forward_steps(tr)}
    assert len(tr) == count
    assert tr.adjoints is None
    for id, adjoint in enumerate(tr.backward(root)):
        if adjoint is None:
            assert id not in totals
        else:
            np.testing.assert_allclose(totals[id], adjoint, rtol=1e-14, atol=1e-300)
        np.testing.assert_array_equal(values[id], plain(tr.nodes[id].value))
    jvp = tr.jvp(root, {param: np.ones(param.shape) for param in tr.params})
    np.testing.assert_allclose(tangents[root.id], jvp, rtol=1e-14)


def test_steps_add_up() -> None:
    tr = tape.Trace()
    sums: dict[int, float] = {}
    for step in backward_steps(tr, _model(tr)):
        for write in step.writes:
            sums[write.id] = sums.get(write.id, 0.0) + write.added
            np.testing.assert_allclose(sums[write.id], write.total, rtol=1e-14, atol=1e-300)


def test_nested_tapes_are_drawn_without_recording() -> None:
    outer = tape.Trace()
    x = outer.param(2.0)
    with tape.Trace() as inner:
        y = inner.param(x) ** 3
    count = len(outer)
    steps = list(backward_steps(inner, y))
    assert len(outer) == count
    assert type(steps[-1].writes[0].total) is not tape.Var
    assert float(steps[-1].writes[0].total) == 12.0
    assert len(list(tangent_steps(inner))) == 2


def test_a_trace_that_checks_can_be_drawn_where_it_raises() -> None:
    tr = tape.Trace(check=True)
    y = np.sqrt(tr.param(0.0))
    with np.errstate(all="ignore"):
        assert np.isinf(list(backward_steps(tr, y))[-1].writes[0].total)


def test_the_root_is_what_was_swept_or_the_last_node_that_can_be() -> None:
    tr = tape.Trace()
    assert root_of(tr) is None
    x = tr.param(1.0)
    y = x * 2.0
    z = y + 1.0
    assert root_of(tr).id == z.id
    assert root_of(tr, y) is y
    tr.backward(y)
    assert root_of(tr).id == y.id
    inactive = tape.Trace()
    inactive.input(1.0)
    assert root_of(inactive) is None
    with pytest.raises(tape.errors.TraceMismatchError):
        root_of(inactive, y)


def test_ancestors_are_what_the_root_depends_on() -> None:
    tr = tape.Trace()
    x, unused = tr.param(1.0), tr.param(2.0)
    y = np.sin(x)
    np.cos(unused)
    z = y * x
    assert list(ancestors(tr, z)) == [1, 0, 1, 0, 1]
