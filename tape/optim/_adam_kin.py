"""Optimizers next to Adam: `Adamax` and `NAdam`, in place and pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tape.kernels import formulas
from tape.optim import _checks
from tape.optim._checks import Mask
from tape.optim._inplace import Optimizer
from tape.optim._rule import STATIC, Rule, Schedule


@dataclass(frozen=True)
class AdamaxRule(Rule):
    """The rule of `Adamax`."""

    betas: tuple[float, float] = field(default=(0.9, 0.999), metadata=STATIC)
    eps: float = field(default=1e-8, metadata=STATIC)

    def _check(self) -> None:
        self._set(betas=_checks.pair("betas", self.betas), eps=_checks.setting("eps", self.eps))

    @property
    def slots(self) -> tuple[str, ...]:
        return ("mean", "norm")

    @property
    def formula(self) -> Callable[..., Any]:
        return formulas.adamax

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        beta1, beta2 = self.betas
        return lr / (1 - beta1**step), beta1, 1 - beta1, beta2, self.eps, decay


@dataclass(frozen=True)
class NAdamRule(Rule):
    """The rule of `NAdam`."""

    betas: tuple[float, float] = field(default=(0.9, 0.999), metadata=STATIC)
    eps: float = field(default=1e-8, metadata=STATIC)
    momentum_decay: float = field(default=4e-3, metadata=STATIC)
    decoupled_weight_decay: bool = field(default=False, metadata=STATIC)

    scalars: ClassVar[Mapping[str, float]] = {
        "momenta": 1.0
    }  # the product of the momenta of all steps so far

    def _check(self) -> None:
        self._set(
            betas=_checks.pair("betas", self.betas),
            eps=_checks.setting("eps", self.eps),
            momentum_decay=_checks.setting("momentum_decay", self.momentum_decay),
            decoupled_weight_decay=bool(self.decoupled_weight_decay),
        )

    @property
    def slots(self) -> tuple[str, ...]:
        return ("mean", "square")

    @property
    def formula(self) -> Callable[..., Any]:
        return formulas.nadam

    def _momentum(self, step: Any) -> Any:
        return self.betas[0] * (1 - 0.5 * 0.96 ** (step * self.momentum_decay))

    def next_scalars(self, step: Any, scalars: Mapping[str, Any]) -> dict[str, Any]:
        return {"momenta": scalars["momenta"] * self._momentum(step)}

    def numbers(self, lr: Any, step: Any, scalars: Mapping[str, Any], decay: float) -> tuple[Any, ...]:
        beta1, beta2 = self.betas
        momentum, ahead, momenta = self._momentum(step), self._momentum(step + 1), scalars["momenta"]
        correction = np.sqrt(1 - beta2**step)
        rate = lr * (1 - momentum) / (1 - momenta) * correction
        along = lr * ahead / (1 - momenta * ahead) * correction
        decays = (0.0, 1 - lr * decay) if self.decoupled_weight_decay else (decay, 1.0)
        return rate, along, beta1, 1 - beta1, beta2, 1 - beta2, self.eps * correction, *decays


def adamax(
    lr: float | Schedule = 2e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    *,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `Adamax`: Adam with the maximum norm.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`.
    betas, eps, weight_decay, weight_decay_mask, frozen
        As for `Adamax`.

    Returns
    -------
    Rule
        With ``init(params)`` and ``update(grads, state, params)``.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import numpy as np, tape
    >>> rule = tape.optim.adamax(lr=0.5)
    >>> params = np.array([4.0, -2.0])
    >>> state, params = rule.update(np.array([3.0, -0.5]), rule.init(params), params)
    >>> params.round(4)
    array([ 3.5, -1.5])
    """
    return AdamaxRule(
        lr,
        weight_decay,
        betas,
        eps,
        weight_decay_mask=weight_decay_mask,
        frozen=frozen,
    )


