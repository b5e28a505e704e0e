"""Random compositions of draws, loops, branches, batches and derivatives: compiled as in plain Python."""

import numpy as np
import pytest

import tape
from tape.random import default_rng
from tests.test_random_numbers import same_state
from tests.test_random_streams import X, alike
from tests.tiers import rounds, takes_long

DRAWS = [
    lambda x, g: x * g.normal(x, 1.0),
    lambda x, g: np.tanh(x) + g.gamma(np.exp(x * 0.3), size=np.shape(x)),
    lambda x, g: x + g.random() * 0.1,
    lambda x, g: x * g.beta(1 + np.tanh(x) ** 2, 2.0) + g.integers(3),
    lambda x, g: g.exponential(1 + np.tanh(x) ** 2, size=np.shape(x)) - x,
    lambda x, g: g.permutation(x) if np.ndim(x) else x * g.choice(np.array([1.0, 2.0, 3.0])),
    lambda x, g: np.sin(x) + g.standard_t(2 + np.tanh(x) ** 2),
]


def scanned(a, b, count):
    return lambda x, g: tape.scan(lambda c, _: (np.tanh(a(c, g)), None), x, length=count)[0]


def until(a, b, count):
    def f(x, g):
        body = lambda c: (np.tanh(a(c[0], g)), c[1] + 0.5 + g.random())  # noqa: E731
        return tape.while_loop(lambda c: np.sum(c[1]) < count, body, (x, 0.0))[0]

    return f


COMBINED = [
    lambda a, b, count: lambda x, g: b(a(x, g), g),
    lambda a, b, count: lambda x, g: a(x, g) + b(x, g),
    scanned,
    until,
    lambda a, b, count: lambda x, g: tape.checkpoint(lambda y: a(y, g))(x),
    lambda a, b, count: lambda x, g: a(x, g) if g.random() < 0.5 else b(x, g),
    lambda a, b, count: lambda x, g: tape.vmap(lambda y: a(y, g))(x) if np.ndim(x) else a(x, g),
    lambda a, b, count: lambda x, g: tape.cond(np.sum(x) > 0, lambda: a(x, g), lambda: b(x, g)),
]
DERIVED = [
    lambda f: f,
    lambda f: lambda x, g: tape.value_and_grad(lambda x: np.sum(f(x, g)))(x),
    lambda f: lambda x, g: tape.jvp(lambda x: f(x, g), (x,), (x,)),
    lambda f: lambda x, g: tape.vmap(lambda y: f(y, g))(x),
    lambda f: lambda x, g: tape.hessian(lambda x: np.sum(f(x, g)))(x),
]


def composed(rng, depth=0):
    """A function of an array and a generator."""
    k = rng.integers(len(DRAWS) + (len(COMBINED) + 1 if depth < 3 else 0))
    if k < len(DRAWS):
        return DRAWS[k]
    combine = COMBINED[min(k - len(DRAWS), len(COMBINED) - 1)]
    return combine(composed(rng, depth + 1), composed(rng, depth + 1), int(rng.integers(1, 4)))


@takes_long
@pytest.mark.filterwarnings("ignore")
def test_compositions():
    """Where plain Python raises, as a test of a batch does, the compiled function does so, too."""
    count, refused = rounds(200, 20), 0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        f = DERIVED[rng.integers(len(DERIVED))](composed(rng))
        compiled, first, second = tape.compile(f), default_rng(seed), default_rng(seed)
        for scale in (1.0, 1.3, 1.6):
            try:
                expected = f(X * scale, first)
            except tape.errors.TapeError as error:
                with pytest.raises(type(error)):
                    compiled(X * scale, second)
                refused += 1
                break
            alike(compiled(X * scale, second), expected)
            assert same_state(first, second), seed
    assert refused < count / 10
