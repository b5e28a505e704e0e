"""Profiles of programs: their parts add up to a call, whatever the clock says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tape
from tape.program.native.opcodes import AT, ROWS
from tape.program.report import parts
from tape.program.report.profile import Timing
from tape.program.runtime import pauses

_SECONDS = 1e-6


def program_of(f: Any, *args: Any, **options: Any) -> Any:
    compiled = tape.compile(f, **options)
    compiled(*[x.copy() if isinstance(x, np.ndarray) else x for x in args])
    (program,) = compiled.programs.values()
    return program


@pytest.fixture
def clock(monkeypatch):
    """Let the time be the number of rows that the machine has been asked to run, in microseconds."""
    now = [0]

    def measured(program):
        call = program._call

        def counted(frame, *rest):
            at = 0 if rest else int(frame[AT])
            outs = call(frame, *rest)
            now[0] += max(0, int(frame[ROWS]) - at)
            return outs

        monkeypatch.setattr(program, "_call", counted)
        monkeypatch.setattr("time.perf_counter", lambda: _SECONDS * now[0])
        return program

    return measured


def leaves(timing: Timing) -> list[Timing]:
    """Return the parts that have no parts, of all levels."""
    return [timing] if not timing.parts else [leaf for part in timing.parts for leaf in leaves(part)]


def assert_adds_up(profile: Any) -> None:
    assert profile.whole == pytest.approx(profile.seconds + profile.entry + profile.between)
    assert profile.seconds == pytest.approx(
        sum(t.seconds for timing in profile.timings for t in leaves(timing))
    )

    def check(timing: Timing) -> None:
        assert timing.seconds >= 0
        for part in timing.parts:
            check(part)
        if timing.parts:
            assert sum(part.seconds for part in timing.parts) == pytest.approx(timing.seconds)

    for timing in profile.timings:
        check(timing)


def polynomial(x):
    total = 0.0
    for k in range(200):
        total = np.maximum(total * 0.5, x[k % 5] * x[(k + 1) % 7])
    return total


def test_small_rows_are_all_of_a_run(clock):
    program = clock(program_of(polynomial, np.ones((7, 9))))
    profile = program.profile(np.ones((7, 9)), repeats=2)
    assert profile.whole == pytest.approx(_SECONDS * len(program))
    assert profile.seconds == pytest.approx(profile.whole)
    assert profile.between == pytest.approx(0)
    assert_adds_up(profile)
    assert all(timing.is_share and timing.seconds == pytest.approx(_SECONDS) for timing in profile.timings)


def grouped(x, y):
    z = np.tanh(x) * y + np.exp(-x * x)
    return np.sum(np.sqrt(1 + z * z) * x), z * 2


def test_groups_open_into_their_members():
    x = np.linspace(0, 1, 30_000)
    program = program_of(grouped, x, x)
    profile = program.profile(x, x, repeats=2)
    assert_adds_up(profile)
    group = next(timing for timing in profile.timings if timing.parts)
    assert group.ids == tuple(part.ids[0] for part in group.parts)
    assert [row for part in group.parts for row in part.rows] == list(group.rows)[1:]
    lines = str(profile).splitlines()
    at = next(k for k, line in enumerate(lines) if line.endswith(f"{len(group.ids)} in blocks:"))
    for part, line in zip(group.parts, lines[at + 1 :], strict=False):
        assert f"  {part.names[0]} " in line
        assert line.rstrip().endswith(part.text[0])
        assert "~" in line


def pendulum(angle):
    def step(carry, _):
        angle, speed = carry
        speed = speed - 0.01 * np.sin(angle)
        return (angle + 0.01 * speed, speed), angle

    return tape.scan(step, (angle, 0.0), length=1000)[0][0]


def test_loops_open_into_their_bodies_with_the_number_of_steps():
    program = program_of(tape.grad(pendulum), 1.0)
    profile = program.profile(1.0, repeats=2)
    assert_adds_up(profile)
    loops = [timing for timing in profile.timings if timing.parts]
    assert len(loops) == len(program.bodies) == 2
    # The reverse loop runs one step less: in the last one nothing flows to the angle.
    for loop, body, steps in zip(loops, program.bodies, (1000, 999), strict=True):
        first, *others = loop.parts
        assert (first.text, first.rows) == (("from step to step",), range(0))
        assert [row for part in others for row in part.rows] == list(range(body.rows))
        assert {part.steps for part in loop.parts} == {steps}
        assert loop.steps == 1
    assert "1,000x" in str(profile)


def test_loops_in_loops_count_the_steps_of_both():
    def nested(x):
        def inner(c, _):
            return np.sin(c) * x, None

        def outer(c, _):
            return tape.scan(inner, c, length=30)[0] + c, None

        return tape.scan(outer, x, length=40)[0]

    program = program_of(nested, 0.5)
    profile = program.profile(0.5, repeats=2)
    assert_adds_up(profile)
    (loop,) = [timing for timing in profile.timings if timing.parts]
    (inside,) = [part for part in loop.parts if part.parts]
    assert inside.steps == 40
    assert {part.steps for part in inside.parts} == {1200}


def test_groups_in_bodies_are_timed_member_by_member():
    x = np.linspace(0, 1, 5000)

    def f(x):
        return tape.scan(lambda c, _: (np.tanh(c) * x + np.exp(-c * c), None), x, length=20)[0]

    program = program_of(f, x)
    profile = program.profile(x, repeats=1)
    assert_adds_up(profile)
    (loop,) = [timing for timing in profile.timings if timing.parts]
    (body,) = program.bodies
    computed = [id for step in body.plan.steps for id in step.members]
    assert [id for part in loop.parts for id in part.ids] == computed


def test_long_bodies_are_timed_in_pieces(monkeypatch):
    monkeypatch.setattr(parts, "_MOST", 3)
    program = program_of(tape.grad(pendulum), 1.0)
    profile = program.profile(1.0, repeats=1)
    assert_adds_up(profile)
    for timing, body in zip([t for t in profile.timings if t.parts], program.bodies, strict=True):
        assert [row for part in timing.parts for row in part.rows] == list(range(body.rows))


def test_empty_loops_have_a_profile():
    program = program_of(lambda x: tape.scan(lambda c, e: (c * e, c), 2.0, x)[0], np.ones(0))
    assert_adds_up(program.profile(np.ones(0), repeats=1))


def test_pauses_have_a_line(monkeypatch):
    monkeypatch.setattr(pauses, "BETWEEN", 1e4)
    x = np.linspace(0, 1, 30_000)
    program = program_of(grouped, x, x)
    profile = program.profile(x, x, repeats=1)
    assert_adds_up(profile)
    assert "a pause for signals" in str(profile)
    assert [row for timing in profile.timings for row in timing.rows] == list(range(len(program)))


def test_programs_compute_as_before_after_a_profile():
    x = np.linspace(0, 1, 30_000)
    for f, args in ((grouped, (x, x)), (tape.grad(pendulum), (1.0,)), (polynomial, (np.ones(7),))):
        program = program_of(f, *args)
        expected = tape.tree.flatten(f(*args))[0]
        program.profile(*args, repeats=1)
        for found, wanted in zip(tape.tree.flatten(program(*args))[0], expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("number", [2.0, np.float64(2.0), np.float32(2.0), np.int64(2)])
def test_runs_with_donated_numbers_are_timed_as_calls_run(number, monkeypatch):
    """They fit as they are: nothing is copied or converted first."""
    program = program_of(lambda w, k: (w * k, k + k), np.ones(3), number, donate=(0, 1))

    def converted(*_):
        raise AssertionError("the machine refused the arguments")

    monkeypatch.setattr(program, "_rebound", converted)
    assert program.profile(np.ones(3), number, repeats=2).whole > 0
    (doubled, total), w = program(np.ones(3), number), np.ones(3)
    np.testing.assert_array_equal(doubled, np.full(3, 2.0))
    assert total == 4
    assert np.shares_memory(program(w, number)[0], w)


def test_profiles_run_in_the_memory_of_donated_arrays_without_changing_them():
    program = program_of(lambda x, y: np.tanh(x) * y + x * x, np.ones(30_000), np.ones(30_000), donate=0)
    x = np.linspace(0, 1, 30_000)
    given = x.copy()
    assert_adds_up(program.profile(given, x, repeats=2))
    np.testing.assert_array_equal(given, x)


def test_what_a_profile_looks_like(clock):
    program = clock(program_of(lambda x: np.sum(np.exp(x)) * 2, np.ones(9)))
    assert [" ".join(line.split()) for line in str(program.profile(np.ones(9), repeats=1)).splitlines()] == [
        "<lambda>: 3.0 us a run, 3.0 us in instructions",
        "~1.0 us 33.3% %1 exp(in0) float64[9]",
        "~1.0 us 33.3% %2 sum(%1; axes=0) float64[]",
        "~1.0 us 33.3% %4 multiply(%2, 2.0) float64[]",
        "0 ns 0.0% arguments and results",
        "0 ns 0.0% between rows",
    ]


def test_profiles_of_loops_that_data_end_add_up():
    """Parts are timed for a fixed number of steps; the results of calls stay what they are."""

    def f(x, rate):
        return tape.while_loop(lambda s: s[0] > 1.0, lambda s: (s[0] * rate, np.sin(s[1]) + s[0]), (x, x))[1]

    program = program_of(tape.grad(f), 1e8, 0.9)
    expected = program(1e8, 0.9)
    profile = program.profile(1e8, 0.9, repeats=2)
    assert_adds_up(profile)
    assert any(timing.parts for timing in profile.timings)
    assert program(1e8, 0.9) == expected == pytest.approx(tape.grad(f)(1e8, 0.9))


def test_a_row_of_single_numbers_is_that_of_all_its_instructions(clock):
    program = clock(program_of(polynomial, np.ones(7)))
    profile = program.profile(np.ones(7), repeats=2)
    assert_adds_up(profile)
    assert len(program) == 1
    (timing,) = profile.timings
    assert len(timing.ids) == sum(len(step.members) for step in program.plan.steps)
    assert f"{len(timing.ids)} on a few numbers" in str(profile)


def test_a_body_without_rows_has_no_parts():
    assert parts._differences(np.zeros(0, np.int64), [], lambda stop: 1.0, 0.0) == []


def test_the_gradient_of_a_while_loop_is_profiled_as_far_as_it_went():
    """What the loop has collected ends there; an index behind it may be anything."""

    def f(x):
        def step(state):
            total, k = state
            return total * 0.5 + np.sin(x[k % len(x)]), k + 1

        return np.sum(tape.while_loop(lambda state: state[1] < len(x), step, (x[0], 0))[0])

    compiled, x = tape.compile(tape.value_and_grad(f)), np.random.default_rng(0).normal(size=(20, 16))
    for _ in range(2):
        compiled(x)
    (program,) = compiled.programs.values()
    for _ in range(3):
        assert program.profile(x).timings
