"""Particle and saddle of GradBench: optimisation of what loops compute that data end.

A charged particle flies past two charges, by Euler's steps, until it hits the floor; the gradient of where it
hits by the place of a charge, and the place with which it hits at zero. And a point that is the least of
the largest values of a function, by gradient descent along a gradient through gradient descent. As in
https://github.com/gradbench/gradbench (``evals/particle``, ``evals/saddle``), which has them from B. A.
Pearlmutter and J. M. Siskind (2008), "Using programming language theory to make automatic differentiation
sound and efficient".

``tape compiled`` runs Python's own loops, each number of steps being a path of its own; ``tape compiled
while_loop`` runs `tape.while_loop`. JAX differentiates its ``while_loop`` forwards alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_STEP, _CLOSE = 0.1, 1e-5
_START, _SPEED = np.array([0.0, 8.0]), np.array([0.75, 0.0])


@workload("optimisation")
def optimisation(seed: int) -> list[Case]:
    """Particle and saddle of GradBench, float64: gradients through loops that data end, and optimisation."""
    return [_flight(), _particle(), _saddle()]


def _flight() -> Case:
    """Where the particle hits, by the place of a charge: one gradient."""
    at = np.zeros(1)

    def by(differentiate: Callable[[Any], Any], f: Any) -> Call:
        both = differentiate(f)
        return lambda: list(both(at))

    return Case(
        "one flight",
        {
            "tape compiled": lambda: by(_compiled_gradient(), lambda w: _hit(load("tape"), w)),
            "tape compiled while_loop": lambda: by(
                _compiled_gradient(), lambda w: _hit_in_loop(load("tape"), w)
            ),
            "tape": lambda: by(load("tape").value_and_grad, lambda w: _hit(load("tape"), w)),
            "jax": lambda: by(_jax_gradient, _jax_hit),
        },
        tolerance=1e-9,
        baseline="tape compiled",
    )


def _particle() -> Case:
    """The place of the charge at which the particle hits the floor at zero."""
    start = np.zeros(1)

    def tape_call(f: Any) -> Call:
        both, value = _compiled_gradient()(f), load("tape").compile(f)
        return lambda: [_least(both, value, start)]

    def jax_call() -> Call:
        both, value = _jax_gradient(_jax_hit), load("jax").jit(_jax_hit)
        return lambda: [_least(both, value, start)]

    return Case(
        "particle",
        {
            "tape compiled": lambda: tape_call(lambda w: _hit(load("tape"), w)),
            "tape compiled while_loop": lambda: tape_call(lambda w: _hit_in_loop(load("tape"), w)),
            "jax": jax_call,
        },
        tolerance=1e-6,
        baseline="tape compiled",
    )


def _saddle() -> Case:
    start = np.ones(2)

    def tape_call() -> Call:
        """Python's own loops: the outer one calls a compiled gradient through the inner one."""
        tape = load("tape")

        def worst(p: Any) -> Any:
            other = _least_of(tape.value_and_grad(lambda q: -_height(p, q)), start)
            return _height(p, other)

        both = tape.compile(tape.value_and_grad(worst))

        def call() -> list[Any]:
            p = _least_of(both, start)
            return [p, _least_of(tape.value_and_grad(lambda q: -_height(p, q)), start)]

        return call

    def loop_call() -> Call:
        """All of it is one program."""
        tape = load("tape")

        def least(f: Any, start: Any) -> Any:
            return _least_in_loop(tape.while_loop, np, tape.value_and_grad(f), start)

        return _whole(tape.compile, least, start)

    return Case(
        "saddle",
        {
            "tape compiled": tape_call,
            "tape compiled while_loop": loop_call,
            "jax": lambda: _jax_saddle(start),
        },
        tolerance=1e-6,
        baseline="tape compiled",
    )


def _whole(compiled: Any, least: Callable[[Any, Any], Any], start: np.ndarray) -> Call:
    @compiled
    def saddle(start: Any) -> Any:
        p = least(lambda p: _height(p, least(lambda q: -_height(p, q), start)), start)
        return p, least(lambda q: -_height(p, q), start)

    return lambda: list(saddle(start))


# ---- what is optimised -----------------------------------------------------------------------------------


def _height(p: Any, q: Any) -> Any:
    return (p * p).sum() - (q * q).sum()


def _distance(a: Any, b: Any) -> Any:
    return ((a - b) ** 2).sum() ** 0.5


