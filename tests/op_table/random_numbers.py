"""Samples of `tape.random` that are functions of standard numbers, of a new generator in each call.

Those that move at a fixed probability are no functions that differences could see: see
`tests.test_random_numbers`.
"""

from typing import Any

import numpy as np

import tape
from tests import naive
from tests.op_table.case import Case, Domain, _domain, grid, positive, real

low = _domain(lambda rng, s: rng.uniform(-2, -1, s))
past_one = _domain(lambda rng, s: rng.uniform(1.2, 3, s))

MOVED: dict[str, tuple[Domain, ...]] = {
    "normal": (real, positive), "uniform": (low, positive), "laplace": (real, positive),
    "logistic": (real, positive), "gumbel": (real, positive), "exponential": (positive,),
    "lognormal": (real, positive), "rayleigh": (positive,), "weibull": (past_one,), "pareto": (past_one,),
    "power": (past_one,), "triangular": (low, real, past_one),
}  # fmt: skip
SHAPES = {1: (((),), ((2, 3),)), 2: (((2, 3), (3,)), ((3, 1), (4,))), 3: (((2, 3), (), (3,)),)}


def of(name: str, **options: Any) -> Any:
    """A sample in the dtype of its parameters, of a new generator."""

    def call(ns: Any, *parameters: Any) -> Any:
        dtype = np.result_type(*parameters)
        if ns is naive:
            plain = getattr(np.random.default_rng(4), name)(*parameters, **options)
            return np.asarray(plain, dtype)[()]
        return getattr(tape.random.default_rng(4), name)(*parameters, **options, dtype=dtype)

    return call


def ordered(method: str, *arguments: Any) -> Any:
    """Elements of an array in a random order."""
    return lambda ns, x: getattr((np if ns is naive else tape).random.default_rng(4), method)(x, *arguments)


CASES = [
    *(
        Case(
            f"random.{method}",
            of(method),
            *(domain(*shape) for domain, shape in zip(domains, shapes, strict=True)),
        )
        for method, domains in MOVED.items()
        for shapes in SHAPES[len(domains)]
    ),
    Case("random.permutation", ordered("permutation"), grid(4, 3)),
    Case("random.choice", ordered("choice", (2, 3)), grid(4, 3)),
]
