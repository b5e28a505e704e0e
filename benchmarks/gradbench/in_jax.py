"""The derivatives of the evaluations in JAX, as GradBench's tool "jax" and JAX's documentation write them.

Each maker takes the loaded module and the arguments of the evaluation's function, and returns the function to
put under ``jit`` with the arguments that it traces. Loops are JAX's own; where reverse mode cannot pass
through one of them, forward mode does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import multigammaln

__all__ = ["FUNCTIONS"]

Made = tuple[Callable[..., Any], tuple[Any, ...]]


def _llsq(jax: Any, x: Any, n: int) -> Made:
    jnp = jax.numpy

    def objective(x: Any) -> Any:
        t = jnp.linspace(-1.0, 1.0, n)
        powers = jnp.cumprod(jnp.broadcast_to(t[:, None], (n, len(x))).at[:, 0].set(1.0), axis=1)
        return jnp.sum((jnp.sign(t) - powers @ x) ** 2) / 2

    return jax.grad(objective), (x,)


def _lse(jax: Any, x: Any) -> Made:
    jnp = jax.numpy

    def objective(x: Any) -> Any:
        largest = jnp.max(x)
        return largest + jnp.log(jnp.sum(jnp.exp(x - largest)))

    return jax.grad(objective), (x,)


def _gmm(jax: Any, params: dict[str, Any], x: Any, gamma: float, m: int) -> Made:
    jnp, logsumexp = jax.numpy, jax.scipy.special.logsumexp

    def objective(alpha: Any, mu: Any, q: Any, lower: Any, x: Any) -> Any:
        (n, d), k = x.shape, len(alpha)
        columns, rows = np.triu_indices(d, 1)
        diagonal, sums = jnp.exp(q), jnp.sum(q, axis=1)
        factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(lower)
        centred = x[:, None, :] - mu
        scaled = diagonal * centred + jnp.einsum("kij,nkj->nki", factors, centred)
        inner = alpha + sums - jnp.sum(scaled**2, axis=2) / 2
        likelihood = jnp.sum(logsumexp(inner, axis=1)) - n * logsumexp(alpha)
        freedom = d + m + 1
        constant = freedom * d * math.log(gamma / math.sqrt(2)) - float(multigammaln(freedom / 2, d))
        squares = jnp.sum(diagonal**2) + jnp.sum(lower**2)
        prior = k * constant - gamma**2 / 2 * squares + m * jnp.sum(sums)
        return likelihood - n * d / 2 * math.log(2 * math.pi) + prior

    return jax.grad(objective, argnums=(0, 1, 2, 3)), (
        *(params[name] for name in ("alpha", "mu", "q", "l")),
        x,
    )


def _det(jax: Any, matrix: Any) -> Made:
    def determinant(matrix: Any) -> Any:
        @cache  # or tracing 13,700 minors and compiling them takes minutes
        def minor(row: int, columns: tuple[int, ...]) -> Any:
            if len(columns) == 1:
                return matrix[row, columns[0]]
            return sum(
                (-1) ** k * matrix[row, column] * minor(row + 1, columns[:k] + columns[k + 1 :])
                for k, column in enumerate(columns)
            )

        return minor(0, tuple(range(len(matrix))))

    return jax.grad(determinant), (matrix,)


def _ode(jax: Any, x: Any, s: int) -> Made:
    jnp = jax.numpy

    def last(x: Any) -> Any:
        h = 2.0 / s

        def slope(y: Any) -> Any:
            return x * jnp.concatenate([jnp.ones(1), y[:-1]])

        def step(y: Any, _: Any) -> tuple[Any, None]:
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            k4 = slope(y + h * k3)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

        return jax.lax.scan(step, jnp.zeros(len(x)), None, length=s)[0][-1]

    return jax.grad(last), (x,)


def _kmeans(jax: Any, centroids: Any, points: Any) -> Made:
    jnp = jax.numpy

    def cost(centroids: Any, points: Any) -> Any:
        squares = jnp.sum(points**2, axis=1)[:, None] + jnp.sum(centroids**2, axis=1)
        return jnp.sum(jnp.min(squares - 2 * points @ centroids.T, axis=1))

    def direction(centroids: Any, points: Any) -> Any:
        gradient = jax.grad(partial(cost, points=points))
        found, diagonal = jax.jvp(gradient, (centroids,), (jnp.ones_like(centroids),))
        return found / diagonal

    return direction, (centroids, points)


def _lstm(jax: Any, main: Any, extra: Any, state: Any, sequence: Any) -> Made:
    jnp = jax.numpy

    def objective(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
        layers = len(main) // 2
        weights, biases = jnp.moveaxis(main.reshape(layers, 2, 4, -1), 1, 0)

        def step(states: Any, character: Any) -> tuple[Any, Any]:
            x, after = character * extra[0], []
            for weight, bias, (hidden, cell) in zip(weights, biases, states, strict=True):
                gates = jnp.stack((x, hidden, x, hidden)) * weight + bias
                forget, ingate, outgate = jax.nn.sigmoid(gates[:3])
                cell = cell * forget + ingate * jnp.tanh(gates[3])
                x = outgate * jnp.tanh(cell)
                after.append((x, cell))
            return after, x * extra[1] + extra[2]

        states = list(zip(state[::2], state[1::2], strict=True))
        _, predicted = jax.lax.scan(step, states, sequence[:-1])
        scores = predicted - jnp.log(jnp.sum(jnp.exp(predicted), axis=1, keepdims=True) + 2)
        return -jnp.mean(sequence[1:] * scores)

    return jax.grad(objective, argnums=(0, 1)), (main, extra, state, sequence)


def _ba(jax: Any, cameras: Any, points: Any, weights: Any, features: Any, seen: Any) -> Made:
    jnp = jax.numpy

    def error(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
        x = point - camera[3:6]
        angle = jnp.sqrt(jnp.sum(camera[:3] ** 2))
        axis = camera[:3] / angle
        along = jnp.dot(axis, x) * (1 - jnp.cos(angle))
        x = x * jnp.cos(angle) + jnp.cross(axis, x) * jnp.sin(angle) + axis * along
        image = x[:2] / x[2]
        square = jnp.sum(image**2)
        distorted = image * (1 + camera[9] * square + camera[10] * square**2)
        return weight * (distorted * camera[6] + camera[7:9] - feature)

    def jacobian(cameras: Any, points: Any, weights: Any, features: Any, seen: Any) -> Any:
        by_camera, by_point, by_weight = jax.vmap(jax.jacrev(error, argnums=(0, 1, 2)))(
            cameras[seen[:, 0]], points[seen[:, 1]], weights, features
        )
        rows = jnp.concatenate([by_camera, by_point, by_weight[:, :, None]], axis=2)
        return jnp.concatenate([rows.reshape(-1), -2 * weights])

    return jacobian, (cameras, points, weights, features, seen)


def _ht(jax: Any, theta: Any, us: Any, data: dict[str, Any]) -> Made:
    jnp, model = jax.numpy, data["model"]

    def turns(axis: int, angle: Any) -> Any:
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn = jnp.broadcast_to(jnp.eye(4), (len(angle), 4, 4))
        s, c = jnp.sin(angle), jnp.cos(angle)
        return turn.at[:, [i, j], [i, j]].set(c[:, None]).at[:, j, i].set(s).at[:, i, j].set(-s)

    def skin_of(theta: Any) -> Any:
        bones, first = len(model["parents"]), 2 + 4 * np.arange(5)
        fingers = theta[6:].reshape(5, 4)
        angles = jnp.zeros((bones, 3)).at[first, :2].set(fingers[:, :2])
        angles = angles.at[first + 1, 0].set(fingers[:, 2]).at[first + 2, 0].set(fingers[:, 3])
        turned = turns(2, angles[:, 1]) @ turns(1, angles[:, 2]) @ turns(0, angles[:, 0])
        relatives, absolutes = model["base_relatives"] @ turned, []
        for bone, parent in enumerate(model["parents"]):
            absolutes.append(relatives[bone] if parent < 0 else absolutes[parent] @ relatives[bone])
        transforms = jnp.stack(absolutes) @ model["inverse_base_absolutes"]
        moved = transforms[:, :3] @ model["base_positions"].T
        skin = jnp.sum(moved * model["weights"].T[:, None, :], axis=0)
        skin = skin * np.array([[-1.0 if model["is_mirrored"] else 1.0], [1.0], [1.0]])
        angle = jnp.sqrt(jnp.sum(theta[:3] ** 2))
        x, y, z = axis = theta[:3] / angle
        cross = jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        s, c = jnp.sin(angle), jnp.cos(angle)
        rotation = jnp.outer(axis, axis) * (1 - c) + jnp.eye(3) * c + cross * s
        return (rotation @ skin).T + theta[3:6]

    def errors(shift: Any, theta: Any) -> Any:
        skin = skin_of(theta)
        if not len(us):
            return (data["points"] - skin[data["correspondences"]]).reshape(-1)
        corners, moved = model["triangles"][data["correspondences"]], us + shift
        u, v = moved[:, :1], moved[:, 1:]
        found = u * skin[corners[:, 0]] + v * skin[corners[:, 1]] + (1 - u - v) * skin[corners[:, 2]]
        return (data["points"] - found).reshape(-1)

    def jacobian(theta: Any) -> Any:
        if not len(us):
            return jax.jacfwd(errors, argnums=1)(jnp.zeros(2), theta)
        return jnp.concatenate(jax.jacfwd(errors, argnums=(0, 1))(jnp.zeros(2), theta), axis=1)

    return jacobian, (theta,)


def _argmin(jax: Any, value_and_grad: Callable[[Any], Any], start: Any) -> Any:
    """Search as `benchmarks.gradbench.descent.argmin` does."""
    jnp = jax.numpy
    length = jnp.linalg.norm

    def step(state: Any) -> Any:
        x, value, gradient, rate, successes, _ = state
        grows = successes == 10
        moved = x - rate * gradient
        moved_value, moved_gradient = value_and_grad(moved)
        is_done = ~grows & (length(x - moved) <= 1e-5)
        is_better = ~grows & ~is_done & (moved_value < value)
        is_worse = ~grows & ~is_done & ~is_better
        return (
            jnp.where(is_better, moved, x),
            jnp.where(is_better, moved_value, value),
            jnp.where(is_better, moved_gradient, gradient),
            jnp.where(grows, 2 * rate, jnp.where(is_worse, rate / 2, rate)),
            jnp.where(is_better, successes + 1, 0),
            is_done,
        )

    first = (start, *value_and_grad(start), jnp.asarray(1e-5), jnp.asarray(0), jnp.asarray(False))
    return jax.lax.while_loop(lambda state: (length(state[2]) > 1e-5) & ~state[5], step, first)[0]


def _forward(jax: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def value_and_grad(x: Any) -> Any:
        along = jax.vmap(lambda direction: jax.jvp(f, (x,), (direction,)), out_axes=(None, 0))
        return along(jax.numpy.eye(len(x)))

    return value_and_grad


def _particle(jax: Any, w: Any) -> Made:
    jnp = jax.numpy

    def potential(x: Any, w: Any) -> Any:
        return 1 / jnp.hypot(x[0] - 10, x[1] - (10 - w)) + 1 / jnp.hypot(x[0] - 10, x[1])

    def miss(w: Any) -> Any:
        def step(state: Any) -> Any:
            x, v = state
            return x + 0.1 * v, v - 0.1 * jax.grad(potential)(x, w[0])

        start = (jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0]))
        x, v = jax.lax.while_loop(lambda state: state[0][1] + 0.1 * state[1][1] > 0, step, start)
        return (x[0] - x[1] / v[1] * v[0]) ** 2

    return lambda w: _argmin(jax, _forward(jax, miss), w)[0], (w,)


def _saddle(jax: Any, start: Any) -> Made:
    jnp = jax.numpy

    def height(p: Any, q: Any) -> Any:
        return jnp.sum(p**2) - jnp.sum(q**2)

    def point(start: Any) -> Any:
        def highest(p: Any) -> Any:
            return _argmin(jax, jax.value_and_grad(lambda q: -height(p, q)), start)

        p = _argmin(jax, _forward(jax, lambda p: height(p, highest(p))), start)
        return jnp.concatenate([p, highest(p)])

    return point, (start,)


FUNCTIONS: Mapping[str, Callable[..., Made]] = {
    "llsq": _llsq,
    "lse": _lse,
    "gmm": _gmm,
    "det": _det,
    "ode": _ode,
    "kmeans": _kmeans,
    "lstm": _lstm,
    "ba": _ba,
    "ht": _ht,
    "particle": _particle,
    "saddle": _saddle,
}
"""By evaluation."""
