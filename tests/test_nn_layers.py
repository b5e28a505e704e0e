"""Layers: PyTorch's values and gradients with its weights, compiled as eager, both modes alike, errors."""

import inspect
import re
from itertools import product

import numpy as np
import pytest

import tape
from tape import errors, nn
from tests import naive_layers
from tests.oracles import assert_close, inner, pytorch, uniform
from tests.tiers import grid

TOLERANCES = {np.float64: 1e-10, np.float32: 1e-5}
N = 4


def ints(rng):
    return rng.integers(0, 7, (3, 2))


# name -> the layer of a generator and a dtype; that of PyTorch; shapes of its arguments, or a function of a
# generator that returns one; how each is called, if not with its arguments alone
LAYERS = {
    "linear": (lambda **o: nn.Linear(3, 2, **o), lambda t: t.nn.Linear(3, 2), [(N, 3)]),
    "linear on a stack": (lambda **o: nn.Linear(3, 2, **o), lambda t: t.nn.Linear(3, 2), [(2, N, 3)]),
    "linear without bias": (
        lambda **o: nn.Linear(3, 2, bias=False, **o),
        lambda t: t.nn.Linear(3, 2, bias=False),
        [(3,)],
    ),
    "bilinear": (lambda **o: nn.Bilinear(3, 2, 4, **o), lambda t: t.nn.Bilinear(3, 2, 4), [(N, 3), (N, 2)]),
    "embedding": (lambda **o: nn.Embedding(7, 3, **o), lambda t: t.nn.Embedding(7, 3), [ints]),
    "embedding with padding": (
        lambda **o: nn.Embedding(7, 3, padding_idx=-2, **o),
        lambda t: t.nn.Embedding(7, 3, padding_idx=-2),
        [ints],
    ),
    "conv1d": (lambda **o: nn.Conv1d(2, 3, 3, 2, **o), lambda t: t.nn.Conv1d(2, 3, 3, 2), [(N, 2, 9)]),
    "conv2d": (
        lambda **o: nn.Conv2d(2, 4, (3, 2), padding=(1, 0), groups=2, **o),
        lambda t: t.nn.Conv2d(2, 4, (3, 2), padding=(1, 0), groups=2),
        [(N, 2, 6, 5)],
    ),
    "conv2d of one image": (
        lambda **o: nn.Conv2d(2, 3, 3, padding="same", bias=False, **o),
        lambda t: t.nn.Conv2d(2, 3, 3, padding="same", bias=False),
        [(2, 6, 5)],
    ),
    "conv3d": (
        lambda **o: nn.Conv3d(1, 2, 2, dilation=2, **o),
        lambda t: t.nn.Conv3d(1, 2, 2, dilation=2),
        [(2, 1, 4, 5, 4)],
    ),
    "conv_transpose1d": (
        lambda **o: nn.ConvTranspose1d(2, 3, 3, 2, 1, 1, **o),
        lambda t: t.nn.ConvTranspose1d(2, 3, 3, 2, 1, 1),
        [(N, 2, 4)],
    ),
    "conv_transpose2d": (
        lambda **o: nn.ConvTranspose2d(4, 2, 2, stride=2, groups=2, **o),
        lambda t: t.nn.ConvTranspose2d(4, 2, 2, stride=2, groups=2),
        [(N, 4, 3, 2)],
    ),
    "conv1d circular": (
        lambda **o: nn.Conv1d(2, 3, 4, padding="same", padding_mode="circular", **o),
        lambda t: t.nn.Conv1d(2, 3, 4, padding="same", padding_mode="circular"),
        [(N, 2, 9)],
    ),
    "conv2d reflect": (
        lambda **o: nn.Conv2d(2, 3, 3, 2, (2, 1), padding_mode="reflect", **o),
        lambda t: t.nn.Conv2d(2, 3, 3, 2, (2, 1), padding_mode="reflect"),
        [(N, 2, 5, 4)],
    ),
    "conv2d replicate": (
        lambda **o: nn.Conv2d(2, 2, 3, padding=1, groups=2, padding_mode="replicate", **o),
        lambda t: t.nn.Conv2d(2, 2, 3, padding=1, groups=2, padding_mode="replicate"),
        [(N, 2, 4, 3)],
    ),
    "conv3d replicate": (
        lambda **o: nn.Conv3d(1, 2, 2, padding=1, padding_mode="replicate", **o),
        lambda t: t.nn.Conv3d(1, 2, 2, padding=1, padding_mode="replicate"),
        [(1, 1, 2, 3, 2)],
    ),
    "conv_transpose3d": (
        lambda **o: nn.ConvTranspose3d(1, 2, 2, **o),
        lambda t: t.nn.ConvTranspose3d(1, 2, 2),
        [(1, 1, 2, 3, 2)],
    ),
    "layer_norm": (lambda **o: nn.LayerNorm((2, 3)), lambda t: t.nn.LayerNorm((2, 3)), [(N, 2, 3)]),
    "layer_norm without bias": (
        lambda **o: nn.LayerNorm(3, 0.1, bias=False),
        lambda t: t.nn.LayerNorm(3, 0.1, bias=False),
        [(N, 3)],
    ),
    "rms_norm": (lambda **o: nn.RMSNorm(3), lambda t: t.nn.RMSNorm(3), [(N, 3)]),
    "group_norm": (lambda **o: nn.GroupNorm(2, 4), lambda t: t.nn.GroupNorm(2, 4), [(N, 4, 3)]),
    "max_pool1d": (lambda **o: nn.MaxPool1d(3, 2), lambda t: t.nn.MaxPool1d(3, 2), [(N, 2, 9)]),
    "max_pool2d": (
        lambda **o: nn.MaxPool2d(2, ceil_mode=True),
        lambda t: t.nn.MaxPool2d(2, ceil_mode=True),
        [(N, 2, 5, 4)],
    ),
    "max_pool3d": (lambda **o: nn.MaxPool3d(2), lambda t: t.nn.MaxPool3d(2), [(1, 2, 4, 4, 2)]),
    "avg_pool1d": (lambda **o: nn.AvgPool1d(2), lambda t: t.nn.AvgPool1d(2), [(N, 2, 6)]),
    "avg_pool2d": (
        lambda **o: nn.AvgPool2d(2, padding=1, count_include_pad=False),
        lambda t: t.nn.AvgPool2d(2, padding=1, count_include_pad=False),
        [(N, 2, 4, 4)],
    ),
    "avg_pool3d": (lambda **o: nn.AvgPool3d(2), lambda t: t.nn.AvgPool3d(2), [(1, 2, 4, 4, 2)]),
    "flatten": (lambda **o: nn.Flatten(1, 2), lambda t: t.nn.Flatten(1, 2), [(2, 3, 2, 2)]),
    "sequential": (
        lambda **o: nn.Sequential(
            nn.Linear(3, 4, **o), nn.gelu, nn.Sequential(nn.Linear(4, 2, **o), np.tanh)
        ),
        lambda t: t.nn.Sequential(
            t.nn.Linear(3, 4), t.nn.GELU(), t.nn.Sequential(t.nn.Linear(4, 2), t.nn.Tanh())
        ),
        [(N, 3)],
    ),
    "rnn_cell": (lambda **o: nn.RNNCell(3, 4, **o), lambda t: t.nn.RNNCell(3, 4), [(N, 3), (N, 4)]),
    "gru_cell": (lambda **o: nn.GRUCell(3, 4, **o), lambda t: t.nn.GRUCell(3, 4), [(N, 3), (N, 4)]),
    "gru_cell without bias": (
        lambda **o: nn.GRUCell(3, 4, bias=False, **o),
        lambda t: t.nn.GRUCell(3, 4, bias=False),
        [(N, 3)],
    ),
    "lstm_cell": (lambda **o: nn.LSTMCell(3, 4, **o), lambda t: t.nn.LSTMCell(3, 4), [(N, 3)]),
    "rnn": (
        lambda **o: nn.RNN(3, 4, 2, "relu", batch_first=True, **o),
        lambda t: t.nn.RNN(3, 4, 2, "relu", batch_first=True),
        [(N, 5, 3)],
    ),
    "gru": (
        lambda **o: nn.GRU(3, 4, bidirectional=True, **o),
        lambda t: t.nn.GRU(3, 4, bidirectional=True),
        [(5, N, 3), (2, N, 4)],
    ),
    "lstm": (
        lambda **o: nn.LSTM(3, 4, 2, bidirectional=True, **o),
        lambda t: t.nn.LSTM(3, 4, 2, bidirectional=True),
        [(5, 2, 3)],
    ),
    "lstm of one sequence": (
        lambda **o: nn.LSTM(3, 4, bias=False, **o),
        lambda t: t.nn.LSTM(3, 4, bias=False),
        [(5, 3)],
    ),
    "multi_head_attention": (
        lambda **o: nn.MultiHeadAttention(4, 2, **o),
        lambda t: t.nn.MultiheadAttention(4, 2, batch_first=True),
        [(2, 3, 4), (2, 5, 4), (2, 5, 4)],
        lambda module, *args: module(*args)[0],
    ),
    "self-attention without bias": (
        lambda **o: nn.MultiHeadAttention(4, 2, bias=False, **o),
        lambda t: t.nn.MultiheadAttention(4, 2, bias=False, batch_first=True),
        [(2, 3, 4)],
        lambda module, x: module(x, x, x)[0],
    ),
    "transformer_block": (
        lambda **o: nn.TransformerBlock(4, 2, 6, **o),
        lambda t: t.nn.TransformerEncoderLayer(4, 2, 6, batch_first=True, dropout=0.0),
        [(2, 3, 4)],
    ),
    "transformer_block, norm first": (
        lambda **o: nn.TransformerBlock(4, 2, 6, activation=nn.gelu, norm_first=True, bias=False, **o),
        lambda t: t.nn.TransformerEncoderLayer(
            4, 2, 6, batch_first=True, dropout=0.0, activation="gelu", norm_first=True, bias=False
        ),
        [(2, 3, 4)],
    ),
}


