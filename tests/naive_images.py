"""Brute-force counterparts of what `tape.nn` does to images and sequences: see `tests.naive_nn`."""

import itertools
import math
from collections import defaultdict
from functools import cache

import numpy as np

# ---- elements moved ------------------------------------------------------------------------------------


def pad(x, pad, mode="constant", value=0.0):
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    out = np.empty([n + low + high for n, (low, high) in zip(x.shape, pairs, strict=True)], x.dtype)
    for place in np.ndindex(*out.shape):
        old = [p - low for p, (low, _) in zip(place, pairs, strict=True)]
        if mode == "replicate":
            old = [min(max(p, 0), n - 1) for p, n in zip(old, x.shape, strict=True)]
        if mode == "circular":
            old = [p % n for p, n in zip(old, x.shape, strict=True)]
        if mode == "reflect":
            old = [n - 1 - abs(n - 1 - abs(p)) for p, n in zip(old, x.shape, strict=True)]
        inside = all(0 <= p < n for p, n in zip(old, x.shape, strict=True))
        out[place] = x[tuple(old)] if inside else value
    return out


def pixel_shuffle(x, r):
    out = np.empty((*x.shape[:-3], x.shape[-3] // r**2, x.shape[-2] * r, x.shape[-1] * r), x.dtype)
    for c, i, j in np.ndindex(*out.shape[-3:]):
        out[..., c, i, j] = x[..., c * r**2 + i % r * r + j % r, i // r, j // r]
    return out


def pixel_unshuffle(x, r):
    out = np.empty((*x.shape[:-3], x.shape[-3] * r**2, x.shape[-2] // r, x.shape[-1] // r), x.dtype)
    for c, i, j in np.ndindex(*x.shape[-3:]):
        out[..., c * r**2 + i % r * r + j % r, i // r, j // r] = x[..., c, i, j]
    return out


def channel_shuffle(x, groups):
    size = x.shape[1] // groups
    return np.stack([x[:, k % groups * size + k // groups] for k in range(x.shape[1])], axis=1)


# ---- other points --------------------------------------------------------------------------------------


def _taps(point, n, mode):
    """Positions and weights of old elements, some of them outside."""
    below = math.floor(point)
    if mode == "nearest":
        return [(below, 1.0)]
    if mode == "rounded":
        return [(round(point), 1.0)]
    t = point - below
    if mode == "linear":
        return [(below, 1 - t), (below + 1, t)]

    def weight(s):
        s = abs(s)
        return 1.25 * s**3 - 2.25 * s**2 + 1 if s <= 1 else -0.75 * (s**3 - 5 * s**2 + 8 * s - 4)

    return [(below + k, weight(t - k)) for k in (-1, 0, 1, 2)]


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=False):
    rank = x.ndim - 2
    each = lambda value: value if isinstance(value, (tuple, list)) else (value,) * rank  # noqa: E731
    counts = (
        each(size)
        if size
        else [math.floor(n * s) for n, s in zip(x.shape[2:], each(scale_factor), strict=True)]
    )
    scales = (
        [n / m for n, m in zip(x.shape[2:], counts, strict=True)]
        if size
        else [1 / s for s in each(scale_factor)]
    )
    out = np.zeros((*x.shape[:2], *counts))
    for place in np.ndindex(*counts):
        if mode == "area":
            parts = [
                slice(i * n // m, -(-(i + 1) * n // m))
                for i, n, m in zip(place, x.shape[2:], counts, strict=True)
            ]
            out[(..., *place)] = x[(..., *parts)].mean(axis=tuple(range(2, x.ndim)))
            continue
        taps = []
        for i, n, m, scale in zip(place, x.shape[2:], counts, scales, strict=True):
            if align_corners:
                point = i * (n - 1) / (m - 1) if m > 1 else 0.0
            elif mode == "nearest":
                point = i * scale
            else:
                point = (i + 0.5) * scale - (mode != "nearest-exact") * 0.5
            kind = {"bicubic": "cubic", "nearest": "nearest", "nearest-exact": "nearest"}.get(mode, "linear")
            taps.append(_taps(max(point, 0.0) if kind == "linear" else point, n, kind))
        for chosen in itertools.product(*taps):
            at = [min(max(p, 0), n - 1) for (p, _), n in zip(chosen, x.shape[2:], strict=True)]
            out[(..., *place)] += math.prod(w for _, w in chosen) * x[(..., *at)]
    return out


def affine_grid(theta, size, align_corners=False):
    rank = len(size) - 2
    out = np.zeros((size[0], *size[2:], rank))
    for place in np.ndindex(*size[2:]):
        ends = [n - 1 if align_corners else n for n in size[2:]]
        point = [
            (2 * p + (not align_corners)) / end - 1 if n > 1 else 0.0
            for p, n, end in zip(place, size[2:], ends, strict=True)
        ]
        out[(slice(None), *place)] = theta @ np.array([*point[::-1], 1.0])
    return out


def _into(p, n, padding_mode, align_corners):
    if padding_mode == "reflection":
        low, high = (0, n - 1) if align_corners else (-0.5, n - 0.5)
        while low < high and not low <= p <= high:
            p = 2 * low - p if p < low else 2 * high - p
    return p if padding_mode == "zeros" else min(max(p, 0), n - 1)


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    rank = x.ndim - 2
    kind = {"bilinear": "linear", "nearest": "rounded", "bicubic": "cubic"}[mode]
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for place in np.ndindex(len(x), *grid.shape[1:-1]):
        taps = []
        for axis, n in enumerate(x.shape[2:]):
            g = grid[place][rank - 1 - axis]
            p = (g + 1) / 2 * (n - 1) if align_corners else ((g + 1) * n - 1) / 2
            p = p if mode == "bicubic" else _into(p, n, padding_mode, align_corners)
            pairs = _taps(p, n, kind)
            taps.append(
                [(_into(q, n, padding_mode, align_corners), w) for q, w in pairs]
                if mode == "bicubic"
                else pairs
            )
        for chosen in itertools.product(*taps):
            at = [round(p) for p, _ in chosen]
            if all(0 <= p < n for p, n in zip(at, x.shape[2:], strict=True)):
                value = x[(place[0], slice(None), *at)]
                out[(place[0], slice(None), *place[1:])] += math.prod(w for _, w in chosen) * value
    return out


# ---- sequences -----------------------------------------------------------------------------------------


@cache
def _paths(labels, steps, blank):
    """All paths of so many steps, by what they collapse to."""
    found = defaultdict(list)
    for path in itertools.product(range(labels), repeat=steps):
        found[tuple(label for label, _ in itertools.groupby(path) if label != blank)].append(path)
    return found


def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False
):
    """The sum over every path, of those that collapse to the labels."""
    one = log_probs.ndim == 2
    x = log_probs[:, None] if one else log_probs
    input_lengths, target_lengths = np.ravel(input_lengths), np.ravel(target_lengths)
    if np.ndim(targets) == 1:
        targets = [targets] if one else np.split(targets, np.cumsum(target_lengths)[:-1])
    losses = []
    for k, (steps, size) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        wanted = tuple(int(label) for label in targets[k][:size])
        total = sum(
            math.exp(sum(x[t, k, label] for t, label in enumerate(path)))
            for path in _paths(x.shape[2], int(steps), blank)[wanted]
        )
        losses.append(-math.log(total) if total else 0.0 if zero_infinity else math.inf)
    losses = np.array(losses)
    if reduction == "mean":
        return np.mean(losses / np.maximum(target_lengths, 1))
    return np.sum(losses) if reduction == "sum" else losses[0] if one else losses
