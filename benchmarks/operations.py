"""The operations that NumPy code uses most, each with its reverse rule written by hand: a table of functions.

A function takes the module of its framework, then operands by their names in `operands`. A rule takes the
adjoint ``g``, the result ``out`` where it needs that, and the same operands, and returns the gradient by each
of those that are not data. Rules do the least that NumPy needs, and share nothing with the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["DATA", "OPERATIONS", "Operation", "operands"]

_ROWS, _COLUMNS = 32, 10

DATA = frozenset({"mask", "index"})
"""Operands that are not differentiated."""

Function = Callable[..., Any]


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes
    ----------
    name : str
        The operation as users write it.
    function : callable
        ``function(numpy, x, ...)``; called with ``autograd.numpy``, and with ``torch``, too.
    rule : callable
        ``rule(g, x, ...)`` or ``rule(g, out, x, ...)``.
    torch, autograd, tape : callable, optional
        The same function where a framework spells it differently.
    missing_in : str
        A framework without this operation.
    """

    name: str
    function: Function
    rule: Function
    torch: Function | None = None
    autograd: Function | None = None
    tape: Function | None = None
    missing_in: str = ""


def operands(seed: int) -> dict[str, np.ndarray]:
    """Return arrays by name: ``x`` and ``y`` positive, ``z`` of both signs, the others of other shapes."""
    rng = np.random.default_rng(seed)

    def positive(*shape: int) -> np.ndarray:
        return rng.uniform(0.5, 1.5, shape)

    return {
        "x": positive(_ROWS, _COLUMNS),
        "y": positive(_ROWS, _COLUMNS),
        "z": positive(_ROWS, _COLUMNS) - 1,
        "w": positive(_COLUMNS, _COLUMNS),
        "row": positive(_COLUMNS),
        "column": positive(_ROWS, 1),
        "cube": positive(8, 4, _COLUMNS),
        "mask": rng.random((_ROWS, _COLUMNS)) < 0.5,
        "index": rng.integers(_ROWS, size=_ROWS),
    }


def _full(shape: tuple[int, ...], value: Any) -> np.ndarray:
    out = np.empty(shape)
    out[...] = value
    return out


def _placed(shape: tuple[int, ...], where: Any, value: Any) -> np.ndarray:
    out = np.zeros(shape)
    out[where] = value
    return out


def _scattered(x: Any, index: Any, g: Any) -> np.ndarray:
    out = np.zeros(x.shape)
    np.add.at(out, index, g)
    return out


def _shared_by_ties(g: Any, out: Any, x: Any, axis: int) -> Any:
    ties = x == out
    return g / ties.sum(axis=axis, keepdims=True) * ties


def _halved_where_equal(g: Any, x: Any, y: Any) -> tuple[Any, Any]:
    of_x = g * (0.5 * (x >= y) + 0.5 * (x > y))
    return of_x, g - of_x


def _unsorted(g: Any, x: Any) -> np.ndarray:
    out = np.empty(x.shape)
    np.put_along_axis(out, np.argsort(x, axis=0), g, axis=0)
    return out


def _softmax(numpy: Any, x: Any) -> Any:
    powers = numpy.exp(x - numpy.max(x, axis=1, keepdims=True))
    return powers / numpy.sum(powers, axis=1, keepdims=True)


def _logsumexp(numpy: Any, x: Any) -> Any:
    largest = numpy.max(x, axis=1, keepdims=True)
    return (largest + numpy.log(numpy.sum(numpy.exp(x - largest), axis=1, keepdims=True)))[:, 0]


