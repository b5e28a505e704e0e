"""What a step uses from outside and changes: generators and optimizers that no checkpoint would hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tape.train._encoding import Stateful


def forgotten(step: Callable[..., Any], kept: Iterable[Any]) -> list[str]:
    """Return the names of generators and objects with a state that a function refers to, and nobody keeps.

    Only variables of the function itself are looked at, not what functions that it calls refer to.

    Parameters
    ----------
    step : callable
        A function; of other callables nothing is found.
    kept : iterable
        The objects that are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.train._captured import forgotten
    >>> rng = np.random.default_rng(0)
    >>> def step(w, batch):
    ...     return w + rng.normal(), 0.0
    >>> forgotten(step, []), forgotten(step, [rng])
    (['rng'], [])
    """
    try:
        found = inspect.getclosurevars(inspect.unwrap(step))
    except TypeError:  # no function of Python
        return []
    ids = set(map(id, kept))
    return sorted(
        name
        for name, value in {**found.globals, **found.nonlocals}.items()
        if id(value) not in ids and _has_state(value)
    )


def _has_state(value: Any) -> bool:
    if isinstance(value, type) or inspect.ismodule(value) or inspect.isroutine(value):
        return False
    return isinstance(value, (np.random.Generator, Stateful))
