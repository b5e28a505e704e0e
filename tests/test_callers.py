"""Callers: errors about plain numbers name the call that takes them, and what records in its place."""

import cmath
import copy
import functools
import importlib
import math
import numbers
import operator
import re
import statistics
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import tape
from tape.conversion import callers
from tests.oracles import message_of


def test_the_price_of_an_option_is_an_error_and_right_when_cured():
    def price(erf, log):
        return lambda S, K: S * 0.5 * (1 + erf(log(S / K) / np.sqrt(2)))

    message = message_of(tape.grad(price(math.erf, math.log)), 100.0, 100.0)
    assert "math.log" in message or "log" in message
    cured = tape.grad(price(scipy.special.erf, np.log))(100.0, 100.0)
    np.testing.assert_allclose(cured, 0.5 + 1 / np.sqrt(2 * np.pi), rtol=1e-12)


rng = np.random.default_rng(0)
NAMED = {
    "math.erf": (lambda x: math.erf(x), "Call scipy.special.erf"),
    "math.log": (lambda x: math.log(x), "Call np.log"),
    "math.asin": (lambda x: math.asin(x / 4), "Call np.arcsin"),
    "float()": (lambda x: float(x), "Compute with the Var itself"),
    "int()": (lambda x: int(x), "int(tape.stop_gradient(v))"),
    "x.item": (lambda x: x.item(), "Compute with the Var itself"),
    "np.float64": (lambda x: np.float64(x), "Compute with the Var itself"),
    "np.vectorize": (lambda x: np.vectorize(math.sin)(x), "tape.vmap"),
    "rng.normal": (lambda x: rng.normal(x), "rng.standard_normal(size)"),
    "scipy.stats.norm.logpdf": (lambda x: scipy.stats.norm.logpdf(x), "tape.scipy.stats.norm.logpdf"),
    "scipy.stats.norm.cdf": (lambda x: scipy.stats.norm(1.0, x).cdf(2.0), "tape.scipy.stats.norm.cdf"),
    "scipy.stats.multivariate_normal.pdf": (
        lambda x: scipy.stats.multivariate_normal.pdf(1.0, x),
        "tape.scipy.stats.multivariate_normal.pdf",
    ),
    "scipy.stats.zscore": (lambda x: scipy.stats.zscore([x, x]), "SCIPY_ARRAY_API=1"),
    "scipy.integrate.quad": (lambda x: scipy.integrate.quad(math.sin, 0.0, x), ""),
    "statistics.fmean": (lambda x: statistics.fmean([x, x]), ""),
    "operator.setitem": (lambda x: operator.setitem(np.zeros(2), 0, x), "like=v"),
    "out.fill": (lambda x, out=np.zeros(2): out.fill(x), "like=v"),  # noqa: B008
}


@pytest.mark.parametrize("name", NAMED)
def test_errors_name_the_call_and_its_counterpart(name):
    f, cure = NAMED[name]
    message = message_of(tape.grad(f), 1.5)
    assert cure in message
    if name != "statistics.fmean":  # called by another name there
        assert f" in {name}," in message
    assert "tape.stop_gradient(v)" in message
    assert re.search(r"\[at .*test_callers\.py:\d+\]$", message)


def test_a_call_is_named_however_it_was_imported_or_assigned():
    from math import log as ln

    from scipy.stats import norm

    wave = np.vectorize(math.sin)
    assert " in math.log," in message_of(tape.grad(lambda x: ln(x)), 2.0)
    assert " in scipy.stats.norm.pdf," in message_of(tape.grad(lambda x: norm.pdf(x)), 2.0)
    assert " in np.vectorize," in message_of(tape.grad(lambda x: wave(x)), 2.0)
    assert " in np.ones(...).dot," in message_of(tape.grad(lambda x: np.ones(2).dot(x)), np.ones(2))
    tables = [np.ones(2)]
    assert " in tables[...].dot," in message_of(tape.grad(lambda x: tables[0].dot(x)), np.ones(2))
    assert " in math.log," in message_of(
        tape.grad(
            lambda x: math.log(
                x,
                3,
            )
        ),
        2.0,
    )


def test_objects_are_not_taken_for_distributions_because_they_have_a_name():
    class Model:
        name = "norm"

        def __init__(self, f):
            self.pdf = f

    model = Model(math.erf)
    assert " in model.pdf," in message_of(tape.grad(lambda x: model.pdf(x)), 2.0)


def test_a_call_without_source_is_named_all_the_same():
    space = {"math": math}
    exec("def f(x):\n    return 1 + math.erf(x * math.pi)", space)
    assert " in math.erf," in message_of(tape.grad(space["f"]), 2.0)


