"""The tool for GradBench: its protocol through a pipe, and values against loops and differences."""

from __future__ import annotations

import importlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from benchmarks.gradbench import ba, ht
from benchmarks.gradbench.protocol import EVALUATIONS, answer, functions, serve
from tests import naive_gradbench as naive
from tests.tiers import some

ROOT = Path(__file__).resolve().parent.parent

SIZES: dict[str, dict[str, Any]] = {
    "llsq": {"n": 9, "m": 5},
    "lse": {"n": 12},
    "gmm": {"d": 3, "k": 2, "n": 5},
    "det": {"ell": 4},
    "ode": {"n": 4, "s": 3},
    "kmeans": {"k": 3, "n": 20, "d": 2},
    "lstm": {"layers": 2, "c": 4, "bits": 3},
    "ba": {"n": 2, "m": 3, "p": 40},
    "ht": {"n": 4, "points": 7},
}


def example(name: str, seed: int = 1) -> Any:
    return importlib.import_module(f"benchmarks.gradbench.{name}").example(seed, **SIZES.get(name, {}))


@cache
def output(name: str, function: str) -> Any:
    """Return what the tool answers for the example, decoded from JSON."""
    message = {"id": 0, "kind": "evaluate", "module": name, "function": function, "input": example(name)}
    found = json.loads(json.dumps(answer(json.loads(json.dumps(message)))))
    assert found["success"], found["error"]
    return found["output"]


def check(found: Any, expected: Any, *, digits: int = 8) -> None:
    np.testing.assert_allclose(found, expected, rtol=10.0**-digits, atol=10.0**-digits)


# ---- the protocol ----------------------------------------------------------------------------------


def test_tool_answers_each_message_of_a_session_through_a_pipe() -> None:
    point = {"x": [0.0, 1.0], "min_runs": 3, "min_seconds": 0}
    messages = [
        {"id": 0, "kind": "start", "eval": "lse", "config": {"n": [2]}},
        {"id": 1, "kind": "define", "module": "lse"},
        {"id": 2, "kind": "evaluate", "module": "lse", "function": "primal", "input": point},
        {"id": 3, "kind": "analysis", "of": 2, "valid": True},
        {"id": 4, "kind": "evaluate", "module": "lse", "function": "gradient", "input": {"x": [0.0]}},
        {"id": 5, "kind": "define", "module": "no_such"},
    ]
    command = [sys.executable, "-m", "benchmarks.gradbench"]
    pipe = subprocess.PIPE
    answers = []
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe) as process:
        assert process.stdin
        assert process.stdout
        for message in messages:  # in turns, as an evaluation does: an answer that is not flushed would hang
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(60) == 0
    assert [found["id"] for found in answers] == [0, 1, 2, 3, 4, 5]
    assert answers[0] == {"id": 0, "tool": "tape"}
    assert answers[1] == {"id": 1, "success": True}
    assert answers[2]["output"] == pytest.approx(np.log(1 + np.e))
    assert [timing["name"] for timing in answers[2]["timings"]] == ["prepare", *3 * ["evaluate"]]
    assert all(timing["nanoseconds"] > 0 for timing in answers[2]["timings"])
    assert answers[3] == {"id": 3}
    assert answers[4]["output"] == [1.0]
    assert not answers[5]["success"]
    assert "no_such" in answers[5]["error"]


def test_function_runs_until_the_seconds_are_over() -> None:
    ticks = iter(range(0, 10**12, 250_000_000))  # a quarter of a second passes between any two looks
    message = {
        "id": 7,
        "kind": "evaluate",
        "module": "lse",
        "function": "primal",
        "input": {"x": [1.0], "min_runs": 2, "min_seconds": 1.25},
    }
    timings = answer(message, lambda: next(ticks))["timings"]
    assert [timing["nanoseconds"] for timing in timings[1:]] == [250_000_000] * 5


@pytest.mark.parametrize(
    "change", [{"function": "no_such"}, {"module": "sys"}, {"input": {}}, {"input": {"x": ["a"]}}]
)
def test_error_in_a_message_is_an_answer(change: dict[str, Any]) -> None:
    message = {"id": 3, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [1.0]}}
    found = answer(message | change)
    assert found["id"] == 3
    assert not found["success"]
    assert "Error" in found["error"]


def test_messages_of_unknown_kinds_are_acknowledged() -> None:
    answers = io.StringIO()
    serve(['{"id": 9, "kind": "end"}'], answers)
    assert json.loads(answers.getvalue()) == {"id": 9}


def test_examples_are_seeded_and_survive_json() -> None:
    for name in EVALUATIONS:
        assert json.loads(json.dumps(example(name))) == example(name)
        assert functions(name)


# ---- the values ------------------------------------------------------------------------------------


def test_hello() -> None:
    assert output("hello", "square") == 4.0
    assert output("hello", "double") == 4.0


@pytest.mark.parametrize(
    ("name", "objective"),
    [
        ("llsq", lambda data: lambda x: naive.llsq(x, data["n"])),
        ("lse", lambda data: naive.lse),
    ],
)
def test_values_and_gradients_of_a_vector(name: str, objective: Callable[..., Any]) -> None:
    data = example(name)
    check(output(name, "primal"), objective(data)(np.array(data["x"])))
    check(output(name, "gradient"), naive.differences(objective(data), data["x"]))


