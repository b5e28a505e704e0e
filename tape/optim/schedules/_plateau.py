"""`Plateau`: a learning rate that looks at losses, outside of programs."""

from __future__ import annotations

from math import inf
from typing import Any

from tape import errors
from tape.core.node import Handle
from tape.optim import _checks


class Plateau:
    """A learning rate that falls when a loss stops falling.

    Parameters
    ----------
    lr : float
        The first learning rate.
    mode : {'min', 'max'}
        Whether the loss, or score, should fall or rise.
    factor : float
        What the rate is multiplied by, below 1.
    patience : int
        How many losses in a row may be no better than the best one.
    threshold : float
        By how much a loss must be better.
    threshold_mode : {'rel', 'abs'}
        Whether that is a part of the best one, or a difference.
    cooldown : int
        How many losses are not counted after the rate has fallen.
    min_lr : float
        The rate does not fall below this.
    eps : float
        Smaller changes of the rate are not made.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Notes
    -----
    As `torch.optim.lr_scheduler.ReduceLROnPlateau`. A NaN is no better than any loss. It pickles.

    Examples
    --------
    >>> import tape
    >>> plateau = tape.optim.schedules.Plateau(0.8, factor=0.5, patience=1)
    >>> [plateau.step(loss) for loss in (3.0, 2.0, 2.0, 2.0, 1.0)]
    [0.8, 0.8, 0.8, 0.4, 0.4]
    """

    def __init__(
        self,
        lr: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        self._lr = _checks.setting("lr", lr)
        self._is_min = _checks.choice("mode", mode, ("min", "max")) == "min"
        self._factor = _checks.setting("factor", factor, below=1.0)
        self._patience = _checks.count("patience", patience, least=0)
        self._threshold = _checks.setting("threshold", threshold)
        self._is_relative = _checks.choice("threshold_mode", threshold_mode, ("rel", "abs")) == "rel"
        self._cooldown = _checks.count("cooldown", cooldown, least=0)
        self._min_lr = _checks.setting("min_lr", min_lr)
        self._eps = _checks.setting("eps", eps)
        self._best = inf if self._is_min else -inf
        self._bad = 0
        self._cooling = 0

    @property
    def lr(self) -> float:
        """The learning rate of the next step."""
        return self._lr

    def step(self, loss: Any) -> float:
        """Take a loss into account, and return the learning rate.

        Parameters
        ----------
        loss : float
            Of an epoch, say.

        Returns
        -------
        float

        Raises
        ------
        ConversionError
            If it is a Var: a plateau lives outside of programs.
        OptionError
            If it is no number.

        Examples
        --------
        >>> import tape
        >>> tape.optim.schedules.Plateau(0.8).step(3.0)
        0.8
        """
        if isinstance(loss, Handle):
            raise errors.ConversionError(
                f"the loss is {loss!r}. Pass its .value, outside of compiled functions"
            )
        try:
            current = float(loss)
        except (TypeError, ValueError):
            raise errors.OptionError(f"the loss must be a number, not {errors.describe(loss)}") from None
        if self._is_better(current):
            self._best, self._bad = current, 0
        else:
            self._bad += 1
        if self._cooling:
            self._cooling -= 1
            self._bad = 0
        if self._bad > self._patience:
            lr = max(self._lr * self._factor, self._min_lr)
            if self._lr - lr > self._eps:
                self._lr = lr
            self._cooling, self._bad = self._cooldown, 0
        return self._lr

    def _is_better(self, loss: float) -> bool:
        sign = 1 if self._is_min else -1
        if self._is_relative:
            return sign * loss < sign * self._best * (1 - sign * self._threshold)
        return sign * loss < sign * self._best - self._threshold
