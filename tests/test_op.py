"""How an operation is declared: one mode makes the other; contradictions and bad rules are refused."""

import copy
import operator
import pickle

import numpy as np
import pytest

import tape
from tape import errors, tree
from tape.core.elementwise import elementwise
from tape.core.numpy_protocol import call_function
from tape.core.op import Op
from tape.core.table import OPERATIONS
from tests.oracles import assert_close, assert_same, jvp, vjp

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
    )
    with pytest.raises(errors.ShapeError, match=r"vjp rule of product made shape \[1, 3\].*shape \[2, 3\]"):
        vjp(op, [X, np.ones((2, 3))])


def test_contributions_are_summed_and_converted_to_what_the_operand_is():
    """What promotion and broadcasting did, is undone; of a complex contribution the real part counts."""
    scale = np.array([[1.0], [2.0]])
    op = Op(lambda x: scale * x, name="mine", vjp=[lambda g, out, x: g * scale * (1 + 1j)])
    assert_same(vjp(op, [X.astype(np.float32)])[0], np.full(3, 3.0, np.float32))
    op = Op(np.copy, name="mine", vjp=[lambda g, out, x: np.ones(3, int)])
    assert_same(vjp(op, [X])[0], np.ones(3))


def test_results_within_results_are_refused_by_name():
    with pytest.raises(errors.UnsupportedError, match="a result of mine is a tuple"):
        Op(lambda x: (x, (x, x)), name="mine")(X)
    with tape.Trace() as trace, pytest.raises(errors.UnsupportedError, match="a result of mine is a list"):
        Op(lambda x: (x, [x, x]), name="mine")(trace.param(X))


@pytest.mark.parametrize(
    "transform",
    [lambda f: f, tape.grad, lambda f: lambda x: tape.jvp(f, (x,), (x,)), tape.compile,
     lambda f: tape.compile(tape.grad(f)), tape.vmap],
)  # fmt: skip
@pytest.mark.parametrize(
    ("returned", "named"),
    [(None, "None"), ({"a": 1.0}, "{'a': 1.0}"), (iter([1.0]), "<list_iterator"), ("text", "'text'"),
     (np.str_("text"), "<U4"), (np.array([1.0, None]), "object"), ((np.ones(3), None), "None"),
     ((np.ones(3), np.array(["a"])), "<U1")],
)  # fmt: skip
def test_results_that_are_no_numbers_are_refused_by_name(returned, named, transform):
    op = Op(lambda x: returned, name="mine", vjp=[lambda g, out, x: g])
    with pytest.raises(errors.DTypeError, match=f"mine returned {named}.*no array of numbers"):
        transform(op)(X)


def test_python_and_numpy_scalars_make_numpy_scalars():
    for f in (lambda x: 1j * x, lambda x: 1j + x, lambda x: 1j - x, lambda x: 1j / x, lambda x: x * 1j):
        out, pull = tape.vjp(f, 2.0)
        assert type(out) is np.complex128
        assert np.isfinite(pull(out)[0])


# ---- one mode makes the other ----------------------------------------------------------------------


def squared(kind):
    """x**2 and x * y, declared in one mode."""
    rules = {
        "vjp": (
            {"vjp": [lambda g, out, x: 2 * x * g]},
            {"vjp": [lambda g, o, x, y: g * y, lambda g, o, x, y: g * x]},
        ),
        "joint vjp": ({"vjp": lambda g, out, x: [2 * x * g]}, {"vjp": lambda g, o, x, y: [g * y, g * x]}),
        "jvp": (
            {"jvp": [lambda t, out, x: 2 * x * t]},
            {"jvp": [lambda t, o, x, y: t * y, lambda t, o, x, y: x * t]},
        ),
        "joint jvp": ({"jvp": lambda t, out, x: 2 * x * t[0]}, {"jvp": joint_product}),
    }[kind]
    return Op(lambda x: x**2, name="mine", **rules[0]), Op(lambda x, y: x * y, name="product", **rules[1])


def joint_product(tangents, out, x, y):
    parts = [part for part in (tangents[0], tangents[1]) if part is not None]
    assert parts
    return sum(t * other for t, other in zip(tangents, (y, x), strict=True) if t is not None)


