"""Operations with several results: laws in both modes, with one rule or two, on every tape that there is."""

import numpy as np
import pytest

import tape
from tape import errors, tree
from tape.core.linear import part
from tape.core.op import Op
from tape.core.results import Results, is_several, pack, unpack
from tests.oracles import assert_close, inner, jvp, vjp
from tests.tiers import grid

X, Y = np.array([0.3, -0.7, 1.2]), np.array([0.5, 0.6, -0.2])


def forward(x, y):
    return np.sin(x * y), np.cos(x * y), np.argsort(x * y), np.sum(x)


def reverse_rule(g, out, x, y):
    of_sine, of_cosine, of_order, of_sum = g
    sine, cosine, _, _ = out
    assert of_order is None
    slopes = [g * d for g, d in ((of_sine, cosine), (of_cosine, -sine)) if g is not None]
    both = sum(slopes[1:], start=slopes[0]) if slopes else None
    of_x = [] if both is None else [both * y]
    of_x += [] if of_sum is None else [np.broadcast_to(of_sum, x.shape)]
    return [sum(of_x[1:], start=of_x[0]), None if both is None else both * x]


def forward_rule(tangents, out, x, y):
    of_x, of_y = tangents
    sine, cosine, _, _ = out
    moves = [t * other for t, other in ((of_x, y), (of_y, x)) if t is not None]
    both = sum(moves[1:], start=moves[0])
    return both * cosine, -both * sine, None, None if of_x is None else np.sum(of_x)


def made(**rules):
    return Op(forward, name="sine_and_cosine", data_dependent=False, **rules)


OPS = {
    "both rules": made(vjp=reverse_rule, jvp=forward_rule),
    "a reverse rule": made(vjp=reverse_rule),
    "a forward rule": made(jvp=forward_rule),
}
PYTHON = forward  # NumPy alone
USES = {
    "all": lambda op, x, y: (lambda s, c, _, t: np.sum(s * c**2) * t + np.sum(s[0] * c))(*op(x, y)),
    "the first": lambda op, x, y: np.sum(op(x, y)[0] ** 2),
    "the last": lambda op, x, y: op(x, y)[-1] ** 3 + np.sum(y),
    "one twice": lambda op, x, y: (lambda r: np.sum(r[1] * r[1]) + np.sum(np.tanh(r[1])))(op(x, y)),
    "the order": lambda op, x, y: (lambda s, _c, order, _t: np.sum(s[order] * y))(*op(x, y)),
    "results as operands": lambda op, x, y: (lambda a: np.sum(op(a[0], a[1])[1]) + a[3])(op(x, y)),
}
TRANSFORMS = {
    "value": lambda f: f,
    "grad": lambda f: tape.grad(f, (0, 1)),
    "jvp": lambda f: lambda x, y: tape.jvp(f, (x, y), (y, x)),
    "jvp of one": lambda f: lambda x, y: tape.jvp(lambda y: f(x, y), (y,), (x,)),
    "linearize": lambda f: lambda x, y: tape.linearize(lambda x: f(x, y), x)[1](y),
    "hessian": lambda f: tape.hessian(f, 0),
    "jacobian of grad rev": lambda f: tape.jacobian(tape.grad(f), 1, mode="rev"),
    "jacobian of grad fwd": lambda f: tape.jacobian(tape.grad(f), 1, mode="fwd"),
    "hvp": lambda f: lambda x, y: tape.hvp(lambda x: f(x, y))(x, y),
    "third": lambda f: tape.grad(
        lambda x, y: np.sum(tape.grad(lambda x, y: np.sum(tape.grad(f, 0)(x, y) ** 2), 1)(x, y) ** 2)
    ),
    "taylor": lambda f: lambda x, y: tape.taylor(lambda t: f(x * t, y * t), 1.0, 1.0, 4),
    "checkpoint": lambda f: tape.grad(tape.checkpoint(f), (0, 1)),
}


