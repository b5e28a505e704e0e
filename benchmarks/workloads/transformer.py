"""A transformer block with pre-normalisation: attention and a perceptron."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import gradients_by
from benchmarks.harness import Case
from benchmarks.registry import workload

_BATCH, _STEPS, _WIDTH, _HEADS, _INNER = 8, 32, 64, 4, 256
_EPS = 1e-5
_SCALE = (_WIDTH // _HEADS) ** -0.5

Gelu = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@workload("transformer")
def transformer(seed: int) -> list[Case]:
    """Transformer block, width 64, 4 heads, T = 32, batch 8, MLP 256, float32: value and gradient."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    def dense(fan_in: int, fan_out: int) -> list[np.ndarray]:
        return [normal(fan_in, fan_out, scale=fan_in**-0.5), normal(fan_out, scale=0.1)]

    def norm() -> list[np.ndarray]:
        return [1 + normal(_WIDTH, scale=0.1), normal(_WIDTH, scale=0.1)]

    params = [
        *norm(),
        *dense(_WIDTH, 3 * _WIDTH),
        *dense(_WIDTH, _WIDTH),
        *norm(),
        *dense(_WIDTH, _INNER),
        *dense(_INNER, _WIDTH),
    ]
    data = [normal(_BATCH, _STEPS, _WIDTH), normal(_BATCH, _STEPS, _WIDTH)]
    return [
        _case("gelu by tanh", params, data, "tanh", _gelu_by_tanh),
        _case("gelu by erf", params, data, "none", _gelu_by_erf),
    ]


def _case(
    label: str, params: list[np.ndarray], data: list[np.ndarray], approximate: str, gelu_by_hand: Gelu
) -> Case:
    def loss(block: Callable[..., Any]) -> Callable[..., Any]:
        return lambda framework, *arguments: block(framework, approximate, *arguments)

    losses = {
        "tape compiled": loss(_tape_loss),
        "tape": loss(_tape_loss),
        "torch": loss(_torch_loss),
        "torch 1 thread": loss(_torch_loss),
        "jax": loss(_jax_loss),
    }
    by_hand = {"numpy": lambda: lambda: _by_hand(gelu_by_hand, *params, *data)}
    contenders = by_hand | gradients_by(losses, params, data)
    return Case(label, contenders, baseline="tape compiled", tolerance=1e-4)


# ---- by hand -----------------------------------------------------------------------------------------


def _gelu_by_tanh(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gelu and its derivative."""
    slope = np.float32((2 / np.pi) ** 0.5)
    square = x * x
    half = 0.5 * np.tanh(slope * x * (1 + np.float32(0.044715) * square))
    inner = slope * (1 + np.float32(3 * 0.044715) * square)
    return x * (0.5 + half), 0.5 + half + 2 * x * (0.25 - half * half) * inner


def _gelu_by_erf(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import erf

    below = 0.5 + 0.5 * erf(x * np.float32(0.5**0.5))
    return x * below, below + x * np.exp(-0.5 * x * x) * np.float32((2 * np.pi) ** -0.5)


def _norm(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows with mean 0 and variance 1, and the factors that scaled them."""
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(_EPS))
    centred *= scale
    return centred, scale


def _norm_adjoint(d_rows: np.ndarray, rows: np.ndarray, scale: np.ndarray) -> np.ndarray:
    along = (d_rows * rows).mean(axis=-1, keepdims=True)
    return (d_rows - d_rows.mean(axis=-1, keepdims=True) - rows * along) * scale


