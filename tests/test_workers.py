"""Worker threads: shared rows are the same as others whoever does them, and no thread outlives its use."""

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import tape
from tape.kernels import matrices
from tape.program import sweeps
from tape.program.native import functions
from tape.program.native.opcodes import BLAS_USERS, BUSY, CLAIMED, EMPTY, KERNELS, LEAVING, LEFT, WAITING
from tape.program.native.threads import SEATS
from tests.tiers import takes_long

WORK = np.linspace(-1, 1, 300_000)
"""Some milliseconds for a few functions."""


def waves(x):
    return np.exp(np.sin(x)) * np.tanh(x) - np.cos(2 * x)


def many(x):
    """Rows that are worth sharing, and others; a kernel, a stack of matrices."""
    y = waves(x)
    z = np.linalg.inv(y[:90_000].reshape(-1, 3, 3) + 3 * np.eye(3))
    small = np.sum(y[:1000].reshape(10, 100), axis=1)
    product = y[:65_536].reshape(256, 256) @ y[65_536:131_072].reshape(256, 256)
    return waves(y), z, small, product, np.cumsum(waves(product).ravel())[::1000]


def states():
    return {int(seat[0]) for seat in SEATS[:-1]}


def wait_for_the_end():
    """Wait until no thread is left that waits for work."""
    deadline = time.monotonic() + 20
    while not states() <= {EMPTY, LEFT}:
        assert time.monotonic() < deadline, SEATS[:8, 0]
        time.sleep(1e-3)


class Threads:
    """Counts the threads that the machine starts, of which there may be a limit, and those that it joins."""

    def __init__(self, most=99):
        self.started, self.joined, self._most = 0, 0, most
        self._numbers = [KERNELS.index(f"pthread_{name}") for name in ("create", "join")]

    def __enter__(self):
        wait_for_the_end()
        self._addresses = [int(functions.FUNCTION_TABLE[number]) for number in self._numbers]
        kinds = [ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * count) for count in (4, 2)]
        create, join = (kind(address) for kind, address in zip(kinds, self._addresses, strict=True))

        def creating(*arguments):
            if self.started == self._most:
                return 11  # EAGAIN
            self.started += 1
            return create(*arguments)

        def joining(*arguments):
            self.joined += 1
            return join(*arguments)

        self._kept = [kind(function) for kind, function in zip(kinds, (creating, joining), strict=True)]
        self._enter([ctypes.cast(function, ctypes.c_void_p).value for function in self._kept])
        return self

    def __exit__(self, *_):
        self._enter(self._addresses)

    def _enter(self, addresses):
        for number, address in zip(self._numbers, addresses, strict=True):
            functions.FUNCTION_TABLE[number] = address


@pytest.fixture
def three_threads(monkeypatch):
    monkeypatch.setenv("TAPE_NUM_THREADS", "3")


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("most", [99, 1, 0])
def test_long_work_is_shared_by_as_many_threads_as_can_be_created(most):
    compiled = tape.compile(waves)
    compiled(WORK)
    with Threads(most) as threads:
        np.testing.assert_allclose(compiled(WORK + 1), waves(WORK + 1), rtol=1e-14, atol=1e-15)
    assert threads.started == min(most, 2)  # beside the caller


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("length", [10, 3000])
def test_short_work_is_not_shared(length):
    compiled = tape.compile(waves)
    compiled(WORK[:length])
    with Threads() as threads:
        np.testing.assert_allclose(compiled(WORK[:length]), waves(WORK[:length]), rtol=1e-14, atol=1e-15)
    assert threads.started == 0


@pytest.mark.usefixtures("three_threads")
def test_threads_wait_for_the_next_row():
    """Of twenty programs one after the other, hardly one starts a thread."""
    compiled = tape.compile(waves)
    compiled(WORK)
    with Threads() as threads:
        for _ in range(20):
            compiled(WORK)
    assert 2 <= threads.started <= 30  # not forty, though another process may have had the processors
    assert threads.joined >= threads.started - 2


@pytest.mark.usefixtures("three_threads")
def test_threads_end_and_others_are_started():
    compiled = tape.compile(waves)
    for _ in range(5):
        np.testing.assert_allclose(compiled(WORK), waves(WORK), rtol=1e-14, atol=1e-15)
        wait_for_the_end()


