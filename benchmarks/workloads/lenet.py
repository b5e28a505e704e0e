"""A small convolutional network: two convolutions with pooling, then three dense layers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_BATCH, _SIDE, _KERNEL = 32, 28, 5
_CHANNELS = (1, 6, 16)
_WIDTHS = (256, 120, 84, 10)  # 16 channels of 4 x 4 are left after the second pooling


@workload("lenet")
def lenet(seed: int) -> list[Case]:
    """LeNet (conv 6, conv 16, 120-84-10, relu, max pooling), batch 32, float32: value and gradient."""
    rng = np.random.default_rng(seed)
    params = _params(rng)
    images = rng.standard_normal((_BATCH, 1, _SIDE, _SIDE)).astype(np.float32)
    labels = rng.integers(_WIDTHS[-1], size=_BATCH)
    rows = np.arange(_BATCH)
    losses = {
        "tape compiled": _tape_loss,
        "tape": _tape_loss,
        "torch": _torch_loss,
        "torch 1 thread": _torch_loss,
        "jax": _jax_loss,
    }
    contenders = gradients_by(losses, params, [images, labels])
    contenders["numpy"] = lambda: lambda: _by_hand(*params, images, rows, labels)
    return [Case("", contenders, baseline="tape compiled", tolerance=1e-4)]


def _params(rng: np.random.Generator) -> list[np.ndarray]:
    """Kernels (out, in, 5, 5), then matrices (in, out), each with its biases."""

    def normal(*shape: int, scale: float) -> np.ndarray:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    params = []
    for before, after in pairwise(_CHANNELS):
        fan_in = before * _KERNEL**2
        params += [normal(after, before, _KERNEL, _KERNEL, scale=fan_in**-0.5), normal(after, scale=0.1)]
    for fan_in, fan_out in pairwise(_WIDTHS):
        params += [normal(fan_in, fan_out, scale=fan_in**-0.5), normal(fan_out, scale=0.1)]
    return params


# ---- by hand: channels last, convolutions as products of patches, relu after pooling, which commutes ----


def _patches(x: np.ndarray) -> np.ndarray:
    """Convert (batch, rows, columns, channels) to a row of 5 x 5 x channels for each place of the kernel."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (_KERNEL, _KERNEL), axis=(1, 2))
    return windows.transpose(0, 1, 2, 4, 5, 3).reshape(-1, _KERNEL**2 * x.shape[-1])