def _by_hand(gelu: Gelu, *arguments: Any) -> list[Any]:
    """Return the loss and its gradients; matrices have a row for each step of each sequence."""
    g1, c1, w_in, b_in, w_out, b_out, g2, c2, w_up, b_up, w_down, b_down, x, target = arguments
    x = x.reshape(-1, _WIDTH)
    rows1, _ = _norm(x)
    normed1 = rows1 * g1 + c1
    split = (normed1 @ w_in + b_in).reshape(_BATCH, _STEPS, 3, _HEADS, -1).transpose(2, 0, 3, 1, 4)
    query, key, value = split
    weights = query @ key.swapaxes(-1, -2)
    weights *= np.float32(_SCALE)
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed = (weights @ value).transpose(0, 2, 1, 3).reshape(-1, _WIDTH)
    middle = x + mixed @ w_out + b_out
    rows2, scale2 = _norm(middle)
    normed2 = rows2 * g2 + c2
    inner, slope = gelu(normed2 @ w_up + b_up)
    residual = middle + inner @ w_down + b_down - target.reshape(-1, _WIDTH)

    d_out = residual * np.float32(2 / residual.size)
    d_inner = (d_out @ w_down.T) * slope
    d_normed2 = d_inner @ w_up.T
    d_middle = d_out + _norm_adjoint(d_normed2 * g2, rows2, scale2)
    d_mixed = (d_middle @ w_out.T).reshape(_BATCH, _STEPS, _HEADS, -1).transpose(0, 2, 1, 3)
    d_split = np.empty((_BATCH, _STEPS, 3, _HEADS, _WIDTH // _HEADS), np.float32)
    d_query, d_key, d_value = d_split.transpose(2, 0, 3, 1, 4)
    d_value[:] = weights.swapaxes(-1, -2) @ d_mixed
    d_weights = d_mixed @ value.swapaxes(-1, -2)
    d_weights -= np.einsum("bhij,bhij->bhi", d_weights, weights)[..., None]
    d_weights *= weights
    d_weights *= np.float32(_SCALE)
    d_query[:] = d_weights @ key
    d_key[:] = d_weights.swapaxes(-1, -2) @ query
    d_projected = d_split.reshape(-1, 3 * _WIDTH)
    d_normed1 = d_projected @ w_in.T
    return [
        np.square(residual).mean(),
        (d_normed1 * rows1).sum(axis=0),
        d_normed1.sum(axis=0),
        normed1.T @ d_projected,
        d_projected.sum(axis=0),
        mixed.T @ d_middle,
        d_middle.sum(axis=0),
        (d_normed2 * rows2).sum(axis=0),
        d_normed2.sum(axis=0),
        normed2.T @ d_inner,
        d_inner.sum(axis=0),
        inner.T @ d_out,
        d_out.sum(axis=0),
    ]


# ---- the frameworks, each in its own idiom ---------------------------------------------------------


def _tape_loss(tape: Any, approximate: str, *arguments: Any) -> Any:
    g1, c1, w_in, b_in, w_out, b_out, g2, c2, w_up, b_up, w_down, b_down, x, target = arguments
    nn = tape.nn
    projected = nn.layer_norm(x, (_WIDTH,), g1, c1, _EPS) @ w_in + b_in
    query, key, value = np.transpose(projected.reshape(_BATCH, _STEPS, 3, _HEADS, -1), (2, 0, 3, 1, 4))
    mixed = nn.scaled_dot_product_attention(query, key, value)
    middle = x + np.transpose(mixed, (0, 2, 1, 3)).reshape(_BATCH, _STEPS, _WIDTH) @ w_out + b_out
    normed = nn.layer_norm(middle, (_WIDTH,), g2, c2, _EPS)
    out = middle + nn.gelu(normed @ w_up + b_up, approximate=approximate) @ w_down + b_down
    return nn.mse_loss(out, target)


def _torch_loss(torch: Any, approximate: str, *arguments: Any) -> Any:
    g1, c1, w_in, b_in, w_out, b_out, g2, c2, w_up, b_up, w_down, b_down, x, target = arguments
    nn = torch.nn.functional

    def dense(x: Any, w: Any, b: Any) -> Any:
        return nn.linear(x, w.T, b)

    projected = dense(nn.layer_norm(x, (_WIDTH,), g1, c1, _EPS), w_in, b_in)
    query, key, value = projected.view(_BATCH, _STEPS, 3, _HEADS, -1).permute(2, 0, 3, 1, 4)
    mixed = nn.scaled_dot_product_attention(query, key, value)
    middle = x + dense(mixed.transpose(1, 2).reshape(_BATCH, _STEPS, _WIDTH), w_out, b_out)
    normed = nn.layer_norm(middle, (_WIDTH,), g2, c2, _EPS)
    out = middle + dense(nn.gelu(dense(normed, w_up, b_up), approximate=approximate), w_down, b_down)
    return nn.mse_loss(out, target)


def _jax_norm(jax: Any, x: Any, g: Any, c: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + _EPS) * g + c


def _jax_loss(jax: Any, approximate: str, *arguments: Any) -> Any:
    g1, c1, w_in, b_in, w_out, b_out, g2, c2, w_up, b_up, w_down, b_down, x, target = arguments
    projected = _jax_norm(jax, x, g1, c1) @ w_in + b_in
    query, key, value = projected.reshape(_BATCH, _STEPS, 3, _HEADS, -1).transpose(2, 0, 3, 1, 4)
    weights = jax.nn.softmax(query @ key.swapaxes(-1, -2) * _SCALE)
    mixed = (weights @ value).transpose(0, 2, 1, 3).reshape(_BATCH, _STEPS, _WIDTH)
    middle = x + mixed @ w_out + b_out
    normed = _jax_norm(jax, middle, g2, c2)
    inner = jax.nn.gelu(normed @ w_up + b_up, approximate=approximate == "tanh")
    return ((middle + inner @ w_down + b_down - target) ** 2).mean()
