"""While machine code is being compiled: right results, nobody waits, and programs run once it is there."""

import sys
import threading
import time
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import ndtr

import tape
from tape import optim
from tape.kernels import colouring, eager, loading
from tape.kernels.groups import ALL
from tape.kernels.loading import NotReady
from tape.program import sweeps
from tape.program.native.warming import warm_up
from tape.sparse.structure import coloured, normal
from tests import naive_colouring
from tests.forks import forks, in_a_fork
from tests.unloaded import unloaded


class Compiling:
    """Groups of machine code that are not there until they `arrive`.

    Attributes
    ----------
    missing : set of str
        Groups that are being compiled.
    asked : list of str
        Groups that were looked for in vain.
    """

    def __init__(self):
        self.missing = set(ALL)
        self.asked = []
        self.code = {}

    def objects(self, group):
        if group in self.missing:
            self.asked.append(group)
            return None
        return self.code.get(group) or loading._on_disk(group)

    def arrive(self, *groups):
        self.missing -= set(groups or ALL)


@pytest.fixture
def compiling(monkeypatch):
    """No machine code yet."""
    work = Compiling()
    monkeypatch.delenv("TAPE_WAIT", raising=False)
    monkeypatch.setattr(loading, "_objects", work.objects)
    with unloaded():
        yield work


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_hand(x):
    out = np.zeros_like(x)
    out[1:] = 200 * (x[1:] - x[:-1] ** 2)
    out[:-1] += -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    return out


X = np.linspace(-1.0, 2.0, 9)


def within(seconds, call):
    """The result of a call, which must not take longer."""
    begin = time.monotonic()
    out = call()
    assert time.monotonic() - begin < seconds
    return out


# ---- compiled functions ------------------------------------------------------------------------------


def test_a_compiled_gradient_runs_as_python_and_then_as_a_program(compiling):
    gradient = tape.compile(tape.grad(rosenbrock))
    for _ in range(3):
        np.testing.assert_allclose(gradient(X), by_hand(X), rtol=1e-14)
    assert not gradient.programs
    assert "machine" in compiling.asked
    compiling.arrive("machine")
    for _ in range(3):
        np.testing.assert_allclose(gradient(X), by_hand(X), rtol=1e-14)
    assert len(gradient.programs) == 1


def test_a_function_runs_once_per_call_whatever_is_missing(compiling):
    """While a group is missing that turns out to be needed in recording, and when it is there."""
    run = Mock()

    @tape.compile
    def f(x):
        run()
        return tape.nn.gelu(x)

    for arrived in ("eager", "machine", "machine", "machine"):
        compiling.arrive(arrived)
        before = run.call_count
        np.testing.assert_allclose(f(X), X * ndtr(X), rtol=1e-13)
        assert run.call_count == before + 1
    assert "normal" in compiling.asked
    assert not f.programs
    compiling.arrive()
    before = run.call_count
    np.testing.assert_allclose(f(X), X * ndtr(X), rtol=1e-13)
    assert run.call_count == before + 1
    for _ in range(3):
        np.testing.assert_allclose(f(X), X * ndtr(X), rtol=1e-13)
    assert run.call_count == before + 1
    assert len(f.programs) == 1


def test_a_path_that_needs_what_is_missing_does_not_stop_the_others(compiling):
    compiling.arrive("machine", "eager")

    @tape.compile
    def f(x):
        return tape.nn.gelu(x) if np.sum(x) > 0 else 2 * x

    for _ in range(3):
        np.testing.assert_array_equal(f(-np.ones(2)), [-2, -2])
        np.testing.assert_allclose(f(np.ones(2)), ndtr(np.ones(2)))
    assert len(f.programs) == 1
    compiling.arrive()
    for _ in range(3):
        np.testing.assert_array_equal(f(-np.ones(2)), [-2, -2])
        np.testing.assert_allclose(f(np.ones(2)), ndtr(np.ones(2)))
    assert len(f.programs) == 2


def test_random_numbers_are_those_that_come_without_compiling(compiling):
    def draw(generator, x):
        return tape.nn.gelu(x) + generator.normal(size=x.shape)

    ours, theirs = tape.random.default_rng(3), tape.random.default_rng(3)
    compiled = tape.compile(draw)
    for arrived in ("colouring", "machine", "eager", "normal", "formulas", "formulas"):
        compiling.arrive(arrived)
        np.testing.assert_allclose(compiled(ours, X), draw(theirs, X), rtol=1e-13)


