"""The gradient through a long loop: recorded as usual, or with `tape.checkpoint_loop` and 20 snapshots.

100 undamped pendulums of one stiffness take symplectic Euler steps; their final state is
differentiated with respect to the initial one and the stiffness. Peak memory is what matters here: that of
Python and NumPy, as everywhere, and the resident memory of a separate process.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_SNAPSHOTS = 20
_STEP = 0.01
_STIFFNESS = 2.0
_ROOT = Path(__file__).resolve().parents[2]

Body = Callable[[Any, int], Any]


@workload("checkpointing", is_default=False)
def checkpointing(seed: int) -> list[Case]:
    """A loop of 1,000 and of 10,000 steps, and its gradient with 20 snapshots or with the whole tape."""
    return [_case(steps, seed) for steps in (1000, 10_000)]


def _case(steps: int, seed: int) -> Case:
    contenders = {name: partial(make, steps, seed) for name, make in _MAKERS.items()}
    return Case(
        f"{steps:,} steps",
        contenders,
        # Both sum the gradient by the stiffness over all steps, in different order.
        tolerance=1e-10,
        baseline="plain",
        figures={
            "body calls": {
                name: partial(body_calls, name, steps, seed) for name in ("plain", "checkpointed")
            },
            "resident kB": {name: partial(resident_growth, name, steps, seed) for name in contenders},
        },
        is_large=steps > 1000,
    )


def _start(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, 100)


# ---- contenders ------------------------------------------------------------------------------------


def _plain_loop(body: Body, state: Any, steps: int) -> Any:
    for step in range(steps):
        state = body(state, step)
    return state


def _gradient(
    run: Callable[[Body, Any, int], Any], steps: int, seed: int, before_body: Callable[[], Any]
) -> Call:
    start = _start(seed)

    def loss(angles: Any, stiffness: Any) -> Any:
        def body(state: Any, step: int) -> Any:
            before_body()
            angles, speeds = state
            speeds = speeds - (_STEP * stiffness) * np.sin(angles)
            return angles + _STEP * speeds, speeds

        return np.mean(run(body, (angles, np.zeros_like(start)), steps)[0] ** 2)

    gradient = load("tape").grad(loss, (0, 1))
    return lambda: gradient(start, np.float64(_STIFFNESS))


def _with_plain_loop(steps: int, seed: int, before_body: Callable[[], Any] = lambda: None) -> Call:
    return _gradient(_plain_loop, steps, seed, before_body)


def _with_checkpoints(steps: int, seed: int, before_body: Callable[[], Any] = lambda: None) -> Call:
    run = partial(load("tape").checkpoint_loop, snapshots=_SNAPSHOTS)
    return _gradient(run, steps, seed, before_body)


def _by_hand(steps: int, seed: int) -> Call:
    start = _start(seed)

    def call() -> list[Any]:
        angles, speeds = start, np.zeros_like(start)
        before = []
        for _ in range(steps):
            before.append(angles)
            speeds = speeds - (_STEP * _STIFFNESS) * np.sin(angles)
            angles = angles + _STEP * speeds
        d_angles, d_speeds, d_stiffness = 2 / angles.size * angles, np.zeros_like(start), 0.0
        for angles in reversed(before):
            d_speeds += _STEP * d_angles
            d_stiffness -= _STEP * (d_speeds @ np.sin(angles))
            d_angles -= (_STEP * _STIFFNESS) * np.cos(angles) * d_speeds
        return [d_angles, d_stiffness]

    return call


_MAKERS: dict[str, Callable[..., Call]] = {
    "plain": _with_plain_loop,
    "checkpointed": _with_checkpoints,
    "numpy": _by_hand,
}


# ---- figures ---------------------------------------------------------------------------------------


def body_calls(name: str, steps: int, seed: int) -> int:
    """Return how often one gradient calls the body of the loop."""
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    _MAKERS[name](steps, seed, count)()
    return calls


def resident_growth(name: str, steps: int, seed: int) -> int:
    """Return by how many kB a gradient raises the peak resident memory of a new process; 0 if unknown."""
    program = (
        f"from benchmarks.workloads import checkpointing as c; print(c.grown({name!r}, {steps}, {seed}))"
    )
    command = [sys.executable, "-c", program]
    return int(subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True).stdout)


def grown(name: str, steps: int, seed: int) -> int:
    """Return the same for this process, after a short loop that loads the modules any gradient needs."""
    _MAKERS[name](50, seed)()
    call = _MAKERS[name](steps, seed)
    before = _peak_resident()
    call()
    return _peak_resident() - before


def _peak_resident() -> int:
    """Return the peak in kB; not by getrusage, which starts from the peak of the parent process."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux
        return 0
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
