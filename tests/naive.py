"""Brute-force NumPy counterparts of operations and kernels that NumPy itself lacks.

The module doubles as a namespace: what is not defined here is NumPy's own, so that a case of
`tests.op_table` runs on it without tape. Nothing here imports tape.
"""

import math
from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import special, stats  # noqa: F401

from tests import naive_nn as nn  # noqa: F401


def __getattr__(name: str) -> Any:
    return getattr(np, name)


def relu(x):
    return x * (x > 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x).astype(np.result_type(x))[()]


def solve(a, b):
    return np.linalg.inv(a) @ b


def apply(x, f: Callable, df: Callable):
    return f(x)


def getitem(x, index):
    return np.asarray(x)[index]


def logsumexp(x, axis=None, b=1, keepdims=False, return_sign=False):
    total = np.sum(b * np.exp(x), axis=axis, keepdims=keepdims)
    return (np.log(np.abs(total)), np.sign(total)) if return_sign else np.log(total)


def softmax(x, axis=-1):
    weights = np.exp(x)
    return weights / np.sum(weights, axis=axis, keepdims=True)


def log_softmax(x, axis=-1):
    return np.log(softmax(x, axis))


def softmax_cross_entropy(logits, target, reduction="mean"):
    target = np.asarray(target)
    losses = np.zeros(logits.shape[:-1], logits.dtype)
    for sample in np.ndindex(losses.shape):
        probabilities = softmax(logits[sample])
        if target.dtype.kind in "iu":
            losses[sample] = -np.log(probabilities[target[sample]])
        else:
            losses[sample] = -sum(t * np.log(p) for t, p in zip(target[sample], probabilities, strict=True))
    return {"none": lambda x: x[()], "sum": np.sum, "mean": np.mean}[reduction](losses)


def softmax_excess(logits, target):
    """``softmax(logits) - one_hot(target)``, element by element."""
    out = softmax(np.asarray(logits))
    for sample in np.ndindex(out.shape[:-1]):
        out[(*sample, target[sample])] -= 1
    return out


def sum_to_shape(x, shape):
    """Add each element to the one it came from, one at a time."""
    out = np.zeros(shape, x.dtype)
    lead = x.ndim - len(shape)
    for position in product(*map(range, x.shape)):
        source = tuple(0 if n == 1 else i for i, n in zip(position[lead:], shape, strict=True))
        out[source] += x[position]
    return out


def set_at(x, v, index):
    out = np.array(x)
    out[index] = v
    return out[()]


def ufunc_at(x, ufunc, index, *v):
    out = np.array(x)
    shape = out[index].shape  # NumPy 2.4 reads beyond values that it should broadcast against 2-d indices
    ufunc.at(out, index, *(np.broadcast_to(values, shape).copy() for values in v))
    return out[()]


def add_at(x, v, index):
    return ufunc_at(x, np.add, index, v)


def put_along_axis(arr, indices, values, axis):
    out = np.array(arr)
    np.put_along_axis(out, indices, values, axis)
    return out


def _along(function, x, axis):
    x = np.asarray(x).reshape(-1) if axis is None else np.asarray(x)
    return function.accumulate(x, axis=axis or 0)


def cummax(x, axis=None):
    return _along(np.maximum, x, axis)


def cummin(x, axis=None):
    return _along(np.minimum, x, axis)


def logcumsumexp(x, axis=None):
    return _along(np.logaddexp, x, axis)


def _solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False):
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = a - a * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    a = a if trans in (0, "N") else np.swapaxes(a, -1, -2)
    return np.linalg.inv(a.conj() if trans in (2, "C") else a) @ b


def _cho_solve(c_and_lower, b):
    c, lower = c_and_lower
    c = np.tril(c) if lower else np.triu(c).conj().T
    return np.linalg.inv(c @ c.conj().T) @ b


def _expm(a):
    """The power series, of a matrix so small that few terms matter."""
    total = term = np.zeros_like(a) + np.eye(a.shape[-1])
    for k in range(1, 20):
        term = term @ a / (16 * k)
        total = total + term
    return np.linalg.matrix_power(total, 16)


linalg = SimpleNamespace(
    **{name: getattr(np.linalg, name) for name in np.linalg.__all__},
    cho_factor=lambda a, lower=False: (np.linalg.cholesky(a, upper=not lower), lower),
    cho_solve=_cho_solve,
    expm=_expm,
    solve_triangular=_solve_triangular,
)