def _potential(x: Any, w: Any) -> Any:
    """Of charges at (10, 10 - w) and (10, 0)."""
    place = (x[0] - 10.0) ** 2
    return 1 / (place + (x[1] - 10.0 + w) ** 2) ** 0.5 + 1 / (place + x[1] ** 2) ** 0.5


def _hit(tape: Any, w: Any) -> Any:
    """Return the square of the place where the particle hits the floor."""
    x, v = _START, _SPEED
    force = tape.grad(_potential)
    while (x + _STEP * v)[1] > 0:
        x, v = x + _STEP * v, v - _STEP * force(x, w[0])
    return (x[0] - x[1] / v[1] * v[0]) ** 2


def _hit_in_loop(tape: Any, w: Any) -> Any:
    force = tape.grad(_potential)
    x, v = tape.while_loop(
        lambda s: (s[0] + _STEP * s[1])[1] > 0,
        lambda s: (s[0] + _STEP * s[1], s[1] - _STEP * force(s[0], w[0])),
        (_START, _SPEED),
    )
    return (x[0] - x[1] / v[1] * v[0]) ** 2


# ---- gradient descent ------------------------------------------------------------------------------------


def _least(both: Any, value: Any, x: np.ndarray) -> np.ndarray:
    """Return where a function is least: steps double after ten that were good, and halve after a bad one."""
    fx, slope = both(x)
    step, good = 1e-5, 0
    while np.sqrt(np.sum(np.square(slope))) > _CLOSE:
        if good == 10:
            step, good = 2 * step, 0
            continue
        moved = x - step * slope
        if _distance(x, moved) <= _CLOSE:
            break
        if value(moved) < fx:
            x, good = moved, good + 1
            fx, slope = both(x)
        else:
            step, good = step / 2, 0
    return x


def _least_of(both: Any, x: Any) -> Any:
    return _least(both, lambda x: both(x)[0], x)


def _least_in_loop(while_loop: Any, numpy: Any, both: Any, x: Any) -> Any:
    """The same with no branch but the loop's own."""

    def turn(s: Any) -> Any:
        x, fx, slope, step, good, is_close = s
        moved = x - step * slope
        f_moved, slope_moved = both(moved)
        is_full = good == 10
        is_close = ~is_full & (_distance(x, moved) <= _CLOSE)
        is_better = ~is_full & ~is_close & (f_moved < fx)
        step = step * numpy.where(is_full, 2.0, numpy.where(is_better | is_close, 1.0, 0.5))
        return (
            numpy.where(is_better, moved, x),
            numpy.where(is_better, f_moved, fx),
            numpy.where(is_better, slope_moved, slope),
            step,
            numpy.where(is_better, good + 1, 0),
            is_close,
        )

    fx, slope = both(x)
    state = x, fx, slope, 1e-5, 0, False
    return while_loop(lambda s: ((s[2] * s[2]).sum() ** 0.5 > _CLOSE) & ~s[5], turn, state)[0]


# ---- frameworks ------------------------------------------------------------------------------------------


def _compiled_gradient() -> Callable[[Any], Any]:
    tape = load("tape")
    return lambda f: tape.compile(tape.value_and_grad(f))


def _forward(jax: Any, f: Any) -> Any:
    """Return the value and the gradient of a function, forwards, as JAX's while_loop needs it."""

    def both(x: Any) -> Any:
        value, push = jax.linearize(f, x)
        return value, jax.vmap(push)(jax.numpy.eye(x.size))

    return both


def _jax_gradient(f: Any) -> Any:
    jax = load("jax")
    return jax.jit(_forward(jax, f))


def _jax_hit(w: Any) -> Any:
    jax = load("jax")
    force = jax.grad(_potential)
    x, v = jax.lax.while_loop(
        lambda s: (s[0] + _STEP * s[1])[1] > 0,
        lambda s: (s[0] + _STEP * s[1], s[1] - _STEP * force(s[0], w[0])),
        (jax.numpy.asarray(_START), jax.numpy.asarray(_SPEED)),
    )
    return (x[0] - x[1] / v[1] * v[0]) ** 2


def _jax_saddle(start: np.ndarray) -> Call:
    jax = load("jax")

    def least(f: Any, start: Any) -> Any:
        return _least_in_loop(jax.lax.while_loop, jax.numpy, _forward(jax, f), start)

    return _whole(jax.jit, least, start)
