"""Random numbers in programs, loops, batches and code that runs again: those of plain Python."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.core.bit_states import set_state, state_of
from tape.random import Generator, default_rng
from tests.test_random_numbers import same_state
from tests.tiers import takes_long

X = np.array([0.3, 0.5, 0.9])


def alike(found, expected):
    for a, b in zip(tape.tree.flatten(found)[0], tape.tree.flatten(expected)[0], strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.result_type(a) == np.result_type(b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def as_plain(make, x, calls=4, programs=None):
    """Check that a function that draws is the same compiled: its results, and the state after each call.

    ``make(rng)`` makes it, closed over a generator; it is tried with one that is an argument as well.
    """
    first, second, third = default_rng(7), default_rng(7), default_rng(7)
    plain, closed = make(first), tape.compile(make(second))
    passed = tape.compile(lambda x, rng: make(rng)(x))
    for k in range(calls):
        expected = plain(x + 0.1 * k)
        alike(closed(x + 0.1 * k), expected)
        alike(passed(x + 0.1 * k, third), expected)
        assert same_state(first, second)
        assert same_state(first, third)
    assert programs is None or len(closed.programs) == programs


# ---- the same in programs ------------------------------------------------------------------------------


def mixture(rng):
    def f(x):
        y = rng.normal(x, 1.0, size=(2, 3)) * rng.integers(1, 5)
        return y + rng.gamma(x + 1) + rng.permutation(3), rng.random() < 0.5, rng.choice(x, 2)

    return f


def branches(rng):
    def f(x):
        y = x * rng.normal()
        if np.sum(y) > 0.5:
            y = y + rng.beta(x + 1, 2.0)
        if rng.integers(3) == 1:
            return y * rng.standard_t(3.0)
        return tape.cond(rng.random() < 0.5, lambda: y, lambda: y + rng.random(3))

    return f


def derivatives(rng):
    def loss(x):
        return np.sum(rng.gamma(x + 1.0) * rng.normal(x, x)) + np.prod(x) * rng.normal()

    def f(x):
        moved = tape.jvp(loss, (x,), (x,))
        products = tape.hvp(loss)(x, x), tape.jacobian(lambda x: rng.dirichlet(x + 1.0, 2))(x)
        return tape.value_and_grad(loss)(x), moved, tape.hessian(loss)(x), products

    return f


def scan(rng):
    def f(x):
        def loss(x):
            def body(carry, _):
                carry = carry * 0.5 + rng.normal(x, x)
                return carry, rng.gamma(x + 2.0) * carry + rng.random()

            carry, ys = tape.scan(body, x, length=6)
            return np.sum(ys) + np.sum(carry * rng.random())

        def curve(x):
            return np.sum(tape.scan(lambda c, _: (c * x + rng.normal(x, x), None), x, length=3)[0])

        return tape.value_and_grad(loss)(x), tape.grad(lambda x: np.sum(tape.grad(curve)(x)))(x)

    return f


def nested_scans(rng):
    def f(x):
        def outer(carry, _):
            inner = tape.scan(lambda c, _: (c + rng.normal(), rng.integers(9)), carry, length=3)
            return inner[0] * rng.random(), inner[1]

        return tape.scan(outer, x, length=4), tape.fori_loop(0, 3, lambda i, c: c + i * rng.random(), x)

    return f


def no_steps(rng):
    return lambda x: (tape.scan(lambda c, _: (c + rng.random(), rng.integers(5)), x, length=0), rng.random())


def mapped(rng):
    return lambda x: tape.map(lambda a: a * rng.normal(), x)


def while_loop(rng):
    def f(x):
        loss = lambda a: tape.while_loop(lambda c: c < 5.0, lambda c: c + a * rng.random(), a)  # noqa: E731
        return tape.value_and_grad(loss)(x[1])

    return f


def checkpoints(rng):
    def f(x):
        block = tape.checkpoint(lambda x: np.sin(x) * rng.normal(x, 1.0) + rng.gamma(x + 1.0))
        return tape.value_and_grad(lambda x: np.sum(block(x) + rng.random() * block(block(x) ** 2)))(x)

    return f


def checkpoints_of_examples(rng):
    def f(x):
        block = tape.checkpoint(lambda x: x * rng.normal() + default_rng(1).normal() + rng.gamma(x + 1.0))
        return tape.vmap(tape.value_and_grad(block))(x), tape.grad(lambda x: np.sum(tape.vmap(block)(x)))(x)

    return f


def checkpointed_scan(rng):
    def f(x):
        body = lambda c, _: (c * 0.5 + rng.normal(x, x) * c, None)  # noqa: E731
        return tape.grad(lambda x: np.sum(tape.scan(body, x, length=7, checkpoint="sqrt")[0]))(x)

    return f


def examples(rng):
    def one(a):
        return a * rng.normal(a, 1.0, size=2) + rng.gamma(a + 1.0) + rng.normal(), rng.choice(4, 2)

    def f(x):
        loss = lambda x: np.sum(tape.vmap(one)(x)[0])  # noqa: E731
        return tape.vmap(one)(x), tape.grad(loss)(x), tape.vmap(tape.grad(lambda a: a * rng.gamma(a + 1)))(x)

    return f


def examples_in_loops(rng):
    def f(x):
        def body(carry, _):
            return tape.vmap(lambda a: a * 0.5 + rng.normal())(carry), rng.permutation(3)

        steps = tape.vmap(
            lambda a: tape.scan(lambda c, _: (c + rng.normal(a, 1.0), rng.random(2)), a, length=3)
        )
        until = tape.vmap(lambda a: tape.while_loop(lambda c: c < 3.0, lambda c: c + rng.random(), a))
        return tape.scan(body, x, length=4), steps(x), until(x)

    return f


def unrolled(rng):
    def f(x):
        for _ in range(30):
            x = x * 0.9 + rng.normal(x, 1.0)
        return x

    return f


def own_generator(rng):
    def f(x):
        own = default_rng(3)
        steps = tape.scan(lambda c, _: (c + own.random(), None), x, length=3)[0]
        return own.gamma(x + 1.0) + own.normal() + steps + rng.random()

    return f


@takes_long
@pytest.mark.parametrize(
    ("make", "programs"),
    [
        (mixture, 1), (branches, None), (derivatives, 1), (scan, 1), (nested_scans, 1), (no_steps, 1),
        (mapped, 1), (while_loop, 1), (checkpoints, 1), (checkpointed_scan, 1), (examples, 1),
        (examples_in_loops, None), (checkpoints_of_examples, 1),
        (unrolled, 1), (own_generator, 1),
    ],
)  # fmt: skip
def test_a_program_draws_what_python_draws(make, programs):
    as_plain(make, X, programs=programs)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_states_of_all_bit_generators(kind):
    make = lambda: Generator(getattr(np.random, kind)(5))  # noqa: E731
    rng, plain = make(), make()
    rng.integers(5, dtype=np.int32)  # half of a word is left over
    plain.integers(5, dtype=np.int32)
    step = tape.compile(lambda rng: (rng.normal(size=3), rng.integers(9, dtype=np.int32), rng.random()))
    for _ in range(3):
        alike(step(rng), (plain.normal(size=3), plain.integers(9, dtype=np.int32), plain.random()))
        assert same_state(rng, plain)
    other = make()
    set_state(other.bit_generator, state_of(rng.bit_generator))
    assert same_state(rng, other)
    assert len(step.programs) == 1


def test_bit_generators_of_others_have_no_known_state():
    class Mine(np.random.PCG64):
        pass

    with pytest.raises(errors.UnsupportedError, match=r"Mine.* is not known.*PCG64, PCG64DXSM, MT19937"):
        state_of(Mine(0))


@pytest.mark.parametrize("others", [lambda: [default_rng(0), default_rng(1)], lambda: [None, default_rng(0)]])
def test_code_that_runs_again_must_draw_from_the_same_generators(others):
    rngs, calls = others(), []

    def f(x):
        calls.append(None)
        rng = rngs[min(len(calls), 2) - 1]
        return x * 2.0 if rng is None else x * rng.normal()

    with pytest.raises(errors.UnsupportedError, match=r"checkpoint\(f\) was run again .* another generator"):
        tape.grad(tape.checkpoint(f))(1.0)


def test_one_program_serves_all_generators_of_a_kind():
    step = tape.compile(lambda x, rng: x * rng.normal())
    for seed in range(5):
        assert step(2.0, default_rng(seed)) == 2.0 * default_rng(seed).normal()
    assert len(step.programs) == 1
    assert (
        step(2.0, Generator(np.random.Philox(1))) == 2.0 * np.random.Generator(np.random.Philox(1)).normal()
    )
    assert len(step.programs) == 2


def test_generators_in_trees_and_the_same_one_twice():
    def f(state, rng):
        return state["x"] * state["rng"].normal() + rng.normal() * closed.random()

    closed, again = default_rng(1), default_rng(1)
    compiled = tape.compile(f)
    a, b, c, d = default_rng(2), default_rng(3), default_rng(2), default_rng(3)
    for _ in range(2):
        expected = 2.0 * c.normal() + d.normal() * again.random()
        assert compiled({"x": 2.0, "rng": a}, b) == expected
    for _ in range(2):
        expected = 2.0 * c.normal()
        expected += c.normal() * again.random()
        assert compiled({"x": 2.0, "rng": a}, a) == expected
    expected = 2.0 * again.normal()
    expected += again.normal() * again.random()
    assert compiled({"x": 2.0, "rng": closed}, closed) == expected
    assert same_state(closed, again)
    shared = Generator(a.bit_generator)
    expected = 2.0 * c.normal()
    assert compiled({"x": 2.0, "rng": a}, shared) == expected + c.normal() * again.random()


def test_a_name_that_is_bound_to_another_generator():
    source = default_rng(0)
    compiled = tape.compile(lambda x: x + source.random())
    assert compiled(1.0) == 1.0 + default_rng(0).random()
    first, source = source, default_rng(5)
    plain = default_rng(5)
    assert [compiled(1.0) for _ in range(2)] == [1.0 + plain.random() for _ in range(2)]
    source, plain = first, default_rng(0)
    plain.random()
    assert compiled(1.0) == 1.0 + plain.random()
    for seed in range(20):
        source = default_rng(seed)
        assert compiled(1.0) == 1.0 + default_rng(seed).random()


def test_an_error_leaves_the_generator_as_it_was():
    rng = default_rng(0)
    compiled = tape.compile(lambda x: np.linalg.inv(x * rng.random()))
    compiled(np.eye(2))
    before = default_rng(0)
    before.random()
    with pytest.raises(np.linalg.LinAlgError):
        compiled(np.zeros((2, 2)))
    assert same_state(rng, before)
    alike(compiled(np.eye(2)), np.eye(2) / before.random())


def test_training_with_donated_parameters_and_dropout():
    def step(w, x, rng):
        def loss(w):
            kept = tape.nn.dropout(x, 0.3, tape.nn.dropout_mask(rng, x.shape, 0.3))
            return np.mean((kept @ w - 1.0) ** 2)

        return w - 0.1 * tape.grad(loss)(w)

    compiled = tape.compile(step, donate=0)
    x = np.random.default_rng(0).normal(size=(8, 3))
    w, v, a, b = np.zeros(3), np.zeros(3), default_rng(1), default_rng(1)
    for _ in range(5):
        w, v = compiled(w, x, a), step(v, x, b)
        alike(w, v)
    assert same_state(a, b)


def test_a_step_returns_the_generator_that_it_was_given():
    """State, parameters and generator go round; the numbers are fresh in each step."""
    rule = tape.optim.adam(lr=0.1)

    def step(state, params, rng):
        noise = rng.normal(size=3)
        gradient = tape.grad(lambda w: np.sum((w - noise) ** 2))(params["w"])
        state, params = rule.update({"w": gradient}, state, params)
        return state, params, rng, noise

    compiled = tape.compile(step)
    params = {"w": np.zeros(3)}
    state, rng, drawn = rule.init(params), default_rng(1), []
    expected = rule.init(params), params, default_rng(1)
    given = rng
    for _ in range(4):
        state, params, rng, noise = compiled(state, params, rng)
        *expected, plain = step(*expected)
        alike((params, noise), (expected[1], plain))
        assert rng is given
        assert same_state(rng, expected[2])
        drawn.append(noise)
    assert len(np.unique(drawn)) == 12
    assert len(compiled.programs) == 1
    other = default_rng(5)
    assert compiled(state, params, other)[2] is other  # the same program, and another generator
    assert len(compiled.programs) == 1


def test_generators_are_returned_from_anywhere_in_a_tree():
    closed, a, b = default_rng(0), default_rng(1), default_rng(2)

    def f(x, pair, is_swapped):
        first, second = pair["a"], pair["b"]
        if is_swapped:
            first, second = second, first
        y = x + first.normal()
        if y > 1e3:
            return {"y": y}
        return {"y": y, "pair": [first, second], "closed": (closed, closed)}

    compiled = tape.compile(f)
    plain = {"a": default_rng(1), "b": default_rng(2)}
    for x, is_swapped in ((0.0, False), (1.0, True), (2e3, True), (0.5, False), (0.5, True)):
        found, expected = compiled(x, {"a": a, "b": b}, is_swapped), f(x, plain, is_swapped)
        assert found["y"] == expected["y"]
        if x < 1e3:
            order = [b, a] if is_swapped else [a, b]
            assert all(one is other for one, other in zip(found["pair"], order, strict=True))
            assert all(one is closed for one in found["closed"])
    assert same_state(a, plain["a"])
    assert same_state(b, plain["b"])
    untouched = tape.compile(lambda x, rng: (2 * x, rng))
    assert [untouched(1.0, one)[1] for one in (a, b, a)] == [a, b, a]


def test_reports_of_a_program_that_draws():
    rng = default_rng(0)
    compiled = tape.compile(lambda x: x * rng.normal(size=3))
    compiled(1.0)
    ((key, program),) = compiled.programs.items()
    assert "states of generators" in str(key)
    assert program.explain().callbacks == {"draw": 1}
    assert "draw" in compiled.explain()
    state = state_of(rng.bit_generator)
    assert "draw" in str(compiled.profile(1.0, repeats=2))
    assert np.array_equal(state_of(rng.bit_generator), state)


def test_a_function_that_draws_on_some_paths_only():
    def f(x, is_training):
        y = x * rng.normal(size=3) if is_training else x
        return y + rng.random() if x > 1 else y

    compiled, rng = tape.compile(f), default_rng(0)
    plain = default_rng(0)
    for x, is_training in ((0.5, False), (0.7, False), (2.0, False), (0.5, True), (0.6, False), (3.0, True)):
        expected = x * plain.normal(size=3) if is_training else x
        alike(compiled(x, is_training), expected + plain.random() if x > 1 else expected)
    assert same_state(rng, plain)


def test_ints_and_attributes():
    compiled = tape.compile(
        lambda n, rng: (rng.integers(n), rng.normal(n, 1.0), rng.random(n), rng.poisson(n))
    )
    rng, plain = default_rng(3), np.random.default_rng(3)
    for n in (3, 4, 3, 70):
        alike(compiled(n, rng), (plain.integers(n), plain.normal(n, 1.0), plain.random(n), plain.poisson(n)))

    seeded = tape.compile(lambda seed, x: x + default_rng(seed).random())
    assert [seeded(k, 1.0) for k in (3, 4, 3)] == [1.0 + default_rng(k).random() for k in (3, 4, 3)]

    class Model:
        def __init__(self, seed):
            self.rng = default_rng(seed)

        @tape.compile
        def sample(self, x):
            return x * self.rng.normal()

    one, other = Model(1), Model(2)
    a, b = default_rng(1), default_rng(2)
    assert [one.sample(1.0), other.sample(1.0), one.sample(1.0)] == [a.normal(), b.normal(), a.normal()]
    one.rng = default_rng(5)
    assert [one.sample(1.0), other.sample(1.0)] == [default_rng(5).normal(), b.normal()]


def test_more_generators_than_are_kept():
    sources, plain = [default_rng(k) for k in range(20)], [default_rng(k) for k in range(20)]
    compiled = tape.compile(lambda x: sum(x * source.normal() for source in sources))
    for _ in range(2):
        alike(compiled(1.0), sum(source.normal() for source in plain))
