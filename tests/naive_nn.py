"""Brute-force NumPy counterparts of `tape.nn`: loops over every element of every result."""

import math

import numpy as np

# ---- normalisations, linear layers, embeddings and attention -------------------------------------------


def _standardized(x, eps, is_centred=True):
    """One group of elements less their mean, over their root mean square."""
    centred = x - np.mean(x) if is_centred and x.size else x
    return centred / np.sqrt(np.mean(centred * centred) + eps) if x.size else x


def _affine(x, weight, bias):
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _by_channel(a, x):
    """One number for each channel, against an array (N, C, ...)."""
    return None if a is None else np.asarray(a).reshape(len(a), *(1 for _ in x.shape[2:]))


def _over_last(x, normalized_shape, eps, is_centred):
    count = np.size(normalized_shape)
    out = np.zeros(x.shape, x.dtype)
    for row in np.ndindex(x.shape[: x.ndim - count]):
        out[row] = _standardized(x[row], eps, is_centred)
    return out


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    return _affine(_over_last(x, normalized_shape, eps, True), weight, bias)


def rms_norm(x, normalized_shape, weight=None, eps=None):
    eps = np.finfo(x.dtype).eps if eps is None else eps
    return _affine(_over_last(x, normalized_shape, eps, False), weight, None)


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    out = np.zeros(x.shape, x.dtype)
    size = x.shape[1] // num_groups
    for sample in range(x.shape[0]):
        for group in range(num_groups):
            part = slice(group * size, (group + 1) * size)
            out[sample, part] = _standardized(x[sample, part], eps)
    return _affine(out, _by_channel(weight, x), _by_channel(bias, x))


def instance_norm(x, weight=None, bias=None, eps=1e-5):
    return group_norm(x, x.shape[1], weight, bias, eps)


def batch_norm(x, running_mean=None, running_var=None, weight=None, bias=None, training=False, eps=1e-5):
    out = np.zeros(x.shape, x.dtype)
    for c in range(x.shape[1]):
        if training:
            out[:, c] = _standardized(x[:, c], eps)
        else:
            out[:, c] = (x[:, c] - running_mean[c]) / np.sqrt(running_var[c] + eps)
    return _affine(out, _by_channel(weight, x), _by_channel(bias, x))


def batch_norm_statistics(x, running_mean, running_var, momentum=0.1):
    means = np.array([np.mean(x[:, c]) for c in range(x.shape[1])], x.dtype)
    variances = np.array([np.var(x[:, c], ddof=1) for c in range(x.shape[1])], x.dtype)
    return tuple(
        (1 - momentum) * old + momentum * new
        for old, new in ((running_mean, means), (running_var, variances))
    )


