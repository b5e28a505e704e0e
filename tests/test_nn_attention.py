"""Attention: masks, queries that attend to nothing, errors, PyTorch."""

import numpy as np
import pytest

import tape
from tape import errors
from tape.ops import nn
from tests.oracles import assert_close, pytorch, vjp
from tests.test_nn_normalization import DTYPES, assert_as_torch, normal

RNG = np.random.default_rng(13)
attention = nn.scaled_dot_product_attention


def tensor(array):
    torch = pytorch()
    return torch.tensor(array)


def qkv(dtype=np.float64, L=3, S=5, E=4, V=2, front=(2, 3)):
    return [normal(*front, *ends, dtype=dtype) for ends in ((L, E), (S, E), (S, V))]


# ---- against PyTorch -----------------------------------------------------------------------------


@DTYPES
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.7])
@pytest.mark.parametrize(("L", "S"), [(3, 5), (4, 4), (5, 2), (1, 1)])
def test_attention_is_that_of_torch(dtype, tolerance, is_causal, scale, L, S):
    assert_as_torch(
        lambda q, k, v: attention(q, k, v, is_causal=is_causal, scale=scale),
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, scale=scale),
        qkv(dtype, L, S), tolerance,
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize("shape", [(3, 5), (2, 1, 3, 5), (1, 5), (3, 1)])
def test_masks_of_bools_are_those_of_torch(dtype, tolerance, shape):
    mask = RNG.random(shape) < 0.6
    whole = np.broadcast_to(mask, (2, 3, 3, 5)).copy()
    assert_as_torch(
        lambda q, k, v: attention(q, k, v, mask),
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, tensor(whole)),
        qkv(dtype), tolerance,
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 3, 5)])
def test_masks_of_floats_are_those_of_torch_with_their_gradient(dtype, tolerance, shape):
    assert_as_torch(
        attention,
        lambda F, *args: F.scaled_dot_product_attention(*args),
        [*qkv(dtype), normal(*shape, dtype=dtype)], tolerance,
    )  # fmt: skip


@DTYPES
def test_shared_heads_are_those_of_torch(dtype, tolerance):
    q, k, v = (normal(2, heads, 3, 4, dtype=dtype) for heads in (6, 2, 2))
    assert_as_torch(
        lambda q, k, v: attention(q, k, v, enable_gqa=True),
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        [q, k, v], tolerance,
    )  # fmt: skip


@DTYPES
@pytest.mark.parametrize("sources", [(0, 0, 0), (0, 1, 1), (0, 0, 1), (0, 1, 0), (0, 1, 2)])
def test_multi_head_attention_is_that_of_torch(dtype, tolerance, sources):
    """Whichever of query, key and value are one array."""
    E, heads = 6, 3
    arrays = [normal(2, length, E, dtype=dtype) for length in (4, 5 if sources == (0, 1, 1) else 4, 4)]
    params = [normal(*shape, dtype=dtype) for shape in ((3 * E, E), (3 * E,), (E, E), (E,))]

    def in_torch(F, x, y, z, w, b, w_out, b_out):
        q, k, v = ((x, y, z)[source].transpose(0, 1) for source in sources)
        out, _ = F.multi_head_attention_forward(
            q, k, v, E, heads, w, b, None, None, False, 0.0, w_out, b_out, need_weights=False
        )
        return out.transpose(0, 1) + 0 * (x.sum() + y.sum() + z.sum())

    def in_tape(x, y, z, *params):
        given = [(x, y, z)[source] for source in sources]
        return nn.multi_head_attention(*given, heads, *params) + 0 * (np.sum(x) + np.sum(y) + np.sum(z))

    assert_as_torch(in_tape, in_torch, [*arrays, *params], tolerance)


# ---- masks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_query_that_attends_to_nothing_gets_zeros_and_passes_nothing_on(kind):
    q, k, v = qkv(front=())
    allowed = np.ones((3, 5), bool)
    allowed[1] = False
    mask = allowed if kind == "bool" else np.where(allowed, 0.0, -np.inf)
    seed = normal(3, 2)
    value = attention(q, k, v, mask)
    assert not np.any(value[1])
    assert_close(value[[0, 2]], attention(q[[0, 2]], k, v))

    def f(q, k, v):
        return attention(q, k, v, mask)

    for gradients in (vjp(f, [q, k, v], seed), tape.compile(lambda *args: vjp(f, args, seed))(q, k, v)):
        assert not np.any(gradients[0][1])
        for found, expected in zip(
            gradients[1:], vjp(attention, [q[[0, 2]], k, v], seed[[0, 2]])[1:], strict=True
        ):
            assert_close(found, expected)


def test_keys_that_are_masked_have_no_influence():
    q, k, v = qkv(front=())
    mask = np.array([True, True, False, True, False])
    kept = np.flatnonzero(mask)
    assert_close(attention(q, k, v, mask[None]), attention(q, k[kept], v[kept]))
    causal = np.tril(np.ones((3, 5), bool))
    assert_close(attention(q, k, v, mask[None], is_causal=True), attention(q, k, v, mask & causal))
    assert_close(attention(q, k, v, is_causal=True), attention(q, k, v, np.where(causal, 0, -np.inf)))


def test_large_scores_do_not_overflow():
    q, k, v = qkv(np.float32)
    for f in (attention, lambda *args: attention(*args, np.ones((3, 5), bool))):
        assert np.all(np.isfinite(f(1e10 * q, k, v)))
        assert all(np.all(np.isfinite(g)) for g in vjp(f, [1e10 * q, k, v]))


def test_dropped_weights_are_left_out_and_the_rest_made_larger():
    q, k, v = qkv(front=())
    kept = RNG.random((3, 5)) < 0.5
    weights = attention(q, k, np.eye(5))
    expected = np.where(kept, weights / 0.8, 0) @ v
    assert_close(attention(q, k, v, dropout_p=0.2, dropout_mask=kept), expected)


