"""Random programs, compiled against eager; ``TAPE_RANDOM_PROGRAMS`` says how many are tried.

A campaign is ``python -m tests.random_programs``.
"""

import contextlib
import io
import os
from collections import Counter

import numpy as np
import pytest

import tape
from tests.random_programs.programs import USUAL, Program, Statement, random_program
from tests.random_programs.running import called, difference, is_ill_conditioned, is_nearly_singular, run
from tests.random_programs.shrinking import script, shrunk
from tests.random_programs.sources import DataSet
from tests.tiers import rounds, takes_long

PROGRAMS = int(os.environ.get("TAPE_RANDOM_PROGRAMS", rounds(400, plain=50)))
PACK = 50


@pytest.mark.parametrize("first", range(0, PROGRAMS, PACK))
def test_compiled_programs_do_what_eager_ones_do(first):
    kinds = Counter()
    for seed in range(first, min(first + PACK, PROGRAMS)):
        program, sets = random_program(seed)
        verdict = run(program, sets)
        kinds[verdict.kind] += 1
        assert not verdict.is_difference, f"{seed}: {verdict}\n{script(*shrunk(program, sets))}"
    runs = kinds.total() - kinds["eager refuses"]
    assert runs > 0.8 * kinds.total(), kinds
    assert kinds["same"] > 0.8 * runs, kinds


# ---- that the generator finds what is wrong ------------------------------------------------------


def frozen(f, **_):
    """A compiler that is wrong: what was returned first, it returns ever after."""
    first = []

    def call(*args, **kwargs):
        first[:] = first or [f(*args, **kwargs)]
        return first[0]

    return call


@takes_long
@pytest.mark.filterwarnings("ignore")
def test_what_is_wrong_is_found_and_shrunk_to_a_script_that_shows_it(monkeypatch):
    monkeypatch.setattr(tape, "compile", frozen)
    found, tried = 0, rounds(20, plain=10)
    for seed in range(tried):
        program, sets = random_program(seed, USUAL - {"raises"})  # where an error may end the comparison
        if not run(program, sets).is_difference:
            continue
        found += 1
        small, few = shrunk(program, sets)
        assert run(small, few).is_difference
        assert len(few) <= 3
        assert len(small.statements) <= max(1, len(program.statements) // 2)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(script(small, few), {})
        assert len(out.getvalue().split("expected")) == len(few) + 1
    assert found > 0.75 * tried


def test_each_seed_makes_one_program_of_features_asked_for():
    for seed in range(20):
        program, sets = random_program(seed)
        again, same = random_program(seed)
        assert script(program, sets) == script(again, same)
        only, _ = random_program(seed, frozenset({"elementwise"}))
        assert "tape.grad" not in only.source
        assert len(sets) >= 7


def of(*texts, source="x"):
    """A program of statements, which make r0, r1, ..., of one source; it returns the last value."""
    statements = [Statement(f"r{k}", "any", f"{{r{k}}} = {text}", False) for k, text in enumerate(texts)]
    return Program(0, (source,), tuple(statements), (statements[-1].new,), "single")


@pytest.mark.parametrize(
    ("program", "one", "found", "is_explained"),
    [
        (of("np.sum({x})"), [1e20, 1.0, -1e20], 1.0, True),
        (of("np.einsum('i,i->', {x}, {x} * np.array([1, -1]))"), [1e300, 1e300], np.inf, True),
        (of("{x} @ np.ones(4)"), [1.0, 1e20, -1e20, 1.0], 2.0, True),
        (
            of("0.0 * {x}", "np.sort({r0})", "np.floor(np.clip(1 / {r1}, -3, 3)).astype(int)"),
            [2.0],
            [-3],
            True,
        ),
        (
            of("0.0 * {x}", "np.sort({r0})", "np.floor(np.clip(1 / {r1}, -3, 3)).astype(int)"),
            [2.0],
            [2],
            False,
        ),
        (of("np.sum({x})"), [1.0, 2.0, 3.0], 6.5, False),
    ],
)
def test_sums_in_another_order_and_zeros_of_another_sign_explain_what_rounding_does_not(
    program, one, found, is_explained
):
    sets = [DataSet({"x": np.array(one)})]
    code = compile(program.source, "<program>", "exec")
    with np.errstate(all="ignore"):
        expected = called(program, code, sets)[0]
        found = np.asarray(found)[()]
        assert difference(found, expected)[0] == "value"
        assert is_ill_conditioned(program, code, sets, found, expected) == is_explained


@pytest.mark.parametrize(("last", "is_near"), [(2.0, False), (1.0 + 4e-16, True), (1.0 + 1e-9, False)])
def test_inverses_of_what_is_singular_but_for_rounding_may_be_errors(last, is_near):
    program = of("np.outer({x}, {x}) + np.diag({x} - 1.0)", "np.linalg.inv({r0})", "np.sum({r1})")
    code = compile(program.source, "<program>", "exec")
    assert is_nearly_singular(program, code, [DataSet({"x": np.array([1.0, last])})]) == is_near


ZERO, NAN = np.zeros(2), np.array([np.nan, 1.0])


@pytest.mark.parametrize(
    ("found", "expected", "kind"),
    [
        (ZERO, ZERO, ""),
        (NAN, NAN.copy(), ""),
        (np.float64(1), np.array(1.0), ""),
        (ZERO, -ZERO, "sign of zero"),
        (ZERO, NAN, "value"),
        (NAN, np.ones(2), "NaN"),
        (NAN, ZERO, "value"),
        (ZERO, ZERO + 1e-3, "value"),
        (ZERO, ZERO[:1], "structure"),
        (ZERO, ZERO.astype("f4"), "structure"),
        (np.float64(1), 1.0, "type"),
        (np.True_, True, "type"),
        (np.longlong(1), np.int64(1), "" if np.longlong is np.int64 else "class"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "structure"),
        ([1.0, (2.0,)], [1.0, (2.0, 3.0)], "structure"),
        ([1.0, (2.0,)], [1.0, (3.0,)], "value"),
        ("1.5", "2.5", "value"),
    ],
)
def test_results_differ_in_kinds(found, expected, kind):
    assert difference(found, expected)[0] == kind