def test_whole_training_steps_go_on_as_they_began(compiling):
    def step(w, v, x):
        value, slope = tape.value_and_grad(lambda w: np.sum(np.tanh(x @ w) ** 2))(w)
        v = 0.9 * v + slope
        return w - 0.1 * v, v, value

    x = np.random.default_rng(0).normal(size=(5, 3))
    compiled = tape.compile(step, donate=(0, 1))
    expected = ours = np.ones(3), np.zeros(3), 0.0
    for k in range(8):
        if k == 4:
            compiling.arrive()
        ours = compiled(ours[0].copy(), ours[1].copy(), x)
        expected = step(expected[0], expected[1], x)
        for one, other in zip(ours, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)
    assert compiled.programs


def test_what_a_function_raises_is_its_own_error(compiling):
    @tape.compile
    def f(x):
        raise LookupError(len(x))

    for arrived in ("eager", "machine", "normal"):
        compiling.arrive(arrived)
        with pytest.raises(LookupError, match="9"):
            f(X)


def test_code_of_the_user_that_waits_while_it_is_recorded_waits(compiling):
    """Nobody outside of tape knows what NotReady is."""
    compiling.arrive("machine", "eager")
    timer = threading.Timer(0.5, compiling.arrive)

    @tape.compile
    def f(x):
        timer.start()
        assert warm_up()
        return 2 * x

    np.testing.assert_array_equal(f(X), 2 * X)
    timer.join()
    assert len(f.programs) == 1


def test_compiled_functions_in_threads_while_code_arrives(compiling):
    gradient = tape.compile(tape.grad(lambda x: rosenbrock(x) + np.sum(tape.nn.gelu(x))))
    expected = tape.grad(lambda x: rosenbrock(x) + np.sum(tape.nn.gelu(x)))(X)
    errors, ended = [], threading.Event()

    def work():
        try:
            while not ended.is_set():
                np.testing.assert_allclose(gradient(X), expected, rtol=1e-12)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for group in ("eager", "normal", "machine"):
        time.sleep(0.1)
        compiling.arrive(group)
    deadline = time.monotonic() + 60
    while not gradient.programs and not errors and time.monotonic() < deadline:
        time.sleep(0.02)
    ended.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(gradient.programs) == 1


@forks
def test_a_forked_process_computes_and_then_finds_the_code(compiling):
    gradient = tape.compile(tape.grad(rosenbrock))
    gradient(X)

    def is_so():
        np.testing.assert_allclose(gradient(X), by_hand(X), rtol=1e-14)
        assert not gradient.programs
        compiling.arrive()
        np.testing.assert_allclose(gradient(X), by_hand(X), rtol=1e-14)
        return len(gradient.programs) == 1

    assert in_a_fork(is_so)


# ---- programs without a function to call instead -----------------------------------------------------


def test_a_trace_that_is_compiled_runs_eagerly_and_then_as_a_program(compiling):
    trace = tape.Trace()
    x = trace.param(np.ones(2))
    program = within(5, lambda: trace.compile(np.sum(tape.nn.gelu(x))))
    for arrived in ("machine", "eager", *ALL):
        compiling.arrive(arrived)
        for size in (1.0, -2.0):
            trace.set(x, np.full(2, size))
            value, (gradient,) = within(5, program.run)
            np.testing.assert_allclose(value, 2 * size * ndtr(size), rtol=1e-13)
            density = np.exp(-size * size / 2) / np.sqrt(2 * np.pi)
            np.testing.assert_allclose(gradient, ndtr(size) + size * density, rtol=1e-12)
    assert len(program) > 0


def test_a_loaded_program_runs_on_numpy_and_then_by_itself(compiling, tmp_path):
    def f(x, k):
        out = tape.nn.gelu(x)[k] if np.sum(x) > 0 else x[k]
        return tape.fori_loop(0, 3, lambda i, y: 0.5 * y + np.linalg.inv(np.diag(x))[i], out)

    compiling.arrive()
    compiled = tape.compile(f)
    k, x = np.array([2, -3, 1]), np.arange(1.0, 4.0)
    expected = compiled(x, k)
    (made,) = compiled.programs.values()
    made.save(tmp_path / "f.tape")
    with unloaded():
        compiling.missing = set(ALL)
        program = within(5, lambda: tape.load(tmp_path / "f.tape"))
        assert repr(program) == "<Program f: run by NumPy>"
        for arrived in ((), ("machine",), ("normal",), ("small",), tuple(ALL)):
            compiling.missing -= set(arrived)
            np.testing.assert_allclose(within(5, lambda: program(x, k)), expected, rtol=1e-13)
            with pytest.raises(tape.errors.UnsupportedError, match="a branch read False"):
                program(-x, k)
            with pytest.raises(tape.errors.OutOfBoundsError):
                program(x, k + 2)
            with pytest.raises(tape.errors.SingularMatrixError):
                program(x - 1, k)
        assert len(program) > 0


