"""Softmax cross-entropy against class indices, and its derivative by the logits, row by row."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from tape.errors import OutOfBoundsError
from tape.kernels.codes import KERNEL_DTYPES
from tape.kernels.eager import AVOIDED, is_avoided, machine_code
from tape.kernels.headers import is_plain

# The kernels call the scalar exp of the C library. Rows of this many classes cost less than NumPy's
# seven passes; longer ones gain more from its SIMD exp. `python -m benchmarks cross_entropy` shows both.
_FEW_CLASSES = 64
_LOSSES, _EXCESS = map(machine_code, ("losses", "excess"))


def losses_of(logits, target, losses):  # type: ignore[no-untyped-def]
    """Fill in the losses and return their sum, or -inf, which it cannot be, if a target is no class."""
    rows, classes = logits.shape
    sum_of_losses = 0.0
    for i in range(rows):
        chosen = target[i]  # read once: another thread may be writing there
        if not 0 <= chosen < classes:
            return -np.inf
        largest = logits[i, 0]
        for j in range(1, classes):
            largest = max(largest, logits[i, j])
        total = losses.dtype.type(0)
        for j in range(classes):
            total += math.exp(logits[i, j] - largest)
        losses[i] = math.log(total) + largest - logits[i, chosen]
        sum_of_losses += losses[i]
    return sum_of_losses


def excess_of(logits, target, weight, out):  # type: ignore[no-untyped-def]
    rows, classes = logits.shape
    for i in range(rows):
        chosen = target[i]
        if not 0 <= chosen < classes:
            return False
        largest = logits[i, 0]
        for j in range(1, classes):
            largest = max(largest, logits[i, j])
        total = out.dtype.type(0)
        for j in range(classes):
            out[i, j] = math.exp(logits[i, j] - largest)
            total += out[i, j]
        scale = weight / total
        for j in range(classes):
            out[i, j] *= scale
        out[i, chosen] -= weight
    return True


def _suits_kernel(logits: np.ndarray, target: np.ndarray) -> bool:
    return (
        logits.ndim == 2
        and logits.shape[1] <= _FEW_CLASSES
        and logits.dtype in KERNEL_DTYPES
        and is_plain(logits)
        and target.dtype == np.int64
        and is_plain(target)
        and not (AVOIDED and is_avoided())
    )


def _fail(logits: np.ndarray, target: np.ndarray) -> NoReturn:
    raise OutOfBoundsError(
        f"softmax_cross_entropy: class indices run from {target.min()} to {target.max()}, and there are "
        f"{logits.shape[-1]} classes, numbered from 0"
    )


def _check_classes(logits: np.ndarray, target: np.ndarray) -> None:
    if target.size and (target.min() < 0 or target.max() >= logits.shape[-1]):
        _fail(logits, target)


def indexed_losses(logits: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
    """``logsumexp(logits) - logits[target]`` along the last axis, and the sum of that.

    Parameters
    ----------
    logits : numpy.ndarray
        ``(..., classes)``, of a float dtype.
    target : numpy.ndarray
        ``(...)``, integers within ``0 .. classes - 1``.

    Returns
    -------
    numpy.ndarray
        ``(...)``, of the dtype of the logits.
    float

    Raises
    ------
    OutOfBoundsError
        If a target is no class.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.cross_entropy import indexed_losses
    >>> indexed_losses(np.zeros((1, 4)), np.array([2]))  # log 4
    (array([1.386...]), 1.386...)
    """
    if _suits_kernel(logits, target):
        losses = np.empty(len(logits), logits.dtype)
        total = _LOSSES[logits.dtype.char](logits, target, losses)
        if total == -np.inf:
            _fail(logits, target)
        return losses, total
    _check_classes(logits, target)
    largest = np.maximum.reduce(logits, axis=-1, keepdims=True)
    chosen = np.take_along_axis(logits, target[..., None], axis=-1)[..., 0]
    losses = np.log(np.add.reduce(np.exp(logits - largest), axis=-1)) + largest[..., 0] - chosen
    return losses, float(np.add.reduce(losses, axis=None))


def indexed_excess(logits: np.ndarray, target: np.ndarray, weight: float = 1.0) -> np.ndarray:
    """``weight * (softmax(logits) - one_hot(target))`` along the last axis.

    Parameters
    ----------
    logits, target : numpy.ndarray
        As for `indexed_losses`.
    weight : float
        For all samples.

    Returns
    -------
    numpy.ndarray
        Of the shape and dtype of the logits.

    Raises
    ------
    OutOfBoundsError
        If a target is no class.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.kernels.cross_entropy import indexed_excess
    >>> indexed_excess(np.zeros((1, 4)), np.array([2]))
    array([[ 0.25,  0.25, -0.75,  0.25]])
    """
    if _suits_kernel(logits, target):
        out = np.empty(logits.shape, logits.dtype)
        if not _EXCESS[logits.dtype.char](logits, target, float(weight), out):
            _fail(logits, target)
        return out
    _check_classes(logits, target)
    weights = np.exp(logits - np.maximum.reduce(logits, axis=-1, keepdims=True), order="C")
    weights *= weight / np.add.reduce(weights, axis=-1, keepdims=True)
    flat, indices = weights.reshape(-1, weights.shape[-1]), target.reshape(-1)
    flat[np.arange(len(indices)), indices] -= logits.dtype.type(weight)
    return weights
