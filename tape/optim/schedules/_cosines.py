"""Schedules of cosines: `cosine`, `cosine_restarts` and `one_cycle`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tape import errors
from tape.optim import _checks
from tape.optim.schedules._schedule import Schedule


def cosine(lr: float, T_max: int, eta_min: float = 0.0) -> Schedule:
    """Return a schedule that falls from one learning rate to another along half a cosine.

    Parameters
    ----------
    lr : float
        At the first step.
    T_max : int
        After how many steps the minimum is reached; from there the rate rises again, and so on.
    eta_min : float
        The minimum.

    Returns
    -------
    Schedule
        As `torch.optim.lr_scheduler.CosineAnnealingLR`.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import tape
    >>> rate = tape.optim.schedules.cosine(0.8, T_max=4)
    >>> [round(rate(t), 4) for t in range(5)]
    [0.8, 0.6828, 0.4, 0.1172, 0.0]
    """
    return Schedule(
        _cosine,
        (_checks.setting("lr", lr), _checks.count("T_max", T_max), _checks.setting("eta_min", eta_min)),
    )


def _cosine(step: Any, lr: float, period: Any, least: float) -> Any:
    return least + (lr - least) * (1 + np.cos(np.pi * (step / period))) / 2


def cosine_restarts(lr: float, T_0: int, T_mult: int = 1, eta_min: float = 0.0) -> Schedule:
    """Return a schedule that falls along half a cosine, and starts again, each time more slowly.

    Parameters
    ----------
    lr : float
        At the first step, and at each restart.
    T_0 : int
        Steps until the first restart.
    T_mult : int
        How many times longer it takes until the next restart.
    eta_min : float
        The minimum, zero or positive.

    Returns
    -------
    Schedule
        As `torch.optim.lr_scheduler.CosineAnnealingWarmRestarts`: Loshchilov and Hutter, "SGDR: stochastic
        gradient descent with warm restarts" (2017).

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import tape
    >>> rate = tape.optim.schedules.cosine_restarts(0.8, T_0=2, T_mult=2)
    >>> [round(rate(t), 4) for t in range(7)]
    [0.8, 0.4, 0.8, 0.6828, 0.4, 0.1172, 0.8]
    """
    return Schedule(
        _cosine_restarts,
        (
            _checks.setting("lr", lr),
            _checks.count("T_0", T_0),
            _checks.count("T_mult", T_mult),
            _checks.setting("eta_min", eta_min),
        ),
    )


def _cosine_restarts(step: Any, lr: float, first: int, factor: int, least: float) -> Any:
    if factor == 1:
        return _cosine(step % first, lr, first, least)
    # The logarithm says which cycle it is to within one: at a restart its rounding decides
    cycle = np.floor(np.log(step / first * (factor - 1) + 1) / np.log(factor))
    length = first * factor ** (cycle * 1.0)
    start = first * (factor**cycle - 1) / (factor - 1)
    early, late = step < start, step >= start + length
    start = np.where(early, start - length / factor, np.where(late, start + length, start))
    length = np.where(early, length / factor, np.where(late, length * factor, length))
    return _cosine(step - start, lr, length, least)


def one_cycle(
    max_lr: float,
    total_steps: int,
    pct_start: float = 0.3,
    anneal_strategy: str = "cos",
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
    three_phase: bool = False,
) -> Schedule:
    """Return a schedule that rises to a learning rate and falls far below where it began.

    Parameters
    ----------
    max_lr : float
        The highest learning rate.
    total_steps : int
        How long the cycle is; the rate stays at its last value.
    pct_start : float
        The part of the cycle in which the rate rises, between 0 and 1.
    anneal_strategy : {'cos', 'linear'}
        Along half a cosine, or in lines.
    div_factor : float
        The first rate is ``max_lr / div_factor``.
    final_div_factor : float
        The last rate is the first divided by this.
    three_phase : bool
        Fall as fast as the rate rose, back to the first rate, and then to the last.

    Returns
    -------
    Schedule
        As `torch.optim.lr_scheduler.OneCycleLR`, which moves the momentum too: Smith and Topin,
        "Super-convergence" (2018).

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import tape
    >>> rate = tape.optim.schedules.one_cycle(1.0, total_steps=11, div_factor=10.0)
    >>> [round(rate(t), 4) for t in (0, 1, 2, 6, 10)]
    [0.1, 0.4584, 0.9627, 0.5306, 0.0]
    """
    max_lr, part = _checks.setting("max_lr", max_lr), _checks.setting("pct_start", pct_start)
    total = _checks.count("total_steps", total_steps)
    _checks.choice("anneal_strategy", anneal_strategy, ("cos", "linear"))
    top = part * total - 1
    ends = (0.0, top, 2 * top, total - 1.0) if three_phase else (0.0, top, total - 1.0)
    if any(end <= start for start, end in pairwise(ends)):
        raise errors.OptionError(
            f"pct_start is {part} of {total} steps; every part of the cycle must take more than one step"
        )
    for name, factor in (("div_factor", div_factor), ("final_div_factor", final_div_factor)):
        if not _checks.setting(name, factor) > 0:
            raise errors.OptionError(f"{name} is {factor}; it must be positive")
    first = max_lr / div_factor
    last = first / final_div_factor
    rates = (first, max_lr, first, last) if three_phase else (first, max_lr, last)
    return Schedule(_pieces, (ends, rates, anneal_strategy))


def _pieces(step: Any, ends: tuple[float, ...], rates: tuple[float, ...], strategy: str) -> Any:
    """Go from rate to rate, and stay at the last."""
    rate: Any = rates[-1]
    for k in range(len(ends) - 2, -1, -1):
        done = (np.minimum(step, ends[k + 1]) - ends[k]) / (ends[k + 1] - ends[k])
        share = (1 - np.cos(np.pi * done)) / 2 if strategy == "cos" else done
        rate = np.where(step <= ends[k + 1], rates[k] + (rates[k + 1] - rates[k]) * share, rate)
    return rate
