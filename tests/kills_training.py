"""Kills processes at random moments of a training; the same call again must end with the same bits.

``python -m tests.kills_training 200`` is the campaign; `tests.test_train_kills` runs a few. Trainings are
forked from one process that has imported everything, so that kills hit steps and files, not imports.
"""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tape
from tape.train import Checkpoints, DataLoader, EarlyStopping, evaluate, fit

EPOCHS, ROWS = 6, 100


def loss(params, x, y, kept):
    return np.mean((np.tanh(x @ params["w"] + params["b"]) * kept @ params["v"] - y) ** 2)


def train(folder):
    """A training with all that has a state: momentum in place, dropout, shuffling, prefetching, stopping.

    Of the gradient one part is compiled, by a function that is new in each process.
    """
    rng = np.random.default_rng(3)  # one for dropout and shuffling
    data = {"x": rng.normal(size=(ROWS, 5)), "y": rng.normal(size=ROWS)}
    velocity = {"w": np.zeros((5, 8)), "b": np.zeros(8), "v": np.zeros(8)}  # changes in place
    params = {"w": rng.normal(size=(5, 8)), "b": np.zeros(8), "v": rng.normal(size=8)}
    loader = DataLoader(
        data, 16, shuffle=rng, prefetch=2,
        transform=lambda batch, rng: {**batch, "x": batch["x"] + rng.normal(size=batch["x"].shape) * 0.01},
    )  # fmt: skip

    penalty = tape.compile(tape.value_and_grad(lambda v: np.var(np.exp(v))))

    def step(state, batch):
        kept = (state["rng"].uniform(size=8) < 0.8) / 0.8
        value, gradient = tape.value_and_grad(loss)(state["params"], batch["x"], batch["y"], kept)
        more, slope = penalty(state["params"]["v"])
        value, gradient["v"] = value + more, gradient["v"] + slope
        for name, v in velocity.items():
            v *= 0.9
            v += gradient[name]
        params = tape.tree.map(lambda p, v: p - 0.02 * v, state["params"], velocity)
        return {**state, "params": params}, {"loss": value, "norm": np.sqrt(np.sum(gradient["w"] ** 2))}

    def validate(state):
        return evaluate(lambda s, b: loss(s["params"], b["x"], b["y"], np.ones(8)), state, [data])

    return fit(
        step, {"params": params, "rng": rng}, loader, epochs=EPOCHS, validate=validate, also=velocity,
        callbacks=[EarlyStopping(patience=50)], checkpoints=Checkpoints(folder, keep=2, every=2),
    )  # fmt: skip


def digest(folder):
    """All bits of a result: of the state, of the history, and of the next numbers of the generator."""
    state, history = train(folder)
    found = hashlib.sha256()
    for part in (state["params"], history.steps, history.epochs):
        for name, array in part.items():
            found.update(name.encode() + array.tobytes())
    return found.hexdigest() + f" {state['rng'].integers(2**62)}"


def forked(folder, result):
    """The number of a process that trains, and writes the digest to a file."""
    process = os.fork()
    if process:
        return process
    try:
        result.write_text(digest(folder))
    finally:
        os._exit(0)


def timed(folder, result):
    """The seconds that a training takes."""
    begin = time.monotonic()
    os.waitpid(forked(folder, result), 0)
    return time.monotonic() - begin


def kills(count, seed, say=lambda line: None):
    """Kill so many trainings, one to three in a row; each row is followed by one that must end the same."""
    rng, hit, resumed = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        expected = digest(place / "first")  # which also loads all that is loaded late
        whole = min(timed(place / name, place / "expected") for name in ("second", "third"))
        assert (place / "expected").read_text() == expected
        done = 0
        while done < count:
            folder, result = place / "run", place / "result"
            for _ in range(min(rng.randint(1, 3), count - done)):
                process = forked(folder, result)
                time.sleep(whole * rng.uniform(0, 0.9))
                hit += os.waitpid(process, os.WNOHANG) == (0, 0) and not os.kill(process, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):  # it had ended before it was to be killed
                    os.waitpid(process, 0)
                done += 1
            resumed += folder.exists() and any(f.name.endswith(".npz") for f in folder.iterdir())
            result.unlink(missing_ok=True)
            os.waitpid(forked(folder, result), 0)
            assert result.read_text() == expected, (done, sorted(f.name for f in folder.iterdir()))
            assert not [f.name for f in folder.iterdir() if not f.name.endswith(".npz")]
            shutil.rmtree(folder)
            say(f"{done}: {hit} killed at work, {resumed} trainings went on from a checkpoint")
    return hit, resumed


if __name__ == "__main__":
    hit, resumed = kills(int(sys.argv[1]), seed=0, say=lambda line: print(line, flush=True))
    print(
        f"{hit} of {sys.argv[1]} were killed at work, {resumed} trainings resumed; all ended with the same "
        "bits"
    )
