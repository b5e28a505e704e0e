"""Edges of layers: settings and arrays, defaults, dropout in its places, bounds of options, state dicts."""

import inspect
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors, nn
from tape.nn import initializers
from tests import naive_layers
from tests.oracles import assert_close, pytorch

LAYERS = {
    "Linear": (3, 2), "Bilinear": (3, 2, 4), "Embedding": (7, 3), "Conv1d": (2, 4, 3), "Conv2d": (2, 4, 3),
    "Conv3d": (2, 4, 3), "ConvTranspose1d": (2, 4, 3), "ConvTranspose2d": (2, 4, 3),
    "ConvTranspose3d": (2, 4, 3), "LayerNorm": (3,), "RMSNorm": (3,), "GroupNorm": (2, 4),
    "BatchNorm": (4,), "MaxPool1d": (2,), "MaxPool2d": (2,), "MaxPool3d": (2,), "AvgPool1d": (2,),
    "AvgPool2d": (2,), "AvgPool3d": (2,), "Dropout": (), "Flatten": (), "RNNCell": (3, 4), "GRUCell": (3, 4),
    "LSTMCell": (3, 4), "RNN": (3, 4), "GRU": (3, 4), "LSTM": (3, 4), "MultiHeadAttention": (4, 2),
    "TransformerBlock": (4, 2), "MLP": ([3, 4, 2],),
}  # fmt: skip
OF_TORCH = {
    "BatchNorm": "BatchNorm1d", "MultiHeadAttention": "MultiheadAttention", "MLP": None,
    "TransformerBlock": "TransformerEncoderLayer",
}  # fmt: skip


def made(name, **options):
    kind = getattr(nn, name)
    if "rng" in inspect.signature(kind).parameters:
        options = {"rng": np.random.default_rng(0)} | options
    return kind(*LAYERS[name], **options)


@pytest.mark.parametrize("name", LAYERS)
def test_leaves_are_the_arrays_and_all_else_is_structure(name):
    layer = made(name)
    leaves = tape.tree.leaves(layer)
    assert all(type(leaf) is np.ndarray and leaf.dtype == np.float32 for leaf in leaves)
    assert len(leaves) == len(nn.state_dict(layer))
    changed = tape.tree.map(lambda leaf: leaf + 1, layer)
    assert tape.tree.flatten(changed)[1] == tape.tree.flatten(layer)[1]
    parameters = inspect.signature(type(layer)).parameters
    if "dtype" in parameters:
        for dtype in (np.float64, "f2"):
            assert {leaf.dtype for leaf in tape.tree.leaves(made(name, dtype=dtype))} == {np.dtype(dtype)}
    if "bias" in parameters:
        kept = {key for key in nn.state_dict(layer) if "bias" not in key}
        assert set(nn.state_dict(made(name, bias=False))) == kept
    for option in ("affine", "elementwise_affine"):
        if option in parameters:
            assert tape.tree.leaves(made(name, **{option: False})) == []


@pytest.mark.parametrize("name", LAYERS)
def test_defaults_are_those_of_torch(name):
    torch = pytorch()
    other = OF_TORCH.get(name, name)
    if other is None:
        theirs = {"dropout": 0.0, "bias": True}
    elif name in ("RNN", "GRU", "LSTM"):  # which take any arguments
        theirs = {"num_layers": 1, "nonlinearity": "tanh", "bias": True, "batch_first": False}
        theirs |= {"dropout": 0.0, "bidirectional": False}
    else:
        found = inspect.signature(getattr(torch.nn, other)).parameters.values()
        theirs = {one.name: one.default for one in found}
    for one in inspect.signature(getattr(nn, name)).parameters.values():
        if one.name in theirs and one.name not in ("dtype", "activation") and one.default is not one.empty:
            assert one.default == theirs[one.name], one.name
        if one.name == "dtype":
            assert one.default is np.float32


