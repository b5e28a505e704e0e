"""Neural networks: layers, and the functions they are made of.

A layer is a dataclass whose arrays are leaves and whose settings are structure: every transform takes a
model as it is, and the gradient of a loss by a model is a model of gradients. Layers have PyTorch's names of
weights, so that state dicts go across by name.

Examples
--------
>>> import numpy as np, tape
>>> from tape import nn
>>> model = nn.MLP([2, 16, 1], np.tanh, rng=np.random.default_rng(0))
>>> def loss(model, x, y):
...     return nn.binary_cross_entropy_with_logits(model(x)[:, 0], y)
>>> x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
>>> y = np.array([0, 1, 1, 0], np.float32)
>>> step = tape.compile(tape.value_and_grad(loss))
>>> for _ in range(200):
...     value, gradient = step(model, x, y)
...     model = tape.tree.map(lambda p, g: p - np.float32(0.5) * g, model, gradient)
>>> bool(value < 0.1)
True
"""

from typing import Any

from tape.errors import MissingAttributeError
from tape.nn import initializers
from tape.nn._attention import KeyValueCache, MultiHeadAttention, TransformerBlock
from tape.nn._cells import GRUCell, LSTMCell, RNNCell
from tape.nn._containers import MLP, Dropout, Flatten, Lambda, Sequential
from tape.nn._convolution import (
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from tape.nn._linear import Bilinear, Embedding, Linear
from tape.nn._normalization import BatchNorm, BatchStatistics, GroupNorm, LayerNorm, RMSNorm
from tape.nn._recurrent import GRU, LSTM, RNN
from tape.nn._state import call, init_state
from tape.nn._state_dict import load_state_dict, state_dict
from tape.nn._summary import LayerTotal, ModelSummary, summary
from tape.ops.nn import *  # noqa: F403
from tape.ops.nn import __all__ as _functions

__all__ = [
    "GRU",
    "LSTM",
    "MLP",
    "RNN",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BatchNorm",
    "BatchStatistics",
    "Bilinear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Dropout",
    "Embedding",
    "Flatten",
    "GRUCell",
    "GroupNorm",
    "KeyValueCache",
    "LSTMCell",
    "Lambda",
    "LayerNorm",
    "LayerTotal",
    "Linear",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "ModelSummary",
    "MultiHeadAttention",
    "RMSNorm",
    "RNNCell",
    "Sequential",
    "TransformerBlock",
    "call",
    "init_state",
    "initializers",
    "load_state_dict",
    "state_dict",
    "summary",
]
__all__ += _functions

_LAYERS = "A layer is a dataclass with __call__, whose arrays are leaves: class Net with @dataclass"
_ELSEWHERE = {"Module": _LAYERS, "Parameter": _LAYERS, "ModuleList": "A list of layers is a tree, as it is"}


def __getattr__(name: str) -> Any:
    """Raise with what there is here for a name of PyTorch's."""
    if not name.startswith("_"):
        plain = {name.lower(), name.lower().removesuffix("loss")}
        found = next((known for known in _functions if known.replace("_", "") in plain), None)
        advice = _ELSEWHERE.get(name) or (f"It is a function here: tape.nn.{found}" if found else "")
        if advice:
            raise MissingAttributeError(f"tape.nn has no {name!r}. {advice}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
