"""Elementwise functions: their cost is the number of passes over memory.

Two of them, of 17 operations each. Exponentials and roots have SIMD loops in every library; sines and
cosines of doubles have none in NumPy and XLA, nor log1p in XLA: they take most of the second one's time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

_SIZE = 10**6
_BLOCK = 4096  # doubles: the dozen arrays in use at a time stay in a cache of 1 MB

Function = Callable[[Any, Any], Any]
Block = Callable[[np.ndarray, np.ndarray], float]


@workload("elementwise")
def elementwise(seed: int) -> list[Case]:
    """The sum of 17 elementwise operations on 10**6 doubles: value and gradient."""
    x = np.random.default_rng(seed).standard_normal(_SIZE)
    return [
        _case("exp, tanh, sqrt", _gated, _gated_by_hand, x),
        _case("sin, cos, log1p too", _waving, _waving_by_hand, x),
    ]


def _case(label: str, function: Function, by_hand: Block, x: np.ndarray) -> Case:
    def total(find_numpy: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda framework, x: function(find_numpy(framework), x).sum()

    losses = {
        "tape compiled": total(lambda tape: np),
        "tape": total(lambda tape: np),
        "torch": total(lambda torch: torch),
        "jax": total(lambda jax: jax.numpy),
        "autograd": total(lambda autograd: autograd.numpy),
    }
    contenders = {"numpy": partial(_in_blocks, by_hand, x), **gradients_by(losses, [x], [])}
    return Case(label, contenders, tolerance=1e-11, baseline="tape compiled")


def _gated(numpy: Any, x: Any) -> Any:
    half = 0.5 * x
    bell = numpy.exp(-half * x)
    bent = numpy.tanh(half + bell)
    norm = numpy.sqrt(1.0 + bent * bent)
    gate = 1.0 / (1.0 + numpy.exp(-x))
    return bent * gate - bell / norm + half


def _waving(numpy: Any, x: Any) -> Any:
    wave = numpy.sin(x)
    bell = numpy.exp(-0.5 * x * x)
    bent = numpy.tanh(wave + bell)
    norm = numpy.sqrt(1.0 + bent * bent)
    turned = numpy.cos(wave * numpy.log1p(bell))
    return bent - turned / norm + bell * x + wave


# ---- by hand: block by block, in place, what the derivative shares with the value computed once -------


def _in_blocks(by_hand: Block, x: np.ndarray) -> Call:
    """Run ``by_hand(block, out)``, which returns the sum over a block and writes the gradient to ``out``."""

    def call() -> list[Any]:
        value = 0.0
        gradient = np.empty_like(x)
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            value += by_hand(x[block], gradient[block])
        return [value, gradient]

    return call


def _gated_by_hand(x: np.ndarray, out: np.ndarray) -> float:
    """With r = bell / norm: f' = bent' (gate + r bent / norm^2) + bent gate (1 - gate) + r x + 1/2."""
    half = 0.5 * x
    bell = half * x
    np.negative(bell, out=bell)
    np.exp(bell, out=bell)
    bent = half + bell
    np.tanh(bent, out=bent)
    square = bent * bent
    square += 1
    ratio = np.sqrt(square)
    np.divide(bell, ratio, out=ratio)
    gate = np.negative(x)
    np.exp(gate, out=gate)
    gate += 1
    np.divide(1, gate, out=gate)
    value = float(bent @ gate - ratio.sum() + half.sum())

    np.multiply(ratio, bent, out=out)
    out /= square
    out += gate
    np.subtract(2, square, out=square)  # 1 - bent^2
    out *= square
    bell *= x
    np.subtract(0.5, bell, out=bell)
    out *= bell
    bent *= gate
    np.subtract(1, gate, out=gate)
    bent *= gate
    out += bent
    ratio *= x
    out += ratio
    out += 0.5
    return value


def _waving_by_hand(x: np.ndarray, out: np.ndarray) -> float:
    """With a = wave log1p(bell): d(-cos a / norm) = sin a / norm da + cos a bent / norm^3 d(bent)."""
    wave = np.sin(x)
    bell = x * x
    bell *= -0.5
    np.exp(bell, out=bell)
    bent = wave + bell
    np.tanh(bent, out=bent)
    square = bent * bent
    square += 1
    norm = np.sqrt(square)
    logarithm = np.log1p(bell)
    angle = wave * logarithm
    turned = np.cos(angle)
    turned /= norm
    value = float(bent.sum() - turned.sum() + bell @ x + wave.sum())

    d_bent = turned
    d_bent *= bent
    d_bent /= square
    d_bent += 1
    np.subtract(2, square, out=square)  # 1 - bent^2
    d_bent *= square
    np.sin(angle, out=angle)
    angle /= norm
    logarithm *= angle
    logarithm += d_bent
    logarithm += 1
    np.cos(x, out=out)
    out *= logarithm
    angle *= wave
    np.add(bell, 1, out=wave)
    angle /= wave
    angle += d_bent
    angle += x
    angle *= x
    np.subtract(1, angle, out=angle)
    angle *= bell
    out += angle
    return value
