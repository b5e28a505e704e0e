"""Train a small network on two spirals twice, step by step and as a compiled program, and race the two.

    python examples/compiled_training.py --steps 3000 --output compiled_training.png

The whole step is compiled: the choice of the batch, loss, gradient, momentum and the change of the
parameters, which happens in place because their arrays are donated. Needs ``pip install '.[examples]'``.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from _common import BLUE, GREEN, RED, figure_of, picture, save
from matplotlib.figure import Figure

import tape

POINTS, HIDDEN, BATCH = 200, 32, 32  # points in each spiral, units in each hidden layer
RATE, MOMENTUM = 0.1, 0.9


class Run(NamedTuple):
    """A training: its result, the loss of each batch, and when each step was done, in seconds."""

    params: list[np.ndarray]
    losses: np.ndarray
    seconds: np.ndarray


def make_spirals(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points of two spirals, ``(2 * POINTS, 2)``, and their labels, 1 and -1."""
    angle = np.sqrt(rng.uniform(0.05, 1, POINTS)) * 3 * np.pi
    spiral = (angle * [np.cos(angle), np.sin(angle)]).T / (3 * np.pi)
    points = np.concatenate([spiral, -spiral]) + rng.normal(0, 0.015, (2 * POINTS, 2))
    return points, np.repeat([1.0, -1.0], POINTS)


def make_params(rng: np.random.Generator) -> list[np.ndarray]:
    """Weights and biases of three layers."""
    params = []
    for inputs, outputs in [(2, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1)]:
        params.append(rng.normal(0, 2 * inputs**-0.5, (inputs, outputs)))
        params.append(rng.normal(0, 0.5, outputs))
    return params


def model(params: Sequence[Any], points: Any) -> Any:
    """How much each point looks like one of the first spiral: ``(n, 2)`` to ``(n,)``."""
    w1, b1, w2, b2, w3, b3 = params
    return (np.tanh(np.tanh(points @ w1 + b1) @ w2 + b2) @ w3 + b3)[:, 0]


def loss_of(params: Sequence[Any], points: Any, labels: Any) -> Any:
    """The mean logistic loss."""
    return np.mean(tape.ops.softplus(-labels * model(params, points)))


def step(params: Any, velocities: Any, points: Any, labels: Any, batch: Any, rate: Any) -> Any:
    """The parameters and velocities after a step against the gradient of a batch, and the loss before it."""
    loss, gradients = tape.value_and_grad(loss_of)(params, points[batch], labels[batch])
    velocities = [MOMENTUM * v + g for v, g in zip(velocities, gradients, strict=True)]
    params = [p - rate * v for p, v in zip(params, velocities, strict=True)]
    return params, velocities, loss


compiled_step = tape.compile(step, donate=(0, 1))


def train(step: Callable[..., Any], steps: int, seed: int) -> Run:
    """Take steps, whose rate falls to 0; the same batches for the same seed."""
    rng = np.random.default_rng(seed)
    points, labels = make_spirals(rng)
    params = make_params(rng)
    velocities = [np.zeros_like(array) for array in params]
    batches = rng.integers(len(points), size=(steps, BATCH))
    losses, seconds = [], []
    begin = time.perf_counter()
    for k, batch in enumerate(batches):
        params, velocities, loss = step(params, velocities, points, labels, batch, RATE * (1 - k / steps))
        losses.append(loss)
        seconds.append(time.perf_counter() - begin)
    return Run(params, np.array(losses), np.array(seconds))


def accuracy_of(params: Sequence[np.ndarray], seed: int) -> float:
    """The part of the points that is on the right side."""
    points, labels = make_spirals(np.random.default_rng(seed))
    return float(np.mean(model(params, points) * labels > 0))


def rate_of(run: Run) -> float:
    """Steps a second after the first one, in which a compiled function is recorded."""
    return (len(run.seconds) - 1) / (run.seconds[-1] - run.seconds[0])


def smoothed(values: np.ndarray, width: int = 50) -> np.ndarray:
    """Means of neighbours, as many as there are values; fewer at the start."""
    sums = np.cumsum(np.concatenate([np.zeros(1), values]))
    stop = np.arange(1, len(values) + 1)
    start = np.maximum(stop - width, 0)
    return (sums[stop] - sums[start]) / (stop - start)


def draw(runs: dict[str, Run], seed: int) -> Figure:
    """The losses by the time they were reached; and what the network makes of the plane."""
    figure, (left, right) = figure_of("Loss by time", "What the compiled steps have learned")
    for (name, run), color in zip(runs.items(), [RED, BLUE], strict=True):
        label = f"{name}: {rate_of(run):,.0f} steps a second"
        left.loglog(1000 * run.seconds[1:], smoothed(run.losses)[1:], color=color, label=label)
    left.set(xlabel="milliseconds", ylabel="loss, mean of 50 batches", ylim=(None, 4))
    left.legend(frameon=False, loc="upper right")

    x, y = np.meshgrid(np.linspace(-1.15, 1.15, 150), np.linspace(-1.15, 1.15, 150))
    scores = model(runs["compiled"].params, np.stack([x.ravel(), y.ravel()], axis=1)).reshape(x.shape)
    right.contourf(x, y, np.tanh(scores / 2), levels=np.linspace(-1, 1, 13), cmap="BrBG", alpha=0.7)
    points, labels = make_spirals(np.random.default_rng(seed))
    for label, color in [(1, GREEN), (-1, RED)]:
        right.scatter(*points[labels == label].T, s=9, color=color, edgecolor="white", linewidth=0.4)
    right.set(aspect="equal")
    right.grid(visible=False)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Train twice, print how fast that went and what came out, and save the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--steps", type=int, default=3000, help="of each training, at least 2 (%(default)s)")
    add("--seed", type=int, default=0, help="of all random numbers, at least 0 (%(default)s)")
    add(
        "--output",
        type=picture,
        default="compiled_training.png",
        help='the picture; "" for none (%(default)s)',
    )
    options = parser.parse_args(argv)
    for name, least in [("steps", 2), ("seed", 0)]:
        if getattr(options, name) < least:
            parser.error(f"argument --{name}: {getattr(options, name)} is not at least {least}")

    for warm_up in (step, tape.compile(step)):  # loads the kernels: the race begins with them in memory
        train(warm_up, 2, options.seed)
    runs = {
        "eager": train(step, options.steps, options.seed),
        "compiled": train(compiled_step, options.steps, options.seed),
    }
    for name, run in runs.items():
        accuracy = accuracy_of(run.params, options.seed)
        print(f"{name}: {rate_of(run):,.0f} steps a second, accuracy {accuracy:.1%}")
    eager, compiled = (run.losses[:100] for run in runs.values())
    print(f"the same losses to {np.abs(compiled / eager - 1).max():.0e} in {len(eager)} steps")
    (program,) = compiled_step.programs.values()
    print(program.explain())
    save(draw(runs, options.seed), options.output)


if __name__ == "__main__":
    main()