def arguments(shapes, dtype, rng):
    return [shape(rng) if callable(shape) else rng.normal(size=shape).astype(dtype) for shape in shapes]


def floats(values):
    return [value for value in values if np.result_type(value).kind == "f"]


def results(out):
    """The arrays that a layer returns, in one list."""
    return tape.tree.leaves(out)


def differentiated(layer, args, seeds):
    """Values, gradients by the weights as a state dict, and gradients by the floats among the arguments."""

    def loss(layer, *moving):
        given = iter(moving)
        out = results(layer(*(next(given) if np.result_type(a).kind == "f" else a for a in args)))
        return sum((np.sum(y * seed) for y, seed in zip(out, seeds, strict=True)), start=0.0), out

    moving = floats(args)
    wanted = tuple(range(1 + len(moving))) if tape.tree.leaves(layer) else tuple(range(1, 1 + len(moving)))
    (_, out), gradients = tape.value_and_grad(loss, wanted, has_aux=True)(layer, *moving)
    by_layer = nn.state_dict(gradients[0]) if wanted[0] == 0 else {}
    return out, by_layer, list(gradients[1:] if wanted[0] == 0 else gradients)


@grid(name=list(LAYERS), dtype=list(TOLERANCES))
def test_values_and_gradients_are_those_of_torch_with_its_weights(name, dtype):
    torch = pytorch()
    make, make_theirs, shapes, *how = LAYERS[name]
    rng = np.random.default_rng(5)
    theirs = make_theirs(torch).to(getattr(torch, np.dtype(dtype).name))
    with torch.no_grad():
        for weight in theirs.parameters():
            weight += torch.tensor(rng.normal(size=tuple(weight.shape)) / 4)
    ours = nn.load_state_dict(make(rng=rng), theirs.state_dict())
    ours = tape.tree.map(lambda leaf: leaf.astype(dtype), ours)
    ours = nn.load_state_dict(ours, theirs.state_dict())  # again, without a detour through float32
    assert list(nn.state_dict(ours)) == list(theirs.state_dict())

    args = arguments(shapes, dtype, rng)
    leaves = [torch.tensor(arg, requires_grad=arg.dtype.kind == "f") for arg in args]
    their_out = how[0](theirs, *leaves) if how else theirs(*leaves)
    their_outs = torch.utils._pytree.tree_leaves(their_out)
    seeds = [rng.normal(size=tuple(y.shape)).astype(dtype) for y in their_outs]
    sum((y * torch.tensor(seed)).sum() for y, seed in zip(their_outs, seeds, strict=True)).backward()

    out, by_weights, by_args = differentiated(ours, args, seeds)
    tolerance = TOLERANCES[dtype]
    for found, expected in zip(out, their_outs, strict=True):
        assert found.dtype == dtype
        assert_close(found, expected.detach().numpy(), tolerance)
    for key, weight in theirs.named_parameters():
        assert by_weights[key].dtype == dtype
        assert_close(by_weights[key], weight.grad.numpy(), tolerance)
    moving = [leaf for leaf in leaves if leaf.requires_grad]
    for found, leaf in zip(by_args, moving, strict=True):
        assert_close(found, leaf.grad.numpy(), tolerance)


