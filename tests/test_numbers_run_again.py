"""Python numbers of compiled functions in code that runs again: of each call, and as weak as in plain Python.

A hyperparameter is closed over by what is checkpointed, mapped, scanned, solved or has a rule of its own, and
computed with there. Nothing of it may be that of the recording, nor may it widen float32.
"""

import numpy as np
import pytest

import tape
from tape import errors
from tests.tiers import grid, is_full, takes_long

V = np.array([0.5, -0.25], np.float32)


def ruled(decorate, define, rule):
    def f(u, k, of):
        sine = decorate(lambda u, k: np.sin(u * of(k)))
        getattr(sine, define)(lambda *given: rule(*given, of))
        return sine(u, k)

    return f


def branching(u, k, of):
    """Rows of a program it cannot be: it reads a number in Python."""
    return np.sin(u * of(k)) if np.sum(tape.stop_gradient(u)) < 9 else u


NUMBERS = {
    "square": lambda k: k * k,
    "chain": lambda k: k * k + k,
    "with an integer": lambda k: k * k + 1,
    "negative": lambda k: (-k) * -2 - k,
    "absolute": lambda k: abs(k) ** 0.5,
    "sum": lambda k: sum([k, k]),
    "power": lambda k: k**2,
    "exponent": lambda k: 2 ** (k % 3) / abs(k) ** 0.5,
    "quotient": lambda k: k / 3,
    "larger": lambda k: max(k, 2.0),
    "branch": lambda k: k if k > 2 else 1 - k,
    "truth": lambda k: (k > 2) + 1.0,
    "both": lambda k: 1.0 if k > 2 and k < 99 else 3.0,
    "rounded": lambda k: round(k, 1) + k,
    "floor": lambda k: k // 0.3 + k % 2,
    "rest": lambda k: divmod(k, 0.7)[1],
}
PLACES = {
    "plain": lambda u, k, of: np.sin(u * of(k)),
    "checkpoint": lambda u, k, of: tape.checkpoint(lambda u: np.sin(u * of(k)))(u),
    "argument": lambda u, k, of: tape.checkpoint(lambda u, k: np.sin(u * of(k)))(u, k),
    "nested": lambda u, k, of: tape.checkpoint(lambda u: tape.checkpoint(lambda u: np.sin(u * of(k)))(u))(u),
    "callback": lambda u, k, of: tape.checkpoint(lambda u: branching(u, k, of))(u),
    "checkpoint_loop": lambda u, k, of: tape.checkpoint_loop(lambda c, i: np.sin(c * of(k)), u, 3, 2),
    "scan": lambda u, k, of: tape.scan(lambda c, _: (np.sin(c * of(k)), None), u, None, 3)[0],
    "snapshots": lambda u, k, of: tape.scan(lambda c, _: (np.sin(c * of(k)), 0), u, None, 3, checkpoint=2)[0],
    "fori_loop": lambda u, k, of: tape.fori_loop(0, 3, lambda i, c: np.sin(c * of(k)), u),
    "while_loop": lambda u, k, of: tape.while_loop(
        lambda c: c[1] < 3, lambda c: (np.sin(c[0] * of(k)), c[1] + 1), (u, 0)
    )[0],
    "map": lambda u, k, of: tape.map(lambda c: np.sin(c * of(k)), u),
    "vmap": lambda u, k, of: tape.vmap(lambda c: np.sin(c * of(k)))(u),
    "cond": lambda u, k, of: tape.cond(np.sum(u) < 9, lambda c: np.sin(c * of(k)), lambda c: c, u),
    "custom_vjp": ruled(
        tape.custom_vjp,
        "defvjp",
        lambda g, out, u, k, of: (g * np.cos(u * of(k)) * of(k), np.sum(g * u)),
    ),
    "custom_jvp": ruled(tape.custom_jvp, "defjvp", lambda t, out, u, k, of: t[0] * np.cos(u * of(k)) * of(k)),
}
SOLVERS = {
    "adjoint": lambda u, k, of: tape.odeint(
        lambda y, t: -y * of(k), u, np.linspace(0, 0.1, 3), gradient="adjoint"
    ),
    "steps": lambda u, k, of: tape.odeint(lambda y, t: -y * of(k), u, np.linspace(0, 0.1, 3), method="Tsit5"),
    "root": lambda u, k, of: tape.root(lambda x: x * 4 - np.sin(u * of(k)), u),
    "fixed_point": lambda u, k, of: tape.fixed_point(lambda x: np.float32(0.1) * x + np.sin(u * of(k)), u),
}
DERIVATIVES = {
    "value": lambda f: f,
    "grad": lambda f: lambda v, k: tape.grad(lambda w: np.sum(f(w, k)))(v),
    "jvp": lambda f: lambda v, k: tape.jvp(lambda w: f(w, k), (v,), (v,))[1],
    "jacobian": lambda f: lambda v, k: tape.jacobian(lambda w: f(w, k))(v),
    "hvp": lambda f: lambda v, k: tape.hvp(lambda w: np.sum(f(w, k)))(v, v),
    "taylor": lambda f: lambda v, k: tape.taylor(lambda w: f(w, k), v, v, 2)[1],
}


@takes_long
@grid(times=1, place=[*PLACES, *SOLVERS], derivative=DERIVATIVES)
@pytest.mark.filterwarnings("ignore")
def test_numbers_are_those_of_each_call_and_widen_nothing(place, derivative):
    """1e30 beside float32 has no square: what is computed in doubles would have. NumPy's numbers do widen."""
    others = () if place in SOLVERS else (-0.5, 1e30, np.nan, np.float64(2.5), np.float32(0.5))
    ks = (1.5, 2.5, *others, 1.5)
    first = (list({**PLACES, **SOLVERS}).index(place) + list(DERIVATIVES).index(derivative)) % 8
    for name in [*NUMBERS][first % 2 :: 2] if is_full() else [*NUMBERS][first::8]:
        f = DERIVATIVES[derivative](lambda u, k: {**PLACES, **SOLVERS}[place](u, k, NUMBERS[name]))  # noqa: B023
        compiled = tape.compile(f)
        with np.errstate(all="ignore"):
            for k in ks:
                try:
                    expected = f(V, k)
                except errors.TapeError:  # the state of a loop may not become wider
                    with pytest.raises(errors.TapeError):
                        compiled(V, k)
                    continue
                found = compiled(V, k)
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6, err_msg=f"{name} of {k}")
