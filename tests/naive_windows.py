"""Brute-force NumPy counterparts of the functions of `tape.nn` that look at windows: see `tests.naive_nn`."""

import math

import numpy as np


def _each(value, rank):
    return (value,) * rank if np.ndim(value) == 0 else tuple(value)


def _pads(padding, rank):
    return [_each(pad, 2) for pad in _each(padding, rank)]


def _windows(counts, size, stride, dilation):
    """Where each window is among the windows, and how to cut it out."""
    for place in np.ndindex(*counts):
        starts = [p * s for p, s in zip(place, stride, strict=True)]
        yield (
            place,
            tuple(
                slice(start, start + d * (n - 1) + 1, d)
                for start, n, d in zip(starts, size, dilation, strict=True)
            ),
        )


def _padded(x, pads, number=0.0):
    return np.pad(x, [(0, 0)] * (x.ndim - len(pads)) + list(pads), constant_values=number)


def _with_bias(out, bias):
    return out if bias is None else out + bias.reshape(-1, *(1,) * (out.ndim - 2))


def _conv(rank):
    def conv(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if x.ndim == rank + 1:
            return conv(x[None], w, bias, stride, padding, dilation, groups)[0]
        size, stride, dilation = w.shape[2:], _each(stride, rank), _each(dilation, rank)
        if padding == "same":
            totals = [d * (n - 1) for n, d in zip(size, dilation, strict=True)]
            padding = [(total // 2, total - total // 2) for total in totals]
        padded = _padded(x, _pads(padding, rank))
        counts = [
            (m - d * (n - 1) - 1) // s + 1
            for m, n, s, d in zip(padded.shape[2:], size, stride, dilation, strict=True)
        ]
        out = np.zeros((len(x), len(w), *counts), np.result_type(x, w))
        for place, window in _windows(counts, size, stride, dilation):
            parts = np.split(padded[(slice(None), slice(None), *window)], groups, axis=1)
            sums = [
                np.tensordot(part, kernels, (range(1, rank + 2),) * 2)
                for part, kernels in zip(parts, np.split(w, groups), strict=True)
            ]
            out[(slice(None), slice(None), *place)] = np.concatenate(sums, axis=1)
        return _with_bias(out, bias)

    return conv


def _conv_transpose(rank):
    def conv_transpose(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        if x.ndim == rank + 1:
            return conv_transpose(x[None], w, bias, stride, padding, output_padding, groups, dilation)[0]
        size, stride, dilation = w.shape[2:], _each(stride, rank), _each(dilation, rank)
        pads, more = _pads(padding, rank), _each(output_padding, rank)
        lengths = [
            (n - 1) * s + d * (k - 1) + 1
            for n, s, d, k in zip(x.shape[2:], stride, dilation, size, strict=True)
        ]
        longer = [length + extra for length, extra in zip(lengths, more, strict=True)]
        out = np.zeros((len(x), w.shape[1] * groups, *longer), np.result_type(x, w))
        for place, window in _windows(x.shape[2:], size, stride, dilation):
            parts = np.split(x[(slice(None), slice(None), *place)], groups, axis=1)
            out[(slice(None), slice(None), *window)] += np.concatenate(
                [
                    np.tensordot(part, kernels, 1)
                    for part, kernels in zip(parts, np.split(w, groups), strict=True)
                ],
                axis=1,
            )
        kept = [slice(low, length - high) for length, (low, high) in zip(longer, pads, strict=True)]
        return _with_bias(out[(slice(None), slice(None), *kept)], bias)

    return conv_transpose


def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    size, stride, dilation = _each(kernel_size, 2), _each(stride, 2), _each(dilation, 2)
    padded = _padded(x, _pads(padding, 2))
    counts = [
        (m - d * (n - 1) - 1) // s + 1
        for m, n, s, d in zip(padded.shape[-2:], size, stride, dilation, strict=True)
    ]
    columns = [padded[(..., *window)] for _, window in _windows(counts, size, stride, dilation)]
    return np.stack([c.reshape(*x.shape[:-3], -1) for c in columns], axis=-1)


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    spatial, taps = _each(output_size, 2), np.prod(_each(kernel_size, 2))
    shape = (x.shape[-2] // taps, *spatial)
    positions = unfold(
        np.arange(1.0, np.prod(shape) + 1).reshape(shape), kernel_size, dilation, padding, stride
    )
    out = np.zeros((*x.shape[:-2], np.prod(shape) + 1), x.dtype)
    for place in np.ndindex(*positions.shape):
        out[..., int(positions[place])] += x[(..., *place)]
    return out[..., 1:].reshape(*x.shape[:-2], *shape)  # without what fell into the padding


def _pool_count(length, extent, step, low, high, ceil_mode):
    """How many windows there are: with ``ceil_mode`` one more if it begins within the array."""
    total = length + low + high - extent
    count = (-(-total // step) if ceil_mode else total // step) + 1
    return count - (ceil_mode and (count - 1) * step >= length + low)


def _pool(rank, number, reduced):
    """Pooling of arrays padded with a number, by ``reduced(window, counts, axes)``."""

    def pool(x, kernel_size, stride=None, padding=0, *, dilation=1, ceil_mode=False, count_include_pad=True,
             **options):  # fmt: skip
        size, dilation = _each(kernel_size, rank), _each(dilation, rank)
        stride, pads = size if stride is None else _each(stride, rank), _pads(padding, rank)
        lengths, reach = x.shape[-rank:], [d * (n - 1) + 1 for n, d in zip(size, dilation, strict=True)]
        counts = [
            _pool_count(length, extent, step, *pad, ceil_mode)
            for length, extent, step, pad in zip(lengths, reach, stride, pads, strict=True)
        ]
        beyond = [(0, extent + step) for extent, step in zip(reach, stride, strict=True)]
        padded = _padded(_padded(x, pads, number), beyond, number)
        is_counted = _padded(_padded(np.ones(lengths), pads, float(count_include_pad)), beyond)
        out = np.zeros((*x.shape[:-rank], *counts), np.result_type(x))
        for place, window in _windows(counts, size, stride, dilation):
            taken = padded[(..., *window)]
            out[(..., *place)] = reduced(taken, is_counted[window], tuple(range(-rank, 0)), **options)
        return out

    return pool


def _max_pool(rank):
    pool = _pool(rank, -np.inf, lambda window, _, axes: np.max(window, axes))

    def pooled(x, *args, return_indices=False, **options):
        out = pool(x, *args, **options)
        if not return_indices:
            return out
        planes = x.reshape(*x.shape[:-rank], -1)
        places = [np.flatnonzero(planes[at[:-rank]] == out[at])[0] for at in np.ndindex(out.shape)]
        return out, np.reshape(places, out.shape)

    return pooled


def _max_unpool(rank):
    def unpool(x, indices, kernel_size, stride=None, padding=0, output_size=None):
        size = _each(kernel_size, rank)
        stride = size if stride is None else _each(stride, rank)
        axes = zip(x.shape[-rank:], size, stride, _each(padding, rank), strict=True)
        shape = output_size or [(n - 1) * step - 2 * pad + extent for n, extent, step, pad in axes]
        out = np.zeros((*x.shape[:-rank], *shape), x.dtype)
        for at in np.ndindex(x.shape):
            out[at[:-rank]].flat[indices[at]] = x[at]
        return out

    return unpool


def _mean(window, is_counted, axes, divisor_override=None):
    return np.sum(window, axes) / (divisor_override or np.sum(is_counted))


def _adaptive(rank, reduced):
    def pool(x, output_size):
        lengths = x.shape[-rank:]
        counts = [n if count is None else count
                  for n, count in zip(lengths, _each(output_size, rank), strict=True)]  # fmt: skip
        out = np.zeros((*x.shape[:-rank], *counts), np.result_type(x))
        for place in np.ndindex(*counts):
            window = [slice(math.floor(p * n / m), math.ceil((p + 1) * n / m))
                      for p, n, m in zip(place, lengths, counts, strict=True)]  # fmt: skip
            out[(..., *place)] = reduced(x[(..., *window)], tuple(range(-rank, 0)))
        return out

    return pool


conv1d, conv2d, conv3d = map(_conv, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_conv_transpose, (1, 2, 3))
max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))
max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_pool(rank, 0.0, _mean) for rank in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive(n, np.mean) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive(n, np.max) for n in (1, 2, 3))
