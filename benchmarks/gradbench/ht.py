"""``ht``: hand tracking, the distances between points and the skin of a hand with 26 parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

import tape
from benchmarks.gradbench.evaluation import Function, Input

__all__ = ["FUNCTIONS", "errors", "example", "jacobian"]

FINGERS = 5


def matrix(rows: list[list[Any]]) -> Any:
    """Return a matrix from its elements; matrices on the last two axes, where these are arrays."""
    return np.stack([np.stack(np.broadcast_arrays(*row), axis=-1) for row in rows], axis=-2)


def from_angles(angles: Any) -> Any:
    """Return the rotations (n, 3, 3) by three angles each, about x, z and y."""
    x, z, y = angles[:, 0], angles[:, 1], angles[:, 2]
    one, zero = np.ones(len(angles)), np.zeros(len(angles))
    about_x = matrix([[one, zero, zero], [zero, np.cos(x), -np.sin(x)], [zero, np.sin(x), np.cos(x)]])
    about_y = matrix([[np.cos(y), zero, np.sin(y)], [zero, one, zero], [-np.sin(y), zero, np.cos(y)]])
    about_z = matrix([[np.cos(z), -np.sin(z), zero], [np.sin(z), np.cos(z), zero], [zero, zero, one]])
    return about_z @ about_y @ about_x


def about_axis(axis: Any) -> Any:
    """Return the rotation about an axis by its length."""
    angle = np.sqrt(np.sum(axis**2))
    x, y, z = axis / angle
    s, c = np.sin(angle), np.cos(angle)
    return matrix(
        [
            [x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
            [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
            [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c],
        ]
    )


def joint_angles(theta: Any, bones: int) -> Any:
    """Return the angles of all bones: of a finger's first bone two can turn, of the next two one."""
    angles = np.zeros((bones, 3), like=theta)
    for finger in range(FINGERS):
        first, parameters = 2 + 4 * finger, theta[6 + 4 * finger : 10 + 4 * finger]
        angles[first, :2] = parameters[:2]
        angles[first + 1, 0] = parameters[2]
        angles[first + 2, 0] = parameters[3]
    return angles


def vertices(theta: Any, model: dict[str, Any]) -> Any:
    """Return the places of the skin's vertices (n, 3)."""
    parents, base = model["parents"], model["base_relatives"]
    turns = np.zeros((len(parents), 4, 4), like=theta)
    turns[:, :3, :3] = from_angles(joint_angles(theta, len(parents)))
    turns[:, 3, 3] = 1.0
    relatives = base @ turns
    absolutes: list[Any] = []
    for bone, parent in enumerate(parents):
        absolutes.append(relatives[bone] if parent < 0 else absolutes[parent] @ relatives[bone])
    transforms = np.stack(absolutes) @ model["inverse_base_absolutes"]
    moved = transforms[:, :3] @ model["base_positions"].T
    skin = np.sum(moved * model["weights"].T[:, None, :], axis=0)
    if model["is_mirrored"]:
        skin = skin * np.array([[-1.0], [1.0], [1.0]])
    return (about_axis(theta[:3]) @ skin).T + theta[3:6]


def errors(theta: Any, us: Any, data: dict[str, Any]) -> Any:
    """Return the differences (3 n) between measured points and the skin.

    Parameters
    ----------
    theta : array
        Rotation, translation, and four angles of each finger.
    us : array
        Where each point is in a triangle of the skin (n, 2), or none: then points are at vertices.
    data : dict
        The points, what they belong to, and the model of the hand.
    """
    skin = vertices(theta, data["model"])
    if not len(us):
        return (data["points"] - skin[data["correspondences"]]).reshape(-1)
    corners = data["model"]["triangles"][data["correspondences"]]
    u, v = us[:, :1], us[:, 1:]
    found = u * skin[corners[:, 0]] + v * skin[corners[:, 1]] + (1 - u - v) * skin[corners[:, 2]]
    return (data["points"] - found).reshape(-1)


def jacobian(theta: Any, us: Any, data: dict[str, Any]) -> Any:
    """Return the Jacobian of `errors`: two columns for the place in the triangle, where it has one, and 26.

    The error of a point depends on its own place alone: moving all places by the same amount gives the
    columns of all of them.
    """
    if not len(us):
        return tape.jacobian(errors)(theta, us, data)
    by_shift, by_theta = tape.jacobian(lambda shift, theta: errors(theta, us + shift, data), argnums=(0, 1))(
        np.zeros(2), theta
    )
    return np.concatenate([by_shift, by_theta], axis=1)


def example(seed: int = 0, n: int = 100, points: int = 544, is_complicated: bool = False) -> Input:
    """Return an input: n measured points, and a hand of 22 bones with so many vertices on its skin.

    The files of GradBench are not needed: rigid transforms, weights that sum to one for four bones a vertex.
    """
    rng = np.random.default_rng(seed)
    bones = 1 + 4 * FINGERS + 1
    parents = [-1, *(bone - 1 if bone % 4 != 1 else 0 for bone in range(1, bones))]
    weights = np.zeros((points, bones))
    for row in weights:
        row[rng.choice(bones, 4, replace=False)] = rng.dirichlet(np.ones(4))
    return {
        "theta": (0.5 * rng.standard_normal(6 + 4 * FINGERS)).tolist(),
        "data": {
            "model": {
                "bone_count": bones,
                "bone_names": [f"bone{bone}" for bone in range(bones)],
                "parents": parents,
                "base_relatives": _rigid(rng, bones).tolist(),
                "inverse_base_absolutes": _rigid(rng, bones).tolist(),
                "base_positions": np.c_[rng.standard_normal((points, 3)), np.ones(points)].tolist(),
                "weights": weights.tolist(),
                "triangles": rng.integers(points, size=(2 * points, 3)).tolist(),
                "is_mirrored": False,
            },
            "correspondences": rng.integers(points, size=n).tolist(),
            "points": rng.standard_normal((n, 3)).tolist(),
        },
        "us": rng.random((n, 2)).tolist() if is_complicated else [],
    }


def _rigid(rng: np.random.Generator, count: int) -> np.ndarray:
    transforms = np.tile(np.eye(4), (count, 1, 1))
    transforms[:, :3, :3] = np.linalg.qr(rng.standard_normal((count, 3, 3)))[0]
    transforms[:, :3, 3] = rng.standard_normal((count, 3))
    return transforms


def _prepare(message: Input) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    given, model = message["data"], message["data"]["model"]
    arrays = {
        name: np.array(model[name], float)
        for name in ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    }
    hand = {
        "parents": tuple(map(int, model["parents"])),
        **arrays,
        "triangles": np.array(model["triangles"], int).reshape(-1, 3),
        "is_mirrored": bool(model["is_mirrored"]),
    }
    data = {
        "model": hand,
        "correspondences": np.array(given["correspondences"], int),
        "points": np.array(given["points"], float),
    }
    return np.array(message["theta"], float), np.array(message["us"], float).reshape(-1, 2), data


FUNCTIONS = {
    "objective": Function(_prepare, tape.compile(errors)),
    "jacobian": Function(_prepare, tape.compile(jacobian)),
}
