"""A stencil written in place: the heat equation on a line, with a conductivity that varies along it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_STEPS = 100


@workload("stencil")
def stencil(seed: int) -> list[Case]:
    """100 steps of the heat equation in place, float64: value and gradient by state and conductivity."""
    return [_case(points, seed) for points in (1000, 30_000)]


def _case(points: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    params = [rng.standard_normal(points), rng.uniform(0.1, 0.4, points - 2)]
    losses = {
        "tape compiled": _in_place,
        "tape": _in_place,
        "torch": _torch_loss,
        "jax": _jax_loss,
    }
    out_of_place = {"tape compiled": _out_of_place, "tape": _out_of_place}
    contenders = gradients_by(losses, params, [])
    for name, make in gradients_by(out_of_place, params, []).items():
        contenders[f"{name} out of place"] = make
    contenders["numpy"] = lambda: lambda: _by_hand(*params)
    return Case(f"{points} points", contenders, baseline="tape compiled")


def _by_hand(start: np.ndarray, conductivity: np.ndarray) -> list[Any]:
    u = start.copy()
    bends = np.empty((_STEPS, len(conductivity)))
    flow = np.empty_like(conductivity)
    for bend in bends:
        np.multiply(u[1:-1], -2, out=bend)
        bend += u[2:]
        bend += u[:-2]
        np.multiply(conductivity, bend, out=flow)
        u[1:-1] += flow
    value = np.mean(u * u)
    d_u = u * (2 / len(u))
    d_conductivity = np.zeros_like(conductivity)
    for bend in bends[::-1]:
        bend *= d_u[1:-1]
        d_conductivity += bend
        np.multiply(conductivity, d_u[1:-1], out=flow)
        d_u[2:] += flow
        d_u[:-2] += flow
        flow *= 2
        d_u[1:-1] -= flow
    return [value, d_u, d_conductivity]


def _in_place(tape: Any, u: Any, conductivity: Any) -> Any:
    for _ in range(_STEPS):
        u[1:-1] += conductivity * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.mean(u * u)


def _out_of_place(tape: Any, u: Any, conductivity: Any) -> Any:
    for _ in range(_STEPS):
        inner = u[1:-1] + conductivity * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = np.concatenate([u[:1], inner, u[-1:]])
    return np.mean(u * u)


def _torch_loss(torch: Any, u: Any, conductivity: Any) -> Any:
    u = u.clone()
    for _ in range(_STEPS):
        u[1:-1] += conductivity * (u[2:] - 2 * u[1:-1] + u[:-2])
    return (u * u).mean()


def _jax_loss(jax: Any, u: Any, conductivity: Any) -> Any:
    def step(u: Any, _: None) -> tuple[Any, None]:
        return u.at[1:-1].add(conductivity * (u[2:] - 2 * u[1:-1] + u[:-2])), None

    u, _ = jax.lax.scan(step, u, None, length=_STEPS)
    return jax.numpy.mean(u * u)