def test_defaults_of_what_layers_are_called_with():
    """Each call is that with the defaults spelled out."""
    rng = np.random.default_rng(1)
    x, signal = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 2, 9))
    attention, block = made("MultiHeadAttention"), made("TransformerBlock")
    for found, expected in [
        (attention(x), attention(x, x, x, attn_mask=None, is_causal=False)),
        (attention(x, 2 * x), attention(x, 2 * x, 2 * x)),
        (block(x), block(x, is_causal=False)),
        (made("MLP")(x[..., :3]), naive_layers_of_mlp(made("MLP"), x[..., :3])),
        (made("Conv1d")(signal), made("Conv1d", stride=1, padding=0, dilation=1, groups=1)(signal)),
        (made("MaxPool1d")(signal), made("MaxPool1d", stride=2, padding=0, dilation=1)(signal)),
        (made("AvgPool1d")(signal), made("AvgPool1d", stride=2, count_include_pad=True)(signal)),
    ]:
        np.testing.assert_array_equal(found, expected)
    batch, layer = rng.normal(size=(5, 4)), made("BatchNorm")
    out, state = layer(batch, layer.init_state())
    assert_close(out, batch / np.sqrt(1 + 1e-5), 1e-6)
    assert state.num_batches_tracked == 0


def naive_layers_of_mlp(model, x):
    first, second = model.layers
    return np.maximum(x @ first.weight.T + first.bias, 0) @ second.weight.T + second.bias


# ---- dropout ---------------------------------------------------------------------------------------------


class Drops:
    """Dropout by masks that a generator draws in turn."""

    def __init__(self, seed, p):
        self.rng, self.p = np.random.default_rng(seed), p

    def mask(self, shape):
        return np.asarray(nn.dropout_mask(self.rng, shape, self.p))

    def __call__(self, x):
        return naive_layers.dropout(x, self.p, self.mask(x.shape))


def attended(layer, x, mask):
    """Self-attention of two axes, with a mask of weights that are kept."""
    heads = layer.num_heads
    q, k, v = (np.stack(np.split(x @ w.T, heads, axis=-1)) for w in np.split(layer.in_proj_weight, 3, axis=0))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    weights = naive_layers.dropout(weights, layer.dropout, mask)
    return np.concatenate(list(weights @ v), axis=-1) @ layer.out_proj.weight.T