def assert_alike(found, expected):
    found, expected = tree.flatten(found)[0], tree.flatten(expected)[0]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.filterwarnings("ignore::tape.errors.ConstantResultWarning")
@grid(times=2, transform=TRANSFORMS, op=OPS, use=USES, is_compiled=[False, True])
def test_derivatives_are_those_of_the_results_one_by_one(transform, op, use, is_compiled):
    f, reference = (
        TRANSFORMS[transform](lambda x, y, op=op: USES[use](op, x, y)) for op in (OPS[op], PYTHON)
    )
    f = tape.compile(f) if is_compiled else f
    for scale in (1.0, 0.5):
        assert_alike(f(scale * X, Y), reference(scale * X, Y))


@pytest.mark.parametrize("op", OPS)
def test_adjoints_and_tangents_are_transposes(op):
    def f(x, y):
        sine, cosine, _, total = OPS[op](x, y)
        return sine * total + cosine[::-1]

    rng = np.random.default_rng(0)
    dx, dy, g = rng.normal(size=(3, 3))
    moved = jvp(f, (X, Y), (dx, dy))
    assert inner([g], [moved]) == pytest.approx(inner(vjp(f, (X, Y), g), (dx, dy)), rel=1e-12)
    tape.testing.check_grads(lambda x, y: USES["all"](OPS[op], x, y), (X, Y), order=2, modes=("fwd", "rev"))


@pytest.mark.parametrize("mode", ["rev", "fwd"])
@pytest.mark.parametrize("op", OPS)
def test_batches(op, mode):
    def f(x):
        return np.concatenate([OPS[op](x, Y)[0], OPS[op](Y, x)[1]])

    expected = np.concatenate([np.diag(Y * np.cos(X * Y)), -np.diag(Y * np.sin(X * Y))])
    np.testing.assert_allclose(tape.jacobian(f, mode=mode)(X), expected, atol=1e-15)
    np.testing.assert_allclose(tape.compile(tape.jacobian(f, mode=mode))(X), expected, atol=1e-15)


# ---- without a tape, and on one ------------------------------------------------------------------------


def test_plain_operands_give_a_tuple():
    found = OPS["both rules"](X, Y)
    assert isinstance(found, tuple)
    assert_alike(list(found), list(forward(X, Y)))


def test_several_results_are_a_tuple_on_a_tape_too():
    trace = tape.Trace()
    found = OPS["both rules"](trace.param(X), Y)
    assert type(found) is tuple
    assert len(found) == 4
    for one, other in zip(found, forward(X, Y), strict=True):
        np.testing.assert_array_equal(one.value, other)
    for k in (0, 3, -1, -4):
        np.testing.assert_array_equal(found[k].value, forward(X, Y)[k])
    with pytest.raises(IndexError):
        found[4]


def test_parts_follow_on_a_flat_tape():
    trace = tape.Trace()
    sine, *_ = OPS["both rules"](trace.param(X), trace.param(Y))
    assert [node.op and node.op.name for node in trace.nodes] == [
        None,
        None,
        "sine_and_cosine",
        *["part"] * 4,
    ]
    assert sine.node.op is part
    assert len(trace.backward(np.sum(sine))) == len(trace.nodes)


def test_a_trace_is_replayed_and_compiled():
    trace = tape.Trace()
    x, y = trace.param(X), trace.input(Y)
    sine, cosine, _, total = OPS["both rules"](x, y)
    loss = np.sum(sine * cosine) * total
    program = trace.compile(loss)
    for scale in (1.0, -0.5, 2.0):
        trace.set(x, scale * X)
        trace.set(y, scale * Y)
        trace.replay()
        s, c, _, t = forward(scale * X, scale * Y)
        assert loss.value == pytest.approx(np.sum(s * c) * t, rel=1e-13)
        (expected,) = trace.backward_param_grads(loss)
        value, (found,) = program.run()
        assert value == pytest.approx(loss.value, rel=1e-13)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_pictures_and_listings():
    trace = tape.Trace()
    loss = USES["all"](OPS["both rules"], trace.param(X, name="x"), trace.param(Y, name="y"))
    assert "sine_and_cosine" in str(trace)
    assert "sine_and_cosine" in str(trace.summary())
    assert "part" in str(trace)
    assert "sine_and_cosine" in tape.viz.dot(trace)
    assert repr(trace[2])
    assert repr(trace.nodes[2])
    trace.backward(loss)
    assert str(trace)


