"""Brute-force NumPy counterparts of `tape.nn`: loops over every element of every result."""

import cmath
import itertools
import math

import numpy as np

from tests.naive_images import *  # noqa: F403
from tests.naive_layers import *  # noqa: F403
from tests.naive_windows import *  # noqa: F403
from tests.naive_windows import _each

# ---- activations and losses: formulas of one element, looped over -------------------------------------


def _loop(formula):
    """A function of arrays that broadcast, from one of numbers."""
    return lambda *args: np.vectorize(formula, otypes=[float])(*args)[()]


def _complex_loop(formula):
    """The same for a formula whose result is complex where a number is."""
    return lambda *args: np.vectorize(formula, otypes=[np.result_type(float, *args)])(*args)[()]


def _of(name, x):
    """A function of `math`, or of `cmath` for a complex number."""
    return getattr(cmath if np.iscomplexobj(x) else math, name)(x)


def _ndtr(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _logistic(x):
    return 1 / (1 + _of("exp", -x))


def gelu(x, approximate="none"):
    if approximate == "none":
        return _loop(lambda x: x * _ndtr(x))(x)
    return _loop(lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))(x)


silu = _complex_loop(lambda x: x * _logistic(x))
mish = _loop(lambda x: x * math.tanh(math.log1p(math.exp(x))))
logsigmoid = _loop(lambda x: -math.log1p(math.exp(-x)))
tanhshrink = _loop(lambda x: x - math.tanh(x))
softsign = _complex_loop(lambda x: x / (1 + abs(x)))
elu = _loop(lambda x, alpha=1.0: x if x > 0 else alpha * math.expm1(x))
celu = _loop(lambda x, alpha=1.0: max(0, x) + min(0, alpha * math.expm1(x / alpha)))
selu = _loop(lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)))
relu6 = _loop(lambda x: min(max(x, 0), 6))
hardtanh = _loop(lambda x, low=-1.0, high=1.0: low if x < low else high if x > high else x)
hardsigmoid = _loop(lambda x: 0 if x <= -3 else 1 if x >= 3 else (x + 3) / 6)
hardswish = _loop(lambda x: 0 if x <= -3 else x if x >= 3 else x * (x + 3) / 6)
hardshrink = _loop(lambda x, lambd=0.5: x if x > lambd or x < -lambd else 0)
softshrink = _loop(lambda x, lambd=0.5: x - lambd if x > lambd else x + lambd if x < -lambd else 0)
leaky_relu = _loop(lambda x, slope=0.01: x if x > 0 else slope * x)
threshold = _loop(lambda x, least=0.0, value=0.0: x if x > least else value)


def prelu(x, weight):
    per_channel = weight.reshape(-1, *(1 for _ in x.shape[2:])) if x.ndim > 1 else weight
    return leaky_relu(x, per_channel)


def glu(x, axis=-1):
    first, second = np.split(x, 2, axis)
    return first * _complex_loop(_logistic)(second)


def _reduced(losses, reduction):
    return {"none": lambda: losses, "sum": lambda: np.sum(losses), "mean": lambda: np.mean(losses)}[
        reduction
    ]()


def _loss(formula, loop=_loop):
    """A loss of arrays of one shape, from one of numbers."""

    def loss(*args, reduction="mean", **options):
        return _reduced(loop(lambda *numbers: formula(*numbers, **options))(*args), reduction)

    return loss


def _huber(e, t, delta):
    e = abs(e - t)
    return 0.5 * e * e if e <= delta else delta * (e - 0.5 * delta)


def _binary(p, t):
    return -t * math.log(p) - (1 - t) * math.log(1 - p)


def _poisson(x, t, log_input=True, full=False, eps=1e-8):
    loss = _of("exp", x) - t * x if log_input else x - t * _of("log", x + eps)
    if not full or t <= 1:
        return loss
    return loss + t * math.log(t) - t + 0.5 * math.log(2 * math.pi * t)


mse_loss = _loss(lambda x, t: (x - t) ** 2)
l1_loss = _loss(lambda x, t: abs(x - t))
smooth_l1_loss = _loss(lambda x, t, beta: _huber(x, t, beta) / beta if beta else abs(x - t))
poisson_nll_loss = _loss(_poisson, _complex_loop)
hinge_embedding_loss = _loss(lambda x, t: x if t == 1 else max(0, 1 - x))
margin_ranking_loss = _loss(lambda x, y, t: max(0, -t * (x - y)))
soft_margin_loss = _loss(lambda x, t: math.log1p(math.exp(-t * x)))


