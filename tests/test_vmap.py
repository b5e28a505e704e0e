"""`tape.vmap` equals a Python loop over examples: in every transform, of code that writes, compiled too."""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tape
from tape import errors
from tape.scipy import integrate
from tests.oracles import assert_close
from tests.tiers import is_full, takes_long

SIZE = 3
WAYS = {"eager": lambda f: f, "compiled": tape.compile}
X = np.random.default_rng(3).normal(size=(5, 3))
W = np.random.default_rng(4).normal(size=(3, 3))
Z = np.array([0.3, 5.0, -2.0, 100.0, 8.0, 0.01])


def stacked(f, *columns):
    """The results of a loop over examples, leaf by leaf."""
    found = [tape.tree.flatten(f(*example)) for example in zip(*columns, strict=True)]
    leaves = [np.stack(column) for column in zip(*[leaves for leaves, _ in found], strict=True)]
    return tape.tree.unflatten(found[0][1], leaves)


def assert_same(found, expected, tolerance=1e-11):
    leaves, structure = tape.tree.flatten(found)
    wanted, wanted_structure = tape.tree.flatten(expected)
    assert structure == wanted_structure
    for one, other in zip(leaves, wanted, strict=True):
        assert_close(one, other, tolerance)
        assert np.result_type(one) == np.result_type(other)


def check(f, *columns, tolerance=1e-11):
    expected = stacked(f, *columns)
    for way in WAYS.values():
        assert_same(way(tape.vmap(f))(*columns), expected, tolerance)


# ---- in every transform ----------------------------------------------------------------------------


def loss(w, x):
    return np.sum(np.tanh(w @ x) ** 2) + np.prod(x)


@tape.custom_vjp
def doubled_sine(x):
    return np.sin(x) * 2


@doubled_sine.defvjp
def _(g, out, x):
    return 2 * g * np.cos(x)


TRANSFORMS = {
    "grad": lambda x: tape.grad(loss)(W, x),
    "value_and_grad": lambda x: tape.value_and_grad(loss, 1)(W, x),
    "hessian": lambda x: tape.hessian(loss, 1)(W, x),
    "jacobian fwd": lambda x: tape.jacobian(lambda y: np.tanh(W @ y) * y, mode="fwd")(x),
    "jacobian rev": lambda x: tape.jacobian(lambda y: np.tanh(W @ y) * y, mode="rev")(x),
    "jvp": lambda x: tape.jvp(lambda y: np.tanh(W @ y), (x,), (x * 2,)),
    "vjp": lambda x: tape.vjp(lambda y: np.tanh(W @ y), x)[1](x),
    "hvp": lambda x: tape.hvp(lambda y: loss(W, y))(x, x),
    "laplacian": lambda x: tape.laplacian(lambda y: loss(W, y))(x),
    "taylor": lambda x: tape.taylor(lambda y: np.sum(np.sin(y)), x, np.ones(3), 3),
    "vmap": lambda x: tape.vmap(lambda e: e * np.sum(x))(x),
    "vmap of what is the same": lambda x: tape.vmap(lambda row: row @ x)(W),
    "checkpoint": lambda x: tape.grad(lambda w: np.sum(tape.checkpoint(lambda v: np.sin(v) * x)(w * x)))(x),
    "custom_vjp": lambda x: tape.grad(lambda y: np.sum(doubled_sine(y) ** 2))(x),
    "custom_vjp beside a number": lambda x: tape.grad(lambda y: doubled_sine(y[0]) * x[1])(x),
    "root": lambda x: tape.grad(lambda a: tape.root(lambda s, a: s**3 + s - a, 1.0, a))(x[0]),
    "root closing over": lambda x: tape.root(lambda s: s**3 + s - x[0], 1.0),
    "fixed_point": lambda x: tape.grad(
        lambda a: tape.fixed_point(lambda s, a: np.cos(s * np.tanh(a)), 1.0, a)
    )(x[0]),
    "odeint": lambda x: tape.grad(
        lambda k: tape.odeint(lambda y, t, k: -y * k * x[2], x[1], np.array([0.0, 1.0]), k, method="Tsit5")[
            -1
        ]
    )(x[0]),
    "checkpoint_loop": lambda x: tape.grad(
        lambda x: np.sum(tape.checkpoint_loop(lambda s, k: np.sin(s) + k, x, 5, 2))
    )(x),
    "stop_gradient": lambda x: tape.grad(lambda y: np.sum(y * tape.stop_gradient(y * x)))(x),
    "scan": lambda x: tape.scan(lambda c, e: (np.tanh(W @ c) * e, np.sum(c)), x, np.arange(4.0)),
    "scan over the batch": lambda x: tape.scan(lambda c, e: (c * e, c + e), 1.0, x),
    "map": lambda x: tape.map(lambda e: np.sin(e) * x, x),
    "fori_loop": lambda x: tape.grad(lambda y: tape.fori_loop(0, 4, lambda i, s: s * y[0] + i, y[1]))(x),
    "switch": lambda x: tape.switch(np.argmax(x), [np.sin, np.cos, lambda v: v * v], x),
    "float32": lambda x: np.sum(x.astype(np.float32) * 2),
    "a constant": lambda x: (np.zeros(3), 1.0, None, {"a": x}),
    "shapes": lambda x: (len(x) * x, np.arange(x.shape[0]) * x, x.ndim * np.ones_like(x)),
    "iteration": lambda x: sum(k * e for k, e in enumerate(x)),
}


