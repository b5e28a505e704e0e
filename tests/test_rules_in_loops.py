"""Rules of users that are not linear, in loops: applied once in each step, as in Python, not to a sum."""

from typing import Any

import numpy as np
import pytest

import tape
from tape.core.op import Op
from tests.oracles import assert_close
from tests.tiers import takes_long

X = np.array([0.3, 1.2, 0.7])
TIMES = np.array([1.0, -2.0, 3.0])
RULES = {
    "clipped": lambda g, out, x: np.clip(g, -1, 1),
    "absolute": lambda g, out, x: np.abs(g),
    "guided": lambda g, out, x: g * (g > 0),
    "largest": lambda g, out, x: g * (np.abs(g) == np.max(np.abs(g))),
    "linear": lambda g, out, x: 3 * g,
}


def custom(rule: Any) -> Any:
    f = tape.custom_vjp(lambda x: x * 1.0)
    f.defvjp(rule)
    return f


DECLARATIONS = {
    "custom_vjp": custom,
    "Op": lambda rule: Op(lambda x: x * 1.0, name="mine", vjp=[rule]),
    "Op of known shape": lambda rule: Op(lambda x: x * 1.0, name="mine", vjp=[rule], data_dependent=False),
}
"""Functions of a rule for the identity."""


def in_scan(f: Any, v: Any, **options: Any) -> Any:
    return tape.scan(lambda c, t: (c + f(v) * t, None), 0 * v, TIMES, **options)[0]


LOOPS = {
    "scan": in_scan,
    "scan backwards": lambda f, v: in_scan(f, v, reverse=True),
    "scan, recomputed": lambda f, v: in_scan(f, v, checkpoint="sqrt"),
    "fori_loop": lambda f, v: tape.fori_loop(0, 12, lambda i, c: c + np.sin(f(v) * (i - 5.0)), 0 * v),
    "map": lambda f, v: tape.map(lambda t: f(v) * t, TIMES),
    "while_loop": lambda f, v: tape.while_loop(
        lambda c: c[1] < 5, lambda c: (c[0] + f(v) * (c[1] - 2.5), c[1] + 1), (0 * v, 0.0)
    )[0],
    "checkpoint_loop": lambda f, v: tape.checkpoint_loop(lambda c, i: c + f(v) * (i - 2.0), 0 * v, 6, 2),
    "loop in a loop": lambda f, v: tape.scan(lambda c, t: (c + in_scan(f, v) * t, None), 0 * v, TIMES)[0],
    "of the state": lambda f, v: tape.scan(lambda c, t: (c + f(v * c) * t, None), v, TIMES)[0],
    "branch": lambda f, v: tape.scan(
        lambda c, t: (tape.cond(t > 0, lambda c: c + f(v) * t, lambda c: c - f(v) * 2 * t, c), None), v, TIMES
    )[0],
    "derivative": lambda f, v: tape.scan(
        lambda c, t: (c + tape.grad(lambda w: np.sum(f(w * v) * t))(v), None), v, TIMES
    )[0],
    "batch": lambda f, v: tape.vmap(lambda u: in_scan(f, u))(np.stack([v, -2 * v])),
    "for": lambda f, v: sum(f(v) * t for t in TIMES),
}


@takes_long
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("declared", DECLARATIONS)
@pytest.mark.parametrize("rule", RULES)
def test_rules_are_applied_in_each_step(rule, declared, loop):
    f = DECLARATIONS[declared](RULES[rule])
    gradient = tape.grad(lambda v: np.sum(LOOPS[loop](f, v)))
    compiled = tape.compile(gradient)
    for x in (X, -X, X[::-1] - 0.5):
        assert_close(compiled(x), gradient(x))


def test_linear_rules_of_what_is_the_same_in_each_step_stay_outside_of_the_loop():
    f = custom(RULES["linear"])
    compiled = tape.compile(tape.grad(lambda v: np.sum(in_scan(f, v))))
    compiled(X)
    (program,) = compiled.programs.values()
    assert program.explain().loops
    assert not program.explain().callbacks
