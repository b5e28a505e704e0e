"""Linear layers and tables of vectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from tape.errors import OptionError
from tape.nn._layer import STATIC, Described, check_length, float_dtype
from tape.nn.initializers import normal, uniform
from tape.ops.nn.embedding import embedding
from tape.ops.nn.geometry import whole
from tape.ops.nn.linear import bilinear, linear


@dataclass(init=False, eq=False, repr=False)
class Linear(Described):
    """``x @ weight.T + bias``.

    Parameters
    ----------
    in_features, out_features : int
        Lengths of the last axis of argument and result.
    bias : bool
        Whether a bias is added.
    rng : numpy.random.Generator
        What the weights are drawn from: uniformly within ``1 / sqrt(in_features)``, as in PyTorch.
    dtype : dtype
        That of weight and bias.

    Attributes
    ----------
    weight : numpy.ndarray
        ``(out_features, in_features)``.
    bias : numpy.ndarray or None
        ``(out_features,)``.

    Raises
    ------
    ShapeError
        When called, if the last axis of ``x`` has another length.
    OptionError
        If a length is no positive int, ``rng`` is no generator or ``dtype`` none of floats.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.Linear(3, 2, rng=np.random.default_rng(0))
    >>> layer
    Linear(in_features=3, out_features=2, weight=float32[2, 3], bias=float32[2])
    >>> layer(np.ones((5, 3), np.float32)).shape
    (5, 2)
    >>> tape.grad(lambda layer, x: np.sum(layer(x)))(layer, np.ones((5, 3))).bias
    array([5., 5.], dtype=float32)
    """

    in_features: int = field(metadata=STATIC)
    out_features: int = field(metadata=STATIC)
    weight: Any
    bias: Any

    def __init__(
        self, in_features: int, out_features: int, *, rng: Any, bias: bool = True, dtype: Any = np.float32
    ) -> None:
        self.in_features = whole("Linear", "in_features", in_features, 1)
        self.out_features = whole("Linear", "out_features", out_features, 1)
        dtype, bound = float_dtype("Linear", dtype), 1 / sqrt(in_features)
        self.weight = uniform(rng, (out_features, in_features), -bound, bound, dtype)
        self.bias = uniform(rng, (out_features,), -bound, bound, dtype) if bias else None

    def __call__(self, x: Any) -> Any:
        check_length(self, x, -1, self.in_features)
        return linear(x, self.weight, self.bias)


@dataclass(init=False, eq=False, repr=False)
class Bilinear(Described):
    """``x1 @ weight[o] @ x2 + bias[o]`` for each o.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
        Lengths of the last axes of both arguments and of the result.
    bias, rng, dtype
        As for `Linear`, within ``1 / sqrt(in1_features)``.

    Attributes
    ----------
    weight : numpy.ndarray
        ``(out_features, in1_features, in2_features)``.
    bias : numpy.ndarray or None
        ``(out_features,)``.

    Raises
    ------
    ShapeError, OptionError
        As `Linear`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.Bilinear(3, 4, 2, rng=np.random.default_rng(0))
    >>> layer(np.ones((5, 3)), np.ones((5, 4))).shape
    (5, 2)
    """

    in1_features: int = field(metadata=STATIC)
    in2_features: int = field(metadata=STATIC)
    out_features: int = field(metadata=STATIC)
    weight: Any
    bias: Any

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, *, rng: Any, bias: bool = True,
        dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self.in1_features = whole("Bilinear", "in1_features", in1_features, 1)
        self.in2_features = whole("Bilinear", "in2_features", in2_features, 1)
        self.out_features = whole("Bilinear", "out_features", out_features, 1)
        dtype, bound = float_dtype("Bilinear", dtype), 1 / sqrt(in1_features)
        self.weight = uniform(rng, (out_features, in1_features, in2_features), -bound, bound, dtype)
        self.bias = uniform(rng, (out_features,), -bound, bound, dtype) if bias else None

    def __call__(self, x1: Any, x2: Any) -> Any:
        check_length(self, x1, -1, self.in1_features)
        check_length(self, x2, -1, self.in2_features)
        return bilinear(x1, x2, self.weight, self.bias)


@dataclass(init=False, eq=False, repr=False)
class Embedding(Described):
    """A table of vectors, of which each index reads one.

    For an output that shares the table, multiply by it: ``h @ embedding.weight.T``. That is one array with
    one gradient, the sum of both.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Number and length of the vectors.
    padding_idx : int, optional
        A vector that starts as zeros and gets no gradient; negative ones count from the end.
    rng : numpy.random.Generator
        What the vectors are drawn from: the standard normal distribution.
    dtype : dtype
        That of the vectors.

    Attributes
    ----------
    weight : numpy.ndarray
        ``(num_embeddings, embedding_dim)``.

    Raises
    ------
    OutOfBoundsError
        When called, if an index is no row.
    DTypeError
        When called with anything but ints.
    OptionError
        As `Linear`, or if there is no vector ``padding_idx``.

    Examples
    --------
    >>> import numpy as np, tape
    >>> table = tape.nn.Embedding(10, 4, rng=np.random.default_rng(0))
    >>> table(np.array([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    num_embeddings: int = field(metadata=STATIC)
    embedding_dim: int = field(metadata=STATIC)
    padding_idx: int | None = field(metadata=STATIC)
    weight: Any

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, *, rng: Any,
        dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self.num_embeddings = whole("Embedding", "num_embeddings", num_embeddings, 1)
        self.embedding_dim = whole("Embedding", "embedding_dim", embedding_dim, 1)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise OptionError(f"Embedding: padding_idx={padding_idx} is no row: there are {num_embeddings}")
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        dtype = float_dtype("Embedding", dtype)
        self.weight = normal(rng, (num_embeddings, embedding_dim), dtype=dtype)
        if padding_idx is not None:
            self.weight[padding_idx] = 0

    def __call__(self, index: Any) -> Any:
        return embedding(index, self.weight, self.padding_idx)
