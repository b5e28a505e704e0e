"""The summary of a model: a row for each layer, with what it returns, its weights and its arithmetic.

The model runs once, on a trace, with layers that note which nodes are theirs. These are copies, each of a
class of its own that derives from that of the layer: no class is changed.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from tape import tree
from tape.core.node import Handle
from tape.core.trace import Trace
from tape.errors import OptionError
from tape.inspect.costs import flops
from tape.inspect.listing import aligned, html_table
from tape.inspect.words import byte_size, columns_of, one_line
from tape.nn._containers import Lambda
from tape.nn._layer import function_name
from tape.nn._state_dict import parts_of


@dataclass(frozen=True, slots=True)
class LayerTotal:
    """One layer in a summary.

    Attributes
    ----------
    name : str
        Its name as in a state dict; ``"model"`` for the model itself.
    kind : str
        Its class, or the function of a `Lambda`.
    output : str
        Shapes of the arrays that it returned last.
    params : int
        The number of elements of its arrays of floats, each array once.
    flops : int
        The floating-point operations of all calls, forwards. An estimate: see `tape.inspect.costs.flops`.
    """

    name: str
    kind: str
    output: str
    params: int
    flops: int


@dataclass(frozen=True, repr=False)
class ModelSummary:
    """The summary of a model. It prints as a table, in a notebook as an HTML table.

    Attributes
    ----------
    layers : tuple of LayerTotal
        The model and all layers in it that were called, in order; those around others include them.
    params : int
        The number of elements of all arrays of floats; an array that is in several places counts once.
    bytes : int
        The memory of these arrays.
    flops : int
        The floating-point operations of the whole call.
    """

    layers: tuple[LayerTotal, ...]
    params: int
    bytes: int
    flops: int

    def __str__(self) -> str:
        table = [_TITLES, *self._table()]
        widths = [max(columns_of(row[k]) for row in table) for k in range(len(_TITLES))]
        return "\n".join([*aligned(table, widths, _NUMBERS), "", self._total()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = []
        for row in self._table():
            cells = [
                f"<td{' class=number' if k in _NUMBERS else ''}>{escape(cell)}</td>"
                for k, cell in enumerate(row)
            ]
            rows.append(f"<tr>{''.join(cells)}</tr>")
        return html_table(self.layers[0].kind, _TITLES, rows, self._total(), _NUMBERS)

    def _table(self) -> list[tuple[str, ...]]:
        return [
            (
                layer.name,
                one_line(layer.kind),
                layer.output,
                f"{layer.params:,}" if layer.params else "",
                f"{layer.flops:,}",
            )
            for layer in self.layers
        ]

    def _total(self) -> str:
        return f"{self.params:,} params, {byte_size(self.bytes)}; {self.flops:,} FLOPs forwards"


_TITLES = ("layer", "class", "output", "params", "FLOPs")
_NUMBERS = (3, 4)


def summary(model: Any, *inputs: Any, **options: Any) -> ModelSummary:
    """Summarise a model by one call of it.

    Parameters
    ----------
    model : callable
        A layer, or a dataclass with layers in it.
    *inputs : tree
        What it is called with: arrays of any content, and its state if it has one.
    **options
        Further arguments by name, as ``train=True``.

    Returns
    -------
    ModelSummary
        A row for the model and for each layer in it, in the order of their fields. Layers that are not called
        as ``layer(...)``, but read by their weights or methods, are counted in the layers around them only.

    Raises
    ------
    OptionError
        If the model is no dataclass that can be called.
    TapeError
        What the model raises.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape import nn
    >>> rng = np.random.default_rng(0)
    >>> model = nn.Sequential(nn.Linear(784, 200, rng=rng), nn.relu, nn.Linear(200, 10, rng=rng))
    >>> nn.summary(model, np.ones((32, 784), np.float32))
    layer  class       output      params       FLOPs
    model  Sequential  [32, 10]   159,010  10,176,320
    0      Linear      [32, 200]  157,000  10,041,600
    1      relu        [32, 200]                6,400
    2      Linear      [32, 10]     2,010     128,320
    <BLANKLINE>
    159,010 params, 636.0 kB; 10,176,320 FLOPs forwards
    """
    if not _is_layer(model):
        raise OptionError(f"summary: {type(model)} is no layer. Give it a dataclass with a method __call__")
    trace = Trace()
    traced = trace.params(model)
    rows: list[_Row] = []
    watched = _watched(traced, _names_of_layers(traced), trace, rows)
    start = len(trace)
    watched(*[_as_data(trace, x) for x in inputs], **options)
    arrays = [np.asarray(param.node.value) for param in trace.params]
    return ModelSummary(
        layers=tuple([row.total() for row in rows if row.output]),
        params=sum(array.size for array in arrays),
        bytes=sum(array.nbytes for array in arrays),
        flops=sum(flops(node) for node in trace.nodes[start:]),
    )


class _Row:
    """What is noted of one layer while the model runs."""

    def __init__(self, name: str, layer: Any) -> None:
        self.name = name
        self.kind = function_name(layer.function) if isinstance(layer, Lambda) else type(layer).__name__
        self.flops = 0
        self.output = ""
        params = {leaf.id: leaf for leaf in tree.leaves(layer) if isinstance(leaf, Handle)}
        self.params = sum([np.size(leaf.node.value) for leaf in params.values()])

    def total(self) -> LayerTotal:
        return LayerTotal(self.name, self.kind, self.output, self.params, self.flops)


def _as_data(trace: Trace, x: Any) -> Any:
    """Return an argument with its arrays of floats on the trace, so that all that follows is recorded."""
    return tree.map(lambda leaf: trace.input(leaf) if _is_array_of_floats(leaf) else leaf, x)


def _is_array_of_floats(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc"


def _is_layer(part: Any) -> bool:
    return dataclasses.is_dataclass(part) and not isinstance(part, type) and callable(part)


def _names_of_layers(model: Any) -> dict[int, str]:
    """Return the name of each part of a model in its state dict, by identity."""
    names = {id(model): "model"}
    waiting = [("", model)]
    while waiting:
        name, part = waiting.pop()
        for key, child in parts_of(part) or ():
            full = f"{name}.{key}" if name else key
            names[id(child)] = full
            waiting.append((full, child))
    return names


def _watched(part: Any, names: Mapping[int, str], trace: Trace, rows: list[_Row]) -> Any:
    """Return a part of a model with its layers in copies that note their calls."""
    kind = type(part)
    if _is_layer(part) and id(part) in names:
        rows.append(_Row(names[id(part)], part))
        kind = _noting(kind, trace, rows[-1])
    if isinstance(part, (list, tuple)):
        children = [_watched(child, names, trace, rows) for child in part]
        return kind(*children) if hasattr(part, "_fields") else kind(children)
    if isinstance(part, dict):
        return {key: _watched(child, names, trace, rows) for key, child in part.items()}
    if not dataclasses.is_dataclass(part):
        return part
    branches, settings = tree.fields_of(type(part))
    copied: Any = object.__new__(kind)
    for key in settings:
        object.__setattr__(copied, key, getattr(part, key))
    for key in branches:
        object.__setattr__(copied, key, _watched(getattr(part, key), names, trace, rows))
    return copied


def _noting(kind: type, trace: Trace, row: _Row) -> type:
    """Return a class of layers that note what a call records and returns."""
    original: Callable[..., Any] = kind.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        start = len(trace)
        out = original(self, *args, **kwargs)
        row.flops += sum(flops(node) for node in trace.nodes[start:])
        row.output = _shapes(out)
        return out

    return type(kind.__name__, (kind,), {"__call__": call, "__module__": kind.__module__})


def _shapes(out: Any) -> str:
    shapes = [list(np.shape(leaf)) for leaf in tree.leaves(out)]
    return ", ".join([str(shape) for shape in shapes if shape]) or "[]"
