"""Steps of a long loop that are compared with the one before and recorded later: nobody notices."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tape
from tape import tree
from tape.core.interpreter import opened
from tape.core.table import INTERNAL
from tape.transforms.loops import catching_up, repeats
from tape.transforms.loops.deferring import DeferredVar, DeferringTrace
from tape.transforms.loops.operation import STEPS
from tests.random_repeats import AT, NEVER, OTHERWISE, W, X, assert_alike, differs, early
from tests.tiers import rounds, takes_long

pytestmark = pytest.mark.filterwarnings("ignore")
"""Where a warning is an error, nothing is deferred."""


@pytest.fixture(autouse=True)
def deferred(monkeypatch):
    """Look for repeats early; yield how many nodes each tape has deferred when it caught up."""
    counts = []

    def catch_up(trace, period):
        counts.append(period.count - period.base)
        catching_up.catch_up(trace, period)

    monkeypatch.setitem(INTERNAL, "catch_up", catch_up)
    with early():
        yield counts


@pytest.fixture(params=[64, NEVER], ids=["as a loop", "one by one"])
def ways(request):
    """Catch up in either way."""
    with early(request.param):
        yield


COUNT = 40


def loop(disturb: Callable[[int, Any], Any] = lambda k, h: h, steps: int = COUNT) -> Callable[..., Any]:
    """Return a function with a loop that does something else in some steps."""

    def f(w, h):
        for k in range(steps):
            h = np.tanh(w @ h + 0.1) * 0.9 + 0.05 * np.sin(h)
            h = disturb(k, h)
        return np.sum(h * h)

    return f


def test_nearly_all_steps_of_a_loop_are_deferred(deferred):
    assert_alike(loop(), W, X)
    assert [count > 0.6 * 7 * COUNT for count in deferred] == [True]


def test_a_function_of_few_operations_defers_nothing(deferred):
    assert_alike(loop(steps=2), W, X)
    assert not deferred


def test_nothing_is_deferred_where_a_warning_is_an_error(deferred):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_alike(loop(), W, X)
    assert not deferred


def test_nothing_is_deferred_where_errors_are_raised(deferred):
    """They have to be raised at the line of the operation."""
    with np.errstate(over="raise"):
        tape.compile(tape.grad(loop()))(W, X)
    assert not deferred


# ---- what a step does otherwise ----------------------------------------------------------------------------


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("name", OTHERWISE)
def test_steps_that_do_something_else(name):
    assert_alike(loop(OTHERWISE[name]), W, X)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("name", ["a slice", "a number that moves", "a write through a view", "a branch"])
def test_second_derivatives(name):
    f = loop(OTHERWISE[name])
    hvp = tape.grad(lambda w, h: np.sum(tape.grad(f)(w, h) * W), (0, 1))
    for a, b in zip(tape.compile(hvp)(W, X), hvp(W, X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@takes_long
@pytest.mark.usefixtures("ways")
def test_in_batches_and_forwards():
    f = loop(OTHERWISE["a slice"])
    rows = np.stack([X, X + 0.1])
    for g in (
        lambda w, hs: tape.vmap(tape.grad(f, (0, 1)), (None, 0))(w, hs),
        lambda w, hs: tape.grad(lambda w, hs: np.sum(tape.vmap(f, (None, 0))(w, hs)), (0, 1))(w, hs),
        lambda w, hs: tape.jvp(tape.grad(f), (w, hs[0]), (w, hs[1]))[1],
        lambda w, hs: tape.jacobian(tape.grad(f))(w, hs[0]),
    ):
        found, expected = (tree.flatten(h(W, rows))[0] for h in (tape.compile(g), g))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


# ---- what is kept ------------------------------------------------------------------------------------------

KEPT = {
    "all in a list": lambda hs: np.sum(np.stack(hs) ** 2),
    "every third": lambda hs: sum(np.sum(h) for h in hs[::3]),
    "one": lambda hs: np.sum(hs[AT] * hs[2]),
    "differences": lambda hs: sum(np.sum((b - a) ** 2) for a, b in pairwise(hs)),
    "views": lambda hs: np.sum(np.stack([h[1:] for h in hs])),
}


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("name", KEPT)
def test_kept_values(name):
    def f(w, h):
        hs: list[Any] = []
        loop(lambda k, h: hs.append(h) or h)(w, h)
        return KEPT[name](hs)

    assert_alike(f, W, X)


@pytest.mark.usefixtures("ways")
def test_kept_values_are_found_wherever_they_are():
    """In a closure, a generator, an attribute, a dictionary and a weak one, a tuple, a default."""

    class Place:
        pass

    def f(w, h):
        place, table, closures = Place(), {}, []

        def states(h):
            for k in range(COUNT):
                h = np.tanh(w @ h + 0.1) * 0.9
                if k == 20:
                    place.h = (h,)
                if k == 22:
                    table["h"] = h
                if k == 24:
                    closures.append(lambda h=h: h * 2)
                yield h

        followed = zip(states(h), states(h * 0.5), strict=True)
        total = 0.0
        for k, (a, b) in enumerate(followed):
            if k == 30:
                total = total + np.sum(a * b)
        return total + np.sum(place.h[0] + table["h"] + closures[0]() + a + b)

    assert_alike(f, W, X)


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("later", [False, True])
def test_views_that_are_kept_are_views(later):
    """A write to a value that a view was taken of makes the view stale, and one through the view moves it."""

    def through_a_view(w, h):
        parts = []
        for _ in range(COUNT):
            h = np.tanh(w @ h + 0.1) * 0.9
            base = h * 2.0
            parts.append((base, base[1:]))
        if later:
            h = np.exp(h)
        base, part = parts[AT]
        part[0] = 3.0 * h[0]
        return np.sum(base) + np.sum(h) + np.sum(part)

    assert_alike(through_a_view, W, X)

    def stale(w, h):
        parts = []
        for _ in range(COUNT):
            h = np.tanh(w @ h + 0.1) * 0.9
            base = h * 2.0
            parts.append((base, base[1:]))
        base, part = parts[AT]
        base[1] = 0.0
        return np.sum(part)

    for f in (stale, tape.compile(tape.grad(stale))):
        with pytest.raises(tape.errors.InPlaceError):
            tape.grad(f)(W, X) if f is stale else f(W, X)


def test_vars_are_vars_once_the_tape_has_caught_up():
    """Before, they know their type."""
    seen = []

    def f(w, h):
        for k in range(COUNT):
            h = np.tanh(w @ h + 0.1) * 0.9
            if k == AT:
                seen.append((type(h), h.shape, h.ndim, h.size, h.dtype, len(h)))
        trace = h.trace
        assert type(trace) is DeferringTrace
        assert len(trace) == len(trace.nodes)
        assert type(trace) is tape.Trace
        assert type(h) is tape.Var
        assert trace.nodes[h.id] is h.node
        return np.sum(h)

    tape.compile(tape.grad(f))(W, X)
    assert seen == [(DeferredVar, (3,), 1, 3, np.dtype(float), 3)]


def test_an_array_that_is_written_to_between_steps_is_refused():
    rows = np.ones(3)

    def disturb(k, h):
        if k == AT:
            rows[0] = 2.0
        return h + rows

    f = tape.compile(tape.grad(loop(disturb)))
    with pytest.raises(tape.errors.InPlaceError):
        f(W, X)


@pytest.mark.usefixtures("ways")
def test_arrays_that_are_closed_over_are_read_anew():
    rows = np.random.default_rng(2).normal(size=(COUNT, 3))
    g = tape.grad(loop(lambda k, h: h + rows[k]))
    compiled = tape.compile(g)
    np.testing.assert_allclose(compiled(W, X), g(W, X), rtol=1e-9)
    rows *= 2
    np.testing.assert_allclose(compiled(W, X), g(W, X), rtol=1e-9)


@pytest.mark.usefixtures("ways")
def test_a_loop_that_ends_with_an_exception_leaves_nothing_behind():
    def failing(k, h):
        if k == AT:
            raise KeyError(k)
        return h

    compiled = tape.compile(tape.grad(lambda w, h: loop(failing)(w, h)))
    for _ in range(2):
        with pytest.raises(KeyError):
            compiled(W, X)
    assert_alike(loop(), W, X)


# ---- what is easily taken for something else -------------------------------------------------------------


def _none(k: int, y: Any, h: Any) -> Any:
    """Multiply by None where a Var is expected."""
    if k == AT:
        with pytest.raises(TypeError):
            None * y
        with pytest.raises(TypeError):
            y * None
    return h * y


MISTAKEN = {
    "None": _none,
    "a number for a bool as an index": lambda k, y, h: y + np.sum(y[1 if k == AT else True]) * 0.1,
    "a bool for a number as an index": lambda k, y, h: y + np.sum(y[True if k == AT else 1]) * 0.1,
    "a constant that stays another one": lambda k, y, h: y * (0.5 if k < 20 else 1.5),
    "an index that stays another one": lambda k, y, h: y + y[1 if k < 20 else 2],
    "a power that stays another one": lambda k, y, h: y ** (2 if k < 20 else 3),
}


@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("name", MISTAKEN)
def test_what_is_nearly_expected_is_told_apart(name):
    def f(w, h):
        for k in range(COUNT):
            y = np.tanh(w @ h + 0.1)
            h = MISTAKEN[name](k, y, h)
        return np.sum(h)

    assert_alike(f, W, X)


# ---- elements of what no step changes ----------------------------------------------------------------------


def _written(k: int, p: Any, h: Any) -> Any:
    if k == AT:
        p[0] = h * 0.5
    return p[0] + p[1]


ELEMENTS = {
    "one": lambda k, p, h: p[1] * h,
    "all": lambda k, p, h: sum(row * h for row in p),
    "the same twice": lambda k, p, h: p[1] * h + p[1],
    "another one": lambda k, p, h: p[2 if k == AT else 1] * h,
    "in turn": lambda k, p, h: p[k % 3] * h,
    "from the end": lambda k, p, h: p[-1] * h,
    "another number of the same": lambda k, p, h: p[-1 if k == AT else 2] * h,
    "a number of NumPy": lambda k, p, h: p[np.int64(1)] * h,
    "of another array": lambda k, p, h: (p + 0.0 if k == AT else p)[1] * h,
    "of an array made by a step": lambda k, p, h: (p * h)[1],
    "of an element": lambda k, p, h: p[1][2] * h,
    "a write": _written,
}


@takes_long
@pytest.mark.usefixtures("ways")
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_of_what_no_step_changes(name, deferred):
    def f(w, h):
        p = np.sin(w)
        for k in range(COUNT):
            h = np.tanh(ELEMENTS[name](k, p, h) + 0.1 * h)
        return np.sum(h) + np.sum(p)

    assert_alike(f, W, X)
    assert deferred


@pytest.mark.usefixtures("ways")
def test_an_element_that_there_is_not_is_refused_in_the_step_that_reads_it():
    def f(w, h):
        for k in range(COUNT):
            try:
                h = np.tanh(w[7 if k == AT else 1] * h)
            except IndexError:
                h = h * 0.5
        return np.sum(h)

    assert_alike(f, W, X)


@pytest.mark.usefixtures("ways")
def test_methods_that_were_bound_before_serve_afterwards():
    def f(w, h):
        for k in range(COUNT):
            h = np.tanh(w @ h + 0.1)
            if k == AT:
                add, minus, item = h.__add__, h.__neg__, h.__getitem__
                radd, ufunc = h.__radd__, h.__array_ufunc__
        assert len(h.trace.nodes)  # which lets it catch up
        return np.sum(add(1.0) * minus() + item(1) + radd(2.0) + ufunc(np.sin, "__call__", h))

    assert_alike(f, W, X)


@pytest.mark.usefixtures("ways")
def test_a_view_of_a_view_stays_one():
    def stale(w, h):
        kept = []
        for _ in range(COUNT):
            whole = h * 2.0
            part = whole[1:]
            kept.append((whole, part[1:]))
            h = np.tanh(w @ h) + np.sum(part)
        kept[AT][0][2] = 7.0
        return np.sum(kept[AT][1])

    def written_through(w, h):
        kept = []
        for _ in range(COUNT):
            whole = np.outer(h, h).T
            row = whole[1:][0]
            kept.append((whole, row))
            h = np.tanh(w @ h) + 0.1 * np.sum(row)
        kept[AT][1][1] = 9.0 * h[0]
        return sum(np.sum(whole) for whole, _ in kept)

    with pytest.raises(tape.errors.InPlaceError):
        tape.compile(tape.grad(stale))(W, X)
    assert_alike(written_through, W, X)


@pytest.mark.usefixtures("ways")
def test_steps_are_computed_with_the_settings_at_which_they_were_written():
    def f(x):
        h, e = x * 1.0, 0
        for _ in range(400):
            h = h * 1e-3
        with np.errstate(all="raise"):
            try:
                y = x * 2 + h
            except FloatingPointError:
                e = 100
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.sum(y) + e

    np.testing.assert_array_equal(tape.compile(tape.grad(f))(X), [2.0] * 3)


# ---- steps that are not needed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [
        lambda hs: np.sum(hs[20]),
        lambda hs: np.sum(np.stack(hs[:20])),
        lambda hs: np.sum(hs[3] * hs[5]) + sum(np.sum(h) for h in hs[4:24:5]),
    ],
    ids=["one", "a slice", "several"],
)
def test_steps_after_all_that_are_read_have_no_derivative(read):
    """Zeros flow through them, which become NaN where they overflow."""

    def f(x):
        h, hs = np.abs(x) + 0.9, []
        for k in range(COUNT):
            h = np.sqrt(h * h * (1.0 if k < 25 else 0.0))
            hs.append(h)
        return read(hs)

    expected = tape.grad(f)(X)
    assert np.isfinite(expected).all()
    compiled = tape.compile(tape.grad(f))
    for _ in range(2):
        np.testing.assert_allclose(compiled(X), expected, rtol=1e-12)


def test_operations_that_may_raise_are_not_deferred():
    """Those of linear algebra do for singular matrices, whatever their modules are called."""

    def op_of(f, x):
        with tape.Trace() as trace:
            f(trace.param(x))
        return [node.op for node in trace.nodes if node.op is not None]

    for f in (np.linalg.inv, np.linalg.cholesky, np.linalg.eigvalsh, lambda a: np.linalg.solve(a, X)):
        assert any(map(repeats.may_raise, op_of(f, np.eye(3))))
    assert repeats.may_raise(STEPS)
    assert not any(map(repeats.may_raise, op_of(lambda x: np.sum(np.tanh(x @ x) ** 2), X)))


def test_an_interrupted_recording_leaves_nothing_open(monkeypatch):
    """Neither while a loop is recorded nor while the tape catches up."""

    def interrupted(k, h):
        if k == AT:
            raise KeyboardInterrupt(h)
        return h

    with pytest.raises(KeyboardInterrupt) as caught:
        tape.compile(tape.grad(loop(interrupted)))(W, X)
    assert not opened()
    (h,) = caught.value.args
    assert type(h) is DeferredVar
    assert h.value.shape == (3,)
    assert type(h) is tape.Var

    kept = []

    def catch_up(trace, period):
        kept.append(period.vars[-1])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setitem(INTERNAL, "catch_up", catch_up)
        with pytest.raises(KeyboardInterrupt):
            tape.compile(tape.grad(loop()))(W, X)
    assert not opened()
    (h,) = kept
    assert h.shape == (3,)
    for use in (lambda: h.value, lambda: np.tanh(h), lambda: h * 2.0, lambda: h[0], lambda: W @ h):
        with pytest.raises(tape.errors.TraceDroppedError):
            use()
    assert_alike(loop(), W, X)


@takes_long
def test_most_loops_are_deferred(deferred):
    """All but those that do in each step what is not deferred."""
    not_deferred = []
    for name, otherwise in OTHERWISE.items():
        deferred.clear()
        tape.compile(tape.grad(loop(otherwise)))(W, X)
        if sum(deferred) < 0.4 * 7 * COUNT:
            not_deferred.append(name)
    assert len(not_deferred) <= 0.4 * len(OTHERWISE), not_deferred
    assert all("each step" in name or name in _RARELY for name in not_deferred), not_deferred


_RARELY = {
    "a rule of one's own", "a system of equations", "ints that do not fit", "elements in turn",
}  # fmt: skip


# ---- random loops ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(rounds(40)))
def test_random_loops(seed):
    """Those with even seeds are recorded one by one when the tape catches up."""
    assert not differs(seed)
