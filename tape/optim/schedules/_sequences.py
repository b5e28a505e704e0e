"""Schedules one after the other: `joined` and `warmup_cosine`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape import errors
from tape.optim import _checks
from tape.optim.schedules._cosines import cosine
from tape.optim.schedules._decays import constant, linear
from tape.optim.schedules._schedule import Schedule, checked_steps


def joined(schedules: Sequence[Schedule], milestones: Sequence[int]) -> Schedule:
    """Return a schedule that follows one after the other.

    Parameters
    ----------
    schedules : sequence of Schedule
        Each counts steps from where it takes over.
    milestones : sequence of int
        The steps at which the second, third, ... takes over; rising.

    Returns
    -------
    Schedule
        As `torch.optim.lr_scheduler.SequentialLR`.

    Raises
    ------
    OptionError
        If there is not one milestone less than there are schedules, or they do not rise.

    Examples
    --------
    >>> import tape
    >>> from tape.optim.schedules import constant, exponential, joined
    >>> rate = joined([constant(0.8), exponential(0.4, gamma=0.5)], [2])
    >>> [rate(t) for t in range(5)]
    [0.8, 0.8, 0.4, 0.2, 0.1]
    """
    steps = checked_steps("milestones", milestones)
    if len(steps) + 1 != len(schedules) or list(steps) != sorted(set(steps)):
        raise errors.OptionError(
            f"milestones are {list(steps)} for {len(schedules)} schedules. Give rising steps, one less "
            "than schedules"
        )
    return Schedule(_joined, (tuple(schedules), steps))


def _joined(step: Any, schedules: tuple[Schedule, ...], milestones: tuple[int, ...]) -> Any:
    rate = schedules[0](step)
    for schedule, milestone in zip(schedules[1:], milestones, strict=True):
        rate = np.where(step >= milestone, schedule(np.maximum(step - milestone, 0)), rate)
    return rate


def warmup_cosine(
    lr: float, warmup_steps: int, total_steps: int, start_factor: float = 0.0, eta_min: float = 0.0
) -> Schedule:
    """Return a schedule that rises in a line and falls along half a cosine.

    Parameters
    ----------
    lr : float
        The highest learning rate, reached after ``warmup_steps`` steps.
    warmup_steps : int
        At least one.
    total_steps : int
        After how many steps the minimum is reached, where the rate stays; above ``warmup_steps``.
    start_factor : float
        The multiple of ``lr`` at the first step.
    eta_min : float
        The minimum.

    Returns
    -------
    Schedule
        As `LinearLR` and `CosineAnnealingLR` of PyTorch one after the other, up to ``total_steps``.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import tape
    >>> rate = tape.optim.schedules.warmup_cosine(0.8, warmup_steps=2, total_steps=6)
    >>> [round(rate(t), 4) for t in range(8)]
    [0.0, 0.4, 0.8, 0.6828, 0.4, 0.1172, 0.0, 0.0]
    """
    falling = _checks.count("total_steps", total_steps) - _checks.count("warmup_steps", warmup_steps)
    if falling < 1:
        raise errors.OptionError(
            f"total_steps is {total_steps}; it must be above warmup_steps, {warmup_steps}"
        )
    return joined(
        [linear(lr, warmup_steps, start_factor), cosine(lr, falling, eta_min), constant(eta_min)],
        [warmup_steps, total_steps],
    )
