"""Schedules of powers and lines: `step`, `multi_step`, `exponential`, `linear` and `constant`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tape.optim import _checks
from tape.optim.schedules._schedule import Schedule, checked_steps


def step(lr: float, step_size: int, gamma: float = 0.1) -> Schedule:
    """Return a schedule that multiplies the learning rate every so many steps.

    Parameters
    ----------
    lr : float
        At the first step.
    step_size : int
        After how many steps it changes.
    gamma : float
        The factor of each change, zero or positive.

    Returns
    -------
    Schedule
        As `torch.optim.lr_scheduler.StepLR`.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import tape
    >>> rate = tape.optim.schedules.step(0.8, step_size=2, gamma=0.5)
    >>> [rate(t) for t in range(5)]
    [0.8, 0.8, 0.4, 0.4, 0.2]
    """
    return Schedule(
        _step,
        (_checks.setting("lr", lr), _checks.count("step_size", step_size), _checks.setting("gamma", gamma)),
    )


def _step(step: Any, lr: float, step_size: int, gamma: float) -> Any:
    return lr * gamma ** (step // step_size)


def multi_step(lr: float, milestones: Sequence[int], gamma: float = 0.1) -> Schedule:
    """Return a schedule that multiplies the learning rate at some steps.

    Parameters
    ----------
    lr : float
        At the first step.
    milestones : sequence of int
        The steps at which it changes; one that comes twice counts twice.
    gamma : float
        The factor of each change, zero or positive.

    Returns
    -------
    Schedule
        As `torch.optim.lr_scheduler.MultiStepLR`.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import tape
    >>> rate = tape.optim.schedules.multi_step(0.8, [1, 3], gamma=0.5)
    >>> [rate(t) for t in range(5)]
    [0.8, 0.4, 0.4, 0.2, 0.2]
    """
    return Schedule(
        _multi_step,
        (_checks.setting("lr", lr), checked_steps("milestones", milestones), _checks.setting("gamma", gamma)),
    )


def _multi_step(step: Any, lr: float, milestones: tuple[int, ...], gamma: float) -> Any:
    passed = sum(np.where(step >= milestone, 1, 0) for milestone in milestones)
    return lr * gamma**passed


def exponential(lr: float, gamma: float) -> Schedule:
    """Return a schedule that multiplies the learning rate at every step.

    Parameters
    ----------
    lr : float
        At the first step.
    gamma : float
        The factor, zero or positive.

    Returns
    -------
    Schedule
        As `torch.optim.lr_scheduler.ExponentialLR`.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import tape
    >>> rate = tape.optim.schedules.exponential(0.8, gamma=0.5)
    >>> [rate(t) for t in range(3)]
    [0.8, 0.4, 0.2]
    """
    return Schedule(_exponential, (_checks.setting("lr", lr), _checks.setting("gamma", gamma)))


def _exponential(step: Any, lr: float, gamma: float) -> Any:
    return lr * gamma ** (step * 1)


def linear(lr: float, total_iters: int = 5, start_factor: float = 1 / 3, end_factor: float = 1.0) -> Schedule:
    """Return a schedule that goes in a line from one multiple of the learning rate to another: a warm-up.

    Parameters
    ----------
    lr : float
        What the factors multiply.
    total_iters : int
        After how many steps the second multiple is reached, where the rate stays.
    start_factor, end_factor : float
        Zero or positive.

    Returns
    -------
    Schedule
        As `torch.optim.lr_scheduler.LinearLR`.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import tape
    >>> rate = tape.optim.schedules.linear(0.8, total_iters=4, start_factor=0.0)
    >>> [round(rate(t), 4) for t in range(6)]
    [0.0, 0.2, 0.4, 0.6, 0.8, 0.8]
    """
    rates = [
        _checks.setting("lr", lr) * _checks.setting(name, factor)
        for name, factor in (("start_factor", start_factor), ("end_factor", end_factor))
    ]
    return Schedule(_linear, (*rates, _checks.count("total_iters", total_iters)))


def _linear(step: Any, start: float, end: float, total: int) -> Any:
    return start + (end - start) * (np.minimum(step, total) / total)


def constant(lr: float) -> Schedule:
    """Return a schedule of one learning rate, to be `joined` with others.

    Parameters
    ----------
    lr : float
        Zero or positive.

    Returns
    -------
    Schedule

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import tape
    >>> tape.optim.schedules.constant(0.1)(1000)
    0.1
    """
    return Schedule(_constant, (_checks.setting("lr", lr),))


def _constant(step: Any, lr: float) -> Any:
    return lr + 0.0 * step