@takes_long
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_inside(name):
    check(TRANSFORMS[name], X)


@pytest.mark.parametrize("name", ["hessian", "scan", "custom_vjp", "switch", "checkpoint", "jacobian fwd"])
def test_transforms_outside(name):
    """The gradient of a sum over the batch is the sum over the examples, and so is the Hessian."""

    def total(x):
        return sum(np.sum(leaf) for leaf in tape.tree.flatten(TRANSFORMS[name](x))[0])

    expected = stacked(tape.grad(total), X)
    gradient = tape.grad(lambda xs: np.sum(tape.vmap(total)(xs)))
    for way in WAYS.values():
        assert_same(way(gradient)(X), expected)
    product = tape.hvp(lambda xs: np.sum(tape.vmap(total)(xs)))(X, np.ones_like(X))
    assert_same(product, stacked(lambda x: tape.hvp(total)(x, np.ones(3)), X), 1e-9)


def test_a_batch_of_batches():
    check(tape.vmap(tape.grad(loss, 1), in_axes=(None, 0)), np.stack([W, 2 * W]), np.stack([X, X + 1]))


@pytest.mark.parametrize("where", ["inside", "beside"])
def test_no_grad_holds_for_batches(where):
    def f(w, x):
        with tape.no_grad():
            scale = np.polyval(w, x) + w[0] * x
        return np.sum(scale * w * x)

    gradient = tape.grad(f)
    expected = stacked(lambda x: gradient(W[0], x), X[:, 0])
    if where == "inside":
        assert_same(tape.vmap(gradient, in_axes=(None, 0))(W[0], X[:, 0]), expected)
    else:
        total = tape.grad(lambda w: np.sum(tape.vmap(f, in_axes=(None, 0))(w, X[:, 0])))(W[0])
        assert_same(total, np.sum(expected, axis=0))


# ---- code that only some examples run --------------------------------------------------------------


def decay(z):
    """A loop of 0 to 5 steps, with a state that cannot go on: the root of a negative number."""
    x, total = tape.while_loop(
        lambda s: s[0] > 1.0, lambda s: (np.sqrt(s[0] - 1) * 0.9, s[1] + np.log(s[0]) * z), (z, 1.0 * z)
    )
    return total + x**2


