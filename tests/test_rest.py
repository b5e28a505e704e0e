"""The rest: with the plain tier it is the full one, and it leaves out what the tier does not change."""

import sys
from pathlib import Path

import pytest

from tests import rest, tiers
from tests.op_table import CASES, spread

MODULE = """
import pytest
from hypothesis import given, strategies
from tests import op_table, tiers
from tests.op_table import CASES, by_operation, few_of_each
from tests.tiers import grid, rounds, some

RAN = []
COUNT = 2 * rounds(30)
some_values = pytest.mark.parametrize("x", some([[5], [6], [7]], every=3))
each = by_operation(few_of_each(case for case in CASES if case.op in ("sum", "matmul", "tanh")))

def count():
    return COUNT

@pytest.fixture(params=some("abc", every=2))
def letter(request):
    return request.param

@pytest.fixture
def letters(letter):
    return letter

def test_alone():
    RAN.append("alone")

@pytest.mark.parametrize("x", [[1], [2]])
def test_of_values(x):
    RAN.append(("of values", *x))

@some_values
def test_of_some(x):
    RAN.append(("of some", *x))

@grid(x=[1, 2, 3], y=[4, 5])
def test_of_a_grid(x, y):
    RAN.append(("of a grid", x, y))

@each
def test_of_operations(case):
    RAN.append(("of operations", str(case)))

def test_of_rounds():
    RAN.extend(("of rounds", k) for k in range(tiers.rounds(9)))

def test_of_a_function():
    RAN.extend(("of a function", k) for k in range(count()))

def test_of_a_table():
    from tests.op_table.scipy_sparse import CASES
    RAN.extend(("of a table", str(case)) for case in CASES)

def test_of_a_fixture(letters):
    RAN.append(("of a fixture", letters))

@given(strategies.integers())
def test_of_random_numbers(x):
    RAN.append("of random numbers")

if tiers.is_full():
    def test_of_the_full_tier():
        RAN.append("of the full tier")
"""


@pytest.fixture
def collected(request, tmp_path, monkeypatch):
    """Collect the tests of `MODULE` in a tier."""
    path = tmp_path / "test_of_both_tiers.py"
    path.write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)

    def collect(*, full):
        monkeypatch.setitem(tiers._tier, "is_full", full)
        for name in [name for name in sys.modules if name.startswith("tests.op_table.scipy_sparse")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
        return list(request.session.genitems(pytest.Module.from_parent(request.session, path=path)))

    return collect


def ran(items):
    """What tests did; fixtures are asked for their params."""
    (module,) = {item.module for item in items}
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        names = {name: value for name, value in params.items() if name != "letter"}
        item.obj(**names, **({"letters": params["letter"]} if "letter" in params else {}))
    found = set(module.RAN)
    module.RAN.clear()
    return found


def test_plain_and_rest_are_the_full_tier(collected):
    plain = collected(full=False)
    done, by_plain = rest.done_by(plain), ran(plain)
    by_full = ran(collected(full=True))
    left = rest.left_of(collected(full=True), done)
    by_rest = ran(left)
    assert by_plain < by_full
    assert by_plain | by_rest == by_full
    whole = ("of rounds", "of a function", "of a table", "of a fixture")  # which look at the tier as they run
    again = {what for what in by_plain & by_rest if what[0] not in whole}
    assert again == {"of random numbers"}


def test_without_a_note_the_rest_is_the_full_tier(collected):
    items = collected(full=True)
    assert rest.left_of(items, []) == items


def test_with_everything_done_only_what_looks_at_the_tier_as_it_runs_is_left(collected):
    items = collected(full=True)
    names = {item.originalname for item in rest.left_of(items, rest.done_by(items))}
    ways = ("rounds", "a_function", "a_table", "a_fixture", "random_numbers", "the_full_tier")
    assert names == {f"test_of_{way}" for way in ways}


def test_what_looks_at_the_tier_is_found_in_other_files():
    folder = Path(__file__).parent
    assert rest._by_tier(folder / "compiled.py") == (set(), set())
    by_tier, _ = rest._by_tier(folder / "op_table" / "__init__.py")
    assert {"CASES", "TWO_OF_EACH", "a_third"} <= by_tier
    assert "FAMILIES" not in by_tier
    by_tier, chosen = rest._by_tier(Path(__file__))
    assert {"CASES", "spread", "LOOKED_AT"} <= by_tier
    assert "test_of_both_tiers" in chosen - by_tier


LOOKED_AT = [case for case in spread(CASES) if case.op in ("sum", "exp")]


@pytest.mark.parametrize("case", LOOKED_AT, ids=str)
def test_of_both_tiers(case):
    assert case.op in ("sum", "exp")
