"""`tape.profile`: all time is booked, to the right operation, line and direction."""

import inspect
import itertools
import time

import numpy as np
import pytest

import tape
from tape.inspect import profiling


def _slow(x):
    def nap(x):
        time.sleep(0.01)
        return 2.0 * x

    return tape.apply(x, nap, lambda x: time.sleep(0.02) or 2.0 + 0 * x)


def _loss(w, x):
    h = np.tanh(x @ w)
    return np.sum(h * h)


def test_the_entries_are_all_of_the_time() -> None:
    found = tape.profile(_loss, np.ones(3), np.ones((4, 3)))
    assert sum(entry.seconds for entry in found.entries) == pytest.approx(found.seconds, rel=0.02)
    for rows in (found.by_op(), found.by_line()):
        assert sum(row.seconds for row in rows) == pytest.approx(found.seconds, rel=0.02)
        assert [row.seconds for row in rows] == sorted((row.seconds for row in rows), reverse=True)


def test_calls_and_bytes_are_counted_in_both_directions() -> None:
    found = tape.profile(_loss, np.ones(3), np.ones((4, 3)))
    counted = {(entry.op, entry.phase): (entry.calls, entry.bytes) for entry in found.entries if entry.calls}
    assert counted["tanh", "forward"] == (1, 32)
    assert counted["tanh", "backward"] == (1, 32)
    assert counted["matmul", "forward"] == (1, 32)
    assert counted["matmul", "backward"] == (1, 24 + 96)
    assert counted["sum", "forward"] == (1, 8)
    assert counted["sum", "backward"] == (1, 32)  # so small an array is written faster than a view is made


def test_time_goes_to_where_it_is_spent() -> None:
    found = tape.profile(lambda x: np.sum(np.sin(_slow(x))), np.ones(3), repeats=2)
    assert found.by_op()[0].name not in ("sin", "sum")
    row = next(row for row in found.by_op() if row.seconds > found.seconds / 2)
    assert row.forward > 0.009
    assert row.backward > 0.018
    line = found.by_line()[0]
    assert line.text == "return tape.apply(x, nap, lambda x: time.sleep(0.02) or 2.0 + 0 * x)"
    assert line.name.startswith("test_profiling.py:")


def test_gradients_inside_a_function_are_backward() -> None:
    found = tape.profile(tape.grad(lambda w: np.sum(np.sin(w))), np.ones(3), derivative=False)
    phases = {(entry.op, entry.phase) for entry in found.entries if entry.calls}
    assert ("sin", "forward") in phases
    assert ("sin", "backward") in phases
    assert ("cos", "forward") not in phases  # recorded by the rule of sin: part of that


def test_traces_of_ones_own_are_seen() -> None:
    def step():
        tr = tape.Trace()
        w = tr.param(np.ones(3))
        return tr.backward_param_grads(np.sum(np.exp(w)))

    found = tape.profile(step)
    assert {row.name for row in found.by_op()} >= {"exp", "sum"}
    start = inspect.getsourcelines(step)[1]
    assert f"test_profiling.py:{start + 3}" in {row.name for row in found.by_line()}


def test_views_take_no_memory_and_tangents_take_theirs() -> None:
    def f(x):
        return tape.jvp(lambda x: np.sin(x.reshape(3, 2)) * 2.0, (x,), (x,))[1]

    found = tape.profile(f, np.ones(6), derivative=False)
    counted = {(entry.op, entry.phase): (entry.calls, entry.bytes) for entry in found.entries if entry.calls}
    for phase in ("forward", "tangent"):
        assert counted["reshape", phase][1] == 0
        assert counted["sin", phase][1] == 48 * counted["sin", phase][0]
        assert counted["multiply", phase][1] == 48 * counted["multiply", phase][0]


def test_forward_mode_is_counted() -> None:
    found = tape.profile(lambda x: tape.jvp(np.sin, (x,), (x,))[1], np.ones(3), derivative=False)
    assert ("sin", "tangent") in {(entry.op, entry.phase) for entry in found.entries}


def test_what_a_profile_looks_like(monkeypatch) -> None:
    """By a clock on which each look takes a second."""
    ticks = itertools.count()
    monkeypatch.setattr(profiling, "perf_counter", lambda: float(next(ticks)))
    text = str(tape.profile(_loss, np.ones(3), np.ones((4, 3)), repeats=2))
    start = inspect.getsourcelines(_loss)[1]
    wide = max(len(f"test_profiling.py:{start + 2}"), 11)
    assert text == "\n".join([
        "_loss: 15.00 s, 6.00 s forward and 9.00 s backward",
        "",
        "operation    share    calls   forward  backward     bytes",
        "(elsewhere)  26.7%        0    2.00 s    2.00 s       0 B",
        "sum          20.0%        2    1.00 s    2.00 s      40 B",
        "multiply     20.0%        2    1.00 s    2.00 s      96 B",
        "tanh         20.0%        2    1.00 s    2.00 s      64 B",
        "matmul       13.3%        2    1.00 s    1.00 s     152 B",
        "",
        f"{'line':<{wide}}  share    calls   forward  backward     bytes",
        f"test_profiling.py:{start + 2:<{wide - 18}}  40.0%        4    2.00 s    4.00 s     136 B"
        "  return np.sum(h * h)",
        f"test_profiling.py:{start + 1:<{wide - 18}}  33.3%        4    2.00 s    3.00 s     216 B"
        "  h = np.tanh(x @ w)",
        f"{'(elsewhere)':<{wide}}  26.7%        0    2.00 s    2.00 s       0 B",
    ])  # fmt: skip


def test_it_prints_two_tables() -> None:
    text = str(tape.profile(_loss, np.ones(3), np.ones((4, 3))))
    head, by_op, by_line = text.split("\n\n")
    assert head.startswith("_loss: ")
    assert by_op.startswith("operation ")
    assert by_line.startswith("line ")
    assert "h = np.tanh(x @ w)" in by_line


def test_compiled_functions_and_programs_have_their_instructions_timed() -> None:
    compiled = tape.compile(_loss)
    of_function = tape.profile(compiled, np.ones(3), np.ones((4, 3)))
    (program,) = compiled.programs.values()
    of_program = tape.profile(program, np.ones(3), np.ones((4, 3)), repeats=2)
    assert [t.text for t in of_function.timings] == [t.text for t in of_program.timings]


@pytest.mark.parametrize("repeats", [0, -1, True, 1.5])
def test_repeats_is_a_positive_int(repeats) -> None:
    with pytest.raises(tape.errors.OptionError, match="1 or more"):
        tape.profile(_loss, np.ones(3), np.ones((4, 3)), repeats=repeats)


def test_a_function_of_nothing_has_a_profile() -> None:
    found = tape.profile(lambda: 3.0)
    assert [row.name for row in found.by_op()] == ["(elsewhere)"]
