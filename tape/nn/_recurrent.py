"""Recurrent networks: layers of cells along sequences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from tape.core.operands import as_operand
from tape.errors import ShapeError
from tape.nn._cells import Cell, GRUCell, LSTMCell, RNNCell
from tape.nn._layer import STATIC, Described, check_length, title
from tape.nn._random import dropped
from tape.ops.nn.dropout import checked_probability
from tape.ops.nn.geometry import whole
from tape.ops.structure.axes import swapaxes
from tape.ops.structure.joining import concatenate, stack
from tape.transforms.loops.scan import scan


@dataclass(init=False, eq=False, repr=False)
class _Recurrent(Described):
    """Layers of cells along a sequence, the next on what the last one returns."""

    cell: ClassVar[type[Cell]]

    input_size: int = field(metadata=STATIC)
    hidden_size: int = field(metadata=STATIC)
    num_layers: int = field(metadata=STATIC)
    batch_first: bool = field(metadata=STATIC)
    dropout: float = field(metadata=STATIC)
    bidirectional: bool = field(metadata=STATIC)
    cells: tuple[Any, ...]

    def _build(
        self, input_size: int, hidden_size: int, num_layers: int, batch_first: bool, dropout: float,
        bidirectional: bool, **options: Any,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        self.input_size = input_size
        self.hidden_size = whole(name, "hidden_size", hidden_size, 1)
        self.num_layers = whole(name, "num_layers", num_layers, 1)
        self.batch_first = batch_first
        self.dropout = checked_probability(name, dropout)
        self.bidirectional = bidirectional
        ways = 2 if bidirectional else 1
        sizes = [input_size, *[hidden_size * ways] * (num_layers - 1)]
        self.cells = tuple([self.cell(size, hidden_size, **options) for size in sizes for _ in range(ways)])

    def __call__(self, x: Any, carry: Any = None, *, rng: Any = None) -> tuple[Any, Any]:
        x = as_operand(x)
        if np.ndim(x) not in (2, 3):
            batched = "(N, L, input_size)" if self.batch_first else "(L, N, input_size)"
            raise ShapeError(
                f"{title(self)}: x has shape {list(np.shape(x))}. It must be {batched} or (L, input_size)"
            )
        check_length(self, x, -1, self.input_size)
        is_turned = self.batch_first and np.ndim(x) == 3
        out, carries = self._run(swapaxes(x, 0, 1) if is_turned else x, carry, rng)
        return (swapaxes(out, 0, 1) if is_turned else out), carries

    def _run(self, x: Any, carry: Any, rng: Any) -> tuple[Any, Any]:
        carries, ways, last = self._carries(carry, x), 2 if self.bidirectional else 1, []
        for k in range(self.num_layers):
            outs = []
            for way in range(ways):
                cell = self.cells[k * ways + way]
                end, out = _along(cell, x, carries[k * ways + way], is_backwards=way == 1)
                last.append(end)
                outs.append(out)
            x = outs[0] if ways == 1 else concatenate(outs, axis=-1)
            if k < self.num_layers - 1:
                x = dropped(type(self).__name__, x, self.dropout, rng)
        if isinstance(last[0], tuple):
            return x, tuple([stack(parts) for parts in zip(*last, strict=True)])
        return x, stack(last)

    def _carries(self, carry: Any, x: Any) -> list[Any]:
        """Return the first carry of each cell."""
        batch, dtype = np.shape(x)[1:-1], np.result_type(x, self.cells[0].weight_hh)
        zeros = [cell.init_carry(batch, dtype) for cell in self.cells]
        if carry is None:
            return zeros
        is_pair = isinstance(zeros[0], tuple)
        parts = tuple(carry) if is_pair and isinstance(carry, (tuple, list)) else (carry,)
        shape = (len(self.cells), *batch, self.hidden_size)
        if len(parts) != 1 + is_pair or any(np.shape(part) != shape for part in parts):
            found = ", ".join([str(list(np.shape(part))) for part in parts])
            wanted = "a pair (h, c) of" if is_pair else "h of"
            raise ShapeError(
                f"{title(self)}: a carry of shape {found}. It must be {wanted} shape {list(shape)}: "
                "(layers * directions, *batch, hidden_size)"
            )
        parts = tuple([as_operand(part).astype(dtype) for part in parts])
        return [tuple([part[k] for part in parts]) if is_pair else parts[0][k] for k in range(shape[0])]

    def named_parts(self) -> list[tuple[str, Any]]:
        """Return the weights with their names in a state dict: ``weight_ih_l0`` and so on."""
        ways = 2 if self.bidirectional else 1
        return [
            (f"{name}_l{k // ways}{'_reverse' if k % ways else ''}", getattr(cell, name))
            for k, cell in enumerate(self.cells)
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        ]


def _along(cell: Cell, x: Any, carry: Any, is_backwards: bool) -> tuple[Any, Any]:
    """Return the last carry of a cell along the first axis, and the hidden states of all steps."""

    def step(carry: Any, projected: Any) -> tuple[Any, Any]:
        carry = cell.advance(projected, carry)
        return carry, carry[0] if isinstance(carry, tuple) else carry

    return scan(step, carry, cell.project(x), reverse=is_backwards)


@dataclass(init=False, eq=False, repr=False)
class RNN(_Recurrent):
    """A simple recurrent network: layers of `RNNCell` along a sequence.

    Parameters
    ----------
    input_size, hidden_size : int
        Lengths of the last axes of ``x`` and of hidden states.
    num_layers : int
        The number of layers, the next one on the hidden states of the last.
    nonlinearity : {"tanh", "relu"}
        The activation function.
    bias : bool
        Whether there are biases.
    batch_first : bool
        Whether a batch is ``(N, L, input_size)``, and not ``(L, N, input_size)``. The carry stays as it is.
    dropout : float
        The probability that an element is dropped between two layers, if there is a generator.
    bidirectional : bool
        Whether a second cell in each layer runs backwards; hidden states are joined along the last axis.
    rng, dtype
        As for `RNNCell`.

    Attributes
    ----------
    cells : tuple
        The cells, layer by layer. In state dicts their weights are ``weight_ih_l0``, ``weight_hh_l0``,
        ``bias_ih_l0`` and ``bias_hh_l0`` with the number of the layer, and ``_reverse`` after it.

    Raises
    ------
    ShapeError
        When called, if ``x`` has another number of axes or another length of the last one, or the carry
        does not fit.
    OptionError
        As `RNNCell`.

    Notes
    -----
    It is called as ``y, carry = layer(x, carry=None, rng=None)``, where the carry, ``(layers * directions, N,
    hidden_size)``, is zeros at first. Without a batch axis in ``x``, ``(L, input_size)``, there is none in
    the carry. In a compiled function each layer is one loop, whatever the length.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.RNN(3, 4, num_layers=2, rng=np.random.default_rng(0))
    >>> y, carry = layer(np.ones((10, 5, 3), np.float32))
    >>> y.shape, carry.shape
    ((10, 5, 4), (2, 5, 4))
    """

    cell: ClassVar[type[Cell]] = RNNCell

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1,
        nonlinearity: Literal["tanh", "relu"] = "tanh", *, rng: Any, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self._build(
            input_size, hidden_size, num_layers, batch_first, dropout, bidirectional,
            nonlinearity=nonlinearity, rng=rng, bias=bias, dtype=dtype,
        )  # fmt: skip


class _Gated(_Recurrent):
    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, *, rng: Any, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self._build(
            input_size, hidden_size, num_layers, batch_first, dropout, bidirectional, rng=rng, bias=bias,
            dtype=dtype,
        )  # fmt: skip


class GRU(_Gated):
    """Layers of `GRUCell` along a sequence.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, rng, dtype
        As for `RNN`.

    Raises
    ------
    ShapeError, OptionError
        As `RNN`.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.GRU(3, 4, bidirectional=True, batch_first=True, rng=np.random.default_rng(0))
    >>> y, carry = layer(np.ones((5, 10, 3), np.float32))
    >>> y.shape, carry.shape
    ((5, 10, 8), (2, 5, 4))
    """

    cell = GRUCell


class LSTM(_Gated):
    """Layers of `LSTMCell` along a sequence. The carry is a pair ``(h, c)``.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, rng, dtype
        As for `RNN`.

    Raises
    ------
    ShapeError, OptionError
        As `RNN`.

    Notes
    -----
    Truncated backpropagation through time: the carry goes on from one piece of a sequence to the next, and
    `tape.stop_gradient` keeps derivatives inside of each piece.

    Examples
    --------
    >>> import numpy as np, tape
    >>> layer = tape.nn.LSTM(1, 4, rng=np.random.default_rng(0))
    >>> def loss(layer, piece, carry):
    ...     y, carry = layer(piece, tape.stop_gradient(carry))
    ...     return np.mean((y[:-1, :, :1] - piece[1:]) ** 2), carry
    >>> step = tape.compile(tape.value_and_grad(loss, has_aux=True))
    >>> series = np.sin(np.arange(300, dtype=np.float32)).reshape(300, 1, 1)
    >>> carry = (np.zeros((1, 1, 4), np.float32), np.zeros((1, 1, 4), np.float32))
    >>> for start in range(0, 300, 100):
    ...     (value, carry), gradient = step(layer, series[start : start + 100], carry)
    ...     layer = tape.tree.map(lambda p, g: p - np.float32(0.1) * g, layer, gradient)
    >>> carry[0].shape
    (1, 1, 4)
    """

    cell = LSTMCell