def normalized(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("p", [0.25, 0.5])
def test_a_transformer_block_drops_weights_and_what_is_added_and_what_is_between(norm_first, p):
    layer = nn.TransformerBlock(
        4, 2, 6, p, np.tanh, norm_first=norm_first, bias=False, rng=np.random.default_rng(0), dtype=float
    )
    x, drop = np.random.default_rng(1).normal(size=(3, 4)), Drops(7, p)
    found = layer(x, rng=np.random.default_rng(7))
    inner = normalized(x) if norm_first else x
    y = x + drop(attended(layer.self_attn, inner, drop.mask((2, 3, 3))))
    z = normalized(y)
    fed = drop(drop(np.tanh(z @ layer.linear1.weight.T)) @ layer.linear2.weight.T)
    assert_close(found, y + fed if norm_first else normalized(z + fed), 1e-12)


def test_an_mlp_drops_after_each_activation_and_nothing_at_its_end():
    layer = nn.MLP([3, 5, 4, 6], np.tanh, dropout=0.5, rng=np.random.default_rng(0), dtype=float)
    x, drop = np.random.default_rng(1).normal(size=(2, 3)), Drops(7, 0.5)
    expected = x
    for part in layer.layers[:-1]:
        expected = drop(np.tanh(expected @ part.weight.T + part.bias))
    expected = expected @ layer.layers[-1].weight.T + layer.layers[-1].bias
    assert_close(layer(x, rng=np.random.default_rng(7)), expected, 1e-12)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers_drop_between_layers_and_nothing_at_the_end(name, bidirectional):
    kind, rng = getattr(nn, name), np.random.default_rng(0)
    options = {"bidirectional": bidirectional, "dtype": float}
    layer = kind(3, 4, 3, dropout=0.5, rng=rng, **options)
    x, drop = np.random.default_rng(1).normal(size=(5, 3)), Drops(7, 0.5)
    found, _ = layer(x, rng=np.random.default_rng(7))
    expected, ways = x, 2 if bidirectional else 1
    for k in range(3):
        one = kind(expected.shape[-1], 4, rng=rng, **options)
        one.cells = layer.cells[k * ways : (k + 1) * ways]
        expected, _ = one(expected)
        expected = drop(expected) if k < 2 else expected
    assert_close(found, expected, 1e-12)


def test_attention_drops_weights_with_and_without_a_cache():
    layer = nn.MultiHeadAttention(4, 2, 0.5, bias=False, rng=np.random.default_rng(0), dtype=float)
    x, drop = np.random.default_rng(1).normal(size=(3, 4)), Drops(7, 0.5)
    assert_close(layer(x, rng=np.random.default_rng(7)), attended(layer, x, drop.mask((2, 3, 3))), 1e-12)
    found, _ = layer(x, rng=np.random.default_rng(7), cache=layer.init_cache(5))
    mask = np.asarray(nn.dropout_mask(np.random.default_rng(7), (2, 3, 5), 0.5))
    seen, _ = layer(x, cache=layer.init_cache(5))
    last = attended(layer, x, mask[..., :3])[-1]  # the last one attends to all of the three
    assert_close(found[-1], last, 1e-12)
    assert not np.allclose(found, seen)


# ---- bounds of options -----------------------------------------------------------------------------------

DRAW = {"rng": np.random.default_rng(0)}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: nn.MultiHeadAttention(4, 2, rotary_base=0, **DRAW), "rotary_base=0 with 2 elements"),
        (lambda: nn.MultiHeadAttention(4, 2, rotary_base=-1.0, **DRAW), "rotary_base=-1.0"),
        (lambda: nn.MultiHeadAttention(6, 2, rotary_base=2.0, **DRAW), "with 3 elements"),
        (lambda: nn.MultiHeadAttention(4, 2, rotary_base=1e-9, **DRAW), None),
        (lambda: nn.MultiHeadAttention(4, 4, **DRAW), None),
        (lambda: nn.MultiHeadAttention(4, 2, 1.0, **DRAW), None),
        (lambda: nn.MultiHeadAttention(4, 2, **DRAW).init_cache(0), "init_cache: capacity=0"),
        (lambda: nn.BatchNorm(2, momentum=0.0), None),
        (lambda: nn.BatchNorm(2, momentum=1.0), None),
        (lambda: nn.BatchNorm(2, momentum=-0.01), "momentum=-0.01"),
        (lambda: nn.BatchNorm(2, momentum=1.01), "momentum=1.01"),
        (lambda: nn.Embedding(3, 2, -3, **DRAW), None),
        (lambda: nn.Embedding(3, 2, 2, **DRAW), None),
        (lambda: nn.Embedding(3, 2, -4, **DRAW), "padding_idx=-4 is no row: there are 3"),
        (lambda: nn.LayerNorm([]), "LayerNorm: normalized_shape"),
        (lambda: nn.LayerNorm((2, 0)), "LayerNorm: normalized_shape"),
        (lambda: nn.LayerNorm(np.int8(1)), None),
        (lambda: nn.Conv1d(2, 4, 1, groups=2, **DRAW), None),
        (lambda: nn.Conv1d(2, 3, 1, groups=2, **DRAW), "Conv1d: 2 and 3 channels do not split into 2"),
        (lambda: nn.Conv1d(3, 2, 1, groups=2, **DRAW), "Conv1d: 3 and 2 channels do not split into 2"),
        (lambda: nn.Conv2d(2, 2, (3, 3, 3), **DRAW), r"Conv2d: kernel_size=\(3, 3, 3\)"),
        (lambda: nn.Conv2d(2, 2, 3, stride=0, **DRAW), "Conv2d: stride=0"),
        (lambda: nn.Conv2d(2, 2, 3, dilation=(1, 0), **DRAW), "Conv2d: dilation=0"),
        (lambda: nn.ConvTranspose2d(2, 2, 3, 2, 1, -1, **DRAW), "ConvTranspose2d: output_padding=-1"),
        (lambda: nn.MaxPool2d(0), "MaxPool2d: kernel_size=0"),
        (lambda: nn.MaxPool2d(2, (1,)), r"MaxPool2d: stride=\(1,\)"),
        (lambda: nn.MaxPool2d(2, dilation=0), "MaxPool2d: dilation=0"),
        (lambda: nn.AvgPool2d(2, 0), "AvgPool2d: stride=0"),
        (lambda: nn.MLP([3], **DRAW), "MLP: sizes"),
        (lambda: nn.MLP([3, 2], **DRAW), None),
        (lambda: nn.Sequential(), None),
        (lambda: nn.Sequential(np.tanh, 3), "Sequential: layer 1, 3,"),
    ],
)
def test_options_are_taken_up_to_their_bounds(make, said):
    if said is None:
        assert make() is not None
        return
    with pytest.raises(errors.OptionError, match=said):
        make()


