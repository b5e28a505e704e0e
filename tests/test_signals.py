"""Where the machine stops to look for signals: results are the same, and Ctrl-C ends a long program."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import tape
from tape.kernels import matrices
from tape.program.native.opcodes import WIDTH, opcode
from tape.program.runtime import pauses
from tests.tiers import grid, some

X = np.random.default_rng(0).normal(size=(6, 40, 40))


def chain(x):
    for _ in range(5):
        x = np.tanh(x @ x.swapaxes(-1, -2)) + np.cumsum(x, axis=0) / (1 + np.sum(x * x))
    return x


FUNCTIONS = {
    "blocks": (lambda x: np.sin(x) * np.exp(-x) + x / (1 + x * x), (np.linspace(-1, 1, 30_000),)),
    "stacks of products": (lambda x: np.stack([x, -x]) @ x, (X,)),
    "a stack along one axis": (lambda x: x @ np.ones((40, 2)), (X,)),
    "products of views": (lambda x: x[::-1].swapaxes(-1, -2) @ x[:, ::-1], (X,)),
    "a chain": (chain, (X,)),
    "its gradient": (tape.grad(lambda x: np.sum(chain(x) ** 2)), (X,)),
    "convolution": (lambda x, w: tape.nn.conv2d(x[:, None], w), (X, X[:3, None, :5, :5])),
    "pooling": (lambda x: tape.nn.max_pool2d(x[:, None], 2), (X,)),
    "systems": (lambda x: np.linalg.solve(x @ x.swapaxes(-1, -2) + np.eye(40), x), (X,)),
    "reading and adding": (lambda x, i: np.sum(x[i] * x[i][::-1]), (X, np.array([1, -1, 3, 1]))),
    "a branch": (lambda x: x * 2 if np.sum(x) > 0 else x, (X,)),
    "callbacks": (lambda x: np.sort(x * 2, axis=0) + np.fft.fft(x).real, (X,)),
}


@grid(name=FUNCTIONS, threads=["1", "3"])
def test_stopping_changes_no_number(monkeypatch, name, threads):
    """As often as can be; and the program can be called again."""
    f, args = FUNCTIONS[name]
    whole = tape.compile(f)
    expected = whole(*args)
    monkeypatch.setenv("TAPE_NUM_THREADS", threads)
    monkeypatch.setattr(pauses, "BETWEEN", 100.0)
    compiled = tape.compile(f)
    compiled(*args)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(*args), whole(*args))
    np.testing.assert_allclose(compiled(*args), expected, rtol=1e-9, atol=1e-9)
    (program,) = compiled.programs.values()
    assert program.profile(*args, repeats=1).timings
    kinds = program.code[: program.rows * WIDTH : WIDTH]
    assert opcode("pause") in kinds


@pytest.mark.parametrize("shape", [(40,), (2, 40), (40, 2), (1, 40)])
def test_stacks_of_products_are_divided_along_their_longer_axis(monkeypatch, shape):
    monkeypatch.setattr(pauses, "BETWEEN", 1e3)
    monkeypatch.setattr(matrices, "are_worth", lambda *lengths: False)  # by BLAS
    a = np.random.default_rng(0).normal(size=(*shape, 70, 70))
    compiled = tape.compile(lambda a: a @ a.swapaxes(-1, -2))
    np.testing.assert_allclose(compiled(a), a @ a.swapaxes(-1, -2), rtol=1e-12, atol=1e-12)
    (program,) = compiled.programs.values()
    kinds = program.code[: program.rows * WIDTH : WIDTH].tolist()
    assert kinds.count(opcode("gemm")) > 1
    assert opcode("pause") in kinds


def test_results_that_are_donated_are_the_same(monkeypatch):
    monkeypatch.setattr(pauses, "BETWEEN", 100.0)
    step = tape.compile(lambda x: x - 0.5 * np.sin(x) * x, donate=0)
    x = np.linspace(-1, 1, 30_000)
    expected = x.copy()
    for _ in range(4):
        expected = expected - 0.5 * np.sin(expected) * expected
        x = step(x)
    np.testing.assert_allclose(x, expected, rtol=1e-13)


def test_short_programs_have_no_place_to_stop():
    """They are as they would be."""
    f = tape.compile(tape.grad(lambda w: np.sum(np.tanh(X[0] @ w) ** 2)))
    f(X[1])
    f(X[1])
    (program,) = f.programs.values()
    assert opcode("pause") not in program.code[: program.rows * WIDTH : WIDTH]


def test_portions_are_at_least_one_and_at_most_all():
    for count in (1, 7, 1000):
        assert pauses.portion(count, 0.0) == count
        assert pauses.portion(count, 1e30) == 1
        assert 1 <= pauses.portion(count, 3 * pauses.BETWEEN) <= max(1, count // 3)


def test_a_handler_that_raises_leaves_everything_usable(monkeypatch):
    """In this process, at the first place where the machine stops."""
    monkeypatch.setattr(pauses, "BETWEEN", 1e5)
    f = tape.compile(chain)
    f(X)
    expected = f(X)

    class Interrupted(BaseException):
        pass

    def interrupt(*_):
        raise Interrupted

    (program,) = f.programs.values()
    call, calls = program._call, []

    def interrupting(*args):
        calls.append(args)
        if len(calls) % 3 == 0:
            interrupt()
        return call(*args)

    monkeypatch.setattr(program, "_call", interrupting)
    for _ in range(4):
        with pytest.raises(Interrupted):
            program(X)
    monkeypatch.undo()
    np.testing.assert_array_equal(f(X), expected)
    np.testing.assert_array_equal(program(X), expected)


LONG = {
    "many rows": ("lambda x, w: loop(lambda x: np.tanh(x @ w), x, 300)", "np.ones((200, 200)), np.eye(200)"),
    "one group": ("lambda x: loop(lambda x: np.sin(x) + 1.0, x, 60)", "np.ones(300_000),"),
    "one stack": ("lambda a: a @ a @ a", "np.ones((300, 150, 150)),"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize(
    ("name", "has_threads"), some([("one group", True), *[(name, False) for name in LONG]], every=3)
)
def test_ctrl_c_ends_a_program_in_the_middle(name, has_threads):
    """Seen by where the exception is raised: not behind the call of the machine that ends the program."""
    f, args = LONG[name]
    code = f"""
        import signal, threading, traceback
        import numpy as np, tape

        signal.signal(signal.SIGINT, signal.default_int_handler)  # off in the background

        def loop(step, x, times):
            for _ in range(times):
                x = step(x)
            return x

        c, args = tape.compile({f}), ({args})
        c(*args)
        expected = c(*args)
        if {has_threads}:
            threading.Thread(target=lambda: [c(*args) for _ in range(1000)], daemon=True).start()
        names = []
        while "_resume" not in names:
            print("ready", flush=True)
            try:
                while True:
                    c(*args)
            except KeyboardInterrupt as error:
                names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        assert np.array_equal(c(*args), expected)
        print("stopped", flush=True)
        import os
        os._exit(0)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # whose threads wait for each other
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(300, process.kill)
        timer.start()
        lines = []
        try:
            while len(lines) < 10 and (line := process.stdout.readline()) == "ready\n":
                lines.append(line)
                time.sleep(0.3)
                process.send_signal(signal.SIGINT)
            assert line == "stopped\n", lines
        finally:
            timer.cancel()
            process.kill()
