"""Random numbers in code that runs once more for derivatives, or for each example; and what is refused."""

import numpy as np
import pytest

import tape
from tape.errors import ConversionError, UnsupportedError
from tape.random import Generator, default_rng
from tests.test_random_numbers import same_state
from tests.test_random_streams import X, alike


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: tape.grad(lambda x: np.sum(f(x))), lambda f: tape.jacobian(f, mode="fwd"),
        lambda f: tape.jacobian(f, mode="rev"), lambda f: tape.hessian(lambda x: np.sum(f(x))),
        lambda f: lambda x: tape.jvp(f, (x,), (x,)), lambda f: lambda x: tape.linearize(f, x)[1](x),
        lambda f: lambda x: tape.hvp(lambda x: np.sum(f(x)))(x, x),
        lambda f: lambda x: tape.taylor(f, x, x, 2),
        lambda f: tape.laplacian(lambda x: np.sum(f(x))), tape.compile, tape.divergence, tape.checkpoint,
    ],
)  # fmt: skip
def test_a_derivative_draws_once(derivative):
    rng, plain = default_rng(0), default_rng(0)
    f = lambda rng: lambda x: rng.normal(x, x, size=(2, 3))[0] * rng.random()  # noqa: E731
    f(plain)(X)
    derivative(f(rng))(X)
    assert same_state(rng, plain)


def test_sparse_derivatives_draw_anew_in_each_call():
    rng, plain = default_rng(0), np.random.default_rng(0)
    slope = tape.sparse_jacobian(lambda x: np.sin(x) * rng.normal(size=3))
    for _ in range(3):
        alike(slope(X).diagonal(), np.cos(X) * plain.normal(size=3))


def test_sweeps_that_are_programs_take_new_numbers():
    rng, plain = default_rng(0), np.random.default_rng(0)
    slope = tape.grad(lambda x: np.sum(np.sin(x) * rng.normal(size=3)) * rng.random())
    for _ in range(30):
        alike(slope(X), np.cos(X) * plain.normal(size=3) * plain.random())


@pytest.mark.parametrize("wrap", [tape.checkpoint, lambda f: tape.checkpoint(tape.checkpoint(f))])
def test_a_checkpoint_sees_the_same_numbers_again(wrap):
    def run(wrap):
        rng = default_rng(2)

        def block(x):
            own = default_rng(4)
            return np.sin(x) * rng.normal(x, 1.0) + rng.gamma(np.exp(x)) * own.normal()

        wrapped = wrap(block)
        loss = lambda x: np.sum(wrapped(wrapped(x)) * rng.random())  # noqa: E731
        found = [tape.value_and_grad(loss)(X), tape.hessian(loss)(X), tape.jacobian(wrapped, mode="fwd")(X)]
        examples = tape.grad(lambda x: np.sum(wrap(tape.vmap(lambda a: a * rng.normal()))(x)))(X)
        return [*found, examples], rng

    (found, rng), (expected, plain) = run(wrap), run(lambda f: f)
    alike(found, expected)
    assert same_state(rng, plain)


def test_examples_draw_numbers_of_their_own():
    found = tape.vmap(lambda a: default_rng(0).normal(a, 1.0, size=2))(np.zeros(3))
    assert np.array_equal(found, np.random.default_rng(0).normal(size=(3, 2)))
    rng = default_rng(0)
    shapes = tape.vmap(lambda a: tape.vmap(lambda b: rng.gamma(a * b, size=4))(X))(np.ones(2))
    assert np.array_equal(shapes, np.random.default_rng(0).gamma(X[:, None], size=(2, 3, 4)))
    unmapped = tape.vmap(lambda a, rng: rng.random(), in_axes=(0, None))(X, default_rng(0))
    assert np.array_equal(unmapped, np.random.default_rng(0).random(3))
    chosen = tape.vmap(lambda a: default_rng(1).choice(5, 3, replace=False))(X)
    plain = np.random.default_rng(1)
    assert np.array_equal(chosen, [plain.choice(5, 3, replace=False) for _ in X])
    halves = tape.vmap(lambda a: tape.cond(a > 0.4, lambda: a + 0 * rng.random(), lambda: -rng.gamma(a)))(X)
    assert np.array_equal(halves[1:], X[1:])
    assert halves[0] < 0
    jacobian = tape.jacobian(tape.vmap(lambda a: default_rng(0).gamma(a)))(X)
    assert np.array_equal(jacobian, np.diag(np.diag(jacobian)))