def case(name, dtype=np.float64):
    make, _, shapes, *_ = LAYERS[name]
    rng = np.random.default_rng(8)
    layer = tape.tree.map(lambda leaf: leaf.astype(dtype), make(rng=rng))
    return layer, arguments(shapes, dtype, rng), rng


@pytest.mark.parametrize("name", LAYERS)
def test_compiled_layers_are_as_eager_ones_with_other_weights_too(name):
    layer, args, rng = case(name)

    def both(layer, *args):
        def loss(layer):
            return sum((np.sum(np.sin(y)) for y in results(layer(*args))), start=0.0)

        return layer(*args), tape.grad(loss)(layer) if tape.tree.leaves(layer) else None

    compiled = tape.compile(both)
    for _ in range(3):
        for found, expected in zip(results(compiled(layer, *args)), results(both(layer, *args)), strict=True):
            assert_close(found, expected, 1e-10)
        layer = tape.tree.map(lambda leaf: leaf + 0.1 * rng.normal(size=leaf.shape), layer)
    (program,) = compiled.programs.values()
    assert not program.explain().callbacks


@pytest.mark.parametrize("name", LAYERS)
def test_forward_and_reverse_mode_agree(name):
    layer, args, rng = case(name)
    whole = [layer, *floats(args)]

    def f(whole):
        given = iter(whole[1:])
        return results(whole[0](*(next(given) if a.dtype.kind == "f" else a for a in args)))

    if not tape.tree.leaves(whole):
        return
    directions = tape.tree.map(lambda leaf: uniform(rng, leaf), whole)
    out, moved = tape.jvp(f, (whole,), (directions,))
    seeds = [uniform(rng, y) for y in out]
    (gradient,) = tape.vjp(f, whole)[1](seeds)
    expected = inner(tape.tree.leaves(gradient), tape.tree.leaves(directions))
    np.testing.assert_allclose(inner(seeds, moved), expected, rtol=1e-10, atol=1e-12)


