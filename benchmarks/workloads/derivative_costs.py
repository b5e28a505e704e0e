"""The cost of derivatives relative to the function: a deep perceptron of equal layers, by all of its weights.

The loss is the mean square of the last layer. The derivatives by hand are the reference, and contenders
too: the least time that NumPy needs for them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

Layers = list[tuple[Any, Any]]  # weights and biases

_LARGEST_BATCH = 256


@workload("derivative-costs", is_default=False)
def derivative_costs(seed: int) -> list[Case]:
    """Gradient, jvp and Hessian product relative to the function: MLP of 10 tanh layers, by width."""
    return [
        _case(f"{width} {dtype.__name__}", 10, width, dtype, seed, is_large=width > 64)
        for width in (16, 64, 128, 256, 512)
        for dtype in (np.float64, np.float32)
    ]


@workload("derivative-costs-depth", is_default=False)
def derivative_costs_by_depth(seed: int) -> list[Case]:
    """The same by the number of layers: width and batch 128, float64."""
    return [
        _case(f"{depth} layers", depth, 128, np.float64, seed, is_large=depth > 5)
        for depth in (5, 10, 20, 40)
    ]


def _case(label: str, depth: int, width: int, dtype: type, seed: int, *, is_large: bool) -> Case:
    rng = np.random.default_rng(seed)

    def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * rng.standard_normal(shape)).astype(dtype)

    def layers(scale: float) -> Layers:
        return [
            (normal(width, width, scale=scale * width**-0.5), normal(width, scale=0.1)) for _ in range(depth)
        ]

    params, directions = layers(1.0), layers(0.5)
    x = normal(min(width, _LARGEST_BATCH), width)
    x_direction = normal(*x.shape)
    still = [(np.zeros_like(w), np.zeros_like(b)) for w, b in params]

    by_hand: dict[str, Call] = {
        "function": lambda: [loss(np, params, x)],
        "gradient": lambda: _flat(_gradient_by_hand(params, x)),
        "jvp": lambda: [_jvp_by_hand(params, x, directions, np.zeros_like(x))],
        "jvp by x": lambda: [_jvp_by_hand(params, x, still, x_direction)],
        "hvp": lambda: _flat(_hvp_by_hand(params, x, directions)),
    }
    contenders: dict[str, tuple[str, Callable[[], Call]]] = {
        "function": ("function", lambda: by_hand["function"]),
        "grad": ("gradient", partial(_tape_grad, params, x)),
        "value_and_grad": ("gradient", partial(_tape_value_and_grad, params, x)),
        "jvp": ("jvp", partial(_tape_jvp, params, x, directions)),
        "jvp by x": ("jvp by x", partial(_tape_jvp_by_x, params, x, x_direction)),
        "hvp": ("hvp", partial(_tape_hvp, params, x, directions)),
        "grad by hand": ("gradient", lambda: by_hand["gradient"]),
        "jvp by hand": ("jvp", lambda: by_hand["jvp"]),
        "hvp by hand": ("hvp", lambda: by_hand["hvp"]),
        "autograd grad": ("gradient", partial(_autograd_grad, params, x)),
        "torch grad": ("gradient", partial(_torch_grad, params, x)),
        "torch jvp": ("jvp", partial(_torch_jvp, params, x, directions)),
        "torch hvp": ("hvp", partial(_torch_hvp, params, x, directions)),
    }
    return Case(
        label,
        {name: make for name, (_, make) in contenders.items()},
        reference={name: by_hand[result] for name, (result, _) in contenders.items()},
        baseline="function",
        is_large=is_large,
    )


def loss(numpy: Any, params: Layers, x: Any) -> Any:
    """Return the loss, in any namespace with the names of NumPy."""
    for w, b in params:
        x = numpy.tanh(x @ w + b)
    return numpy.mean(x**2)


def _flat(layers: Layers) -> list[Any]:
    return [array for layer in layers for array in layer]


# ---- by hand ---------------------------------------------------------------------------------------


def _activations(params: Layers, x: np.ndarray) -> list[np.ndarray]:
    outs = [x]
    for w, b in params:
        z = outs[-1] @ w
        z += b
        outs.append(np.tanh(z, out=z))
    return outs


def _slope(out: np.ndarray) -> np.ndarray:
    """The derivative of tanh, from its result."""
    slope = out * out
    return np.subtract(1, slope, out=slope)


def _gradient_by_hand(params: Layers, x: np.ndarray) -> Layers:
    outs = _activations(params, x)
    d_out = outs[-1] * outs[-1].dtype.type(2 / outs[-1].size)
    gradients = []
    for k in range(len(params) - 1, -1, -1):
        d_out *= _slope(outs[k + 1])
        gradients.append((outs[k].T @ d_out, d_out.sum(axis=0)))
        if k:  # the derivative by x is not needed
            d_out = d_out @ params[k][0].T
    return gradients[::-1]


def _jvp_by_hand(params: Layers, x: np.ndarray, directions: Layers, moved: np.ndarray) -> Any:
    out = x
    for k, ((w, b), (w_direction, b_direction)) in enumerate(zip(params, directions, strict=True)):
        z = out @ w
        z += b
        moved_z = out @ w_direction
        if k or moved.any():
            moved_z += moved @ w
        moved_z += b_direction
        out = np.tanh(z, out=z)
        moved_z *= _slope(out)
        moved = moved_z
    return np.sum(moved * out) * out.dtype.type(2 / out.size)


def _hvp_by_hand(params: Layers, x: np.ndarray, directions: Layers) -> Layers:
    """The gradient and its derivative along the directions: Pearlmutter 1994, "Fast exact multiplication"."""
    outs = _activations(params, x)
    moved = [np.zeros_like(x)]
    slopes = []
    for k, ((w, _), (w_direction, b_direction)) in enumerate(zip(params, directions, strict=True)):
        moved_z = outs[k] @ w_direction
        if k:
            moved_z += moved[k] @ w
        moved_z += b_direction
        slopes.append(_slope(outs[k + 1]))
        moved_z *= slopes[k]
        moved.append(moved_z)
    scale = outs[-1].dtype.type(2 / outs[-1].size)
    d_out, moved_d_out = outs[-1] * scale, moved[-1] * scale
    products = []
    for k in range(len(params) - 1, -1, -1):
        moved_d_out *= slopes[k]
        bend = outs[k + 1] * moved[k + 1]
        bend *= d_out
        bend *= 2
        moved_d_out -= bend
        d_out *= slopes[k]
        product = outs[k].T @ moved_d_out
        if k:
            product += moved[k].T @ d_out
        products.append((product, moved_d_out.sum(axis=0)))
        if k:
            moved_d_out = moved_d_out @ params[k][0].T
            moved_d_out += d_out @ directions[k][0].T
            d_out = d_out @ params[k][0].T
    return products[::-1]


# ---- the frameworks --------------------------------------------------------------------------------


def _tape_grad(params: Layers, x: np.ndarray) -> Call:
    gradient = load("tape").grad(partial(loss, np))
    return lambda: _flat(gradient(params, x))


def _tape_value_and_grad(params: Layers, x: np.ndarray) -> Call:
    both = load("tape").value_and_grad(partial(loss, np))
    return lambda: _flat(both(params, x)[1])


def _tape_jvp(params: Layers, x: np.ndarray, directions: Layers) -> Call:
    tape = load("tape")
    return lambda: [tape.jvp(lambda params: loss(np, params, x), (params,), (directions,))[1]]


def _tape_jvp_by_x(params: Layers, x: np.ndarray, direction: np.ndarray) -> Call:
    tape = load("tape")
    return lambda: [tape.jvp(lambda x: loss(np, params, x), (x,), (direction,))[1]]


def _tape_hvp(params: Layers, x: np.ndarray, directions: Layers) -> Call:
    product = load("tape").hvp(partial(loss, np))
    return lambda: _flat(product(params, x, directions))


def _autograd_grad(params: Layers, x: np.ndarray) -> Call:
    autograd = load("autograd")
    gradient = autograd.grad(partial(loss, autograd.numpy))
    return lambda: _flat(gradient(params, x))


def _tensors(torch: Any, layers: Layers) -> Layers:
    return [(torch.tensor(w), torch.tensor(b)) for w, b in layers]


def _torch_grad(params: Layers, x: np.ndarray) -> Call:
    torch = load("torch")
    leaves = [(w.requires_grad_(), b.requires_grad_()) for w, b in _tensors(torch, params)]
    data = torch.tensor(x)
    return lambda: list(torch.autograd.grad(loss(torch, leaves, data), _flat(leaves)))


def _torch_jvp(params: Layers, x: np.ndarray, directions: Layers) -> Call:
    torch = load("torch")
    primals, tangents, data = _tensors(torch, params), _tensors(torch, directions), torch.tensor(x)
    return lambda: [torch.func.jvp(lambda params: loss(torch, params, data), (primals,), (tangents,))[1]]


def _torch_hvp(params: Layers, x: np.ndarray, directions: Layers) -> Call:
    torch = load("torch")
    primals, tangents, data = _tensors(torch, params), _tensors(torch, directions), torch.tensor(x)
    gradient = torch.func.grad(lambda params: loss(torch, params, data))
    return lambda: _flat(torch.func.jvp(gradient, (primals,), (tangents,))[1])