SMALLEST = {
    "Linear": (1, 1), "Bilinear": (1, 1, 1), "Embedding": (1, 1), "Conv1d": (1, 1, 1), "Conv2d": (1, 1, 1),
    "Conv3d": (1, 1, 1), "ConvTranspose1d": (1, 1, 1), "ConvTranspose2d": (1, 1, 1),
    "ConvTranspose3d": (1, 1, 1), "LayerNorm": (1,), "RMSNorm": (1,), "GroupNorm": (1, 1), "BatchNorm": (1,),
    "MaxPool1d": (1,), "MaxPool2d": (1, 1), "AvgPool1d": (1, 1), "AvgPool3d": (1,), "RNNCell": (1, 1),
    "GRUCell": (1, 1), "LSTMCell": (1, 1), "RNN": (1, 1, 1), "GRU": (1, 1, 1), "LSTM": (1, 1, 1),
    "MultiHeadAttention": (1, 1), "TransformerBlock": (1, 1, 1), "MLP": ([1, 1],),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALLEST)
def test_layers_of_one_element_are_layers(name):
    kind, size = getattr(nn, name), int(name[-2]) if name.endswith("d") else 0
    more = {"rng": np.random.default_rng(0)} if "rng" in inspect.signature(kind).parameters else {}
    layer = kind(*SMALLEST[name], **more)
    x = np.zeros((2, 1), int) if name == "Embedding" else np.full((2, 1, *[1] * size), 0.5)
    if name == "Bilinear":
        out = layer(x, x)
    else:
        out = layer(x, layer.init_state()) if name == "BatchNorm" else layer(x)
    assert all(np.isfinite(leaf).all() for leaf in tape.tree.leaves(out))
    if name in ("MultiHeadAttention", "TransformerBlock"):
        cache = getattr(layer, "self_attn", layer).init_cache(1)
        assert layer(x[:1], cache=cache)[1].length == 1


@pytest.mark.parametrize("padding_idx", [-3, 2, 0, None])
def test_the_vector_of_padding_is_zero_and_the_others_are_drawn(padding_idx):
    layer = nn.Embedding(3, 2, padding_idx, rng=np.random.default_rng(0), dtype=float)
    expected = np.random.default_rng(0).normal(size=(3, 2))
    if padding_idx is not None:
        expected[padding_idx] = 0
        assert layer.padding_idx == padding_idx % 3
    np.testing.assert_array_equal(layer.weight, expected)


@pytest.mark.parametrize(
    ("axes", "shape", "expected"),
    [
        ((), (2, 3, 4), (2, 12)), ((0,), (2, 3), (6,)), ((0, 0), (2, 3), (2, 3)), ((1, 1), (2, 3), (2, 3)),
        ((-2, -1), (2, 3, 4), (2, 12)), ((0, -2), (2, 3, 4), (6, 4)), ((-3, 1), (2, 3, 4), (6, 4)),
        ((2, 1), (2, 3, 4), None), ((0, 3), (2, 3, 4), None), ((-4, 1), (2, 3, 4), None),
        ((1, 2), (2, 3), None), ((1,), (0, 3, 2), (0, 6)),
    ],
)  # fmt: skip
def test_flattened_axes(axes, shape, expected):
    layer = nn.Flatten(*axes)
    if expected is None:
        with pytest.raises(errors.ShapeError, match="which has no such axes"):
            layer(np.ones(shape))
        return
    x = np.arange(np.prod(shape)).reshape(shape)
    np.testing.assert_array_equal(layer(x), x.reshape(expected))


@pytest.mark.parametrize("batch", [(), 2, (2,), (2, 1)])
def test_caches_are_zeros_in_the_dtype_of_the_weights(batch):
    layer = nn.MultiHeadAttention(6, 3, dtype=np.float64, **DRAW)
    cache = layer.init_cache(5, batch) if batch != () else layer.init_cache(5)
    front = (batch,) if isinstance(batch, int) else batch
    for array in (cache.key, cache.value):
        np.testing.assert_array_equal(array, np.zeros((*front, 3, 5, 2)), strict=True)
    assert cache.length == 0
    assert type(cache.length) is np.int64


def test_carries_of_another_kind_or_shape_are_errors_that_say_which_there_must_be():
    x, zeros = np.zeros((5, 2, 3)), np.zeros((1, 2, 4))
    lstm, gru = nn.LSTM(3, 4, **DRAW), nn.GRU(3, 4, **DRAW)
    for layer, carry, said in [
        (lstm, zeros, r"a carry of shape \[1, 2, 4\]. It must be a pair \(h, c\) of shape \[1, 2, 4\]"),
        (lstm, (zeros, zeros, zeros), r"shape \[1, 2, 4\], \[1, 2, 4\], \[1, 2, 4\]"),
        (lstm, (zeros, zeros[:, :1]), r"\[1, 2, 4\], \[1, 1, 4\]"),
        (gru, zeros[:, :1], r"a carry of shape \[1, 1, 4\]. It must be h of shape \[1, 2, 4\]"),
        (gru, np.zeros((2, 2, 4)), r"\[2, 2, 4\]"),
    ]:
        with pytest.raises(errors.ShapeError, match=said):
            layer(x, carry)
    for one, other in zip(tape.tree.leaves(lstm(x, [zeros, zeros])), tape.tree.leaves(lstm(x)), strict=True):
        np.testing.assert_array_equal(one, other)