V = np.array([1.0, 10.0, -2.0])
DERIVATIVES = {
    "grad": lambda f: tape.grad(lambda x: np.sum(f(x)))(X),
    "vjp": lambda f: tape.vjp(f, X)[1](V),
    "jvp": lambda f: tape.jvp(f, (X,), (V,))[1],
    "jacobian": lambda f: tape.jacobian(f)(X),
    "forward jacobian": lambda f: tape.jacobian(f, mode="fwd")(X),
    "reverse jacobian": lambda f: tape.jacobian(f, mode="rev")(X),
    "hessian": lambda f: tape.hessian(lambda x: np.sum(f(x)))(X),
    "hvp": lambda f: tape.hvp(lambda x: np.sum(f(x)))(X, V),
    "divergence": lambda f: tape.divergence(f)(X),
    "laplacian": lambda f: tape.laplacian(lambda x: np.sum(f(x)))(X),
    "taylor": lambda f: tape.taylor(f, X, V, 4),
    "gnvp": lambda f: tape.gnvp(f)(X, V),
    "rop": lambda f: tape.rop(f, X, V),
    "double lop": lambda f: tape.rop(f, X, V, method="double_lop"),
    "linearize": lambda f: tape.linearize(f, X)[1](V),
    "third": lambda f: tape.grad(tape.grad(tape.grad(lambda x: f(x) * x)))(2.0),
    "tangent of a hessian": lambda f: tape.jvp(tape.hessian(lambda x: np.sum(f(x) * x)), (X,), (V,))[1],
    "compiled jvp": lambda f: tape.compile(lambda x, v: tape.jvp(f, (x,), (v,))[1])(X, V),
    "compiled hessian": lambda f: tape.compile(tape.hessian(lambda x: np.sum(f(x))))(X),
    "gradient of a program": lambda f: tape.grad(lambda x: np.sum(tape.compile(f)(x)))(X),
}


@pytest.mark.parametrize("kind", ["vjp", "joint vjp", "jvp", "joint jvp"])
@pytest.mark.parametrize("transform", DERIVATIVES)
def test_a_rule_in_one_mode_gives_every_derivative(transform, kind):
    square, product = squared(kind)
    derive = DERIVATIVES[transform]
    assert_close(derive(square), derive(lambda x: x**2), 1e-13)
    assert_close(derive(lambda x: product(np.sin(x), square(x))), derive(lambda x: np.sin(x) * x**2), 1e-12)
    assert_close(derive(lambda x: product(x, 2.0) * x), derive(lambda x: 2.0 * x * x), 1e-13)


def test_the_other_rule_is_right_when_the_values_change():
    square, _ = squared("vjp")
    compiled = tape.compile(lambda x, v: tape.jvp(square, (x,), (v,))[1])
    for x in (X, -X, np.zeros(3)):
        assert_same(compiled(x, V), 2 * x * V)
    with tape.Trace() as trace:
        x = trace.param(X)
        y = np.sum(square(x))
        assert_same(trace.jvp(y, {x: V}), np.sum(2 * X * V))
        trace.set(x, -X)
        trace.replay()
        assert_same(trace.jvp(y, {x: V}), np.sum(-2 * X * V))


@pytest.mark.parametrize("mode", ["vjp", "jvp"])
def test_broadcasting_dtypes_and_attributes(mode):
    rules = {
        "vjp": [
            lambda g, out, x, y, power: g * y * power * x ** (power - 1),
            lambda d, out, x, y, power: d * x**power,
        ],
        "jvp": [
            lambda t, out, x, y, power: t * y * power * x ** (power - 1),
            lambda d, out, x, y, power: d * x**power,
        ],
    }
    op = Op(lambda x, y, *, power: x**power * y, name="mine", **{mode: rules[mode]})
    x, y = np.array([[1.0, 2.0, 3.0]], np.float32), np.array([[2.0], [3.0]], np.float32)
    for derive in (
        lambda f: tape.grad(lambda a: np.sum(f(*a)))((x, y)),
        lambda f: tape.jvp(f, (x, y), (x, y))[1],
        lambda f: tape.jvp(lambda a: f(a, y.astype(float)), (x,), (x,))[1],
        lambda f: tape.hvp(lambda a: np.sum(f(*a)))((x, y), (x, y)),
    ):
        found, expected = derive(lambda x, y: op(x, y, power=3)), derive(lambda x, y: x**3 * y)
        for part, wanted in zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
            assert part.dtype == wanted.dtype
            assert_close(part, wanted, 1e-6)


