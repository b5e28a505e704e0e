"""Random functions with sparse derivatives: chains of operations whose weights are generic.

Weights are random in every step, so that nothing cancels: a derivative that may differ from zero does.
``python -m tests.sparse_programs 10000`` compares the patterns of that many functions with the numbers.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

import tape


def _weights(rng: np.random.Generator, *shape: int) -> Any:
    return rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)


def _square(v: Any) -> Any:
    """A vector as a matrix with two rows."""
    return np.reshape(v[: len(v) // 2 * 2], (2, -1))


def _written(v: Any, k: int, u: Any) -> Any:
    new = np.zeros(len(v), like=v)
    new[:] = v
    new[:k] = u[:k]
    return new


def _added(v: Any, places: Any) -> Any:
    new = np.zeros(len(v), like=v)
    np.add.at(new, places, v)
    return new


def _run(v: Any) -> Any:
    return tape.scan(lambda s, e: (np.sin(s) * e, s * e), 0.7, v)[1]


def _looked_up(v: Any) -> Any:
    return tape.fori_loop(0, len(v) - 1, lambda i, s: s * 0.9 + tape.ops.getitem(v, i), v * v)


def _rolled(v: Any) -> Any:
    w = v
    for _ in range(12):
        w = np.sin(w) * v
    return w


def _names(code: CodeType) -> list[str]:
    """The names that a function reads, and those in it."""
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return [*code.co_names, *inner]


# Each line takes a generator for constants; it returns a function of two vectors.
STEPS: list[Callable[[np.random.Generator], Callable[[Any, Any], Any]]] = [
    lambda rng: lambda v, u: np.sin(v),
    lambda rng: lambda v, u: v * np.exp(0.3 * v),
    lambda rng: lambda v, u: 1 / (2 + v**2),
    lambda rng: lambda v, u: np.roll(v, 1) * v,
    lambda rng: lambda v, u: v[::-1],
    lambda rng: lambda v, u: v[1:] * v[:-1],
    lambda rng: lambda v, u: v[::2],
    lambda rng: (lambda places: lambda v, u: v[places % len(v)])(rng.integers(0, 9, 5)),
    lambda rng: (lambda places: lambda v, u: np.take(v, places % len(v)))(rng.integers(0, 9, 6)),
    lambda rng: lambda v, u: np.concatenate([v, u]),
    lambda rng: lambda v, u: np.stack([v[:2], v[-2:]], axis=1).ravel(),
    lambda rng: lambda v, u: np.where(np.arange(len(v)) % 2 == 0, v, v * v),
    lambda rng: lambda v, u: np.repeat(v[:4], 2),
    lambda rng: lambda v, u: np.pad(v, 1, constant_values=0.7),
    lambda rng: lambda v, u: np.tril(np.outer(v[:3], u[:3])).ravel(),
    lambda rng: lambda v, u: np.diag(v[:3]).ravel() + v[0],
    lambda rng: lambda v, u: np.diagonal(np.outer(v, v)),
    lambda rng: lambda v, u: np.transpose(_square(v)).ravel(),
    lambda rng: lambda v, u: np.sum(_square(v), axis=0),
    lambda rng: lambda v, u: np.mean(_square(v) ** 2, axis=1),
    lambda rng: lambda v, u: np.prod(_square(v), axis=0),
    lambda rng: lambda v, u: np.cumsum(v[:4]),
    lambda rng: lambda v, u: np.cumprod(v[:4]),
    lambda rng: lambda v, u: np.diff(v, n=2) if len(v) > 3 else v,
    lambda rng: (lambda w: lambda v, u: np.convolve(v, w, "same"))(_weights(rng, 3)),
    lambda rng: (lambda a: lambda v, u: a @ v[:2])(_weights(rng, 3, 2)),
    lambda rng: (lambda a: lambda v, u: (_square(v).T @ a).ravel())(_weights(rng, 2, 2)),
    lambda rng: lambda v, u: np.eye(len(v), k=1) @ (v * v) + v,
    lambda rng: lambda v, u: (_square(v).T @ _square(v)).ravel()[:6],
    lambda rng: lambda v, u: np.einsum("ij,kj->ik", _square(v), _square(v)).ravel(),
    lambda rng: lambda v, u: np.einsum("ij->j", _square(v)),
    lambda rng: lambda v, u: np.dot(_square(v), _square(v)[0]),
    lambda rng: lambda v, u: np.cross(v[:3], v[-3:]) if len(v) > 5 else v,
    lambda rng: lambda v, u: np.kron(v[:2], u[:3]),
    lambda rng: lambda v, u: v + u[0],
    lambda rng: lambda v, u: v * np.sum(u[:2]),
    lambda rng: lambda v, u: _written(v, 2, u),
    lambda rng: (lambda places: lambda v, u: _added(v, places[: len(v)] % len(v)))(rng.integers(0, 9, 99)),
    lambda rng: lambda v, u: tape.vmap(lambda row: row * row[0])(_square(v)).ravel(),
    lambda rng: lambda v, u: tape.checkpoint(lambda v: np.sin(v) * v[0])(v),
    lambda rng: lambda v, u: tape.compile(lambda v: v * v[-1])(v),
    lambda rng: lambda v, u: np.linalg.solve(np.eye(2) * 3 + 0.1, _square(v)).ravel(),
    lambda rng: lambda v, u: tape.ops.softmax(_square(v), axis=0).ravel(),
    lambda rng: lambda v, u: tape.ops.logsumexp(_square(v), axis=0),
    lambda rng: lambda v, u: np.tile(v[:3], 2),
    lambda rng: lambda v, u: np.moveaxis(np.reshape(np.tile(v[:2], 4), (2, 2, 2)), 0, -1).ravel(),
    lambda rng: lambda v, u: _run(v),
    lambda rng: lambda v, u: _looked_up(v),
    lambda rng: lambda v, u: _rolled(v),
]  # fmt: skip

_LONGEST = 12

ROUGH = frozenset(
    k
    for k, step in enumerate(STEPS)
    if {"_run", "_looked_up", "cross", "cumprod"} & set(_names(step.__code__))
)
"""Patterns of their second derivatives are larger than need be: elements count that are not used."""


def random_function(seed: int) -> tuple[Callable[[Any], Any], int, list[int]]:
    """Return a function of a vector, how long that is, and the numbers of its steps."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 10))
    chosen = rng.integers(0, len(STEPS), rng.integers(1, 6)).tolist()
    steps = [STEPS[k](rng) for k in chosen]
    sources = [(int(rng.integers(0, k + 1)), int(rng.integers(0, k + 1))) for k in range(len(steps))]
    scales = [_weights(rng, 200) for _ in steps]

    def f(x: Any) -> Any:
        made = [x]
        for step, (a, b), scale in zip(steps, sources, scales, strict=True):
            v, u = (w if np.size(w) >= 6 else np.concatenate([w, x]) for w in (made[a], made[b]))
            new = step(v, u)[:_LONGEST]
            made.append(new * scale[: np.size(new)] + 0.3)
        return made[-1]

    return f, n, chosen


