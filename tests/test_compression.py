"""Batches with few rows that differ in a place: that programs compute fewer, and what all rows would be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tape
from tape.program.ir import compression, rewrite
from tests.oracles import assert_close
from tests.tiers import takes_long

N = 12


@pytest.fixture
def small(monkeypatch):
    """Let the smallest of batches be worth it."""
    monkeypatch.setattr(compression, "_WORTH_IT", -np.inf)
    monkeypatch.setattr(compression, "_FEWEST_ROWS", 2)
    monkeypatch.setattr(compression, "_SHARE", 1)


@pytest.fixture
def compressed(monkeypatch):
    """Return a list to which programs add how many rows batches have, and how many stand for them."""
    found = []

    class Noting(compression.Compressing):
        def __init__(self, batches):
            super().__init__(batches)
            lengths = {batches.length_of(id) for id in batches.places}
            found.append((batches.count, max(lengths), any(map(batches.ranges_of, batches.old))))

    monkeypatch.setattr(compression, "Compressing", Noting)
    return found


def run(f, *args):
    """Return what a program of a function computes."""
    compiled = tape.compile(f)
    compiled(*args)
    (program,) = compiled.programs.values()
    return program(*args)


def plain(f, *args):
    """Return what a program computes that has all rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite, "compress", lambda ir, fixed: (0, 0))
        return run(f, *args)


def array(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


# ---- what is compressed ------------------------------------------------------------------------------


def chain(x):
    """Return what depends on neighbours alone."""
    for _ in range(5):
        x = np.sin(x[1:] * x[:-1]) + np.sqrt(1 + x[1:] ** 2)
    return x


def test_rows_with_places_of_their_own_are_computed_together(compressed):
    x = array(200)
    assert_close(run(tape.jacobian(chain, mode="fwd"), x), tape.jacobian(chain, mode="fwd")(x))
    ((count, length, _),) = compressed
    assert (count, length) == (200, 1 + 6)  # an element depends on six; the common row


def test_what_is_computed_for_fewer_rows_costs_less():
    x = array(200)
    compiled = tape.compile(tape.jacobian(chain, mode="fwd"))
    compiled(x)
    (program,) = compiled.programs.values()
    flops = program.explain().flops
    assert program.explain().effects["compressed"] >= 20
    assert "compressed" in str(program.explain())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite, "compress", lambda ir, fixed: (0, 0))
        compiled = tape.compile(tape.jacobian(chain, mode="fwd"))
        compiled(x)
        (program,) = compiled.programs.values()
        assert 10 * flops < program.explain().flops


def fingers(x, weights):
    """Return sums over joints of five fingers, each with four angles of its own."""
    turned = []
    for finger in range(5):
        total = 1.0
        for angle in x[4 * finger : 4 * finger + 4]:
            total = total * np.cos(angle + weights)
            turned.append(total)
    return np.sum(np.stack(turned) * weights, axis=0)


def test_sums_over_ranges_of_their_own_are_computed_range_by_range(compressed):
    x, weights = array(20), array(300)
    assert_close(run(tape.jacobian(fingers), x, weights), tape.jacobian(fingers)(x, weights))
    ((count, length, has_ranges),) = compressed
    assert (count, length, has_ranges) == (20, 5, True)


def test_where_everything_depends_on_everything_nothing_is_compressed(compressed):
    x, w = array(64), array(64, 64)
    assert_close(run(tape.jacobian(lambda x: np.tanh(w @ x)), x), tape.jacobian(lambda x: np.tanh(w @ x))(x))
    assert not compressed


def test_small_batches_are_left_as_they_are(compressed):
    run(tape.jacobian(chain), array(10))
    assert not compressed


def test_arrays_closed_over_may_be_written_to(small):
    seeds = np.eye(N)
    f = tape.compile(lambda x: tape.vmap(lambda v: tape.jvp(chain, (x,), (v,))[1])(seeds))
    x = array(N)
    for seed in range(2):
        f(x)
        seeds[:] = array(N, N, seed=seed)
        assert_close(f(x), seeds @ tape.jacobian(chain)(x).T)


