"""Guide a missile by model-predictive control: plan by gradient descent, fly one step, plan again.

    python examples/missile.py --output missile.png

A plan is one thrust and one heading, kept for the next 20 steps; its loss is the smallest squared
distance to the target on the way. Only its first step is flown, and gusts that no plan knows of act on
it. Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure
from tqdm import trange

import tape

GRAVITY = np.array([0.0, -0.06])
DRAG, GUSTS = 0.05, 0.02
POSITION, VELOCITY = np.array([0.0, 0.0]), np.array([0.05, 0.05])
CONTROL = np.array([0.01, np.pi / 4])  # thrust, and heading as an angle from straight up
LOWEST, HIGHEST = np.array([0.0, -np.inf]), np.array([0.11, np.inf])
HORIZON, STEPS, DESCENTS, RATE, SEED = 20, 30, 30, 3e-4, 0


class Guidance(NamedTuple):
    """What happened at each step, before the missile moved."""

    missile: np.ndarray  # (STEPS, 2), its position
    controls: np.ndarray  # (STEPS, 2), the thrust and the heading planned
    plans: np.ndarray  # (STEPS, HORIZON + 1, 2), the positions that come of the plan
    losses: np.ndarray  # (STEPS,), the loss of the plan

    @property
    def distances(self) -> np.ndarray:
        """From the missile to the target, ``(STEPS,)``."""
        return np.hypot(*(self.missile - target(np.arange(len(self.missile)))).T)


def target(time: Any) -> np.ndarray:
    """Where the target is: it flies level, towards the missile; ``(...)`` to ``(..., 2)``."""
    return np.stack([20 - 0.5 * time, np.full(np.shape(time), 5.0)], axis=-1)


def force(control: Any) -> Any:
    """What gravity and the engine do to the missile: ``(2,)``."""
    thrust, heading = control
    return GRAVITY + thrust * np.stack([np.sin(heading), np.cos(heading)])


def moved(position: Any, velocity: Any, push: Any) -> tuple[Any, Any]:
    """The position and the velocity one step later, under a push and the drag of the air."""
    acceleration = push - DRAG * velocity / np.sqrt(np.sum(velocity**2))
    return position + velocity + acceleration / 2, velocity + acceleration


def predict(control: Any, position: Any, velocity: Any) -> Any:
    """The positions now and at each step, if the control is kept and the air calm: ``(HORIZON + 1, 2)``."""
    push, positions = force(control), [position]
    for _ in range(HORIZON):
        position, velocity = moved(position, velocity, push)
        positions.append(position)
    return np.stack(positions)


def loss(control: Any, position: Any, velocity: Any, time: int) -> Any:
    """The smallest squared distance to the target until the horizon."""
    apart = predict(control, position, velocity) - target(time + np.arange(HORIZON + 1))
    return np.min(np.sum(apart**2, axis=1))


def plan(control: np.ndarray, position: np.ndarray, velocity: np.ndarray, time: int) -> np.ndarray:
    """A better control, by gradient descent within the limits of the thrust."""
    gradient = tape.grad(loss)
    for _ in range(DESCENTS):
        control = np.clip(control - RATE * gradient(control, position, velocity, time), LOWEST, HIGHEST)
    return control


def guide(seed: int) -> Guidance:
    """Plan and fly, step by step, each plan starting from the one before."""
    rng = np.random.default_rng(seed)
    position, velocity, control = POSITION, VELOCITY, CONTROL
    history = []
    for time in trange(STEPS, unit="step"):
        control = plan(control, position, velocity, time)
        planned = predict(control, position, velocity)
        history.append((position, control, planned, loss(control, position, velocity, time)))
        gust = GUSTS * rng.uniform(-0.5, 0.5, 2)
        position, velocity = moved(position, velocity, force(control) + gust)
    return Guidance(*(np.array(column) for column in zip(*history, strict=True)))


def draw(flown: Guidance) -> Figure:
    """The paths of missile and target with plans on the way; how far they are apart, and would be."""
    figure, (paths, apart) = figure_of("Paths", "Distance to the target", rows=2, size=(9, 7))
    closest = int(np.argmin(flown.distances))
    for time in range(0, closest, 3):
        distance = np.sum((flown.plans[time] - target(time + np.arange(HORIZON + 1))) ** 2, axis=1)
        way = flown.plans[time, : np.argmin(distance) + 1]
        paths.plot(*way.T, color=BLUE, alpha=0.6, linewidth=1, label=None if time else "plans")
        paths.plot(*way[-1], "o", color=BLUE, markersize=4)
    for path, color, name in [(target(np.arange(STEPS)), GREY, "target"), (flown.missile, RED, "missile")]:
        paths.plot(*path.T, ".-", color=color, label=name)
        paths.plot(*path[0], "s", color=color)
    meeting = flown.missile[closest]
    paths.plot(*meeting, "o", color="black", fillstyle="none", markersize=14, label=f"step {closest}")
    paths.set(aspect="equal", xlabel="x", ylabel="y")
    paths.legend(frameon=False, loc="lower right")
    apart.semilogy(flown.distances, ".-", color=RED, label="now")
    apart.semilogy(np.sqrt(flown.losses), ".-", color=BLUE, label="at the closest moment of the plan")
    apart.plot(closest, flown.distances[closest], "o", color="black", fillstyle="none", markersize=14)
    apart.set(xlabel="step")
    apart.legend(frameon=False)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Guide the missile, print how close it came, and save the picture."""
    output = output_of(argv, __doc__, "missile.png")
    flown = guide(SEED)
    closest = int(np.argmin(flown.distances))
    thrust, heading = flown.controls[closest]
    print(f"distance {flown.distances[0]:.2f} at first, {flown.distances[closest]:.2f} at step {closest}")
    print(f"thrust {thrust:.2f}, heading {np.degrees(heading):.0f} degrees from straight up")
    save(draw(flown), output)


if __name__ == "__main__":
    main()
