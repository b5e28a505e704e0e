"""Layers one after the other, and what stands between them: functions, dropout and flattening."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from tape.core.operands import as_operand
from tape.errors import OptionError, ShapeError, TapeError
from tape.nn._layer import STATIC, Described, call_text
from tape.nn._linear import Linear
from tape.nn._random import dropped
from tape.nn._state import call, init_state
from tape.ops.elementwise.elementary import relu
from tape.ops.nn.dropout import checked_probability
from tape.ops.nn.geometry import whole
from tape.ops.structure.shape import reshape


@dataclass(init=False, eq=False, repr=False)
class Lambda(Described):
    """A function without weights as a layer; `Sequential` makes one of each function among its layers.

    The function is part of the structure: two models are alike in structure if it is one and the same.

    Parameters
    ----------
    function : callable
        Plain NumPy code, or a function of `tape.nn`.

    Raises
    ------
    OptionError
        If it is not callable.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.Lambda(np.abs)(-2.0)
    np.float64(2.0)
    """

    function: Callable[..., Any] = field(metadata=STATIC)

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise OptionError(f"Lambda: {function!r} is no function")
        self.function = function

    def __call__(self, x: Any) -> Any:
        return self.function(x)


@dataclass(init=False, eq=False, repr=False)
class Dropout(Described):
    """Zeros in place of random elements, and the others times ``1 / (1 - p)``; only with a generator.

    Parameters
    ----------
    p : float
        The probability that an element is dropped.

    Raises
    ------
    OptionError
        If ``p`` is no probability; when called, if ``rng`` is no generator.

    Notes
    -----
    In a compiled function each call draws another mask. A generator that is an argument of one must be
    of `tape.random`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.Dropout(0.5)
    >>> layer(np.ones(4), rng=np.random.default_rng(0))
    array([2., 2., 2., 0.])
    >>> layer(np.ones(4))
    array([1., 1., 1., 1.])
    """

    p: float = field(metadata=STATIC)

    def __init__(self, p: float = 0.5) -> None:
        self.p = checked_probability("Dropout", p)

    def __call__(self, x: Any, *, rng: Any = None) -> Any:
        return dropped("Dropout", x, self.p, rng)


@dataclass(init=False, eq=False, repr=False)
class Flatten(Described):
    """Several neighbouring axes as one: by default all but the first.

    Parameters
    ----------
    start_dim, end_dim : int
        The first and the last of these axes.

    Raises
    ------
    ShapeError
        When called, if there are no such axes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> tape.nn.Flatten()(np.ones((2, 3, 4, 5))).shape
    (2, 60)
    """

    start_dim: int = field(metadata=STATIC)
    end_dim: int = field(metadata=STATIC)

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim = start_dim
        self.end_dim = end_dim

    def __call__(self, x: Any) -> Any:
        x = as_operand(x)
        shape, count = np.shape(x), np.ndim(x)
        first, last = (axis + count if axis < 0 else axis for axis in (self.start_dim, self.end_dim))
        if not 0 <= first <= last < count:
            raise ShapeError(f"{self!r}: x has shape {list(shape)}, which has no such axes")
        return reshape(x, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@dataclass(init=False, eq=False, repr=False)
class Sequential:
    """Layers that are called one after the other.

    Parameters
    ----------
    *layers : callable
        Layers, which are dataclasses, and functions, which become a `Lambda`.

    Attributes
    ----------
    layers : tuple
        The layers; they are read by index as well, and a slice is a `Sequential`.

    Raises
    ------
    OptionError
        If a layer is not callable.

    Notes
    -----
    The generator is handed to all layers that take ``rng``, which draw from it in turn, ``train`` to those
    that take it, and to each layer with a state its own. So it is with layers of yours: see `call`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape import nn
    >>> rng = np.random.default_rng(0)
    >>> model = nn.Sequential(nn.Linear(3, 8, rng=rng), nn.relu, nn.Dropout(0.1), nn.Linear(8, 2, rng=rng))
    >>> x = np.ones((5, 3), np.float32)
    >>> model(x).shape, model(x, rng=rng).shape
    ((5, 2), (5, 2))

    With layers that have a state, it is an argument and a result:

    >>> model = nn.Sequential(nn.Linear(3, 8, rng=rng), nn.BatchNorm(8), nn.relu)
    >>> state = nn.init_state(model)
    >>> y, state = model(x, state, train=True)
    >>> state[1].num_batches_tracked
    np.int64(1)
    """

    layers: tuple[Any, ...]

    def __init__(self, *layers: Callable[..., Any]) -> None:
        for k, layer in enumerate(layers):
            if not callable(layer) or isinstance(layer, type):
                raise OptionError(f"Sequential: layer {k}, {layer!r}, is neither a layer nor a function")
        is_layer = dataclasses.is_dataclass
        self.layers = tuple([layer if is_layer(layer) else Lambda(layer) for layer in layers])

    def __call__(self, x: Any, state: Any = None, *, train: bool = False, rng: Any = None) -> Any:
        if state is not None and len(state) != len(self.layers):
            raise ShapeError(
                f"Sequential: a state of {len(state)} layers for {len(self.layers)}. Begin with "
                "tape.nn.init_state(model)"
            )
        states = []
        for k, layer in enumerate(self.layers):
            try:
                x, new = call(layer, x, None if state is None else state[k], train=train, rng=rng)
            except TapeError as error:
                error.add_note(f"in layer {k} of a Sequential, {layer!r}")
                raise
            states.append(new)
        return x if state is None else (x, tuple(states))

    def init_state(self) -> tuple[Any, ...] | None:
        """Return the state of each layer, None for those without one; None if there is none at all."""
        return init_state(self.layers)

    def named_parts(self) -> list[tuple[str, Any]]:
        """Return the layers with their names in a state dict, which are their numbers."""
        return [(str(k), layer) for k, layer in enumerate(self.layers)]

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    def __getitem__(self, index: int | slice) -> Any:
        return Sequential(*self.layers[index]) if isinstance(index, slice) else self.layers[index]

    def __repr__(self) -> str:
        return call_text("Sequential", [repr(layer) for layer in self.layers])


@dataclass(init=False, eq=False, repr=False)
class MLP(Described):
    """A multilayer perceptron: linear layers, with an activation function between any two.

    Parameters
    ----------
    sizes : sequence of int
        Lengths of the last axis: of the argument, after each hidden layer, and of the result.
    activation : callable
        The function between two layers.
    dropout : float
        The probability that an element is dropped after the activation function, if there is a generator.
    rng, bias, dtype
        As for `Linear`.

    Attributes
    ----------
    layers : tuple of Linear

    Raises
    ------
    ShapeError
        When called, if the last axis of ``x`` has another length.
    OptionError
        As `Linear`, or if there are less than two sizes.

    Examples
    --------
    >>> import numpy as np, tape
    >>> model = tape.nn.MLP([784, 200, 10], rng=np.random.default_rng(0))
    >>> model(np.ones((5, 784), np.float32)).shape
    (5, 10)
    """

    activation: Callable[..., Any] = field(metadata=STATIC)
    dropout: float = field(metadata=STATIC)
    layers: tuple[Any, ...]

    def __init__(
        self, sizes: Sequence[int], activation: Callable[..., Any] = relu, *, rng: Any, dropout: float = 0.0,
        bias: bool = True, dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        if len(sizes) < 2:
            raise OptionError(f"MLP: sizes={sizes!r}. It takes the lengths of argument and result at least")
        for k, size in enumerate(sizes):
            whole("MLP", f"sizes[{k}]", size, 1)
        self.activation = activation
        self.dropout = checked_probability("MLP", dropout)
        self.layers = tuple([Linear(n, m, rng=rng, bias=bias, dtype=dtype) for n, m in pairwise(sizes)])

    def __call__(self, x: Any, *, rng: Any = None) -> Any:
        for layer in self.layers[:-1]:
            x = dropped("MLP", self.activation(layer(x)), self.dropout, rng)
        return self.layers[-1](x)