# ---- infinities and NaNs ------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("at", [0, 5, 13, 19])
def test_what_is_not_finite_spreads_as_in_the_whole_batch(small, compressed, bad, at):
    x, weights = array(20), array(7)
    x[at] = bad
    weights[3] = bad if at % 2 else 1.0
    with np.errstate(invalid="ignore"):
        for f, args in ((tape.jacobian(fingers), (x, weights)), (tape.jacobian(chain), (x,))):
            np.testing.assert_array_equal(run(f, *args), plain(f, *args))
    assert len(compressed) == 2


# ---- random functions -----------------------------------------------------------------------------------

STEPS = [
    "scale",
    "shift",
    "neighbours",
    "roll",
    "matrices",
    "stack",
    "put",
    "take",
    "sum",
    "turn",
    "exp",
    "where",
]


def function(steps, seed, spoiled):
    """Return a function of N numbers that is made of such steps; some of its factors are not finite."""

    def f(x):
        rng = np.random.default_rng(seed)

        def factors(*shape):
            values = rng.normal(size=shape)
            if spoiled and values.size:
                values.flat[rng.integers(values.size)] = rng.choice([np.inf, np.nan, 0.0])
            return values

        y = x[:, None] * factors(N, 3)
        for step in steps:
            n, m = y.shape
            if step == "scale":
                y = y * factors(n, 1)
            elif step == "shift":
                y = y + factors(m)
            elif step == "neighbours" and n > 2:
                y = y[1:] * y[:-1] - y[1:]
            elif step == "roll":
                y = np.concatenate([y[n // 2 :], np.zeros((1, m)), y[: n // 2]])
            elif step == "matrices":
                y = y @ factors(m, 4)
            elif step == "stack":
                y = np.stack([y, 2 * y, np.ones((n, m))], axis=1).reshape(3 * n, m)[::2]
            elif step == "put":
                whole = np.zeros((n + 2, m + 1), like=y)
                whole[1:-1, :-1] = y
                y = whole
            elif step == "take":
                y = y[rng.integers(n, size=n)]
            elif step == "sum" and n > 3:
                y = y[: n // 2 * 2].reshape(n // 2, 2, m).sum(axis=1)
            elif step == "turn":
                y = np.cos(y).T[:, :: 2 if n > 3 else 1].T
            elif step == "exp":
                y = np.exp(-(y**2))
            elif step == "where":
                y = np.where(factors(n, m) > 0, y, y * y)
        kind = rng.integers(4)
        if kind == 3:
            return np.sum(y * factors(*y.shape), axis=1)
        return np.sum(y, axis=kind) if kind < 2 else y

    return f


def derivative(f, how, seed):
    """Return a derivative for a batch of vectors in which few numbers are not zero."""
    rng = np.random.default_rng(seed)
    if how == "seeds":
        few = np.where(rng.random((9, N)) < 0.15, rng.normal(size=(9, N)), 0.0)
        return lambda x: tape.vmap(lambda v: tape.jvp(f, (x,), (v,))[1])(few.copy())
    if how == "hessian":
        return tape.hessian(lambda x: np.sum(f(x)))
    return tape.jacobian(f, mode=how)


@takes_long
@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(STEPS), max_size=7),
    st.sampled_from(["fwd", "rev", "seeds", "hessian"]),
    st.integers(0, 1 << 20),
    st.booleans(),
)
def test_random_functions_have_the_derivatives_of_whole_batches(steps, how, seed, spoiled):
    f = derivative(function(steps, seed, spoiled), how, seed)
    x = array(N, seed=seed)
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        for name, value in (("_WORTH_IT", -np.inf), ("_FEWEST_ROWS", 2), ("_SHARE", 1)):
            patch.setattr(compression, name, value)
        found, expected = run(f, x), plain(f, x)
        np.testing.assert_allclose(
            found,
            expected,
            rtol=1e-9,
            atol=1e-9 * np.max(np.abs(expected), initial=0, where=np.isfinite(expected)),
        )
