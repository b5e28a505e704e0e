"""Brute-force NumPy counterparts of operations and kernels that NumPy itself lacks.

The module doubles as a namespace: what is not defined here is NumPy's own, so that a case of
`tests.op_table` runs on it without tape. Nothing here imports tape.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy import special  # noqa: F401


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


def logsumexp(x, axis=None, *, keepdims=False):
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


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
