"""The class of schedules, and the check of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tape import errors
from tape.core.node import Handle
from tape.optim import _checks


@dataclass(frozen=True)
class Schedule:
    """A learning rate as a function of the number of steps so far; made by the functions of this module."""

    formula: Callable[..., Any] = field(metadata={"static": True})
    settings: tuple[Any, ...] = field(metadata={"static": True})

    def __call__(self, step: Any) -> Any:
        """Return the learning rate after so many steps.

        Parameters
        ----------
        step : int or Var
            Zero or positive.

        Returns
        -------
        float or Var

        Examples
        --------
        >>> import tape
        >>> halved = tape.optim.schedules.step(0.8, step_size=10, gamma=0.5)
        >>> [halved(t) for t in (0, 9, 10, 25)]
        [0.8, 0.8, 0.4, 0.2]
        """
        if not isinstance(step, (int, np.integer, Handle, np.ndarray)):
            raise errors.OptionError(
                f"a schedule takes a number of steps, an int, not {errors.describe(step)}"
            )
        rate = self.formula(step, *self.settings)
        return rate if isinstance(rate, Handle) else float(rate)


def checked_steps(name: str, steps: Sequence[int]) -> tuple[int, ...]:
    """Return steps as a tuple of ints, none negative."""
    if not isinstance(steps, (list, tuple)):
        raise errors.OptionError(f"{name} must be a list of ints, not {errors.describe(steps)}")
    return tuple([_checks.count(f"{name}[{k}]", one, least=0) for k, one in enumerate(steps)])
