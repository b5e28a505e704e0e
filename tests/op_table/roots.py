"""Polynomials and their roots."""

from typing import Any

import numpy as np

from tests.op_table.case import Argument, Case, complexes, real


def around(*center: complex) -> Argument:
    """Coefficients close to given ones."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.array(center) + rng.uniform(-0.1, 0.1, shape)

    return Argument((len(center),), draw)


def roots(ns: Any, p: Any) -> Any:
    return ns.roots([p[i] for i in range(len(p))])  # NumPy would read each to find out whom to ask


# "ints" marks what NumPy does not compute in half precision.

CASES = [
    Case("poly like ints", lambda ns, x: ns.poly([x[0], x[1], x[2]]), real(3)),
    Case("poly complex", lambda ns, x: ns.poly([x[0], x[1]]), complexes(2)),
    Case("poly conjugates", lambda ns, x: ns.poly([x, ns.conj(x)]), complexes()),
    Case("roots like ints", roots, around(1.0, 0.5, -4.0)),
    Case("roots complex like ints", roots, around(1.0, 0.5, 2.0)),
    Case("roots of complex", roots, around(1.0, 1.0j, -3.0 + 1.0j)),
    Case("roots zeros like ints", lambda ns, p: roots(ns, ns.concatenate([np.zeros(1), p, np.zeros(2)])),
         around(1.0, 0.5, -4.0)),
]  # fmt: skip
