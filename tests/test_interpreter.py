"""Scopes: levels, what is open on which thread and in which task, and regions, which are asked first."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tape
from tape import ops
from tape.core import dispatch, interpreter
from tape.interpreters.batching import Lanes
from tests.tiers import rounds


class Doubling(dispatch.Interceptor):
    """Runs operations of outer traces twice as large, and lets functions see their Vars negated."""

    def __init__(self):
        self.ran = []

    def resolve(self, var):
        return -np.asarray(var.value)

    def process(self, op, operands, attrs):
        self.ran.append(op.name)
        values = [o.value if isinstance(o, tape.Var) else o for o in operands]
        return 2 * op(*values, **attrs)


def work_in_a_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_nothing_is_open_at_first():
    assert interpreter.innermost_open() is None
    assert interpreter.OPEN == []
    assert interpreter.next_level() > tape.Trace().level == 0


def test_scopes_open_and_close_in_any_order():
    outer, inner = tape.Trace("outer"), tape.Trace("inner")
    outer.__enter__()
    inner.__enter__()
    assert interpreter.innermost_open() is inner
    assert interpreter.is_open(outer)
    outer.__exit__()
    assert interpreter.innermost_open() is inner
    assert not interpreter.is_open(outer)
    outer.__exit__()  # what is closed stays closed
    inner.__exit__()
    assert interpreter.innermost_open() is None


def test_each_scope_is_deeper_than_those_around_it():
    with tape.Trace() as a, Lanes(2) as b, Doubling() as c, tape.Trace() as d:
        levels = [s.level for s in (a, b, c, d)]
        assert levels == sorted(set(levels))
        assert interpreter.next_level() > d.level
        manual = tape.Trace()
        assert d.level < manual.level < interpreter.next_level()
        nested = tape.Trace()
        nested.param(manual.param(1.0))
        assert manual.level < nested.level < interpreter.next_level()


def test_a_scope_that_is_opened_is_deeper_than_manual_traces_nested_in_each_other():
    var = 1.0
    traces = []
    for _ in range(50):
        traces.append(tape.Trace())
        var = traces[-1].param(var)
    with tape.Trace() as opened:
        assert opened.level > traces[-1].level
        assert (opened.param(2.0) * var).trace is opened


def test_a_trace_that_encloses_another_stays_outside_of_it_when_it_is_opened():
    outer, inner = tape.Trace(), tape.Trace()
    x = outer.param(2.0)
    y = inner.param(x)
    with outer:
        assert outer.level < inner.level
        assert (x * y).trace is inner
    (gradient,) = inner.backward_param_grads(x * y)
    assert gradient.trace is outer
    assert gradient.value == 2


def test_a_trace_in_which_another_was_opened_stays_outside_of_it_when_it_is_opened_again():
    outer, inner = tape.Trace(), tape.Trace()
    with outer, inner:
        x, y = outer.param(2.0), inner.param(3.0)
    with outer:
        assert outer.level < inner.level
        assert (x * y).trace is inner


def test_what_is_opened_later_is_deeper_than_what_was_open_before():
    with tape.Trace() as closed:
        manual = tape.Trace()
        x, y = closed.param(2.0), manual.param(3.0)
    with tape.Trace() as opened:
        z = opened.param(4.0)
        assert (x * z).trace is (y * z).trace is opened
    assert work_in_a_thread(lambda: tape.grad(lambda z: x * y * z)(1.0)).trace is manual


@pytest.mark.parametrize("kind", [tape.Trace, lambda: Lanes(2), Doubling])
def test_an_exception_closes_what_was_open(kind):
    with pytest.raises(ZeroDivisionError), kind():
        _ = 1 / 0
    assert interpreter.innermost_open() is None
    assert interpreter.OPEN == []


def test_each_thread_has_its_own_scopes():
    with tape.Trace() as outer, Doubling():
        assert work_in_a_thread(interpreter.innermost_open) is None
        assert work_in_a_thread(lambda: interpreter.is_open(outer)) is False
        assert work_in_a_thread(lambda: dispatch.interceptor(0)) is None
        assert work_in_a_thread(lambda: tape.grad(lambda x: x * x)(3.0)) == 6
    assert interpreter.innermost_open() is None


def interceptor_naively(level, of_batches):
    """Return the innermost interceptor that is open here, not busy, and deeper than a level."""
    for one in reversed(interpreter.opened()):
        if one.level <= level:
            return None
        if isinstance(one, dispatch.Interceptor) and not one.is_busy and one.sees_batches >= of_batches:
            return one
    return None


@pytest.mark.parametrize("seed", range(rounds(20, 400)))
def test_interceptors_are_found_whatever_was_opened_and_closed_in_which_order_and_context(seed):
    rng = np.random.default_rng(seed)
    current = []
    contexts = [contextvars.copy_context()]

    def compare():
        levels = {-1, 0, *(one.level + k for one in current for k in (-1, 0, 1))}
        for level in levels:
            for of_batches in (False, True):
                found = dispatch.interceptor(level, of_batches=of_batches)
                assert found is interceptor_naively(level, of_batches)

    for _ in range(40):
        here = contexts[rng.integers(len(contexts))]
        action = rng.integers(6)
        if action < 2:
            one = [tape.Trace, lambda: Lanes(2), Doubling, tape.no_grad][rng.integers(4)]()
            if isinstance(one, Doubling):
                one.sees_batches = bool(rng.integers(2))
            current.append(one)
            here.run(one.__enter__)
        elif action == 2 and current:
            here.run(current.pop(rng.integers(len(current))).__exit__, None, None, None)
        elif action == 3:
            contexts.append(here.copy())
        elif action == 4 and current:
            one = current[rng.integers(len(current))]
            if isinstance(one, Doubling):
                one.is_busy = not one.is_busy
        for context in contexts:
            context.run(compare)
        assert work_in_a_thread(lambda: dispatch.interceptor(-1)) is None
        work_in_a_thread(lambda here=here: here.run(compare))
    for one in current:
        one.__exit__(None, None, None)


def test_many_threads_at_once_do_not_disturb_each_other():
    barrier = threading.Barrier(8, timeout=10)

    def work(k):
        barrier.wait()
        for _ in range(20):
            with tape.Trace() as a, tape.Trace() as b:
                x, y = a.param(float(k)), b.param(2.0)
                assert interpreter.innermost_open() is b
                (slope,) = b.backward_param_grads(x * y * y)
                assert a.backward_param_grads(slope * x) == [8.0 * k]
            assert tape.hessian(lambda x: np.sum(x**3))(np.full(2, float(k)))[0, 0] == 6 * k
        return interpreter.innermost_open()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [None] * 8


@pytest.mark.parametrize("block", [tape.no_grad, tape.Trace], ids=["no_grad", "trace"])
def test_a_task_that_awaits_in_a_block_leaves_other_tasks_alone(block):
    async def waiting(entered, finish):
        with block():
            entered.set()
            await finish.wait()
            return interpreter.innermost_open() is not None

    async def both():
        entered, finish = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(waiting(entered, finish))
        await entered.wait()
        seen = interpreter.innermost_open(), tape.grad(lambda x: x**2)(3.0)
        trace = tape.Trace()
        x = trace.param(np.array([3.0]))
        loss = np.sum(x * x)
        finish.set()
        return *seen, trace.backward_param_grads(loss), await task

    open_here, derivative, gradients, is_open_there = asyncio.run(both())
    assert open_here is None
    assert derivative == 6.0
    np.testing.assert_array_equal(gradients, [[6.0]])
    assert is_open_there
    assert interpreter.OPEN == []


def test_a_task_that_was_started_in_a_block_is_inside_until_that_ends():
    async def watching(finish):
        before = interpreter.innermost_open()
        await finish.wait()
        return before, interpreter.innermost_open()

    async def main():
        finish = asyncio.Event()
        with tape.no_grad() as block:
            task = asyncio.create_task(watching(finish))
            await asyncio.sleep(0)
        finish.set()
        return block, await task

    block, (before, after) = asyncio.run(main())
    assert before is block
    assert after is None


def test_a_thread_in_the_context_of_another_has_its_own_scopes():
    with tape.no_grad():
        context = contextvars.copy_context()
        assert work_in_a_thread(lambda: context.run(interpreter.innermost_open)) is None


def test_what_a_generator_opened_is_closed_wherever_that_ends():
    def opening():
        with tape.Trace() as trace, tape.no_grad(), Lanes(2):
            yield trace

    for end in (lambda g: g.close(), lambda g: list(g)):
        generator = opening()
        trace = next(generator)
        assert interpreter.is_open(trace)
        work_in_a_thread(lambda: end(generator))  # noqa: B023
        assert interpreter.innermost_open() is None
        assert interpreter.OPEN == []
        assert tape.grad(lambda x: x * x)(3.0) == 6
        assert (trace.param(2.0) * 3).trace is trace
    trace.__exit__()  # what is closed stays closed, on any thread
    work_in_a_thread(trace.__exit__)


# ---- regions -------------------------------------------------------------------------------------


def test_a_region_runs_the_operations_of_traces_around_it():
    tr = tape.Trace()
    x = tr.param(3.0)
    with Doubling() as region:
        assert x + 1 == 8
        assert np.negative(x) == -6
        assert ops.sum(x) == 6
        assert ops.where(True, x, 0) == 6
    assert region.ran == ["add", "negative", "sum", "where"]
    assert len(tr) == 1
    assert (x + 1).trace is tr


def test_traces_inside_a_region_record_as_ever():
    with Doubling() as region:
        inner = tape.Trace()
        y = inner.param(3.0)
        assert (y * y).trace is inner
        with tape.Trace() as opened:
            z = opened.param(2.0)
            assert (z * z).trace is opened
    assert region.ran == []


def test_the_innermost_region_is_asked():
    tr = tape.Trace()
    x = tr.param(3.0)
    with Doubling() as outer:
        with Doubling() as inner:
            assert dispatch.interceptor(tr.level) is inner
            assert x + 1 == 8
        assert dispatch.interceptor(tr.level) is outer
        with tape.Trace() as between:
            y = between.param(1.0)
            assert dispatch.interceptor(between.level) is None
            assert (y + 1).trace is between
            assert dispatch.interceptor(tr.level) is outer
    assert (inner.ran, outer.ran) == (["add"], [])
    assert dispatch.interceptor(tr.level) is None


def test_resolve_asks_the_region_about_vars_from_outside():
    tr = tape.Trace()
    x = tr.param(3.0)
    assert dispatch.resolve(x) is x
    with Doubling():
        assert dispatch.resolve(x) == -3
        inner = tape.Trace()
        z = inner.param(1.0)
        assert dispatch.resolve(z) is z
        for other in (1.0, np.ones(2), None, "text"):
            assert dispatch.resolve(other) is other


def test_a_region_on_one_thread_does_not_reach_another():
    tr = tape.Trace()
    x = tr.param(3.0)
    with Doubling() as region:
        recorded = work_in_a_thread(lambda: x + 1)
    assert recorded.trace is tr
    assert recorded.value == 4
    assert region.ran == []