def two_ways(z):
    return tape.cond(z > 1, lambda z: np.log(z - 1) * z, lambda z: z**2, z)


def captured(z):
    """Branches that close over what differs within the batch."""
    y = z * z
    return tape.cond(z > 1, lambda: np.sqrt(z - 1) * y, lambda: np.exp(-y) * z)


ONLY_SOME = {"while_loop": decay, "cond": two_ways, "closing over": captured}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ONLY_SOME)
def test_code_for_some_examples_meets_no_others(name, way):
    """Neither values, nor derivatives of any order, nor warnings come from examples that do not run it."""
    f, run = ONLY_SOME[name], WAYS[way]
    with np.errstate(all="raise"):
        assert_same(run(tape.vmap(f))(Z), stacked(f, Z))
        gradient = stacked(tape.grad(f), Z)
        assert_same(run(tape.vmap(tape.grad(f)))(Z), gradient)
        assert_same(run(tape.vmap(lambda z: tape.jvp(f, (z,), (1.0,))[1]))(Z), gradient)
        assert_same(run(tape.grad(lambda z: np.sum(tape.vmap(f)(z))))(Z), gradient)
        second = stacked(lambda z: tape.hvp(f)(z, 1.0), Z)
        assert_same(run(tape.vmap(tape.grad(tape.grad(f))))(Z), second)
        assert_same(run(tape.vmap(tape.vmap(tape.grad(f))))(Z.reshape(2, 3)), gradient.reshape(2, 3))


@pytest.mark.parametrize("name", ONLY_SOME)
def test_a_program_serves_batches_that_take_other_ways(name):
    compiled = tape.compile(tape.vmap(tape.grad(ONLY_SOME[name])))
    for z in (Z, -np.abs(Z), np.abs(Z) + 1.5, Z[::-1].copy(), Z):
        assert_same(compiled(z), stacked(tape.grad(ONLY_SOME[name]), z))


def test_more_steps_than_a_program_has_room_for():
    def halved(x):
        return tape.while_loop(lambda s: s[1] > 1.0, lambda s: (s[0] + 1.0, s[1] * 0.99), (0.0, x))

    compiled = tape.compile(tape.vmap(halved))
    for x in (np.array([0.5, 1.01]), np.array([3.0, 1e4]), np.array([0.1, 0.2]), np.array([1e9, 2.0])):
        assert_same(compiled(x), stacked(halved, x))


def test_branches_that_differ():
    def different(make):
        return lambda: tape.vmap(lambda z: tape.cond(z > 1, make, lambda z: z, z))(Z)

    with pytest.raises(errors.ShapeError, match="structure"):
        different(lambda z: (z, z))()
    with pytest.raises(errors.ShapeError, match="shape and dtype"):
        different(lambda z: z * np.ones(2))()
    with pytest.raises(errors.DTypeError, match="shape and dtype"):
        different(lambda z: z.astype(np.float32))()


def test_a_branch_writes_to_nothing_from_outside():
    def f(x):
        y = x * 2

        def write(z):
            y[0] = z
            return z

        return tape.cond(x[0] > 0, write, lambda z: z, x[1])

    with pytest.raises(errors.InPlaceError, match="from outside of a branch"):
        tape.vmap(f)(X)
    with pytest.raises(errors.InPlaceError, match="from outside of a branch"):
        tape.vmap(tape.grad(f))(X)


# ---- axes ------------------------------------------------------------------------------------------


@dataclass
class Model:
    w: Any
    b: Any
    name: str = field(default="", metadata={"static": True})


