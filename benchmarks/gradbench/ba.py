"""``ba``: bundle adjustment, the errors of points seen by cameras, and their sparse Jacobian.

A camera has 11 numbers: its rotation (3), centre (3), focal length, principal point (2) and radial
distortion (2). An observation depends on one camera, one point and one weight only: its Jacobian is small,
and all observations are a batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "compiled_jacobian", "errors", "example", "jacobian", "pattern", "reprojection_error"]

CAMERA = 11


def rotate(rotation: Any, x: Any) -> Any:
    """Rotate a point about an axis by the axis' length, by the formula of Rodrigues."""
    angle = np.sqrt(np.sum(rotation**2))
    axis = rotation / angle
    along = np.dot(axis, x) * (1 - np.cos(angle))
    return x * np.cos(angle) + np.cross(axis, x) * np.sin(angle) + axis * along


def reprojection_error(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """Return the weighted difference between a point in a camera's image and the feature there."""
    rotation, centre, focal, principal, (k1, k2) = (
        camera[:3],
        camera[3:6],
        camera[6],
        camera[7:9],
        camera[9:],
    )
    seen = rotate(rotation, point - centre)
    projected = seen[:2] / seen[2]
    square = np.sum(projected**2)
    distorted = projected * (1 + k1 * square + k2 * square**2)
    return weight * (distorted * focal + principal - feature)


def errors(cameras: Any, points: Any, weights: Any, features: Any, seen: Any) -> Any:
    """Return the errors of all observations, and those of the weights.

    Parameters
    ----------
    cameras, points, weights, features : array
        (cameras, 11), (points, 3), (observations,) and (observations, 2).
    seen : array of int
        Camera and point of each observation: (observations, 2).
    """
    reprojection = tape.vmap(reprojection_error)(cameras[seen[:, 0]], points[seen[:, 1]], weights, features)
    return reprojection, 1 - weights**2


def jacobian(cameras: Any, points: Any, weights: Any, features: Any, seen: Any) -> Any:
    """Return the nonzero elements of the Jacobian of `errors`, row by row."""
    blocks = tape.vmap(tape.jacobian(reprojection_error, argnums=(0, 1, 2)))(
        cameras[seen[:, 0]], points[seen[:, 1]], weights, features
    )
    by_camera, by_point, by_weight = blocks
    rows = np.concatenate([by_camera, by_point, by_weight[:, :, None]], axis=2)
    return np.concatenate([rows.reshape(-1), -2 * weights])


def pattern(cameras: int, points: int, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the elements of `jacobian` are: the starts of the rows, and the columns."""
    count = len(seen)
    after_cameras, after_points = CAMERA * cameras, CAMERA * cameras + 3 * points
    columns = np.concatenate(
        [
            CAMERA * seen[:, :1] + np.arange(CAMERA),
            after_cameras + 3 * seen[:, 1:] + np.arange(3),
            after_points + np.arange(count)[:, None],
        ],
        axis=1,
    )
    lengths = np.concatenate([np.full(2 * count, CAMERA + 4), np.ones(count, int)])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return starts, np.concatenate([columns.repeat(2, axis=0).ravel(), after_points + np.arange(count)])


def example(seed: int = 0, n: int = 49, m: int = 7776, p: int = 31843) -> Input:
    """Return an input: one camera, point, weight and feature, and how many of each there are."""
    rng = np.random.default_rng(seed)
    return {
        "n": n,
        "m": m,
        "p": p,
        "cam": rng.random(CAMERA).tolist(),
        "x": rng.random(3).tolist(),
        "w": float(rng.random()),
        "feat": rng.random(2).tolist(),
    }


def _prepare(data: Input) -> tuple[np.ndarray, ...]:
    """Repeat the camera, the point, the weight and the feature, as GradBench specifies."""
    n, m, p = data["n"], data["m"], data["p"]
    numbers = np.arange(p)
    return (
        np.tile(np.array(data["cam"], float), (n, 1)),
        np.tile(np.array(data["x"], float), (m, 1)),
        np.full(p, float(data["w"])),
        np.tile(np.array(data["feat"], float), (p, 1)),
        np.stack([numbers % n, numbers % m], axis=1),
    )


def _report_errors(result: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """Return the errors as GradBench has them: they repeat, since the data do."""
    reprojection, weight = result
    return {
        "reproj_error": {"elements": reprojection[0].tolist(), "repeated": len(reprojection)},
        "w_err": {"element": float(weight[0]), "repeated": len(weight)},
    }


compiled_jacobian = tape.compile(jacobian)


def _sparse_jacobian(cameras: Any, points: Any, weights: Any, features: Any, seen: Any) -> tuple[Any, ...]:
    return *pattern(len(cameras), len(points), seen), compiled_jacobian(
        cameras, points, weights, features, seen
    )


def _report_jacobian(result: tuple[np.ndarray, ...]) -> dict[str, Any]:
    """Return the first two rows of the matrix and its last element, in place of all that repeats."""
    kept = [*range(2 * (CAMERA + 4)), -1]
    return {name: part[kept].tolist() for name, part in zip(("rows", "cols", "vals"), result, strict=True)}


FUNCTIONS = {
    "objective": Function(_prepare, tape.compile(errors), _report_errors),
    "jacobian": Function(_prepare, _sparse_jacobian, _report_jacobian),
}
