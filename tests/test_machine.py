"""The machine: every element of long arrays whatever the dtypes, and threads only where they are worth it."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tape
from tape import tree
from tests.tiers import grid

LONG = 30_000
"""Elements: several blocks, the last of them shorter."""
DTYPES = [np.float64, np.float32, np.int64, np.int32, np.bool_]


def values(dtype, seed):
    numbers = np.random.default_rng(seed).integers(-100, 100, LONG)
    return numbers % 3 > 0 if dtype is np.bool_ else (numbers * 1.37).astype(dtype)


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("is_computed", [False, True])
def test_casts_are_those_of_numpy_in_every_block(source, is_computed):
    """Of arrays and of what has been computed in the same block, for further computation and as a result."""

    def f(x, y):
        z = x if not is_computed else x | y if source is np.bool_ else x + y
        casts = [z.astype(target) for target in DTYPES]
        return casts, [cast == y for cast in casts]

    x, y = values(source, 0), values(source, 1)
    compiled = tape.compile(f)
    for _ in range(2):
        for found, expected in zip(tree.flatten(compiled(x, y))[0], tree.flatten(f(x, y))[0], strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype


@grid(dtype=DTYPES, kind=["arrays", "numbers", "views", "broadcast"])
def test_choices_are_those_of_numpy_in_every_block(dtype, kind):
    x, y = values(dtype, 0), values(dtype, 1)
    f = {
        "arrays": lambda x, y: np.where(x > y, x, y),
        "numbers": lambda x, y: np.where(x > y, x[3], np.where(y == x[0], y, x[7])),
        "views": lambda x, y: np.where(x[::-1] > y, x[::-1], y[::-1]),
        "broadcast": lambda x, y: np.where((x > y).reshape(-1, 100), x[:100], y[::100][:, None]),
    }[kind]
    compiled = tape.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, y), f(x, y))


# ---- threads -------------------------------------------------------------------------------------------

WORK = np.linspace(-1, 1, 300_000)
"""Some milliseconds for a few functions."""


@pytest.mark.parametrize("threads", ["1", "2", "3", "7"])
def test_threads_divide_kernels(monkeypatch, threads):
    x, w = WORK[: 16 * 30 * 30].reshape(16, 1, 30, 30), WORK[:50].reshape(2, 1, 5, 5)

    def f(x, w):
        return np.sum(tape.nn.max_pool2d(tape.nn.conv2d(x, w), 2) ** 2)

    expected = tape.value_and_grad(f, (0, 1))(x, w)
    monkeypatch.setenv("TAPE_NUM_THREADS", threads)
    value, gradients = tape.compile(tape.value_and_grad(f, (0, 1)))(x, w)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    for found, wanted in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)


def test_functions_get_one_number_when_threads_ask_for_them_at_the_same_time():
    """In a process of its own, where none has a number yet."""
    code = """
        import sys, threading
        import numpy as np, tape
        from tape.program.native import functions

        tape.warm_up()
        double, is_less = np.dtype(float), (np.dtype(float), np.dtype(float), np.dtype(bool))
        sorting = [kernel for kernel in functions.REGISTRY.values() if kernel.sorting]
        asked = [
            lambda: functions.loop_number("less", is_less),
            lambda: functions.blas_number("dgemm"),
            lambda: functions.matmul_number(double),
            *[lambda kernel=kernel: functions.called_number(kernel, double) for kernel in sorting],
        ]
        x, found, failures = np.random.default_rng(0).normal(size=(6, 6)), [], []
        start = threading.Barrier(8)

        def work():
            f = tape.compile(lambda x: np.sort(x @ x) + np.argsort(x) + np.linalg.solve(x, x))
            start.wait()
            try:
                found.append([ask() for ask in asked])
                assert np.allclose(f(x), np.sort(x @ x) + np.argsort(x) + np.eye(6))
            except Exception as error:
                failures.append(error)

        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(failures, all(numbers == found[0] for numbers in found))
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=root, check=False)
    assert done.stdout == "[] True\n", done.stdout + done.stderr[-2000:]
