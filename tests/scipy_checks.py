"""What every case of SciPy's modules is checked for; in the plain tier the table has only some of them."""

import re
from typing import Any

import numpy as np
import pytest

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


def assert_same_derivatives(f: Any, closed_form: Any, *args: Any, tolerance: float = 1e-10) -> None:
    """Both modes, and the second order in one of them, are those of a closed form."""
    numbers = tuple(range(len(args)))
    weights = np.cos(1.0 + np.arange(np.size(closed_form(*args)))).reshape(np.shape(closed_form(*args)))
    directions = tuple(np.sin(2.0 + np.arange(np.size(a))).reshape(np.shape(a)) for a in args)

    def moved(f):
        return tape.jvp(f, args, directions)[1]

    def slopes(f):
        return tape.grad(lambda *args: np.sum(weights * f(*args)), numbers)(*args)

    def bent(f):
        slope = tape.grad(lambda *args: np.sum(weights * f(*args)), numbers)
        return tape.jvp(slope, args, directions)[1]

    assert_close(moved(f), moved(closed_form), tolerance)
    for derived in (slopes, bent):
        for found, expected in zip(derived(f), derived(closed_form), strict=True):
            assert_close(found, expected, tolerance)


def refused(error: type[Exception], *parts: str) -> Any:
    """Expect an error whose message has these parts, in order."""
    return pytest.raises(error, match=".*".join(map(re.escape, parts)))