# ---- initialisers ----------------------------------------------------------------------------------------

WEIGHT, COLUMNS = (4, 3, 2), 6  # 8 is the fan-out
FORMULAS = {
    "uniform": ((), lambda rng: rng.uniform(0, 1, WEIGHT)),
    "uniform between": ((-2.0, 0.5), lambda rng: rng.uniform(-2, 0.5, WEIGHT)),
    "normal": ((), lambda rng: rng.normal(0, 1, WEIGHT)),
    "normal around": ((2.0, 0.5), lambda rng: rng.normal(2, 0.5, WEIGHT)),
    "xavier_uniform": ((), lambda rng: (6 / 14) ** 0.5 * rng.uniform(-1, 1, WEIGHT)),
    "xavier_uniform gain": ((3.0,), lambda rng: 3 * (6 / 14) ** 0.5 * rng.uniform(-1, 1, WEIGHT)),
    "xavier_normal": ((), lambda rng: (2 / 14) ** 0.5 * rng.normal(size=WEIGHT)),
    "xavier_normal gain": ((3.0,), lambda rng: 3 * (2 / 14) ** 0.5 * rng.normal(size=WEIGHT)),
    "kaiming_uniform": ((), lambda rng: rng.uniform(-1, 1, WEIGHT)),
    "kaiming_uniform slope": ((1.0,), lambda rng: 0.5**0.5 * rng.uniform(-1, 1, WEIGHT)),
    "kaiming_uniform fan": ((0.0, "fan_out"), lambda rng: 0.75**0.5 * rng.uniform(-1, 1, WEIGHT)),
    "kaiming_uniform tanh": (
        (0.0, "fan_in", "tanh"),
        lambda rng: 5 / 3 * 0.5**0.5 * rng.uniform(-1, 1, WEIGHT),
    ),
    "kaiming_normal": ((), lambda rng: (1 / 3) ** 0.5 * rng.normal(size=WEIGHT)),
    "kaiming_normal slope": ((1.0,), lambda rng: (1 / 6) ** 0.5 * rng.normal(size=WEIGHT)),
    "kaiming_normal fan": ((0.0, "fan_out"), lambda rng: 0.5 * rng.normal(size=WEIGHT)),
    "kaiming_normal linear": ((0.0, "fan_in", "linear"), lambda rng: 6**-0.5 * rng.normal(size=WEIGHT)),
    "lecun_uniform": ((), lambda rng: 0.5**0.5 * rng.uniform(-1, 1, WEIGHT)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_initialisers_are_formulas_of_what_numpy_draws(name):
    args, formula = FORMULAS[name]
    draw = getattr(initializers, name.split()[0])
    found = draw(np.random.default_rng(2), WEIGHT, *args, dtype=np.float64)
    np.testing.assert_allclose(found, formula(np.random.default_rng(2)), rtol=1e-13)
    assert draw(np.random.default_rng(2), list(WEIGHT), *args).dtype == np.float32


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0, -2.0])
def test_gains_of_leaky_relu_depend_on_its_slope(slope):
    assert initializers.calculate_gain("leaky_relu", slope) == pytest.approx((2 / (1 + slope**2)) ** 0.5)
    assert initializers.calculate_gain("relu", slope) == 2**0.5
    with pytest.raises(errors.OptionError, match=r"'Relu' is none of linear, .*leaky_relu"):
        initializers.calculate_gain("Relu")


def test_truncated_normal_has_defaults_and_an_order_of_its_bounds():
    draw, rng = initializers.truncated_normal, np.random.default_rng
    np.testing.assert_array_equal(draw(rng(3), 50), draw(rng(3), 50, 0.0, 1.0, -2.0, 2.0))
    shares = rng(3).uniform(*map(float, [0.0, 0.5]), 50)
    from scipy.special import ndtri

    found = draw(rng(3), 50, 1.0, 2.0, -np.inf, 1.0, np.float64)
    np.testing.assert_allclose(found, 1 + 2 * ndtri(shares), rtol=1e-12)
    for options in ({"low": 1.0, "high": 1.0}, {"std": 0.0}, {"std": -1.0}, {"low": np.nan}):
        with pytest.raises(errors.OptionError, match=r"^truncated_normal: "):
            draw(rng(3), 2, **options)