def test_replay_repeats_standard_numbers_and_refuses_samples_of_other_parameters():
    trace = tape.Trace()
    a = trace.param(2.0)
    y = default_rng(0).normal(a, a)
    trace.set(a, 3.0)
    trace.replay()
    assert float(y) == default_rng(0).normal(3.0, 3.0)
    trace = tape.Trace()
    a = trace.param(2.0)
    y = default_rng(0).gamma(a)
    program = trace.compile(y)
    assert program.run()[0] == default_rng(0).gamma(2.0)
    trace.replay()
    trace.set(a, 3.0)
    for again in (trace.replay, program.run):
        with pytest.raises(UnsupportedError, match="other parameters"):
            again()


# ---- what is refused ---------------------------------------------------------------------------------------


RNG = default_rng(0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tape.root(lambda x: x - RNG.random(), 1.0), "root"),
        (lambda: tape.fixed_point(lambda x: x * RNG.random(), 1.0), "fixed_point"),
        (lambda: tape.odeint(lambda y, t: y * RNG.random(), 1.0, np.arange(2.0)), "odeint"),
        (lambda: tape.odeint(lambda y, t: y * RNG.random(), 1.0, np.arange(2.0), method="Tsit5"), "odeint"),
        (lambda: tape.checkpoint_loop(lambda s, k: s * RNG.random(), 1.0, 3, 2), "checkpoint_loop"),
        (lambda: tape.compile(lambda: default_rng().random())(), "without a seed"),
        (lambda: tape.compile(lambda: Generator(np.random.PCG64(0)).random())(), "another one each time"),
        (lambda: tape.compile(lambda: default_rng(0))(), "returned a generator .* that it made"),
        (lambda: tape.compile(lambda: [(o := default_rng(0)), o.random()])(), "that it made"),
        (lambda: tape.compile(lambda: [RNG.random(), default_rng(0)])(), "that it made"),
        (lambda: tape.compile(lambda: (RNG.random(), RNG.spawn(1)))(), "spawn"),
        (lambda: tape.compile(lambda: (RNG.random(), RNG.bit_generator))(), "bit_generator"),
        (lambda: tape.compile(lambda: RNG.bytes(3))(), "bytes"),
        (lambda: tape.compile(lambda: RNG.permuted(np.ones(3), out=np.ones(3)))(), "permuted with out="),
        (lambda: tape.vmap(tape.custom_vjp(lambda x: x * RNG.random()))(X), "tape.vmap"),
        (lambda: tape.compile(lambda x: OWN(x))(X), "passes|calls back"),
        (lambda: tape.compile(lambda x: tape.custom_vjp(lambda x: x * RNG.random())(x))(X), "pass them"),
        (
            lambda: tape.compile(
                lambda x: tape.while_loop(lambda c: c < RNG.random(), lambda c: c + 1, x)
            )(-2.0),
            "condition",
        ),
    ],
)  # fmt: skip
def test_refusals(call, words):
    with pytest.raises(UnsupportedError, match=words):
        call()


OWN = tape.Op(lambda x: x * RNG.random(), name="own", vjp=[lambda g, out, x: g])


def test_draws_of_each_example_that_a_loop_would_repeat_are_refused():
    def loop(draw):
        return tape.compile(
            tape.vmap(lambda x: tape.scan(lambda c, _: (c + x, draw(c, x)), 1.0, length=2)[1])
        )

    with pytest.raises(UnsupportedError, match="would draw the same numbers for all"):
        loop(lambda c, x: default_rng(0).poisson(c))(X)
    with pytest.raises(UnsupportedError, match="a batch of values where a single draw is repeated"):
        loop(lambda c, x: default_rng(0).poisson(x + 1.0))(X)
    for draw in (lambda c, x: default_rng(0).normal(), lambda c, x: x + default_rng(0).random(2)):
        with pytest.raises(UnsupportedError, match=r"a generator was made in code .* Make it outside"):
            loop(draw)(X)
    rng = default_rng(0)
    found = loop(lambda c, x: rng.normal())(X)
    assert np.array_equal(found, np.random.default_rng(0).normal(size=(2, 3)).T)


