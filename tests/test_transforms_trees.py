"""Derivatives by trees and of trees: structure in is structure out; which arguments; what comes along."""

import math
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tape
from tests.oracles import assert_close

# ---- trees ---------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "w b")


@dataclass(frozen=True)
class Layer:
    w: Any
    b: Any
    name: str = field(default="layer", metadata={"static": True})
    power: int = field(default=2, metadata={"static": True})


@dataclass(slots=True)
class Slotted:
    w: Any
    b: Any


@dataclass
class Counted:
    """Converts what it is given, as users' classes do."""

    w: Any
    b: Any

    def __post_init__(self):
        if self.b is None:
            raise ValueError("b is missing")


W, B = np.array([0.7, 1.1, -0.4]), np.array(0.5)
TREES = {
    "dict": ({"w": W, "b": B}, lambda t: (t["w"], t["b"])),
    "ordered dict": (OrderedDict(w=W, b=B), lambda t: (t["w"], t["b"])),
    "list": ([W, B], tuple),
    "tuple": ((W, B), tuple),
    "namedtuple": (Pair(W, B), tuple),
    "frozen dataclass": (Layer(W, B, name="first", power=3), lambda t: (t.w, t.b)),
    "slotted dataclass": (Slotted(W, B), lambda t: (t.w, t.b)),
    "dataclass that checks": (Counted(W, B), lambda t: (t.w, t.b)),
    "nested, with None": ({"w": [None, (W,)], "b": Layer(B, None)}, lambda t: (t["w"][1][0], t["b"].w)),
}


@pytest.mark.parametrize(("tree", "parts"), TREES.values(), ids=TREES)
def test_derivatives_have_the_structure_of_arguments_and_results(tree, parts):
    def f(t):
        w, b = parts(t)
        return np.sum(w**2 * np.exp(b))

    def check(derivative, w, b):
        assert type(derivative) is type(tree)
        for got, expected in zip(parts(derivative), (w, b), strict=True):
            assert_close(got, expected, 1e-14)

    e = math.exp(B)
    check(tape.grad(f)(tree), 2 * W * e, np.sum(W**2) * e)
    check(tape.jacobian(f)(tree), 2 * W * e, np.sum(W**2) * e)
    check(tape.vjp(f, tree)[1](2.0)[0], 4 * W * e, 2 * np.sum(W**2) * e)
    assert_close(tape.jvp(f, (tree,), (tree,))[1], np.sum(2 * W**2 * e + W**2 * e * B), 1e-14)
    check(tape.hvp(f)(tree, tree), 2 * W * e * (1 + B), (2 + B) * np.sum(W**2) * e)
    assert_close(tape.laplacian(f)(tree), 6 * e + np.sum(W**2) * e, 1e-14)
    hessian = tape.hessian(f)(tree)
    check(parts(hessian)[1], 2 * W * e, np.sum(W**2) * e)
    out, tangent = tape.jvp(lambda t: t, (tree,), (tree,))
    check(out, W, B)
    check(tangent, W, B)
    check(tape.gnvp(lambda t: t)(tree, tree), W, B)
    for method in ("forward", "double_lop"):
        check(tape.rop(lambda t: t, tree, tree, method=method), W, B)
    assert_close(tape.divergence(lambda t: t)(tree), 4.0, 1e-15)


def test_static_fields_reach_the_function_and_the_derivative():
    layer = Layer(W, B, name="first", power=3)
    gradient = tape.grad(lambda t: np.sum(t.w**t.power) + t.b * len(t.name))(layer)
    assert (gradient.name, gradient.power) == ("first", 3)
    assert_close(gradient.w, 3 * W**2, 1e-14)
    assert gradient.b == 5


def test_a_tree_without_leaves_has_a_derivative_without_leaves():
    for tree in (None, {}, [], {"a": [None, ()]}):
        assert tape.vjp(lambda t, x: x**2, tree, 3.0)[1](1.0) == (tree, 6.0)
        assert tape.grad(lambda x, t: x**2, argnums=(0, 1))(3.0, tree) == (6.0, tree)
        assert tape.jacobian(lambda x, tree=tree: tree)(np.ones(2)) == tree


