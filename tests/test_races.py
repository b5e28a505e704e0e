"""Index arrays that another thread changes while they are read: any result or error, but no other memory."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.tiers import is_full, rounds

PROGRAMS = {
    "single elements": "lambda x, i: np.sum(x[i])",
    "rows": "lambda x, i: np.sum(x.reshape(100, 4)[i])",
    "adding single elements": "tape.grad(lambda x, i: np.sum(x[i]))",
    "adding rows": "tape.grad(lambda x, i: np.sum(x.reshape(100, 4)[i] ** 2))",
    "two axes": "lambda x, i: np.sum(x.reshape(100, 4)[i, i])",
    "adding along two axes": "tape.grad(lambda x, i: np.sum(x.reshape(100, 4)[i, i]))",
    "writing": "written",
}
KERNELS = {
    "adding single elements": "Scattered(np.ones(len(i)), (i,), (100,)).dense()",
    "adding rows": "Scattered(np.ones((len(i), 4)), (i,), (100, 4)).dense()",
    "losses": "indexed_losses(np.ones((len(i), 4)), i)[0]",
    "excess": "indexed_excess(np.ones((len(i), 4)), i)",
}
CALLS = {
    **{f"program, {name}": f"program({f})" for name, f in PROGRAMS.items()},
    **{f"kernel, {name}": f"lambda x, i: {call}" for name, call in KERNELS.items()},
}


@pytest.mark.parametrize("names", [[name] for name in CALLS] if is_full() else [list(CALLS)], ids=", ".join)
def test_no_memory_but_the_arrays_is_touched(names):
    """In another process: it would end there and then. That takes longer to start than most races to show."""
    code = f"""
        import threading, time
        import numpy as np, tape
        from tape.kernels.accumulate import Scattered
        from tape.kernels.cross_entropy import indexed_excess, indexed_losses

        def written(x, i):
            y = 1.0 * x
            y[i] = x[0]
            return np.sum(y)

        def program(f):
            compiled = tape.compile(f)
            compiled(x, i)
            return next(iter(compiled.programs.values()))  # NumPy itself, after an error, would be hit

        def race(f):
            f(x, i)
            is_over = False

            def change():
                while not is_over:
                    for far in (1 << 40, -(1 << 40), 0, 0):
                        i[::7] = far

            threads = [threading.Thread(target=change) for _ in range(2)]
            for thread in threads:
                thread.start()
            end = time.monotonic() + {rounds(7)} / 10
            while time.monotonic() < end:
                try:
                    f(x, i)
                except (tape.errors.TapeError, IndexError):
                    pass
            is_over = True
            for thread in threads:
                thread.join()
            i[:] = 1
            return np.isfinite(f(x, i)).all()

        x, i = np.arange(400.0), np.zeros(100_000, np.int64)
        for name, call in {[(name, CALLS[name]) for name in names]}:
            i[:] = 0
            print(name, race(eval(call)), flush=True)
    """
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", textwrap.dedent(code)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=root, check=False)
    assert done.stdout == "".join(f"{name} True\n" for name in names), done.stdout + done.stderr[-2000:]
