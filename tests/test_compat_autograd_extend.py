"""`tape.compat.autograd.extend`: functions with rules of the user, in both modes, compiled, of containers."""

from typing import Any

import numpy as np
import pytest

import tape
from tape import errors
from tape.compat.autograd import extend, grad, jacobian, make_jvp
from tape.compat.autograd.test_util import check_equivalent, check_grads
from tape.compat.autograd.tracer import getval, isbox
from tape.compat.autograd.wrap_util import unary_to_nary

RNG = np.random.default_rng(0)
X, V = RNG.normal(size=3), RNG.normal(size=3)


def cube(**kinds: bool) -> Any:
    """A primitive ``a * x**3 + y``, with reverse or forward rules or both, which count their calls."""
    calls = {"vjp": 0, "jvp": 0, "f": 0}

    @extend.primitive
    def f(x, y, a=1.0):
        calls["f"] += 1
        assert not isbox(x)
        return a * x * x * x + y

    def counted(kind, rule):
        def call(*args, **kwargs):
            calls[kind] += 1
            return rule(*args, **kwargs)

        return call

    if kinds.get("vjp"):
        extend.defvjp(
            f,
            counted("vjp", lambda ans, x, y, a=1.0: lambda g: 3 * a * g * x**2),
            lambda ans, *_, **k: lambda g: g,
        )
    if kinds.get("jvp"):
        by_x = counted("jvp", lambda t, ans, x, y, a=1.0: 3 * a * t * x**2)
        extend.defjvp(f, by_x, lambda t, *_, **k: t)
    f.calls = calls
    return f


KINDS = [{"vjp": True}, {"jvp": True}, {"vjp": True, "jvp": True}]


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: "+".join(kinds))
def test_primitives_have_derivatives_in_both_modes_and_of_second_order(kinds):
    f = cube(**kinds)
    np.testing.assert_allclose(f(X, V, a=2.0), 2 * X**3 + V)
    for argnum, slope in ((0, 6 * X**2), (1, np.ones(3))):
        np.testing.assert_allclose(grad(lambda x, y: np.sum(f(x, y, a=2.0)), argnum)(X, V), slope)
        np.testing.assert_allclose(make_jvp(f, argnum)(X, V, a=2.0)(V)[1], slope * V)
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x, x) ** 2))(X), 2 * (X**3 + X) * (3 * X**2 + 1))
    np.testing.assert_allclose(jacobian(jacobian(lambda x: np.sum(f(x, V))))(X), np.diag(6 * X), atol=1e-12)
    check_grads(f, (0, 1))(X, V)


def test_each_mode_uses_its_own_rule_where_there_are_two():
    f = cube(vjp=True, jvp=True)
    grad(lambda x: np.sum(f(x, V)))(X)
    assert (f.calls["vjp"], f.calls["jvp"]) == (1, 0)
    make_jvp(f)(X, V)(V)
    assert (f.calls["vjp"], f.calls["jvp"]) == (1, 1)


@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: "+".join(kinds))
def test_primitives_in_compiled_functions(kinds):
    f = cube(**kinds)
    step = tape.compile(grad(lambda x: np.sum(np.sin(f(x, x, a=0.5)))))
    for scale in (1.0, -0.5):
        x = scale * X
        np.testing.assert_allclose(step(x), np.cos(0.5 * x**3 + x) * (1.5 * x**2 + 1))


def test_rules_for_any_arguments():
    @extend.primitive
    def total(*parts):
        return sum(k * np.sin(part) for k, part in enumerate(parts, 1))

    extend.defvjp_argnum(total, lambda k, ans, args, kwargs: lambda g: (k + 1) * g * np.cos(args[k]))
    expected = [(k + 1) * np.cos(X * (k + 1)) for k in range(3)]
    for argnum in (0, 2, (1, 2), (0, 1, 2)):
        found = grad(lambda *parts: np.sum(total(*parts)), argnum)(X, 2 * X, 3 * X)
        wanted = expected[argnum] if isinstance(argnum, int) else tuple(expected[k] for k in argnum)
        check_equivalent(found, wanted)
    extend.defvjp_argnums(
        total, lambda ks, ans, args, kwargs: lambda g: [(k + 1) * g * np.cos(args[k]) for k in ks]
    )
    check_equivalent(
        grad(lambda *parts: np.sum(total(*parts)), (0, 2))(X, 2 * X, 3 * X), (expected[0], expected[2])
    )
    extend.defjvp_argnums(
        total,
        lambda ks, tangents, ans, args, kwargs: sum(
            (k + 1) * t * np.cos(args[k]) for k, t in zip(ks, tangents, strict=True)
        ),
    )
    check_grads(total, (0, 2))(X, 2 * X, 3 * X)


@pytest.mark.parametrize("argnum", [0, 1, (0, 2), (2, 1)])
def test_rules_of_several_arguments_are_given_tuples_as_in_autograd(argnum):
    given = []

    @extend.primitive
    def weighted(a, b, c, power=1):
        return (a + 2 * b + 3 * c) ** power

    def forward(argnums, tangents, ans, args, kwargs):
        given.append((argnums, tangents, ans, args, kwargs))
        return sum(2 * (k + 1) * np.sqrt(ans) * t for k, t in zip(argnums, tangents, strict=True))

    def reverse(argnums, ans, args, kwargs):
        given.append((argnums, argnums, ans, args, kwargs))
        return lambda g: tuple(2 * (k + 1) * np.sqrt(ans) * g for k in argnums)

    extend.defjvp_argnums(weighted, forward)
    extend.defvjp_argnums(weighted, reverse)
    places = argnum if isinstance(argnum, tuple) else (argnum,)
    v = tuple(np.float64(10.0**k) for k in places)
    slopes = [12.0 * (k + 1) for k in places]
    args = 1.0, 1.0, 1.0
    seeds = v if isinstance(argnum, tuple) else v[0]
    assert make_jvp(weighted, argnum)(*args, power=2)(seeds)[1] == np.dot(slopes, v)
    found = grad(weighted, argnum)(*args, power=2)
    np.testing.assert_allclose(found, slopes if isinstance(argnum, tuple) else slopes[0])
    assert len(given) == 2
    for argnums, tangents, ans, values, kwargs in given:
        assert argnums == tuple(sorted(places))
        assert type(tangents) is type(values) is tuple
        assert (float(ans), len(values), kwargs) == (36.0, 3, {"power": 2})