_ARITHMETIC = [
    Operation("x + y", lambda np, x, y: x + y, lambda g, x, y: (g, g.copy())),
    Operation("x - y", lambda np, x, y: x - y, lambda g, x, y: (g, -g)),
    Operation("x * y", lambda np, x, y: x * y, lambda g, x, y: (g * y, g * x)),
    Operation("x / y", lambda np, x, y: x / y, lambda g, out, x, y: (d := g / y, -d * out)),
    Operation("x ** 2", lambda np, x: x**2, lambda g, x: (g * (2 * x),)),
    Operation("x @ w", lambda np, x, w: x @ w, lambda g, x, w: (g @ w.T, x.T @ g)),
    Operation("-x", lambda np, x: -x, lambda g, x: (-g,)),
    Operation("x + row", lambda np, x, row: x + row, lambda g, x, row: (g, g.sum(axis=0))),
    Operation("x * 2.0", lambda np, x: x * 2.0, lambda g, x: (g * 2.0,)),
]

_ELEMENTWISE = [
    Operation("exp", lambda np, x: np.exp(x), lambda g, out, x: (g * out,)),
    Operation("log", lambda np, x: np.log(x), lambda g, x: (g / x,)),
    Operation("tanh", lambda np, x: np.tanh(x), lambda g, out, x: (g * (1 - out * out),)),
    Operation("sqrt", lambda np, x: np.sqrt(x), lambda g, out, x: (g * 0.5 / out,)),
    Operation("sin", lambda np, x: np.sin(x), lambda g, x: (g * np.cos(x),)),
    Operation("abs", lambda np, z: np.abs(z), lambda g, z: (g * np.sign(z),)),
    Operation(
        "maximum(x, 0)",
        lambda np, z: np.maximum(z, 0.0),
        lambda g, z: (g * (z > 0),),
        torch=lambda torch, z: torch.clamp_min(z, 0.0),
    ),
    Operation("maximum(x, y)", lambda np, x, y: np.maximum(x, y), _halved_where_equal),
    Operation(
        "where(mask, x, y)",
        lambda np, x, y, mask: np.where(mask, x, y),
        lambda g, x, y, mask: (g * mask, g * ~mask),
    ),
    Operation(
        "clip", lambda np, x: np.clip(x, 0.7, 1.3), lambda g, x: (g * np.logical_and(x >= 0.7, x <= 1.3),)
    ),
]

_REDUCTIONS = [
    Operation("x.sum()", lambda np, x: x.sum(), lambda g, x: (_full(x.shape, g),)),
    Operation("x.sum(axis=0)", lambda np, x: x.sum(axis=0), lambda g, x: (_full(x.shape, g),)),
    Operation("mean(x)", lambda np, x: np.mean(x), lambda g, x: (_full(x.shape, g / x.size),)),
    Operation(
        "max(axis=1, keepdims)",
        lambda np, x: np.max(x, axis=1, keepdims=True),
        lambda g, out, x: (_shared_by_ties(g, out, x, 1),),
        torch=lambda torch, x: torch.amax(x, dim=1, keepdim=True),
    ),
    Operation(
        "min(axis=0)",
        lambda np, x: np.min(x, axis=0),
        lambda g, out, x: (_shared_by_ties(g, out, x, 0),),
        torch=lambda torch, x: torch.amin(x, dim=0),
    ),
    Operation("prod(axis=0)", lambda np, x: np.prod(x, axis=0), lambda g, out, x: (g * out / x,)),
    Operation(
        "var(axis=0)",
        lambda np, x: np.var(x, axis=0),
        lambda g, x: (g * (2 / len(x)) * (x - x.mean(axis=0)),),
        torch=lambda torch, x: torch.var(x, dim=0, correction=0),
    ),
    Operation(
        "std(axis=0)",
        lambda np, x: np.std(x, axis=0),
        lambda g, out, x: (g / (len(x) * out) * (x - x.mean(axis=0)),),
        torch=lambda torch, x: torch.std(x, dim=0, correction=0),
    ),
    Operation(
        "cumsum(axis=0)",
        lambda np, x: np.cumsum(x, axis=0),
        lambda g, x: (np.cumsum(g[::-1], axis=0)[::-1],),
    ),
    Operation(
        "sort(axis=0)",
        lambda np, x: np.sort(x, axis=0),
        lambda g, x: (_unsorted(g, x),),
        torch=lambda torch, x: torch.sort(x, dim=0).values,
        missing_in="autograd",  # of more than one dimension
    ),
    Operation("linalg.norm", lambda np, x: np.linalg.norm(x), lambda g, out, x: (g / out * x,)),
    Operation(
        "logsumexp(axis=1)",
        _logsumexp,
        lambda g, out, x: (g[:, None] * np.exp(x - out[:, None]),),
        torch=lambda torch, x: torch.logsumexp(x, dim=1),
        autograd=lambda numpy, x: _scipy_special().logsumexp(x, axis=1),
        tape=lambda numpy, x: _tape_ops().logsumexp(x, axis=1),
    ),
    Operation(
        "softmax(axis=1)",
        _softmax,
        lambda g, out, x: (out * (g - (g * out).sum(axis=1, keepdims=True)),),
        torch=lambda torch, x: torch.softmax(x, dim=1),
        tape=lambda numpy, x: _tape_ops().softmax(x, axis=1),
    ),
]

