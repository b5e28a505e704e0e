"""`custom_vjp` and `custom_jvp`: one rule makes both modes at every order, and bad rules are told."""

import math
import warnings
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors
from tape.core import interpreter
from tests.oracles import assert_close, assert_same
from tests.test_checkpoint import TRANSFORMS, A, V, X
from tests.tiers import grid, takes_long

KINDS = [tape.custom_vjp, tape.custom_jvp]


def custom(kind: Any, f: Any, rule: Any) -> Any:
    """A custom function with its rule."""
    function = kind(f)
    (function.defvjp if kind is tape.custom_vjp else function.defjvp)(rule)
    return function


def by_vjp(rule: Any, f: Any = lambda x: x * x) -> Any:
    return custom(tape.custom_vjp, f, rule)


def by_jvp(rule: Any, f: Any = lambda x: x * x) -> Any:
    return custom(tape.custom_jvp, f, rule)


# ---- every transform -----------------------------------------------------------------------------

SINE = {  # in plain Python: nothing of it could be recorded
    tape.custom_vjp: (lambda g, out, x: g * np.cos(x)),
    tape.custom_jvp: (lambda t, out, x: t[0] * np.cos(x)),
}
PRODUCT = {
    tape.custom_vjp: lambda g, out, m, x: (g[:, None] * x, m.T @ g),
    tape.custom_jvp: lambda t, out, m, x: t[0] @ x + m @ t[1],
}


def sine(kind: Any) -> Any:
    return custom(kind, lambda x: np.array([math.sin(a) for a in np.asarray(x)]), SINE[kind])


