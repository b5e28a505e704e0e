"""Learn to balance a pole on a cart, by trial: deep Q-learning, or REINFORCE.

    python examples/cart_pole.py --method dqn --output cart_pole.png

The cart is pushed left or right; a reward of 1 for each step until the pole falls, or 500 steps are over.
The task is that of Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult
learning control problems" (1983). It counts as solved once the mean of 100 episodes in a row is 475. Needs
``pip install '.[examples]'``.
"""

import argparse
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from _common import BLUE, GREY, RED, figure_of, picture, save
from digits import number
from tqdm import trange

import tape
from tape import nn, optim

LONGEST, SOLVED = 500, 475.0
GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TIME = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02  # m/s^2, kg, kg, m, N, s


class CartPole:
    """The cart and its pole: position, velocity, angle and its rate, in SI units."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def reset(self) -> np.ndarray:
        """Start an episode near the upright position."""
        self._state, self._steps = self._rng.uniform(-0.05, 0.05, 4), 0
        return self._state.astype(np.float32)

    def step(self, action: int) -> tuple[np.ndarray, bool, bool]:
        """Push left (0) or right (1): the next state, whether the pole fell, and whether time is up."""
        _, speed, angle, rate = self._state
        force = FORCE if action else -FORCE
        sine, cosine = np.sin(angle), np.cos(angle)
        total = CART + POLE
        pushed = (force + POLE * HALF_LENGTH * rate**2 * sine) / total
        turned = (GRAVITY * sine - cosine * pushed) / (HALF_LENGTH * (4 / 3 - POLE * cosine**2 / total))
        moved = pushed - POLE * HALF_LENGTH * turned * cosine / total
        self._state = self._state + TIME * np.array([speed, moved, rate, turned])
        self._steps += 1
        has_fallen = abs(self._state[0]) > 2.4 or abs(self._state[2]) > np.radians(12)
        return self._state.astype(np.float32), bool(has_fallen), self._steps >= LONGEST


def is_solved(returns: Sequence[float]) -> bool:
    """Whether the last 100 episodes are good enough."""
    return len(returns) >= 100 and float(np.mean(returns[-100:])) >= SOLVED


# ---- deep Q-learning: Mnih et al., "Human-level control through deep reinforcement learning" (2015) -----


AHEAD, DISCOUNT = 5, 0.99  # steps whose rewards are counted before the value of a state is guessed


def q_loss(model: Any, target: Any, batch: Any) -> Any:
    """How far values of actions are from the rewards of some steps and the value of the state after them.

    The action there is chosen by the model, and valued by its slower copy: van Hasselt et al., "Deep
    reinforcement learning with double Q-learning" (2016). Several steps: Hessel et al., "Rainbow" (2018).
    """
    states, actions, rewards, later, discounts = batch
    rows = np.arange(len(actions))
    best = np.argmax(model(later), axis=1)
    wanted = tape.stop_gradient(rewards + discounts * target(later)[rows, best])
    return nn.huber_loss(model(states)[rows, actions], wanted)


class Memory:
    """What was done, and what came of it ``AHEAD`` steps later, or where the episode was over."""

    def __init__(self, capacity: int) -> None:
        self.count = 0
        self._parts = (
            np.zeros((capacity, 4), np.float32), np.zeros(capacity, np.int64), np.zeros(capacity, np.float32),
            np.zeros((capacity, 4), np.float32), np.zeros(capacity, np.float32),
        )  # fmt: skip

    def add(self, state: np.ndarray, action: int, steps: int, later: np.ndarray, has_fallen: bool) -> None:
        """Keep an action, in the place of the oldest one once it is full."""
        power = DISCOUNT**steps
        reward, discount = (1 - power) / (1 - DISCOUNT), 0.0 if has_fallen else power
        place = self.count % len(self._parts[0])
        for part, value in zip(self._parts, (state, action, reward, later, discount), strict=True):
            part[place] = value
        self.count += 1

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return some of what is kept."""
        drawn = rng.integers(0, min(self.count, len(self._parts[0])), size)
        return tuple(part[drawn] for part in self._parts)