_SHAPES = [
    Operation("reshape", lambda np, x: x.reshape(16, 20), lambda g, x: (g.reshape(x.shape),)),
    Operation("ravel", lambda np, x: x.ravel(), lambda g, x: (g.reshape(x.shape),)),
    Operation("x.T", lambda np, x: x.T, lambda g, x: (g.T,)),
    Operation(
        "transpose(axes)",
        lambda np, cube: np.transpose(cube, (1, 0, 2)),
        lambda g, cube: (np.transpose(g, (1, 0, 2)),),
        torch=lambda torch, cube: cube.permute(1, 0, 2),
    ),
    Operation("swapaxes", lambda np, cube: np.swapaxes(cube, 0, 2), lambda g, cube: (np.swapaxes(g, 0, 2),)),
    Operation("squeeze", lambda np, column: np.squeeze(column), lambda g, column: (g[:, None],)),
    Operation(
        "expand_dims",
        lambda np, x: np.expand_dims(x, 0),
        lambda g, x: (g[0],),
        torch=lambda torch, x: torch.unsqueeze(x, 0),
    ),
    Operation(
        "broadcast_to",
        lambda np, column: np.broadcast_to(column, (_ROWS, _COLUMNS)),
        lambda g, column: (g.sum(axis=1, keepdims=True),),
    ),
    Operation("x[3]", lambda np, x: x[3], lambda g, x: (_placed(x.shape, 3, g),)),
    Operation("x[1:]", lambda np, x: x[1:], lambda g, x: (_placed(x.shape, slice(1, None), g),)),
    Operation("x[:, None]", lambda np, x: x[:, None], lambda g, x: (g[:, 0],)),
    Operation("x[index]", lambda np, x, index: x[index], lambda g, x, index: (_scattered(x, index, g),)),
    Operation("concatenate", lambda np, x, y: np.concatenate([x, y]), lambda g, x, y: (g[:_ROWS], g[_ROWS:])),
    Operation("stack", lambda np, x, y: np.stack([x, y]), lambda g, x, y: (g[0], g[1])),
    Operation(
        "split, one of two",
        lambda np, x: np.split(x, 2)[1],
        lambda g, x: (_placed(x.shape, slice(_ROWS // 2, None), g),),
        torch=lambda torch, x: torch.split(x, _ROWS // 2)[1],
    ),
]

_PRODUCTS = [
    Operation(
        "dot(x, w)",
        lambda np, x, w: np.dot(x, w),
        lambda g, x, w: (np.dot(g, w.T), np.dot(x.T, g)),
        torch=lambda torch, x, w: torch.mm(x, w),
    ),
    Operation(
        "einsum ij,ij->i",
        lambda np, x, y: np.einsum("ij,ij->i", x, y),
        lambda g, x, y: (g[:, None] * y, g[:, None] * x),
    ),
]

OPERATIONS = [*_ARITHMETIC, *_ELEMENTWISE, *_REDUCTIONS, *_SHAPES, *_PRODUCTS]


def _tape_ops() -> Any:
    import tape

    return tape.ops


def _scipy_special() -> Any:
    import autograd.scipy.special

    return autograd.scipy.special
