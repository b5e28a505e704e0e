"""What every case of SciPy's modules is checked for; in the plain tier the table has only some of them."""

from typing import Any

import numpy as np

import tape
from tests import naive
from tests.op_table.case import Case
from tests.oracles import assert_close, difference, inner, is_float, jvp, record, unit_directions, vjp


def check_value(case: Case, tolerance: float = 1e-12) -> None:
    """Values are SciPy's, in its dtype, and those of a Var are those of an array."""
    args = case.args()
    expected = case.on(naive)(*args)
    found = case.on(tape.ops)(*args)
    assert not isinstance(found, tape.Var)
    assert np.result_type(found) == np.result_type(expected)
    assert_close(found, expected, tolerance)
    recorded = record(case.on(tape.ops), args)[2]
    np.testing.assert_array_equal(recorded.value, found)


def check_derivatives(case: Case) -> None:
    """Forward mode is the difference quotient of SciPy's values, and reverse mode its transpose."""
    args = case.args()
    directions = unit_directions(case.rng(3), args)
    pushed = jvp(case.on(tape.ops), args, directions)
    assert_close(pushed, difference(case.on(naive), args, directions))
    seed = case.rng(7).uniform(-1, 1, np.shape(pushed))
    forwards = inner([seed], [pushed])
    backwards = inner(vjp(case.on(tape.ops), args, seed), directions)
    assert abs(forwards - backwards) <= 1e-12 * max(1, abs(forwards))


def check_compiled(case: Case) -> None:
    """A program has the values and gradients of plain Python, for other numbers than it has recorded, too."""
    chosen = tuple(k for k, a in enumerate(case.args()) if is_float(a))

    def total(*args: Any) -> Any:
        return tape.ops.sum(tape.ops.real(np.sin(case.on(tape.ops)(*args))))

    f = tape.value_and_grad(total, chosen) if case.has_derivative else total
    compiled = tape.compile(f)
    for args in (case.args(), case.args(salt=1)):
        (value, found), (wanted, expected) = (
            out if isinstance(out, tuple) else (out, ()) for out in (compiled(*args), f(*args))
        )
        assert_close(value, wanted, 1e-12)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other, 1e-11)