def test_whole_numbers_of_examples_do_not_move_in_programs_too():
    def f(x):
        block = tape.checkpoint(lambda x: x * default_rng(0).poisson(tape.stop_gradient(x)))
        return np.sum(tape.vmap(block)(x))

    x = np.array([3.0, 4.0, 50.0])
    expected = np.random.default_rng(0).poisson(x)
    for slope in (tape.grad(f), tape.compile(tape.grad(f))):
        assert np.array_equal(slope(x), expected)


def test_a_number_that_python_would_freeze_is_refused():
    with pytest.raises(ConversionError):
        tape.compile(lambda x: x * float(RNG.random()))(1.0)


def test_custom_rules_may_draw():
    rng, plain = default_rng(0), default_rng(0)

    @tape.custom_vjp
    def noisy(x):
        return x + rng.normal()

    noisy.defvjp(lambda g, out, x: 2 * g)
    assert tape.value_and_grad(noisy)(1.0) == (1.0 + plain.normal(), 2.0)
    assert same_state(rng, plain)


WHOLE_ARRAYS = {
    "multinomial": (lambda rng, p: rng.multinomial(5, p), [[0.2, 0.8], [0.5, 0.5]]),
    "choice": (lambda rng, p: rng.choice(3, 4, p=p), [[0.1, 0.9, 0.0], [0.3, 0.3, 0.4]]),
    "dirichlet": (lambda rng, a: rng.dirichlet(a, 2), [[1.0, 2.0], [0.5, 0.5]]),
    "permuted": (lambda rng, x: rng.permuted(x), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    "permutation": (lambda rng, x: rng.permutation(x), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    "multivariate_normal": (lambda rng, m: rng.multivariate_normal(m, np.eye(2)), [[1.0, 2.0], [3.0, 4.0]]),
}


@pytest.mark.parametrize("method", WHOLE_ARRAYS)
def test_examples_of_whole_arrays_are_drawn_one_after_the_other(method):
    draw, rows = WHOLE_ARRAYS[method]
    rng, plain = default_rng(6), np.random.default_rng(6)
    found = tape.vmap(lambda row: draw(rng, row))(np.array(rows))
    np.testing.assert_allclose(found, [draw(plain, row) for row in rows], rtol=1e-14)
    assert same_state(rng, plain)
    nothing = tape.vmap(lambda row: draw(rng, row))(np.zeros((0, len(rows[0]))))
    assert nothing.shape == (0, *found.shape[1:])
    assert nothing.dtype == found.dtype
    assert same_state(rng, plain)


def test_colours_are_counted_of_each_example():
    colours, counts = np.array([[3, 0, 5], [2, 4, 1], [0, 0, 9]]), np.array([2, 5, 9])
    rng, plain = default_rng(6), np.random.default_rng(6)
    found = tape.vmap(lambda c, n: rng.multivariate_hypergeometric(c, n, 4, "count"))(colours, counts)
    expected = [
        plain.multivariate_hypergeometric(c, n, 4, "count") for c, n in zip(colours, counts, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)
    assert same_state(rng, plain)


def test_generators_pass_through_transforms():
    def f(x, rng):
        return np.sum(x * rng.normal(x, 1.0, size=3)) * rng.random()

    expected, plain = tape.grad(lambda x: f(x, default_rng(1)))(X), default_rng(1)
    f(X, plain)
    for derivative in (tape.grad(f), tape.compile(tape.grad(f)), tape.grad(tape.checkpoint(f))):
        rng = default_rng(1)
        alike(derivative(X, rng), expected)
        assert same_state(rng, plain)


def test_no_examples():
    def f(a):
        rng = default_rng(0)
        return a * rng.normal(size=2), rng.choice(4, 2, replace=False), rng.dirichlet(np.ones(3))

    shapes = [np.shape(part) for part in tape.vmap(f)(np.zeros(0))]
    assert shapes == [(0, 2), (0, 2), (0, 3)]
    for method in ("count", "marginals"):
        draw = lambda c: default_rng(0).multivariate_hypergeometric(c, 2, 4, method)  # noqa: B023, E731
        assert tape.vmap(draw)(np.full((0, 3), 4)).shape == (0, 4, 3)