def _halves(x: np.ndarray) -> np.ndarray:
    batch, rows, columns, channels = x.shape
    return x.reshape(batch, rows // 2, 2, columns // 2, 2, channels)


def _layer(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the patches, the kernel as a matrix, the input of the pooling, and the output of relu."""
    patches = _patches(x)
    matrix = w.transpose(2, 3, 1, 0).reshape(-1, len(b))
    side = x.shape[1] - _KERNEL + 1
    before = _halves((patches @ matrix + b).reshape(len(x), side, side, len(b)))
    pooled = before.max(axis=4).max(axis=2)
    return patches, matrix, before == pooled[:, :, None, :, None], np.maximum(pooled, 0)


def _layer_adjoint(d_out: np.ndarray, out: np.ndarray, is_largest: np.ndarray) -> np.ndarray:
    """Convert the adjoint of relu's output to that of the convolution, a row for every patch."""
    d_pooled = d_out * (out > 0)
    return (is_largest * d_pooled[:, :, None, :, None]).reshape(-1, out.shape[-1])


def _kernel_adjoint(patches: np.ndarray, d_rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    out, channels, *_ = w.shape
    return (patches.T @ d_rows).reshape(_KERNEL, _KERNEL, channels, out).transpose(3, 2, 0, 1)


def _by_hand(*arguments: Any) -> list[Any]:
    w1, b1, w2, b2, w3, b3, w4, b4, w5, b5, images, rows, labels = arguments
    patches1, _, largest1, first = _layer(images.reshape(_BATCH, _SIDE, _SIDE, 1), w1, b1)
    patches2, matrix2, largest2, second = _layer(first, w2, b2)
    flat = second.transpose(0, 3, 1, 2).reshape(_BATCH, -1)
    third = np.maximum(flat @ w3 + b3, 0)
    fourth = np.maximum(third @ w4 + b4, 0)
    logits = fourth @ w5 + b5
    logits -= logits.max(axis=1, keepdims=True)
    chosen = logits[rows, labels]
    d_logits = np.exp(logits)
    total = d_logits.sum(axis=1, keepdims=True)
    loss = (np.log(total[:, 0]) - chosen).mean()
    d_logits /= total
    d_logits[rows, labels] -= 1
    d_logits /= len(rows)

    d_fourth = (d_logits @ w5.T) * (fourth > 0)
    d_third = (d_fourth @ w4.T) * (third > 0)
    d_flat = d_third @ w3.T
    d_second = d_flat.reshape(_BATCH, -1, *second.shape[1:3]).transpose(0, 2, 3, 1)
    d_rows2 = _layer_adjoint(d_second, second, largest2)
    side = first.shape[1] - _KERNEL + 1
    d_patches = (d_rows2 @ matrix2.T).reshape(_BATCH, side, side, _KERNEL, _KERNEL, first.shape[-1])
    d_first = np.zeros_like(first)
    for i in range(_KERNEL):
        for j in range(_KERNEL):
            d_first[:, i : i + side, j : j + side] += d_patches[:, :, :, i, j]
    d_rows1 = _layer_adjoint(d_first, first, largest1)
    return [
        loss,
        _kernel_adjoint(patches1, d_rows1, w1),
        d_rows1.sum(axis=0),
        _kernel_adjoint(patches2, d_rows2, w2),
        d_rows2.sum(axis=0),
        flat.T @ d_third,
        d_third.sum(axis=0),
        third.T @ d_fourth,
        d_fourth.sum(axis=0),
        fourth.T @ d_logits,
        d_logits.sum(axis=0),
    ]


# ---- the frameworks, each in its own idiom ---------------------------------------------------------


def _tape_loss(tape: Any, *arguments: Any) -> Any:
    w1, b1, w2, b2, w3, b3, w4, b4, w5, b5, images, labels = arguments
    nn = tape.nn
    first = nn.max_pool2d(nn.relu(nn.conv2d(images, w1, b1)), 2)
    second = nn.max_pool2d(nn.relu(nn.conv2d(first, w2, b2)), 2)
    third = nn.relu(second.reshape(_BATCH, -1) @ w3 + b3)
    return nn.cross_entropy(nn.relu(third @ w4 + b4) @ w5 + b5, labels)


def _torch_loss(torch: Any, *arguments: Any) -> Any:
    w1, b1, w2, b2, w3, b3, w4, b4, w5, b5, images, labels = arguments
    nn = torch.nn.functional
    first = nn.max_pool2d(torch.relu(nn.conv2d(images, w1, b1)), 2)
    second = nn.max_pool2d(torch.relu(nn.conv2d(first, w2, b2)), 2)
    third = torch.relu(torch.addmm(b3, second.flatten(1), w3))
    fourth = torch.relu(torch.addmm(b4, third, w4))
    return nn.cross_entropy(torch.addmm(b5, fourth, w5), labels)


def _jax_layer(jax: Any, x: Any, w: Any, b: Any) -> Any:
    """XLA's loops for the CPU are written for channels last, and convert what is not."""
    layout = ("NHWC", "OIHW", "NHWC")
    out = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=layout) + b)
    batch, rows, columns, channels = out.shape
    return out.reshape(batch, rows // 2, 2, columns // 2, 2, channels).max(axis=(2, 4))


def _jax_loss(jax: Any, *arguments: Any) -> Any:
    w1, b1, w2, b2, w3, b3, w4, b4, w5, b5, images, labels = arguments
    relu = jax.nn.relu
    first = _jax_layer(jax, images.reshape(_BATCH, _SIDE, _SIDE, 1), w1, b1)
    second = _jax_layer(jax, first, w2, b2)
    third = relu(second.transpose(0, 3, 1, 2).reshape(_BATCH, -1) @ w3 + b3)
    logits = relu(third @ w4 + b4) @ w5 + b5
    return -jax.nn.log_softmax(logits)[jax.numpy.arange(_BATCH), labels].mean()