def test_orthogonal_matrices_have_the_gain_one_and_signs_of_their_own():
    """Otherwise LAPACK would choose them: the diagonal of the triangle is positive in the decomposition."""
    found = initializers.orthogonal(np.random.default_rng(4), (5, 3), dtype=np.float64)
    drawn = np.random.default_rng(4).normal(size=(5, 3))
    triangle = found.T @ drawn
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(np.tril(triangle, -1), 0, atol=1e-13)
    assert (np.diagonal(triangle) > 0).all()


# ---- state dicts and summaries -----------------------------------------------------------------------------

Pair = namedtuple("Pair", "first second")


@dataclass
class Model:
    parts: Any
    pair: Any
    none: Any = None

    def __call__(self, x):
        return self.pair.second(self.parts[0](x))


def test_state_dicts_name_all_containers_and_keep_kinds_of_numbers():
    layers = [nn.Linear(2, 2, **DRAW) for _ in range(2)]
    model = Model([layers[0]], Pair(np.float64(1.5), layers[1]))
    arrays = nn.state_dict(model)
    names = ["parts.0.weight", "parts.0.bias", "pair.first", "pair.second.weight", "pair.second.bias"]
    assert list(arrays) == names
    assert list(nn.state_dict(np.ones(2))) == ["value"]
    assert nn.state_dict(None) == {}
    loaded = nn.load_state_dict(model, {name: array.astype(float) + 1 for name, array in arrays.items()})
    assert type(loaded.pair.first) is np.float64
    assert loaded.pair.first == 2.5
    assert loaded.parts[0].weight.dtype == np.float32
    np.testing.assert_array_equal(loaded.pair.second.bias, layers[1].bias + 1)


def test_nan_in_two_places_of_one_array_is_the_same():
    model = [nn.Linear(1, 1, **DRAW), nn.Linear(1, 1, **DRAW)]
    model[1].weight = model[0].weight
    arrays = nn.state_dict(model) | {"0.weight": np.array([[np.nan]]), "1.weight": np.array([[np.nan]])}
    loaded = nn.load_state_dict(model, arrays)
    assert loaded[0].weight is loaded[1].weight


@pytest.mark.parametrize("count", [5, 6, 8])
def test_long_lists_of_names_are_cut_after_five(count):
    model = {f"w{k}": np.ones(2) for k in range(count)}
    more = rf"missing: w0, w1, w2, w3, w4, and {count - 5} more\." if count > 5 else r"w3, w4\."
    with pytest.raises(errors.OptionError, match=more):
        nn.load_state_dict(model, {})
    wrong = {name: np.ones(3) for name in model}
    with pytest.raises(errors.ShapeError, match=r"w4 has shape \[3\], and not \[2\]") as caught:
        nn.load_state_dict(model, wrong)
    assert ("; and" in str(caught.value)) == (count > 5)
    assert str(caught.value).count("has shape") == 5


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (np.ones(2, np.float64), None), (np.ones(2, int), None), ([1, 2], None), (np.ones(2, bool), None),
        (np.ones(2, complex), errors.DTypeError), (np.array(["a", "b"]), errors.DTypeError),
        (np.ones((1, 2)), errors.ShapeError), (1.0, errors.ShapeError),
    ],
)  # fmt: skip
def test_arrays_are_loaded_in_the_dtype_of_the_model_unless_something_is_lost(given, error):
    model = {"w": np.zeros(2, np.float32)}
    if error is None:
        found = nn.load_state_dict(model, {"w": given})["w"]
        np.testing.assert_array_equal(found, np.asarray(given, np.float32), strict=True)
        return
    with pytest.raises(error, match=r"\bw (is|has shape)"):
        nn.load_state_dict(model, {"w": given})


def test_numbers_of_a_summary_have_commas_and_layers_without_weights_no_number():
    model = nn.Sequential(nn.Linear(100, 50, **DRAW), np.tanh)
    text = str(nn.summary(model, np.ones((2, 100), np.float32)))
    assert "5,050" in text.splitlines()[2]
    assert text.splitlines()[3].split() == ["1", "tanh", "[2,", "50]", text.splitlines()[3].split()[-1]]
    assert text.splitlines()[-1].startswith("5,050 params, 20.2 kB; ")