def dqn(episodes: int, seed: int) -> list[float]:
    """Learn from random steps of the past; return the reward of each episode."""
    rng = np.random.default_rng(seed)
    model = nn.MLP([4, 128, 128, 2], nn.relu, rng=rng)
    slow = tape.tree.map(np.copy, model)
    rule = optim.adam(lr=optim.schedules.linear(5e-4, 60_000, start_factor=1.0, end_factor=0.1))

    def update(model: Any, moments: Any, slow: Any, batch: Any) -> Any:
        gradient = tape.grad(q_loss)(model, slow, batch)
        gradient, _ = optim.clip_by_global_norm(gradient, 10.0)
        moments, model = rule.update(gradient, moments, model)
        slow = tape.tree.map(lambda old, new: old + np.float32(0.005) * (new - old), slow, model)
        return model, moments, slow

    update = tape.compile(update, donate=(0, 1, 2))
    values = tape.compile(lambda model, state: model(state))
    moments, task, returns, memory, count = rule.init(model), CartPole(rng), [], Memory(50_000), 0
    for _ in (progress := trange(episodes, unit="episode")):
        state, is_over, steps, total = task.reset(), False, deque[tuple[np.ndarray, int]](), 0
        while not is_over:
            chance = max(0.02, 1 - count / 5000)  # of a random action
            action = int(rng.integers(2)) if rng.random() < chance else int(np.argmax(values(model, state)))
            steps.append((state, action))
            state, has_fallen, is_late = task.step(action)
            count, total, is_over = count + 1, total + 1, has_fallen or is_late
            while len(steps) == AHEAD or (steps and is_over):
                ahead = len(steps)
                memory.add(*steps.popleft(), ahead, state, has_fallen)
            if count >= 1000:
                model, moments, slow = update(model, moments, slow, memory.draw(128, rng))
        returns.append(float(total))
        progress.set_postfix_str(f"mean of the last 100: {np.mean(returns[-100:]):.0f}")
        if is_solved(returns):
            break
    return returns


# ---- REINFORCE: Williams, "Simple statistical gradient-following algorithms ..." (1992) ------------------


def policy_loss(model: Any, states: Any, actions: Any, advantages: Any) -> Any:
    """Minus the logarithms of the chances of actions, weighted by what came after them."""
    chances = nn.log_softmax(model(states), axis=1)
    return -np.sum(chances[np.arange(len(actions)), actions] * advantages) / len(actions)


def reinforce(episodes: int, seed: int) -> list[float]:
    """Learn from whole episodes; return the reward of each."""
    rng = np.random.default_rng(seed)
    model = nn.MLP([4, 64, 2], np.tanh, rng=rng)
    rule = optim.adam(lr=5e-3)

    @tape.compile
    def update(model: Any, moments: Any, *episode: Any) -> Any:
        gradient = tape.grad(policy_loss)(model, *episode)
        moments, model = rule.update(gradient, moments, model)
        return model, moments

    chances = tape.compile(lambda model, state: nn.softmax(model(state), axis=-1))
    moments, task, returns = rule.init(model), CartPole(rng), []
    seen: list[tuple[np.ndarray, int, float]] = []
    for _ in (progress := trange(episodes, unit="episode")):
        state, is_over, steps = task.reset(), False, []
        while not is_over:
            action = int(rng.random() < chances(model, state)[1])
            steps.append((state, action))
            state, has_fallen, is_late = task.step(action)
            is_over = has_fallen or is_late
        ahead = (1 - 0.99 ** np.arange(len(steps), 0, -1)) / (1 - 0.99)  # rewards to come, discounted
        seen += [(*step, reward) for step, reward in zip(steps, ahead, strict=True)]
        returns.append(float(len(steps)))
        if len(seen) >= 1024:  # one shape for all updates: one program
            for start in range(0, len(seen) - 1023, 1024):
                states, actions, rewards = (
                    np.array(part) for part in zip(*seen[start : start + 1024], strict=True)
                )
                advantages = ((rewards - rewards.mean()) / (rewards.std() + 1e-6)).astype(np.float32)
                model, moments = update(model, moments, states, actions, advantages)
            seen = []
        progress.set_postfix_str(f"mean of the last 100: {np.mean(returns[-100:]):.0f}")
        if is_solved(returns):
            break
    return returns


METHODS: dict[str, tuple[Callable[[int, int], list[float]], int]] = {
    "dqn": (dqn, 800),
    "reinforce": (reinforce, 2500),
}


def draw(returns: Sequence[float], method: str) -> Any:
    """The reward of each episode, and the mean of a hundred."""
    figure, (axes,) = figure_of(f"Steps until the pole falls, {method}", size=(8, 4.5))
    axes.plot(returns, ".", color=GREY, markersize=3, label="an episode")
    means = np.convolve(returns, np.ones(100) / 100, "valid")
    axes.plot(np.arange(len(means)) + 99, means, color=BLUE, label="mean of the last 100")
    axes.axhline(SOLVED, color=RED, linestyle="--", label="solved")
    axes.set(xlabel="episode", ylim=(0, LONGEST * 1.05))
    axes.legend(frameon=False, loc="upper left")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Learn, say whether it is solved, and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--method", choices=METHODS, default="dqn", help="how to learn (%(default)s)")
    add("--episodes", type=number(int, 1), help="at most (dqn 800, reinforce 2500)")
    add("--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)")
    add("--output", type=picture, default="cart_pole.png", help='the picture; "" for none (%(default)s)')
    options = parser.parse_args(argv)

    learn, episodes = METHODS[options.method]
    returns = learn(options.episodes or episodes, options.seed)
    verdict = "solved" if is_solved(returns) else "not solved"
    print(f"{verdict} after {len(returns)} episodes: mean reward {np.mean(returns[-100:]):.1f}")
    if options.output:
        save(draw(returns, options.method), options.output)


if __name__ == "__main__":
    main()
