"""Brute-force NumPy counterparts of the layers of `tape.nn`: normalisations, embeddings, attention."""

import numpy as np


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


def dropout(x, p=0.5, mask=None):
    scale = 1 / (1 - p) if p < 1 else 0.0
    return np.where(mask, x * scale, 0)


def dropout_mask(rng, shape, p=0.5):
    return rng.random(shape, dtype=np.float32) >= np.float32(p)


def embedding(index, weight, padding_idx=None):
    out = np.zeros((*np.shape(index), weight.shape[1]), weight.dtype)
    for position in np.ndindex(np.shape(index)):
        out[position] = weight[index[position]]
    return out


def embedding_bag(
    index,
    weight,
    mode="mean",
    per_sample_weights=None,
    padding_idx=None,
    offsets=None,
    include_last_offset=False,
):
    if offsets is not None:
        inner = offsets[1:-1] if include_last_offset else offsets[1:]
        index = np.split(index, inner)
        if per_sample_weights is not None:
            parts = np.split(per_sample_weights, inner)
            per_sample_weights = {(bag, k): w for bag, part in enumerate(parts) for k, w in enumerate(part)}
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
        weights = dropout(weights, dropout_p, dropout_mask)
    return np.einsum("...ls,...sv->...lv", weights, value)


def rotary_embedding(x, positions=None, base=10_000.0, interleaved=False):
    """Each pair is a complex number, times one of length 1."""
    positions = np.broadcast_to(np.arange(x.shape[-2]) if positions is None else positions, x.shape[:-1])
    out, half = np.array(x), x.shape[-1] // 2
    for place in np.ndindex(x.shape[:-1]):
        for pair in range(half):
            a, b = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + half)
            angle = positions[place] * base ** (-2 * pair / x.shape[-1])
            turned = (x[(*place, a)] + 1j * x[(*place, b)]) * np.exp(1j * angle)
            out[(*place, a)], out[(*place, b)] = turned.real, turned.imag
    return out


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