@pytest.mark.parametrize(
    ("mode", "recovery"), [("fwd", None), ("rev", None), ("fwd", "direct"), ("fwd", "indirect")]
)
def test_a_colouring_goes_on_with_machine_code_that_arrives(compiling, monkeypatch, mode, recovery):
    pattern = naive_colouring.random_symmetric_pattern(np.random.default_rng(0), 30, 0.2)

    def found():
        return coloured(normal(csr_array(pattern), is_symmetric=recovery is not None), mode, recovery)

    by_python = found()
    monkeypatch.setattr(colouring, "_AT_A_TIME", 4)
    looks = []
    real = colouring.is_loaded

    def look(group):
        looks.append(1)
        if len(looks) == 3:
            compiling.arrive("colouring")
        return real(group)

    monkeypatch.setattr(colouring, "is_loaded", look)
    partly = found()
    assert real("colouring")
    for structure in (partly, found()):
        np.testing.assert_array_equal(structure.colouring.colours, by_python.colouring.colours)


# ---- what waits --------------------------------------------------------------------------------------


def arriving(compiling, *groups):
    timer = threading.Timer(0.5, compiling.arrive, groups)
    timer.start()
    return timer


def test_profiling_waits_for_the_program(compiling):
    f = tape.compile(lambda x: tape.nn.gelu(x) * 2)
    f(X)
    timer = arriving(compiling)
    assert "normal" in str(f.profile(X, repeats=1))
    assert not timer.is_alive()
    assert len(f.programs) == 1


def test_a_variable_of_the_environment_makes_a_program_of_the_first_call(compiling, monkeypatch):
    monkeypatch.setenv("TAPE_WAIT", "1")
    compiling.arrive("machine")
    f = tape.compile(tape.nn.gelu)
    arriving(compiling)
    np.testing.assert_allclose(f(X), X * ndtr(X), rtol=1e-13)
    assert len(f.programs) == 1


def test_a_variable_of_the_environment_makes_the_first_call_wait_for_the_machine(compiling, monkeypatch):
    monkeypatch.setenv("TAPE_WAIT", "1")
    f = tape.compile(lambda x: 2 * x)
    arriving(compiling)
    np.testing.assert_array_equal(f(X), 2 * X)
    assert len(f.programs) == 1


# ---- everything else ---------------------------------------------------------------------------------


def test_sweeps_go_node_by_node_and_then_as_programs(compiling, monkeypatch):
    made = []
    real = sweeps.SweepProgram
    monkeypatch.setattr(sweeps, "SweepProgram", lambda *a: made.append(1) or real(*a))

    def sweep(x):
        trace = tape.Trace()
        return trace.backward_param_grads(rosenbrock(trace.param(x)))[0]

    for arrived in ("eager", "machine"):
        compiling.arrive(arrived)
        for k in range(20):
            x = X + k
            np.testing.assert_allclose(sweep(x), by_hand(x), rtol=1e-13)
        assert not made or arrived == "machine"


@pytest.mark.parametrize("rule", ["sgd", "adamw"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_optimizers_step_the_same_before_and_after(compiling, rule, dtype):
    def run(arrive):
        made = getattr(optim, rule)(lr=0.1)
        params = [np.linspace(-1, 1, 7).astype(dtype)]
        state = made.init(params)
        for k in range(6):
            if arrive and k == 3:
                compiling.arrive()
                eager.is_loaded(eager.FORMULAS)
            state, params = made.update([np.cos(params[0] + k)], state, params)
        return params[0]

    slow = run(arrive=False)
    assert "formulas" in compiling.missing
    np.testing.assert_allclose(run(arrive=True), slow, rtol=1e-5 if dtype is np.float32 else 1e-13)


def test_sparse_derivatives_are_the_same(compiling):
    def f(x):
        return np.sin(x[1:]) * x[:-1] ** 2

    dense = tape.jacobian(f)(X)
    found = tape.sparse_jacobian(f)(X).toarray()
    np.testing.assert_allclose(found, dense, rtol=1e-14)
    hessian = tape.sparse_hessian(rosenbrock)(X).toarray()
    compiling.arrive()
    np.testing.assert_allclose(tape.sparse_jacobian(f)(X).toarray(), dense, rtol=1e-14)
    np.testing.assert_allclose(tape.sparse_hessian(rosenbrock)(X).toarray(), hessian, rtol=1e-12)


def test_nothing_is_waited_for(compiling):
    """Not even for the length of a look for it."""
    compiled = tape.compile(tape.grad(lambda x: np.sum(tape.nn.gelu(x) * np.sin(x))))
    compiled(X)  # imports SciPy's functions
    within(2, lambda: [compiled(X) for _ in range(20)])
    with pytest.raises(NotReady), loading.without_waiting():
        loading.native("normal")
    assert "numba" not in sys.modules or loading._loaded == {}
