"""Names of values, given by hand, in calls and by expressions; nodes by hand; names of other libraries."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.viz import arc, dot


@pytest.fixture
def tr():
    trace = tape.Trace()
    trace.param(np.array([1.0, 2.0]), name="x")
    return trace


def test_any_value_can_be_named(tr):
    h = np.tanh(tr[0])
    assert h.name is None
    h.name = "hidden"
    assert h.name == tr[1].name == h.node.name == "hidden"
    assert "hidden" in repr(h)
    tr[0].name = "weights"
    assert tr.params[0].name == "weights"
    h.name = None
    assert h.name is None


def test_named_returns_what_it_was_given(tr):
    assert tape.named(tr[0] * 2, "double").name == "double"
    array = np.ones(2)
    assert tape.named(array, "double") is array
    assert tape.named(3.0, "three") == 3.0


@pytest.mark.parametrize("name", [1, b"x", ["x"]])
def test_names_are_strings(tr, name):
    with pytest.raises(errors.OptionError):
        tape.named(tr[0], name)
    with pytest.raises(errors.OptionError):
        tr[0].name = name


def test_names_are_shown_in_print_dot_and_arc(tr):
    tape.named(np.tanh(tr[0]), "hidden_units").sum()
    assert "hidden_units" in str(tr)
    assert "hidden_units" in dot(tr)
    assert "hidden_units" in str(arc(tr))


def test_a_named_node_keeps_its_place():
    tr = tape.Trace(sites=True)
    y = np.sin(tr.param(1.0))
    place = str(y.node.site)
    y.name = "y"
    assert str(y.node.site) == place
    y.name = None
    assert str(y.node.site) == place


def test_rules_do_not_hand_names_on():
    with tape.debug():
        outer = tape.Trace()
        x = outer.param(2.0)
        with outer:
            inner = tape.Trace()
            y = tape.named(np.sin(inner.param(x)), "sine")
            inner.backward_param_grads(y)
    assert {node.name for node in outer.nodes} == {None}


def test_expressions_name_what_they_assign():
    f = tape.expression("h = tanh(a)\nk = a\nh * k")
    tr = tape.Trace()
    f(tr.param(0.5))
    assert [node.name for node in tr.nodes] == [None, "h", None]
    np.testing.assert_allclose(tape.compile(f)(0.5), f(0.5))


def test_apply_of_several_operands():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([[0.5], [2.0]])

    def power(a, b):
        return tape.apply(
            (a, b), np.power, (lambda a, b: b * a ** (b - 1), lambda a, b: np.log(a) * a**b), name="p"
        )

    tape.testing.check_grads(power, (x, y), order=2)
    tr = tape.Trace()
    assert power(tr.param(x), y).name == "p"
    np.testing.assert_array_equal(power(x, y), x**y)
    np.testing.assert_allclose(tape.compile(lambda x, y: np.sum(power(x, y)))(x, y), np.sum(x**y))


def test_apply_of_several_operands_checks_its_functions():
    tr = tape.Trace()
    x = tr.param(np.ones(2))
    with pytest.raises(errors.OptionError, match="derivative for each"):
        tape.apply((x, 2.0), np.multiply, lambda a, b: b)
    with pytest.raises(errors.ShapeError, match="f returned shape"):
        tape.apply((x, 2.0), lambda a, b: np.ones(3), (None, None))
    y = tape.apply((x, 2.0), np.multiply, (lambda a, b: np.ones(5), None))
    with pytest.raises(errors.ShapeError, match="derivative 0"):
        tr.backward_param_grads(y)


@pytest.mark.parametrize("f", [np.multiply, lambda a, b: np.asarray(a * b), lambda a, b: float(a * b)])
def test_apply_of_numbers_is_a_number(f):
    """Of NumPy's scalars, as the results of operations are, and no array without axes."""
    df = (lambda a, b: b, lambda a, b: a)
    for a, b in ((2.0, 3.0), (np.float64(2), np.array(3.0)), (np.array(2.0), 3)):
        assert type(tape.apply((a, b), f, df)) is np.float64
        tr = tape.Trace()
        y = tape.apply((tr.param(a), b), f, df)
        assert type(y.value) is np.float64
        assert tr.backward_param_grads(y) == [3.0]
    assert tape.apply((2.0, np.ones((1, 1))), np.multiply, df).shape == (1, 1)


def test_nodes_by_hand(tr):
    x = tr[0]
    y = tr.append(x.value**3, [x], lambda g: [g * 3 * x.value**2], name="cube")
    assert y.name == "cube"
    assert y.node.parents == (0,)
    np.testing.assert_allclose(tr.backward_param_grads(np.sum(y * x)), [4 * x.value**3])
    np.testing.assert_allclose(tr.jvp(y, {x: np.ones(2)}), 3 * x.value**2)
    with pytest.raises(errors.UnsupportedError, match="cube was appended by hand"):
        tr.replay()


def test_nodes_by_hand_without_a_rule_are_constants(tr):
    y = tr.append(tr[0].value * 2, [tr[0]])
    assert not y.node.is_active
    np.testing.assert_allclose(tr.backward_param_grads(np.sum(y * tr[0])), [[2.0, 4.0]])


def test_nodes_by_hand_are_checked(tr):
    other = tape.Trace()
    with pytest.raises(errors.TraceMismatchError):
        tr.append(1.0, [other.param(1.0)])
    with pytest.raises(errors.TraceMismatchError):
        tr.append(1.0, [2.0])
    with pytest.raises(errors.DTypeError):
        tr.append("a", [tr[0]])
    with pytest.raises(errors.ShapeError, match="vjp rule"):
        tr.backward_param_grads(tr.append(np.ones(2), [tr[0]], lambda g: g))
    count = len(tr)
    with pytest.raises(errors.TapeError):
        tr.append(object(), [tr[0]])
    assert len(tr) == count


@pytest.mark.parametrize(
    "name", ["grad", "backward", "data", "numpy", "detach", "requires_grad", "unsqueeze"]
)
def test_names_of_other_libraries_lead_here(tr, name):
    with pytest.raises(errors.MissingAttributeError, match=r"Var has no .*\. [A-Z]"):
        getattr(tr[0], name)
    assert not hasattr(tr[0], name)


@pytest.mark.parametrize("name", ["tensor", "Tensor", "array"])
def test_the_module_too(name):
    with pytest.raises(errors.MissingAttributeError, match=r"np\.array"):
        getattr(tape, name)


def test_operations_by_name():
    assert tape.add is tape.ops.add
    assert tape.matmul is tape.ops.matmul
    assert tape.tanh is tape.ops.tanh
    assert tape.relu is tape.nn.relu
