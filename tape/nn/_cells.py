"""Cells of recurrent networks, each of which takes one step along a sequence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, ClassVar, Literal

import numpy as np

from tape.errors import OptionError
from tape.nn._layer import STATIC, Described, check_length, float_dtype
from tape.nn.initializers import uniform
from tape.ops.elementwise.elementary import relu, sigmoid, tanh
from tape.ops.nn.geometry import whole
from tape.ops.nn.linear import linear

_FUNCTIONS = {"tanh": tanh, "relu": relu}


@dataclass(init=False, eq=False, repr=False)
class Cell(Described, ABC):
    """The fields of all cells. A carry is the hidden state, or a pair with the state of the cell."""

    gates: ClassVar[int]

    input_size: int = field(metadata=STATIC)
    hidden_size: int = field(metadata=STATIC)
    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def __init__(
        self, input_size: int, hidden_size: int, *, rng: Any, bias: bool = True, dtype: Any = np.float32
    ) -> None:
        name = type(self).__name__
        self.input_size = whole(name, "input_size", input_size, 1)
        self.hidden_size = whole(name, "hidden_size", hidden_size, 1)
        dtype, bound, rows = float_dtype(name, dtype), 1 / sqrt(hidden_size), self.gates * hidden_size
        self.weight_ih = uniform(rng, (rows, input_size), -bound, bound, dtype)
        self.weight_hh = uniform(rng, (rows, hidden_size), -bound, bound, dtype)
        self.bias_ih = uniform(rng, (rows,), -bound, bound, dtype) if bias else None
        self.bias_hh = uniform(rng, (rows,), -bound, bound, dtype) if bias else None

    def __call__(self, x: Any, carry: Any = None) -> Any:
        check_length(self, x, -1, self.input_size)
        if carry is None:
            carry = self.init_carry(np.shape(x)[:-1], np.result_type(x, self.weight_hh))
        return self.advance(self.project(x), carry)

    def init_carry(self, batch: tuple[int, ...], dtype: Any) -> Any:
        """Return the carry before the first step: zeros."""
        return np.zeros((*batch, self.hidden_size), dtype)

    def project(self, x: Any) -> Any:
        """Return what the elements of a sequence contribute to the gates, of all steps at once."""
        return linear(x, self.weight_ih, self.bias_ih)

    @abstractmethod
    def advance(self, projected: Any, carry: Any) -> Any:
        """Return the carry after one step."""

    def _part(self, gates: Any, k: int) -> Any:
        return gates[..., k * self.hidden_size : (k + 1) * self.hidden_size]


@dataclass(init=False, eq=False, repr=False)
class RNNCell(Cell):
    """One step of a simple recurrence: ``h = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Parameters
    ----------
    input_size, hidden_size : int
        Lengths of the last axes of ``x`` and ``h``.
    nonlinearity : {"tanh", "relu"}
        The activation function.
    bias : bool
        Whether there are biases.
    rng : numpy.random.Generator
        What the weights are drawn from: uniformly within ``1 / sqrt(hidden_size)``, as in PyTorch.
    dtype : dtype
        That of the weights.

    Attributes
    ----------
    weight_ih, weight_hh : numpy.ndarray
        ``(hidden_size, input_size)`` and ``(hidden_size, hidden_size)``.
    bias_ih, bias_hh : numpy.ndarray or None
        ``(hidden_size,)``.

    Raises
    ------
    ShapeError
        When called, if the last axis of ``x`` has another length.
    OptionError
        If an option is out of range, ``rng`` is no generator or ``dtype`` none of floats.

    Examples
    --------
    >>> import numpy as np, tape
    >>> cell = tape.nn.RNNCell(3, 4, rng=np.random.default_rng(0))
    >>> h = cell(np.ones((2, 3), np.float32))
    >>> cell(np.ones((2, 3), np.float32), h).shape
    (2, 4)
    """

    gates: ClassVar[int] = 1

    nonlinearity: str = field(metadata=STATIC)

    def __init__(
        self, input_size: int, hidden_size: int, nonlinearity: Literal["tanh", "relu"] = "tanh", *, rng: Any,
        bias: bool = True, dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        if nonlinearity not in _FUNCTIONS:
            raise OptionError(f"RNNCell: nonlinearity={nonlinearity!r}. It is 'tanh' or 'relu'")
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, rng=rng, bias=bias, dtype=dtype)

    def advance(self, projected: Any, carry: Any) -> Any:
        """Return the hidden state after one step."""
        return _FUNCTIONS[self.nonlinearity](projected + linear(carry, self.weight_hh, self.bias_hh))


class GRUCell(Cell):
    """One step of a gated recurrent unit, with gates r, z and n in this order.

    ``r`` and ``z`` are sigmoids of ``W_ih x + b_ih + W_hh h + b_hh``, ``n = tanh(W_in x + b_in + r * (W_hn h
    + b_hn))``, and the result is ``(1 - z) * n + z * h``.

    Parameters
    ----------
    input_size, hidden_size, bias, rng, dtype
        As for `RNNCell`; weights and biases have three times as many rows.

    Raises
    ------
    ShapeError, OptionError
        As `RNNCell`.

    References
    ----------
    K. Cho et al., "Learning phrase representations using RNN encoder-decoder" (2014); r is applied after the
    product, as in PyTorch.

    Examples
    --------
    >>> import numpy as np, tape
    >>> cell = tape.nn.GRUCell(3, 4, rng=np.random.default_rng(0))
    >>> cell(np.ones((2, 3))).shape
    (2, 4)
    """

    gates = 3

    def advance(self, projected: Any, carry: Any) -> Any:
        """Return the hidden state after one step."""
        recurrent, size = linear(carry, self.weight_hh, self.bias_hh), 2 * self.hidden_size
        open_gates = sigmoid(projected[..., :size] + recurrent[..., :size])
        reset, update = self._part(open_gates, 0), self._part(open_gates, 1)
        new = tanh(projected[..., size:] + reset * recurrent[..., size:])
        return new + update * (carry - new)


class LSTMCell(Cell):
    """One step of a long short-term memory, with gates i, f, g and o in this order.

    Of the gates ``W_ih x + b_ih + W_hh h + b_hh``, g is a tanh and the others are sigmoids; ``c = f * c + i *
    g`` and ``h = o * tanh(c)``. The carry is the pair ``(h, c)``.

    Parameters
    ----------
    input_size, hidden_size, bias, rng, dtype
        As for `RNNCell`; weights and biases have four times as many rows.

    Raises
    ------
    ShapeError, OptionError
        As `RNNCell`.

    References
    ----------
    S. Hochreiter and J. Schmidhuber, "Long short-term memory" (1997), with the forget gate of F. A. Gers et
    al. (2000).

    Examples
    --------
    >>> import numpy as np, tape
    >>> cell = tape.nn.LSTMCell(3, 4, rng=np.random.default_rng(0))
    >>> h, c = cell(np.ones((2, 3)))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    gates = 4

    def init_carry(self, batch: tuple[int, ...], dtype: Any) -> Any:
        """Return the carry before the first step: two arrays of zeros."""
        return np.zeros((*batch, self.hidden_size), dtype), np.zeros((*batch, self.hidden_size), dtype)

    def advance(self, projected: Any, carry: Any) -> Any:
        """Return hidden state and cell state after one step."""
        hidden, cell = carry
        gates = projected + linear(hidden, self.weight_hh, self.bias_hh)
        enter, forget, leave = (sigmoid(self._part(gates, k)) for k in (0, 1, 3))
        cell = forget * cell + enter * tanh(self._part(gates, 2))
        return leave * tanh(cell), cell