def huber_loss(x, t, reduction, delta):
    return _reduced(_loop(_huber)(x, t, delta), reduction)


def gaussian_nll_loss(x, t, var, full=False, reduction="mean"):
    var = var if var.ndim == x.ndim else var[:, None]
    losses = _complex_loop(lambda x, t, v: 0.5 * (math.log(v) + (x - t) ** 2 / v))(x, t, var)
    return _reduced(losses + (0.5 * math.log(2 * math.pi) if full else 0), reduction)


def binary_cross_entropy(p, t, weight=1.0, reduction="mean"):
    return _reduced(_loop(_binary)(p, t) * weight, reduction)


def binary_cross_entropy_with_logits(x, t, weight=1.0, reduction="mean", pos_weight=1.0):
    def formula(x, t, v):
        p = _logistic(x)
        return -v * t * math.log(p) - (1 - t) * math.log(1 - p)

    return _reduced(_loop(formula)(x, t, pos_weight) * weight, reduction)


def kl_div(x, t, reduction="mean", log_target=False):
    losses = _loop(lambda x, t: math.exp(t) * (t - x) if log_target else t * (math.log(t) - x))(x, t)
    return np.sum(losses) / len(x) if reduction == "batchmean" else _reduced(losses, reduction)


def one_hot(x, num_classes, dtype=float):
    out = np.zeros((*x.shape, num_classes), dtype)
    for i in np.ndindex(x.shape):
        out[(*i, x[i])] = 1
    return out


def nll_loss(x, target, weight=None, reduction="mean", axis=1):
    x = np.moveaxis(x, axis if x.ndim > 1 else 0, -1)
    losses, counted = np.zeros(target.shape), 0.0
    for i in np.ndindex(target.shape):
        if target[i] != -100:
            w = 1.0 if weight is None else weight[target[i]]
            losses[i] = -w * x[i][target[i]]
            counted += w
    return np.sum(losses) / counted if reduction == "mean" else _reduced(losses[()], reduction)


def cross_entropy(x, target, weight=None, reduction="mean", label_smoothing=0.0, axis=1):
    x = np.moveaxis(x, axis if x.ndim > 1 else 0, -1)
    logs = np.zeros(x.shape)
    for i in np.ndindex(x.shape[:-1]):
        logs[i] = x[i] - np.log(np.sum(np.exp(x[i])))
    classes = x.shape[-1]
    weight = np.ones(classes) if weight is None else weight
    smooth = -np.sum(logs * weight, -1) * (label_smoothing / classes)
    if target.dtype.kind == "f":
        target = np.moveaxis(target, axis, -1)
        return _reduced(smooth - (1 - label_smoothing) * np.sum(target * logs * weight, -1), reduction)
    is_counted = target != -100
    losses = nll_loss(logs, target, weight, "none", -1) * (1 - label_smoothing) + smooth * is_counted
    if reduction == "mean":
        return np.sum(losses) / np.sum(weight[target[is_counted]])
    return _reduced(losses, reduction)


def cosine_similarity(x1, x2, axis=1):
    x1, x2 = (np.moveaxis(x, axis, -1) for x in np.broadcast_arrays(x1, x2))
    out = np.zeros(x1.shape[:-1])
    for i in np.ndindex(out.shape):
        out[i] = x1[i] @ x2[i] / np.sqrt((x1[i] @ x1[i]) * (x2[i] @ x2[i]))
    return out


def cosine_embedding_loss(x1, x2, target, margin=0.0, reduction="mean"):
    def formula(c, t):
        return 1 - c if t == 1 else max(0, c - margin)

    def dots(x, y):
        return np.sum(x * y, -1)

    cosines = dots(x1, x2) / np.sqrt((dots(x1, x1) + 1e-12) * (dots(x2, x2) + 1e-12))
    return _reduced(_loop(formula)(cosines, target), reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, swap=False, reduction="mean"):
    losses = np.zeros(len(anchor))
    for i, (a, near, far) in enumerate(zip(anchor, positive, negative, strict=True)):

        def distance(x, y):
            return np.sum(np.abs(x - y + 1e-6) ** p) ** (1 / p)

        away = min(distance(a, far), distance(near, far)) if swap else distance(a, far)
        losses[i] = max(0, margin + distance(a, near) - away)
    return _reduced(losses, reduction)


