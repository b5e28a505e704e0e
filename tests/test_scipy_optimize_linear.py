"""Linear programs, least squares and assignments as functions of their data, beside closed forms."""

import numpy as np
import pytest
from scipy import optimize as original

import tape
from tape import errors
from tape.scipy.optimize import (
    linear_sum_assignment,
    linprog,
)
from tests.op_table.case import Case, nonzero, positive, real, regular
from tests.op_table.scipy_optimize import CASES, module
from tests.oracles import assert_close
from tests.scipy_checks import (
    assert_same_derivatives,
    check_compiled,
    check_derivatives,
    check_value,
    refused,
)
from tests.tiers import some


def factory(ns, costs, limits):
    """The most valuable mix of three products, of which one is made in a given number."""
    return module(ns).linprog(
        -costs, [[1.0, 2.0, 1.0], [3.0, 1.0, 2.0]], 4 + limits[:2], [[0.0, 0.0, 1.0]], limits[2:]
    ).x  # fmt: skip


def boxed(ns, matrix, b, low):
    """The first element is free, the others are at the lower and at the upper bound."""
    lowest = np.array([-50.0, -0.5, -50.0]) + low
    return module(ns).lsq_linear(matrix, 5 * b * np.array([-1.0, -1.0, 1.0]), (lowest, 2.0)).x


ALL = [
    *CASES,
    Case("scipy.optimize.lsq_linear", boxed, regular(3, 3), positive(3), real()),
    Case("scipy.optimize.nnls", lambda ns, a, b: module(ns).nnls(a, 5 * b)[0], regular(3, 3), nonzero(3)),
    Case("scipy.optimize.nnls norm", lambda ns, a, b: module(ns).nnls(a, b - 2)[1], real(4, 3), real(4)),
    Case("scipy.optimize.linprog", factory, positive(3), positive(3)),
]  # fmt: skip


@pytest.mark.parametrize("case", ALL, ids=str)
def test_value_is_that_of_scipy(case):
    check_value(case)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_derivatives_are_differences_of_scipys_values(case):
    check_derivatives(case)


@pytest.mark.parametrize("case", some(ALL, every=2), ids=str)
def test_compiled_is_eager(case):
    check_compiled(case)


@pytest.mark.parametrize(("shape", "seed"), [((2, 4), 2), ((3, 4), 1), ((4, 4), 1), ((7, 4), 1)], ids=str)
@pytest.mark.parametrize("name", ["nnls", "lsq_linear"])
def test_least_squares_of_fewer_and_of_more_equations_than_unknowns(name, shape, seed):
    """Some unknowns are held at 0, and the others have one solution."""
    rng = np.random.default_rng(seed)
    matrix, b = rng.normal(size=shape), 0.3 * rng.normal(size=shape[0])

    def solve(matrix, b, ns=tape.scipy.optimize):
        return ns.nnls(matrix, b)[0] if name == "nnls" else ns.lsq_linear(matrix, b, (0, np.inf)).x

    expected = original.nnls(matrix, b)[0]
    assert_close(solve(matrix, b, original), expected, 1e-7)
    free = np.flatnonzero(expected > 1e-3)
    assert 0 < len(free) <= min(*shape, 3)

    def in_closed_form(matrix, b):
        columns = matrix[:, free]
        return np.zeros(4) + np.eye(4)[:, free] @ np.linalg.solve(columns.T @ columns, columns.T @ b)

    assert_close(in_closed_form(matrix, b), expected, 1e-12)
    assert_same_derivatives(
        solve, in_closed_form, matrix, b, tolerance=1e-6 if name == "lsq_linear" else 1e-10
    )


def test_prices_of_a_linear_program_are_its_gradient():
    """The derivative of the value by the limits is what SciPy calls marginals."""
    costs, matrix, limits = [-3.0, -5.0, -4.0], [[1.0, 2.0, 1.0], [3.0, 1.0, 2.0]], np.array([4.0, 6.0])
    equal, total = [[1.0, 1.0, 1.0]], np.array([2.2])
    expected = original.linprog(costs, matrix, limits, equal, total)

    def value(limits, total, low):
        return linprog(costs, matrix, limits, equal, total, [(low, None), (0, None), (0, None)]).fun

    by_limits, by_total, by_low = tape.grad(value, (0, 1, 2))(limits, total, 0.0)
    assert_close(by_limits, expected.ineqlin.marginals, 1e-9)
    assert_close(by_total, expected.eqlin.marginals, 1e-9)
    assert_close(by_low, expected.lower.marginals[0], 1e-9)