def test_axes_of_trees():
    model = Model(np.stack([W, 2 * W], axis=1), np.arange(3.0))
    data = {"x": [X[:2], X.T[:, :2]], "none": None}

    def f(model, data, scale=1.0):
        assert model.w.shape == (3, 3)
        return {"y": model.w @ data["x"][0] + model.b, "z": (data["x"][1] * scale, model.b)}

    for way in WAYS.values():
        found = way(
            tape.vmap(
                f, in_axes=(Model(1, None), {"x": [0, 1], "none": None}), out_axes={"y": 1, "z": (0, None)}
            )
        )(model, data, scale=np.array([1.0, 3.0]))
        for k in range(2):
            expected = f(Model(model.w[:, k], model.b), {"x": [X[k], X[k]], "none": None}, [1.0, 3.0][k])
            assert_close(found["y"][:, k], expected["y"], 1e-13)
            assert_close(found["z"][0][k], expected["z"][0], 1e-13)
        assert_close(found["z"][1], model.b, 0)


@given(st.integers(-3, 2), st.integers(-2, 1))
def test_any_axis_may_be_mapped_and_any_be_made(in_axis, out_axis):
    x = np.arange(24.0).reshape(2, 3, 4)
    found = (
        tape.vmap(np.sum, in_axis, out_axis) if False else tape.vmap(lambda v: v.sum(0), in_axis, out_axis)
    )
    expected = np.stack([part.sum(0) for part in np.moveaxis(x, in_axis, 0)])
    np.testing.assert_array_equal(found(x), np.moveaxis(expected, 0, out_axis))


def test_numbers_of_any_kind_are_mapped():
    columns = np.array([1.0, 2.0]), np.array([1, 2], np.int8), np.array([True, False])
    assert_same(tape.vmap(lambda x, n, b: x * n + b)(*columns), np.array([2.0, 4.0]))
    assert tape.vmap(lambda x: x)(np.zeros((0, 3))).shape == (0, 3)
    assert tape.vmap(lambda x: np.sum(np.exp(x)))(np.zeros((0, 3))).shape == (0,)


def test_results_are_arrays_of_their_own():
    found = tape.vmap(lambda x: (x, x, x[::-1], np.ones(2), {"a": x}), out_axes=(0, 0, 1, 0, 0))(X)
    leaves = tape.tree.flatten(found)[0]
    for k, leaf in enumerate(leaves):
        assert leaf.flags.writeable
        assert not any(np.shares_memory(leaf, other) for other in (X, *leaves[:k]))


BODIES = {
    "product": lambda u, w: u * w,
    "the same": lambda u, w: u,
    "transposed": lambda u, w: (u * w).T,
    "closed over": lambda u, w: X[:2, :2].T * u,
}


@given(
    st.sampled_from(sorted(BODIES)), st.sampled_from([(0, 1), (1, 0), (2, 2), (1, None)]), st.integers(0, 2),
    st.integers(0, 2), st.permutations(range(3)),
)  # fmt: skip
def test_results_are_in_c_order_in_programs_too(name, in_axes, out_axis, recorded, order):
    a, b = np.arange(8.0).reshape(2, 2, 2).transpose(order), np.arange(8.0, 0, -1).reshape(2, 2, 2)
    batched = tape.vmap(BODIES[name], in_axes, out_axis)

    def f(z):
        result = batched(a * z if recorded == 2 else a, b) * (z if recorded else 1.0)
        part = result.ravel()  # a view of what is in C order, a copy of everything else
        part += 2.0
        return result * 1.0

    program = tape.compile(f)
    for z in (1.0, 3.0):
        np.testing.assert_array_equal(program(z), f(z))


def test_what_is_not_mapped_is_copied_in_programs_too():
    def f(x):
        same, part = tape.vmap(lambda u, w: (w, w[:1]), (0, None), None)(x, x)
        same += 1.0
        part += 2.0
        return x * 1.0

    np.testing.assert_array_equal(tape.compile(f)(X), X)
    np.testing.assert_array_equal(f(X), X)