@pytest.mark.parametrize("threads", ["1", "2", "3", "7", "200"])
def test_any_number_of_threads(monkeypatch, threads):
    expected = many(WORK)
    monkeypatch.setenv("TAPE_NUM_THREADS", threads)
    compiled = tape.compile(many)
    for _ in range(3):
        for found, wanted in zip(compiled(WORK), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def test_results_are_the_same_whoever_has_done_which_part(monkeypatch):
    """To the last bit: who is done takes from others, as it happens."""
    monkeypatch.setenv("TAPE_NUM_THREADS", "4")
    compiled = tape.compile(many)
    compiled(WORK)  # by Python, to record it
    first = [result.copy() for result in compiled(WORK)]
    for _ in range(30):
        for found, wanted in zip(compiled(WORK), first, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.usefixtures("three_threads")
def test_programs_that_run_at_the_same_time_share_the_threads():
    compiled = tape.compile(many)
    inputs = [WORK * (1 + k / 10) for k in range(6)]
    compiled(WORK)  # by Python, to record it
    expected = [[result.copy() for result in compiled(x)] for x in inputs]
    failures = []

    def work(k):
        for _ in range(10):
            for found, wanted in zip(compiled(inputs[k]), expected[k], strict=True):
                if not np.array_equal(found, wanted):
                    failures.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    wait_for_the_end()


@pytest.mark.usefixtures("three_threads")
def test_a_matrix_without_result_is_found_whoever_has_it():
    stack = np.broadcast_to(np.eye(3), (60_000, 3, 3)).copy()
    compiled = tape.compile(np.linalg.inv)
    np.testing.assert_array_equal(compiled(stack), stack)
    for k in (0, 59_999, 31_234):
        broken = stack.copy()
        broken[k] = 0
        with pytest.raises(np.linalg.LinAlgError):
            compiled(broken)
    np.testing.assert_array_equal(compiled(stack), stack)


def call_at_the_same_time(f, expected, calls=40, threads=4):
    """Call from several threads; return how many results had other bits."""
    differing = []

    def work():
        differing.extend(not np.array_equal(f(), expected) for _ in range(calls))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(differing)


@takes_long
def test_products_have_the_same_bits_however_many_programs_run(monkeypatch):
    """By BLAS, whose number of threads is one of the process."""
    monkeypatch.setenv("TAPE_NUM_THREADS", "2")
    monkeypatch.setattr(matrices, "are_worth", lambda *given: False)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(256, 700)), rng.normal(size=(700, 1000))
    compiled = tape.compile(lambda a, b: a @ b)
    compiled(a, b)
    assert call_at_the_same_time(lambda: compiled(a, b), compiled(a, b).copy()) == 0
    assert SEATS[-1, BLAS_USERS] == 0


@pytest.mark.usefixtures("three_threads")
def test_threads_round_as_their_caller_does():
    """With denormal numbers, which one of two callers has the processor flush to zero."""
    torch = pytest.importorskip("torch")
    if not torch.set_flush_denormal(True):
        pytest.skip("the processor cannot flush to zero")
    torch.set_flush_denormal(False)
    x = np.full(400_000, 1e-310)
    compiled = tape.compile(lambda x: (x * 3 + x) * 0.5)
    compiled(x)
    expected, going_on = compiled(x).copy(), True
    assert expected.all()

    def flush():
        torch.set_flush_denormal(True)
        while going_on:
            compiled(x)

    other = threading.Thread(target=flush)
    other.start()
    try:
        assert all(np.array_equal(compiled(x), expected) for _ in range(200))
    finally:
        going_on = False
        other.join()


@takes_long
@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("place", [0.05, 0.5, 0.95])
def test_what_a_thread_raises_is_raised_for_its_caller(monkeypatch, place, threads):
    """Sweeps by programs warn as NumPy does, whoever has divided by zero."""
    monkeypatch.setenv("TAPE_NUM_THREADS", threads)
    monkeypatch.setattr(sweeps, "_mode", "always")

    def f(x):
        y = np.sqrt(x)
        return np.sum(y * x + np.sin(x) * y)

    gradient, good = tape.grad(f), np.linspace(1, 2, 60_000)
    bad = good.copy()
    bad[int(place * len(bad))] = 0.0
    for k in range(30):
        for _ in range(3):
            gradient(good)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gradient(bad)
        assert caught, k


# ---- processes -----------------------------------------------------------------------------------------


def run(code):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    root = Path(__file__).parents[1]
    # Memory that is freed is overwritten: threads that still read it at the end of the process would notice.
    environment = {**os.environ, "TAPE_NUM_THREADS": "3", "MALLOC_PERTURB_": "85"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=root, check=False, env=environment
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-3000:])
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_starts_threads_of_its_own():
    """Forked while those of its parent wait, and while they work for another thread."""
    code = """
        import os, threading, time
        import numpy as np, tape
        from tape.program.native.threads import SEATS
        from tape.system.blas import products_library
        from tests.test_workers import WORK, many

        tape.warm_up()
        compiled = tape.compile(many)
        compiled(WORK)  # by Python, to record it
        threads = products_library().threads
        expected = [result.copy() for result in compiled(WORK)]

        def is_right():
            return all(map(np.array_equal, compiled(WORK), expected))

        def is_right_in_a_child():
            compiled(WORK)
            child = os.fork()
            if not child:
                was_empty = not SEATS[:-1, 0].any()
                is_fine = was_empty and all(is_right() for _ in range(3)) and SEATS[:-1, 0].any()
                is_fine = is_fine and products_library().threads == threads
                os._exit(0 if is_fine else 1)
            return os.waitpid(child, 0)[1] == 0

        print(all([is_right_in_a_child() for _ in range(10)]), is_right())
        going_on, found = True, []

        def others():
            while going_on:
                found.append(is_right())

        worker = threading.Thread(target=others)
        worker.start()
        print(all([is_right_in_a_child() for _ in range(10)]), is_right())
        going_on = False
        worker.join()
        print(all(found))
    """
    assert run(code).split() == ["True"] * 5


@pytest.fixture
def busy_processors():
    """Other processes have all processors: threads that wait rarely look at their seats, and wait long."""
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for other in others:
        other.kill()
        other.wait()


@pytest.mark.usefixtures("busy_processors")
@pytest.mark.parametrize("ending", ["pass", "raise SystemExit(0)", "time.sleep(1e-4)", "os._exit(0)"])
def test_a_process_ends_while_threads_wait(ending):
    code = f"""
        import os, time
        import tape
        from tests.test_workers import WORK, waves

        tape.warm_up()
        compiled = tape.compile(waves)
        compiled(WORK), compiled(WORK)
        {ending}
    """
    run(code)


def test_a_process_ends_while_another_thread_runs_a_program():
    code = """
        import threading, time
        import tape
        from tests.test_workers import WORK, waves

        tape.warm_up()
        compiled = tape.compile(waves)

        def work():
            while True:
                compiled(WORK)

        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
    """
    for _ in range(3):
        run(code)


def test_states_are_told_apart():
    assert len({EMPTY, LEFT, CLAIMED, BUSY, WAITING, LEAVING}) == 6
    assert EMPTY == 0  # as a new table has it
