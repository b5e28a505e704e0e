"""Tiers: what each runs, and that the plain one leaves no operation and no value of a parameter out.

All operations are computed and differentiated there; of SciPy's functions a third is looked at in other ways,
and tests that take long look at a third of all operations each.
"""

from itertools import product
from math import prod
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import test_batch, test_ops, test_program, test_taylor, tiers
from tests.op_table import CASES, a_third, lightly, spread


@pytest.fixture(params=["plain", "full"])
def tier(request, monkeypatch):
    monkeypatch.setitem(tiers._tier, "is_full", request.param == "full")
    return request.param


def test_the_tier_is_what_the_command_line_says(pytestconfig):
    assert tiers.is_full() == (pytestconfig.getoption("--full") or pytestconfig.getoption("--rest"))


def test_rounds_and_cases_by_tier(tier):
    is_full = tier == "full"
    assert tiers.rounds(30) == (30 if is_full else 10)
    assert tiers.rounds(2) == (2 if is_full else 1)
    assert tiers.rounds(30, plain=7) == (30 if is_full else 7)
    assert tiers.some("abcdefg", every=3) == list("abcdefg" if is_full else "adg")
    assert tiers.some("", every=3) == []


def test_a_grid_parametrizes_by_all_combinations_or_a_cover(tier):
    mark = tiers.grid(ids=str, times=2, one=range(4), other="abc").mark
    names, rows = mark.args
    assert names == ("one", "other")
    assert mark.kwargs == {"ids": str}
    combinations = list(product(range(4), "abc"))
    assert rows == (combinations if tier == "full" else tiers.cover(range(4), "abc", times=2))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 3))
def test_a_cover_has_each_value_and_is_as_short_as_can_be(lengths, times):
    axes = [range(length) for length in lengths]
    rows = tiers.cover(*axes, times=times)
    assert len(rows) == len(set(rows)) == min(times * max(lengths), prod(lengths))
    assert [set(column) for column in zip(*rows, strict=True)] == [set(axis) for axis in axes]


def test_a_cover_mixes_the_axes():
    """Two short axes do not go along with each other."""
    rows = tiers.cover(range(6), "ab", "xy")
    assert {row[1:] for row in rows} == set(product("ab", "xy"))


def test_of_many_calls_a_third_is_left_with_each_value_of_several_axes():
    def calls(name, *axes):
        marks = [SimpleNamespace(args=(names, values)) for names, values in axes]
        for row in product(*[range(len(values)) for _, values in axes]):
            indices = {part: k for (names, _), k in zip(axes, row, strict=True) for part in names.split(", ")}
            spec = SimpleNamespace(indices=indices)
            yield SimpleNamespace(
                nodeid=f"{name}[{row}]", callspec=spec, iter_markers=lambda _: marks, indices=indices
            )

    alone = SimpleNamespace(nodeid="alone")
    of_one = list(calls("of one", ("one", range(10))))
    of_two = list(calls("of two", ("one, with_it", range(6)), ("other", "abc")))
    lengthy = SimpleNamespace(nodeid="lengthy", function=tiers.takes_long(lambda: None))
    kept = tiers.thinned([alone, lengthy, *of_one, *of_two])
    assert kept[:5] == [alone, *of_one[::3]]
    assert {item.indices["one"] for item in kept[5:]} == set(range(6))
    assert {item.indices["other"] for item in kept[5:]} == set(range(3))
    assert len(kept) - 5 < len(of_two) / 2


def test_there_is_no_combination_without_a_value():
    assert tiers.cover(range(3), []) == []


# ---- the table of operations -------------------------------------------------------------------------


def test_each_operation_is_in_both_tiers(tier):
    found = spread(CASES)
    assert {case.op for case in found} == {case.op for case in CASES}
    assert found == [case for case in CASES if case in found]
    assert (len(found) == len(CASES)) == (tier == "full")


def operations_of(test):
    """The operations whose cases a test runs on."""
    (mark,) = [mark for mark in test.pytestmark if mark.name == "parametrize"]
    return {case.op for pack in mark.args[1] for case in pack}


def test_the_plain_tier_looks_lightly_at_functions_of_scipys(tier):
    names, found = {case.op for case in CASES}, {case.op for case in lightly(CASES)}
    left_out = names - found
    assert all(name.startswith(("special.", "scipy.", "stats.")) for name in left_out)
    of_scipy = {name for name in names if name.startswith(("special.", "scipy.", "stats."))}
    assert len(left_out) == (0 if tier == "full" else len(of_scipy) - -(-len(of_scipy) // 3))


ALL = {case.op for case in CASES}
DIFFERENTIABLE = {case.op for case in CASES if case.has_derivative}
LIGHTLY = {case.op for case in lightly(CASES)}
MOSTLY = LIGHTLY & DIFFERENTIABLE


def third(names, part):
    """The operations of a test that takes long: all in the full tier, a part of them in the plain one."""
    return {case.op for case in a_third([case for case in CASES if case.op in names], part)}


def test_the_parts_of_the_plain_tier_have_every_operation(tier):
    parts = [third(ALL, part) for part in range(3)]
    assert set.union(*parts) == ALL
    assert sum(map(len, parts)) == len(ALL) * (3 if tier == "full" else 1)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (test_ops.test_value_is_that_of_plain_numpy, ALL),
        (test_ops.test_recorded_value_is_the_computed_one, ALL),
        (test_ops.test_jvp_is_the_directional_difference, DIFFERENTIABLE),
        (test_ops.test_vjp_is_the_difference_jacobian_transposed, MOSTLY),
        (test_ops.test_second_order_agrees_with_differences_of_the_first, third(MOSTLY, 0)),
        (test_program.test_values_and_gradients, LIGHTLY),
        (test_program.test_values_alone, third(LIGHTLY, 0)),
        (test_program.test_values_and_gradients_in_float32, third(LIGHTLY, 2)),
        (test_program.test_second_order, third(MOSTLY, 1)),
        (test_batch.test_sweeping_a_batch_equals_sweeping_one_by_one, MOSTLY),
        (test_taylor.test_series_of_every_operation_equal_nested_derivatives, third(MOSTLY, 2)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_operation_is_tested_in_this_tier(test, expected):
    assert operations_of(test) == expected
