"""Kill processes at random moments while they build the cache of compiled code; the next one must work.

``python -m tests.kills 100`` is the campaign; `tests.test_cache` runs a few. What is built is small, so that
kills hit all stages: imports, numba, both processes that compile, files.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

USE = """
import sys
import numpy as np, tape
from tape.kernels import loading
from tape.kernels.eager import EAGER, is_loaded
from tests.few_units import only

only(machine=["add_store", "read_integer"], eager=["sum_rows d"])
trace = tape.Trace()
b = trace.param(np.ones(50))
for _ in range(2):
    (gradient,) = trace.backward_param_grads((np.ones((40, 50)) * b).sum())
    assert (gradient == 40).all()
    assert loading.wait(EAGER) and is_loaded(EAGER)  # the second one is of machine code
code = loading.native("machine")
assert set(code.addresses) == {"add_store", "read_integer"} and all(code.addresses.values())
assert "numba" not in sys.modules
print("works", loading._maker is not None)
"""
ROOT = Path(__file__).parents[1]


def started(folder):
    """A process that builds the cache, or uses it."""
    environment = {**os.environ, "TAPE_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", USE],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def kills(count, seed, say=lambda line: None):
    """Kill so many processes, each followed by one that must work; how many were hit at work."""
    rng, hit = random.Random(seed), 0
    whole = 0.0
    for k in range(count):
        with tempfile.TemporaryDirectory() as folder:
            victim = started(folder)
            if k % 2:
                time.sleep(whole * rng.random())
            else:  # late, when files are written
                while victim.poll() is None and not any(Path(folder).iterdir()):
                    time.sleep(0.01)
                time.sleep(whole * rng.uniform(0, 0.4))
            hit += victim.poll() is None
            victim.send_signal(signal.SIGKILL)
            victim.communicate()
            left = sorted(path.name for path in Path(folder).iterdir())
            begin = time.monotonic()
            out, error = started(folder).communicate(timeout=600)
            whole = max(whole, time.monotonic() - begin)
            assert out.startswith("works"), (k, left, error)
            again, _ = started(folder).communicate(timeout=600)
            assert again == "works False\n", (k, left)  # nothing is compiled again
            say(f"{k}: {len(left)} files left, {hit} hit")
    return hit


if __name__ == "__main__":
    number = int(sys.argv[1])
    found = kills(number, 0, lambda line: print(line, flush=True))
    print(f"{found} of {number} were killed at work; all that followed worked")