def test_several_results_are_differentiated_together():
    def f(x, y):
        return {"p": x * y, "q": (x.sum(), [y, y])}

    out, pullback = tape.vjp(f, W, 2.0)
    gx, gy = pullback({"p": np.ones(3), "q": (10.0, [1.0, 5.0])})
    assert_close(gx, np.full(3, 12.0), 1e-15)
    assert_close(gy, W.sum() + 6, 1e-14)
    _, tangent = tape.jvp(f, (W, 2.0), (np.ones(3), 10.0))
    assert_close(tangent["p"], 2 + 10 * W, 1e-14)
    assert (tangent["q"][0], tangent["q"][1]) == (3.0, [10.0, 10.0])
    blocks = tape.jacobian(f, argnums=(0, 1))(W, 2.0)
    assert_close(blocks["p"][0], 2 * np.eye(3), 1e-15)
    assert_close(blocks["p"][1], W, 1e-15)
    assert_close(blocks["q"][1][1][1], 1.0, 1e-15)
    assert out["q"][1] == [2.0, 2.0]


@pytest.mark.parametrize("argnums", [0, 1, 2, -1, -3, (0,), (2, 0), [1, -1], (0, 1, 2), np.int64(1)])
def test_argnums_count_from_either_end(argnums):
    def f(x, y, z, k=1.0):
        return x * y**2 * z**3 * k

    args = (2.0, 3.0, 5.0)
    partials = [9 * 125 * 7.0, 2 * 6 * 125 * 7.0, 2 * 9 * 75 * 7.0]
    if isinstance(argnums, (tuple, list)):
        expected: Any = tuple(partials[i] for i in argnums)
    else:
        expected = partials[argnums]
    for transform in (tape.grad, tape.elementwise_grad, tape.jacobian):
        assert transform(f, argnums)(*args, k=7.0) == expected
    assert tape.value_and_grad(f, argnums)(*args, k=7.0) == (f(*args, k=7.0), expected)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@pytest.mark.parametrize("transform", [tape.grad, tape.elementwise_grad, tape.hessian, tape.jacobian])
def test_by_no_argument_there_are_no_derivatives(transform):
    assert transform(lambda x: x**2, ())(3.0) == ()
    assert transform(lambda x, tree: x**2, 1)(3.0, {"a": None}) in ({"a": None}, {"a": {"a": None}})


def test_hessians_by_several_arguments():
    def f(x, y, k=1.0):
        return k * np.sum(x) ** 2 * y

    blocks = tape.hessian(f, argnums=(0, -1))(W, 3.0, k=2.0)
    assert_close(blocks[0][0], np.full((3, 3), 12.0), 1e-15)
    assert_close(blocks[0][1], np.full(3, 4 * W.sum()), 1e-14)
    assert_close(blocks[1][0], np.full(3, 4 * W.sum()), 1e-14)
    assert blocks[1][1] == 0
    products = tape.hvp(f, argnums=(0, 1))(W, 3.0, (np.ones(3), 10.0), k=2.0)
    assert_close(products[0], np.full(3, 36 + 40 * W.sum()), 1e-13)
    assert_close(products[1], 12 * W.sum(), 1e-13)


def test_aux_comes_along_without_vars():
    def f(x):
        return (x**2, {"x": x, "twice": [2 * x, None], "told": "so", "n": 3})

    gradient, aux = tape.grad(f, has_aux=True)(3.0)
    assert (gradient, aux) == (6.0, {"x": 3.0, "twice": [6.0, None], "told": "so", "n": 3})
    assert not isinstance(aux["x"], tape.Var)
    assert tape.value_and_grad(f, has_aux=True)(3.0) == ((9.0, aux), 6.0)
    assert tape.jvp(f, (3.0,), (1.0,), has_aux=True) == (9.0, 6.0, aux)
    out, pullback, passed = tape.vjp(f, 3.0, has_aux=True)
    assert (out, pullback(1.0), passed) == (9.0, (6.0,), aux)


def test_aux_of_an_inner_derivative_is_differentiated_by_the_outer_one():
    inner = tape.grad(lambda y, x: (y * x, y * x**2), has_aux=True)
    assert tape.grad(lambda x: inner(2.0, x)[1])(3.0) == 12
    assert tape.grad(lambda x: inner(2.0, x)[0])(3.0) == 1


def test_aux_may_be_anything():
    aux = (Layer, object(), {1, 2}, print, np.array(["a"]))
    assert tape.grad(lambda x: (x * x, aux), has_aux=True)(3.0) == (6.0, aux)
