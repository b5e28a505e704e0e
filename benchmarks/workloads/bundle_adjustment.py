"""Bundle adjustment: the sparse Jacobian of reprojection errors by cameras, points and weights.

Each observation depends on one camera of eleven parameters, one point and one weight, so that its part of the
Jacobian is a small block; the problem is that of GradBench's ``ba``.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload


@workload("bundle_adjustment")
def bundle_adjustment(seed: int) -> list[Case]:
    """The Jacobian of bundle adjustment, of 2,000 and of 31,843 observations, as sparse values."""
    sizes = {"16 cameras": (16, 500, 2000), "49 cameras": (49, 7776, 31843)}
    return [_case(name, Problem.random(seed, *size), is_large=size[0] > 16) for name, size in sizes.items()]


class Problem(NamedTuple):
    """Cameras ``(n, 11)``, points ``(m, 3)`` and weights ``(p,)``; and, of p observations, which and what."""

    cameras: np.ndarray
    points: np.ndarray
    weights: np.ndarray
    camera_of: np.ndarray
    point_of: np.ndarray
    seen: np.ndarray

    @classmethod
    def random(cls, seed: int, cameras: int, points: int, observations: int) -> Problem:
        """Return cameras around points, with errors of the size of a pixel."""
        rng = np.random.default_rng(seed)
        turned, position = 0.2 * rng.normal(size=(cameras, 3)), rng.normal(size=(cameras, 3)) - [0, 0, 8]
        lens = np.tile([500.0, 0.0, 0.0, 1e-2, 1e-3], (cameras, 1))
        return cls(
            np.concatenate([turned, position, lens], axis=1),
            rng.normal(size=(points, 3)),
            rng.uniform(0.5, 1.5, observations),
            np.arange(observations) % cameras,
            rng.integers(0, points, observations),
            100 * rng.normal(size=(observations, 2)),
        )


def reprojection_errors(cameras: Any, points: Any, weights: Any, seen: Any, xp: Any = np) -> Any:
    """Return the weighted errors ``(..., 2)`` of observations, given the camera and the point of each."""
    turned = cameras[..., :3]
    squared = xp.sum(turned**2, axis=-1, keepdims=True)
    angle = xp.sqrt(squared)
    axis = turned / angle
    x = points - cameras[..., 3:6]
    along = xp.sum(axis * x, axis=-1, keepdims=True) * (1 - xp.cos(angle))
    rotated = x * xp.cos(angle) + xp.cross(axis, x) * xp.sin(angle) + axis * along
    flat = rotated[..., :2] / rotated[..., 2:]
    radius = xp.sum(flat**2, axis=-1, keepdims=True)
    bent = flat * (1 + cameras[..., 9:10] * radius + cameras[..., 10:11] * radius**2)
    return weights[..., None] * (cameras[..., 6:7] * bent + cameras[..., 7:9] - seen)


_ELEMENTS = np.delete(np.arange(30), [8, 15 + 7])
"""The elements of a block: each error has the centre of the picture along its own axis alone."""


def _case(name: str, problem: Problem, *, is_large: bool) -> Case:
    makers = {"tape": _with_tape, "tape sparse_jacobian": _with_tape_sparse, "jax": _with_jax}
    contenders = {contender: partial(make, problem) for contender, make in makers.items()}
    return Case(name, contenders, reference=lambda: _with_tape_sparse(problem)(), is_large=is_large)


def _with_tape(problem: Problem) -> Call:
    """The Jacobian of one observation, batched: blocks with two rows are the rows of the sparse matrix."""
    tape = load("tape")
    block = tape.jacobian(reprojection_errors, argnums=(0, 1, 2), mode="rev")

    @tape.compile
    def values(cameras: Any, points: Any, weights: Any, seen: Any) -> Any:
        of_cameras, of_points, of_weights = tape.vmap(block)(
            cameras[problem.camera_of], points[problem.point_of], weights, seen
        )
        blocks = np.concatenate([of_cameras, of_points, of_weights[..., None]], axis=-1)
        elements = blocks.reshape(len(weights), 30)[:, _ELEMENTS]
        return np.concatenate([np.ravel(elements), -2 * weights])

    return lambda: [values(problem.cameras, problem.points, problem.weights, problem.seen)]


def _with_tape_sparse(problem: Problem) -> Call:
    """The whole function, plainly written."""
    tape = load("tape")

    def errors(cameras: Any, points: Any, weights: Any, seen: Any) -> Any:
        errors = reprojection_errors(cameras[problem.camera_of], points[problem.point_of], weights, seen)
        return {"errors": errors, "weights": 1 - weights**2}

    jacobian = tape.sparse_jacobian(errors, argnums=(0, 1, 2))
    return lambda: [jacobian(problem.cameras, problem.points, problem.weights, problem.seen).data]


def _with_jax(problem: Problem) -> Call:
    jax = load("jax")
    block = jax.jacrev(partial(reprojection_errors, xp=jax.numpy), argnums=(0, 1, 2))

    @jax.jit
    def values(cameras: Any, points: Any, weights: Any, seen: Any) -> Any:
        of_cameras, of_points, of_weights = jax.vmap(block)(
            cameras[problem.camera_of], points[problem.point_of], weights, seen
        )
        blocks = jax.numpy.concatenate([of_cameras, of_points, of_weights[..., None]], axis=-1)
        elements = blocks.reshape(len(weights), 30)[:, _ELEMENTS]
        return jax.numpy.concatenate([elements.ravel(), -2 * weights])

    return lambda: [
        jax.block_until_ready(values(problem.cameras, problem.points, problem.weights, problem.seen))
    ]
