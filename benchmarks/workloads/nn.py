"""Each function of `tape.nn` against PyTorch's of the same name, at sizes of layers in use.

Names and arguments are the same, so one function is called with either library. PyTorch's results are the
reference, compared in both precisions before anything is timed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders import load
from benchmarks.harness import Call, Case
from benchmarks.registry import workload

Maker = Callable[[Any, Any, Any], Call]
Layer = Callable[..., Any]  # of tape.nn or torch.nn.functional, the operands and the data
Table = list[tuple[str, Layer, tuple[tuple[int, ...], ...]]]  # with the shapes of the operands

_TOLERANCES = {np.float32: 1e-5, np.float64: 1e-10}

_IMAGES, _SERIES, _VOLUMES = (8, 32, 28, 28), (8, 64, 256), (2, 8, 16, 16, 16)
_ROWS = (1024, 512)
_ELEMENTS = (512, 512)

_CONVOLUTIONS: Table = [
    ("conv2d 5x5 of LeNet", lambda nn, x, w, b: nn.conv2d(x, w, b), ((32, 1, 28, 28), (6, 1, 5, 5), (6,))),
    ("conv2d 3x3", lambda nn, x, w, b: nn.conv2d(x, w, b, padding=1), (_IMAGES, (64, 32, 3, 3), (64,))),
    ("conv2d 1x1", lambda nn, x, w: nn.conv2d(x, w), (_IMAGES, (64, 32, 1, 1))),
    ("conv2d stride 2", lambda nn, x, w: nn.conv2d(x, w, stride=2, padding=1), (_IMAGES, (64, 32, 3, 3))),
    ("conv2d dilated", lambda nn, x, w: nn.conv2d(x, w, padding=2, dilation=2), (_IMAGES, (64, 32, 3, 3))),
    ("conv2d of 4 groups", lambda nn, x, w: nn.conv2d(x, w, padding=1, groups=4), (_IMAGES, (64, 8, 3, 3))),
    ("conv2d depthwise", lambda nn, x, w: nn.conv2d(x, w, padding=1, groups=32), (_IMAGES, (32, 1, 3, 3))),
    ("conv1d", lambda nn, x, w, b: nn.conv1d(x, w, b, padding=2), (_SERIES, (64, 64, 5), (64,))),
    ("conv3d", lambda nn, x, w, b: nn.conv3d(x, w, b, padding=1), (_VOLUMES, (16, 8, 3, 3, 3), (16,))),
    (
        "conv_transpose2d",
        lambda nn, x, w, b: nn.conv_transpose2d(x, w, b, stride=2, padding=1),
        ((8, 32, 14, 14), (32, 16, 4, 4), (16,)),
    ),
]
_POOLINGS: Table = [
    ("max_pool2d 2x2", lambda nn, x: nn.max_pool2d(x, 2), (_IMAGES,)),
    ("max_pool2d 3x3 stride 2", lambda nn, x: nn.max_pool2d(x, 3, 2, 1), (_IMAGES,)),
    ("avg_pool2d 2x2", lambda nn, x: nn.avg_pool2d(x, 2), (_IMAGES,)),
    ("avg_pool2d 3x3 stride 2", lambda nn, x: nn.avg_pool2d(x, 3, 2, 1), (_IMAGES,)),
    ("adaptive_avg_pool2d to 1", lambda nn, x: nn.adaptive_avg_pool2d(x, 1), (_IMAGES,)),
    ("max_pool1d", lambda nn, x: nn.max_pool1d(x, 4), (_SERIES,)),
]
_NORMS: Table = [
    ("layer_norm", lambda nn, x, w, b: nn.layer_norm(x, (512,), w, b), (_ROWS, (512,), (512,))),
    ("layer_norm of 64", lambda nn, x, w, b: nn.layer_norm(x, (64,), w, b), ((256, 64), (64,), (64,))),
    ("rms_norm", lambda nn, x, w: nn.rms_norm(x, (512,), w), (_ROWS, (512,))),
    (
        "batch_norm",
        lambda nn, x, w, b: nn.batch_norm(x, None, None, weight=w, bias=b, training=True),
        (_IMAGES, (32,), (32,)),
    ),
    ("group_norm", lambda nn, x, w, b: nn.group_norm(x, 8, w, b), (_IMAGES, (32,), (32,))),
]
_ATTENTIONS: Table = [
    ("attention 32 steps", lambda nn, *qkv: nn.scaled_dot_product_attention(*qkv), ((8, 4, 32, 16),) * 3),
    ("attention 256 steps", lambda nn, *qkv: nn.scaled_dot_product_attention(*qkv), ((2, 8, 256, 64),) * 3),
    (
        "attention causal",
        lambda nn, *qkv: nn.scaled_dot_product_attention(*qkv, is_causal=True),
        ((2, 8, 256, 64),) * 3,
    ),
]
_ACTIVATIONS: dict[str, Layer] = {
    "gelu by erf": lambda nn, x: nn.gelu(x),
    "gelu by tanh": lambda nn, x: nn.gelu(x, approximate="tanh"),
    "silu": lambda nn, x: nn.silu(x),
    "elu": lambda nn, x: nn.elu(x),
    "selu": lambda nn, x: nn.selu(x),
    "leaky_relu": lambda nn, x: nn.leaky_relu(x, 0.01),
    "relu": lambda nn, x: nn.relu(x),
    "mish": lambda nn, x: nn.mish(x),
    "hardswish": lambda nn, x: nn.hardswish(x),
    "softplus": lambda nn, x: nn.softplus(x),
    "glu": lambda nn, x: nn.glu(x),
}
_LOSSES: dict[str, Layer] = {
    "mse_loss": lambda nn, x, target: nn.mse_loss(x, target),
    "l1_loss": lambda nn, x, target: nn.l1_loss(x, target),
    "huber_loss": lambda nn, x, target: nn.huber_loss(x, target),
    "binary_cross_entropy_with_logits": lambda nn, x, target: nn.binary_cross_entropy_with_logits(x, target),
    "kl_div": lambda nn, x, target: nn.kl_div(x, target, reduction="sum"),
    "cosine_similarity": lambda nn, x, target: nn.cosine_similarity(x, target),
}


@workload("nn", is_default=False)
def nn(seed: int) -> list[Case]:
    """Functions of neural networks against PyTorch's: value and gradient by all operands."""
    return _cases(seed, _PULLBACKS)


