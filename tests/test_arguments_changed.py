"""What compiled functions put into collections and objects among their arguments."""

import dataclasses
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import tape
from tape import errors
from tape.program import compiled as module


@dataclasses.dataclass
class Params:
    w: np.ndarray
    step: int = 0


def updates_an_item(p, x):
    p["w"] = p["w"] - 0.1 * x
    return x


def adds_an_item(p, x):
    p["n"] = p.get("n", 0.0) + np.sum(x)
    return p["n"]


def drops_an_item(p, x):
    return x * p.pop("w", 2.0)


def logs(p, x):
    p.append(np.sum(x))
    return len(p) * x


def swaps(p, x):
    p[0], p[1] = p[1], p[0]
    return x * p[0]


def sets_attributes(p, x):
    p.w, p.step = p.w - x, p.step + 1
    return p.w * p.step


def updates_within(p, x):
    p["inner"][0]["w"] = p["inner"][0]["w"] * x
    return x


def updates_in_place(p, x):
    for name in p:
        p[name] -= 0.1 * x
    return x


def writes_and_stores(p, x):
    v = p["w"]
    v *= 0.5
    p["w"] = v
    p["v"] = p["v"] + v
    return p["v"] * x


def stores_what_it_wrote_to(p, x):
    y = x * 1.0
    y += 1
    p.append(y)
    return y


def writes_to_an_argument_and_stores_it(p, x):
    x = x + 0.0
    x *= 0.9
    p["w"] = x
    return x


def renames(p, x):
    w = p.pop("w") if "w" in p else p.pop("v")
    w += x
    p["v" if "n" in p else "w"] = w
    p["n"] = 1.0
    return w * 1.0


def writes_and_swaps(p, x):
    p[0] -= 1
    p[0], p[1] = p[1], p[0]
    return x * p[0]


def writes_to_attributes(p, x):
    p.w += x
    p.step += 1
    return p.w * p.step


def nests(p, x):
    p["inner"] = {"kept": [p["w"], x * 2.0], "pair": (p["w"], 1.0)}
    return x


CASES = [
    (updates_an_item, lambda: {"w": np.ones(2)}),
    (adds_an_item, lambda: {"w": np.ones(2)}),
    (drops_an_item, lambda: {"w": np.ones(2), "v": 1.0}),
    (logs, list),
    (swaps, lambda: [np.ones(2), np.zeros(2)]),
    (sets_attributes, lambda: Params(np.ones(2))),
    (updates_within, lambda: {"inner": [{"w": np.ones(2)}]}),
    (updates_in_place, lambda: {"w": np.ones(2), "v": np.zeros(2)}),
    (writes_and_stores, lambda: {"w": np.ones(2), "v": np.zeros(2)}),
    (stores_what_it_wrote_to, list),
    (writes_to_an_argument_and_stores_it, dict),
    (renames, lambda: {"w": np.ones(2)}),
    (writes_and_swaps, lambda: [np.ones(2), np.full(2, 5.0)]),
    (writes_to_attributes, lambda: Params(np.ones(2))),
    (nests, lambda: {"w": np.ones(2)}),
]


@pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning")
@pytest.mark.parametrize("when", ["there", "never", "later"])
@pytest.mark.parametrize(("f", "make"), CASES)
def test_what_is_put_into_an_argument_is_there_for_the_caller(f, make, when, monkeypatch):
    """Also while there is no machine code, and nobody knows what the function does."""
    compiled = tape.compile(f)
    expected, found = make(), make()
    for k in range(4):
        is_there = when == "there" or (when == "later" and k > 1)
        monkeypatch.setattr(module, "is_ready", lambda *_, is_there=is_there: is_there)
        x = np.full(2, float(k))
        np.testing.assert_array_equal(compiled(found, x), f(expected, x))
        np.testing.assert_array_equal(x, float(k))
        assert str(found) == str(expected)


def test_functions_that_change_arguments_say_so():
    compiled = tape.compile(logs)
    with pytest.warns(errors.NotCompiledWarning, match="among its arguments"):
        compiled([], np.ones(2))


def test_arrays_of_the_caller_stay_as_they_are_where_others_come_into_a_collection(monkeypatch):
    monkeypatch.setattr(module, "is_ready", lambda *_: False)
    w, v, state = np.ones(2), np.ones(2), {}
    state.update(w=w, v=v)
    tape.compile(lambda p: (p["w"].__imul__(2), p.update(n=p["v"], w=p["w"]), np.sum(p["w"]))[2])(state)
    np.testing.assert_array_equal(w, 1.0)
    np.testing.assert_array_equal(state["w"], 2.0)
    assert state["n"] is state["v"] is v


@pytest.mark.parametrize("is_argument", [False, True])
def test_what_is_put_into_an_argument_by_a_function_that_draws(is_argument):
    """It was lost: generators are taken out of the arguments, whose collections are copies then."""

    def step(p, x, rng):
        p["w"] = p["w"] + x * (1 + rng.normal())
        p["log"].append(1.0)
        return p["w"].sum()

    outcomes = []
    for make in (lambda f: f, tape.compile):
        rng, p = tape.random.default_rng(3), {"w": np.zeros(1), "log": []}
        f = make(step) if is_argument else make(lambda p, x, rng=rng: step(p, x, rng))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.NotCompiledWarning)
            results = [f(p, np.ones(1), *[rng] * is_argument) for _ in range(3)]
        outcomes.append((np.array(results), p["w"], p["log"]))
    for found, expected in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::tape.errors.NotCompiledWarning")
def test_what_is_put_into_an_argument_before_an_error_is_there():
    @tape.compile
    def logs_up_to_two(log, x):
        log.append(np.sum(x))
        if len(log) > 2:
            raise ValueError("full")
        return x

    log = []
    for k in range(4):
        with pytest.raises(ValueError, match="full") if k > 1 else nullcontext():
            logs_up_to_two(log, np.ones(2))
    assert log == [2.0] * 4


def test_what_is_put_into_an_argument_beside_one_that_is_returned():
    @dataclasses.dataclass(slots=True)
    class Log:
        losses: list

    @tape.compile
    def step(p, log, x):
        p["w"] = p["w"] - 0.1 * x
        log.losses.append(np.sum(x))
        return p

    log = Log([])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotCompiledWarning)
        for _ in range(4):
            step({"w": np.ones(2)}, log, np.ones(2))
    assert log.losses == [2.0] * 4


def test_what_is_put_into_an_argument_that_is_returned_is_a_matter_of_programs():
    @tape.compile
    def step(p, x):
        p["w"] = p["w"] - 0.1 * x
        return p

    p = {"w": np.ones(2)}
    for _ in range(3):
        p = step(p, np.ones(2))
    np.testing.assert_allclose(p["w"], 0.7)
    assert len(step.programs) == 1
