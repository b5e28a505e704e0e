"""What rules of an operation are caught at: results that cannot be the derivatives they stand for."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.functions import elementwise
from tape.op import Op
from tests.oracles import assert_same, jvp, vjp

X = np.array([1.0, 2.0, 3.0])


def doubled(vjp=lambda g, out, x: 2 * g, jvp=lambda t, out, x: 2 * t):
    return Op(lambda x: 2 * x, name="mine", vjp=[vjp], jvp=[jvp])


MISFITS = {
    "more axes": lambda d, out, x: np.ones((3, 3)),
    "other length": lambda d, out, x: np.ones(2),
    "a number": lambda d, out, x: 2.0,
    "a NumPy number": lambda d, out, x: np.float64(2.0),
    "a list": lambda d, out, x: [2.0, 2.0],
    "nothing": lambda d, out, x: None,
    "a Var": lambda d, out, x: np.stack([np.sum(d), np.sum(d)]),
}


@pytest.mark.parametrize("made", MISFITS)
@pytest.mark.parametrize(
    "make", [lambda rule: doubled(vjp=rule), lambda rule: elementwise(lambda x: -x, rule, name="mine")]
)
def test_a_contribution_of_another_shape_is_an_error_that_names_the_operation(made, make):
    op = make(MISFITS[made])
    with pytest.raises(errors.ShapeError, match=f"vjp rule of {op.__name__}.*\\[3\\]"):
        vjp(op, [X])
    if made == "a Var":
        with pytest.raises(errors.ShapeError, match=f"vjp rule of {op.__name__}"):
            jvp(lambda x: vjp(op, [x])[0], [X], [X])


@pytest.mark.parametrize("made", ["more axes", "other length", "a list"])
def test_a_tangent_of_another_shape_is_an_error_that_names_the_operation(made):
    with pytest.raises(errors.ShapeError, match=r"jvp rule of mine.*float64\[3\]"):
        jvp(doubled(jvp=MISFITS[made]), [X], [X])


@pytest.mark.parametrize("made", [np.array(["a", "b", "c"]), np.array([None, None, None])])
def test_what_is_no_number_is_no_contribution(made):
    with pytest.raises(errors.DTypeError, match=r"vjp rule of mine.*numbers"):
        vjp(doubled(vjp=lambda g, out, x: made), [X])


def test_a_wrong_operand_among_several_is_told_by_its_shape():
    op = Op(
        lambda x, y: x * y,
        name="product",
        vjp=[lambda g, out, x, y: g * y, lambda g, out, x, y: g[:1]],
        jvp=[None, None],
    )
    with pytest.raises(errors.ShapeError, match=r"vjp rule of product made shape \[1, 3\].*shape \[2, 3\]"):
        vjp(op, [X, np.ones((2, 3))])


def test_contributions_are_summed_and_converted_to_what_the_operand_is():
    """What promotion and broadcasting did, is undone; of a complex contribution the real part counts."""
    scale = np.array([[1.0], [2.0]])
    op = Op(lambda x: scale * x, name="mine", vjp=[lambda g, out, x: g * scale * (1 + 1j)], jvp=[None])
    assert_same(vjp(op, [X.astype(np.float32)])[0], np.full(3, 3.0, np.float32))
    op = Op(np.copy, name="mine", vjp=[lambda g, out, x: np.ones(3, int)], jvp=[None])
    assert_same(vjp(op, [X])[0], np.ones(3))


def test_several_results_are_refused_by_name():
    with pytest.raises(errors.UnsupportedError, match="mine returned 2 results"):
        Op(lambda x: (x, x), name="mine")(X)
    with tape.Trace() as trace, pytest.raises(errors.UnsupportedError, match="mine returned 2 results"):
        Op(lambda x: (x, x), name="mine")(trace.param(X))


def test_a_joint_vjp_rule_alone_gives_no_forward_mode():
    op = Op(np.sin, name="mine", vjp=lambda g, out, x: [g * np.cos(x)])
    assert_same(vjp(op, [X])[0], np.cos(X))
    with pytest.raises(errors.UnsupportedError, match="mine has a vjp rule and no jvp rule"):
        jvp(op, [X], [X])


def test_python_and_numpy_scalars_make_numpy_scalars():
    for f in (lambda x: 1j * x, lambda x: 1j + x, lambda x: 1j - x, lambda x: 1j / x, lambda x: x * 1j):
        out, pull = tape.vjp(f, 2.0)
        assert type(out) is np.complex128
        assert np.isfinite(pull(out)[0])


def test_a_rule_that_records_on_the_tape_that_is_swept_is_refused():
    trace = tape.Trace()
    x, y = trace.param(X), trace.param(X)
    op = Op(lambda x: 2 * x, name="mine", vjp=[lambda g, out, x: g * y], jvp=[lambda t, out, x: t * y])
    out = op(x)
    count = len(trace)
    with pytest.raises(errors.UnsupportedError, match=r"a rule closes over a Var of .* being swept"):
        trace.backward(out, np.ones(3))
    with pytest.raises(errors.UnsupportedError, match=r"a rule closes over a Var of .* being swept"):
        trace.jvp(out, {x: np.ones(3)})
    assert len(trace) == count


def test_an_operation_that_fails_when_run_again_says_which_node_it_was():
    trace = tape.Trace()
    x = trace.input(np.ones(2))

    def picky(x):
        if x[0] > 1:
            raise RuntimeError("too large")
        return x

    Op(picky, name="picky")(x)
    trace.set(x, np.array([2.0, 2.0]))
    with pytest.raises(RuntimeError, match="too large") as caught:
        trace.replay()
    assert any("picky" in note and "node %1" in note for note in caught.value.__notes__)