def test_linear_primitives():
    @extend.primitive
    def product(a, b):
        return np.einsum("i,i", a, b)

    extend.def_linear(product)
    np.testing.assert_allclose(make_jvp(product, (0, 1))(X, V)((V, X))[1], V @ V + X @ X)
    with pytest.raises(errors.UnsupportedError, match=r"product is linear by its forward rule.* defvjp"):
        grad(product, 1)(X, V)
    extend.defvjp(product, lambda ans, a, b: lambda g: g * b, lambda ans, a, b: lambda g: g * a)
    check_grads(product, (0, 1))(X, V)

    @extend.primitive
    def scaled(a, x):
        return a * x

    extend.defjvp(scaled, None, "same")
    np.testing.assert_allclose(make_jvp(scaled, 1)(2.0, X)(V)[1], 2 * V)
    np.testing.assert_allclose(make_jvp(scaled, 0)(2.0, X)(1.0)[1], 0)


def test_primitives_of_containers():
    @extend.primitive
    def both(params, pair):
        return [params["a"] * pair[0], pair[1]]

    extend.defvjp(
        both,
        lambda ans, params, pair: lambda g: {"a": np.sum(g[0] * pair[0])},
        lambda ans, params, pair: lambda g: (params["a"] * g[0], g[1]),
    )
    found = grad(lambda p, q: np.sum(both(p, q)[0] ** 2) + both(p, q)[1], (0, 1))({"a": 2.0}, (X, 3.0))
    check_equivalent(found, ({"a": 4 * np.sum(X**2)}, (8 * X, np.float64(1.0))))


def test_rules_that_are_missing():
    @extend.primitive
    def f(x, y):
        return x * y

    assert f(2.0, 3.0) == 6.0
    with pytest.raises(errors.UnsupportedError, match="f was called with a Var, and has no rule"):
        grad(f)(2.0, 3.0)
    extend.defvjp(f, None, argnums=[1])
    assert grad(f, 1)(2.0, 3.0) == 0.0
    with pytest.raises(errors.UnsupportedError, match="no vjp rule for argument 0"):
        grad(f)(2.0, 3.0)
    with pytest.raises(errors.UnsupportedError, match="keyword argument"):
        grad(lambda x: f(x, y=x))(2.0)
    for define in (extend.defvjp, extend.defjvp, extend.defvjp_argnum, extend.def_linear):
        with pytest.raises(errors.UnsupportedError, match="sin is no primitive"):
            define(np.sin, *[] if define is extend.def_linear else [lambda *args: None])
    with pytest.raises(errors.OptionError, match="'same' or None"):
        extend.defjvp(f, "different")
    with pytest.raises(errors.UnsupportedError, match=r"before its version 1\.2"):
        f.defgrad(lambda ans, x: lambda g: g)


@pytest.mark.parametrize(
    ("x", "y", "is_alike"),
    [
        (1.0, 1.0 + 5e-7, True),
        (1.0, 1.0 + 3e-6, False),
        (1e9, 1e9 + 1000.0, True),
        (1e9, 1e9 + 3000.0, False),
        (-1e9, -1e9 - 1000.0, True),
        (np.array([1.0, 2.0]), np.array([1.0, 2.1]), False),
        (np.ones(2), np.ones((2, 1)), False),
        (np.ones(2), np.ones(2, np.float32), False),
        ({"a": (1.0, np.ones(2))}, {"a": (1.0, np.ones(2))}, True),
        ({"a": (1.0, np.ones(2))}, {"a": (2.0, np.ones(2))}, False),
    ],
)
def test_values_are_equivalent_to_six_digits(x, y, is_alike):
    if is_alike:
        check_equivalent(x, y)
        return
    with pytest.raises(errors.DerivativeError, match=r"check_equivalent: .* differ\. They hold"):
        check_equivalent(x, y)


def test_values_are_constant():
    assert grad(lambda x: x * getval(x))(3.0) == 3.0
    sign = extend.notrace_primitive(lambda pair: np.sign(pair[0]))
    assert grad(lambda x: x * sign((x, 1.0)))(-3.0) == -1.0
    assert grad(lambda x: grad(lambda y: x * y * getval(y))(x))(2.0) == 2.0
    assert getval("text") == "text"
    for refused in (tape.compile(lambda x: x * getval(x)), tape.vmap(lambda x: x * getval(x))):
        with pytest.raises(errors.UnsupportedError, match="stop_gradient"):
            refused(X)


def test_operators_of_ones_own():
    slope = unary_to_nary(lambda f, x, step: (f(x + step) - f(x - step)) / (2 * step))
    found = slope(lambda a, x, k=1: k * a * x**2, 1, 0.5)(3.0, 2.0, k=2)
    assert found == 24.0
    assert slope.__name__ == "<lambda>"