def test_ode() -> None:
    data = example("ode")
    check(output("ode", "primal"), naive.ode(np.array(data["x"]), data["s"]))
    check(output("ode", "gradient"), naive.differences(lambda x: naive.ode(x, data["s"])[-1], data["x"]))


def test_det() -> None:
    matrix = np.array(example("det")["A"]).reshape(4, 4)
    check(output("det", "primal"), naive.det(matrix))
    check(output("det", "gradient"), naive.differences(naive.det, matrix).ravel())


def test_gmm() -> None:
    data = example("gmm") | {"gamma": 1.3, "m": 2}
    params = {name: np.array(data[name]) for name in ("alpha", "mu", "q", "l")}
    known = functions("gmm")
    arguments = known["objective"].prepare(data)

    def expected(**params: np.ndarray) -> float:
        alpha, mu, q, lower = params.values()
        return naive.gmm(alpha, mu, q, lower, data)

    check(known["objective"].compute(*arguments), expected(**params))
    found = known["jacobian"].report(known["jacobian"].compute(*arguments))
    assert found.keys() == params.keys()
    for name in params:
        by_differences = naive.differences(
            lambda part, name=name: expected(**params | {name: part}), params[name]
        )
        check(found[name], by_differences)


def test_kmeans() -> None:
    data = example("kmeans")
    centroids, points = np.array(data["centroids"]) + 0.01, np.array(data["points"])
    known = functions("kmeans")
    check(known["cost"].compute(centroids, points), naive.kmeans(centroids, points))
    check(known["dir"].compute(centroids, points), naive.kmeans_step(centroids, points))


def test_lstm() -> None:
    data = example("lstm")
    main, extra, *rest = (
        np.array(data[name]) for name in ("main_params", "extra_params", "state", "sequence")
    )
    check(output("lstm", "objective"), naive.lstm(main, extra, *rest))
    by_main = naive.differences(lambda main: naive.lstm(main, extra, *rest), main)
    by_extra = naive.differences(lambda extra: naive.lstm(main, extra, *rest), extra)
    check(output("lstm", "jacobian"), [*by_main.ravel(), *by_extra.ravel()])


def test_ba_jacobian_is_the_dense_one() -> None:
    rng = np.random.default_rng(2)
    cameras, points = rng.random((2, 11)), rng.random((3, 3))
    weights, features = rng.random(6), rng.random((6, 2))
    seen = np.stack([np.arange(6) % 2, np.arange(6) % 3], axis=1)
    reprojection, weight = ba.errors(cameras, points, weights, features, seen)
    check([*reprojection.ravel(), *weight], naive.ba(cameras, points, weights, features, seen))
    starts, columns = ba.pattern(2, 3, seen)
    values = ba.jacobian(cameras, points, weights, features, seen)
    sparse = scipy.sparse.csr_array((values, columns, starts), shape=(18, 2 * 11 + 3 * 3 + 6))
    dense = [
        naive.differences(lambda c: naive.ba(c, points, weights, features, seen), cameras).reshape(18, -1),
        naive.differences(lambda p: naive.ba(cameras, p, weights, features, seen), points).reshape(18, -1),
        naive.differences(lambda w: naive.ba(cameras, points, w, features, seen), weights),
    ]
    check(sparse.toarray(), np.concatenate(dense, axis=1), digits=7)


def test_ba_reports_the_first_rows_and_the_last_element() -> None:
    found = output("ba", "jacobian")
    assert found["rows"] == [*range(0, 15 * 30, 15), 15 * 80 + 40]
    assert found["cols"][:15] == [*range(11), 22, 23, 24, 31]
    assert found["cols"][30] == 31 + 39
    assert found["vals"][30] == -2 * example("ba")["w"]
    assert len(found["vals"]) == 31
    assert output("ba", "objective")["w_err"]["repeated"] == 40


@pytest.mark.parametrize("is_complicated", [False, True])
@pytest.mark.parametrize("is_mirrored", some([False, True], every=2))
def test_ht(is_complicated: bool, is_mirrored: bool) -> None:
    data = ht.example(3, **SIZES["ht"], is_complicated=is_complicated)
    data["data"]["model"]["is_mirrored"] = is_mirrored
    known = functions("ht")
    arguments = known["objective"].prepare(data)
    theta, us = arguments[:2]
    check(known["objective"].compute(*arguments), naive.ht(theta, us, data["data"]))
    expected = naive.differences(lambda theta: naive.ht(theta, us, data["data"]), theta)
    if is_complicated:
        whole = naive.differences(lambda us: naive.ht(theta, us, data["data"]), us)
        by_place = whole.reshape(4, 3, 4, 2)[np.arange(4), :, np.arange(4)].reshape(12, 2)
        expected = np.concatenate([by_place, expected], axis=1)
    check(known["jacobian"].compute(*arguments), expected)


@pytest.mark.parametrize("modes", some(["rf", "rr", "ff", "fr"], every=4))
def test_particle(modes: str) -> None:
    assert output("particle", modes) == pytest.approx(0.2071918746486116, rel=1e-12)  # GradBench's own check


@pytest.mark.parametrize("modes", some(["fr", "rr", "ff", "rf"], every=4))
def test_saddle(modes: str) -> None:
    assert output("saddle", modes) == pytest.approx([8.246324826140356e-06] * 4, rel=1e-9)
