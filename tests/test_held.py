"""Plain arrays that are written into after a tape has used them: derivatives use what they were."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.held import may_read, sample
from tape.scipy import integrate

X = np.array([0.3, 0.5, 0.7])


def scaled(x, new):
    scratch, total = np.zeros(3), 0.0
    for k in range(3):
        scratch = new(scratch)
        scratch[:] = k + np.arange(3)
        total = total + np.sum(x * scratch)
    return total


def multiplied(x, new):
    matrix = np.zeros((3, 3), order="F")
    for k in range(4):
        matrix = new(matrix)
        matrix[:] = 0
        matrix[k % 3, (k + 1) % 3] = matrix[2, 0] = 2.0 + k
        x = np.tanh(matrix @ x)
    return np.sum(x)


def masked(x, new):
    mask, total = np.zeros(3, bool), 0.0
    for k in range(3):
        mask = new(mask)
        mask[:] = False
        mask[k] = True
        total = total + np.sum(np.where(mask, x * (k + 1), 0.0)) + np.sum(x[mask] ** 2)
    return total


def indexed(x, new):
    """The index is at the end what it was at first."""
    index, total = np.arange(3), 0.0
    for k in range(3):
        index = new(index)
        total = total + np.sum(x[index] * np.array([1.0, 2.0, 3.0]) ** k)
        index += 1
        index %= 3
    return total


def by_views(x, new):
    rows, total = np.ones((2, 3)), 0.0
    for k in range(3):
        rows = new(rows)
        rows *= k + 1
        total = total + np.sum(x * rows[0]) * np.sum(np.exp(x) * rows[1, ::-1])
    return total


def shifted(x, new):
    """A derivative does not need what the array was."""
    scratch = np.zeros(3)
    for k in range(3):
        scratch = new(scratch)
        scratch[:] = k
        x = (x + scratch) ** 2
    return np.sum(x)


def of_middle_size(x, new):
    scratch, total = np.zeros((1000, 3)), 0.0
    for k in range(3):
        scratch = new(scratch)
        scratch[k] = k + 1.0
        total = total + np.sum(np.sin(x) * scratch)
    return total


FUNCTIONS = [scaled, multiplied, masked, indexed, by_views, shifted, of_middle_size]
DERIVATIVES = {
    "grad": lambda f: tape.grad(f)(X),
    "jvp": lambda f: tape.jvp(f, (X,), (np.array([1.0, -1.0, 2.0]),)),
    "jacobian": lambda f: tape.jacobian(lambda x: x * f(x))(X),
    "forwards": lambda f: tape.jacobian(lambda x: x * f(x), mode="fwd")(X),
    "hessian": lambda f: tape.hessian(f)(X),
    "hvp": lambda f: tape.hvp(f)(X, np.ones(3)),
    "taylor": lambda f: tape.taylor(f, X, np.ones(3), 3),
    "checkpoint": lambda f: tape.grad(tape.checkpoint(f))(X),
    "batch": lambda f: tape.vmap(tape.grad(f))(np.stack([X, 2 * X])),
    "nested": lambda f: tape.grad(lambda x: np.sum(tape.grad(f)(x) ** 2))(X),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_derivatives_use_what_scratch_arrays_were(function, derivative):
    found = DERIVATIVES[derivative](lambda x: function(x, lambda array: array))
    expected = DERIVATIVES[derivative](lambda x: function(x, np.copy))
    for a, b in zip(tape.tree.leaves(found), tape.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("sites", [False, True])
def test_sweeps_of_a_trace_use_what_arrays_were(sites):
    trace, scratch = tape.Trace(sites=sites), np.ones(3)
    x = trace.param(X)
    y = np.sum(x * scratch)
    scratch[:] = 2
    z = y + np.sum(x * scratch)
    scratch[:] = 5
    for _ in range(2):
        np.testing.assert_array_equal(trace.backward_param_grads(z)[0], [3.0] * 3)
        assert trace.jvp(z, {x: np.ones(3)}) == 9.0
        np.testing.assert_array_equal(trace.backward(z)[x.id], [3.0] * 3)
        scratch += 1


def test_an_array_between_pulls_is_what_it_was():
    scale = np.array([1.0, 2.0, 3.0])
    _, pull = tape.vjp(lambda x: x * scale, X)
    for _ in range(2):
        np.testing.assert_array_equal(pull(np.ones(3))[0], [1.0, 2.0, 3.0])
        scale *= 2


LARGE = np.linspace(1.0, 2.0, 20_000)
READING = {
    "multiply": lambda x, array: np.sum(x * array),
    "divide": lambda x, array: np.sum(x / array),
    "matmul": lambda x, array: array @ x,
    "maximum": lambda x, array: np.sum(np.maximum(x, array)),
}
NOT_READING = {
    "add": lambda x, array: np.sum((x + array) ** 2),
    "subtract": lambda x, array: np.sum((array - x) ** 2),
    "concatenate": lambda x, array: np.sum(np.concatenate([x, array]) ** 2),
}


@pytest.mark.parametrize("name", READING)
def test_a_large_array_that_a_derivative_needs_is_an_error(name):
    def f(x):
        scratch = LARGE.copy()
        y = READING[name](x, scratch)
        scratch[:] = 0
        return y

    with pytest.raises(errors.InPlaceError, match=r"a plain array, float64\[20000\], was written into after"):
        tape.grad(f)(LARGE)


@pytest.mark.parametrize("name", NOT_READING)
def test_a_large_array_that_no_derivative_needs_may_be_written_into(name):
    def f(x, new):
        scratch = LARGE.copy()
        y = NOT_READING[name](x, scratch)
        scratch = new(scratch)
        scratch[:] = 0
        return y

    found, expected = (tape.grad(f)(LARGE, new) for new in (lambda array: array, np.copy))
    np.testing.assert_array_equal(found, expected)


def test_arrays_of_inactive_operations_are_not_held():
    trace, scratch = tape.Trace(), LARGE.copy()
    data, x = trace.input(LARGE), trace.param(LARGE)
    y = np.sum(data * scratch) * x
    scratch[:] = 0
    np.testing.assert_array_equal(trace.backward_param_grads(np.sum(y))[0], np.full(20_000, LARGE @ LARGE))


# ---- arrays that get to a derivative in other ways ----------------------------------------------------


def given_to(call):
    """A function that sums a call with a scratch array which holds 1, then 2, and 0 in the end."""

    def f(x, new):
        scratch, total = np.zeros(3), 0.0
        for k in (1.0, 2.0):
            scratch = new(scratch)
            scratch[:] = k
            total = total + np.sum(call(x, scratch))
        scratch = new(scratch)
        scratch[:] = 0
        return total

    return f


ruled = tape.custom_vjp(lambda x, w: x * w)
ruled.defvjp(lambda g, out, x, w: (g * w, None))
pushed = tape.custom_jvp(lambda x, w: x * w)
pushed.defjvp(lambda tangents, out, x, w: tangents[0] * w)
two_rules = tape.Op(lambda x, w: x * w, name="two", vjp=[lambda g, out, x, w: g * out / x, None],
                    jvp=[lambda t, out, x, w: t * w, None])  # fmt: skip
by_attribute = tape.Op(lambda x, *, w: x * w[0], name="by_attribute", vjp=[lambda g, out, x, w: g * w[0]])
TIMES = np.array([0.0, 0.5])
CALLS = {
    "custom_vjp": ruled,
    "custom_jvp": pushed,
    "an Op with two rules": two_rules,
    "an attribute": lambda x, w: by_attribute(x, w=[w]),
    "checkpoint": lambda x, w: tape.checkpoint(lambda x, w: np.sin(x) * w)(x, w),
    "root": lambda x, w: tape.root(lambda y, w: y * (1 + w) - x, np.zeros(3), w),
    "fixed_point": lambda x, w: tape.fixed_point(lambda y, w: 0.1 * y * w + x, np.zeros(3), w),
    "odeint": lambda x, w: tape.odeint(lambda y, t, w: -y * w, x, TIMES, w)[-1],
    "quad": lambda x, w: integrate.quad(lambda s, a, w: np.exp(-s * a) * w[0], 0.0, 1.0, args=(x[0], w))[0],
}


@pytest.mark.parametrize("mode", [tape.grad, lambda f: lambda x: tape.jvp(f, (x,), (np.ones(3),))[1]])
@pytest.mark.parametrize("name", CALLS)
def test_what_runs_again_gets_what_arrays_were(name, mode):
    f = given_to(CALLS[name])
    found, expected = (mode(lambda x, new=new: f(x, new))(X) for new in (lambda array: array, np.copy))
    assert np.any(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


LAYOUTS = {
    "C": np.zeros,
    "F": lambda shape: np.zeros(shape, order="F"),
    "parts of rows": lambda shape: np.zeros((*shape[:-1], 2 * shape[-1]))[..., ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "shape",
    [(1024, 1024), (128, 128), (64, 64, 64), (16, 16, 64), (5000, 4), (10000, 3), (40000, 2), (9, 9999)],
)
def test_a_sample_of_a_large_array_lies_in_all_columns(shape, layout):
    scratch = LAYOUTS[layout](shape)
    assert 64 <= sample(scratch).size <= 512
    inside = tuple(slice(1, -1) if n > 2 else slice(1, 2) for n in shape)

    def f(s):
        scratch[inside] = 1.0
        total = np.sum(s * scratch)
        scratch[inside] = 3.0
        return total + np.sum(s * scratch)

    with pytest.raises(errors.InPlaceError):
        tape.grad(f)(2.0)


def test_arguments_may_be_written_into_before_pulling():
    x = X.copy()
    _, pull = tape.vjp(lambda v: np.sum(v.T**2), x)
    _, push = tape.linearize(lambda v: np.sum(np.sin(v) * v), x)
    expected = push(np.ones(3))
    x -= 0.5 * pull(1.0)[0]
    np.testing.assert_array_equal(pull(1.0)[0], 2 * X)
    assert push(np.ones(3)) == expected


def test_results_of_operations_of_users_are_apart_from_their_buffers():
    buffer = np.zeros(3)
    exp = tape.Op(lambda x: np.exp(x, out=buffer), name="exp", vjp=[lambda g, out, x: g * out])
    np.testing.assert_allclose(
        tape.grad(lambda x: np.sum(exp(x)) + np.sum(exp(2 * x)))(X), np.exp(X) + 2 * np.exp(2 * X)
    )


def test_values_appended_by_hand_are_copied():
    trace = tape.Trace()
    x, value = trace.param(X), X * 3
    y = trace.append(value, [x], lambda g: [g * 3])
    z = np.sum(y * y)
    value[:] = 0
    np.testing.assert_allclose(trace.backward_param_grads(z)[0], 18 * X)


def test_a_replay_reads_arrays_as_they_are():
    trace, scale, scratch = tape.Trace(), np.ones(3), np.ones(3)
    x = trace.param(X)
    y = np.sum(np.exp(x * scale)) + np.sum(x * scratch)
    scratch[:] = 2
    y = y + np.sum(x * scratch)
    scale[:] = 2
    np.testing.assert_allclose(trace.backward_param_grads(y)[0], np.exp(X) + 3)
    for factor in (2.0, 3.0):
        scale[:] = factor
        trace.replay()
        assert float(y) == pytest.approx(np.sum(np.exp(factor * X)) + 3 * np.sum(X))
        np.testing.assert_allclose(trace.backward_param_grads(y)[0], factor * np.exp(factor * X) + 3)


def test_what_a_rule_loads_is_found_in_any_code():
    def directly(g, out, x, w):
        return g * w

    def after_storing(g, out, x, w):
        total = g
        return total * w

    def in_a_closure(g, out, x, w):
        return (lambda: g * w)()

    def in_a_comprehension(g, out, x, w):
        return sum(g * part for part in w)

    for rule in (directly, after_storing, in_a_closure, in_a_comprehension, lambda g, out, *xw: g * xw[1]):
        op = tape.Op(lambda x, w: x * w, name="op", vjp=[rule, None])
        assert may_read(op, 1, X), rule.__name__
    without = tape.Op(lambda x, w: x + w, name="op", vjp=[lambda g, out, x, w: g, None], linear=True)
    assert not may_read(without, 1, X)


def test_an_array_is_held_again_after_a_sweep():
    trace, scale = tape.Trace(), np.ones(3)
    x = trace.param(X)
    y = np.sum(x * scale)
    for factor in (2.0, 3.0, 4.0):
        scale[:] = factor
        np.testing.assert_array_equal(trace.backward_param_grads(y)[0], [factor * (factor - 1) / 2] * 3)
        y = y + np.sum(x * scale)
        np.testing.assert_array_equal(trace.backward_param_grads(y)[0], [factor * (factor + 1) / 2] * 3)
    scale[:] = 10.0
    trace.replay()
    np.testing.assert_array_equal(trace.backward_param_grads(y)[0], [40.0] * 3)
    assert float(y) == pytest.approx(40 * np.sum(X))


@pytest.mark.parametrize(
    "change", [lambda a: setattr(a, "shape", (3, 1)), lambda a: setattr(a, "dtype", np.int64)]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_array_of_another_type_is_what_it_was(change):
    scale = np.array([1.0, 2.0, 3.0])

    def f(x):
        y = np.sum(x * scale)
        change(scale)
        return y

    np.testing.assert_array_equal(tape.grad(f)(X), [1.0, 2.0, 3.0])


# ---- leaves ------------------------------------------------------------------------------------------

SWEEPS = {
    "backward_param_grads": lambda tr, y, z: tr.backward_param_grads(z),
    "backward": lambda tr, y, z: tr.backward(z),
    "pull_back": lambda tr, y, z: tr.pull_back({y.id: np.float64(1.0), z.id: np.float64(2.0)}),
    "push_forward": lambda tr, y, z: tr.push_forward({0: np.ones(tr.nodes[0].value.shape)}, [z.id]),
}


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("shape", [(1,), (3,), (7, 5), (40, 60)])
@pytest.mark.parametrize("kind", ["param", "input"])
def test_a_leaf_that_was_updated_is_an_error_until_it_is_replayed(kind, shape, sweep):
    w, tr = np.full(shape, 0.5), tape.Trace()
    x = tr.param(np.ones(shape))
    v = tr.param(w, name="w") if kind == "param" else tr.input(w, name="w")
    y, z = np.sum(x * v), np.sum(x * x * v)
    tr.backward_param_grads(y, unreached="zero")
    w -= 0.1
    with pytest.raises(errors.InPlaceError, match=r"leaf 'w'.*replay"):
        SWEEPS[sweep](tr, y, z)
    tr.replay()
    SWEEPS[sweep](tr, y, z)
    np.testing.assert_allclose(tr.backward_param_grads(z)[0], 2 * w)


def test_a_leaf_may_be_updated_that_a_sweep_does_not_read():
    a, b, tr = np.ones(3), np.ones(3), tape.Trace()
    p, q = tr.param(a), tr.param(b)
    y, z, w = np.sum(p * p), np.sum(q * q), np.sum(2 * q) + np.sum(p + q)
    b -= 0.1
    np.testing.assert_array_equal(
        tr.backward_param_grads(y, unreached="zero"), [np.full(3, 2.0), np.zeros(3)]
    )
    np.testing.assert_array_equal(tr.backward_param_grads(w), [np.ones(3), np.full(3, 3.0)])
    tr.compile(np.sum(p * q * q))  # reads them in each call
    with pytest.raises(errors.InPlaceError, match="leaf"):
        tr.backward_param_grads(z, unreached="zero")


def test_one_element_of_a_short_leaf():
    a, tr = np.arange(1.0, 6.0), tape.Trace()
    p = tr.param(a)
    y = np.sum(p**3)
    a[1] = 9
    with pytest.raises(errors.InPlaceError, match="leaf"):
        tr.backward_param_grads(y)


def test_the_array_that_a_leaf_was_may_be_written_into_once_another_is_replayed():
    w, tr = np.full(3, 0.5), tape.Trace()
    v = tr.param(w)
    y = np.sum(v * v)
    tr.set(v, np.full(3, 2.0))
    tr.replay()
    w[:] = 7
    np.testing.assert_array_equal(tr.backward_param_grads(y), [np.full(3, 4.0)])
