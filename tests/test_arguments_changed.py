"""What compiled functions put into collections and objects among their arguments."""

import dataclasses
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import tape
from tape import errors


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


@pytest.mark.parametrize(
    ("f", "make"),
    [
        (updates_an_item, lambda: {"w": np.ones(2)}),
        (adds_an_item, lambda: {"w": np.ones(2)}),
        (drops_an_item, lambda: {"w": np.ones(2), "v": 1.0}),
        (logs, list),
        (swaps, lambda: [np.ones(2), np.zeros(2)]),
        (sets_attributes, lambda: Params(np.ones(2))),
        (updates_within, lambda: {"inner": [{"w": np.ones(2)}]}),
    ],
)
def test_what_is_put_into_an_argument_is_there_for_the_caller(f, make):
    compiled = tape.compile(f)
    expected, found = make(), make()
    for k in range(4):
        x = np.full(2, float(k))
        with pytest.warns(errors.NotCompiledWarning, match="among its arguments") if not k else nullcontext():
            y = compiled(found, x)
        np.testing.assert_array_equal(y, f(expected, x))
        assert str(found) == str(expected)


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