WRONG = {
    "ragged": (lambda: tape.vmap(np.add)(np.ones(2), np.ones(3)), errors.ShapeError, "examples differ"),
    "no axis": (lambda: tape.vmap(np.sin)(1.0), errors.ShapeError, "no axis 0"),
    "nothing mapped": (lambda: tape.vmap(np.sin, None)(np.ones(2)), errors.ShapeError, "anything to map"),
    "no arguments": (lambda: tape.vmap(lambda: 1.0)(), errors.ShapeError, "anything to map"),
    "number of axes": (lambda: tape.vmap(np.sin, (0, 0))(np.ones(2)), errors.ShapeError, "has 2 entries"),
    "tree": (lambda: tape.vmap(np.copy, ({"a": 0},))({"b": np.ones(2)}), errors.ShapeError, "same structure"),
    "kind of axis": (lambda: tape.vmap(np.sin, 0.5), errors.OptionError, "holds 0.5"),
    "a bool": (lambda: tape.vmap(np.sin, True), errors.OptionError, "holds True"),
    "out axis": (lambda: tape.vmap(np.sin, 0, 2)(np.ones(3)), errors.ShapeError, "out_axes is 2"),
    "out tree": (lambda: tape.vmap(np.sin, 0, (0, 0))(np.ones(3)), errors.ShapeError, "out_axes"),
    "out None": (lambda: tape.vmap(np.sin, 0, None)(np.ones(3)), errors.ShapeError, "another one for each"),
    "strings": (lambda: tape.vmap(lambda x: x)(np.array(["a"])), errors.DTypeError, "numbers or bools"),
    "if": (lambda: tape.vmap(lambda x: x if x > 0 else -x)(np.ones(2)), errors.ConversionError, "tape.cond"),
    "float": (lambda: tape.vmap(lambda x: float(x))(np.ones(2)), errors.ConversionError, "several values"),
    "index": (lambda: tape.vmap(lambda i: W[i])(np.arange(2)), errors.ConversionError, r"tape\.ops\.getitem"),
    "range": (lambda: tape.vmap(lambda i: list(range(i)))(np.arange(2)), errors.ConversionError, "several"),
    "shape": (lambda: tape.vmap(lambda x: x[x > 0])(X), errors.ShapeError, "."),
    "frozen": (
        lambda: tape.vmap(tape.checkpoint(lambda x: (x, x.argmax())))(X), errors.UnsupportedError, "same for",
    ),
    "function": (lambda: tape.vmap(3), errors.UnsupportedError, "expects a function"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong(name):
    call, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        call()


def test_shapes_that_data_decide_may_be_the_same_for_all():
    check(lambda x: np.nonzero(x)[0], np.ones((4, 3)))
    check(lambda x: np.sort(x[x > -100]), X)


def test_what_has_no_rule_for_batches_is_a_loop_of_the_program():
    def f(x):
        return np.interp(x, np.arange(3.0), x * 2)

    compiled = tape.compile(tape.vmap(f))
    assert_same(compiled(np.abs(X)), stacked(f, np.abs(X)))
    assert "loops         1 instructions, 5 times" in compiled.explain()


# ---- solutions and integrals -------------------------------------------------------------------------

TIMES = np.array([0.0, 1.0])
NONLINEAR = {
    "adjoint": lambda y, k: np.sum(tape.odeint(lambda y, t, k: -k * y, y, TIMES, k) ** 2),
    "discrete": lambda y, k: np.sum(
        tape.odeint(lambda y, t, k: -k * y, y, TIMES, k, method="Tsit5", gradient="discrete") ** 2
    ),
    "quad": lambda y, k: integrate.quad(lambda x, a: np.exp(-a * x) * y[0], 0, k[0], args=(k[1],))[0] ** 2,
}


@takes_long
@pytest.mark.parametrize("name", NONLINEAR)
def test_derivatives_of_solutions_in_a_batch_are_those_of_each(name):
    """Their adjoints are batches as well, of the same elements."""
    f = NONLINEAR[name]
    ys, ks = np.array([[1.0, 2.0], [0.5, 0.3], [2.0, 1.0]]), np.array([[1.0, 0.5], [0.7, 0.2], [0.4, 0.9]])
    derivatives = {
        "grad": tape.grad(f, (0, 1)),
        "jvp": lambda y, k: tape.jvp(f, (y, k), (y * y, k * 2))[1],
    }
    if is_full():
        derivatives["hessian"] = tape.hessian(f)
        derivatives["jacobian"] = tape.jacobian(lambda y, k: f(y, k) * y, mode="rev")
    for g in derivatives.values():
        each = [g(y, k) for y, k in zip(ys, ks, strict=True)]
        expected = tape.tree.map(lambda *leaves: np.stack(leaves), *each)
        ways = [tape.vmap(g)]
        if name == "adjoint":
            ways.append(tape.compile(tape.vmap(g)))
        for way in ways:
            for a, b in zip(tape.tree.leaves(way(ys, ks)), tape.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5)

    def second(ys):
        return np.sum(tape.vmap(tape.grad(f))(ys, ks) ** 2)

    step = 1e-5 * np.eye(6).reshape(6, 3, 2)[:: 1 if is_full() else 5]
    differences = [(second(ys + d) - second(ys - d)) / 2e-5 for d in step]
    found = tape.grad(second)(ys).ravel()[:: 1 if is_full() else 5]
    np.testing.assert_allclose(found, differences, rtol=1e-4)


def test_what_is_not_mapped_is_read_only():
    def f(x, i):
        x[0] = 5.0
        return x * i

    shared = np.ones(3)
    with pytest.raises(ValueError, match="read-only"):
        tape.vmap(f, (None, 0))(shared, np.arange(2.0))
    np.testing.assert_array_equal(shared, np.ones(3))


# ---- operations of users whose results differ in number or in kind -------------------------------------


def one_result(**options):
    """An operation that returns a tuple of one result."""
    return tape.Op(lambda x: (x * x,), name="one", vjp=[lambda g, out, x: 2 * x * g[0]], **options)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("data_dependent", [True, False])
def test_a_tuple_of_one_result_stays_a_tuple(way, data_dependent):
    one = one_result(data_dependent=data_dependent)

    def mapped(xs):
        return np.sin(tape.vmap(lambda x: one(x)[0])(xs))

    def total(xs):
        return np.sum(mapped(xs))

    slope = 2 * X * np.cos(X**2)
    functions = {
        mapped: np.sin(X**2),
        tape.grad(total): slope,
        (lambda xs: tape.jvp(total, (xs,), (xs,))[1]): np.sum(slope * X),
        tape.vmap(tape.grad(lambda x: np.sum(np.sin(one(x)[0])))): slope,
        tape.vmap(tape.jacobian(lambda x: one(x)[0])): np.stack([np.diag(2 * x) for x in X]),
    }
    for f, expected in functions.items():
        g = WAYS[way](f)
        for _ in range(2):
            assert_close(g(X), expected, 1e-12)


def test_a_tuple_of_one_result_of_an_empty_batch_is_a_tuple():
    one = one_result(data_dependent=False)
    assert tape.vmap(lambda x: one(x)[0])(X[:0]).shape == (0, 3)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("transform", [lambda f: f, lambda f: tape.grad(lambda x: np.sum(f(x)))])
def test_results_that_differ_between_examples_are_refused_by_name(way, transform):
    counts = tape.Op(lambda x: (x,) * (1 + int(x > 1)), name="counts", vjp=[lambda g, out, x: g[0]])
    either = tape.Op(lambda x: x * 1.0 if x > 1 else (x,), name="either", vjp=[lambda g, out, x: g])
    kinds = tape.Op(lambda x: x * 1.0 if x > 1 else int(x), name="kinds", vjp=[lambda g, out, x: g])
    x = np.array([0.3, 1.2, 0.7])
    for f, error, message in (
        (lambda v: counts(v)[0], errors.ShapeError, "counts returns tuples of other lengths.*: 1, 2"),
        (either, errors.ShapeError, "either returns tuples of other lengths.*: 1, no tuple"),
        (kinds, errors.DTypeError, "kinds returns arrays of other dtypes.*: int64, float64"),
    ):
        with pytest.raises(error, match=message):
            WAYS[way](transform(tape.vmap(f)))(x)


@pytest.mark.parametrize(
    ("lengths", "told"),
    [
        ([2, 1, 2], "(2,), (1,)"),
        ([1, 2, 3, 4, 4], "(1,), (2,), (3,), (4,)"),
        ([5, 4, 3, 2, 1], "(5,), (4,), (3,), (2,), ..."),
        ([1, 2, 3, 4, 5, 6, 7], "(1,), (2,), (3,), (4,), ..."),
    ],
)
def test_shapes_that_differ_between_examples_are_told_up_to_four(lengths, told):
    ones = tape.Op(lambda n: np.ones(n), name="ones", vjp=[lambda g, out, n: 0.0], data_dependent=True)
    message = f"ones returns arrays of other shapes for other elements of the batch: {told}. All must"
    with pytest.raises(errors.ShapeError, match=re.escape(message)):
        tape.vmap(ones)(np.array(lengths))


@pytest.mark.parametrize(
    "read",
    [
        lambda x, i: x[1, i],
        lambda x, i: x[i % 2, 0],
        lambda x, i: x[..., i % 2, i],
        lambda x, i: x[i % 2],
        lambda x, i: x[:, i],
        lambda x, i: x[i % 2, 1:],
        lambda x, i: x[i % 2, None, 0],
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, tape.compile], ids=["eager", "compiled"])
def test_numbers_read_where_examples_say_are_numbers_and_arrays_are_views(read, wrap):
    """A number that is added to leaves the array alone, as in NumPy; a view, also of no axes, does not."""

    def f(x, i):
        x = x * 1.0
        part = read(x, i)
        part += 10.0
        return x, part

    x, i = np.arange(24.0).reshape(4, 2, 3), np.array([0, 2, 1, 0])
    expected = [np.stack(column) for column in zip(*map(f, x, i), strict=True)]
    for found, one in zip(wrap(tape.vmap(f))(x, i), expected, strict=True):
        np.testing.assert_array_equal(found, one)


# ---- functions of the user's, element by element ---------------------------------------------------------


DERIVATIVES = (
    lambda g: g,
    lambda g: tape.grad(lambda x, y: np.sum(np.sin(g(x, y))), (0, 1)),
    lambda g: lambda x, y: tape.jvp(g, (x, y), (x, y))[1],
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("others", [W[0], W[:2], np.float64(0.7)])
def test_functions_of_apply_may_depend_on_some_operands_only(way, others):
    """On those that are the same for all examples, or on those that are not."""
    only_first = (lambda a, b: a * a, (lambda a, b: 2 * a, lambda a, b: 0.0))
    only_second = (lambda a, b: b * b, (lambda a, b: 0.0, lambda a, b: 2 * b))
    product = (lambda a, b: a * b * b, (lambda a, b: b * b, lambda a, b: 2 * a * b))
    for f, df in (only_first, only_second, product):
        for x, y in ((X, others), (X[:, 0], others)):
            mapped = tape.vmap(lambda v, b, f=f, df=df: np.sum(tape.apply((v, b), f, df)), (0, None))
            looped = tape.vmap(lambda v, b, f=f: np.sum(f(*np.broadcast_arrays(v, b))), (0, None))
            for derivative in DERIVATIVES:
                found, expected = WAYS[way](derivative(mapped))(x, y), derivative(looped)(x, y)
                for a, b in zip(tape.tree.leaves(found), tape.tree.leaves(expected), strict=True):
                    assert_close(a, b, 1e-12)
