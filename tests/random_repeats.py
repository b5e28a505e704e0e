"""Random loops whose steps repeat themselves but for one or a few, with their gradients, compiled and not.

``python -m tests.random_repeats 1000`` tries that many, ``--first`` being the first seed, and prints those
that differ. Long loops are recorded by comparing each step with the one before, which begins after a dozen
operations here (`tape.transforms.loops.deferring`).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

import tape
from tape import tree
from tape.program.record import recorder
from tape.transforms.loops import repeats, rolling

W = np.random.default_rng(0).normal(size=(3, 3)) * 0.4
X = np.random.default_rng(1).normal(size=3)


def assert_alike(f: Callable[..., Any], *args: Any, tolerance: float = 1e-9) -> None:
    """Check that the gradient of a function is the same when it is compiled, for other numbers as well."""
    argnums = tuple(range(len(args)))
    others = tree.map(lambda leaf: leaf * 1.1 + 0.01, args)
    compiled = tape.compile(tape.value_and_grad(f, argnums))
    for numbers in (args, others, args):
        expected = tree.flatten(tape.value_and_grad(f, argnums)(*numbers))[0]
        found = tree.flatten(compiled(*numbers))[0]
        for a, b in zip(found, expected, strict=True):
            assert (np.shape(a), np.result_type(a)) == (np.shape(b), np.result_type(b))
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@contextmanager
def early(least: int = 64) -> Iterator[None]:
    """Defer operations of short loops in a block, and roll these up from a number of operations on."""
    with (
        mock.patch.object(recorder, "_FIRST_LOOK", 12),
        mock.patch.object(repeats, "_LEAST", 6),
        mock.patch.object(repeats, "_PART", 1 << 30),
        mock.patch.object(rolling, "LEAST_NODES", least),
    ):
        yield


NEVER = 1 << 30
"""So many operations no loop has: all are recorded one by one when the tape catches up."""

AT = 31
"""The step that does something else."""


def only_at(change: Callable[[Any], Any]) -> Callable[[int, Any], Any]:
    return lambda k, h: change(h) if k == AT else h


def raised_and_caught(h: Any) -> Any:
    try:
        return h[7]
    except IndexError:
        return h * 0.5


def written_in_place(h: Any) -> Any:
    h = h.copy()
    h[1] = h[0] * 2
    return h


def added_in_place(h: Any) -> Any:
    h = h * 1.0
    h += np.cos(h)
    return h


def written_through_a_view(h: Any) -> Any:
    h = h * 1.0
    part = h[1:]
    part[0] = part[1] * 3
    return h + np.sum(part)


OTHERWISE = {
    "another operation": only_at(np.cos),
    "another constant": lambda k, h: h * (0.5 if k == AT else 0.9),
    "a zero of the other sign": lambda k, h: h + (-0.0 if k == AT else 0.0),
    "another type of number": lambda k, h: h * (np.float64(0.9) if k == AT else 0.9),
    "an int": lambda k, h: h * (1 if k == AT else 0.9),
    "a number that moves": lambda k, h: h * (0.9 + 0.001 * k),
    "ints that move": lambda k, h: h / (k + 1) + h,
    "a number that comes again": lambda k, h: h * (0.9, 0.8, 0.7)[k % 3],
    "swapped operands": lambda k, h: 0.9 * h if k == AT else h * 0.9,
    "a branch": lambda k, h: h * 0.5 if k == AT and h[0] > 0 else h * 0.9,
    "a branch in each step": lambda k, h: h * 0.5 if h[0] > 0 else h * 0.9,
    "an exception": only_at(raised_and_caught),
    "an exception in each step": lambda k, h: raised_and_caught(h),
    "an element": lambda k, h: h + h[1],
    "elements in turn": lambda k, h: h + h[k % 3] * 0.1,
    "elements from the end": lambda k, h: h + h[-1 - k % 3] * 0.1,
    "a slice": lambda k, h: np.concatenate([h[1:], h[:1]]),
    "another slice": lambda k, h: np.concatenate([h[1:], h[:1]] if k == AT else [h[2:], h[:2]]),
    "a reshaped value": lambda k, h: (h.reshape(1, 3) @ np.eye(3)).reshape(3),
    "its shape": lambda k, h: h.reshape(h.shape[0], 1)[:, 0] * (1.0 / (len(h) * h.ndim * h.size)),
    "a sum": lambda k, h: h - 0.1 * np.sum(h),
    "a mean along an axis": lambda k, h: h - np.mean(np.stack([h, h * h]), axis=0),
    "a power": lambda k, h: h**2,
    "another power": lambda k, h: h ** (3 if k == AT else 2),
    "a choice": lambda k, h: np.where(h > 0, h, 0.5 * h),
    "a write": only_at(written_in_place),
    "a write in each step": lambda k, h: written_in_place(h),
    "an addition in place": only_at(added_in_place),
    "an addition in place in each step": lambda k, h: added_in_place(h),
    "a write through a view": only_at(written_through_a_view),
    "a write through a view in each step": lambda k, h: written_through_a_view(h),
    "a name": only_at(lambda h: tape.named(h, "h")),
    "no gradient": only_at(tape.stop_gradient),
    "no gradient in each step": lambda k, h: h + tape.stop_gradient(h),
    "a gradient": only_at(lambda h: h + tape.grad(lambda z: np.sum(np.sin(z) * h))(h)),
    "a gradient in each step": lambda k, h: 0.5 * tape.grad(lambda z: np.sum(np.sin(z) * h))(h),
    "a loop": only_at(lambda h: tape.fori_loop(0, 5, lambda i, z: np.sin(z), h)),
    "a checkpoint": only_at(tape.checkpoint(lambda h: np.cos(np.sin(h)))),
    "a system of equations": lambda k, h: np.linalg.solve(np.eye(3) * 2, h),
    "a picture": only_at(lambda h: h * float(str(h) != "")),
    "no gradient in a block": only_at(lambda h: _without_gradient(h)),
    "no gradient in a block of each step": lambda k, h: h + 0.1 * _without_gradient(h),
    "a batch": only_at(lambda h: tape.vmap(lambda z: np.sin(z) * np.sum(h))(h)),
    "a rule of one's own": lambda k, h: _clipped(h),
    "a compiled function": only_at(lambda h: _compiled(h)),
    "numbers of a mask": only_at(lambda h: h * np.sum(h[h > -5])),
    "ints that do not fit": lambda k, h: _divided(h, 10 ** (k * 12)),
    "settings": only_at(lambda h: _with_settings(h)),
}


def _without_gradient(h: Any) -> Any:
    with tape.no_grad():
        return h * 2.0


@tape.custom_vjp
def _clipped(h: Any) -> Any:
    return np.minimum(h, 0.9)


@_clipped.defvjp
def _(g: Any, out: Any, h: Any) -> Any:
    return g * (h < 0.9)


@tape.compile
def _compiled(h: Any) -> Any:
    return np.sin(h) * 2.0


def _divided(h: Any, number: int) -> Any:
    try:
        return h / number + h
    except tape.errors.TapeError:
        return h * 0.9


def _with_settings(h: Any) -> Any:
    with np.errstate(over="ignore"):
        return h * 0.9


_UNARY = (
    np.sin,
    np.cos,
    np.tanh,
    np.negative,
    lambda x: x * 0.5,
    lambda x: 0.3 - x,
    np.square,
    lambda x: x**2,
)
_BINARY = (
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y,
    np.maximum, np.arctan2, lambda x, y: x / (y * y + 2),
)  # fmt: skip


_ROWS = (
    lambda w, k: [w[1]],
    lambda w, k: [w[-1], w[0]],
    lambda w, k: [w[k % 3]],
    lambda w, k: [w[0 if k == AT else 2], w[1]],
    lambda w, k: list(w),
    lambda w, k: [w[:, 1], w[1], w[1:][1]],
)
"""What is read of the weights in a step."""


def random_loop(rng: np.random.Generator) -> Callable[..., Any]:
    """Return a function with a loop of random operations, of which one step or several do something else."""
    names = list(OTHERWISE)
    count = int(rng.integers(1, 4))
    plan = [
        (int(rng.integers(14)), *rng.integers(1 << 30, size=2).tolist()) for _ in range(rng.integers(2, 8))
    ]
    following = rng.integers(1 << 30, size=count).tolist()
    steps = int(rng.integers(20, 60))
    others = {int(rng.integers(steps)): names[rng.integers(len(names))] for _ in range(rng.integers(0, 3))}
    always = names[rng.integers(len(names))] if rng.integers(2) else None
    kept = int(rng.integers(1, 9)) if rng.integers(2) else None
    is_nested = rng.integers(4) == 0
    rows, write = _ROWS[rng.integers(len(_ROWS))], rng.integers(8) == 0

    def f(w, h):
        states = [h * (k + 1.0) for k in range(count)]
        former, keep, p = list(states), [], w * 1.0
        for k in range(steps):
            if write and k in others:
                p[1] = states[0] * 0.5
            pool = [*states, *former, h, *rows(p if write else w, k)]
            for _ in range(3 if is_nested else 1):
                for kind, i, j in plan:
                    a, b = pool[i % len(pool)], pool[j % len(pool)]
                    pool.append(np.tanh(_UNARY[kind](a) if kind < 8 else _BINARY[kind - 8](a, b)))
            if k in others:
                pool[-1] = OTHERWISE[others[k]](AT, pool[-1])
            if always:
                pool[-1] = OTHERWISE[always](k, pool[-1])
            former, states = states, [w @ (pool[i % len(pool)] * 0.5) for i in following]
            if kept and k % kept == 0:
                keep.append(pool[-1])
        return sum(np.sum(x) for x in [*states, *keep])

    return f


def differs(seed: int) -> str:
    """Return what differs between a random loop that is compiled and one that is not, if anything does."""
    f = random_loop(np.random.default_rng(seed))
    try:
        with early(64 if seed % 2 else NEVER):
            assert_alike(f, W, X, tolerance=1e-7)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> int:
    """Try many; return 1 if any differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_repeats", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    found = 0
    warnings.simplefilter("ignore")
    for seed in range(options.first, options.first + options.count):
        if difference := differs(seed):
            found += 1
            print(f"seed {seed}: {difference}", flush=True)
        if (seed + 1) % 100 == 0:
            print(f"{seed + 1 - options.first} of {options.count} loops, {found} differ", flush=True)
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
