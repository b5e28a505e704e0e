"""Metrics: what steps and validations return, as floats by name, checked; and their means over batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tape import errors
from tape import tree as trees
from tape.core.node import Handle


def evaluate(metrics: Callable[[Any, Any], Any], state: Any, batches: Iterable[Any]) -> dict[str, float]:
    """Return the mean of metrics over batches, each weighted by its number of rows.

    Parameters
    ----------
    metrics : callable
        It takes the state and a batch, and returns a dict of numbers, or one number, the loss.
    state : tree
        The state of a training.
    batches : iterable
        Trees of arrays whose first axis is that of rows.

    Returns
    -------
    dict of str to float

    Raises
    ------
    OptionError
        If there are no batches, or metrics have other names than before.

    Examples
    --------
    >>> import numpy as np
    >>> from tape.train import evaluate
    >>> evaluate(lambda w, x: {"loss": np.mean((x - w) ** 2)}, 1.0, [np.zeros(3), np.ones(1)])
    {'loss': 0.75}
    """
    totals: dict[str, float] = {}
    rows = 0
    for batch in batches:
        found, size = numbers_of(metrics(state, batch), "metrics"), rows_of(batch)
        if rows and found.keys() != totals.keys():
            raise errors.OptionError(
                f"evaluate: a batch has metrics {sorted(found)}, and those before {sorted(totals)}. "
                "Return the same ones always"
            )
        for name, value in found.items():
            totals[name] = totals.get(name, 0.0) + size * value
        rows += size
    if not rows:
        raise errors.OptionError("evaluate: there are no batches. Pass a list, or a DataLoader")
    return {name: total / rows for name, total in totals.items()}


def numbers_of(metrics: Any, what: str) -> dict[str, float]:
    """Return metrics as floats.

    Raises
    ------
    DTypeError
        If they are not numbers by name, nor one number.
    ConversionError
        If one is a Var.
    """
    found = {}
    for name, value in (metrics if isinstance(metrics, dict) else {"loss": metrics}).items():
        if type(value) is float:  # nearly always
            found[str(name)] = value
            continue
        if isinstance(value, Handle):
            raise errors.ConversionError(f"{what}: {name!r} is {value!r}. Return its .value")
        is_number = isinstance(value, (bool, int, float))
        if not is_number and isinstance(value, (np.generic, np.ndarray)):
            is_number = value.ndim == 0 and value.dtype.kind in "fiub"
        if not is_number:
            raise errors.DTypeError(
                f"{what}: {name!r} is {errors.describe(value)}. Return a dict of real numbers, or the loss "
                "alone"
            )
        found[str(name)] = float(value)
    return found


def rows_of(batch: Any) -> int:
    """Return the size of the first axis of the first array of a batch; 1 if there is none."""
    for leaf in trees.flatten(batch)[0]:
        if isinstance(leaf, np.ndarray) and leaf.ndim:
            return len(leaf)
    return 1


def check_names(metrics: dict[str, float]) -> None:
    """Refuse names of metrics that would be mistaken for others."""
    for name in metrics:
        if name in ("step", "epoch") or name.startswith("val_"):
            raise errors.OptionError(
                f"fit: the step's metric {name!r} has a name that histories and logs use. Rename it"
            )


def check_finite(metrics: dict[str, float], place: str, before: dict[str, float]) -> None:
    """Raise an error that names the first metric that is not finite, and where."""
    for name, value in metrics.items():
        if not math.isfinite(value):
            was = f"; it was {before[name]:.6g} before" if name in before else ""
            raise errors.NonFiniteError(
                f"{name!r} is {value} {place}{was}. Lower the learning rate, clip gradients, or look for the "
                "operation with tape.find_nonfinite; fit(..., nonfinite='continue') goes on"
            )