def nadam(
    lr: float | Schedule = 2e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum_decay: float = 4e-3,
    decoupled_weight_decay: bool = False,
    *,
    weight_decay_mask: Mask = None,
    frozen: Mask = None,
) -> Rule:
    """Return the pure form of `NAdam`: Adam with Nesterov's momentum.

    Parameters
    ----------
    lr : float or callable
        As for `sgd`.
    betas, eps, weight_decay, momentum_decay, decoupled_weight_decay, weight_decay_mask, frozen
        As for `NAdam`.

    Returns
    -------
    Rule
        With ``init(params)`` and ``update(grads, state, params)``.

    Raises
    ------
    OptionError
        If a setting is out of range.

    Examples
    --------
    >>> import numpy as np, tape
    >>> rule = tape.optim.nadam(lr=0.5)
    >>> params = np.array([4.0, -2.0])
    >>> state, params = rule.update(np.array([3.0, -0.5]), rule.init(params), params)
    >>> params.round(4)
    array([ 3.4718, -1.4718])
    """
    return NAdamRule(
        lr,
        weight_decay,
        betas,
        eps,
        momentum_decay,
        decoupled_weight_decay,
        weight_decay_mask=weight_decay_mask,
        frozen=frozen,
    )


class Adamax(Optimizer):
    """Adamax: Adam with the maximum norm in place of the squares.

    For each parameter p with gradient g, at step t = 1, 2, ... and with m and u that start at zero::

        g = g + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g) + eps)
        p = p - lr / (1 - beta1**t) * m / u

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`.
    lr : float
        Learning rate, zero or positive: about the length of a step in each element. The attribute
        ``lr`` may be set between steps.
    betas : pair of float
        The factors of the two averages from step to step, each at least 0 and below 1.
    eps : float
        Zero or positive; keeps elements without gradient from being divided by zero.
    weight_decay : float
        Zero or positive; the gradient of ``weight_decay / 2 * sum(p**2)`` is added.
    weight_decay_mask, frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Algorithm 2 of Kingma and Ba, "Adam: a method for stochastic optimization" (2015), in the form of
    `torch.optim.Adamax`.

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> tape.optim.Adamax([w], lr=0.5).step([np.array([3.0, -0.5])])
    >>> w.round(4)
    array([ 3.5, -1.5])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        super().__init__(
            params,
            adamax(lr, betas, eps, weight_decay, weight_decay_mask=weight_decay_mask, frozen=frozen),
        )


class NAdam(Optimizer):
    """Adam with Nesterov's momentum.

    For each parameter p with gradient g, at step t = 1, 2, ... and with averages m and s that start
    at zero::

        g = g + weight_decay * p
        mu[t] = beta1 * (1 - 0.96**(t * momentum_decay) / 2)
        m = beta1 * m + (1 - beta1) * g
        s = beta2 * s + (1 - beta2) * g**2
        step = (1 - mu[t]) * g / (1 - mu[1] * ... * mu[t]) + mu[t + 1] * m / (1 - mu[1] * ... * mu[t + 1])
        p = p - lr * step / (sqrt(s / (1 - beta2**t)) + eps)

    Parameters
    ----------
    params : tree of numpy.ndarray
        As for `SGD`.
    lr : float
        Learning rate, zero or positive: about the length of a step in each element. The attribute
        ``lr`` may be set between steps.
    betas : pair of float
        The factors of the two averages from step to step, each at least 0 and below 1.
    eps : float
        Zero or positive; keeps elements without gradient from being divided by zero.
    weight_decay : float
        Zero or positive; the gradient of ``weight_decay / 2 * sum(p**2)`` is added.
    momentum_decay : float
        Zero or positive; how fast the momentum grows to its full size.
    decoupled_weight_decay : bool
        Shrink the parameters as `AdamW` does, in place of adding to the gradient.
    weight_decay_mask, frozen : tree of bool or callable, optional
        As for `SGD`.

    Raises
    ------
    TapeError
        As for `SGD`.

    Notes
    -----
    Dozat, "Incorporating Nesterov momentum into Adam" (2016), in the form of `torch.optim.NAdam`.

    Examples
    --------
    >>> import numpy as np, tape.optim
    >>> w = np.array([4.0, -2.0])
    >>> tape.optim.NAdam([w], lr=0.5).step([np.array([3.0, -0.5])])
    >>> w.round(4)
    array([ 3.4718, -1.4718])
    """

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        weight_decay_mask: Mask = None,
        frozen: Mask = None,
    ) -> None:
        super().__init__(
            params,
            nadam(
                lr,
                betas,
                eps,
                weight_decay,
                momentum_decay,
                decoupled_weight_decay,
                weight_decay_mask=weight_decay_mask,
                frozen=frozen,
            ),
        )
