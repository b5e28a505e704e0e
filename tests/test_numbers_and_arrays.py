"""What has no axes is a number on a tape where it is one without: ``x /= 2`` binds a name to a new one then.

A 0-d array is changed by it, and so is what other names have.
"""

import warnings
from contextlib import suppress

import numpy as np
import pytest

import tape
from tape import ops
from tape.core.node import Handle, plain
from tape.scipy import integrate, optimize
from tests.op_table import CASES, a_third, by_operation, lightly
from tests.tiers import is_full, some

REFUSALS = (tape.errors.TapeError, ValueError, TypeError, np.linalg.LinAlgError)
MOST = 6 if is_full() else 1
"""How many cases of each operation are looked at."""


def few(cases):
    """Cases of each operation, those first whose arguments have no axes."""
    groups = {}
    for case in sorted(cases, key=lambda case: any(argument.shape for argument in case.arguments)):
        groups.setdefault(case.op, []).append(case)
    return [case for group in groups.values() for case in group[:MOST]]


def is_array(leaf):
    return isinstance(plain(leaf), np.ndarray)


def functions(case):
    """A case, and what the derivatives of it are, as functions of numbers and arrays."""
    f = case.on(ops)
    argnums = tuple(k for k, argument in enumerate(case.args()) if argument.dtype.kind in "fc")
    yield "value", f
    if not case.has_derivative or not argnums:
        return

    def total(*args):
        return sum(np.sum(np.real(leaf)) for leaf in tape.tree.flatten(f(*args))[0])

    def moved(*args):
        ones = tuple(np.ones(np.shape(args[k]))[()] for k in argnums)
        call = lambda *some: f(*[some[argnums.index(k)] if k in argnums else x for k, x in enumerate(args)])  # noqa: E731
        return tape.jvp(call, tuple(args[k] for k in argnums), ones)

    yield "grad", tape.grad(total, argnums)
    yield "jacobian", tape.jacobian(total, argnums)
    yield "jvp", moved


def check(name, f, args):
    """Compare the leaves of a result without axes with those on a tape, compiled and differentiated."""
    try:
        expected = tape.tree.flatten(f(*args))[0]
    except REFUSALS:
        return

    def watched(*args):
        out = f(*args)
        for a, b in zip(expected, tape.tree.flatten(out)[0], strict=True):
            if np.ndim(a) == 0 and isinstance(a, (float, np.generic, np.ndarray)) and isinstance(b, Handle):
                assert isinstance(a, np.ndarray) == is_array(b), name
        return out

    for run in (tape.compile(watched), lambda *args: tape.jvp(watched, args, tuple(map(np.ones_like, args)))):
        with suppress(*REFUSALS):
            run(*args)


@by_operation(some(a_third(few(lightly(CASES)), 1), every=2))
def test_results_without_axes_are_of_one_kind_on_tapes_and_without(case):
    args = [x if x.shape else x[()] for x in case.args()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, f in functions(case):
            check(f"{what} of {case.name}", f, args)


SOLVERS = {
    "root": lambda s: tape.root(lambda x: x**3 + x - s, 0.5),
    "fixed_point": lambda s: tape.fixed_point(lambda x: np.cos(x) * s, 0.5),
    "fori_loop": lambda s: tape.fori_loop(0, 3, lambda i, x: x * s, 0.5),
    "while_loop": lambda s: tape.while_loop(lambda x: x < 3, lambda x: x + s, 0.5),
    "scan": lambda s: tape.scan(lambda carry, x: (carry + s, carry), 0.5, np.zeros(3))[0],
    "cond": lambda s: tape.cond(s > 0, lambda: s * 2, lambda: s),
    "switch": lambda s: tape.switch(1, [lambda: s, lambda: s * 2]),
    "map": lambda s: tape.map(lambda x: x * s, np.ones(2))[0],
    "vmap": lambda s: tape.vmap(lambda x: x * s)(np.ones(2))[0],
    "vjp": lambda s: tape.vjp(lambda x: x * s, 0.5)[0],
    "jvp": lambda s: tape.jvp(lambda x: x * s, (0.5,), (1.0,))[1],
    "gradient of a sum": tape.grad(lambda x: x + 3.0),
    "second": tape.hessian(lambda x: 3 * x**2),
    "hvp": lambda s: tape.hvp(lambda x: x**3)(s, 1.0),
    "checkpoint": tape.checkpoint(lambda x: x * 2),
    "quad": lambda s: integrate.quad(lambda x: x * s, 0, 1)[0],
    "dblquad": lambda s: integrate.dblquad(lambda y, x: x * y * s, 0, 1, 0, 1)[0],
    "brentq": lambda s: optimize.brentq(lambda x: x**3 - s, 0, 2),
    "newton": lambda s: optimize.newton(lambda x: x**3 - s, 0.5),
    "root_scalar": lambda s: optimize.root_scalar(lambda x: x**3 - s, bracket=(0, 2)).root,
    "minimize_scalar": lambda s: optimize.minimize_scalar(lambda x: (x - s) ** 2).x,
    "odeint": lambda s: tape.odeint(lambda y, t: -y * s, np.array([1.0]), np.array([0.0, 1.0]))[1][0],
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_name_that_a_result_is_bound_to_keeps_it(name):
    def halved(s):
        whole = SOLVERS[name](s)
        half = whole
        half /= 2
        return half, whole

    s = np.float64(0.75)
    half, whole = halved(s)
    assert 2 * half == whole
    single = np.ones(1, np.float32)
    expected = SOLVERS[name](0.75)
    of_float, compiled = tape.compile(SOLVERS[name]), tape.compile(halved)
    for _ in range(2):
        assert type(of_float(0.75)) is type(expected)
        assert (of_float(0.75) * single).dtype == (expected * single).dtype
    for _ in range(2):
        np.testing.assert_allclose(compiled(s), (half, whole), rtol=1e-7)
    np.testing.assert_allclose(tape.jvp(halved, (s,), (1.0,))[0], (half, whole), rtol=1e-7)


@pytest.mark.parametrize(
    "name", ["asarray", "array", "asanyarray", "ascontiguousarray", "require", "asarray_chkfinite"]
)
def test_a_number_that_is_converted_is_an_array_for_all_its_names(name):
    def f(x):
        first = getattr(tape.numpy, name)(x[0])
        other = first
        other *= 3
        return np.sum(first) * x[1]

    x = np.array([2.0, 3.0])
    assert f(x) == 18.0
    for derive in (tape.grad, lambda f: tape.compile(tape.grad(f))):
        np.testing.assert_array_equal(derive(f)(x), [9.0, 6.0])