def normalize(x, p=2.0, axis=1, eps=1e-12):
    return x / np.maximum(np.linalg.norm(x, p, axis=axis, keepdims=True), eps)


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    out = np.zeros(x.shape, x.dtype)
    for c in range(x.shape[1]):
        first = max(0, c - size // 2)
        total = np.sum(x[:, first : c + (size - 1) // 2 + 1] ** 2, axis=1)
        out[:, c] = x[:, c] / (k + alpha * total / size) ** beta
    return out


def linear(x, weight, bias=None):
    return _affine(np.einsum("...i,oi->...o", x, weight), None, bias)


def bilinear(x1, x2, weight, bias=None):
    return _affine(np.einsum("...i,oij,...j->...o", x1, weight, x2), None, bias)


def dropout(x, mask, p=0.5):
    scale = 1 / (1 - p) if p < 1 else 0.0
    return np.where(mask, x * scale, 0)


def dropout_mask(rng, shape, p=0.5):
    return rng.random(shape, dtype=np.float32) >= np.float32(p)


def embedding(index, weight, padding_idx=None):
    out = np.zeros((*np.shape(index), weight.shape[1]), weight.dtype)
    for position in np.ndindex(np.shape(index)):
        out[position] = weight[index[position]]
    return out


def embedding_bag(index, weight, mode="mean", per_sample_weights=None, padding_idx=None):
    out = np.zeros((len(index), weight.shape[1]), weight.dtype)
    for bag in range(len(index)):
        rows = [
            weight[row] * (1 if per_sample_weights is None else per_sample_weights[bag, k])
            for k, row in enumerate(index[bag])
            if row != padding_idx
        ]
        if rows:
            out[bag] = {"mean": np.mean, "sum": np.sum, "max": np.max}[mode](rows, axis=0)
    return out


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False,
    *, dropout_mask=None,
):  # fmt: skip
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = (np.repeat(x, groups, axis=-3) for x in (key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * np.einsum("...le,...se->...ls", query, key)
    weights = np.zeros(scores.shape, scores.dtype)
    mask = True if attn_mask is None else attn_mask
    for place in np.ndindex(scores.shape):
        score, allowed = scores[place], np.broadcast_to(mask, scores.shape)[place]
        if isinstance(allowed, np.floating):
            score, allowed = score + allowed, allowed != -np.inf
        if allowed and not (is_causal and place[-1] > place[-2]):
            weights[place] = np.exp(score)
    totals = np.sum(weights, axis=-1, keepdims=True)
    weights = weights / np.where(totals == 0, 1, totals)
    if dropout_mask is not None:
        weights = dropout(weights, dropout_mask, dropout_p)
    return np.einsum("...ls,...sv->...lv", weights, value)


def multi_head_attention(
    query, key, value, num_heads, in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias=None,
    attn_mask=None, dropout_p=0.0, is_causal=False, *, dropout_mask=None,
):  # fmt: skip
    width = query.shape[-1]
    biases = np.zeros(3 * width) if in_proj_bias is None else in_proj_bias
    heads = []
    for k, x in enumerate((query, key, value)):
        part = slice(k * width, (k + 1) * width)
        heads.append(np.split(linear(x, in_proj_weight[part], biases[part]), num_heads, axis=-1))
    outs = [
        scaled_dot_product_attention(
            q, k, v,
            None if attn_mask is None else np.broadcast_to(attn_mask, (num_heads, *attn_mask.shape[-2:]))[h],
            dropout_p, is_causal,
            dropout_mask=None if dropout_mask is None else dropout_mask[h],
        )
        for h, (q, k, v) in enumerate(zip(*heads, strict=True))
    ]  # fmt: skip
    return linear(np.concatenate(outs, axis=-1), out_proj_weight, out_proj_bias)


# ---- convolution and pooling -------------------------------------------------------------------------


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
max_pool1d, max_pool2d, max_pool3d = (
    _pool(rank, -np.inf, lambda window, _, axes: np.max(window, axes)) for rank in (1, 2, 3)
)
avg_pool1d, avg_pool2d, avg_pool3d = (_pool(rank, 0.0, _mean) for rank in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive(n, np.mean) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive(n, np.max) for n in (1, 2, 3))


# ---- activations and losses: formulas of one element, looped over -------------------------------------


def _loop(formula):
    """A function of arrays that broadcast, from one of numbers."""
    return lambda *args: np.vectorize(formula, otypes=[float])(*args)[()]


def _ndtr(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _logistic(x):
    return 1 / (1 + math.exp(-x))


def gelu(x, approximate="none"):
    if approximate == "none":
        return _loop(lambda x: x * _ndtr(x))(x)
    return _loop(lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))(x)


silu = _loop(lambda x: x * _logistic(x))
mish = _loop(lambda x: x * math.tanh(math.log1p(math.exp(x))))
logsigmoid = _loop(lambda x: -math.log1p(math.exp(-x)))
tanhshrink = _loop(lambda x: x - math.tanh(x))
softsign = _loop(lambda x: x / (1 + abs(x)))
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
    return first * _loop(_logistic)(second)


def _reduced(losses, reduction):
    return {"none": lambda: losses, "sum": lambda: np.sum(losses), "mean": lambda: np.mean(losses)}[
        reduction
    ]()


def _loss(formula):
    """A loss of arrays of one shape, from one of numbers."""

    def loss(*args, reduction="mean", **options):
        return _reduced(_loop(lambda *numbers: formula(*numbers, **options))(*args), reduction)

    return loss


def _huber(e, t, delta):
    e = abs(e - t)
    return 0.5 * e * e if e <= delta else delta * (e - 0.5 * delta)


def _binary(p, t):
    return -t * math.log(p) - (1 - t) * math.log(1 - p)


def _poisson(x, t, log_input=True, full=False, eps=1e-8):
    loss = math.exp(x) - t * x if log_input else x - t * math.log(x + eps)
    stirling = t * math.log(t) - t + 0.5 * math.log(2 * math.pi * t)
    return loss + stirling if full and t > 1 else loss


mse_loss = _loss(lambda x, t: (x - t) ** 2)
l1_loss = _loss(lambda x, t: abs(x - t))
smooth_l1_loss = _loss(lambda x, t, beta: _huber(x, t, beta) / beta if beta else abs(x - t))
poisson_nll_loss = _loss(_poisson)
hinge_embedding_loss = _loss(lambda x, t: x if t == 1 else max(0, 1 - x))
margin_ranking_loss = _loss(lambda x, y, t: max(0, -t * (x - y)))
soft_margin_loss = _loss(lambda x, t: math.log1p(math.exp(-t * x)))


def huber_loss(x, t, reduction, delta):
    return _reduced(_loop(_huber)(x, t, delta), reduction)


def gaussian_nll_loss(x, t, var, full=False, reduction="mean"):
    var = var if var.ndim == x.ndim else var[:, None]
    losses = _loop(lambda x, t, v: 0.5 * (math.log(v) + (x - t) ** 2 / v))(x, t, var)
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