# ---- cache ---------------------------------------------------------------------------------------


@grid(
    pieces=[(1, 1, 1, 1, 1), (3, 1, 1), (2, 3)], front=[(), (2,), (2, 3)], rotary_base=[None, 50.0],
    is_compiled=[False, True],
)  # fmt: skip
def test_attention_with_a_cache_is_causal_attention(pieces, front, rotary_base, is_compiled):
    rng = np.random.default_rng(1)
    layer = nn.TransformerBlock(6, 3, 8, rng=rng, rotary_base=rotary_base, dtype=np.float64)
    x = rng.normal(size=(*front, 5, 6))
    whole = layer(x, is_causal=True)

    def step(layer, x, cache):
        return layer(x, cache=cache)

    run = tape.compile(step) if is_compiled else step
    cache, done = layer.self_attn.init_cache(capacity=7, batch=front), 0
    for size in pieces:
        y, cache = run(layer, x[..., done : done + size, :], cache)
        done += size
        assert_close(y, whole[..., done - size : done, :], 1e-10)
    assert cache.length == 5
    if is_compiled:
        assert len(run.programs) == len(set(pieces))


def test_rotary_attention_is_that_of_turned_queries_and_keys():
    rng = np.random.default_rng(2)
    layer = nn.MultiHeadAttention(8, 2, rng=rng, rotary_base=30.0, dtype=np.float64)
    query, key = rng.normal(size=(3, 5, 8)), rng.normal(size=(3, 7, 8))
    parts = [
        np.split(x @ w.T, 2, axis=-1)
        for x, w in zip((query, key, key), np.split(layer.in_proj_weight, 3), strict=True)
    ]
    heads = [
        nn.scaled_dot_product_attention(
            naive_layers.rotary_embedding(q, base=30.0), naive_layers.rotary_embedding(k, base=30.0), v
        )
        for q, k, v in zip(*parts, strict=True)
    ]
    assert_close(layer(query, key), layer.out_proj(np.concatenate(heads, axis=-1)), 1e-12)