@pytest.mark.parametrize(
    "bounds",
    [
        (0.1, 3),
        [(0.1, None)],
        [(0.1, None), (0.2, 1)],
        np.array([[0.1, np.nan], [0.2, 1.0]]),
        None,
        (None, 1),
    ],
    ids=str,
)
def test_bounds_of_linprog_are_read_as_scipy_reads_them(bounds):
    def solve(module, c):
        return module(c, [[1.0, 1.5]], [2.0], bounds=bounds)

    expected = solve(original.linprog, [-1.0, -1.0])
    value, slope = tape.value_and_grad(lambda c: solve(linprog, c).fun)(np.array([-1.0, -1.0]))
    assert_close(value, expected.fun, 1e-12)
    assert_close(slope, expected.x, 1e-12)


def test_constraints_that_are_missing_have_no_slack():
    def solved(c):
        result = linprog(c, A_eq=[[1.0, 1.0]], b_eq=[1.0])
        assert result.slack.shape == (0,)
        assert result.con.shape == (1,)
        return result.fun

    assert_close(tape.grad(solved)(np.array([1.0, 2.0])), np.array([1.0, 0.0]), 1e-12)


def test_a_program_without_a_solution():
    trace = tape.Trace()
    for c in (np.array([1.0]), trace.param(np.array([1.0]))):
        found = linprog(c, [[1.0]], [-1.0])
        assert (found.x, found.success, found.status) == (None, False, 2)
    compiled = tape.compile(lambda c: linprog(c, [[-1.0]], [-1.0]).x)
    assert compiled(np.array([1.0])) == 1.0
    assert np.isnan(compiled(np.array([-1.0])))


def test_an_assignment_is_found_anew_in_each_call():
    def least(cost):
        return np.sum(cost[linear_sum_assignment(cost)] ** 2)

    compiled = tape.compile(tape.value_and_grad(least))
    for seed in range(4):
        cost = np.random.default_rng(seed).uniform(1, 2, (5, 4))
        rows, columns = original.linear_sum_assignment(cost)
        value, slope = compiled(cost)
        expected = np.zeros_like(cost)
        expected[rows, columns] = 2 * cost[rows, columns]
        assert_close(value, np.sum(cost[rows, columns] ** 2), 1e-12)
        assert_close(slope, expected, 1e-12)
    with refused(errors.ShapeError, "must be a matrix"):
        linear_sum_assignment(np.ones(3))
    with refused(errors.OptionError, "infeasible"):
        linear_sum_assignment(np.full((2, 2), np.inf))


def test_sides_of_linear_programs_may_be_columns_as_in_scipy():
    """What is left of them is a vector."""
    c, A_ub, A_eq = [-1.0, -1.0], [[1.0, 2.0], [3.0, 1.0]], [[1.0, -1.0]]
    above, equal = [[4.0], [7.0]], [[0.5]]
    theirs = original.linprog(c, A_ub, above, A_eq, equal)
    trace = tape.Trace()
    for b_ub, b_eq in ((above, equal), (trace.param(above), equal), (above, trace.param(equal))):
        ours = linprog(c, A_ub, b_ub, A_eq, b_eq)
        for name in ("x", "fun", "slack", "con"):
            assert np.shape(ours[name]) == np.shape(theirs[name])
            found = ours[name].value if isinstance(ours[name], tape.Var) else ours[name]
            assert_close(found, theirs[name], 1e-10)


def test_complex_costs_of_linprog_are_refused_where_bounds_alone_are_vars():
    upper = tape.Trace().param(1.0)
    with pytest.raises(errors.DTypeError, match=r"linprog: .* is complex"):
        linprog(np.array([1 + 1j, 2.0]), bounds=[(0, upper), (0, 1)])
