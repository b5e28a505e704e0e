"""The benchmark harness with stubs and a clock of its own, the command line, and the workloads' results.

Nothing here depends on how fast anything is.
"""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape
from benchmarks import against
from benchmarks.__main__ import main
from benchmarks.contenders import is_rival, is_traced, load, require
from benchmarks.earlier import changes
from benchmarks.harness import Case, MismatchError, NotAvailableError, _calls_per_block, measure, prepare
from benchmarks.machine import facts, header, limit_threads, load_warning
from benchmarks.page import main as write_page
from benchmarks.registry import all_workloads
from benchmarks.report import as_data, table
from benchmarks.workloads import checkpointing, elementwise, higher_order
from tape.transforms._revolve import forward_steps
from tests.tiers import some

ROOT = Path(__file__).resolve().parent.parent


class Bench:
    """A clock that only stubs move, and a log of who was called."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slowness = 1.0
        self.log: list[str] = []

    def clock(self) -> float:
        return self.now

    def stub(self, name: str, cost: float = 1.0, result: Any = 1.0) -> Callable[[], Callable[[], list[Any]]]:
        def call() -> list[Any]:
            self.now += cost * self.slowness
            self.log.append(name)
            return [result]

        return lambda: call

    def case(self, costs: dict[str, float], **settings: Any) -> Case:
        return Case("stub", {name: self.stub(name, cost) for name, cost in costs.items()}, **settings)

    def next_round(self) -> None:
        self.log.append("|")


@pytest.fixture(scope="module", autouse=True)
def _little_to_collect() -> Iterator[None]:
    """The harness collects garbage before each measurement: not through what other tests left.

    Nor do the tests after these: the harness would thaw what `tests.conftest` has frozen.
    """
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "unfreeze", lambda: None)
        yield


@pytest.fixture
def bench() -> Bench:
    return Bench()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


# ---- the harness -----------------------------------------------------------------------------------


def test_contenders_take_turns_in_rotating_order(bench: Bench) -> None:
    case = bench.case({"numpy": 1.0, "tape": 1.0, "torch": 1.0})
    result = measure(case, rounds=4, seconds=12.0, clock=bench.clock, on_round=bench.next_round)
    assert result.rounds == 4
    rounds = " ".join(bench.log).split(" |")
    assert [turn.split()[-3:] for turn in rounds[:4]] == [
        ["tape", "numpy", "torch"],
        ["numpy", "torch", "tape"],
        ["torch", "tape", "numpy"],
        ["tape", "numpy", "torch"],
    ]


def test_blocks_are_calibrated_to_last_alike(bench: Bench) -> None:
    case = bench.case({"tape": 1.0, "numpy": 0.25})
    result = measure(case, rounds=5, seconds=80.0, clock=bench.clock)
    assert {timing.name: timing.calls_per_block for timing in result.timings} == {"tape": 8, "numpy": 32}


def test_ratios_survive_a_machine_that_gets_slower(bench: Bench) -> None:
    def slow_down() -> None:
        bench.slowness *= 2

    case = bench.case({"tape": 1.0, "numpy": 3.0})
    result = measure(case, rounds=5, seconds=40.0, clock=bench.clock, on_round=slow_down)
    ours, numpy = result.timings
    assert ours.ratio is not None
    assert ours.ratio.median == pytest.approx(1)
    assert numpy.ratio is not None
    assert [numpy.ratio.low, numpy.ratio.median, numpy.ratio.high] == pytest.approx([3, 3, 3])
    assert ours.seconds == pytest.approx(4)  # the median of 1, 2, 4, 8, 16


def test_times_are_per_unit_and_first_calls_are_not(bench: Bench) -> None:
    result = measure(bench.case({"tape": 10.0}, units=5), rounds=3, seconds=1.0, clock=bench.clock)
    assert result.timings[0].seconds == pytest.approx(2)
    assert result.timings[0].first_seconds == pytest.approx(10)


def test_without_the_baseline_there_are_no_ratios(bench: Bench) -> None:
    result = measure(bench.case({"numpy": 1.0}), rounds=2, seconds=1.0, clock=bench.clock)
    assert result.timings[0].ratio is None


def test_a_case_may_have_another_baseline(bench: Bench) -> None:
    case = bench.case({"tape": 2.0, "function": 1.0}, baseline="function")
    result = measure(case, rounds=3, seconds=12.0, clock=bench.clock)
    assert [timing.name for timing in result.timings] == ["function", "tape"]
    assert [timing.ratio.median for timing in result.timings if timing.ratio] == pytest.approx([1, 2])


def test_overhead_is_subtracted_round_by_round(bench: Bench) -> None:
    def slow_down() -> None:
        bench.slowness *= 2

    case = bench.case({"numpy": 2.0, "tape": 7.0, "empty": 1.0}, overhead={"tape": "empty"}, baseline="numpy")
    result = measure(
        case, rounds=5, seconds=90.0, only=["numpy", "tape"], clock=bench.clock, on_round=slow_down
    )
    by_name = {timing.name: timing for timing in result.timings}
    assert by_name["tape"].ratio is not None
    assert by_name["tape"].ratio.median == pytest.approx(3)
    assert by_name["tape"].seconds == pytest.approx(6 * 4)
    assert by_name["empty"].seconds == pytest.approx(4)


def test_rounds_end_with_the_time_but_not_before_the_fifth(bench: Bench) -> None:
    result = measure(bench.case({"tape": 1.0}), rounds=100, seconds=0.001, clock=bench.clock)
    assert result.rounds == 5


@pytest.mark.parametrize(
    "wrong",
    [1.1, np.nan, np.float32(1), np.ones(1)],
    ids=["value", "nan", "dtype", "shape"],
)
def test_a_wrong_result_is_an_error_before_anything_is_timed(bench: Bench, wrong: Any) -> None:
    case = Case("stub", {"tape": bench.stub("tape", result=wrong), "numpy": bench.stub("numpy")})
    with pytest.raises(MismatchError, match="tape, case stub: result 0"):
        measure(case, rounds=1, seconds=1.0, clock=bench.clock)
    assert bench.log.count("tape") == 1


def test_contenders_may_have_references_of_their_own(bench: Bench) -> None:
    makers = {"function": bench.stub("function", result=1.0), "grad": bench.stub("grad", result=2.0)}
    right = {"function": lambda: [1.0], "grad": lambda: [2.0]}
    assert len(prepare(Case("stub", makers, reference=right), clock=bench.clock)[0]) == 2
    wrong = {"function": lambda: [1.0], "grad": lambda: [3.0]}
    with pytest.raises(MismatchError, match="grad, case stub: result 0"):
        prepare(Case("stub", makers, reference=wrong), clock=bench.clock)


def test_a_missing_result_is_an_error(bench: Bench) -> None:
    case = Case("stub", {"tape": lambda: list, "numpy": bench.stub("numpy")})
    with pytest.raises(MismatchError, match="0 results where 1"):
        prepare(case, clock=bench.clock)


def test_only_limits_who_is_timed_but_not_the_check(bench: Bench) -> None:
    case = Case("stub", {"tape": bench.stub("tape", result=2.0), "numpy": bench.stub("numpy")})
    with pytest.raises(MismatchError):
        prepare(case, only=["tape"], clock=bench.clock)
    right = bench.case({"tape": 1.0, "numpy": 1.0})
    assert [contender.name for contender in prepare(right, only=["tape"])[0]] == ["tape"]


def test_results_may_be_updated_in_place() -> None:
    def make() -> Callable[[], list[Any]]:
        total = np.zeros(3)
        return lambda: [np.add(total, 1.0, out=total)]

    measure(Case("stub", {"tape": make, "numpy": make}), rounds=1, seconds=1e-6)


def test_what_is_not_installed_is_listed(bench: Bench) -> None:
    def make() -> Callable[[], list[Any]]:
        framework = load("no_such_framework")
        return lambda: [framework]

    case = Case("stub", {"tape": bench.stub("tape"), "other": make})
    result = measure(case, rounds=1, seconds=1.0, clock=bench.clock)
    assert result.missing == {"other": "no_such_framework is not installed"}
    assert "no_such_framework is not installed" in table("name", "summary", [result])
    with pytest.raises(NotAvailableError):
        require("no_such.module")


def test_an_error_names_its_contender() -> None:
    def make() -> Callable[[], list[Any]]:
        return lambda: [1 / 0]

    with pytest.raises(ZeroDivisionError) as caught:
        prepare(Case("stub", {"tape": make}))
    assert caught.value.__notes__ == ["raised by the contender tape, case stub"]


def test_memory_is_measured_only_where_it_is_seen() -> None:
    def make() -> Callable[[], list[Any]]:
        return lambda: [np.ones(10**6)]

    case = Case("stub", {"tape": make, "torch": make})
    ours, torch = measure(case, rounds=1, seconds=1e-6, memory_of=["tape"]).timings
    assert ours.peak_bytes is not None
    assert 8_000_000 <= ours.peak_bytes < 8_100_000
    assert torch.peak_bytes is None


def test_contenders_are_told_apart_by_the_framework_that_begins_their_name() -> None:
    names = ("torch loop", "jax", "autograd grad", "grad by hand", "tape")
    assert [is_rival(name) for name in names] == [True, True, True, False, False]
    assert [is_traced(name) for name in names] == [False, False, True, True, True]


# ---- the report ------------------------------------------------------------------------------------


def test_table_is_aligned_and_scaled(bench: Bench) -> None:
    case = bench.case({"tape": 0.00125, "numpy": 0.0000005})
    result = measure(case, rounds=3, seconds=0.01, clock=bench.clock)
    lines = table("name", "summary", [result]).splitlines()
    assert lines[0] == "name: summary"
    assert lines[1].split() == ["time/call", "vs", "tape", "quartiles", "first", "peak"]
    assert lines[2].split() == ["tape", "1.25", "ms", "1.00", "1.25", "ms", "n/a"]
    assert lines[3].split()[:3] == ["numpy", "500", "ns"]
    assert len({len(line) for line in lines[1:]}) == 1


def test_figures_are_columns(bench: Bench) -> None:
    figures = {"steps": {"tape": lambda: 12345}}
    case = bench.case({"tape": 1.0, "numpy": 1.0}, figures=figures, baseline="numpy")
    result = measure(case, rounds=3, seconds=3.0, clock=bench.clock)
    head, of_numpy, of_tape = (line.split() for line in table("name", "summary", [result]).splitlines()[1:])
    assert head == ["time/call", "vs", "numpy", "quartiles", "first", "peak", "steps"]
    assert (of_numpy[-1], of_tape[-1]) == ("n/a", "12,345")
    (data,) = as_data("name", "summary", [result])["cases"]
    assert [timing["figures"] for timing in data["contenders"]] == [{}, {"steps": 12345}]
    assert data["contenders"][1]["ratio_to_numpy"] == pytest.approx(1)


def test_cases_of_one_table_are_its_rows(bench: Bench) -> None:
    costs = {"numpy": 0.002, "tape": 0.007, "empty": 0.001}
    settings = {"overhead": {"tape": "empty"}, "baseline": "numpy", "table": "title"}
    results = [measure(bench.case(costs, **settings), rounds=3, seconds=1.0, clock=bench.clock)] * 2
    lines = table("name", "summary", results).splitlines()
    assert lines[:2] == ["name: summary", "  title"]
    assert lines[2].split() == ["numpy", "tape", "ratio"]
    for line, label in zip(lines[3:6], ("stub", "stub", "median"), strict=True):
        assert line.split() == [label, "2.00", "ms", "6.00", "ms", "3.00"]
    assert lines[6:] == ["  subtracted: empty 1.00 ms"]
    (data, _) = as_data("name", "summary", results)["cases"]
    assert data["table"] == "title"


def test_data_is_json(bench: Bench) -> None:
    result = measure(bench.case({"tape": 1.0, "numpy": 2.0}), rounds=3, seconds=1.0, clock=bench.clock)
    data = json.loads(json.dumps(as_data("name", "summary", [result])))
    numpy = data["cases"][0]["contenders"][1]
    assert numpy["name"] == "numpy"
    assert numpy["ratio_to_tape"] == pytest.approx(2)


# ---- the command line ------------------------------------------------------------------------------


def test_list_names_every_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    printed = capsys.readouterr().out
    for name in ("mlp", "mlp-large", "rnn", "chain", "chain-million", "doubling", "reduce"):
        assert f" {name} " in printed
    for name in ("accumulate", "cross_entropy", "curve-fit", "import", "optim", "optim-many"):
        assert f" {name} " in printed
    for name in ("checkpointing", "derivative-costs", "derivative-costs-depth", "hessian", "higher-order"):
        assert f" {name} " in printed
    for name in ("call", "compile-time", "elementwise", "gmm", "lstm", "ode-fit"):
        assert f" {name} " in printed
    for name in ("embedding", "lenet", "nn", "nn-forward", "operations", "stencil", "transformer"):
        assert f" {name} " in printed


def test_json_on_stdout() -> None:
    process = run("doubling", "--rounds=1", "--seconds=0.01", "--only=tape,numpy", "--save=-")
    assert process.returncode == 0, process.stderr
    printed = json.loads(process.stdout)
    assert printed["machine"]["threads"] == 1
    (case,) = printed["workloads"][0]["cases"]
    assert [timing["name"] for timing in case["contenders"]] == ["tape", "numpy"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-workload"], "there is no workload 'no-such-workload'"),
        (["doubling", "--only=nobody"], "there is no contender 'nobody'"),
    ],
)
def test_unknown_names_are_refused(arguments: list[str], message: str) -> None:
    process = run(*arguments)
    assert process.returncode == 2
    assert message in process.stderr


def test_threads_cannot_be_limited_after_numpy() -> None:
    with pytest.raises(RuntimeError, match="after the import of NumPy"):
        limit_threads(1)


def test_threads_may_be_left_to_the_libraries() -> None:
    process = run("call", "--rounds=1", "--seconds=0.01", "--only=numpy", "--threads=default", "--save=-")
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["machine"]["threads"] is None


@pytest.mark.parametrize(
    ("threads", "line"),
    [(1, ", 1 thread used"), (2, ", 2 threads used"), (None, ", threads as each library chooses")],
)
def test_header_tells_the_threads_and_the_versions(threads: int | None, line: str) -> None:
    lines = header(facts() | {"threads": threads}).splitlines()
    assert line in lines[0]
    assert f"numpy {np.__version__}" in lines[1]


@pytest.mark.parametrize(
    ("load", "variation", "said"),
    [(0.4, 0.02, None), (2.0, 0.02, "load average is 2.0 on 2 cores"), (None, 0.5, "50% longer")],
)
def test_a_busy_machine_is_a_warning(load: float | None, variation: float, said: str | None) -> None:
    warning = load_warning({"load_average": load, "cores": 2, "spin_variation": variation})
    assert warning is None if said is None else warning and said in warning


def test_a_saved_run_is_measured_again_and_made_a_page(tmp_path: Path) -> None:
    file, output = tmp_path / "run.json", tmp_path / "figures.md"
    options = ("--rounds=1", "--seconds=0.01", "--only=tape,numpy")
    saved = run("doubling", *options, f"--save={file}")
    assert saved.returncode == 0, saved.stderr
    data = json.loads(file.read_text())
    data["machine"]["load_average"] = 99.0
    numpy_then = next(one for one in data["workloads"][0]["cases"][0]["contenders"] if one["name"] == "numpy")
    numpy_then["ratio_to_tape"] *= 1e6  # then tape was a million times faster
    numpy_then["ratio_quartiles"] = [numpy_then["ratio_to_tape"]] * 2
    file.write_text(json.dumps(data))

    again = run(*options, f"--against={file}")
    assert again.returncode == 1
    assert re.search(r"slower +doubling.* · tape +\(beside numpy\)", again.stdout)

    assert write_page([str(file), "--output", str(output)]) == 0
    text = output.read_text()
    assert data["date"][:10] in text
    assert data["machine"]["cpu"] in text
    assert "load average is 99.0" in text
    assert "## doubling" in text
    rows = [line.split(" | ")[1] for line in text.splitlines() if " x tape |" in line]
    assert rows == ["tape", "numpy"]


def test_what_is_no_saved_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]")
    for name in ("other.json", "missing.json"):
        with pytest.raises(SystemExit, match="2"):
            main(["--threads=default", f"--against={tmp_path / name}"])


def saved(bench: Bench, costs: dict[str, float], **settings: Any) -> list[dict[str, Any]]:
    result = measure(bench.case(costs, **settings), rounds=5, seconds=99.0, clock=bench.clock)
    return [as_data("name", "summary", [result])]


@pytest.mark.parametrize(
    ("cost", "slowness", "verdict", "ratio"),
    [
        (1.0, 3.0, "noise", 1.0),
        (1.5, 3.0, "slower", 1.5),
        (0.5, 1.0, "faster", 0.5),
        (1.02, 1.0, "noise", 1.02),
    ],
)
@pytest.mark.parametrize("baseline", ["tape", "numpy"])
def test_runs_are_compared_beside_what_has_not_changed(
    bench: Bench, baseline: str, cost: float, slowness: float, verdict: str, ratio: float
) -> None:
    before = saved(bench, {"tape": 1.0, "numpy": 2.0, "tape compiled": 0.5}, baseline=baseline)
    bench.slowness = slowness
    after = saved(bench, {"tape": cost, "numpy": 2.0, "tape compiled": 0.5}, baseline=baseline)
    found = {change.label.rpartition(" · ")[2]: change for change in changes(before, after)}
    assert found.keys() == {"tape", "tape compiled"}
    assert (found["tape"].verdict, found["tape compiled"].verdict) == (verdict, "noise")
    assert found["tape"].ratio == pytest.approx(ratio)


def test_without_anything_beside_it_a_change_may_be_the_machines(bench: Bench) -> None:
    before = saved(bench, {"tape": 1.0})
    (change,) = changes(before, saved(bench, {"tape": 2.0, "numpy": 1.0}))
    assert (change.verdict, change.reference) == ("unknown", "")
    assert change.ratio == pytest.approx(2)
    assert changes(before, []) == []


# ---- the workloads ---------------------------------------------------------------------------------


_WITHOUT_HAND = ("import", "nn", "nn-forward", "rules")


_COMPARED = [name for name in all_workloads() if name not in _WITHOUT_HAND]


@pytest.mark.parametrize("name", some(_COMPARED, every=8))
def test_tape_agrees_with_what_is_written_by_hand(name: str) -> None:
    for case in all_workloads()[name].cases(1):
        if case.is_large:
            continue
        ours = [name for name in case.contenders if not is_rival(name)]
        contenders, missing = prepare(case, only=ours)
        assert missing or case.baseline in [contender.name for contender in contenders]
        for figure in case.figures.values():
            assert figure.keys() <= case.contenders.keys()


@pytest.mark.parametrize("function", [elementwise._gated, elementwise._waving])
def test_elementwise_functions_are_of_17_operations(function: Callable[[Any, Any], Any]) -> None:
    trace = tape.Trace()
    function(np, trace.param(np.ones(3)))
    assert len(trace) == 1 + 17


@pytest.mark.parametrize("steps", [1, 2, 30, 300])
def test_checkpointing_calls_the_body_no_more_than_the_binomial_bound(steps: int) -> None:
    assert checkpointing.body_calls("plain", steps, 0) == steps
    # One more than revolve counts: the value of the loop takes its last step too.
    assert checkpointing.body_calls("checkpointed", steps, 0) == forward_steps(steps, 20) + 1 + steps


def test_growth_of_resident_memory_is_a_number() -> None:
    assert checkpointing.grown("numpy", 3, 0) >= 0


def test_nested_gradients_record_more_operations_with_every_order() -> None:
    counts = [higher_order.operations(higher_order._nested_grad(order)) for order in range(1, 6)]
    assert counts == sorted(set(counts))


# ---- two checkouts ---------------------------------------------------------------------------------


def test_checkouts_are_measured_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tape").mkdir()
    (tmp_path / "tape" / "__init__.py").touch()
    asked = []

    def measured(checkout: Path, workload: str, seconds: float) -> dict[tuple[str, str], float] | str:
        asked.append((checkout, workload))
        if workload == "chain" and checkout == tmp_path:
            return "ImportError: no such thing"
        noise = 1 + 0.2 * (len(asked) % 3)
        here = {("", "tape"): 1.1 * noise, ("", "tape compiled"): 1.01 * noise, ("new", "tape"): noise}
        return here if checkout == ROOT else {key: noise for key in here if key[0] != "new"}

    monkeypatch.setattr(against, "_measured", measured)
    assert against.main([str(tmp_path), "call", "--turns", "6"]) == 1
    assert [checkout == ROOT for checkout, _ in asked] == [False, True, True, False] * 3
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["1.100!", "1.010"]
    assert [line.split(" · ", 1)[1] for line in lines] == ["tape", "tape compiled"]

    assert against.main([str(tmp_path), "call", "--turns", "6", "--limit", "1.2"]) == 0
    assert against.main([str(tmp_path), "chain"]) == 1
    assert "chain does not run" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        against.main([str(tmp_path / "tape")])


@pytest.mark.parametrize("slow", range(1, 12))
def test_a_call_that_compiles_something_does_not_set_how_many_calls_a_block_has(slow):
    """A block is a tenth of a second, and calls take a thousandth, but for one of them."""
    now, done = [0.0], [0]

    def call():
        done[0] += 1
        now[0] += 1.0 if done[0] == slow else 1e-3

    assert _calls_per_block(call, 0.1, lambda: now[0]) == pytest.approx(100, abs=1)