@workload("nn-forward", is_default=False)
def nn_forward(seed: int) -> list[Case]:
    """Functions of neural networks against PyTorch's: value."""
    return _cases(seed, _FORWARDS)


@dataclass(frozen=True)
class _Layer:
    """A function, the arguments it is differentiated by, and the data that follow them."""

    label: str
    function: Layer
    params: Sequence[np.ndarray]
    data: Sequence[np.ndarray] = ()


def _cases(seed: int, makers: Mapping[str, Maker]) -> list[Case]:
    layers = _layers(np.random.default_rng(seed))
    return [_case(layer, makers, dtype) for layer in layers for dtype in _TOLERANCES]


def _layers(rng: np.random.Generator) -> list[_Layer]:
    def normal(shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(shape)

    layers = [
        _Layer(label, function, [normal(shape) for shape in shapes])
        for label, function, shapes in (*_CONVOLUTIONS, *_POOLINGS, *_NORMS, *_ATTENTIONS)
    ]
    layers += [_Layer(label, function, [normal(_ELEMENTS)]) for label, function in _ACTIVATIONS.items()]
    for label, function in _LOSSES.items():
        layers.append(_Layer(label, function, [normal(_ELEMENTS)], [rng.random(_ELEMENTS)]))
    for rows, classes in ((32, 10), (512, 1000)):
        layers.append(
            _Layer(
                f"cross_entropy of {classes}",
                lambda nn, x, target: nn.cross_entropy(x, target),
                [normal((rows, classes))],
                [rng.integers(classes, size=rows)],
            )
        )
    layers.append(
        _Layer(
            "embedding",
            lambda nn, table, index: nn.embedding(index, table),
            [normal((10_000, 64))],
            [rng.integers(10_000, size=(32, 64))],
        )
    )
    return layers


def _case(layer: _Layer, makers: Mapping[str, Maker], dtype: Any) -> Case:
    params = [param.astype(dtype) for param in layer.params]
    data = [array.astype(dtype) if array.dtype.kind == "f" else array for array in layer.data]
    contenders = {name: partial(make, layer.function, params, data) for name, make in makers.items()}

    def by_torch() -> Sequence[Any]:
        return contenders["torch"]()()

    return Case(
        f"{layer.label} {np.dtype(dtype)}",
        contenders,
        reference=by_torch if importlib.util.find_spec("torch") else None,
        tolerance=_TOLERANCES[dtype],
        baseline="tape compiled",
        is_large=True,
    )


# ---- the value, and its pullback of ones -----------------------------------------------------------


def _tape_forward(layer: Layer, params: Any, data: Any) -> Call:
    tape = load("tape")
    return lambda: [layer(tape.nn, *params, *data)]


def _compiled_forward(layer: Layer, params: Any, data: Any) -> Call:
    tape = load("tape")
    function = tape.compile(partial(layer, tape.nn))
    return lambda: [function(*params, *data)]


def _torch_forward(layer: Layer, params: Any, data: Any) -> Call:
    torch = load("torch")
    tensors = [torch.tensor(array) for array in (*params, *data)]
    return lambda: [layer(torch.nn.functional, *tensors)]


def _tape_pullback(layer: Layer, params: Any, data: Any) -> Call:
    tape = load("tape")
    seed = _seed(layer(tape.nn, *params, *data))

    def call() -> list[Any]:
        trace = tape.Trace()
        root = layer(tape.nn, *[trace.param(param) for param in params], *data)
        return [root.value, *trace.backward_param_grads(root, seed)]

    return call


def _compiled_pullback(layer: Layer, params: Any, data: Any) -> Call:
    tape = load("tape")
    seed = _seed(layer(tape.nn, *params, *data))

    @tape.compile
    def value_and_gradients(params: Any, data: Any, seed: Any) -> list[Any]:
        out, pullback = tape.vjp(lambda *params: layer(tape.nn, *params, *data), *params)
        return [out, *pullback(seed)]

    return lambda: value_and_gradients(params, data, seed)


def _torch_pullback(layer: Layer, params: Any, data: Any) -> Call:
    torch = load("torch")
    leaves = [torch.tensor(param, requires_grad=True) for param in params]
    tensors = [torch.tensor(array) for array in data]
    seed = torch.tensor(_seed(layer(torch.nn.functional, *leaves, *tensors).detach().numpy()))

    def call() -> list[Any]:
        root = layer(torch.nn.functional, *leaves, *tensors)
        return [root.detach(), *torch.autograd.grad(root, leaves, seed)]

    return call


def _seed(out: Any) -> np.ndarray:
    """Return a cotangent with elements of either sign, the same for all contenders."""
    return np.random.default_rng(0).standard_normal(np.shape(out)).astype(out.dtype)


_FORWARDS = {"tape compiled": _compiled_forward, "tape": _tape_forward, "torch": _torch_forward}
_PULLBACKS = {"tape compiled": _compiled_pullback, "tape": _tape_pullback, "torch": _torch_pullback}
