"""Generators of random numbers, as arguments of layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.errors import OptionError, describe
from tape.ops.nn.dropout import dropout, dropout_mask


def check_generator(name: str, rng: Any) -> None:
    """Raise unless this is a generator of NumPy or of `tape.random`."""
    if not isinstance(rng, np.random.Generator):
        recording_generator(name, rng)


def recording_generator(name: str, rng: Any) -> Any:
    """Return a generator of `tape.random` with the same state, which a compiled function draws from anew."""
    from tape.random import Generator, default_rng  # here: few programs need it

    if isinstance(rng, Generator):
        return rng
    if isinstance(rng, np.random.Generator):
        return default_rng(rng)
    raise OptionError(
        f"{name}: rng is {describe(rng)}. Pass a generator, rng=np.random.default_rng(0), and the same one "
        "to all that draw from it"
    )


def mask_of(name: str, rng: Any, shape: Sequence[int], p: float) -> Any:
    """Return a mask for `dropout`, of which a compiled function draws a new one in each call."""
    return dropout_mask(recording_generator(name, rng), shape, p)


def dropped(name: str, x: Any, p: float, rng: Any) -> Any:
    """Return an array after dropout; as it is if there is no generator or nothing to drop."""
    if rng is None or not p:
        return x
    return dropout(x, p, mask_of(name, rng, np.shape(x), p))