def product(kind: Any) -> Any:
    return custom(kind, lambda m, x: np.array([sum(map(float, row * x)) for row in m]), PRODUCT[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_one_rule_is_enough_for_every_transform(transform, kind):
    derive, sin, matvec = TRANSFORMS[transform], sine(kind), product(kind)

    def by_hand(x: Any) -> Any:
        return sin(matvec(A * x, sin(x))) * x + matvec(A, x)

    def recorded(x: Any) -> Any:
        return np.sin((A * x) @ np.sin(x)) * x + A @ x

    assert_close(derive(by_hand), derive(recorded), 1e-12)


TREES = {
    tape.custom_vjp: lambda g, out, p, n: (
        {"a": g[0] * p["b"] + g[1]["c"], "b": g[0] * p["a"], "n": 0},
        None,
    ),
    tape.custom_jvp: lambda t, out, p, n: (
        t[0]["a"] * p["b"] + p["a"] * t[0]["b"],
        {"c": t[0]["a"], "k": out[1]["k"]},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_trees_and_what_is_no_float(kind):
    def f(p: Any, n: int) -> Any:
        return p["a"] * p["b"], {"c": p["a"] + 0.0, "k": n}

    def run(function: Any) -> Any:
        def total(x: Any) -> Any:
            first, rest = function({"a": np.sin(x), "b": x, "n": 7}, 5)
            assert rest["k"] == 5
            return first * rest["c"]

        return total

    function = custom(kind, f, TREES[kind])
    for transform in ("grad", "jvp", "jacobian fwd", "jacobian rev", "hessian"):
        derive = TRANSFORMS[transform]
        assert_close(derive(run(function)), derive(run(f)), 1e-12)


def test_arguments_that_are_no_vars():
    seen = []

    def rule(tangents: Any, out: Any, x: Any, c: float, n: int, word: str) -> Any:
        seen.append(tangents[1:])
        return tangents[0] * c

    function = by_jvp(rule, lambda x, c, n, word: x * c)
    assert tape.grad(lambda x: function(x, 2.0, 3, "word"))(1.0) == 2
    assert tape.jvp(lambda x: function(x, 2.0, 3, "word"), (1.0,), (1.0,))[1] == 2
    assert seen == [(0.0, None, None)] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_called_with_arrays_it_just_computes(kind):
    calls = []
    function = custom(kind, lambda *args: calls.append(args) or 2.0, None)
    assert function(1, "word", X) == 2
    assert function() == 2
    assert all(type(arg) is not tape.Var for args in calls for arg in args)


@pytest.mark.parametrize("kind", KINDS)
def test_the_function_sees_plain_arrays(kind):
    seen = []
    function = custom(kind, lambda x: seen.append(type(x)) or np.array(x), SINE[kind])
    TRANSFORMS["hessian"](function)
    assert set(seen) == {np.ndarray}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_one_node_with_the_name_of_the_function(kind):
    def twice(x: Any) -> Any:
        """Said here."""
        return np.asarray(x) + x

    function = custom(kind, twice, None)
    assert (function.__name__, function.__doc__) == ("twice", "Said here.")
    function.rule = {tape.custom_vjp: lambda g, out, x: 2 * g, tape.custom_jvp: lambda t, out, x: 2 * t[0]}[
        kind
    ]
    trace = tape.Trace()
    y = function(trace.param(X))
    assert len(trace) == 2
    assert y.node.op.name == "twice"
    trace.set(trace[0], 2 * X)
    trace.replay()
    assert_same(y.value, 4 * X)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_stays_float32(kind):
    x = X.astype(np.float32)
    wide = {  # a rule that computes in float64
        tape.custom_vjp: lambda g, out, x: g * np.full(3, 2.0),
        tape.custom_jvp: lambda t, out, x: t[0] * np.full(3, 2.0),
    }[kind]
    function = custom(kind, lambda x: x * np.float32(2), wide)
    out, moved = tape.jvp(function, (x,), (x,))
    assert_same(out, 2 * x)
    assert_same(moved, 2 * x)
    assert_same(tape.vjp(function, x)[1](x)[0], 2 * x)
    assert tape.jacobian(function)(x).dtype == np.float32


def test_where_nothing_flows():
    none = by_vjp(lambda g, out, x, y: (None, g), lambda x, y: x * y)
    assert tape.grad(none, (0, 1))(2.0, 3.0) == (0, 1)
    assert tape.jvp(none, (2.0, 3.0), (1.0, 0.0)) == (6, 0)
    numbers = by_vjp(lambda g, out, x: [2.0 * g, 0], lambda x: x[0] + x[1])
    assert tape.grad(lambda x: numbers([x, x]))(3.0) == 2
    assert tape.jvp(lambda x: numbers([x, x]), (3.0,), (1.0,)) == (6, 2)


def test_none_for_a_leaf_where_nothing_flows():
    """As an argument that is no float has None for its tangent."""
    function = by_vjp(lambda g, out, p: {"a": 2 * g, "b": None, "n": None}, lambda p: p["a"] * 2)
    assert tape.grad(lambda x: function({"a": x, "b": x, "n": 7}))(3.0) == 2
    moving = by_jvp(lambda t, out, x: (2 * t[0], None), lambda x: (2 * x, 7))
    assert tape.grad(lambda x: moving(x)[0])(3.0) == 2


def test_none_for_a_tree_where_nothing_flows():
    function = by_vjp(
        lambda g, out, x, p, y: (7 * g, None, 5 * g), lambda x, p, y: x * p["a"] * p["b"][0] + y
    )
    found = tape.grad(function, (0, 1, 2))(2.0, {"a": 3.0, "b": [4.0, np.ones(2)]}, 1.0)
    assert found[0] == 7
    assert found[2] == 5
    assert_same(found[1].pop("a"), np.float64(0.0))
    assert_same(found[1]["b"][0], np.float64(0.0))
    assert_same(found[1]["b"][1], np.zeros(2))


@pytest.mark.parametrize("zero", [0.0, 0, np.float64(0), np.zeros(())])
def test_a_tangent_that_is_a_number(zero):
    function = by_jvp(lambda t, out, x: zero)
    assert tape.jvp(function, (3.0,), (1.0,)) == (9, 0)
    assert tape.jvp(lambda x: function(x) * x, (3.0,), (1.0,)) == (27, 9)
    assert tape.grad(lambda x: function(x) * x)(3.0) == 9


def test_a_rule_may_differ_from_the_derivative():
    reversed_ = by_vjp(lambda g, out, x: -g, lambda x: x)
    assert tape.grad(lambda x: reversed_(x) * 2)(1.0) == -2
    clipped = by_vjp(lambda g, out, x: np.clip(g, -1, 1), lambda x: x)
    assert tape.grad(lambda x: clipped(x) * 5)(1.0) == 1


# ---- closures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_functions_that_close_over_vars_are_refused(kind):
    def f(w: Any) -> Any:
        return custom(kind, lambda x: x * w, SINE[kind])(2.0)

    for derive in (tape.grad, lambda f: lambda x: tape.jvp(f, (x,), (x,))):
        with pytest.raises(errors.UnsupportedError, match=r"closes over Var.* Pass it as an argument"):
            derive(f)(3.0)
    assert interpreter.innermost_open() is None


def test_the_way_out_that_the_message_names():
    def f(w: Any) -> Any:
        held = tape.stop_gradient(w).value
        return by_vjp(lambda g, out, x: g * held, lambda x: x * held)(w)

    assert tape.grad(f)(3.0) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_rules_that_close_over_vars_of_an_outer_trace(kind):
    rule = {
        tape.custom_vjp: lambda w: lambda g, out, x: g * w,
        tape.custom_jvp: lambda w: lambda t, out, x: t[0] * w,
    }[kind]
    assert tape.grad(lambda w: tape.grad(custom(kind, lambda x: 2 * x, rule(w)))(3.0))(5.0) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_rules_that_close_over_vars_of_the_trace_that_is_swept(kind):
    """Right, or refused: never a wrong number, nor a Var that has leaked."""
    rule = {
        tape.custom_vjp: lambda w: lambda g, out, x: g * w,
        tape.custom_jvp: lambda w: lambda t, out, x: t[0] * w,
    }[kind]

    def f(w: Any) -> Any:
        return custom(kind, lambda x: 2 * x, rule(w))(w)

    for derive in (
        lambda: tape.grad(f)(5.0),
        lambda: tape.vjp(f, 5.0)[1](1.0)[0],
        lambda: tape.jvp(f, (5.0,), (1.0,))[1],
    ):
        try:
            found = derive()
        except errors.TapeError:
            continue
        assert not isinstance(found, tape.Var)
        assert found == 5


def in_checkpoint(sin: Any) -> Any:
    return lambda x: tape.checkpoint(lambda: sin(x * x) * x)()


def in_loop(sin: Any) -> Any:
    return lambda x: tape.checkpoint_loop(lambda s, step: sin(s) + x, x, 3, 2)


@pytest.mark.parametrize("run", [in_checkpoint, in_loop])
@pytest.mark.parametrize("kind", KINDS)
def test_inside_of_what_runs_again(kind, run):
    for transform in ("grad", "jvp", "hessian"):
        derive = TRANSFORMS[transform]
        assert_close(derive(run(sine(kind))), derive(run(np.sin)), 1e-12)


# ---- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_rule(kind):
    function = kind(lambda x: x)
    name = "defvjp" if kind is tape.custom_vjp else "defjvp"
    with pytest.raises(errors.UnsupportedError, match=rf"has no rule yet. Give it one: @.*{name}"):
        tape.grad(function)(1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_methods_are_refused(kind):
    class Model:
        @kind
        def f(self, x: Any) -> Any:
            return x

    with pytest.raises(errors.UnsupportedError, match=r"f is a method.* call it from the method"):
        Model().f(1.0)


def pulled(function: Any, *args: Any) -> Any:
    return lambda: tape.grad(lambda *args: np.sum(function(*args)))(*args)


def transposed(function: Any, *args: Any) -> Any:
    return lambda: tape.jvp(function, args, args)


TWO = (X, V)

BAD_RULES = [
    (
        by_vjp(lambda g, out, x: np.sum(g)),
        (X,),
        errors.ShapeError,
        r"shape \[\] for its argument, of shape \[3\]",
    ),
    (
        by_vjp(lambda g, out, x: np.ones(4)),
        (X,),
        errors.ShapeError,
        r"shape \[4\] for its argument, of shape \[3\]",
    ),
    (by_vjp(lambda g, out, x: (g,)), (X,), errors.ShapeError, "returned a tree .* for argument 0"),
    (
        by_vjp(lambda g, out, x: [g], lambda x: x["a"]),
        ({"a": X},),
        errors.ShapeError,
        "for argument 0, which is",
    ),
    (
        by_vjp(lambda g, out, x: {"b": g}, lambda x: x["a"]),
        ({"a": X},),
        errors.ShapeError,
        "for argument 0, which",
    ),
    (
        by_vjp(lambda g, out, x: g, lambda x: x["a"]),
        ({"a": X},),
        errors.ShapeError,
        "for argument 0, which is",
    ),
    (by_vjp(lambda g, out, x, y: g, lambda x, y: x * y), TWO, errors.ShapeError, "for 2 arguments. .* tuple"),
    (by_vjp(lambda g, out, x, y: (g, g, g), lambda x, y: x * y), TWO, errors.ShapeError, "for 2 arguments"),
    (
        by_vjp(lambda g, out, x: None if g is None else "word"),
        (X,),
        errors.TapeError,
        "returned .* for its argument",
    ),
    (
        by_jvp(lambda t, out, x: np.ones(4)),
        (X,),
        errors.ShapeError,
        r"rule of .* shape \[4\] for .*, of shape \[3\]",
    ),
    (by_jvp(lambda t, out, x: (t[0],)), (X,), errors.ShapeError, "the rule of .* returned a tree"),
    (by_jvp(lambda t, out, x: None), (X,), errors.ShapeError, "the rule of .* returned a tree"),
]


@pytest.mark.parametrize("rule", [lambda t, out, x: t, lambda t, out, x: [t], lambda t, out, x: {"b": t}])
@pytest.mark.parametrize("mode", [tape.jvp, lambda f, args, _: tape.vjp(f, *args)[1]({"a": X})])
def test_the_tangent_of_a_tree_is_such_a_tree(rule, mode):
    with pytest.raises(errors.ShapeError, match=r"returned a tree .* for the result, which is"):
        mode(by_jvp(rule, lambda x: {"a": x}), (X,), (X,))


@pytest.mark.parametrize("mode", [pulled, transposed])
@pytest.mark.parametrize(("function", "args", "error", "words"), BAD_RULES)
def test_bad_rules(function, args, error, words, mode):
    with pytest.raises(error, match=words):
        mode(function, *args)()
    assert interpreter.innermost_open() is None


@pytest.mark.parametrize("mode", [pulled, transposed])
@pytest.mark.parametrize("wrong", ["word", 1j])
@pytest.mark.parametrize("kind", KINDS)
def test_rules_that_return_no_real_numbers(kind, wrong, mode):
    function = custom(kind, lambda x: x * x, lambda *given: wrong)
    with pytest.raises(errors.TapeError):
        mode(function, 3.0)()


@pytest.mark.parametrize("kind", KINDS)
def test_what_function_and_rule_raise_comes_through(kind):
    def fails(*args: Any) -> Any:
        raise KeyError("mine")

    for function in (custom(kind, fails, SINE[kind]), custom(kind, lambda x: x, fails)):
        for mode in (pulled, transposed):
            with pytest.raises(KeyError, match="mine"):
                mode(function, X)()
            assert interpreter.innermost_open() is None


@pytest.mark.parametrize("kind", KINDS)
def test_taylor_series(kind):
    assert_close(tape.taylor(sine(kind), X, V, 5), tape.taylor(np.sin, X, V, 5), 1e-13)


def test_keywords_are_refused_by_name():
    function = custom(tape.custom_vjp, lambda x, n: n * x, lambda g, out, x, n: (g * n, None))
    with pytest.raises(errors.UnsupportedError, match="called with the keyword arguments n"):
        function(2.0, n=3)


# ---- programs ------------------------------------------------------------------------------------

SCALES = np.array([1.0, -2.0, 0.5])
RECORDED = {
    tape.custom_vjp: lambda: (
        by_vjp(lambda g, out, x: g * np.cos(x), np.sin),
        by_vjp(
            lambda g, out, x, y: (g[0] * y * SCALES + g[1], g[0] * x * SCALES),
            lambda x, y: (x * y * SCALES, np.sum(x)),
        ),
    ),
    tape.custom_jvp: lambda: (
        by_jvp(lambda t, out, x: t[0] * np.cos(x), np.sin),
        by_jvp(
            lambda t, out, x, y: ((t[0] * y + x * t[1]) * SCALES, np.sum(t[0])),
            lambda x, y: (x * y * SCALES, np.sum(x)),
        ),
    ),
}


@takes_long
@grid(transform=TRANSFORMS, kind=KINDS, times=2)
def test_functions_of_numpy_code_are_rows_of_a_program(transform, kind):
    sin, two = RECORDED[kind]()

    def f(x: Any) -> Any:
        first, second = two(sin(x), x)
        return first * second + sin(tape.scan(lambda c, a: (sin(c * a), None), x, A)[0])

    at = TRANSFORMS[transform]
    compiled = tape.compile(lambda x: at(lambda y: f(y + x)))
    assert_close(compiled(X), at(lambda y: f(y + X)), 1e-12)
    assert_close(compiled(V), at(lambda y: f(y + V)), 1e-12)
    assert all(not program.explain().callbacks for program in compiled.programs.values())


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_other_code_stay_callbacks(kind):
    gradient = tape.grad(lambda x: np.sum(sine(kind)(x) ** 2))
    compiled = tape.compile(gradient)
    for x in (X, V):
        assert_close(compiled(x), gradient(x), 1e-12)
    (program,) = compiled.programs.values()
    assert list(program.explain().callbacks) == ["<lambda>"]


def test_what_a_function_draws_or_counts_is_drawn_and_counted_in_each_call_of_a_program():
    rng, calls = np.random.default_rng(0), []
    drawn = by_vjp(lambda g, out, x: g, lambda x: x + rng.normal())
    counted = by_vjp(lambda g, out, x: g, lambda x: x + len(calls.append(None) or calls))
    for f in (drawn, counted):
        compiled = tape.compile(lambda x, f=f: f(x))
        with warnings.catch_warnings():  # that it runs as plain Python, for it changes what it uses
            warnings.simplefilter("ignore", errors.NotCompiledWarning)
            assert len({float(compiled(1.0)) for _ in range(8)}) == 8


def test_arrays_that_a_function_closes_over_are_read_by_reference_in_programs():
    scale = np.ones(3)
    scaled = by_vjp(lambda g, out, x: g * scale, lambda x: x * scale)
    compiled = tape.compile(tape.value_and_grad(lambda x: np.sum(scaled(x))))
    for factor in (1.0, 3.0, -2.0):
        scale[:] = factor
        value, gradient = compiled(X)
        assert_close(value, factor * np.sum(X))
        assert_close(gradient, np.full(3, factor))