@pytest.mark.parametrize("bad", [0, 1])
def test_results_that_are_not_finite_are_found(bad):
    def broken(x):
        results = [x * 2, x * 3]
        results[bad] = results[bad] / 0.0
        return tuple(results)

    op = Op(broken, name="broken", vjp=lambda g, out, x: [sum([a for a in g if a is not None])])
    with np.errstate(all="ignore"):
        assert "broken" in str(tape.find_nonfinite(lambda x: np.sum(op(x)[bad]), X))
        compiled = tape.compile(lambda x: np.sum(op(x)[bad]))
        compiled(X)
        (program,) = compiled.programs.values()
        assert "broken" in str(tape.find_nonfinite(program, X))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("x", [X, np.array([np.inf, 1.0, 2.0]), np.array([1e200, 1.0, np.nan])])
def test_tools_know_results_of_different_shapes(op, x):
    def f(x, y):
        return USES["all"](OPS[op], x, y)

    gradient = tape.compile(tape.grad(f, (0, 1)))
    gradient(X, Y)
    for each in (f, tape.grad(f), gradient):
        found = tape.find_nonfinite(each, x, Y)
        assert bool(found) == (x is not X)
        assert str(found)
    assert "sine_and_cosine" in str(tape.profile(f, x, Y))
    (program,) = gradient.programs.values()
    assert str(program.explain())
    assert str(program.profile(x, Y, repeats=1))


def test_a_program_calls_back_once_for_all_results():
    calls = []

    def counted(x):
        calls.append(1)
        return np.sin(x), np.cos(x).astype(np.float32), x > 0, np.zeros((0, 2)), np.arange(3)

    op = Op(counted, name="counted", data_dependent=False)
    f = tape.compile(lambda x: [*op(x), op(x)[0] * 2])
    f(X)
    for x in (X, 2 * X):
        calls.clear()
        found = f(x)
        assert 1 <= len(calls) <= 2
        expected = counted(x)
        for a, b in zip(found, [*expected, expected[0] * 2], strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_array_equal(a, b)


def test_results_of_another_type_in_a_later_call_are_recorded_anew():
    def split(x):
        return x[x > 0], x[x <= 0]

    op = Op(split, name="split", data_dependent=True)
    f = tape.compile(lambda x: [np.sum(one) for one in op(x)])
    for x in (X, -X, np.abs(X), X + 0.5, X):
        assert_alike(f(x), [np.sum(one) for one in split(x)])


# ---- rules that are wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tangents", [lambda t: (t,), lambda t: (t, t, t), lambda t: t, lambda t: np.stack([t, t])]
)
def test_another_number_of_tangents_is_an_error(tangents):
    op = Op(lambda x: (x * 2, x * 3), name="twice", jvp=lambda t, out, x: tangents(t[0]))
    with pytest.raises(errors.ShapeError, match=r"twice.*2 results"):
        tape.jvp(lambda x: op(x)[0], (X,), (X,))


@pytest.mark.parametrize("contribution", [lambda g: np.ones(2), lambda g: np.ones((3, 3))])
def test_contributions_of_another_shape_are_errors(contribution):
    op = Op(lambda x: (x * 2, x * 3), name="twice", vjp=[lambda g, out, x: contribution(g)])
    with pytest.raises(errors.ShapeError, match="twice"):
        tape.grad(lambda x: np.sum(op(x)[0]))(X)


