"""The kernels of `tape.kernels` against plain NumPy, over sizes.

Where a kernel has a limit (the size of a matrix, the number of classes), rows on both sides of it are
measured: below it the kernel should win, above it both run NumPy and should be equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_REDUCTIONS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((32, 10), (10,)),
    ((32, 32), (32,)),
    ((128, 784), (784,)),
    ((1000, 1000), (10**3,)),
    ((100_000, 10), (10,)),
    ((10, 100_000), (100_000,)),
    ((1000, 1000), (1000, 1)),
    ((64, 64, 64), (64, 1, 64)),
    ((64, 64, 64), (1, 64, 1)),
    ((1000, 1000), (1, 1)),
)
_TOTALS = ((32,), (1 << 16,), (10, 10), (32, 32), (64, 64), (128, 128), (1000, 1000), (16, 16, 16))
_LOGITS = ((1, 10), (32, 10), (512, 10), (100_000, 10), (64, 64), (64, 100), (128, 1000))


@workload("reduce")
def reduce(seed: int) -> list[Case]:
    """sum_to_shape, the sum that undoes broadcasting, against np.sum."""
    rng = np.random.default_rng(seed)
    return [
        _reduce_case(rng.standard_normal(shape).astype(dtype), target)
        for shape, target in _REDUCTIONS
        for dtype in (np.float32, np.float64)
    ]


@workload("accumulate")
def accumulate(seed: int) -> list[Case]:
    """accumulate, the sum of adjoints in place, against np.add(out=), float32."""
    rng = np.random.default_rng(seed)
    return [_accumulate_case(rng.random(shape).astype(np.float32)) for shape in _TOTALS]


@workload("cross_entropy")
def cross_entropy(seed: int) -> list[Case]:
    """indexed_losses and indexed_excess (their derivative) against NumPy, float32."""
    rng = np.random.default_rng(seed)
    cases = []
    for name, by_hand in (("indexed_losses", _losses_by_hand), ("indexed_excess", _excess_by_hand)):
        for rows, classes in _LOGITS:
            logits = rng.standard_normal((rows, classes)).astype(np.float32)
            labels = rng.integers(classes, size=rows)
            cases.append(_cross_entropy_case(name, by_hand, logits, labels))
    return cases


def _reduce_case(x: np.ndarray, target: tuple[int, ...]) -> Case:
    def make_tape() -> Call:
        from tape.kernels.reduce import sum_to_shape

        return lambda: [sum_to_shape(x, target)]

    keepdims = x.ndim == len(target)
    axes = tuple(i for i in range(x.ndim) if not keepdims or target[i] == 1)[: x.ndim - len(target) or None]
    label = f"{x.shape} to {target} {x.dtype}"
    return Case(
        label, {"tape": make_tape, "numpy": lambda: lambda: [np.sum(x, axis=axes, keepdims=keepdims)]}
    )


def _accumulate_case(contribution: np.ndarray) -> Case:
    def make_tape() -> Call:
        from tape.kernels.accumulate import accumulate

        total = np.zeros_like(contribution)

        def call() -> list[Any]:
            accumulate(total, contribution)
            return [total]

        return call

    def make_numpy() -> Call:
        total = np.zeros_like(contribution)
        return lambda: [np.add(total, contribution, out=total)]

    return Case(f"{contribution.shape}", {"tape": make_tape, "numpy": make_numpy})


def _cross_entropy_case(
    name: str, by_hand: Callable[..., Any], logits: np.ndarray, labels: np.ndarray
) -> Case:
    def make_tape() -> Call:
        from tape.kernels import cross_entropy

        function = getattr(cross_entropy, name)
        if name == "indexed_excess":
            return lambda: [function(logits, labels)]
        return lambda: function(logits, labels)

    def make_numpy() -> Call:
        rows = np.arange(len(labels))
        return lambda: by_hand(logits, rows, labels)

    return Case(f"{name} {logits.shape}", {"tape": make_tape, "numpy": make_numpy}, tolerance=1e-4)


def _losses_by_hand(logits: Any, rows: Any, labels: Any) -> list[Any]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    chosen = shifted[rows, labels]
    losses = np.log(np.exp(shifted, out=shifted).sum(axis=1)) - chosen
    return [losses, float(losses.sum())]


def _excess_by_hand(logits: Any, rows: Any, labels: Any) -> list[Any]:
    weights = logits - logits.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=1, keepdims=True)
    weights[rows, labels] -= 1
    return [weights]