@pytest.mark.parametrize("mode", ["vjp", "jvp"])
def test_complex_numbers(mode):
    op = Op(np.exp, name="mine", **{mode: [lambda d, out, z: d * np.exp(z)]})
    z, v = np.array([1 + 2j, 0.5j]), np.array([1j, 2.0 - 1j])
    for derive in (
        lambda f: tape.vjp(f, z)[1](v),
        lambda f: tape.jvp(f, (z,), (v,))[1],
        lambda f: tape.jvp(lambda x: np.abs(f(1j * x)), (np.array([0.3, 2.0]),), (np.ones(2),))[1],
    ):
        assert_close(derive(op), derive(np.exp), 1e-13)


def test_rules_that_look_for_zeros_in_what_they_are_given():
    """As those do that save work, or avoid dividing by zero."""

    def rule(d, out, x):
        return np.zeros(3) if not np.any(tape.stop_gradient(d) != 0) else np.where(d == 0, 0, 2 * x * d)

    for mode in ("vjp", "jvp"):
        op = Op(lambda x: x**2, name="mine", **{mode: [rule]})
        assert_same(tape.vjp(op, X)[1](np.ones(3))[0], 2 * X)
        assert_same(tape.jvp(op, (X,), (np.ones(3),))[1], 2 * X)


def test_rules_that_write_to_what_they_are_given():
    def rule(d, out, x, y):
        d *= 2 * x
        return d

    op = Op(lambda x, y: x**2 + y, name="mine", vjp=[rule, lambda g, out, x, y: g])
    assert_same(tape.jvp(op, (X, X), (V, V))[1], 2 * X * V + V)


def test_operands_without_a_rule_do_not_move():
    for rules in (
        {"vjp": [lambda g, out, x, y: g * y, None]},
        {"jvp": [lambda t, out, x, y: t * y, None]},
        {"vjp": [lambda g, out, x, y: g * y, None], "linear": True},
    ):
        op = Op(lambda x, y: x * y, name="mine", **rules)
        assert_same(tape.jvp(op, (X, X), (V, V))[1], V * X)
        nested = tape.jvp(lambda x, op=op: tape.jvp(lambda x: op(x, x), (x,), (V,))[1], (X,), (V,))[1]
        assert_same(tape.taylor(lambda x, op=op: op(x, x), X, V, 2), np.array([X * X, V * X, nested]))
        assert_same(tape.grad(lambda x, op=op: np.sum(op(x, x)))(X), X)
        assert_same(tape.jacobian(lambda y, op=op: op(X, y))(X), np.zeros((3, 3)))


def test_linear_operations_are_their_own_forward_rule():
    calls = []

    def forward(x):
        calls.append(x)
        return 3 * x

    op = Op(forward, name="mine", vjp=[lambda g, out, x: 3 * g], linear=True)
    assert_same(tape.jvp(op, (X,), (V,))[1], 3 * V)
    assert_same(calls[-1], V)
    assert_same(tape.taylor(op, X, V, 3), np.array([3 * X, 3 * V, 0 * X, 0 * X]))


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_nothing_flows_where_all_rules_are_none(kind):
    op = Op(np.floor, name="mine", **{kind: [None]})
    assert_same(tape.jacobian(op, mode="rev")(X), np.zeros((3, 3)))
    assert_same(tape.jvp(lambda x: op(x) + x, (X,), (V,))[1], V)
    assert_same(tape.taylor(lambda x: op(x) + x, X, V, 2)[1:], np.array([V, 0 * V]))


