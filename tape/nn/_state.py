"""The protocol of layers with a state, such as running statistics: the state is an argument and a result."""

from __future__ import annotations

import dataclasses
import inspect
from functools import lru_cache
from typing import Any

from tape.tree import fields_of


def init_state(model: Any) -> Any:
    """Return the state of a model before training.

    Parameters
    ----------
    model : tree
        A layer, or a dataclass, dict, list or tuple of layers.

    Returns
    -------
    tree or None
        What the method ``init_state`` of the model returns, if it has one. Otherwise a dict from names of
        fields (keys of a dict) to the states of what they hold, where there are any; for lists and tuples
        a tuple of the state of each element, or None. None if there is no state at all.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from dataclasses import dataclass
    >>> from tape import nn
    >>> @dataclass
    ... class Block:
    ...     linear: nn.Linear
    ...     norm: nn.BatchNorm
    ...     def __call__(self, x, state, *, train=False):
    ...         y, norm = self.norm(self.linear(x), state["norm"], train=train)
    ...         return np.tanh(y), {"norm": norm}
    >>> block = Block(nn.Linear(3, 2, rng=np.random.default_rng(0)), nn.BatchNorm(2))
    >>> state = nn.init_state(block)
    >>> y, state = block(np.ones((5, 3)), state, train=True)
    >>> list(state)
    ['norm']
    """
    method = getattr(model, "init_state", None)
    if callable(method) and not isinstance(model, type):
        return method()
    if isinstance(model, (list, tuple)):
        states = tuple([init_state(part) for part in model])
        return None if all(state is None for state in states) else states
    if isinstance(model, dict):
        parts = model
    elif dataclasses.is_dataclass(model) and not isinstance(model, type):
        parts = {name: getattr(model, name) for name in fields_of(type(model))[0]}
    else:
        return None
    found = {name: init_state(part) for name, part in parts.items()}
    return {name: state for name, state in found.items() if state is not None} or None


def call(layer: Any, x: Any, state: Any = None, *, train: bool = False, rng: Any = None) -> tuple[Any, Any]:
    """Call a layer of any kind, and return its result and its new state.

    Parameters
    ----------
    layer : callable
        It gets ``train`` and ``rng`` if it has parameters of these names.
    x : Any
        Its argument.
    state : tree, optional
        None for layers that have none; others are called as ``layer(x, state)`` and return a pair.
    train : bool
        Whether this is training.
    rng : numpy.random.Generator or tape.random.Generator, optional
        Without it nothing is random.

    Returns
    -------
    y : Any
        The result.
    state : tree or None
        The state for the next call.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape import nn
    >>> nn.call(nn.Dropout(0.5), np.ones(2), rng=np.random.default_rng(0))
    (array([2., 2.]), None)
    """
    given = {"train": train, "rng": rng}
    kind: Any = type(layer)
    options = {name: given[name] for name in _options(kind)}
    if state is None:
        return layer(x, **options), None
    return layer(x, state, **options)


@lru_cache(maxsize=256)
def _options(kind: Any) -> tuple[str, ...]:
    """Return which of the options a layer takes by name."""
    try:
        parameters = inspect.signature(kind.__call__).parameters.values()
    except (TypeError, ValueError):  # written in C
        return ()
    names = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    return tuple([name for name in ("train", "rng") if name in names])