def test_rotary_attention_depends_on_distances_alone():
    """A sequence after others, which it may not see, is attended to as one that begins."""
    rng = np.random.default_rng(3)
    layer = nn.MultiHeadAttention(8, 2, rng=rng, rotary_base=1e4, dtype=np.float64)
    x = rng.normal(size=(4, 8))
    behind = np.concatenate([rng.normal(size=(6, 8)), x])
    is_own = (np.arange(10)[:, None] < 6) == (np.arange(10)[None, :] < 6)
    assert_close(layer(behind, attn_mask=is_own, is_causal=True)[6:], layer(x, is_causal=True), 1e-12)


def test_derivatives_flow_through_a_cache():
    rng = np.random.default_rng(1)
    layer = nn.MultiHeadAttention(4, 2, rng=rng, dtype=np.float64)
    x = rng.normal(size=(3, 4))

    def in_pieces(layer, x):
        cache, out = layer.init_cache(3), 0.0
        for k in range(3):
            y, cache = layer(x[k : k + 1], cache=cache)
            out = out + np.sum(np.sin(y))
        return out

    found = tape.grad(in_pieces, (0, 1))(layer, x)
    expected = tape.grad(lambda layer, x: np.sum(np.sin(layer(x, is_causal=True))), (0, 1))(layer, x)
    for one, other in zip(tape.tree.leaves(found), tape.tree.leaves(expected), strict=True):
        assert_close(one, other, 1e-10)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_cache_that_is_full_is_an_error(is_compiled):
    layer = nn.MultiHeadAttention(4, 2, rng=np.random.default_rng(0))
    run = (
        tape.compile(lambda x, cache: layer(x, cache=cache))
        if is_compiled
        else lambda x, c: layer(x, cache=c)
    )
    cache, x = layer.init_cache(2), np.ones((1, 4), np.float32)
    for _ in range(2):
        _, cache = run(x, cache)
    with pytest.raises(errors.ShapeError, match="2 elements in the cache and 1 more exceed its capacity"):
        run(x, cache)


def test_a_cache_takes_neither_keys_nor_masks_nor_another_batch():
    layer = nn.MultiHeadAttention(4, 2, rng=np.random.default_rng(0))
    x, cache = np.ones((3, 1, 4), np.float32), layer.init_cache(2, batch=3)
    for options in ({"key": x}, {"value": x}, {"attn_mask": np.ones((1, 1), bool)}):
        with pytest.raises(errors.OptionError, match="with a cache there is no key, value or mask"):
            layer(x, **options, cache=cache)
    with pytest.raises(
        errors.ShapeError, match=r"\[2, 1, 4\].*\[3, 2, 2, 2\].*init_cache\(capacity, batch=\(2,\)\)"
    ):
        layer(x[:2], cache=cache)


def test_nothing_leaves_a_cache_as_it_was():
    layer = nn.MultiHeadAttention(4, 2, rng=np.random.default_rng(0))
    x = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    _, cache = layer(x[:2], cache=layer.init_cache(3))
    nothing, after = layer(x[:0], cache=cache)
    assert nothing.shape == (0, 4)
    assert after.length == 2
    for one, other in zip(tape.tree.leaves(after), tape.tree.leaves(cache), strict=True):
        np.testing.assert_array_equal(one, other)
    assert_close(layer(x[2:], cache=after)[0], layer(x, is_causal=True)[2:], 1e-6)


