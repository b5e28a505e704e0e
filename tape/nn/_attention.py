"""Attention with several heads, its cache of keys and values, and the block of a transformer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tape.core.operands import as_operand
from tape.errors import OptionError, ShapeError
from tape.nn._layer import STATIC, Described, check_length, float_dtype, title
from tape.nn._linear import Linear
from tape.nn._normalization import LayerNorm
from tape.nn._random import dropped, mask_of
from tape.nn.initializers import xavier_uniform
from tape.ops.elementwise.elementary import relu
from tape.ops.elementwise.selection import where
from tape.ops.nn.attention import joined_heads, projected_heads, scaled_dot_product_attention
from tape.ops.nn.dropout import checked_probability
from tape.ops.nn.geometry import whole
from tape.ops.nn.rotary import rotary_embedding
from tape.ops.structure.taking import take


@dataclass(eq=False, repr=False)
class KeyValueCache(Described):
    """Keys and values of the elements of a sequence so far, with room for more.

    Attributes
    ----------
    key, value : numpy.ndarray
        ``(..., heads, capacity, width)``.
    length : int
        The number of elements so far.
    """

    key: Any
    value: Any
    length: Any


@dataclass(init=False, eq=False, repr=False)
class MultiHeadAttention(Described):
    """Attention with several heads, each with its own linear maps of query, key and value.

    Parameters
    ----------
    embed_dim : int
        The length of the last axis of query, key, value and result.
    num_heads : int
        The number of heads; each gets ``embed_dim / num_heads`` elements.
    dropout : float
        The probability that a weight of the average is dropped, if there is a generator.
    bias : bool
        Whether the linear maps have biases.
    rng : numpy.random.Generator
        What the weights are drawn from: `initializers.xavier_uniform` for the maps of query, key and value;
        biases are zeros.
    rotary_base : float, optional
        The base of a `rotary_embedding` of queries and keys, such as 10000; by default there is none.
    dtype : dtype
        That of the weights.

    Attributes
    ----------
    in_proj_weight : numpy.ndarray
        ``(3 * embed_dim, embed_dim)``: the weights for query, key and value.
    in_proj_bias : numpy.ndarray or None
        ``(3 * embed_dim,)``.
    out_proj : Linear

    Raises
    ------
    ShapeError
        When called, if shapes do not belong together, or the cache has no room.
    OptionError
        If the elements do not split into heads, or another option is out of range.

    Notes
    -----
    It is called as ``layer(query, key=None, value=None, attn_mask=None, is_causal=False, rng=None)``: the
    key is the query by default, and the value the key, batches come first, and in a mask of bools True is for
    keys attended to, the opposite of PyTorch's module.

    ``y, cache = layer(x, cache=cache)`` attends from each new element to all elements so far and to itself,
    as with ``is_causal=True`` on the whole sequence, and appends them to the cache, `init_cache` at first. A
    compiled function has one program for all lengths.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.MultiHeadAttention(8, 2, rng=np.random.default_rng(0))
    >>> x = np.random.default_rng(1).normal(size=(5, 8)).astype(np.float32)
    >>> whole = layer(x, is_causal=True)
    >>> cache = layer.init_cache(capacity=5)
    >>> for k in range(5):
    ...     y, cache = layer(x[k : k + 1], cache=cache)
    >>> np.allclose(y[0], whole[4], atol=1e-6)
    True
    """

    embed_dim: int = field(metadata=STATIC)
    num_heads: int = field(metadata=STATIC)
    dropout: float = field(metadata=STATIC)
    rotary_base: float | None = field(metadata=STATIC)
    in_proj_weight: Any
    in_proj_bias: Any
    out_proj: Linear

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, *, rng: Any, bias: bool = True,
        rotary_base: float | None = None, dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        self.embed_dim = whole(name, "embed_dim", embed_dim, 1)
        self.num_heads = whole(name, "num_heads", num_heads, 1)
        if embed_dim % num_heads:
            raise OptionError(f"{name}: {embed_dim} elements do not split into {num_heads} heads")
        if rotary_base is not None and (not rotary_base > 0 or embed_dim // num_heads % 2):
            raise OptionError(
                f"{name}: rotary_base={rotary_base} with {embed_dim // num_heads} elements in each head. It "
                "must be positive, or None, and turns an even number of elements"
            )
        self.rotary_base = rotary_base
        self.dropout = checked_probability(name, dropout)
        dtype = float_dtype(name, dtype)
        self.in_proj_weight = xavier_uniform(rng, (3 * embed_dim, embed_dim), dtype=dtype)
        self.in_proj_bias = np.zeros(3 * embed_dim, dtype) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, rng=rng, bias=bias, dtype=dtype)
        if bias:
            self.out_proj.bias = np.zeros(embed_dim, dtype)

    def __call__(
        self, query: Any, key: Any = None, value: Any = None, *, attn_mask: Any = None,
        is_causal: bool = False, rng: Any = None, cache: KeyValueCache | None = None,
    ) -> Any:  # fmt: skip
        check_length(self, query, -1, self.embed_dim)
        if cache is not None:
            return self._continued(query, key, value, attn_mask, rng, cache)
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = self._heads(query, key, value)
        kept = self._kept_weights(rng, (*np.shape(query)[:-1], np.shape(key)[-2]))
        return self._attended(q, k, v, attn_mask, is_causal, kept)

    def init_cache(self, capacity: int, batch: int | tuple[int, ...] = ()) -> KeyValueCache:
        """Return an empty cache.

        Parameters
        ----------
        capacity : int
            The length of the longest sequence.
        batch : int or tuple of int
            The axes in front of ``(L, embed_dim)``.

        Returns
        -------
        KeyValueCache
        """
        whole("init_cache", "capacity", capacity, 1)
        front = batch if isinstance(batch, tuple) else (batch,)
        shape = (*front, self.num_heads, capacity, self.embed_dim // self.num_heads)
        dtype = np.result_type(self.in_proj_weight)
        return KeyValueCache(np.zeros(shape, dtype), np.zeros(shape, dtype), np.int64(0))

    def _kept_weights(self, rng: Any, shape: tuple[int, ...]) -> Any:
        """Return a mask for the weights, ``(..., heads, L, S)``, if there is a generator and dropout."""
        if rng is None or not self.dropout:
            return None
        return mask_of(type(self).__name__, rng, (*shape[:-2], self.num_heads, *shape[-2:]), self.dropout)

    def _continued(
        self, x: Any, key: Any, value: Any, attn_mask: Any, rng: Any, cache: KeyValueCache
    ) -> tuple[Any, KeyValueCache]:
        if key is not None or value is not None or attn_mask is not None:
            raise OptionError(f"{title(self)}: with a cache there is no key, value or mask: it is causal")
        x = as_operand(x)
        *front, length, _ = np.shape(x)
        capacity, expected = np.shape(cache.key)[-2], (*front, self.num_heads)
        if np.shape(cache.key)[:-2] != expected:
            raise ShapeError(
                f"{title(self)}: x has shape {list(np.shape(x))}, the keys in the cache "
                f"{list(np.shape(cache.key))}. Make one by init_cache(capacity, batch={tuple(front)})"
            )
        if cache.length + length > capacity:
            raise ShapeError(
                f"{title(self)}: {int(cache.length)} elements in the cache and {length} more exceed its "
                f"capacity of {capacity}. Make a larger one"
            )
        query, new_key, new_value = self._heads(x, x, x, cache.length + np.arange(length))
        places = np.arange(capacity) - cache.length
        keys = _written(cache.key, new_key, places)
        values = _written(cache.value, new_value, places)
        mask = places[None, :] <= np.arange(length)[:, None]
        kept = self._kept_weights(rng, (*front, length, capacity))
        out = self._attended(query, keys, values, mask, False, kept)
        return out, KeyValueCache(keys, values, cache.length + length)

    def _heads(self, query: Any, key: Any, value: Any, positions: Any = None) -> list[Any]:
        """Return query, key and value of all heads, the first two turned by their positions."""
        name = type(self).__name__
        q, k, v = projected_heads(
            name, query, key, value, self.num_heads, self.in_proj_weight, self.in_proj_bias
        )
        if self.rotary_base is not None:
            q, k = (rotary_embedding(x, positions, self.rotary_base) for x in (q, k))
        return [q, k, v]

    def _attended(self, query: Any, key: Any, value: Any, mask: Any, is_causal: bool, kept: Any) -> Any:
        out = scaled_dot_product_attention(
            query, key, value, mask, 0.0 if kept is None else self.dropout, is_causal, dropout_mask=kept
        )
        return self.out_proj(joined_heads(out))


def _written(old: Any, new: Any, places: Any) -> Any:
    """Return rows with new ones among them; ``places`` numbers the rows from the first new one."""
    length = np.shape(new)[-2]
    if not length:
        return old
    is_new = (places >= 0) & (places < length)
    rows = take(new, np.clip(places, 0, length - 1), axis=-2)
    return where(is_new[:, None], rows, old)


@dataclass(init=False, eq=False, repr=False)
class TransformerBlock(Described):
    """Self-attention, then two linear layers, each added to its argument, with normalisation.

    Parameters
    ----------
    d_model : int
        The length of the last axis.
    nhead : int
        The number of heads.
    dim_feedforward : int
        The length between the two linear layers.
    dropout : float
        The probability that an element is dropped, if there is a generator: of the weights of the attention,
        between the linear layers, and of what is added.
    activation : callable
        The function between the linear layers.
    layer_norm_eps : float
        As ``eps`` of `LayerNorm`.
    norm_first : bool
        Whether normalisation comes before attention and linear layers, and not after the sums.
    bias, rng, rotary_base, dtype
        As for `MultiHeadAttention`.

    Attributes
    ----------
    self_attn : MultiHeadAttention
    linear1, linear2 : Linear
    norm1, norm2 : LayerNorm

    Raises
    ------
    ShapeError, OptionError
        As `MultiHeadAttention`.

    Notes
    -----
    The defaults and the names are those of PyTorch's ``TransformerEncoderLayer``, with batches first. It is
    called as ``layer(x, attn_mask=None, is_causal=False, rng=None)``, or ``y, cache = layer(x,
    cache=cache)``, with ``layer.self_attn.init_cache(...)`` at first.

    References
    ----------
    A. Vaswani et al., "Attention is all you need" (2017).

    Examples
    --------
    >>> import numpy as np, tape
    >>> block = tape.nn.TransformerBlock(8, 2, 32, norm_first=True, rng=np.random.default_rng(0))
    >>> block(np.ones((4, 10, 8), np.float32), is_causal=True).shape
    (4, 10, 8)
    """

    dropout: float = field(metadata=STATIC)
    activation: Callable[..., Any] = field(metadata=STATIC)
    norm_first: bool = field(metadata=STATIC)
    self_attn: MultiHeadAttention
    linear1: Linear
    linear2: Linear
    norm1: LayerNorm
    norm2: LayerNorm

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Callable[..., Any] = relu, layer_norm_eps: float = 1e-5, norm_first: bool = False, *,
        rng: Any, bias: bool = True, rotary_base: float | None = None, dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        whole("TransformerBlock", "dim_feedforward", dim_feedforward, 1)
        self.dropout = checked_probability("TransformerBlock", dropout)
        self.activation = activation
        self.norm_first = norm_first
        self.self_attn = MultiHeadAttention(
            d_model, nhead, dropout, rng=rng, bias=bias, rotary_base=rotary_base, dtype=dtype
        )
        self.linear1 = Linear(d_model, dim_feedforward, rng=rng, bias=bias, dtype=dtype)
        self.linear2 = Linear(dim_feedforward, d_model, rng=rng, bias=bias, dtype=dtype)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)

    def __call__(
        self, x: Any, *, attn_mask: Any = None, is_causal: bool = False, rng: Any = None,
        cache: KeyValueCache | None = None,
    ) -> Any:  # fmt: skip
        attended = self.self_attn(
            self.norm1(x) if self.norm_first else x, attn_mask=attn_mask, is_causal=is_causal, rng=rng,
            cache=cache,
        )  # fmt: skip
        attended, new_cache = attended if cache is not None else (attended, None)
        x = x + self._dropped(attended, rng)
        if self.norm_first:
            y = x + self._fed_forward(self.norm2(x), rng)
        else:
            x = self.norm1(x)
            y = self.norm2(x + self._fed_forward(x, rng))
        return y if cache is None else (y, new_cache)

    def _fed_forward(self, x: Any, rng: Any) -> Any:
        inner = self._dropped(self.activation(self.linear1(x)), rng)
        return self._dropped(self.linear2(inner), rng)

    def _dropped(self, x: Any, rng: Any) -> Any:
        return dropped("TransformerBlock", x, self.dropout, rng)