def test_programs_name_the_call_too():
    assert message_of(tape.compile(lambda x: math.sqrt(x)), 2.0).startswith("math.sqrt of ")
    assert "Call np.sqrt" in message_of(tape.compile(lambda x: math.sqrt(x)), 2.0)
    assert "scipy.stats.norm.pdf" in message_of(tape.compile(lambda x: scipy.stats.norm.pdf(x)), np.ones(2))


def test_counterparts_exist():
    text = " ".join([*callers._ADVICE.values(), *callers._RENAMED.values()])
    names = re.findall(r"\b(?:np|scipy\.special|tape)(?:\.\w+)+", text)
    assert len(set(names)) > 30
    for name in names:
        found = {"np": np, "scipy": scipy, "tape": tape}[name.partition(".")[0]]
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    for name in dir(math):
        advice = callers.counterpart_of(f"math.{name}")
        assert not advice or "np." in advice or "scipy.special." in advice
        assert all(hasattr(np, found) for found in re.findall(r"\bnp\.(\w+)", advice))


def test_what_has_a_counterpart_exists():
    newer = {"sumprod"}  # than the oldest Python
    assert set(callers._RENAMED) <= {*dir(math), *dir(cmath), *newer}
    for name in callers._RENAMED:
        assert callers._RENAMED[name] in callers.counterpart_of(f"math.{name}")
    for title, advice in callers._ADVICE.items():
        assert callers.counterpart_of(title) == advice
        top, *rest = title.split(".") if "." in title else ("builtins", title)
        found = np if top == "np" else importlib.import_module(top)
        for part in rest:
            found = getattr(found, part)
        assert callable(found), title


def test_functions_that_are_written_here_are_named():
    names = ["linalg.expm", "linalg.nosuch", "nosuch.expm", "cluster.vq.vq", "special.erf", "stats.norm.pdf"]
    found = [name for name in names if callers.is_written_here(f"scipy.{name}")]
    assert found == ["linalg.expm", "stats.norm.pdf"]  # ufuncs record as they are
    assert callers.counterpart_of("scipy.linalg.expm") == "Call tape.scipy.linalg.expm, which records"


# ---- classes ---------------------------------------------------------------------------------------


@functools.singledispatch
def dispatched(x):
    return 1.0


@dispatched.register
def _(x: np.ndarray):
    return 2.0


@dispatched.register
def _(x: np.floating):
    return 3.0


@dispatched.register
def _(x: numbers.Integral):
    return 4.0


def matched(x):
    match x:
        case float():
            return 1.0
        case np.ndarray():
            return 2.0
        case np.integer() | np.bool_():
            return 3.0
    return 4.0


KINDS = (np.ndarray, np.generic, np.floating, np.integer, np.int32, np.bool_, float, int, bool, complex, list)
ABSTRACT = (numbers.Number, numbers.Real, numbers.Integral, numbers.Complex)
ASKED = {
    "isinstance": lambda x: sum(2.0**k for k, kind in enumerate(KINDS) if isinstance(x, kind)),
    "several": lambda x: 1.0 if isinstance(x, (list, np.ndarray)) else 2.0,
    "abstract": lambda x: sum(2.0**k for k, kind in enumerate(ABSTRACT) if isinstance(x, kind)),
    "isscalar": lambda x: 1.0 if np.isscalar(x) else 2.0,
    "singledispatch": dispatched,
    "match": matched,
}
VALUES = [
    np.ones(2), np.ones((), np.float32), np.float64(1.0), np.float32(1.0), np.int32(1), np.int64(1),
    np.bool_(True), np.ones(2, int), 1.0, 1j, 1, True, np.complex64(1),
]  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_code_that_is_compiled_finds_the_classes_that_it_finds_without(name):
    ask = ASKED[name]
    for value in VALUES:
        assert tape.compile(lambda x: ask(x))(value) == ask(value), value
    for f in (lambda x: x[0], lambda x: x > 0, lambda x: x[0] > 0, np.argmax, lambda x: x[:1], np.sum):
        assert tape.compile(lambda x: ask(f(x)))(np.ones(2)) == ask(f(np.ones(2)))  # noqa: B023
    assert tape.compile(lambda a: ask(a > 0))(1.0) == ask(True)
    assert tape.compile(lambda x: tape.scan(lambda c, a: (c + ask(a), None), 0.0, x)[0])(np.ones(2)) == sum(
        ask(a) for a in np.ones(2)
    )


def test_traced_values_are_vars_to_everything_else():
    def f(x):
        assert isinstance(x, tape.Var)
        assert type(x) is not np.ndarray
        seen(x)
        copied = copy.deepcopy(x) if not isinstance(x, list) else x
        return np.sum(copied * np.asarray([1.0, 2.0]))

    seen = Mock()
    assert tape.compile(f)(np.ones(2)) == 3.0
    assert isinstance(seen.call_args.args[0], tape.Var)