def test_one_object_is_mapped_in_one_product():
    x, w, out = normal(3, 4), normal(12, 4), normal(4, 4)
    together = nn.multi_head_attention(x, x, x, 2, w, None, out, is_causal=True)
    assert_close(together, nn.multi_head_attention(x, x.copy(), x.copy(), 2, w, None, out, is_causal=True))


# ---- errors --------------------------------------------------------------------------------------

Q, K, V = qkv()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: attention(Q, K, V, np.ones((3, 4), bool)), errors.ShapeError, r"\[3, 4\].*\[2, 3, 3, 5\]"),
        (lambda: attention(Q[0], K[0], V[0], np.ones((2, 3, 3, 5))), errors.ShapeError, r"\[2, 3, 3, 5\]"),
        (lambda: attention(Q, K, V, np.ones((3, 5), int)), errors.DTypeError, "bools"),
        (lambda: attention(Q, K[..., :3], V), errors.ShapeError, "query.*key.*value"),
        (lambda: attention(Q, K[:, :, :4], V), errors.ShapeError, "the same length"),
        (lambda: attention(Q, K[:, :2], V), errors.ShapeError, "broadcast"),
        (lambda: attention(Q[0, 0, 0], K, V), errors.ShapeError, "two axes"),
        (lambda: attention(Q.astype(int), K, V), errors.DTypeError, "int64"),
        (lambda: attention(Q, K, V, dropout_p=0.1), errors.OptionError, "dropout_mask"),
        (lambda: attention(Q, K, V, dropout_mask=np.ones(4, bool)), errors.ShapeError, r"\[4\]"),
        (lambda: attention(Q, K[:, :2], V[:, :2], enable_gqa=True), errors.OptionError, "3 heads.*2"),
        (lambda: attention(Q, K[:, :0], V[:, :0], enable_gqa=True), errors.OptionError, "3 heads.*share 0"),
        (lambda: attention(Q, K[:, :1], V, enable_gqa=True), errors.OptionError, "share 1.* and 3"),
        (lambda: attention(Q, K, V[0, 0], enable_gqa=True), errors.ShapeError, "at least three axes"),
        (lambda: nn.multi_head_attention(Q, Q, Q, 3, np.ones((12, 4)), None, np.eye(4)),
         errors.OptionError, "3 heads"),
        (lambda: nn.multi_head_attention(Q, Q, Q, 2, np.ones((4, 4)), None, np.eye(4)),
         errors.ShapeError, "in_proj_weight"),
        (lambda: nn.multi_head_attention(Q, K, V, 2, np.ones((12, 4)), None, np.eye(4)),
         errors.ShapeError, "value"),
    ],
)  # fmt: skip
def test_errors_are_raised_at_the_call(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_parameters_of_other_shapes_are_named():
    right = {
        "in_proj_weight": (12, 4),
        "in_proj_bias": (12,),
        "out_proj_weight": (4, 4),
        "out_proj_bias": (4,),
    }
    arrays = {name: np.ones(shape) for name, shape in right.items()}
    call = lambda **arrays: nn.multi_head_attention(Q, Q, Q, 2, **arrays)  # noqa: E731
    assert call(**arrays).shape == Q.shape
    for name, shape in right.items():
        lengths = rf"\[{', '.join(map(str, shape))}\]"
        with pytest.raises(errors.ShapeError, match=rf"^multi_head_attention: {name} has .*have {lengths}"):
            call(**{**arrays, name: np.ones((*shape, 1))})


def test_a_bad_call_leaves_nothing_behind():
    trace = tape.Trace()
    q = trace.param(Q)
    count = len(trace)
    for mask in (np.ones((3, 4), bool), np.ones((3, 5), int)):
        with pytest.raises(errors.TapeError):
            attention(q, K, V, mask)
    assert len(trace) == count


# ---- positions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_interleaved", [False, True])
def test_products_of_turned_elements_depend_on_the_difference_of_positions(is_interleaved):
    q, k = normal(6), normal(6)
    turned = [
        [nn.rotary_embedding(x[None], [p], interleaved=is_interleaved)[0] for x, p in ((q, a), (k, b))]
        for a, b in ((2, 5), (9, 12), (-1, 2), (1000, 1003))
    ]
    products = [a @ b for a, b in turned]
    assert_close(np.array(products), np.full(4, products[0]), 1e-10)


def test_far_positions_of_float32_are_as_exact_as_near_ones():
    x = np.ones((1, 4), np.float32)
    found = nn.rotary_embedding(x, [1e6 + 1])
    assert found.dtype == np.float32
    assert_close(found, nn.rotary_embedding(x.astype(np.float64), [1e6 + 1]), 1e-6)


def test_wrong_arguments_of_rotary_embedding():
    for call, error, words in [
        (lambda: nn.rotary_embedding(np.ones((2, 3))), errors.ShapeError, r"\[2, 3\]. It must be"),
        (lambda: nn.rotary_embedding(np.ones(4)), errors.ShapeError, r"\[4\]. It must be"),
        (lambda: nn.rotary_embedding(np.ones((2, 4)), np.arange(3)), errors.ShapeError, "positions have"),
        (lambda: nn.rotary_embedding(np.ones((2, 4)), np.ones((3, 2))), errors.ShapeError, "positions have"),
        (lambda: nn.rotary_embedding(np.ones((2, 4)), base=0.0), errors.OptionError, "base=0.0"),
        (lambda: nn.rotary_embedding(np.ones((2, 4), int)), errors.DTypeError, "must be real floats"),
    ]:
        with pytest.raises(error, match=words):
            call()
