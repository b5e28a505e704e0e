"""The objectives of GradBench's evaluations in loops over numbers, from the inputs as GradBench sends them.

They know nothing of tape and share nothing with `benchmarks.gradbench`; derivatives are differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, permutations
from typing import Any

import numpy as np
from scipy.special import multigammaln


def llsq(x: np.ndarray, n: int) -> float:
    total = 0.0
    for i in range(n):
        t = -1 + i * 2 / (n - 1)
        total += (np.sign(t) - sum(x[j] * t**j for j in range(len(x)))) ** 2
    return total / 2


def lse(x: np.ndarray) -> float:
    return math.log(sum(math.exp(v) for v in x))


def gmm(alpha: Any, mu: Any, q: Any, lower: Any, data: dict[str, Any]) -> float:
    d, k, gamma, m = data["d"], data["k"], data["gamma"], data["m"]
    weights = np.exp(alpha) / np.sum(np.exp(alpha))
    factors = np.zeros((k, d, d))
    for component in range(k):
        below = iter(lower[component])
        for column in range(d):
            factors[component, column, column] = math.exp(q[component][column])
            for row in range(column + 1, d):
                factors[component, row, column] = next(below)
    result = 0.0
    for x in np.array(data["x"]):
        densities = [
            np.linalg.det(factor)
            / (2 * math.pi) ** (d / 2)
            * math.exp(-np.sum((factor @ (x - mean)) ** 2) / 2)
            for factor, mean in zip(factors, mu, strict=True)
        ]
        result += math.log(weights @ densities)
    freedom = d + m + 1
    for factor in factors:
        result -= gamma**2 / 2 * np.sum(factor**2) - m * math.log(np.linalg.det(factor))
        result += freedom * d * (math.log(gamma) - math.log(2) / 2) - multigammaln(freedom / 2, d)
    return float(result)


def det(matrix: np.ndarray) -> float:
    size, total = len(matrix), 0.0
    for order in permutations(range(size)):
        inversions = sum(order[i] > order[j] for j in range(size) for i in range(j))
        total += (-1) ** inversions * math.prod(matrix[i, order[i]] for i in range(size))
    return total


def ode(x: np.ndarray, s: int) -> np.ndarray:
    y, h = [0.0] * len(x), 2 / s

    def slope(y: list[float]) -> list[float]:
        return [x[0], *(x[i] * y[i - 1] for i in range(1, len(x)))]

    def moved(y: list[float], k: list[float], by: float) -> list[float]:
        return [a + by * b for a, b in zip(y, k, strict=True)]

    for _ in range(s):
        k1 = slope(y)
        k2 = slope(moved(y, k1, h / 2))
        k3 = slope(moved(y, k2, h / 2))
        k4 = slope(moved(y, k3, h))
        y = [y[i] + h * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) / 6 for i in range(len(x))]
    return np.array(y)


def kmeans(centroids: np.ndarray, points: np.ndarray) -> float:
    return sum(min(sum((c - p) ** 2) for c in centroids) for p in points)


def kmeans_step(centroids: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The distance of each centroid to the mean of its points: what Newton's method is for squares."""
    nearest = np.array([np.argmin([sum((c - p) ** 2) for c in centroids]) for p in points])
    return np.array([c - points[nearest == j].mean(axis=0) for j, c in enumerate(centroids)])