def difference(seed: int, *, order: int) -> str | None:
    """Return how the derivatives of a random function and their pattern differ, if they do."""
    f, n, chosen = random_function(seed)
    rng = np.random.default_rng(seed + 10**6)
    if order == 2:
        w = _weights(rng, 200)
        g = f

        def f(x: Any) -> Any:
            out = g(x)
            return np.sum(w[: np.size(out)] * np.sin(out))

        sparse, dense = tape.sparse_hessian(f), tape.hessian(f)
    else:
        sparse, dense = tape.sparse_jacobian(f), tape.jacobian(f)
    numeric = False
    for _ in range(3):
        x = _weights(rng, n)
        expected = np.reshape(dense(x), (-1, n))
        found = sparse(x).toarray()
        scale = 1 + np.max(np.abs(expected), initial=0.0)
        if scale > 1e6:
            return None  # ill-conditioned: programs round otherwise
        if not np.max(np.abs(found - expected), initial=0.0) <= 1e-9 * scale:
            return f"seed {seed}, order {order}, steps {chosen}: {found} is not {expected}"
        numeric = numeric | (expected != 0)
    (structure,) = sparse.structures
    extra = structure.pattern.toarray() & ~numeric
    if np.any(extra) and not (order == 2 and ROUGH.intersection(chosen)):
        return f"seed {seed}, order {order}, steps {chosen}: zero at {np.argwhere(extra).tolist()[:5]}"
    return None


def main() -> None:
    """Compare as many random functions as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for seed in range(chosen.seed, chosen.seed + chosen.count):
        for order in (1, 2):
            try:
                one = difference(seed, order=order)
            except Exception as error:
                one = f"seed {seed}, order {order}: {type(error).__name__}: {error}"
            if one is not None:
                found.append(one)
                print(one)
    print(f"{chosen.count} functions, {len(found)} differences")


if __name__ == "__main__":
    main()