@pytest.mark.parametrize("result", [None, "text", ("nested",), np.array(["a"]), object()])
def test_results_that_are_no_arrays_are_errors(result):
    op = Op(lambda x: (x, result), name="odd")
    with pytest.raises(errors.TapeError):
        op(tape.Trace().param(X))


def test_results_without_rules_are_constants():
    op = Op(lambda x: (x, x * 2), name="constant")
    np.testing.assert_array_equal(tape.grad(lambda x: np.sum(op(x)[1] * x))(X), 2 * X)


# ---- `Results` itself ----------------------------------------------------------------------------------


def test_sums_go_part_by_part():
    a, b = Results((1.0, None, 2.0)), Results((None, None, 3.0))
    assert a + b == (1.0, None, 5.0)
    assert type(a + b) is Results
    with pytest.raises(ValueError, match="zip"):
        a + Results((1.0,))


def test_adjoints_of_several_uses_are_added_up():
    def f(op, x):
        sine, cosine, _, total = op(x, Y)
        again, *_ = op(x, Y)
        return np.sum(sine + sine * cosine) + total * np.sum(again) + np.sum(sine[1:])

    for op in OPS.values():
        assert_alike(tape.grad(lambda x, op=op: f(op, x))(X), tape.grad(lambda x: f(PYTHON, x))(X))


def test_packing_undoes_unpacking():
    several, one = Results((1.0, 2.0)), np.ones(2)
    assert pack(unpack(several), several) == several
    assert pack(unpack(one), one) is one
    assert not is_several(one)


# ---- functions that return several results of one operation ----------------------------------------------

both = tape.Op(
    lambda x: (np.sin(x), np.cos(x)), name="both", jvp=[lambda t, out, x: (t * out[1], -t * out[0])]
)
WAYS = {
    "compile": tape.compile,
    "vmap": tape.vmap,
    "vmap, compiled": lambda f: tape.compile(tape.vmap(f)),
    "jacobian": tape.jacobian,
    "jacobian, compiled": lambda f: tape.compile(tape.jacobian(f)),
    "jvp": lambda f: lambda x: tape.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: tape.vjp(f, x)[1]((x, x)),
    "linearize": lambda f: lambda x: tape.linearize(f, x)[1](x),
    "hessian": lambda f: tape.hessian(lambda x: np.sum(f(x)[0] * f(x)[1])),
    "checkpoint": lambda f: tape.grad(lambda x: np.sum(tape.checkpoint(f)(x)[1])),
    "checkpoint_loop": lambda f: lambda x: tape.checkpoint_loop(lambda s, i: f(s[0] + s[1]), (x, x), 4, 2),
    "scan": lambda f: lambda x: tape.scan(lambda c, t: (c, f(c * t)), x, np.arange(3.0))[1],
    "scan, compiled": lambda f: tape.compile(
        lambda x: tape.scan(lambda c, t: (f(c[0] * t), None), (x, x), X)[0]
    ),
    "map": lambda f: lambda x: tape.map(f, x),
    "cond, compiled": lambda f: tape.compile(lambda x: tape.cond(x[0] > 0, f, lambda x: (x, x), x)),
    "while_loop": lambda f: tape.compile(
        lambda x: tape.while_loop(lambda c: c[0][0] > 0.5, lambda c: f(c[0] * 0.9), (x, x))
    ),
    "in a tree": lambda f: tape.compile(lambda x: {"a": f(x), "b": [f(2 * x)]}),
    "unpacked": lambda f: tape.vmap(lambda x: [*f(x)]),
}


@pytest.mark.parametrize("way", WAYS)
def test_they_are_a_tuple_to_whatever_takes_the_function(way):
    f, expected = WAYS[way](both), WAYS[way](lambda x: (np.sin(x), np.cos(x)))
    for x in (X, X / 2, X + 0.1):
        found, structure = tape.tree.flatten(f(x))
        others, other_structure = tape.tree.flatten(expected(x))
        assert structure == other_structure
        for one, other in zip(found, others, strict=True):
            assert_close(one, other)