def lstm(main: Any, extra: Any, state: Any, sequence: Any) -> float:
    bits = len(extra[0])
    state = [list(row) for row in state]
    total = 0.0
    for now, following in pairwise(sequence):
        x = [now[i] * extra[0][i] for i in range(bits)]
        for layer in range(len(main) // 2):
            weight, bias = main[2 * layer], main[2 * layer + 1]
            hidden, cell = state[2 * layer], state[2 * layer + 1]
            for i in range(bits):
                gate = [
                    weight[g * bits + i] * (x[i], hidden[i], x[i], hidden[i])[g] + bias[g * bits + i]
                    for g in range(4)
                ]
                forget, ingate, outgate = (1 / (1 + math.exp(-v)) for v in gate[:3])
                cell[i] = cell[i] * forget + ingate * math.tanh(gate[3])
                hidden[i] = outgate * math.tanh(cell[i])
            x = list(hidden)
        y = [x[i] * extra[1][i] + extra[2][i] for i in range(bits)]
        norm = math.log(sum(math.exp(v) for v in y) + 2)
        total += sum(following[i] * (y[i] - norm) for i in range(bits))
    return -total / (bits * (len(sequence) - 1))


def ba(cameras: Any, points: Any, weights: Any, features: Any, seen: Any) -> np.ndarray:
    """All errors in one vector: two of each observation, then one of each weight."""
    found = []
    for (c, p), weight, feature in zip(seen, weights, features, strict=True):
        camera = cameras[c]
        x = points[p] - camera[3:6]
        angle = np.linalg.norm(camera[:3])
        axis = camera[:3] / angle
        cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        x = (np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross) @ x
        image = x[:2] / x[2]
        r2 = image @ image
        image = image * (1 + camera[9] * r2 + camera[10] * r2**2)
        found.extend(weight * (image * camera[6] + camera[7:9] - feature))
    return np.array([*found, *(1 - w * w for w in weights)])


def ht(theta: np.ndarray, us: np.ndarray, data: dict[str, Any]) -> np.ndarray:
    model = data["model"]
    pose = np.zeros((model["bone_count"] + 3, 3))
    pose[0], pose[2] = theta[:3], theta[3:6]
    take, at = iter(theta[6:]), 5
    for _ in range(5):
        for joint in range(3):
            pose[at, 0] = next(take)
            if joint == 0:
                pose[at, 1] = next(take)
            at += 1
        at += 1
    absolutes = []
    skin = np.zeros((len(model["base_positions"]), 4))
    for bone, parent in enumerate(model["parents"]):
        tx, tz, ty = pose[3 + bone]
        turn = np.eye(4)
        turn[:3, :3] = _turn(2, tz) @ _turn(1, ty) @ _turn(0, tx)
        relative = np.array(model["base_relatives"][bone]) @ turn
        absolutes.append(relative if parent == -1 else absolutes[parent] @ relative)
        transform = absolutes[bone] @ np.array(model["inverse_base_absolutes"][bone])
        moved = np.array(model["base_positions"]) @ transform.T
        skin += np.array(model["weights"])[:, bone : bone + 1] * moved
    if model["is_mirrored"]:
        skin[:, 0] *= -1
    x, y, z = axis = pose[0] / np.linalg.norm(pose[0])
    angle = np.linalg.norm(pose[0])
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    whole = (
        np.outer(axis, axis) * (1 - math.cos(angle)) + np.eye(3) * math.cos(angle) + math.sin(angle) * cross
    )
    places = skin[:, :3] @ whole.T + pose[2]
    found = []
    for i, (point, vertex) in enumerate(zip(data["points"], data["correspondences"], strict=True)):
        if len(us):
            a, b, c = model["triangles"][vertex]
            u, v = us[i]
            found.extend(point - (u * places[a] + v * places[b] + (1 - u - v) * places[c]))
        else:
            found.extend(point - places[vertex])
    return np.array(found)


def _turn(axis: int, angle: float) -> np.ndarray:
    i, j = ((1, 2), (2, 0), (0, 1))[axis]
    turn = np.eye(3)
    turn[i, i] = turn[j, j] = math.cos(angle)
    turn[j, i] = math.sin(angle)
    turn[i, j] = -turn[j, i]
    return turn


def differences(f: Callable[[np.ndarray], Any], x: Any, step: float = 1e-4) -> np.ndarray:
    """Return the Jacobian by differences of fourth order; the axes of ``x`` come last."""
    x = np.array(x, float)
    columns = []
    for i in range(x.size):
        e = np.zeros(x.size)
        e[i] = step
        e = e.reshape(x.shape)
        near = np.subtract(f(x + e), f(x - e))
        far = np.subtract(f(x + 2 * e), f(x - 2 * e))
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=-1).reshape(np.shape(columns[0]) + x.shape)