RULE = [lambda d, out, x: d]
CONTRADICTIONS = {
    "vjp, and None as jvp": ({"vjp": RULE, "jvp": [None]}, "vjp rule for operand 0, and None as its jvp"),
    "jvp, and None as vjp": ({"vjp": [None], "jvp": RULE}, "jvp rule for operand 0, and None as its vjp"),
    "of several": (
        {"vjp": [*RULE, None], "jvp": [*RULE, *RULE]},
        "jvp rule for operand 1, and None as its vjp",
    ),
    "other number": ({"vjp": RULE, "jvp": [*RULE, None]}, "1 vjp rules and 2 jvp rules"),
    "linear with jvp": ({"vjp": RULE, "jvp": RULE, "linear": True}, "declared linear"),
    "linear without vjp": ({"linear": True}, "declared linear"),
    "linear with a joint vjp": ({"vjp": lambda g, out, x: [g], "linear": True}, "declared linear"),
    "taylor alone": ({"taylor": lambda *args: None}, "taylor rule alone"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_rules_that_contradict_each_other_are_refused_where_they_are_declared(name):
    rules, words = CONTRADICTIONS[name]
    with pytest.raises(errors.OptionError, match=words):
        Op(lambda x: x, name="mine", **rules)


@pytest.mark.parametrize("rules", [{"vjp": RULE}, {"jvp": RULE}, {"vjp": RULE, "linear": True}])
def test_fewer_rules_than_operands(rules):
    op = Op(lambda x, y: x + y, name="mine", **rules)
    for derive in (vjp, lambda f, x: jvp(f, x, x)):
        with pytest.raises(
            errors.ShapeError, match=r"mine has 1 (vjp|jvp) rules, and was called with 2 operands"
        ):
            derive(op, [X, X])


@pytest.mark.parametrize("made", [lambda g: g, lambda g: [], lambda g: [g, g], lambda g: None])
def test_a_joint_rule_that_returns_no_list_of_one_for_each(made):
    op = Op(lambda x: 2 * x, name="mine", vjp=lambda g, out, x: made(g))
    for derive in (vjp, lambda f, x: jvp(f, x, x)):
        with pytest.raises(errors.ShapeError, match=r"vjp rule of mine returned .* for 1 operands"):
            derive(op, [np.ones(1)])


def test_rules_without_a_transpose():
    steady = Op(lambda x: 2 * x, name="steady", vjp=[lambda g, out, x: 2 * np.ones(3)])
    with pytest.raises(errors.UnsupportedError, match=r"vjp rule of steady .* does not depend on its first"):
        jvp(steady, [X], [X])
    steady = Op(lambda x: 2 * x, name="steady", jvp=[lambda g, out, x: 2 * np.ones(3)])
    with pytest.raises(errors.UnsupportedError, match=r"jvp rule of steady .* does not depend on its first"):
        vjp(steady, [X])
    itself = Op(lambda x: -x, name="itself", jvp=[lambda t, out, x: itself(t)])
    with pytest.raises(errors.UnsupportedError, match="jvp rule of itself applies itself to a tangent"):
        vjp(itself, [X])
    backwards = Op(lambda x: -x, name="backwards", vjp=[lambda g, out, x: backwards(g)])
    assert_same(jvp(backwards, [X], [V]), -V)


# ---- errors in code of the user's own ---------------------------------------------------------------


def bug(*args, **attrs):
    return len(5)


@pytest.mark.parametrize("transform", DERIVATIVES)
@pytest.mark.parametrize("where", ["forward", "vjp", "jvp"])
def test_an_error_of_the_users_stays_what_it_is(where, transform):
    parts = {
        "forward": lambda x: x**2,
        "vjp": [lambda g, out, x: 2 * x * g],
        "jvp": [lambda t, out, x: 2 * x * t],
    }
    if where == "forward":
        parts["forward"] = bug
    else:
        parts = {"forward": parts["forward"], where: [bug]}
    op = Op(parts.pop("forward"), name="mine", **parts)
    with pytest.raises(TypeError, match="has no len") as caught:
        DERIVATIVES[transform](op)
    assert not isinstance(caught.value, errors.TapeError)
    assert any("<op mine>" in note for note in caught.value.__notes__)


def test_an_error_of_the_users_in_what_numpy_calls():
    def mine(x):
        raise NotImplementedError

    op = Op(bug, name="mine", vjp=[lambda g, out, x: g], numpy=mine)
    with pytest.raises(TypeError, match="has no len") as caught, tape.Trace() as trace:
        call_function(mine, (trace.param(X),), {})
    assert not isinstance(caught.value, errors.TapeError)
    del OPERATIONS[mine]
    assert op.name == "mine"


def test_what_numpy_says_of_operands_is_explained():
    for forward in (np.matmul, operator.matmul, np.dot):
        op = Op(forward, name="mine", vjp=[None, None])
        with pytest.raises(errors.ShapeError, match=r"mine\(float64\[3, 2\], float64\[3\]\)"):
            op(np.ones((3, 2)), np.ones(3))


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


@pytest.mark.parametrize(
    ("one", "other"),
    [(0, 1), (0, False), (1, True), ((0, 1), (1, 0)), ((0, 1), (False, 1)), ((0,), 0), (None, 0), ("0", 0)],
)
def test_calls_share_what_they_record_if_their_static_arguments_are_alike(one, other):
    op = tape.Op(lambda x, *, option: x + 0.0, name="noted", vjp=[lambda g, out, x, option: g])
    tr = tape.Trace()
    x = tr.param(np.ones(2))
    first, again, another = (op(x, option=option).node.call for option in (one, one, other))
    assert first is again
    assert another is not first
    assert (type(first.attrs["option"]), first.attrs["option"]) == (type(one), one)
    assert (type(another.attrs["option"]), another.attrs["option"]) == (type(other), other)


@pytest.mark.parametrize("option", [0.5, float("nan"), -0.0, np.ones(2), [0, 1], (0, 0.5), (0, (1, 2))])
def test_calls_with_other_static_arguments_share_nothing(option):
    op = tape.Op(lambda x, *, option: x + 0.0, name="noted", vjp=[lambda g, out, x, option: g])
    tr = tape.Trace()
    x = tr.param(np.ones(2))
    assert op(x, option=option).node.call is not op(x, option=option).node.call


def test_fewer_elements_than_broadcasting_can_have_added_are_refused():
    """A contribution of another shape would be summed: to the gradient of another function."""
    rows = Op(lambda x: x[:, 0] ** 2, name="rows", vjp=[lambda g, out, x: 2 * g * x])
    with pytest.raises(errors.ShapeError, match=r"vjp rule of rows made shape \[3, 3\]"):
        tape.grad(lambda x: np.sum(rows(x)))(X[:, None])
    wide = Op(lambda x: np.ones(3) * x, name="wide", vjp=[lambda g, out, x: g[:2]])
    with pytest.raises(errors.ShapeError, match=r"vjp rule of wide made shape \[2\]"):
        tape.grad(lambda x: np.sum(wide(x)))(1.0)


@pytest.mark.parametrize(("x", "y"), [((3, 1), (1, 4)), ((3,), (2, 3)), ((), (2, 3)), ((1, 3), (4, 2, 1))])
def test_contributions_as_large_as_the_result_are_summed(x, y):
    product = Op(lambda x, y: x * y, name="product", vjp=[lambda g, o, x, y: g * y, lambda g, o, x, y: g * x])
    x, y = np.random.default_rng(0).normal(size=x), np.random.default_rng(1).normal(size=y)
    found = tape.grad(lambda x, y: np.sum(np.sin(product(x, y))), (0, 1))(x, y)
    expected = tape.grad(lambda x, y: np.sum(np.sin(x * y)), (0, 1))(x, y)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other)


def turned(x):
    return np.swapaxes(x, -1, -2)


WIDENED = {
    "matmul": (
        lambda x, y: x @ y,
        [lambda g, out, x, y: g @ turned(y), lambda g, out, x, y: turned(x) @ g],
        [
            ((2, 3), (5, 3, 4)),
            ((1, 2, 3), (5, 3, 4)),
            ((1, 2, 3), (2, 5, 3, 4)),
            ((2, 1, 2, 3), (2, 5, 3, 4)),
        ],
    ),
    "sums of products": (
        lambda x, y: np.sum(x * y, -1),
        [lambda g, out, x, y: g[..., None] * y, lambda g, out, x, y: g[..., None] * x + 0 * y],
        [((1, 3), (7, 3)), ((7, 1), (7, 3))],
    ),
    "einsum": (
        lambda x, y: np.einsum("bij,jk->bik", x, y),
        [
            lambda g, out, x, y: np.einsum("bik,jk->bij", g, y),
            lambda g, out, x, y: np.einsum("bij,bik->bjk", x, g),
        ],
        [((5, 2, 3), (3, 4))],
    ),
}


@pytest.mark.parametrize(
    ("name", "shapes"), [(name, one) for name, case in WIDENED.items() for one in case[2]]
)
def test_contributions_are_as_wide_as_other_operands_make_them(name, shapes):
    f, rules, _ = WIDENED[name]
    op = Op(f, name="mine", vjp=rules)
    x, y = (np.random.default_rng(k).normal(size=shape) for k, shape in enumerate(shapes))
    found = tape.grad(lambda x, y: np.sum(np.sin(op(x, y))), (0, 1))(x, y)
    expected = tape.grad(lambda x, y: np.sum(np.sin(f(x, y))), (0, 1))(x, y)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other)


def scaled_square(x, *, k):
    return k * x * x


def slope_of_square(g, out, x, k):
    return 2 * k * g * x


@pytest.mark.parametrize("again", [lambda op: pickle.loads(pickle.dumps(op)), copy.copy, copy.deepcopy])
def test_an_operation_is_pickled_and_copied_by_its_functions(again):
    op = again(Op(scaled_square, name="scaled_square", vjp=[slope_of_square]))
    assert_same(tape.grad(lambda x: np.sum(op(x, k=2.0)))(X), 4 * X)
    assert str(op) == "<op scaled_square>"