# ---- errors --------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
WRONG = {
    "Linear(in_features=3, out_features=2)": (nn.Linear(3, 2, rng=RNG), (4,)),
    "Bilinear(in1_features=3, in2_features=2)": (nn.Bilinear(3, 2, 2, rng=RNG), (3,), (3,)),
    "Conv2d(in_channels=2, out_channels=3)": (nn.Conv2d(2, 3, 3, rng=RNG), (1, 3, 8, 8)),
    "ConvTranspose1d(in_channels=2, out_channels=3)": (nn.ConvTranspose1d(2, 3, 3, rng=RNG), (8,)),
    "LayerNorm(normalized_shape=(3,)": (nn.LayerNorm(3), (3, 4)),
    "RMSNorm(normalized_shape=(3,)": (nn.RMSNorm(3), ()),
    "GroupNorm(num_groups=2, num_channels=4)": (nn.GroupNorm(2, 4), (3, 2)),
    "LSTM(input_size=3, hidden_size=4)": (nn.LSTM(3, 4, rng=RNG), (5, 2)),
    "RNN(input_size=3, hidden_size=4)": (nn.RNN(3, 4, rng=RNG), (3,)),
    "GRU(input_size=3, hidden_size=4)": (nn.GRU(3, 4, rng=RNG), (5, 2, 3), (2, 2, 4)),
    "RNNCell(input_size=3, hidden_size=4)": (nn.RNNCell(3, 4, rng=RNG), (5, 2)),
    "MultiHeadAttention(embed_dim=4, num_heads=2)": (nn.MultiHeadAttention(4, 2, rng=RNG), (5, 3)),
    "Flatten(start_dim=1, end_dim=-1)": (nn.Flatten(), (3,)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_shapes_are_errors_that_name_the_layer(name):
    layer, *shapes = WRONG[name]
    with pytest.raises(errors.ShapeError) as caught:
        layer(*map(np.ones, shapes))
    assert str(caught.value).startswith(name)


@pytest.mark.parametrize(
    ("batch_first", "axes"), [(False, r"\(L, N, input_size\)"), (True, r"\(N, L, input_size\)")]
)
@pytest.mark.parametrize("shape", [(3,), (2, 2, 2, 3)])
def test_sequences_of_other_axes_are_told_which_there_must_be(batch_first, axes, shape):
    with pytest.raises(errors.ShapeError, match=rf"{axes} or \(L, input_size\)"):
        nn.LSTM(3, 4, batch_first=batch_first, rng=RNG)(np.ones(shape))


def test_errors_inside_of_a_sequential_name_the_layer_and_its_number():
    model = nn.Sequential(nn.Linear(3, 4, rng=RNG), np.tanh, nn.Linear(5, 2, rng=RNG))
    with pytest.raises(errors.ShapeError) as caught:
        model(np.ones(3))
    assert str(caught.value).startswith("Linear(in_features=5, out_features=2): x has shape [4]")
    assert caught.value.__notes__[0].startswith("in layer 2 of a Sequential, Linear(")


COUNTS = {
    nn.Linear: {"in_features": 2, "out_features": 2},
    nn.Bilinear: {"in1_features": 2, "in2_features": 2, "out_features": 2},
    nn.Embedding: {"num_embeddings": 2, "embedding_dim": 2},
    nn.Conv2d: {"in_channels": 2, "out_channels": 2, "kernel_size": 2, "stride": 2, "groups": 2},
    nn.ConvTranspose1d: {"in_channels": 2, "out_channels": 2, "kernel_size": 2, "dilation": 2},
    nn.RNNCell: {"input_size": 2, "hidden_size": 2},
    nn.GRU: {"input_size": 2, "hidden_size": 2, "num_layers": 2},
    nn.MultiHeadAttention: {"embed_dim": 2, "num_heads": 2},
    nn.TransformerBlock: {"d_model": 2, "nhead": 2, "dim_feedforward": 2},
    nn.GroupNorm: {"num_groups": 2, "num_channels": 2},
    nn.BatchNorm: {"num_features": 2},
}  # fmt: skip


def drawn_by(kind):
    """The generator for a layer that draws its weights."""
    return {"rng": RNG} if "rng" in inspect.signature(kind).parameters else {}


INNER = {"d_model": "MultiHeadAttention: embed_dim", "nhead": "MultiHeadAttention: num_heads"}


@pytest.mark.parametrize("kind", COUNTS, ids=lambda kind: kind.__name__)
def test_counts_are_positive_ints_and_errors_name_layer_and_argument(kind):
    """Of NumPy, too; what a layer passes on is named by the layer that takes it."""
    right, more = COUNTS[kind], drawn_by(kind)
    assert "2" in repr(kind(**{name: np.int8(2) for name in right}, **more))
    for name, wrong in product(right, (0, -1, 2.0, "2")):
        where = "GRUCell" if (kind, name) == (nn.GRU, "input_size") else kind.__name__
        said = re.escape(INNER.get(name, f"{where}: {name}") + f"={wrong!r}.")
        with pytest.raises(errors.OptionError, match=f"^{said}"):
            kind(**{**right, name: wrong}, **more)
    for given in ([2, 0], [2, 1.5, 2]):
        with pytest.raises(errors.OptionError, match=rf"^MLP: sizes\[1\]={given[1]}"):
            nn.MLP(given, rng=RNG)


def test_layers_print_as_calls_of_their_classes():
    more = [nn.Sequential(nn.Linear(2, 2, rng=RNG)), nn.Lambda(np.sin), nn.MLP([2, 2], rng=RNG), nn.Flatten()]
    for kind, options in COUNTS.items():
        more.append(kind(**options, **drawn_by(kind)))
    for layer in more:
        assert repr(layer).startswith(f"{type(layer).__name__}(")
    assert repr(nn.Sequential(*more[-2:])).count("BatchNorm(") == 1


@pytest.mark.parametrize("dtype", [int, bool, str])
def test_weights_are_floats_and_errors_name_the_layer(dtype):
    for kind, options in COUNTS.items():
        inner = {nn.GRU: "GRUCell", nn.TransformerBlock: "MultiHeadAttention"}.get(kind, kind.__name__)
        with pytest.raises(errors.OptionError, match=f"^{inner}: dtype="):
            kind(**options, **drawn_by(kind), dtype=dtype)


@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_shares_that_are_dropped_are_within_0_and_1(p):
    for kind in (nn.GRU, nn.MultiHeadAttention, nn.TransformerBlock):
        with pytest.raises(errors.OptionError, match=f"^{kind.__name__}: .*{p}"):
            kind(**COUNTS[kind], dropout=p, rng=RNG)
    with pytest.raises(errors.OptionError, match=f"^MLP: .*{p}"):
        nn.MLP([2, 2], dropout=p, rng=RNG)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: nn.Linear(0, 2, rng=RNG), "Linear: in_features=0"),
        (lambda: nn.Linear(3, 2, rng=0), "uniform: rng is 0. Pass a generator"),
        (lambda: nn.Linear(3, 2, rng=RNG, dtype=int), "Linear: dtype="),
        (lambda: nn.Embedding(3, 2, 3, rng=RNG), "Embedding: padding_idx=3"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2, rng=RNG), "Conv2d: 3 and 4 channels"),
        (lambda: nn.Conv1d(3, 4, 3, padding_mode="wrap", rng=RNG), "Conv1d: padding_mode='wrap'"),
        (lambda: nn.MultiHeadAttention(6, 2, rotary_base=1e4, rng=RNG), "MultiHeadAttention: rotary_base="),
        (lambda: nn.GroupNorm(2, 3), "GroupNorm: 3 channels"),
        (lambda: nn.LayerNorm(()), "LayerNorm: normalized_shape="),
        (lambda: nn.LayerNorm(2.5), "LayerNorm: normalized_shape=2.5. It must be an int or ints"),
        (lambda: nn.RMSNorm((2, "3")), "RMSNorm: normalized_shape=(2, '3'). It must be an int or ints"),
        (lambda: nn.BatchNorm(3, momentum=2.0), "BatchNorm: momentum=2.0"),
        (lambda: nn.Dropout(1.5), "Dropout: p=1.5"),
        (lambda: nn.Dropout(0.5)(np.ones(3), rng=3), "Dropout: rng is 3"),
        (lambda: nn.MLP([3], rng=RNG), "MLP: sizes="),
        (lambda: nn.RNN(3, 4, nonlinearity="sine", rng=RNG), "RNNCell: nonlinearity='sine'"),
        (lambda: nn.MultiHeadAttention(5, 2, rng=RNG), "MultiHeadAttention: 5 elements"),
        (lambda: nn.Sequential(nn.Linear), "Sequential: layer 0"),
        (lambda: nn.Lambda(3), "Lambda: 3 is no function"),
        (lambda: nn.BatchNorm(3)(np.ones((2, 3))), "BatchNorm(num_features=3, eps=1e-05) needs its state"),
    ],
)
def test_wrong_options_are_errors(make, said):
    with pytest.raises(errors.OptionError) as caught:
        make()
    assert str(caught.value).startswith(said)