def multi_margin_loss(x, target, p=1, margin=1.0, weight=None, reduction="mean"):
    rows, labels = np.atleast_2d(x), np.ravel(target)
    weight = np.ones(x.shape[-1]) if weight is None else weight
    losses = [
        weight[y] * sum(max(0, margin - row[y] + row[j]) ** p for j in range(len(row)) if j != y) / len(row)
        for row, y in zip(rows, labels, strict=True)
    ]
    return _reduced(np.reshape(losses, np.shape(target))[()], reduction)


def multilabel_margin_loss(x, target, reduction="mean"):
    losses = []
    for row, given in zip(np.atleast_2d(x), np.atleast_2d(target), strict=True):
        labels = list(itertools.takewhile(lambda label: label >= 0, given))
        others = [j for j in range(len(row)) if j not in labels]
        losses.append(sum(max(0, 1 - row[y] + row[j]) for y in labels for j in others) / len(row))
    return _reduced(np.reshape(losses, np.shape(target)[:-1])[()], reduction)


def multilabel_soft_margin_loss(x, target, weight=1.0, reduction="mean"):
    losses = _loop(lambda x, t: -t * math.log(_logistic(x)) - (1 - t) * math.log(_logistic(-x)))(x, target)
    return _reduced(np.mean(losses * weight, axis=-1), reduction)


def _distance(x, y, p=2.0, eps=0.0):
    parts = [abs(a - b + eps) for a, b in zip(x, y, strict=True)]
    if p == 0:
        return float(sum(part != 0 for part in parts))
    return max(parts) if p == math.inf else sum(part**p for part in parts) ** (1 / p)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    x1, x2 = np.broadcast_arrays(x1, x2)
    out = np.zeros(x1.shape[:-1])
    for i in np.ndindex(out.shape):
        out[i] = _distance(x1[i], x2[i], p, eps)
    return out[..., None] if keepdim else out[()]


def pdist(x, p=2.0):
    return np.array([_distance(a, b, p) for a, b in itertools.combinations(x, 2)])


def triplet_margin_with_distance_loss(
    anchor, near, far, distance=None, margin=1.0, swap=False, reduction="mean"
):
    distance = distance or pairwise_distance
    away = distance(anchor, far)
    away = np.minimum(away, distance(near, far)) if swap else away
    return _reduced(np.maximum(margin + distance(anchor, near) - away, 0), reduction)


# ---- settings, noise and windows -----------------------------------------------------------------------

softplus = _loop(lambda x, beta=1.0, threshold=math.inf: (
    x if x * beta > threshold else math.log1p(math.exp(beta * x)) / beta
))  # fmt: skip


logit = _loop(lambda x, eps=0.0: math.log(min(max(x, eps), 1 - eps) / (1 - min(max(x, eps), 1 - eps))))


def softmin(x, axis=-1):
    weights = np.exp(-x)
    return weights / np.sum(weights, axis, keepdims=True)


def alpha_dropout(x, p, mask):
    limit = -1.0507009873554805 * 1.6732632423543772
    if p == 1:
        return 0 * x
    q = 1 - p
    scale = (q + limit**2 * q * p) ** -0.5
    kept = np.where(np.broadcast_to(mask, x.shape), x, limit)
    return scale * kept - scale * limit * p


def rrelu(x, lower=1 / 8, upper=1 / 3, slopes=0.5):
    return _loop(lambda x, s: x if x > 0 else x * (lower + s * (upper - lower)))(x, slopes)


def gumbel_softmax(logits, noise, tau=1.0, hard=False, axis=-1):
    soft = softmin(-(logits + noise) / tau, axis)
    return (soft == np.max(soft, axis, keepdims=True)).astype(float) if hard else soft


def _lp_pool(rank):
    def pool(x, p, size, stride=None, ceil_mode=False):
        mean = globals()[f"avg_pool{rank}d"]
        return (mean(x**p, size, stride, ceil_mode=ceil_mode) * np.prod(_each(size, rank))) ** (1 / p)

    return pool


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool(1), _lp_pool(2), _lp_pool(3)
