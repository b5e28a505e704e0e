"""Kepler's equation by Newton's method, compiled: a loop becomes a program for each number of steps it takes.

    python examples/compiled_branches.py --output compiled_branches.png

Where a planet is on its orbit at a given time follows from M = E - e sin(E), solved for E. How many steps
that takes depends on M and e, and so does where to begin. What Python's `if` and `while` have read is a
guard in the program; a call that reads something else goes to another program. Needs
``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from _common import BLUE, figure_of, output_of, save
from matplotlib.figure import Figure

import tape

MEANS = np.linspace(0, np.pi, 91)
ECCENTRICITIES = np.linspace(0, 0.98, 50)
TOLERANCE = 1e-9  # of the last step, which squares it; derivatives lag a step behind
SEED = 0


def anomaly(mean: Any, eccentricity: Any) -> Any:
    """The eccentric anomaly E of a mean anomaly M, in radians from 0 to pi, and the number of steps to it."""
    angle = mean if eccentricity < 0.8 else np.pi
    step, steps = np.inf, 0
    while abs(step) > TOLERANCE:
        error = angle - eccentricity * np.sin(angle) - mean
        step = error / (1 - eccentricity * np.cos(angle))
        angle, steps = angle - step, steps + 1
    return angle, steps


class Survey(NamedTuple):
    """What calls in a random order gave.

    The first three are arrays by eccentricity and mean anomaly: E, its derivative by M, and the number of
    steps. ``programs`` tells how many programs there were after each call.
    """

    angles: np.ndarray
    slopes: np.ndarray
    steps: np.ndarray
    programs: np.ndarray


def compiled_anomaly() -> Any:
    """`anomaly` with its derivative by the mean anomaly, compiled; as yet without any program."""
    return tape.compile(tape.value_and_grad(anomaly, has_aux=True))


def survey(solve: Any, seed: int) -> Survey:
    """Solve for every mean anomaly and every eccentricity."""
    shape = len(ECCENTRICITIES), len(MEANS)
    angles, slopes, steps = np.zeros(shape), np.zeros(shape), np.zeros(shape, int)
    programs = []
    for place in np.random.default_rng(seed).permutation(angles.size):
        k = np.unravel_index(place, shape)
        (angles[k], steps[k]), slopes[k] = solve(MEANS[k[1]], ECCENTRICITIES[k[0]])
        programs.append(len(solve.programs))
    return Survey(angles, slopes, steps, np.array(programs))


def draw(found: Survey) -> Figure:
    """Which program solves what; and how soon all of them had been recorded."""
    figure, (left, right) = figure_of("Steps taken, a program for each number", "Programs recorded")
    levels = np.arange(found.steps.min(), found.steps.max() + 2) - 0.5
    mesh = left.pcolormesh(
        MEANS, ECCENTRICITIES, found.steps, cmap="viridis", vmin=levels[0], vmax=levels[-1]
    )
    left.axhline(0.8, color="white", linewidth=1)
    left.text(0.05, 0.81, "begins at $\\pi$", color="white", va="bottom")
    left.text(0.05, 0.79, "begins at $M$", color="white", va="top")
    left.set(xlabel="mean anomaly M", ylabel="eccentricity e")
    left.grid(visible=False)
    figure.colorbar(mesh, ax=left, boundaries=levels, ticks=levels[:-1] + 0.5)

    calls = np.arange(1, len(found.programs) + 1)
    right.step(calls, found.programs, where="post", color=BLUE, linewidth=2)
    right.set(xlabel="calls", ylabel="programs", xscale="log", ylim=(0, None))
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Solve a few thousand times, print the programs that were recorded, and save the picture."""
    output = output_of(argv, __doc__, "compiled_branches.png")
    solve = compiled_anomaly()
    found = survey(solve, SEED)
    last = 1 + int(np.argmax(found.programs))
    print(f"{found.steps.size} calls, {found.programs[-1]} programs, the last one recorded in call {last}")
    expected = 1 / (1 - ECCENTRICITIES[:, None] * np.cos(found.angles))
    print(f"derivatives right to {np.abs(found.slopes / expected - 1).max():.0e}")
    programs = sorted(solve.programs.items(), key=lambda item: len(item[1]))
    for key, program in programs:
        print(f"{len(program)} instructions: {key}")
    _, shortest = programs[0]
    print(f"\n{shortest}\n\n{shortest.explain()}")
    save(draw(found), output)


if __name__ == "__main__":
    main()
